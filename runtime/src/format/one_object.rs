//! Arguments that are one of several objects, as one object: providers take no choice at the root.

use serde_json::{Map, Value, json};

use super::words;

/// Keywords at the root for which a provider refuses a whole request.
const REFUSED: [&str; 6] = ["oneOf", "allOf", "not", "enum", "$ref", "unevaluatedProperties"];

/// Makes one object of the choice at the root. Returns what is lost by it, in words.
pub(super) fn one_object(root: &mut Map<String, Value>) -> Vec<String> {
    let mut notes = Vec::new();
    let is_closed = root.get("unevaluatedProperties") == Some(&Value::Bool(false));
    if let Some(Value::Array(choices)) = root.shift_remove("anyOf") {
        let sets: Vec<&Map<String, Value>> = choices.iter().filter_map(Value::as_object).collect();
        merge(root, &sets, is_closed);
        notes.push("takes one of several sets of arguments, which only its description says".to_owned());
    }
    for keyword in REFUSED {
        if root.shift_remove(keyword).is_some() && keyword != "unevaluatedProperties" {
            notes.push(format!("says `{keyword}` of all arguments together, which is left out"));
        }
    }
    root.insert("type".to_owned(), "object".into());
    root.entry("properties").or_insert_with(|| json!({}));
    notes
}

fn merge(root: &mut Map<String, Value>, sets: &[&Map<String, Value>], is_closed: bool) {
    let own = root.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut found: Map<String, Value> = Map::new();
    for (name, property) in sets.iter().flat_map(|set| properties(set)) {
        match found.entry(name.clone()) {
            serde_json::map::Entry::Vacant(vacant) => drop(vacant.insert(json!([property]))),
            serde_json::map::Entry::Occupied(mut known) => {
                known.get_mut().as_array_mut().into_iter().for_each(|all| all.push(property.clone()));
            }
        }
    }
    let Value::Object(merged) = root.entry("properties").or_insert_with(|| json!({})) else { return };
    for (name, all) in found {
        let joined = all.as_array().and_then(|all| joined(all)).unwrap_or_else(|| json!({}));
        merged.entry(name).or_insert(joined);
    }
    let everywhere =
        merged.keys().filter(|name| !sets.is_empty() && sets.iter().all(|set| requires(set, name)));
    let everywhere = everywhere.map(|name| Value::from(name.as_str())).filter(|name| !own.contains(name));
    let required: Vec<Value> = own.iter().cloned().chain(everywhere.collect::<Vec<_>>()).collect();
    let is_simple = |set: &&Map<String, Value>| !set.contains_key("anyOf");
    let closes = |set: &&Map<String, Value>| set.get("additionalProperties") == Some(&Value::Bool(false));
    // What the root itself says of other names holds for every set.
    if !root.contains_key("additionalProperties")
        && sets.iter().all(is_simple)
        && (is_closed || sets.iter().all(closes))
    {
        root.insert("additionalProperties".to_owned(), false.into());
    }
    if required.is_empty() {
        root.shift_remove("required");
    } else {
        root.insert("required".to_owned(), required.into());
    }
    let said: Vec<String> = sets.iter().map(|set| set_words(set)).collect();
    words::describe(root, &[format!("One of these sets of arguments: {}.", said.join("; "))]);
}

fn properties(set: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    set.get("properties").and_then(Value::as_object).into_iter().flatten()
}

fn requires(set: &Map<String, Value>, name: &str) -> bool {
    set.get("required").and_then(Value::as_array).is_some_and(|names| names.iter().any(|it| it == name))
}

/// What takes each of these: of enumerations one with all words.
fn joined(all: &[Value]) -> Option<Value> {
    let words: Option<Vec<&Vec<Value>>> =
        all.iter().map(|one| one.get("enum").and_then(Value::as_array)).collect();
    let Some(words) = words else { return words::any_of(all) };
    let mut distinct: Vec<Value> = Vec::new();
    for word in words.into_iter().flatten() {
        if !distinct.contains(word) {
            distinct.push(word.clone());
        }
    }
    let mut joined = Map::new();
    if let Some(kind) = all.first().and_then(|first| first.get("type")) {
        if all.iter().any(|one| one.get("type") != Some(kind)) {
            return words::any_of(all);
        }
        joined.insert("type".to_owned(), kind.clone());
    }
    joined.insert("enum".to_owned(), distinct.into());
    Some(Value::Object(joined))
}

/// One set in words: `{op: "add", a, b, c?}`.
fn set_words(set: &Map<String, Value>) -> String {
    let word = |(name, property): (&String, &Value)| {
        let only = property.get("enum").and_then(Value::as_array).filter(|words| words.len() == 1);
        let mark = if requires(set, name) { "" } else { "?" };
        match only.and_then(|words| words.first()) {
            Some(only) => format!("{name}{mark}: {only}"),
            None => format!("{name}{mark}"),
        }
    };
    let named = properties(set).map(word);
    // What a set only requires is described beside the choice.
    let required = set.get("required").and_then(Value::as_array).into_iter().flatten();
    let described: Vec<&String> = properties(set).map(|(name, _)| name).collect();
    let bare = required
        .filter_map(Value::as_str)
        .filter(|name| !described.iter().any(|known| known == name))
        .map(str::to_owned);
    format!("{{{}}}", named.chain(bare).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test may panic")]

    use super::*;

    #[test]
    fn a_choice_of_what_is_required_keeps_what_stands_beside_it() {
        let mut root = json!({
            "type": "object", "properties": { "id": { "type": "string" }, "name": { "type": "string" } },
            "anyOf": [{ "required": ["id"] }, { "required": ["name"] }], "additionalProperties": false,
        });
        let notes = one_object(root.as_object_mut().unwrap());
        assert_eq!(
            root,
            json!({
                "type": "object", "properties": { "id": { "type": "string" }, "name": { "type": "string" } },
                "additionalProperties": false,
                "description": "One of these sets of arguments: {id}; {name}.",
            })
        );
        assert_eq!(notes, ["takes one of several sets of arguments, which only its description says"]);
        let mut open = json!({ "additionalProperties": { "type": "integer" }, "anyOf": [
            { "properties": { "a": {} }, "required": ["a"] }, { "properties": { "b": {} }, "additionalProperties": false },
        ] });
        one_object(open.as_object_mut().unwrap());
        assert_eq!(open["additionalProperties"], json!({ "type": "integer" }));
    }
}
