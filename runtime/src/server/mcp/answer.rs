//! Results as the protocol's revisions have them.

use serde_json::{Map, Value, json};

use super::outputs;
use super::version::Terms;
use crate::call::{Outcome, Truncation};
use crate::format::Format;

/// What this program is, as far as a client is told.
pub(super) fn server() -> Value {
    json!({ "name": "toolcell", "title": "toolcell", "version": env!("CARGO_PKG_VERSION") })
}

/// The message that answers the request `id`.
pub(super) fn message(id: &Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

/// A result with what its revision wants in all of them.
pub(super) fn complete(mut result: Value, terms: &Terms) -> Value {
    let (true, Value::Object(members)) = (terms.is_current(), &mut result) else { return result };
    members.insert("resultType".to_owned(), "complete".into());
    let meta = members.entry("_meta").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(meta) = meta {
        meta.insert("io.modelcontextprotocol/serverInfo".to_owned(), server());
    }
    result
}

/// A list, or what else a client might keep: it is not to, since what it is told depends on the session and may change.
pub(super) fn listed(mut result: Value, terms: &Terms) -> Value {
    if let (true, Value::Object(members)) = (terms.is_current(), &mut result) {
        members.insert("ttlMs".to_owned(), 0.into());
        members.insert("cacheScope".to_owned(), "private".into());
    }
    complete(result, terms)
}

/// The result of a call.
pub(super) fn called(outcome: &Outcome, terms: &Terms) -> Value {
    let mut result = match Format::Mcp.results(std::slice::from_ref(outcome)) {
        Value::Array(mut results) => results.pop().unwrap_or_default(),
        other => other,
    };
    if let Value::Object(members) = &mut result {
        members.insert("_meta".to_owned(), meta(outcome));
        if let Some(Value::Array(content)) = members.get_mut("content") {
            if let Some(truncated) = &outcome.truncated {
                content.extend(rest(truncated));
            }
            content.iter_mut().for_each(|block| older(block, terms));
        }
    }
    complete(result, terms)
}

/// What a program may want to know of a call beside what its model reads.
fn meta(outcome: &Outcome) -> Value {
    let mut meta = Map::new();
    let mut put = |name: &str, value: Value| {
        if !value.is_null() && value != json!([]) {
            meta.insert(format!("toolcell/{name}"), value);
        }
    };
    if let Some(error) = &outcome.error {
        put("kind", json!(error.kind));
        let mut error = json!(error);
        if let Value::Object(members) = &mut error {
            // The content has it.
            members.shift_remove("message");
        }
        put("error", error);
    }
    put("usage", json!(outcome.usage));
    put("truncated", json!(outcome.truncated));
    put("repaired", json!(outcome.repaired));
    put("denials", json!(outcome.denials));
    put("warnings", json!(outcome.warnings));
    Value::Object(meta)
}

/// How the model, and its client, get the rest of what was cut.
fn rest(truncated: &Truncation) -> Vec<Value> {
    let Some(handle) = &truncated.handle else { return Vec::new() };
    let told = format!(
        "[The output was cut. All of its {} bytes in {} lines can be read in parts with the tool `{}` and the handle {handle}.]",
        truncated.total_bytes,
        truncated.total_lines,
        outputs::TOOL,
    );
    let link = json!({
        "type": "resource_link", "uri": outputs::uri(handle), "name": "the full output",
        "mimeType": "text/plain", "size": truncated.total_bytes,
    });
    vec![json!({ "type": "text", "text": told }), link]
}

/// What a revision has no block for, as text.
fn older(block: &mut Value, terms: &Terms) {
    let kind = block.get("type").and_then(Value::as_str).unwrap_or_default();
    let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
    let told = match kind {
        "resource_link" if terms.version < "2025-06-18" => format!("{}: {}", text("name"), text("uri")),
        "audio" if terms.version < "2025-03-26" => {
            format!("[a sound, {}, which cannot be shown here]", text("mimeType"))
        }
        _ => return,
    };
    *block = json!({ "type": "text", "text": told });
}
