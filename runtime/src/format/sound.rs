//! What Gemini's service asks of every schema of a request, or it takes none of its tools: lists have items, nothing has
//! the keywords of another type, what is required is described, and enumerations are of texts with something in them.

use serde_json::{Map, Value, json};

use super::lowered::concerns;
use super::words;

/// Makes a schema sound, with a note for each thing that it says no longer.
pub(super) fn sound(schema: &mut Value, notes: &mut Vec<String>) {
    let Value::Object(keywords) = schema else { return };
    if let Some(Value::Array(choices)) = keywords.get_mut("anyOf") {
        one_as_text(choices, notes);
        if let [only] = choices.as_mut_slice() {
            *schema = only.take();
            return sound(schema, notes);
        }
        return choices.iter_mut().for_each(|choice| sound(choice, notes));
    }
    let Some(mut kind) = kind_of(keywords, notes) else {
        *schema = anything(keywords);
        note(notes, "takes any value, of which gemini's schemas say text, number and boolean alone");
        return;
    };
    if is_free(keywords) {
        as_text(keywords);
        note(
            notes,
            "has an object of any names, which gemini's schemas cannot say; it is one written as text",
        );
        "string".clone_into(&mut kind);
    }
    required(keywords, notes);
    keywords.retain(|keyword, _| keyword != "additionalProperties" && concerns(keyword, Some(&kind)));
    if kind == "string" {
        enumeration(keywords, notes);
    } else if let Some(Value::Array(words)) = keywords.shift_remove("enum") {
        // Of no type by itself, and text alone is enumerated there.
        let words: Vec<String> = words.iter().map(Value::to_string).collect();
        words::describe(keywords, &[format!("One of {}.", words.join(", "))]);
    }
    if kind == "array" && keywords.get("items").is_none_or(|items| *items == json!({})) {
        keywords.insert("items".to_owned(), anything(&Map::new()));
        note(
            notes,
            "has a list of anything, which gemini's schemas cannot say; it is one of texts, numbers and booleans",
        );
    }
    if let Some(Value::Object(properties)) = keywords.get_mut("properties") {
        properties.values_mut().for_each(|property| sound(property, notes));
    }
    if let Some(items) = keywords.get_mut("items") {
        sound(items, notes);
    }
}

/// Whether a schema is of objects whose properties it does not name.
fn is_free(keywords: &Map<String, Value>) -> bool {
    let has_properties = keywords.get("properties").is_some_and(|all| *all != json!({}));
    keywords.get("type").is_some_and(|kind| kind == "object") && !has_properties
}

/// An object as the text of it, which the runtime reads where no text is taken.
fn as_text(keywords: &mut Map<String, Value>) {
    let values = keywords.get("additionalProperties").filter(|values| values.is_object());
    let values = values.map(words::type_words).filter(|values| values != "any value");
    let mut sentences = vec!["A JSON object, written as text.".to_owned()];
    if let Some(Value::Array(names)) = keywords.shift_remove("required") {
        let names: Vec<String> =
            names.iter().filter_map(Value::as_str).map(|name| format!("`{name}`")).collect();
        sentences.extend((!names.is_empty()).then(|| format!("It needs {}.", names.join(", "))));
    }
    sentences.extend(values.map(|values| format!("Each of its values: {values}.")));
    words::describe(keywords, &sentences);
    keywords.insert("type".to_owned(), "string".into());
}

/// Leaves out objects that would be written as text where text is one of the choices: they would be taken for that.
fn one_as_text(choices: &mut Vec<Value>, notes: &mut Vec<String>) {
    if choices.iter().any(takes_any_text) && leave_out_free(choices) {
        note(notes, "takes an object of any names or a text, of which gemini's schemas say the text alone");
    }
}

/// Whether every text is taken. Where only some are, an object that is written as text is told from them.
fn takes_any_text(schema: &Value) -> bool {
    if let Some(choices) = schema.get("anyOf").and_then(Value::as_array) {
        return choices.iter().any(takes_any_text);
    }
    is_anything(schema) || (schema["type"] == "string" && schema.get("enum").is_none())
}

