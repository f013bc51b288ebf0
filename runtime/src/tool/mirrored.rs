//! Arguments that a call over HTTP repeats in headers, so that proxies can decide by them: a tool's schema names them by
//! `x-mcp-header`.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::net::is_header_name;

/// What a schema names a header by.
const KEY: &str = "x-mcp-header";

/// What the names of these headers begin with.
const PREFIX: &str = "mcp-param-";

/// Around a value that is no plain ASCII.
const ENCODED: (&str, &str) = ("=?base64?", "?=");

/// Keywords with a schema, with a list of them, or with some by name; `properties` is none of these.
const INNER: [&str; 21] = [
    "$defs",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "contentSchema",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "else",
    "if",
    "items",
    "additionalItems",
    "not",
    "oneOf",
    "patternProperties",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// One such argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mirrored {
    /// The header's name, in lower case.
    pub header: String,
    /// The properties that lead to the argument.
    path: Vec<String>,
}

/// The arguments that `schema` wants in headers.
///
/// # Errors
/// When it names a header wrongly, twice, or for what is no text, whole number or boolean that is always at the same place:
/// clients refuse such a tool.
pub(crate) fn mirrored(schema: &Value) -> Result<Vec<Mirrored>, String> {
    let mut found = Vec::new();
    if let Value::Object(schema) = schema {
        of_properties(schema, &mut Vec::new(), &mut found)?;
    }
    Ok(found)
}

fn of_properties(
    schema: &Map<String, Value>,
    path: &mut Vec<String>,
    found: &mut Vec<Mirrored>,
) -> Result<(), String> {
    for inner in INNER.iter().filter_map(|key| schema.get(*key)) {
        if names_any(inner) {
            return Err(format!("`{KEY}` stands where no one argument is meant"));
        }
    }
    let Some(Value::Object(properties)) = schema.get("properties") else { return Ok(()) };
    for (name, property) in properties {
        let Value::Object(property) = property else { continue };
        path.push(name.clone());
        if let Some(header) = property.get(KEY) {
            let header = header_of(header, property)?;
            if found.iter().any(|other| other.header == header) {
                return Err(format!("two arguments want to be in the header `{header}`"));
            }
            found.push(Mirrored { header, path: path.clone() });
        }
        of_properties(property, path, found)?;
        path.pop();
    }
    Ok(())
}

fn header_of(header: &Value, property: &Map<String, Value>) -> Result<String, String> {
    let name = header.as_str().filter(|name| is_header_name(&format!("{PREFIX}{name}")) && !name.is_empty());
    let name = name.ok_or_else(|| format!("`{KEY}` does not name a header"))?;
    let is_plain = |kind: &Value| matches!(kind.as_str(), Some("string" | "integer" | "boolean"));
    let fits = match property.get("type") {
        Some(Value::Array(kinds)) => {
            kinds.iter().any(is_plain) && kinds.iter().all(|kind| is_plain(kind) || kind == "null")
        }
        Some(kind) => is_plain(kind),
        None => false,
    };
    match fits {
        true => Ok(format!("{PREFIX}{}", name.to_ascii_lowercase())),
        false => Err(format!("`{KEY}` is for texts, whole numbers and booleans alone")),
    }
}

/// Whether anything in a schema, or in a list or table of them, wants to be in a header.
fn names_any(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.contains_key(KEY) || members.values().any(names_any),
        Value::Array(items) => items.iter().any(names_any),
        _ => false,
    }
}

