//! Which format a message seems to have, by what only one of them writes.

use serde_json::{Map, Value};

use super::Format;

impl Format {
    /// The format whose marks a message has. What only says something may have none.
    pub(super) fn seen_in(message: &Value) -> Option<Self> {
        match message {
            Value::Array(items) => items.iter().find_map(of_item),
            Value::Object(members) => of_message(members).or_else(|| of_item(message)),
            _ => None,
        }
    }
}

fn of_message(members: &Map<String, Value>) -> Option<Format> {
    let has = |key: &str| members.contains_key(key);
    if has("choices") || has("tool_calls") {
        return Some(Format::OpenAi);
    }
    if has("candidates") || has("parts") {
        return Some(Format::Gemini);
    }
    if has("stop_reason") {
        return Some(Format::Anthropic);
    }
    if members.get("output").is_some_and(Value::is_array) {
        return Some(Format::OpenAiResponses);
    }
    if has("calls") {
        return Some(Format::Toolcell);
    }
    members.get("content").and_then(Value::as_array)?.iter().find_map(of_item)
}

fn of_item(item: &Value) -> Option<Format> {
    let has = |key: &str| item.get(key).is_some_and(|value| !value.is_null());
    if has("jsonrpc") || has("method") {
        return Some(Format::Mcp);
    }
    // With a role it is a whole message, in the form that OpenAI had before `tool_calls`.
    if has("functionCall") || (has("function_call") && !has("role")) {
        return Some(Format::Gemini);
    }
    match item.get("type").and_then(Value::as_str)? {
        "tool_use" | "thinking" | "redacted_thinking" | "server_tool_use" => Some(Format::Anthropic),
        "function_call" | "reasoning" | "output_text" => Some(Format::OpenAiResponses),
        "message" => item.get("content").and_then(Value::as_array)?.iter().find_map(of_item),
        "function" if has("function") => Some(Format::OpenAi),
        "custom" if has("custom") => Some(Format::OpenAi),
        _ => None,
    }
}
