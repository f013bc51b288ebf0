//! What Gemini's service asks of every schema of a request, or it takes none of its tools: lists have items, nothing has
//! the keywords of another type, what is required is described, and enumerations are of texts with something in them.

use serde_json::{Map, Value, json};

use super::lowered::concerns;
use super::words;

/// Makes a schema sound, with a note for each thing that it says no longer.
pub(super) fn sound(schema: &mut Value, notes: &mut Vec<String>) {
    let Value::Object(keywords) = schema else { return };
    if let Some(Value::Array(choices)) = keywords.get_mut("anyOf") {
        return choices.iter_mut().for_each(|choice| sound(choice, notes));
    }
    let kind = kind_of(keywords, notes);
    required(keywords, notes);
    if kind.is_some() {
        keywords.retain(|keyword, _| concerns(keyword, kind.as_deref()));
    }
    enumeration(keywords, notes);
    if kind.as_deref() == Some("array") && keywords.get("items").is_none_or(|items| *items == json!({})) {
        let any = json!({ "anyOf": [{ "type": "string" }, { "type": "number" }, { "type": "boolean" }] });
        keywords.insert("items".to_owned(), any);
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
                    { "description": "An object." },
                ] }),
                "",
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
                json!({ "description": "An object. Also needs `y`." }),
                "needs `y` without a schema",
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
            (json!({ "minimum": 1 }), json!({ "minimum": 1 }), ""),
        ] {
            let (got, notes) = taken(property.clone());
            assert_eq!(got, expected, "{property}");
            assert_eq!(notes.len(), usize::from(!told.is_empty()), "{property}: {notes:?}");
            assert!(notes.iter().all(|note| note.contains(told)), "{property}: {notes:?}");
        }
    }
}
