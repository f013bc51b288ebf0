//! Schemas of older drafts of JSON Schema as ones of 2020-12, which is what everything here reads and models are told. Many
//! servers write draft-07, where an array of schemas under `items` is a tuple, and what stands beside a `$ref` means nothing.

use serde_json::{Map, Value};

/// Keywords whose value is one schema.
const ONE: [&str; 12] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords whose value is a list of schemas.
const LIST: [&str; 5] = ["allOf", "anyOf", "items", "oneOf", "prefixItems"];

/// Keywords whose value has a schema under each name.
const NAMED: [&str; 6] =
    ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"];

/// What may stand beside a `$ref` that makes the rest mean nothing: it says something to people, or is referred to.
const BESIDE: [&str; 8] =
    ["$comment", "$defs", "$ref", "default", "definitions", "description", "examples", "title"];

/// A draft, the older the less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Draft {
    D04,
    D06,
    D07,
    D2019,
    D2020,
}

impl Draft {
    /// The draft of a schema whose root says which, and the current one where it does not.
    fn of(schema: &Value) -> Result<Self, String> {
        let named = match schema.get("$schema") {
            None => return Ok(Self::D2020),
            Some(named) => named.as_str().unwrap_or_default(),
        };
        let bare = named.trim_end_matches('#').trim_start_matches("https://").trim_start_matches("http://");
        match bare {
            "json-schema.org/draft-04/schema" => Ok(Self::D04),
            "json-schema.org/draft-06/schema" => Ok(Self::D06),
            "json-schema.org/draft-07/schema" => Ok(Self::D07),
            "json-schema.org/draft/2019-09/schema" => Ok(Self::D2019),
            "json-schema.org/draft/2020-12/schema" | "json-schema.org/schema" => Ok(Self::D2020),
            _ => Err(
                "is of a dialect that is not known: `$schema` may name draft-04, 06, 07, 2019-09 or 2020-12"
                    .to_owned(),
            ),
        }
    }
}

/// The schema as one of 2020-12 that admits the same. The caller has bounded how deep it is.
///
/// # Errors
/// When its dialect is not known, or cannot be said in 2020-12.
pub(super) fn modern(mut schema: Value) -> Result<Value, String> {
    let draft = Draft::of(&schema)?;
    if let Some(root) = schema.as_object_mut() {
        root.shift_remove("$schema");
    }
    if draft < Draft::D2020 {
        // The root is that of an object, whatever else is beside a reference.
        let kind = schema.get("type").cloned();
        rewrite(&mut schema, draft)?;
        if let (Some(root), Some(kind)) = (schema.as_object_mut(), kind) {
            root.entry("type").or_insert(kind);
        }
    }
    Ok(schema)
}

fn rewrite(schema: &mut Value, draft: Draft) -> Result<(), String> {
    let Value::Object(keywords) = schema else { return Ok(()) };
    if draft <= Draft::D07 && keywords.contains_key("$ref") {
        keywords.retain(|keyword, _| BESIDE.contains(&keyword.as_str()));
    }
    if keywords.contains_key("$recursiveRef") {
        return Err("has a `$recursiveRef`, which 2020-12 has not; write a `$ref`".to_owned());
    }
    for (keyword, value) in keywords.iter_mut() {
        let keyword = keyword.as_str();
        match value {
            Value::Object(inner) if NAMED.contains(&keyword) => {
                inner.values_mut().try_for_each(|schema| rewrite(schema, draft))?;
            }
            Value::Object(_) if ONE.contains(&keyword) => rewrite(value, draft)?,
            Value::Array(inner) if LIST.contains(&keyword) => {
                inner.iter_mut().try_for_each(|schema| rewrite(schema, draft))?;
            }
            _ => {}
        }
    }
    tuple(keywords);
    if draft <= Draft::D07 {
        dependencies(keywords);
        anchor(keywords, if draft == Draft::D04 { "id" } else { "$id" });
    }
    if draft == Draft::D04 {
        exclusive(keywords, "minimum", "exclusiveMinimum");
        exclusive(keywords, "maximum", "exclusiveMaximum");
    }
    Ok(())
}

/// A list under `items` is what the first items are, and `additionalItems` what the others are; otherwise that means nothing.
fn tuple(keywords: &mut Map<String, Value>) {
    let rest = keywords.shift_remove("additionalItems");
    if keywords.get("items").is_some_and(Value::is_array) {
        let first = keywords.shift_remove("items").unwrap_or_default();
        // A list must have something in it.
        if first.as_array().is_some_and(|first| !first.is_empty()) {
            keywords.insert("prefixItems".to_owned(), first);
        }
        keywords.extend(rest.map(|rest| ("items".to_owned(), rest)));
    }
}

/// What has to be there beside a property, by names or by a schema.
fn dependencies(keywords: &mut Map<String, Value>) {
    let Some(Value::Object(all)) = keywords.shift_remove("dependencies") else { return };
    let (names, schemas): (Map<_, _>, Map<_, _>) = all.into_iter().partition(|(_, one)| one.is_array());
    for (keyword, all) in [("dependentRequired", names), ("dependentSchemas", schemas)] {
        if !all.is_empty() {
            keywords.insert(keyword.to_owned(), all.into());
        }
    }
}