impl Mirrored {
    /// The header's value for `arguments`, before it is encoded; none where there is no argument.
    pub fn value(&self, arguments: &Value) -> Option<String> {
        let found = self.path.iter().try_fold(arguments, |value, name| value.get(name))?;
        match found {
            Value::String(text) => Some(text.clone()),
            Value::Bool(value) => Some(value.to_string()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// Whether a header says what `arguments` say. Numbers are compared as such.
    pub fn agrees(&self, header: Option<&str>, arguments: &Value) -> bool {
        match (header, self.value(arguments)) {
            (None, None) => true,
            (Some(header), Some(value)) => decoded(header).is_some_and(|header| {
                let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
                let is_number = self.path.iter().try_fold(arguments, |value, name| value.get(name));
                header == value
                    || (is_number.is_some_and(Value::is_number)
                        && number(&header).is_some_and(|header| Some(header) == number(&value)))
            }),
            _ => false,
        }
    }
}

/// A value as a header has it: as it is, or encoded where it is not plain ASCII, or would be cut or read as encoded.
pub(crate) fn encoded(value: &str) -> Cow<'_, str> {
    let is_plain = value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    let looks_encoded = value.starts_with(ENCODED.0) && value.ends_with(ENCODED.1);
    if is_plain && value.trim() == value && !looks_encoded {
        return Cow::Borrowed(value);
    }
    Cow::Owned(format!("{}{}{}", ENCODED.0, STANDARD.encode(value), ENCODED.1))
}

/// The value of a header: as it is, or what was encoded. That has one spelling only.
pub(crate) fn decoded(value: &str) -> Option<String> {
    let Some(encoded) = value.strip_prefix(ENCODED.0).and_then(|rest| rest.strip_suffix(ENCODED.1)) else {
        return Some(value.to_owned());
    };
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use serde_json::json;

    use super::*;

    fn property(schema: Value) -> Value {
        json!({ "type": "object", "properties": { "a": schema } })
    }

    #[test]
    fn arguments_are_found_at_every_depth() {
        let schema = json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "x-mcp-header": { "type": "string" },
            "options": { "type": "object", "properties": {
                "limit": { "type": ["integer", "null"], "x-mcp-header": "Limit" } } },
        } });
        let found = mirrored(&schema).unwrap();
        let headers: Vec<&str> = found.iter().map(|one| one.header.as_str()).collect();
        assert_eq!(headers, ["mcp-param-region", "mcp-param-limit"]);
        let arguments = json!({ "region": "é", "options": { "limit": 5 } });
        let values: Vec<_> = found.iter().map(|one| one.value(&arguments)).collect();
        assert_eq!(values, [Some("é".to_owned()), Some("5".to_owned())]);
        assert_eq!(found[1].value(&json!({ "options": { "limit": null } })), None);
        for (header, agrees) in [(Some("5"), true), (Some("5.0"), true), (Some("6"), false), (None, false)] {
            assert_eq!(found[1].agrees(header, &arguments), agrees, "{header:?}");
        }
        for (header, agrees) in
            [(Some("=?base64?w6k=?="), true), (Some("=?base64?w6k?="), false), (Some("e"), false)]
        {
            assert_eq!(found[0].agrees(header, &arguments), agrees, "{header:?}");
        }
        assert!(!found[0].agrees(Some(""), &json!({})) && found[0].agrees(None, &json!({})));
    }

    #[test]
    fn what_clients_refuse_is_refused() {
        for schema in [
            property(json!({ "type": "string", "x-mcp-header": "" })),
            property(json!({ "type": "string", "x-mcp-header": "a b" })),
            property(json!({ "type": "string", "x-mcp-header": "a:b" })),
            property(json!({ "type": "string", "x-mcp-header": "é" })),
            property(json!({ "type": "string", "x-mcp-header": 1 })),
            property(json!({ "type": "number", "x-mcp-header": "a" })),
            property(json!({ "type": "object", "x-mcp-header": "a" })),
            property(json!({ "type": "null", "x-mcp-header": "a" })),
            property(json!({ "x-mcp-header": "a" })),
            property(json!({ "type": "array", "items": { "type": "string", "x-mcp-header": "a" } })),
            json!({ "type": "object", "anyOf": [property(json!({ "type": "string", "x-mcp-header": "a" }))] }),
            json!({ "type": "object", "properties": {
                "a": { "type": "string", "x-mcp-header": "X" }, "b": { "type": "string", "x-mcp-header": "x" } } }),
        ] {
            assert!(mirrored(&schema).is_err(), "{schema}");
        }
    }

    #[test]
    fn values_come_back_as_they_were() {
        for (value, header) in [
            ("us-west1", "us-west1"),
            ("a b", "a b"),
            ("", ""),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ] {
            assert_eq!(encoded(value), header);
            assert_eq!(decoded(header).as_deref(), Some(value));
        }
    }
}
