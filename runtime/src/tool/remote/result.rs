//! A server's result as that of a tool.

use serde_json::Value;

use super::media::{file, media};
use super::message::RpcError;
use crate::call::{CallError, Content, ErrorKind, Returned};

/// What a server gave, as content and data. What it marks as an error is the tool's own.
///
/// # Errors
/// When it is no result, or asks for something in place of giving one.
pub(super) fn returned(mut result: Value) -> Result<Returned, CallError> {
    if result.get("resultType").is_some_and(|kind| kind == "input_required") {
        let message = "the tool wants to ask for something (a user's input, a model's answer, or folders), and gets nothing; \
                       call it in a way in which it need not ask";
        return Err(CallError::new(ErrorKind::ToolError, message));
    }
    let blocks = match result.get_mut("content").map(Value::take) {
        Some(Value::Array(blocks)) => blocks,
        None if result.get("structuredContent").is_some() => Vec::new(),
        _ => {
            return Err(CallError::new(
                ErrorKind::ToolError,
                "the tool's server gave no result that can be read",
            ));
        }
    };
    let mut content: Vec<Content> = blocks.into_iter().map(block).collect();
    let structured = result.get_mut("structuredContent").map(Value::take).filter(|data| !data.is_null());
    // Not every reader has data beside what is said.
    if let (true, Some(data)) = (content.is_empty(), &structured) {
        content.push(Content::Text { text: data.to_string() });
    }
    // What is neither true nor false is no success.
    if result.get("isError").is_some_and(|failed| !failed.is_null() && *failed != Value::Bool(false)) {
        return Ok(Returned::ToolError(Some(Value::String(texts(&content)))));
    }
    Ok(Returned::Output { content, structured: structured.filter(Value::is_object) })
}

/// What a server refused, as the tool's own error.
pub(super) fn refused(error: &RpcError) -> Returned {
    let message =
        if error.message.is_empty() { "the tool's server refused the call" } else { &error.message };
    Returned::ToolError(Some(Value::String(message.to_owned())))
}

/// One block; what is not known is given as the JSON that it is.
fn block(block: Value) -> Content {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let known = match block.get("type").and_then(Value::as_str) {
        Some("text") => text(&block, "text").map(|text| Content::Text { text }),
        Some(kind @ ("image" | "audio")) => Some(media(&block, kind)),
        Some("resource_link") => text(&block, "uri").map(|uri| Content::Link {
            uri,
            name: text(&block, "name"),
            mime_type: text(&block, "mimeType"),
        }),
        Some("resource") => block.get("resource").and_then(|resource| {
            file(resource).or_else(|| text(resource, "text").map(|text| Content::Text { text }))
        }),
        _ => None,
    };
    known.unwrap_or(Content::Json { json: block })
}

/// What an error says, in words.
fn texts(content: &[Content]) -> String {
    let words = content.iter().filter_map(|block| match block {
        Content::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let told = words.collect::<Vec<_>>().join("\n");
    if told.is_empty() { "the tool failed and did not say why".to_owned() } else { told }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn output(result: Value) -> Option<(Vec<Content>, Option<Value>)> {
        match returned(result) {
            Ok(Returned::Output { content, structured }) => Some((content, structured)),
            _ => None,
        }
    }

    #[test]
    fn every_block_becomes_one_of_ours() {
        let (content, structured) = output(json!({
            "content": [
                { "type": "text", "text": "a" },
                { "type": "image", "data": "aQ==", "mimeType": "image/png" },
                { "type": "resource", "resource": { "uri": "file:///x", "text": "inside" } },
                { "type": "resource", "resource": { "uri": "file:///y", "blob": "aQ==" } },
                { "type": "resource_link", "uri": "https://example.org", "name": "n" },
                { "type": "hologram", "depth": 3 },
                7,
            ],
            "structuredContent": { "a": 1 },
        }))
        .unwrap_or_default();
        let kinds: Vec<Value> = content.iter().map(|block| json!(block)["type"].clone()).collect();
        assert_eq!(kinds, ["text", "image", "text", "blob", "link", "json", "json"]);
        assert_eq!(structured, Some(json!({ "a": 1 })));
    }

    #[test]
    fn data_alone_is_said_too() {
        let said = |text: &str| vec![Content::Text { text: text.to_owned() }];
        let data = json!({ "temperature": 21 });
        for result in
            [json!({ "structuredContent": data }), json!({ "content": [], "structuredContent": data })]
        {
            assert_eq!(output(result), Some((said(r#"{"temperature":21}"#), Some(data.clone()))));
        }
        assert_eq!(output(json!({ "structuredContent": [1, 2] })), Some((said("[1,2]"), None)));
        let both = json!({ "content": [{ "type": "text", "text": "warm" }], "structuredContent": data });
        assert_eq!(output(both), Some((said("warm"), Some(data))));
        assert_eq!(output(json!({ "content": [], "structuredContent": null })), Some((Vec::new(), None)));
    }

    #[test]
    fn an_error_stays_one_and_a_question_is_none() {
        let told = |result: Value| match returned(result) {
            Ok(Returned::ToolError(Some(Value::String(text)))) => text,
            Err(error) => error.message,
            other => format!("{other:?}"),
        };
        let failed = json!({ "content": [{ "type": "text", "text": "no such issue" }], "isError": true });
        assert_eq!(told(failed), "no such issue");
        assert!(told(json!({ "content": [], "isError": true })).contains("did not say why"));
        let data = json!({ "content": [], "structuredContent": { "code": 7 }, "isError": true });
        assert_eq!(told(data), r#"{"code":7}"#);
        assert!(told(json!({ "resultType": "input_required" })).contains("gets nothing"));
        assert!(told(json!({ "content": "text" })).contains("no result that can be read"));
        assert!(told(json!(null)).contains("no result that can be read"));
    }
}
