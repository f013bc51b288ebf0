#![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use serde_json::json;

use super::*;
use crate::tool::argument_schema::ArgumentSchema;

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
            objects.clone(),
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
            numbers.clone(),
        ),
        // What a draft does not know means nothing in it.
        (
            "http://json-schema.org/draft-07/schema#",
            json!({ "prefixItems": [{ "type": "string" }], "unevaluatedItems": false, "minContains": 9 }),
            lists.clone(),
        ),
        (
            "https://json-schema.org/draft/2019-09/schema",
            json!({ "prefixItems": [{ "type": "string" }], "items": { "type": "integer" } }),
            lists.clone(),
        ),
        (
            "http://json-schema.org/draft-07/schema#",
            json!({
                "unevaluatedProperties": false, "dependentRequired": { "p": ["z"] },
                "dependentSchemas": { "p": false },
            }),
            objects.clone(),
        ),
        (
            "http://json-schema.org/draft-06/schema#",
            json!({ "if": { "required": ["p"] }, "then": { "required": ["q"] }, "else": false }),
            objects.clone(),
        ),
        (
            "http://json-schema.org/draft-07/schema#",
            json!({ "if": { "required": ["p"] }, "then": { "required": ["q"] } }),
            objects.clone(),
        ),
        ("http://json-schema.org/draft-04/schema#", json!({ "const": 1 }), numbers.clone()),
        ("http://json-schema.org/draft-06/schema#", json!({ "const": 1 }), numbers),
        ("http://json-schema.org/draft-04/schema#", json!({ "contains": { "type": "string" } }), lists),
        ("http://json-schema.org/draft-04/schema#", json!({ "propertyNames": { "maxLength": 0 } }), objects),
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
        let after = jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(&written).unwrap();
        let verdicts: Vec<bool> =
            values.iter().map(|value| before.is_valid(&json!({ "a": value }))).collect();
        for (value, verdict) in values.iter().zip(verdicts) {
            assert_eq!(after.is_valid(&json!({ "a": value })), verdict, "{value} by {schema}, {written}");
        }
    }
}

/// Parts of a schema that were written as they are by the generators of servers, and values of `a`.
fn references() -> Vec<(&'static str, Value, Vec<Value>)> {
    let point = json!({
        "type": "object", "properties": { "x": { "type": "number" } }, "required": ["x"],
        "additionalProperties": false,
    });
    let (good, bad) = (json!({ "x": 1 }), json!({ "x": "1" }));
    let to = |path: &str| json!({ "$ref": path });
    let seven = "http://json-schema.org/draft-07/schema#";
    vec![
        // What `zod-to-json-schema` makes of a schema that is used twice.
        (
            seven,
            json!({ "a": { "range": {
                "type": "array", "minItems": 2, "maxItems": 2,
                "items": [point, to("#/properties/a/properties/range/items/0")],
            } } }),
            vec![
                json!({ "range": [good, good] }),
                json!({ "range": [good, bad] }),
                json!({ "range": [bad] }),
            ],
        ),
        (
            seven,
            json!({ "a": {
                "rest": { "items": [{ "type": "string" }], "additionalItems": point },
                "one": to("#/properties/a/properties/rest/additionalItems"),
                "two": to("#/properties/a/properties/rest/items/0"),
            } }),
            vec![
                json!({ "one": good, "two": "x" }),
                json!({ "one": bad }),
                json!({ "two": 1 }),
                json!({ "rest": ["x", good] }),
                json!({ "rest": ["x", bad] }),
            ],
        ),
        (
            "http://json-schema.org/draft-04/schema#",
            json!({ "a": {
                "on": { "dependencies": { "p": point, "q": ["p"] } },
                "one": to("#/properties/a/properties/on/dependencies/p"),
            } }),
            vec![json!({ "one": good }), json!({ "one": bad }), json!({ "on": { "q": 1 } })],
        ),
        (
            "https://json-schema.org/draft/2019-09/schema",
            json!({ "a": {
                "deep": { "items": [{ "items": [{ "type": "string" }, point] }] },
                "one": to("#/properties/a/properties/deep/items/0/items/1"),
            } }),
            vec![json!({ "one": good }), json!({ "one": bad }), json!({ "deep": [["x", bad]] })],
        ),
        // Properties whose names are keywords, or are written in another way.
        (
            seven,
            json!({ "a": {
                "items": { "items": [point] },
                "a/b c": { "items": [point] },
                "one": to("#/properties/a/properties/items/items/0"),
                "two": to("#/properties/a/properties/a~1b%20c/items/0"),
            } }),
            vec![json!({ "one": good, "two": good }), json!({ "one": bad }), json!({ "two": bad })],
        ),
    ]
}

#[test]
fn references_lead_to_what_they_led_to() {
    for (dialect, properties, values) in references() {
        let parts = json!({ "type": "object", "properties": properties["a"] });
        let schema = json!({ "$schema": dialect, "type": "object", "properties": { "a": parts } });
        let before = jsonschema::validator_for(&schema).unwrap();
        let written = modern(schema.clone()).unwrap();
        let after = ArgumentSchema::new(&written).unwrap();
        let mut verdicts = Vec::new();
        for value in values {
            let value = json!({ "a": value });
            verdicts.push(before.is_valid(&value));
            assert_eq!(after.admits(&value), before.is_valid(&value), "{value} by {schema}, {written}");
        }
        assert!(verdicts.contains(&true) && verdicts.contains(&false), "{schema}");
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
