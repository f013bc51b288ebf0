//! The whole answer of a tool, as hooks after the call see it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CallError, Content, Log};

/// What a tool answered, before it is cut to its reader's bounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Response {
    /// What the model would read.
    pub content: Vec<Content>,
    /// The result as data, as the output schema announces it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// What the tool printed and logged, for its operator. Only a hook that redacts replaces these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<Log>,
    /// Why the call failed. A replacement changes its message at most: a failure stays one, of the same kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<CallError>,
}

impl Response {
    /// An answer of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::Text { text: text.into() }], ..Self::default() }
    }

    /// An answer as data; its text is derived from it.
    pub fn structured(structured: Value) -> Self {
        Self { structured: Some(structured), ..Self::default() }
    }

    /// Its texts, joined by newlines.
    pub fn to_text(&self) -> String {
        texts(&self.content)
    }
}

/// The text blocks, joined by newlines.
pub(super) fn texts(content: &[Content]) -> String {
    let texts: Vec<&str> = content
        .iter()
        .filter_map(|content| match content {
            Content::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n")
}