/// Whether there were any, at whatever depth.
fn leave_out_free(choices: &mut Vec<Value>) -> bool {
    let all = choices.len();
    choices.retain(|choice| !choice.as_object().is_some_and(is_free));
    let mut found = choices.len() < all;
    for choice in choices.iter_mut() {
        if let Some(inner) = choice.get_mut("anyOf").and_then(Value::as_array_mut) {
            found |= leave_out_free(inner);
        }
    }
    choices.retain(|choice| choice.get("anyOf").is_none_or(|inner| *inner != json!([])));
    found
}

fn is_anything(schema: &Value) -> bool {
    let says = |keyword| schema.get(keyword).is_some();
    !["type", "anyOf", "properties", "items", "enum"].into_iter().any(says)
}

/// What stands for a value of any type, under what is said of it.
fn anything(said: &Map<String, Value>) -> Value {
    let choices = ["string", "number", "boolean"].map(|kind| {
        let concerning = said.iter().filter(|(keyword, _)| concerns(keyword, Some(kind)));
        let mut choice = Map::from_iter([("type".to_owned(), kind.into())]);
        choice.extend(concerning.map(|(keyword, value)| (keyword.clone(), value.clone())));
        Value::Object(choice)
    });
    json!({ "anyOf": choices })
}

/// The type, where there is none that which its keywords are for.
fn kind_of(keywords: &mut Map<String, Value>, notes: &mut Vec<String>) -> Option<String> {
    if let Some(kind) = keywords.get("type") {
        return kind.as_str().map(str::to_owned);
    }
    let has = |keyword: &str| keywords.contains_key(keyword);
    let kind = match () {
        () if has("properties") => "object",
        () if has("items") => "array",
        () if has("enum") => "string",
        () => return None,
    };
    keywords.insert("type".to_owned(), kind.into());
    if kind != "string" {
        note(
            notes,
            &format!("describes an {kind} where anything else may be too, which gemini's schemas cannot say"),
        );
    }
    Some(kind.to_owned())
}

fn required(keywords: &mut Map<String, Value>, notes: &mut Vec<String>) {
    let Some(Value::Array(names)) = keywords.get("required") else { return };
    let properties = keywords.get("properties").and_then(Value::as_object);
    let is_known = |name: &&Value| {
        name.as_str().is_some_and(|name| properties.is_some_and(|all| all.contains_key(name)))
    };
    let (known, unknown): (Vec<&Value>, Vec<&Value>) = names.iter().partition(is_known);
    if unknown.is_empty() {
        return;
    }
    let known: Vec<Value> = known.into_iter().cloned().collect();
    let unknown: Vec<Value> = unknown.into_iter().cloned().collect();
    match known.is_empty() {
        true => drop(keywords.shift_remove("required")),
        false => drop(keywords.insert("required".to_owned(), known.into())),
    }
    let names: Vec<String> =
        unknown.iter().filter_map(Value::as_str).map(|name| format!("`{name}`")).collect();
    let names = names.join(", ");
    words::describe(keywords, &[format!("Also needs {names}.")]);
    note(notes, &format!("needs {names} without a schema, which gemini gets in words alone"));
}

fn enumeration(keywords: &mut Map<String, Value>, notes: &mut Vec<String>) {
    let Some(Value::Array(words)) = keywords.get_mut("enum") else { return };
    let mut seen: Vec<Value> = Vec::new();
    words.retain(|word| {
        !seen.contains(word) && {
            seen.push(word.clone());
            true
        }
    });
    let all = words.len();
    words.retain(|word| word != "");
    let (has_words, has_all) = (!words.is_empty(), words.len() == all);
    if !has_words {
        keywords.shift_remove("enum");
    }
    if !has_all {
        let said = if has_words { "Or an empty text." } else { "An empty text." };
        words::describe(keywords, &[said.to_owned()]);
        note(notes, "takes an empty text among others, which gemini gets in words alone");
    }
}

