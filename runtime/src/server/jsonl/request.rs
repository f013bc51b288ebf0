//! What a client asks for, a line each.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;

use super::id::Id;
use crate::call::{Arguments, ToolCall};
use crate::format::Format;
use crate::limits::Limit;
use crate::policy::Answer;

/// Characters of a session's name.
const MAX_NAME: usize = 256;

/// A line of the client.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Request {
    /// Asks what is spoken here. Answered by `hello`; not needed before anything else.
    Hello {
        /// The request.
        id: Id,
    },
    /// Asks for the tools, with everything that is known of each. Answered by `tools`.
    List {
        /// The request.
        id: Id,
        /// The session whose tools they are.
        #[serde(default)]
        session: Option<SessionName>,
    },
    /// Asks for the tools as a model's provider wants them. Answered by `tools`.
    Export {
        /// The request.
        id: Id,
        /// The provider's format.
        format: FormatName,
        /// Whether the provider is to hold its model to the schemas, for each tool whose types allow it.
        #[serde(default)]
        strict: bool,
        /// The session whose tools they are.
        #[serde(default)]
        session: Option<SessionName>,
    },
    /// Calls a tool. Answered by `start`, what the tool says, and `result`.
    Call {
        /// The request, and the call.
        id: Id,
        /// The tool.
        name: String,
        /// The arguments: an object, or a model's text of one.
        #[serde(default)]
        arguments: Value,
        /// The session that the call belongs to.
        #[serde(default)]
        session: Option<SessionName>,
        /// What the tool can read about the call.
        #[serde(default)]
        meta: BTreeMap<String, String>,
        /// The most time that the tool may take; a longer one than its limit changes nothing.
        #[serde(default)]
        timeout: Option<Time>,
    },
    /// Makes several calls; those that only read run at the same time. Answered by `start`, what the tools say, and
    /// `result` with one outcome for each call, in the order of the calls.
    Batch {
        /// The request.
        id: Id,
        /// The calls. One that is none is refused in its place, and the others are made.
        #[schemars(with = "Vec<BatchCall>")]
        calls: Vec<Value>,
        /// The session that the calls belong to.
        #[serde(default)]
        session: Option<SessionName>,
        /// The most time that each tool may take.
        #[serde(default)]
        timeout: Option<Time>,
    },
    /// Ends a call or a batch that runs; its own `result` says so. Answered by `result` without an outcome.
    Cancel {
        /// The request.
        id: Id,
        /// The `id` of the call or batch.
        call: Id,
    },
    /// Answers a question about a call. Answered by `result` without an outcome.
    Approve {
        /// The request.
        id: Id,
        /// The question, by the `approval` of its line.
        approval: String,
        /// The answer.
        answer: ClientAnswer,
        /// Why not, for the model.
        #[serde(default)]
        reason: Option<String>,
    },
    /// Switches groups of tools on and off, for the session alone: all, or none if one is unknown. Answered by `tools`.
    Groups {
        /// The request.
        id: Id,
        /// The session; without one, the calls of this connection that name none.
        #[serde(default)]
        session: Option<SessionName>,
        /// Groups to switch on.
        #[serde(default)]
        activate: Vec<String>,
        /// Groups to switch off.
        #[serde(default)]
        deactivate: Vec<String>,
    },
}

impl Request {
    pub fn id(&self) -> &Id {
        match self {
            Self::Hello { id }
            | Self::List { id, .. }
            | Self::Export { id, .. }
            | Self::Call { id, .. }
            | Self::Batch { id, .. }
            | Self::Cancel { id, .. }
            | Self::Approve { id, .. }
            | Self::Groups { id, .. } => id,
        }
    }
}

/// One call of a batch.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BatchCall {
    /// The call; its outcome and what its tool says carry it.
    pub id: Id,
    /// The tool.
    pub name: String,
    /// The arguments: an object, or a model's text of one.
    #[serde(default)]
    pub arguments: Value,
    /// What the tool can read about the call.
    #[serde(default)]
    pub meta: BTreeMap<String, String>,
}

impl From<BatchCall> for ToolCall {
    fn from(call: BatchCall) -> Self {
        tool_call(&call.id, call.name, call.arguments, call.meta)
    }
}

/// The runtime's form of a call.
pub(super) fn tool_call(id: &Id, name: String, arguments: Value, meta: BTreeMap<String, String>) -> ToolCall {
    let arguments = match arguments {
        Value::String(text) => Arguments::Text(text),
        value => Arguments::Value(value),
    };
    let mut call = ToolCall::new(name, arguments).id(id.value().clone());
    call.meta = meta.into_iter().collect();
    call
}

/// How a question is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ClientAnswer {
    /// No.
    Deny,
    /// This once.
    Once,
    /// Exactly this, for the rest of the session.
    Session,
    /// Exactly this, from now on.
    Always,
    /// Every call about which the same rules ask, from now on.
    Rule,
}

impl ClientAnswer {
    pub fn with(self, reason: Option<String>) -> Answer {
        match self {
            Self::Deny => Answer::Deny(reason),
            Self::Once => Answer::Once,
            Self::Session => Answer::Session,
            Self::Always => Answer::Always,
            Self::Rule => Answer::AlwaysByRule,
        }
    }
}

/// The name of a session.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct SessionName(pub String);

impl TryFrom<String> for SessionName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        if name.is_empty() || name.chars().nth(MAX_NAME).is_some() {
            return Err(format!("write a name of 1 to {MAX_NAME} characters, or leave it out"));
        }
        Ok(Self(name))
    }
}

impl JsonSchema for SessionName {
    fn schema_name() -> Cow<'static, str> {
        "SessionName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": MAX_NAME })
    }
}

/// A format by its name.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct FormatName(pub Format);

impl TryFrom<String> for FormatName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        name.parse().map(Self).map_err(|error: crate::format::UnknownFormat| error.to_string())
    }
}

impl JsonSchema for FormatName {
    fn schema_name() -> Cow<'static, str> {
        "Format".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = Format::ALL.into_iter().map(Format::name).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}

/// A time as a person writes it.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Time(pub Duration);

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Limit::Timeout.parse(&text).map(|nanos| Self(Duration::from_nanos(nanos)))
    }
}

impl JsonSchema for Time {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "examples": ["500ms", "10s"] })
    }
}
