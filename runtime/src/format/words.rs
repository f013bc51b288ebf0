//! What a format's schemas have no keyword for, in words for the description.

use serde_json::{Map, Value};

use crate::schema::type_of;

/// Keywords that narrow a value and can be said in words; the runtime enforces them whether a model is told or not.
const SAYABLE: [&str; 10] = [
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "pattern",
    "contentEncoding",
    "default",
];

/// Takes every sayable keyword but those in `keeping` out of `schema` and returns what they mean, a sentence each.
pub(super) fn take(schema: &mut Map<String, Value>, keeping: &[&str]) -> Vec<String> {
    let mut taken = Map::new();
    for keyword in SAYABLE.into_iter().filter(|keyword| !keeping.contains(keyword)) {
        if let Some(value) = schema.shift_remove(keyword) {
            taken.insert(keyword.to_owned(), value);
        }
    }
    let get = |keyword: &str| taken.get(keyword);
    let mut sentences = Vec::new();
    sentences.extend(range(get("minimum"), get("maximum"), ""));
    sentences.extend(range(get("minLength"), get("maxLength"), " characters"));
    sentences.extend(range(get("minItems"), get("maxItems"), " items"));
    if get("uniqueItems") == Some(&Value::Bool(true)) {
        sentences.push("No item twice.".to_owned());
    }
    match (get("contentEncoding").and_then(Value::as_str), get("pattern").and_then(Value::as_str)) {
        // The pattern says no more than the encoding does.
        (Some(encoding), _) => sentences.push(format!("Encoded as {encoding}.")),
        (None, Some(pattern)) => sentences.push(format!("Matches the regular expression `{pattern}`.")),
        (None, None) => {}
    }
    sentences.extend(get("default").map(|default| format!("Default: {default}.")));
    sentences
}

fn range(least: Option<&Value>, most: Option<&Value>, unit: &str) -> Option<String> {
    Some(match (least, most) {
        (Some(least), Some(most)) if least == most => {
            format!("Exactly {least}{}.", counted(least, unit))
        }
        (Some(least), Some(most)) => format!("From {least} to {most}{unit}."),
        (Some(least), None) => format!("At least {least}{}.", counted(least, unit)),
        (None, Some(most)) => format!("At most {most}{}.", counted(most, unit)),
        (None, None) => return None,
    })
}

/// The unit, of one or of several.
fn counted<'a>(count: &Value, unit: &'a str) -> &'a str {
    if *count == 1 { unit.trim_end_matches('s') } else { unit }
}

/// Adds sentences to the schema's description.
pub(super) fn describe(schema: &mut Map<String, Value>, sentences: &[String]) {
    if sentences.is_empty() {
        return;
    }
    let said = sentences.join(" ");
    let description = match schema.get("description").and_then(Value::as_str).map(str::trim_end) {
        None | Some("") => said,
        // A list of words and their meanings must not run on.
        Some(docs) if docs.contains('\n') => format!("{docs}\n{said}"),
        Some(docs) if docs.ends_with(['.', '!', '?', ':', ';']) => format!("{docs} {said}"),
        Some(docs) => format!("{docs}. {said}"),
    };
    schema.insert("description".to_owned(), description.into());
}

/// A schema's type in a word or a few, for a list in a sentence.
pub(super) fn type_words(schema: &Value) -> String {
    if let Some(name) = schema.get("type").and_then(Value::as_str) {
        return name.to_owned();
    }
    let choices = schema.get("anyOf").and_then(Value::as_array);
    let words: Vec<String> = choices.into_iter().flatten().map(type_words).collect();
    if words.is_empty() { "any value".to_owned() } else { words.join(" or ") }
}

/// The type that all of these are of.
pub(super) fn common_type(values: &[Value]) -> Option<&'static str> {
    let mut types: Vec<&str> = values.iter().map(type_of).collect();
    types.sort_unstable();
    types.dedup();
    match types.as_slice() {
        [only] => Some(only),
        ["integer", "number"] => Some("number"),
        _ => None,
    }
}

/// The schema that takes what any of `schemas` takes; `None` of none.
pub(super) fn any_of(schemas: &[Value]) -> Option<Value> {
    let mut distinct: Vec<Value> = Vec::new();
    for schema in schemas {
        if !distinct.contains(schema) {
            distinct.push(schema.clone());
        }
    }
    match distinct.len() {
        0 | 1 => distinct.pop(),
        _ => Some(serde_json::json!({ "anyOf": distinct })),
    }
}
