//! What the server is, and its tools, in pages.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

use super::answer::{listed, server};
use super::frame::{INVALID_PARAMS, Refusal};
use super::version::{CURRENT, Terms, supported};
use crate::format::{Format, Strict};
use crate::policy::Digest;
use crate::runtime::{Runtime, Session};
use crate::tool::Tool;

/// Tools of one page; few clients have more.
const PAGE: usize = 200;

fn capabilities() -> Value {
    json!({ "tools": { "listChanged": true }, "resources": {}, "logging": {} })
}

/// The rules of usage of all components.
fn instructions(runtime: &Runtime) -> Option<Value> {
    let rules: Vec<String> =
        runtime.instructions().iter().map(|(name, rules)| format!("# {name}\n\n{rules}")).collect();
    (!rules.is_empty()).then(|| rules.join("\n\n").into())
}

fn with_instructions(mut result: Value, runtime: &Runtime) -> Value {
    if let (Some(rules), Value::Object(members)) = (instructions(runtime), &mut result) {
        members.insert("instructions".to_owned(), rules);
    }
    result
}

/// The answer to a handshake.
pub(super) fn initialized(runtime: &Runtime, version: &str) -> Value {
    let result =
        json!({ "protocolVersion": version, "capabilities": capabilities(), "serverInfo": server() });
    with_instructions(result, runtime)
}

/// The answer to a client that asks what there is.
pub(super) fn discovered(runtime: &Runtime) -> Value {
    let result = json!({ "supportedVersions": supported(), "capabilities": capabilities() });
    listed(with_instructions(result, runtime), &Terms::handshake(CURRENT, None))
}

/// The digest of all that a client of `session` sees in the list of tools.
pub(super) fn identity(session: &Session) -> Digest {
    let told = |tool: &Arc<Tool>| {
        let digest = tool.shown.get_or_init(|| {
            let shown = Format::Mcp.export(std::slice::from_ref(tool), Strict::Off).tools;
            Digest::of(shown.to_string().as_bytes())
        });
        digest.to_string()
    };
    Digest::of(session.list().iter().map(told).collect::<String>().as_bytes())
}

/// One page of the tools, in the order of their names. A cursor is the last name of the page before, so that a page is right
/// whatever was added or removed meanwhile.
pub(super) fn tools(session: &Session, params: &Map<String, Value>, terms: &Terms) -> Result<Value, Refusal> {
    let after = match params.get("cursor") {
        None | Some(Value::Null) => String::new(),
        Some(cursor) => name_of(cursor)
            .ok_or_else(|| Refusal::new(INVALID_PARAMS, "`cursor` must be a `nextCursor` of this server"))?,
    };
    let rest: Vec<Arc<Tool>> =
        session.list().into_iter().filter(|tool| tool.name() > after.as_str()).collect();
    let page = rest.get(..PAGE.min(rest.len())).unwrap_or_default();
    let mut result = json!({ "tools": Format::Mcp.export(page, Strict::Off).tools });
    if let (true, Some(last), Value::Object(members)) = (rest.len() > page.len(), page.last(), &mut result) {
        members.insert("nextCursor".to_owned(), URL_SAFE_NO_PAD.encode(last.name()).into());
    }
    Ok(listed(result, terms))
}

fn name_of(cursor: &Value) -> Option<String> {
    String::from_utf8(URL_SAFE_NO_PAD.decode(cursor.as_str()?).ok()?).ok()
}
