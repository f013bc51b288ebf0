//! What running a tool gave, whole: before it is cleaned and cut for its reader.

use serde_json::Value;

use super::{CallError, Content, Denial, LimitHit, Log, Verdict};

/// The end of one run of a tool.
#[derive(Debug, Clone)]
pub struct Ended {
    pub(crate) end: Result<Returned, CallError>,
    pub(crate) chunks: Vec<Content>,
    pub(crate) logs: Vec<Log>,
    pub(crate) denials: Vec<Denial>,
    pub(crate) fuel: Option<u64>,
    pub(crate) memory_bytes: u64,
    pub(crate) http_requests: u64,
    /// A limit that the tool was told of and may have ended for.
    pub(crate) limit: Option<LimitHit>,
    /// What hooks around the run decided.
    pub(crate) verdicts: Vec<Verdict>,
}

/// What a tool gave back.
#[derive(Debug, Clone)]
pub(crate) enum Returned {
    /// A value; `None` for a function that returns nothing.
    Value(Option<Value>),
    /// Content blocks and data that the tool chose.
    Output { content: Vec<Content>, structured: Option<Value> },
    /// The tool's own error.
    ToolError(Option<Value>),
    /// A command that ended with exit code 0: what it printed.
    Printed(String),
}

impl Ended {
    /// The end of a run that failed, or that never reached the tool.
    pub fn failed(error: CallError) -> Self {
        Self::from(Err(error))
    }

    /// Whether the tool gave its result.
    pub fn is_success(&self) -> bool {
        matches!(&self.end, Ok(returned) if !matches!(returned, Returned::ToolError(_)))
    }

    /// Why the run failed; absent on success and for an error of the tool's own.
    pub fn error(&self) -> Option<&CallError> {
        self.end.as_ref().err()
    }
}

impl From<Result<Returned, CallError>> for Ended {
    fn from(end: Result<Returned, CallError>) -> Self {
        Self {
            end,
            chunks: Vec::new(),
            logs: Vec::new(),
            denials: Vec::new(),
            fuel: None,
            memory_bytes: 0,
            http_requests: 0,
            limit: None,
            verdicts: Vec::new(),
        }
    }
}
