//! One call of a tool and its end, as plain data: what enters the runtime and what leaves it.

mod ended;
mod error;
mod event;
mod outcome;
mod response;
mod verdict;

use serde_json::Value;

pub use ended::Ended;
pub(crate) use ended::Returned;
pub use error::{CallError, ErrorKind, LimitHit, Violation};
pub use event::Event;
pub use outcome::{Content, Denial, Log, Outcome, Repair, Shortened, Status, Truncation, Usage, Warning};
pub use response::Response;
pub use verdict::{Action, Step, Verdict};

/// A model's wish to have a tool run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolCall {
    /// The caller's identifier, returned unchanged with the same JSON type.
    pub id: Value,
    /// The tool's name as listed.
    pub name: String,
    /// The arguments, as the model's text or as a value.
    pub arguments: Arguments,
    /// Metadata by key, readable by the guest through `toolcell:tool/context`.
    pub meta: Vec<(String, String)>,
    problem: Option<String>,
}

impl ToolCall {
    /// A call of `name`, without id or metadata.
    pub fn new(name: impl Into<String>, arguments: impl Into<Arguments>) -> Self {
        let (name, arguments) = (name.into(), arguments.into());
        Self { id: Value::Null, name, arguments, meta: Vec::new(), problem: None }
    }

    /// Sets the identifier that the outcome carries back.
    #[must_use]
    pub fn id(mut self, id: impl Into<Value>) -> Self {
        self.id = id.into();
        self
    }

    /// Adds one entry of metadata; of two entries with one key the first wins.
    #[must_use]
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.meta.push((key.into(), value.into()));
        self
    }

    /// A call that a message asks for, but not as its format has calls. It ends as `invalid_arguments`.
    pub(crate) fn unreadable(name: &str, problem: String) -> Self {
        let call = Self::new(name, Value::Object(serde_json::Map::new()));
        Self { problem: Some(problem), ..call }
    }

    /// Why it cannot run, where the message that it was read from does not write it as a call.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }
}

/// The arguments of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// JSON text as a model wrote it: parsed strictly (one object, no duplicate keys, bounded in size and depth).
    Text(String),
    /// A value that the caller already parsed.
    Value(Value),
}

impl From<Value> for Arguments {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl From<String> for Arguments {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Arguments {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}
