//! What hooks answer.

use serde_json::Value;

use crate::call::{Content, Response};

/// What a hook decided before a call.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use]
pub struct Pre {
    pub(crate) meta: Vec<(String, String)>,
    pub(crate) rewrite: Option<Value>,
    pub(crate) objection: Option<Objection>,
}

/// Why a call should not simply go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objection {
    /// It must not run, for this reason, which the model reads.
    Deny(String),
    /// Somebody has to be asked, with this reason.
    Ask(String),
}

impl Pre {
    /// No objection. Rules and later hooks may still have one.
    pub fn pass() -> Self {
        Self::default()
    }

    /// The call must not run. The model reads `reason`.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self { objection: Some(Objection::Deny(reason.into())), ..Self::default() }
    }

    /// Somebody has to be asked, and reads `reason`.
    pub fn ask(reason: impl Into<String>) -> Self {
        Self { objection: Some(Objection::Ask(reason.into())), ..Self::default() }
    }

    /// Other arguments. They are canonicalised and validated like the model's own, rules that deny the original ones
    /// still hold, and a question shows these.
    pub fn rewrite(mut self, arguments: Value) -> Self {
        self.rewrite = Some(arguments);
        self
    }

    /// Metadata for later hooks and for the tool. What the caller set under the same key stays.
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.meta.push((key.into(), value.into()));
        self
    }
}

/// What a hook decided after a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Post {
    /// The response stays.
    Accept,
    /// Another response. Data must match the tool's output schema; of a failure, only the text changes.
    Replace(Box<Response>),
    /// More content after the response's own.
    Enrich(Vec<Content>),
    /// Nothing of the response goes out. The model reads `reason`, and that the tool did run.
    Withhold(String),
}

impl Post {
    /// Another response. Data must match the tool's output schema; of a failure, only the text changes.
    pub fn replace(response: Response) -> Self {
        Self::Replace(Box::new(response))
    }
}
