//! One spelling of values that differ in the order of their keys alone.

use serde_json::{Map, Value};

/// The value with its keys in order: whoever writes one again may write them in another.
pub(crate) fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut entries: Vec<(&String, &Value)> = members.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let members = entries.into_iter().map(|(key, value)| (key.clone(), sorted(value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}
