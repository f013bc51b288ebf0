//! Why a call failed: one of a closed set of kinds, for two readers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Status;

/// Why a call failed, for two readers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct CallError {
    /// One of a closed set.
    pub kind: ErrorKind,
    /// For the model: what to change in its next call.
    pub message: String,
    /// For the operator: which setting, where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// The limit that was hit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitHit>,
    /// Each argument that does not fit the schema.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
    /// The error value of a tool that returned one, as data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl CallError {
    /// An error of `kind` with a message for the model.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            help: None,
            retryable: kind.is_retryable(),
            limit: None,
            violations: Vec::new(),
            details: None,
        }
    }

    /// Adds a hint for the operator.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds the limit that was hit.
    #[must_use]
    pub fn limit(mut self, limit: LimitHit) -> Self {
        self.limit = Some(limit);
        self
    }
}

/// One argument that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Violation {
    /// JSON pointer of the value; empty for the arguments as a whole.
    pub path: String,
    /// What the schema expects there, in words.
    pub expected: String,
    /// What was there: a type or a short excerpt, never a value marked secret.
    pub got: String,
    /// What to do, where it is known (the nearest name of an unknown property, say).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Violation {
    /// A violation at `path`.
    pub fn new(path: impl Into<String>, expected: impl Into<String>, got: impl Into<String>) -> Self {
        Self { path: path.into(), expected: expected.into(), got: got.into(), hint: None }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// The limit that ended a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct LimitHit {
    /// The limit's name, as in `[limits]`.
    pub name: String,
    /// What was allowed, with its unit.
    pub allowed: String,
    /// What was used or asked for, with its unit.
    pub used: String,
    /// The setting's address, to be raised.
    pub setting: String,
    /// File and line of the setting; absent when it is a default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The command line flag that sets it for one call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag: Option<String>,
}

impl LimitHit {
    /// The limit `name` at `setting` allowed `allowed`, and `used` was wanted.
    pub fn new(
        name: impl Into<String>,
        allowed: impl Into<String>,
        used: impl Into<String>,
        setting: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            allowed: allowed.into(),
            used: used.into(),
            setting: setting.into(),
            at: None,
            flag: None,
        }
    }
}

/// The closed set of ways in which a call can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The tool ran and reported an error of its own.
    ToolError,
    /// No tool has that name.
    UnknownTool,
    /// The tool exists but its group or component is switched off.
    ToolInactive,
    /// The arguments do not fit the schema, or are no JSON.
    InvalidArguments,
    /// A rule or a hook refused the call.
    Denied,
    /// The call needs an approval that nobody could give.
    ApprovalNeeded,
    /// The host ended the call since the guest used a capability that was not granted.
    CapabilityDenied,
    /// The deadline passed.
    Timeout,
    /// The fuel was burnt.
    OutOfFuel,
    /// The guest wanted more memory than it may have.
    MemoryLimit,
    /// The guest's stack overflowed.
    StackOverflow,
    /// Another limit was hit; `limit.name` says which.
    ResourceLimit,
    /// The result is larger than it may be.
    ResultTooLarge,
    /// The guest trapped.
    Trapped,
    /// The guest panicked.
    Panicked,
    /// The guest exited instead of returning.
    Exited,
    /// All cells are taken and the queue is full or took too long.
    Busy,
    /// What the tool runs on cannot be reached.
    Unavailable,
    /// The caller gave the call up.
    Cancelled,
    /// A hook failed.
    HookFailed,
    /// A fault of the runtime itself.
    Internal,
}

impl ErrorKind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Self; 21] = [
        Self::ToolError,
        Self::UnknownTool,
        Self::ToolInactive,
        Self::InvalidArguments,
        Self::Denied,
        Self::ApprovalNeeded,
        Self::CapabilityDenied,
        Self::Timeout,
        Self::OutOfFuel,
        Self::MemoryLimit,
        Self::StackOverflow,
        Self::ResourceLimit,
        Self::ResultTooLarge,
        Self::Trapped,
        Self::Panicked,
        Self::Exited,
        Self::Busy,
        Self::Unavailable,
        Self::Cancelled,
        Self::HookFailed,
        Self::Internal,
    ];

    /// The name used in every format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ToolError => "tool_error",
            Self::UnknownTool => "unknown_tool",
            Self::ToolInactive => "tool_inactive",
            Self::InvalidArguments => "invalid_arguments",
            Self::Denied => "denied",
            Self::ApprovalNeeded => "approval_needed",
            Self::CapabilityDenied => "capability_denied",
            Self::Timeout => "timeout",
            Self::OutOfFuel => "out_of_fuel",
            Self::MemoryLimit => "memory_limit",
            Self::StackOverflow => "stack_overflow",
            Self::ResourceLimit => "resource_limit",
            Self::ResultTooLarge => "result_too_large",
            Self::Trapped => "trapped",
            Self::Panicked => "panicked",
            Self::Exited => "exited",
            Self::Busy => "busy",
            Self::Unavailable => "unavailable",
            Self::Cancelled => "cancelled",
            Self::HookFailed => "hook_failed",
            Self::Internal => "internal",
        }
    }

    /// The status that an outcome of this kind has when no output was kept.
    pub fn status(self) -> Status {
        match self {
            Self::Denied | Self::ApprovalNeeded | Self::CapabilityDenied | Self::HookFailed => Status::Denied,
            Self::Cancelled => Status::Interrupted,
            _ => Status::Error,
        }
    }

    /// The exit code of `toolcell call`.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::ToolError => 1,
            Self::UnknownTool | Self::ToolInactive | Self::InvalidArguments => 3,
            Self::Denied | Self::ApprovalNeeded | Self::CapabilityDenied | Self::HookFailed => 4,
            Self::Timeout
            | Self::OutOfFuel
            | Self::MemoryLimit
            | Self::StackOverflow
            | Self::ResourceLimit
            | Self::ResultTooLarge => 5,
            Self::Trapped | Self::Panicked | Self::Exited => 6,
            Self::Busy | Self::Unavailable | Self::Cancelled => 7,
            Self::Internal => 70,
        }
    }

    /// Whether the same call may succeed later without a change.
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::Busy | Self::Unavailable | Self::Cancelled)
    }
}

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_serialises_to_its_name() {
        for kind in ErrorKind::ALL {
            assert_eq!(serde_json::to_value(kind).ok(), Some(Value::from(kind.as_str())));
        }
    }
}
