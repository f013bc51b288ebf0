//! A JSON Schema in words.

use serde_json::{Map, Value};

use super::page::Page;

/// The description of a schema, as one paragraph.
pub(super) fn described(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The constants that a schema has, each with what it means.
pub(super) fn one_of(schema: &Value) -> Vec<(String, String)> {
    let alternatives = schema["oneOf"].as_array().map(Vec::as_slice).unwrap_or_default();
    let constant = |one: &Value| Some((one["const"].as_str()?.to_owned(), described(one)));
    alternatives.iter().filter_map(constant).collect()
}

/// The description of a value, with what its constants mean and what its objects hold.
pub(super) fn meaning(schema: &Value) -> String {
    let mut text = described(schema);
    for (name, meaning) in one_of(element(schema)) {
        text.push_str(&format!(" `\"{name}\"`: {meaning}"));
    }
    let inner = alternatives(element(schema)).into_iter().find(|one| one["properties"].is_object());
    if let Some(inner) = inner {
        text.push_str(" Keys of its table: ");
        let properties = inner["properties"].as_object().into_iter().flatten();
        let keys = properties.map(|(name, value)| {
            format!("`{name}` ({}): {}", kind(value), meaning(value).trim_end_matches('.'))
        });
        text.push_str(&keys.collect::<Vec<_>>().join("; "));
        text.push('.');
    }
    text.trim().to_owned()
}

/// What a list or a table of names holds; of anything else, itself.
fn element(schema: &Value) -> &Value {
    match (&schema["items"], &schema["additionalProperties"]) {
        (items @ Value::Object(_), _) => element(items),
        (_, values @ Value::Object(_)) => element(values),
        _ => schema,
    }
}

/// The schemas of which a value fits one.
fn alternatives(schema: &Value) -> Vec<&Value> {
    match schema["anyOf"].as_array() {
        Some(any) => any.iter().flat_map(|one| alternatives(element(one))).collect(),
        None => vec![schema],
    }
}

/// What kind of value a schema takes, in words.
pub(super) fn kind(schema: &Value) -> String {
    Definitions::new(&Value::Null).kind(schema)
}

/// The definitions that schemas refer to.
pub(super) struct Definitions<'a> {
    all: Option<&'a Map<String, Value>>,
}

impl<'a> Definitions<'a> {
    pub fn new(all: &'a Value) -> Self {
        Self { all: all.as_object() }
    }

    /// Their names, in order, but for those that are a plain value.
    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        self.all.into_iter().flatten().map(|(name, _)| name.as_str())
    }

    /// A section about one of them.
    pub fn section(&self, page: &mut Page, name: &str) {
        let Some(schema) = self.all.and_then(|all| all.get(name)) else { return };
        page.smaller_heading(&format!("`{name}`"));
        page.paragraph(&described(schema));
        let constants = one_of(schema);
        if !constants.is_empty() {
            let rows = constants.into_iter().map(|(name, meaning)| [format!("`\"{name}\"`"), meaning]);
            return page.table(["value", "meaning"], rows);
        }
        if schema["properties"].is_object() {
            return self.fields(page, schema, None);
        }
        let Some(variants) = schema["oneOf"].as_array() else {
            return page.paragraph(&format!("Is {}.", self.kind(schema)));
        };
        for variant in variants {
            let tag = variant["properties"]["type"]["const"].as_str().unwrap_or_default();
            page.paragraph(&format!("With `\"type\": \"{tag}\"`: {}", described(variant)));
            self.fields(page, variant, Some("type"));
        }
    }

    /// The fields of an object, but for one that says what kind of object it is.
    pub fn fields(&self, page: &mut Page, schema: &Value, tag: Option<&str>) {
        let required =
            |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
        let properties = schema["properties"].as_object().into_iter().flatten();
        let rows = properties.filter(|(name, _)| Some(name.as_str()) != tag).map(|(name, value)| {
            let there = if required(name) { "always" } else { "" };
            [format!("`{name}`"), self.kind(value), there.to_owned(), described(value)]
        });
        page.table(["field", "value", "there", "meaning"], rows);
    }

    /// What kind of value a schema takes, in words.
    pub fn kind(&self, schema: &Value) -> String {
        if let Some(reference) = schema["$ref"].as_str() {
            let name = reference.rsplit('/').next().unwrap_or_default();
            return format!("`{name}`");
        }
        if let Some(any) = schema["anyOf"].as_array() {
            return listed(any.iter().map(|one| self.kind(one)));
        }
        if let Some(constants) = schema["enum"].as_array() {
            return listed(constants.iter().map(|one| format!("`{one}`")));
        }
        let constants = one_of(schema);
        if !constants.is_empty() {
            return listed(constants.into_iter().map(|(name, _)| format!("`\"{name}\"`")));
        }
        match &schema["type"] {
            Value::String(name) => self.of_type(name, schema),
            Value::Array(names) => {
                listed(names.iter().filter_map(Value::as_str).map(|name| self.of_type(name, schema)))
            }
            _ => "any value".to_owned(),
        }
    }

    fn of_type(&self, name: &str, schema: &Value) -> String {
        match name {
            "array" if schema["prefixItems"].is_array() => {
                let items = schema["prefixItems"].as_array().into_iter().flatten();
                format!("a list of {}", items.map(|item| self.kind(item)).collect::<Vec<_>>().join(" and "))
            }
            "array" => format!("a list, each {}", self.kind(&schema["items"])),
            "object" if schema["additionalProperties"].is_object() => {
                format!("a table by name, each {}", self.kind(&schema["additionalProperties"]))
            }
            "object" => "a table".to_owned(),
            "integer" => "an integer".to_owned(),
            "number" => "a number".to_owned(),
            "string" => "a text".to_owned(),
            "boolean" => "true or false".to_owned(),
            other => other.to_owned(),
        }
    }
}

/// Alternatives, each once.
fn listed(kinds: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for kind in kinds {
        if !all.contains(&kind) {
            all.push(kind);
        }
    }
    all.join(" or ")
}
