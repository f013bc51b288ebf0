//! What may be announced by whoever names tools only when asked: a provider, or another server.

use serde_json::{Map, Value};

use super::dialect::modern;

/// The most tools that one of them may have.
pub(super) const MAX_TOOLS: usize = 256;

/// The largest schema of one, in bytes of JSON.
const MAX_SCHEMA_BYTES: usize = 64 << 10;

/// How deep one may be nested.
const MAX_SCHEMA_DEPTH: usize = 32;

/// Bytes of a description.
pub(super) const MAX_DESCRIPTION_BYTES: usize = 16 << 10;

/// Whether a schema of `bytes` is short enough.
///
/// # Errors
/// Says that it is not.
pub(super) fn bounded_length(bytes: usize, what: &str) -> Result<(), String> {
    if bytes > MAX_SCHEMA_BYTES {
        return Err(format!("its {what} has {bytes} bytes, and {MAX_SCHEMA_BYTES} are allowed"));
    }
    Ok(())
}

/// A schema whose root is that of an object, as one of 2020-12.
///
/// # Errors
/// When it is that of something else, nested too deep, or of a dialect that is not known.
pub(super) fn object_schema(schema: Value, what: &str) -> Result<Value, String> {
    if depth(&schema) > MAX_SCHEMA_DEPTH {
        return Err(format!("its {what} is nested deeper than {MAX_SCHEMA_DEPTH}"));
    }
    let mut schema = modern(schema).map_err(|told| format!("its {what} {told}"))?;
    match schema.as_object_mut() {
        Some(object) if object.get("type").and_then(Value::as_str) == Some("object") => {
            object.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        }
        _ => return Err(format!("its {what} is not that of an object")),
    }
    Ok(schema)
}

fn depth(value: &Value) -> usize {
    let inner = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(members) => members.values().map(depth).max(),
        _ => None,
    };
    1 + inner.unwrap_or(0)
}
