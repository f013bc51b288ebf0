//! The schemas as models and validators see them.

use serde_json::Map;

use super::*;

const EVERYTHING: &str = "
    record point { x: s32, y: s32, label: option<string> }
    variant target { everywhere, at(point), line(u64) }
    enum color { red, dark-blue }
    flags perms { read, write-all }
    type pair = tuple<u8, f64>;
    f: func(
        flag: bool, tiny: s8, small: u8, short: s16, count: u16, int: s32, uint: u32, long: s64, ulong: u64,
        single: f32, double: f64, letter: char, text: string, bytes: list<u8>, names: list<string>, grid: list<list<u32>>,
        pair: pair, point: point, target: target, color: color, perms: perms,
        maybe: option<u32>, perhaps: option<option<color>>, outcome: result<u32, string>, unit: result,
    ) -> result<list<point>, string>;";

fn described() -> Signature {
    let docs = json!({"params": {
        "int": {"description": "How many", "minimum": 1, "maximum": 10, "default": 3},
        "double": {"minimum": 0},
        "text": {"description": "What to look for", "pattern": "^[a-z]+$"},
        "color": {"description": "The ink"},
        "maybe": {"description": "A bound", "maximum": 9}
    }});
    let types = json!({
        "test:types/api@1.0.0#point": {
            "description": "A place on the grid",
            "members": {"x": {"description": "Columns to the right", "minimum": 0}}
        },
        "test:types/api@1.0.0#target": {"members": {"line": {"description": "A line from 1", "minimum": 1}}},
        "test:types/api@1.0.0#color": {"members": {"red": {"description": "As in ledgers"}}},
        "test:types/api@1.0.0#pair": {"description": "Weight and mass"}
    });
    read(EVERYTHING, &docs, &types).unwrap()
}

#[test]
fn the_input_schema_of_every_type() {
    insta::assert_json_snapshot!(described().input_schema());
}

#[test]
fn the_output_schemas() {
    let schemas: Vec<Value> = [
        "f: func();",
        "f: func() -> result<_, string>;",
        "f: func() -> string;",
        "f: func() -> u64;",
        "f: func() -> f32;",
        "f: func() -> option<string>;",
        "f: func() -> result<list<string>, string>;",
        "record page { lines: list<string>, next: option<u32> } f: func() -> page;",
        "record page { a: u8 } f: func() -> option<page>;",
    ]
    .into_iter()
    .map(|items| json!({items: plain(items).output_schema()}))
    .collect();
    insta::assert_json_snapshot!(schemas);
}

/// Calls `visit` on each schema inside, by the keywords that hold schemas; a boolean for a schema panics.
fn each_schema(schema: &Value, visit: &mut impl FnMut(&Map<String, Value>)) {
    let keywords = schema.as_object().unwrap();
    visit(keywords);
    for (keyword, value) in keywords {
        match keyword.as_str() {
            "properties" => value.as_object().unwrap().values().for_each(|schema| each_schema(schema, visit)),
            "anyOf" | "prefixItems" => {
                value.as_array().unwrap().iter().for_each(|schema| each_schema(schema, visit))
            }
            "items" => each_schema(value, visit),
            _ => {}
        }
    }
}

#[test]
fn schemas_have_only_keywords_that_every_validator_knows() {
    let known = [
        "type",
        "description",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "prefixItems",
        "minItems",
        "maxItems",
        "uniqueItems",
        "anyOf",
        "enum",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "pattern",
        "contentEncoding",
        "default",
    ];
    let signature = described();
    let schemas = [
        signature.input_schema(),
        signature.output_schema().unwrap(),
        plain("f: func();").input_schema(),
        plain("f: func();").output_schema().unwrap(),
    ];
    for schema in &schemas {
        assert_eq!(schema["type"], "object");
        jsonschema::draft202012::meta::validate(schema).unwrap();
        each_schema(schema, &mut |keywords| {
            assert!(keywords.keys().all(|keyword| known.contains(&keyword.as_str())), "{keywords:?}");
            assert!(keywords.contains_key("type") || keywords.contains_key("anyOf"), "{keywords:?}");
            if keywords.get("type") == Some(&json!("object")) {
                assert!(
                    keywords["properties"].is_object() && keywords["additionalProperties"] == json!(false)
                );
                assert!(
                    keywords.get("required").is_none_or(|required| !required.as_array().unwrap().is_empty())
                );
            }
            if keywords.get("type") == Some(&json!("array")) {
                assert!(
                    keywords.contains_key("items") || keywords.contains_key("prefixItems"),
                    "{keywords:?}"
                );
            }
        });
    }
}
