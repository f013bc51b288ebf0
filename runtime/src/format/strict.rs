//! Strict schemas: a provider then holds its model to the schema while it writes, and takes few keywords for it.
//!
//! Every object is closed and requires every key. What need not be there may be `null`, which canonicalising takes
//! back for absent. Bounds, patterns and defaults go into the description, and are checked by the runtime as ever.

use serde_json::{Map, Value, json};

use super::lowered::concerns;
use super::words;
use crate::schema::type_of;

/// The keywords that every strict provider takes.
const KEYWORDS: [&str; 8] =
    ["type", "description", "enum", "properties", "required", "additionalProperties", "items", "anyOf"];

/// The schema in strict form.
///
/// # Errors
/// What in it cannot be strict, in words.
pub(super) fn strict(schema: &Value) -> Result<Value, String> {
    at(schema, "")
}

fn at(schema: &Value, path: &str) -> Result<Value, String> {
    let place = if path.is_empty() { "the arguments" } else { path };
    let Value::Object(keywords) = schema else {
        return Err(format!("{place} may be any JSON"));
    };
    let mut strict = keywords.clone();
    let sentences = words::take(&mut strict, &[]);
    if strict.contains_key("prefixItems") {
        return Err(format!("{place} is a list with a type for each place"));
    }
    if let Some(unknown) = strict.keys().find(|keyword| !KEYWORDS.contains(&keyword.as_str())) {
        return Err(format!("{place} needs `{unknown}`, which strict schemas do not have"));
    }
    if !strict.contains_key("type") && !strict.contains_key("anyOf") {
        return Err(format!("{place} may be any JSON"));
    }
    if let Some(Value::Array(choices)) = strict.get_mut("anyOf") {
        for choice in choices {
            *choice = at(choice, path)?;
        }
    }
    let kind = strict.get("type").and_then(Value::as_str).map(str::to_owned);
    if let Some(kind) = &kind {
        // What says nothing of this type was not looked into.
        strict.retain(|keyword, _| concerns(keyword, Some(kind)));
        let fits = |word: &Value| match type_of(word) {
            "integer" => matches!(kind.as_str(), "integer" | "number"),
            of => of == kind,
        };
        if strict.get("enum").and_then(Value::as_array).is_some_and(|words| !words.iter().all(fits)) {
            return Err(format!("{place} is one of several values, not all of which are of its type"));
        }
    } else if strict.keys().any(|keyword| !matches!(keyword.as_str(), "anyOf" | "description" | "enum")) {
        return Err(format!("{place} says something beside a choice"));
    }
    match kind.as_deref() {
        Some("object") => object(&mut strict, path, place)?,
        Some("array") => {
            let items = strict.get("items").ok_or_else(|| format!("{place} is a list of any JSON"))?;
            let items = at(items, &format!("{path}/*"))?;
            strict.insert("items".to_owned(), items);
        }
        _ => {}
    }
    words::describe(&mut strict, &sentences);
    Ok(Value::Object(strict))
}

fn object(schema: &mut Map<String, Value>, path: &str, place: &str) -> Result<(), String> {
    if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
        return Err(format!("{place} is an object with any keys"));
    }
    let required = schema.shift_remove("required");
    let is_required = |name: &str| {
        required.as_ref().and_then(Value::as_array).is_some_and(|names| names.iter().any(|it| it == name))
    };
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return Err(format!("{place} is an object without properties"));
    };
    for (name, property) in properties.iter_mut() {
        let strict = at(property, &format!("{path}/{name}"))?;
        *property = if is_required(name) { strict } else { nullable(strict) };
    }
    let names: Vec<Value> = properties.keys().map(|name| name.as_str().into()).collect();
    schema.insert("required".to_owned(), names.into());
    Ok(())
}

/// The schema with `null` beside what it takes.
fn nullable(schema: Value) -> Value {
    if takes_null(&schema) {
        return schema;
    }
    let Value::Object(mut keywords) = schema else { return schema };
    let mut nullable = Map::new();
    // A reader of the property looks for its description here.
    nullable.extend(keywords.shift_remove_entry("description"));
    let mut choices = match keywords.shift_remove("anyOf") {
        Some(Value::Array(choices)) if keywords.is_empty() => choices,
        Some(choices) => {
            keywords.insert("anyOf".to_owned(), choices);
            vec![Value::Object(keywords)]
        }
        None => vec![Value::Object(keywords)],
    };
    choices.push(json!({ "type": "null" }));
    nullable.insert("anyOf".to_owned(), choices.into());
    Value::Object(nullable)
}

pub(super) fn takes_null(schema: &Value) -> bool {
    let is_null = |kind: &Value| kind == "null";
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(is_null),
        Some(kind) => is_null(kind),
        None => schema.get("anyOf").and_then(Value::as_array).is_some_and(|all| all.iter().any(takes_null)),
    }
}
