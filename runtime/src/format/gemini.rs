//! Schemas in the subset of OpenAPI 3.0 that Gemini's `Schema` is: no closed objects, no tuples, no `null` type
//! beside another, and nothing next to `anyOf`.

use serde_json::{Map, Value, json};

use super::sound::sound;
use super::words;

/// The fields of `Schema` that ours use, <https://ai.google.dev/api/caching#Schema>.
const KEYWORDS: [&str; 14] = [
    "type",
    "description",
    "nullable",
    "enum",
    "properties",
    "required",
    "propertyOrdering",
    "items",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "anyOf",
    "pattern",
];

/// The constraints among them; all others go into the description.
const CONSTRAINTS: [&str; 4] = ["minItems", "maxItems", "minimum", "maximum"];

/// Keywords that are said in words, or that say nothing that a model needs to know.
const SAID_OTHERWISE: [&str; 7] = [
    "minLength",
    "maxLength",
    "uniqueItems",
    "contentEncoding",
    "default",
    "prefixItems",
    "additionalProperties",
];

/// The keywords in a schema that Gemini's neither has nor has words for, each once.
pub(super) fn unsaid(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    look(schema, &mut found);
    found
}

fn look(schema: &Value, found: &mut Vec<String>) {
    let Value::Object(keywords) = schema else { return };
    for (keyword, value) in keywords {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => properties.values().for_each(|it| look(it, found)),
            ("items", items) => look(items, found),
            ("anyOf" | "prefixItems", Value::Array(schemas)) => schemas.iter().for_each(|it| look(it, found)),
            ("additionalProperties", Value::Bool(_)) => {}
            (known, _) if KEYWORDS.contains(&known) => {}
            (known, value) if SAID_OTHERWISE.contains(&known) && !value.is_object() => {}
            _ if found.contains(keyword) => {}
            _ => found.push(keyword.clone()),
        }
    }
}

/// The schema as Gemini takes it, with what of the original it does not say, in words.
pub(super) fn gemini(schema: &Value) -> (Value, Vec<String>) {
    let mut schema = at(schema);
    let mut notes = Vec::new();
    // What takes no arguments has no schema there.
    if schema.get("properties").is_some_and(|all| *all != json!({})) {
        sound(&mut schema, &mut notes);
    }
    (schema, notes)
}

fn at(schema: &Value) -> Value {
    let Value::Object(keywords) = schema else { return json!({}) };
    let mut schema = keywords.clone();
    // Of OpenAPI, and nothing in the words of JSON Schema.
    schema.shift_remove("nullable");
    schema.shift_remove("propertyOrdering");
    let keeps_pattern = !schema.contains_key("contentEncoding");
    let constraints = CONSTRAINTS.into_iter().filter(|keyword| schema.get(*keyword).is_none_or(is_double));
    let keeping: Vec<&str> = constraints.chain(keeps_pattern.then_some("pattern")).collect();
    let mut sentences = words::take(&mut schema, &keeping);
    if let Some(Value::Array(places)) = schema.shift_remove("prefixItems") {
        let types: Vec<String> = places.iter().map(words::type_words).collect();
        sentences.push(format!("In this order: {}.", types.join(", ")));
        schema.extend(words::any_of(&places).map(|items| ("items".to_owned(), items)));
    }
    // An enumeration there is of text, and of no other type.
    let kind = schema.get("type").and_then(Value::as_str).map(str::to_owned);
    if let Some(Value::Array(words)) = schema.get_mut("enum")
        && kind.is_none()
        && words.iter().any(|word| !word.is_null())
    {
        let all = words.len();
        words.retain(|word| !word.is_null());
        if words.len() < all {
            schema.insert("nullable".to_owned(), true.into());
        }
    }
    if let Some(Value::Array(words)) = schema.get("enum")
        && (!words.iter().all(Value::is_string) || kind.as_deref().is_some_and(|kind| kind != "string"))
    {
        let kind = words::common_type(words);
        let words: Vec<String> = words.iter().map(Value::to_string).collect();
        sentences.push(format!("One of {}.", words.join(", ")));
        schema.shift_remove("enum");
        if let Some(kind) = kind.filter(|_| !schema.contains_key("anyOf")) {
            schema.entry("type").or_insert_with(|| kind.into());
        }
    }
    words::describe(&mut schema, &sentences);
    schema.retain(|keyword, _| KEYWORDS.contains(&keyword.as_str()) || keyword == "additionalProperties");
    if let Some(items) = schema.get_mut("items") {
        *items = at(items);
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(|property| *property = at(property));
    }
    order(&mut schema);
    match schema.shift_remove("anyOf") {
        Some(Value::Array(choices)) => one_of_many(schema, choices),
        _ => Value::Object(schema),
    }
}