/// A name inside of the document was written as an address of its own.
fn anchor(keywords: &mut Map<String, Value>, keyword: &str) {
    if !keywords.get(keyword).is_some_and(Value::is_string) {
        return;
    }
    let Some(Value::String(id)) = keywords.shift_remove(keyword) else { return };
    match id.strip_prefix('#') {
        Some(name) => keywords.insert("$anchor".to_owned(), name.into()),
        None => keywords.insert("$id".to_owned(), id.into()),
    };
}

/// A bound that is left out itself was a word beside the bound.
fn exclusive(keywords: &mut Map<String, Value>, bound: &str, exclusive: &str) {
    let Some(is_exclusive) = keywords.get(exclusive).and_then(Value::as_bool) else { return };
    keywords.shift_remove(exclusive);
    if is_exclusive && let Some(bound) = keywords.shift_remove(bound) {
        keywords.insert(exclusive.to_owned(), bound);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use serde_json::json;

    use super::*;

    /// The schema of each draft under `a`, and what may or may not stand there.
    fn cases() -> Vec<(&'static str, Value, Vec<Value>)> {
        let lists = vec![json!([1, "x"]), json!([1]), json!(["x"]), json!([1, "x", 2]), json!([])];
        let with = |of: &[&str]| {
            let all = of.iter().map(|name| ((*name).to_owned(), json!(1)));
            Value::Object(all.collect())
        };
        let objects = vec![with(&["p"]), with(&["p", "q"]), with(&["q"]), with(&["p", "r"]), json!({})];
        let numbers = vec![json!(0), json!(1), json!(2), json!("x")];
        let tuple = json!({ "type": "array", "items": [{ "type": "integer" }, { "type": "string" }], "additionalItems": false });
        let open = json!({ "items": [{ "type": "integer" }], "additionalItems": { "type": "string" } });
        let list = json!({ "items": { "type": "integer" }, "additionalItems": false });
        vec![
            ("http://json-schema.org/draft-07/schema#", tuple.clone(), lists.clone()),
            ("http://json-schema.org/draft-07/schema", open.clone(), lists.clone()),
            ("https://json-schema.org/draft/2019-09/schema", open, lists.clone()),
            ("http://json-schema.org/draft-06/schema#", list, lists.clone()),
            (
                "http://json-schema.org/draft-07/schema#",
                json!({ "not": { "items": [tuple] } }),
                vec![json!([[1, "x"]]), json!([[1, 2]])],
            ),
            (
                "http://json-schema.org/draft-07/schema#",
                json!({ "dependencies": { "p": ["q"], "r": { "required": ["s"] } } }),
                objects,
            ),
            (
                "http://json-schema.org/draft-04/schema#",
                json!({ "minimum": 1, "exclusiveMinimum": true }),
                numbers.clone(),
            ),
            (
                "http://json-schema.org/draft-04/schema#",
                json!({ "maximum": 1, "exclusiveMaximum": false }),
                numbers.clone(),
            ),
            (
                "http://json-schema.org/draft-07/schema#",
                json!({ "$ref": "#/definitions/n", "type": "string" }),
                numbers.clone(),
            ),
            (
                "http://json-schema.org/draft-07/schema#",
                json!({ "enum": [{ "items": [1] }, 2] }),
                vec![json!({ "items": [1] }), json!(2), json!({ "prefixItems": [1] })],
            ),
            (
                "https://json-schema.org/draft/2020-12/schema",
                json!({ "$ref": "#/definitions/n", "maximum": 1 }),
                numbers,
            ),
        ]
    }

    #[test]
    fn an_older_schema_admits_the_same_as_a_current_one() {
        for (dialect, part, values) in cases() {
            let schema = json!({
                "$schema": dialect, "type": "object", "properties": { "a": part },
                "definitions": { "n": { "type": "integer" } },
            });
            let before = jsonschema::validator_for(&schema).unwrap();
            let written = modern(schema.clone()).unwrap();
            assert!(written.get("$schema").is_none());
            let after =
                jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(&written).unwrap();
            let verdicts: Vec<bool> =
                values.iter().map(|value| before.is_valid(&json!({ "a": value }))).collect();
            for (value, verdict) in values.iter().zip(verdicts) {
                assert_eq!(after.is_valid(&json!({ "a": value })), verdict, "{value} by {schema}, {written}");
            }
        }
    }

    #[test]
    fn names_and_values_that_look_like_keywords_stay() {
        let schema = json!({
            "$schema": "http://json-schema.org/draft-04/schema#", "type": "object", "id": "#root",
            "properties": { "items": { "type": "string" }, "id": { "type": "string" }, "dependencies": {} },
            "default": { "items": [1] },
        });
        let written = modern(schema).unwrap();
        assert_eq!(
            written["properties"],
            json!({ "items": { "type": "string" }, "id": { "type": "string" }, "dependencies": {} })
        );
        assert_eq!((&written["default"], &written["$anchor"]), (&json!({ "items": [1] }), &json!("root")));
    }

    #[test]
    fn what_is_not_known_says_so() {
        for (schema, told) in [
            (json!({ "$schema": "https://example.org/mine" }), "dialect that is not known"),
            (json!({ "$schema": "http://json-schema.org/draft-03/schema#" }), "dialect that is not known"),
            (json!({ "$schema": 7 }), "dialect that is not known"),
            (
                json!({ "$schema": "https://json-schema.org/draft/2019-09/schema", "properties": { "a": { "$recursiveRef": "#" } } }),
                "`$recursiveRef`",
            ),
        ] {
            let error = modern(schema).unwrap_err();
            assert!(error.contains(told), "{error}");
        }
    }
}
