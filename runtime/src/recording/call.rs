//! What was called, under what, and how it ended: everything of a recording but its events.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{Arguments, Denial};
use crate::policy::StateScope;
use crate::schema::RepairMode;

/// A call and what it ran under.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Called {
    pub tool: String,
    pub id: Value,
    /// The arguments as they came, as text or as a value.
    pub arguments: Given,
    pub meta: Vec<(String, String)>,
    pub session: Option<String>,
    pub component: Component,
    /// The environment and the configuration without secrets.
    pub env: BTreeMap<String, String>,
    pub config: BTreeMap<String, String>,
    pub secrets: BTreeMap<String, SecretFrom>,
    pub limits: BTreeMap<String, LimitSet>,
    pub output: (u64, u64),
    pub state: State,
}

/// The arguments of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Given {
    Text(String),
    Value(Value),
}

impl From<&Arguments> for Given {
    fn from(arguments: &Arguments) -> Self {
        match arguments {
            Arguments::Text(text) => Self::Text(text.clone()),
            Arguments::Value(value) => Self::Value(value.clone()),
        }
    }
}

impl From<Given> for Arguments {
    fn from(given: Given) -> Self {
        match given {
            Given::Text(text) => Self::Text(text),
            Given::Value(value) => Self::Value(value),
        }
    }
}

/// The component: its bytes are among the contents, by this digest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Component {
    pub name: String,
    pub digest: String,
    /// Where in it the tool is.
    pub origin: String,
    /// The flag that named it, if one did.
    pub flag: Option<String>,
    pub repair: RepairMode,
}

/// Where a secret came from, so that it can be asked for again. Its value is in no recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SecretFrom {
    Env { name: String, readable: bool },
    File { path: String, readable: bool },
}

/// A limit and where it was set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitSet {
    pub value: u64,
    pub setting: String,
    pub at: Option<String>,
}

/// What could be kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct State {
    pub scope: StateScope,
    pub read_only: bool,
    pub setting: String,
}

/// What of the end the layers know that a replay is without.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct End {
    pub files: Refused,
    pub http: Refused,
    /// Requests that left the host.
    pub http_requests: u64,
}

/// What a layer did not give.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Refused {
    /// The limit that was hit first, by its name, and what was wanted of it.
    pub limit: Option<(String, u64)>,
    /// What was refused.
    pub denials: Vec<Denial>,
}