/// Whether a number is the same as a double, which the bounds of `Schema` are: rounded, the largest `u64` is none.
fn is_double(number: &Value) -> bool {
    const EXACT: u64 = 1 << 53;
    match (number.as_i64(), number.as_u64()) {
        (Some(integer), _) => integer.unsigned_abs() <= EXACT,
        (None, Some(integer)) => integer <= EXACT,
        (None, None) => true,
    }
}

/// A choice: of one thing and `null`, that thing, nullable; of many, `anyOf` alone, with all else inside it.
fn one_of_many(mut outside: Map<String, Value>, choices: Vec<Value>) -> Value {
    let all = choices.len();
    let mut choices: Vec<Value> = choices.iter().filter(|choice| choice["type"] != "null").map(at).collect();
    if choices.len() < all {
        outside.insert("nullable".to_owned(), true.into());
    }
    for choice in &mut choices {
        if let Value::Object(choice) = choice {
            pour(&outside, choice);
        }
    }
    match (choices.pop(), choices.is_empty()) {
        (None, _) => json!({ "type": "null" }),
        (Some(only), true) => only,
        (Some(last), false) => {
            choices.push(last);
            json!({ "anyOf": choices })
        }
    }
}

/// Puts what stands beside `anyOf` into one of its choices, or into the choices of that.
fn pour(outside: &Map<String, Value>, choice: &mut Map<String, Value>) {
    if let Some(Value::Array(inner)) = choice.get_mut("anyOf") {
        inner.iter_mut().filter_map(Value::as_object_mut).for_each(|inner| pour(outside, inner));
        return;
    }
    for (keyword, value) in outside {
        match (keyword.as_str(), value, choice.get("description")) {
            ("description", Value::String(whole), Some(Value::String(own))) => {
                let both = format!("{whole}\n{own}");
                choice.insert("description".to_owned(), both.into());
            }
            ("properties", Value::Object(more), _) => {
                if let Value::Object(known) = choice.entry("properties").or_insert_with(|| json!({})) {
                    let missing = more.iter().filter(|(name, _)| !known.contains_key(*name));
                    let missing: Vec<(String, Value)> =
                        missing.map(|(name, value)| (name.clone(), value.clone())).collect();
                    known.extend(missing);
                }
            }
            ("required", Value::Array(more), _) => {
                if let Value::Array(known) = choice.entry("required").or_insert_with(|| json!([])) {
                    let missing: Vec<Value> =
                        more.iter().filter(|name| !known.contains(name)).cloned().collect();
                    known.extend(missing);
                }
            }
            _ => drop(choice.insert(keyword.clone(), value.clone())),
        }
    }
    order(choice);
}

/// Says in which order a model writes the properties.
fn order(schema: &mut Map<String, Value>) {
    let names = schema.get("properties").and_then(Value::as_object);
    let names: Vec<Value> = names.into_iter().flatten().map(|(name, _)| name.as_str().into()).collect();
    match names.len() {
        0 | 1 => drop(schema.shift_remove("propertyOrdering")),
        _ => drop(schema.insert("propertyOrdering".to_owned(), names.into())),
    }
}