fn note(notes: &mut Vec<String>, what: &str) {
    if !notes.iter().any(|known| known == what) {
        notes.push(what.to_owned());
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test may panic")]

    use proptest::prelude::*;

    use super::super::gemini::gemini;
    use super::super::lowered::lowered;
    use super::*;

    /// The property `p` as Gemini gets it, and the notes.
    fn taken(property: Value) -> (Value, Vec<String>) {
        let schema = json!({ "type": "object", "properties": { "p": property, "q": { "type": "string" } } });
        let (schema, notes) = gemini(&lowered(&schema).unwrap().schema);
        (schema["properties"]["p"].clone(), notes)
    }

    #[test]
    fn what_is_no_schema_of_geminis_becomes_one_and_says_what_it_lost() {
        let any = json!({ "anyOf": [{ "type": "string" }, { "type": "number" }, { "type": "boolean" }] });
        let list = "a list of anything";
        for (property, expected, told) in [
            (json!({ "type": "array" }), json!({ "type": "array", "items": any }), list),
            (json!({ "type": "array", "items": true }), json!({ "type": "array", "items": any }), list),
            (json!({ "type": "array", "items": {} }), json!({ "type": "array", "items": any }), list),
            (
                json!({ "type": "array", "items": { "type": "array" } }),
                json!({ "type": "array", "items": { "type": "array", "items": any } }),
                list,
            ),
            (
                json!({ "type": ["array", "null"] }),
                json!({ "type": "array", "items": any, "nullable": true }),
                list,
            ),
            (
                json!({ "type": "array", "prefixItems": [{ "type": "string" }], "items": false }),
                json!({ "type": "array", "maxItems": 1, "items": { "type": "string" }, "description": "In this order: string." }),
                "",
            ),
            (
                json!({ "type": "array", "items": false, "maxItems": 3 }),
                json!({ "type": "array", "maxItems": 0, "items": any }),
                list,
            ),
            (
                json!({ "type": ["array", "object"], "items": { "type": "string" }, "minItems": 1 }),
                json!({ "anyOf": [
                    { "type": "array", "items": { "type": "string" }, "minItems": 1 },
                    { "type": "string", "description": "A JSON object, written as text." },
                ] }),
                "an object of any names",
            ),
            (
                json!({ "type": ["string", "integer"], "pattern": "a", "minimum": 1 }),
                json!({ "anyOf": [{ "type": "string", "pattern": "a" }, { "type": "integer", "minimum": 1 }] }),
                "",
            ),
            (
                json!({ "items": { "type": "string" } }),
                json!({ "type": "array", "items": { "type": "string" } }),
                "describes an array where anything else",
            ),
            (
                json!({ "properties": { "x": { "type": "string" } }, "required": ["x"] }),
                json!({ "type": "object", "properties": { "x": { "type": "string" } }, "required": ["x"] }),
                "describes an object where anything else",
            ),
            (json!({ "enum": ["a", "b"] }), json!({ "type": "string", "enum": ["a", "b"] }), ""),
            (
                json!({ "type": ["string", "null"], "enum": ["a", "", null] }),
                json!({ "type": "string", "enum": ["a"], "nullable": true, "description": "Or an empty text." }),
                "an empty text",
            ),
            (
                json!({ "type": "string", "enum": [""] }),
                json!({ "type": "string", "description": "An empty text." }),
                "an empty text",
            ),
            (
                json!({ "type": "object", "properties": { "x": { "type": "string" } }, "required": ["x", "y", "z"] }),
                json!({ "type": "object", "properties": { "x": { "type": "string" } }, "required": ["x"],
                    "description": "Also needs `y`, `z`." }),
                "needs `y`, `z` without a schema",
            ),
            (
                json!({ "type": "object", "required": ["y"] }),
                json!({ "type": "string", "description": "A JSON object, written as text. It needs `y`." }),
                "an object of any names",
            ),
            (
                json!({ "type": "object", "properties": { "x": { "type": "string" }, "y": { "type": "string" } },
                    "anyOf": [{ "required": ["x"] }, { "required": ["y"] }] }),
                json!({ "anyOf": [
                    { "type": "object", "properties": { "x": { "type": "string" }, "y": { "type": "string" } },
                      "propertyOrdering": ["x", "y"], "required": ["x"] },
                    { "type": "object", "properties": { "x": { "type": "string" }, "y": { "type": "string" } },
                      "propertyOrdering": ["x", "y"], "required": ["y"] },
                ] }),
                "",
            ),
            (
                json!({ "minimum": 1, "description": "D" }),
                json!({ "anyOf": [{ "type": "string", "description": "D" },
                    { "type": "number", "minimum": 1, "description": "D" }, { "type": "boolean", "description": "D" }] }),
                "takes any value",
            ),
            (json!(true), any.clone(), "takes any value"),
            (
                json!({ "type": "object", "additionalProperties": { "type": "integer" } }),
                json!({ "type": "string",
                    "description": "A JSON object, written as text. Each of its values: integer." }),
                "an object of any names",
            ),
            (
                json!({ "type": ["object", "null"], "description": "D" }),
                json!({ "type": "string", "nullable": true, "description": "D. A JSON object, written as text." }),
                "an object of any names",
            ),
            (
                json!({ "type": "array", "items": { "type": "object" } }),
                json!({ "type": "array", "items": { "type": "string", "description": "A JSON object, written as text." } }),
                "an object of any names",
            ),
            (
                json!({ "type": ["object", "string"], "description": "D" }),
                json!({ "type": "string", "description": "D" }),
                "an object of any names or a text",
            ),
            (json!({ "enum": [1, 2] }), json!({ "type": "integer", "description": "One of 1, 2." }), ""),
            (
                json!({ "type": "integer", "enum": ["1", "2"], "nullable": "yes", "propertyOrdering": "x" }),
                json!({ "type": "integer", "description": "One of \"1\", \"2\"." }),
                "",
            ),
            (
                json!({ "enum": [null, "a", "a"] }),
                json!({ "type": "string", "enum": ["a"], "nullable": true }),
                "",
            ),
            (
                json!({ "anyOf": [{ "const": "all" }, { "type": "object" }] }),
                json!({ "anyOf": [{ "type": "string", "enum": ["all"] },
                    { "type": "string", "description": "A JSON object, written as text." }] }),
                "an object of any names",
            ),
            (
                json!({ "anyOf": [{ "type": "string" }, { "anyOf": [{ "type": "object" }, { "type": "integer" }] }] }),
                json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] }),
                "an object of any names or a text",
            ),
            (
                json!({ "type": "object", "properties": { "c": { "type": "string" } }, "required": ["c"], "anyOf": [
                    { "properties": { "a": { "type": "string" } }, "required": ["a"] },
                    { "properties": { "b": { "type": "string" } }, "required": ["b"] },
                ] }),
                json!({ "anyOf": [
                    { "type": "object", "properties": { "a": { "type": "string" }, "c": { "type": "string" } },
                      "required": ["a", "c"], "propertyOrdering": ["a", "c"] },
                    { "type": "object", "properties": { "b": { "type": "string" }, "c": { "type": "string" } },
                      "required": ["b", "c"], "propertyOrdering": ["b", "c"] },
                ] }),
                "",
            ),
            (json!({ "const": 1.5 }), json!({ "type": "number", "description": "One of 1.5." }), ""),
            (
                json!({ "type": "object", "properties": { "x": { "type": "string" } },
                    "anyOf": [{ "type": "object", "required": ["x"] }, { "type": "object", "minProperties": 1 }] }),
                json!({ "anyOf": [
                    { "type": "object", "required": ["x"], "properties": { "x": { "type": "string" } } },
                    { "type": "object", "properties": { "x": { "type": "string" } } },
                ] }),
                "",
            ),
        ] {
            let (got, notes) = taken(property.clone());
            assert_eq!(got, expected, "{property}");
            assert_eq!(notes.len(), usize::from(!told.is_empty()), "{property}: {notes:?}");
            assert!(notes.iter().all(|note| note.contains(told)), "{property}: {notes:?}");
        }
    }
    fn schemas() -> impl Strategy<Value = Value> {
        let kind = || prop::sample::select(&["object", "array", "string", "integer", "boolean", "null"][..]);
        let words = prop::sample::subsequence(
            vec![json!(1), json!(2.5), json!(""), json!("a"), json!(null), json!([1]), json!({})],
            0..4,
        );
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            Just(json!({})),
            kind().prop_map(|kind| json!({ "type": kind })),
            prop::collection::vec(kind(), 0..3).prop_map(|kinds| json!({ "type": kinds })),
            words.prop_map(|words| json!({ "enum": words })),
            Just(json!({ "minimum": 1, "maxLength": 3, "required": ["x"] })),
        ];
        leaf.prop_recursive(4, 24, 4, move |inner| {
            let choices = prop::collection::vec(inner.clone(), 0..3);
            let members = prop::collection::btree_map("[a-c]", inner.clone(), 0..3);
            (inner, choices, members, prop::option::of(kind()), 0..1024_u32).prop_map(
                |(inner, choices, members, kind, keywords)| {
                    let all = [
                        ("items", inner.clone()),
                        ("anyOf", choices.clone().into()),
                        ("properties", json!(members)),
                        ("additionalProperties", inner),
                        ("required", json!(["a", "x"])),
                        ("prefixItems", choices.clone().into()),
                        ("allOf", choices.into()),
                        ("enum", json!(["a", "b"])),
                        ("nullable", json!("yes")),
                        ("propertyOrdering", json!(["zz"])),
                    ];
                    let chosen = all.into_iter().enumerate().filter(|(at, _)| keywords >> at & 1 == 1);
                    let kind = kind.map(|kind| ("type", kind.into()));
                    let members = chosen.map(|(_, member)| member).chain(kind);
                    Value::Object(members.map(|(name, value)| (name.to_owned(), value)).collect())
                },
            )
        })
    }

    fn assert_taken(schema: &Value, is_root: bool) {
        let has = |keyword: &str| schema.get(keyword).is_some();
        assert!(has("type") != has("anyOf"), "{schema}");
        match schema["type"].as_str() {
            Some("object") => {
                let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
                assert!(is_root || !names.is_empty(), "{schema}");
                let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
                required.for_each(|name| {
                    assert!(schema["properties"].get(name.as_str().unwrap()).is_some(), "{schema}")
                });
            }
            Some("array") => assert!(has("items"), "{schema}"),
            Some(_) => assert!(!has("properties") && !has("items"), "{schema}"),
            None => assert_eq!(schema.as_object().unwrap().len(), 1, "nothing beside a choice: {schema}"),
        }
        assert!(schema.get("nullable").is_none_or(Value::is_boolean), "{schema}");
        let ordered = schema.get("propertyOrdering").map(|names| names.as_array().unwrap());
        for name in ordered.into_iter().flatten() {
            assert!(schema["properties"].get(name.as_str().unwrap()).is_some(), "{schema}");
        }
        if let Some(words) = schema.get("enum") {
            assert_eq!(schema["type"], "string", "{schema}");
            assert!(
                words
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|word| word.as_str().is_some_and(|word| !word.is_empty()))
            );
        }
        assert!(!has("additionalProperties") && !has("prefixItems"), "{schema}");
        let named = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::values);
        let choices = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
        named.chain(choices).chain(schema.get("items")).for_each(|part| assert_taken(part, false));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn every_part_of_whatever_a_tool_takes_is_of_a_type(property in schemas()) {
            let schema = json!({ "type": "object", "properties": { "p": property, "q": { "type": "string" } } });
            if let Ok(lowered) = lowered(&schema) {
                assert_taken(&gemini(&lowered.schema).0, true);
            }
        }
    }
}
