//! What a client is told, a line each.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::id::Id;
use super::request::ClientAnswer;
use crate::call::{Content, Event, Outcome};

/// A line of the server.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Reply {
    /// What is spoken here.
    Hello {
        /// The request.
        id: Id,
        /// The version of the protocol; what is added to replies does not change it.
        protocol: u32,
        /// The version of toolcell.
        version: &'static str,
        /// What a line and a connection are bounded by.
        bounds: ConnectionBounds,
    },
    /// The tools that can be called now.
    Tools {
        /// The request.
        id: Id,
        /// The tools, in the format that was asked for: the value of `tools` in a provider's request.
        tools: Value,
        /// What the format could not say, and of which tool.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
        /// Rules of usage for the system prompt, by component.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        instructions: Vec<Instructions>,
    },
    /// A call or a batch was taken up.
    Start {
        /// The request.
        id: Id,
    },
    /// A record of a tool's log.
    Log {
        /// The request.
        id: Id,
        /// The call, in a batch.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<Value>,
        /// The level.
        stream: String,
        /// The text.
        text: String,
    },
    /// How far a call has come.
    Progress {
        /// The request.
        id: Id,
        /// The call, in a batch.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<Value>,
        /// Units that are done.
        done: u64,
        /// Units that there are, if that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        total: Option<u64>,
        /// What is being done, in words.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// A part of a result; the result has it too.
    Chunk {
        /// The request.
        id: Id,
        /// The call, in a batch.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<Value>,
        /// The part.
        content: Content,
    },
    /// A question about a call, which waits for `approve`.
    Approval {
        /// The request.
        id: Id,
        /// The call, in a batch.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<Value>,
        /// What to name in `approve`.
        approval: String,
        /// What is asked.
        question: AskedQuestion,
        /// The arguments with which the tool will run, secrets hidden.
        arguments: Value,
        /// The answers that there are to it.
        answers: Vec<ClientAnswer>,
    },
    /// The end of a call, of a batch, or of a request that has nothing to tell.
    Result {
        /// The request.
        id: Id,
        /// How the call ended.
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<Box<Outcome>>,
        /// How each call of the batch ended, in the order of the calls.
        #[serde(skip_serializing_if = "Option::is_none")]
        outcomes: Option<Vec<Outcome>>,
    },
    /// A request that was not carried out.
    Error {
        /// The request; null where the line's own id could not be read, or is that of a call that runs.
        id: Option<Id>,
        /// What kind of error it is.
        kind: Refusal,
        /// What is wrong, and what to write.
        message: String,
    },
}

impl Reply {
    /// What a tool said.
    pub fn event(id: Id, call: Option<Value>, event: Event) -> Self {
        match event {
            Event::Chunk { content } => Self::Chunk { id, call, content },
            Event::Log { log } => Self::Log { id, call, stream: log.stream, text: log.text },
            Event::Progress { done, total, text } => Self::Progress { id, call, done, total, text },
        }
    }

    /// The end of a request that has nothing to tell.
    pub fn done(id: Id) -> Self {
        Self::Result { id, outcome: None, outcomes: None }
    }
}

/// What a line and a connection are bounded by.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ConnectionBounds {
    /// Bytes of one line.
    pub line_bytes: usize,
    /// Calls and batches that may be in flight.
    pub calls: usize,
    /// Names of sessions that a connection may use.
    pub sessions: usize,
}

/// Rules of usage of a component's tools.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Instructions {
    /// The component.
    pub component: String,
    /// The rules.
    pub text: String,
}

/// What is asked about a call.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AskedQuestion {
    /// The tool.
    pub tool: String,
    /// Its component.
    pub component: String,
    /// The digest of the component.
    pub digest: String,
    /// Why it is asked.
    pub reasons: Vec<AskedReason>,
    /// What the answer `rule` would cover, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_rule: Option<String>,
    /// The session of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// One reason to ask.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AskedReason {
    /// Who asks: a rule with its place, a hook by name, the default.
    pub source: String,
    /// Why, in words.
    pub text: String,
}

/// Why a request was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Refusal {
    /// The line is no JSON object, or too long.
    Unreadable,
    /// The object is no request: a field is missing, unknown or wrong.
    Invalid,
    /// A call in flight has the same id.
    IdInUse,
    /// What the request names is not there (any more).
    NotFound,
    /// The connection holds as much as it may.
    TooMany,
    /// A fault of the server.
    Internal,
}
