//! One call of a tool and its end, as plain data: what enters the runtime and what leaves it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

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
}

impl ToolCall {
    /// A call of `name`, without id or metadata.
    pub fn new(name: impl Into<String>, arguments: impl Into<Arguments>) -> Self {
        Self { id: Value::Null, name: name.into(), arguments: arguments.into(), meta: Vec::new() }
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

/// How a call ended, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Status {
    /// The tool ran and gave its result.
    Success,
    /// The tool, its arguments, or a limit failed.
    Error,
    /// Policy refused the call.
    Denied,
    /// The call was stopped and what it had produced so far was kept.
    Interrupted,
}

/// The end of a call: always returned, never thrown, whatever a tool, a model, a hook or a policy did.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Outcome {
    /// The id of the call, unchanged.
    pub id: Value,
    /// The name that was called.
    pub name: String,
    /// How the call ended.
    pub status: Status,
    /// What the model reads, cleaned and cut to the output's bounds.
    pub content: Vec<Content>,
    /// The result as data, an object that matches the announced output schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// What was cut from `content` and `structured`, and where the full output is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Truncation>,
    /// Lenient spellings in the arguments that became the canonical value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repaired: Vec<Repair>,
    /// What the host refused while the guest ran, also when the guest swallowed the refusal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<Denial>,
    /// The guest's standard output, standard error and log records, bounded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<Log>,
    /// What the call consumed.
    pub usage: Usage,
    /// Why the call failed; absent on success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<CallError>,
}

impl Outcome {
    /// Whether the tool ran and gave its result.
    pub fn is_success(&self) -> bool {
        self.status == Status::Success
    }

    /// The error's kind, if the call failed.
    pub fn error_kind(&self) -> Option<ErrorKind> {
        self.error.as_ref().map(|error| error.kind)
    }

    /// The text blocks of the content, joined by newlines.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(|content| match content {
                Content::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        texts.join("\n")
    }

    /// The process exit code that stands for this outcome (see [`ErrorKind::exit_code`]); 0 on success.
    pub fn exit_code(&self) -> u8 {
        self.error_kind().map_or(0, ErrorKind::exit_code)
    }
}

/// One block of what a model reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Content {
    /// Plain text.
    Text {
        /// The text, valid UTF-8 without control characters other than tab and newline.
        text: String,
    },
    /// A JSON value.
    Json {
        /// The value.
        json: Value,
    },
    /// An image.
    Image {
        /// The image, base64.
        data: String,
        /// Its media type.
        mime_type: String,
    },
    /// A sound.
    Audio {
        /// The sound, base64.
        data: String,
        /// Its media type.
        mime_type: String,
    },
    /// Other binary content.
    Blob {
        /// The bytes, base64.
        data: String,
        /// Their media type.
        mime_type: String,
        /// Where they come from, if they have an address.
        #[serde(skip_serializing_if = "Option::is_none")]
        uri: Option<String>,
    },
    /// A reference to something that the client may read by itself.
    Link {
        /// The address.
        uri: String,
        /// A short name.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The media type, if known.
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
}

/// What truncation took away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Truncation {
    /// Bytes of the full output after cleaning.
    pub total_bytes: u64,
    /// Lines of the full output.
    pub total_lines: u64,
    /// The half-open byte ranges of the full output that were kept.
    pub kept_bytes: Vec<(u64, u64)>,
    /// JSON values that were shortened: path, and how many items or bytes it had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortened: Vec<Shortened>,
    /// The handle by which `output show` reads the full output; absent when it could not be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
}

impl Truncation {
    /// A truncation of plain text, not yet stored.
    pub fn new(total_bytes: u64, total_lines: u64, kept_bytes: Vec<(u64, u64)>) -> Self {
        Self { total_bytes, total_lines, kept_bytes, shortened: Vec::new(), handle: None }
    }
}

/// One string or list of a JSON result that was shortened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Shortened {
    /// JSON pointer of the value.
    pub path: String,
    /// Bytes of the string or items of the list that were kept.
    pub kept: u64,
    /// Bytes of the string or items of the list in the full result.
    pub total: u64,
}

impl Shortened {
    /// Notes that the value at `path` was shortened from `total` to `kept`.
    pub fn new(path: impl Into<String>, kept: u64, total: u64) -> Self {
        Self { path: path.into(), kept, total }
    }
}

/// One lenient spelling in the arguments that became the canonical value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Repair {
    /// JSON pointer of the value, in canonical names.
    pub path: String,
    /// What was there.
    pub from: String,
    /// What it became.
    pub to: String,
}

impl Repair {
    /// Notes that the value at `path` was `from` and became `to`.
    pub fn new(path: impl Into<String>, from: impl Into<String>, to: impl Into<String>) -> Self {
        Self { path: path.into(), from: from.into(), to: to.into() }
    }
}

/// One thing that the host refused to the guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Denial {
    /// The capability: `dirs`, `env`, `http`, `sockets`, `state`, `config`.
    pub capability: String,
    /// The operation: `open`, `rename`, `connect` …
    pub operation: String,
    /// What it was tried on, in the guest's names; never a host path.
    pub target: String,
    /// The setting that would allow it.
    pub setting: String,
}

impl Denial {
    /// Notes a refusal.
    pub fn new(
        capability: impl Into<String>,
        operation: impl Into<String>,
        target: impl Into<String>,
        setting: impl Into<String>,
    ) -> Self {
        Self {
            capability: capability.into(),
            operation: operation.into(),
            target: target.into(),
            setting: setting.into(),
        }
    }
}

/// Something that the guest printed or logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Log {
    /// `stdout`, `stderr`, or the level of a log record: `trace`, `debug`, `info`, `warn`, `error`.
    pub stream: String,
    /// The text, cleaned and bounded.
    pub text: String,
}

impl Log {
    /// One piece of guest text.
    pub fn new(stream: impl Into<String>, text: impl Into<String>) -> Self {
        Self { stream: stream.into(), text: text.into() }
    }
}

/// What a call consumed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// Wall clock of the whole path, in milliseconds.
    pub duration_ms: f64,
    /// Fuel burnt by the guest and by its crossings; a lower bound after a trap; absent with `fuel = "off"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fuel: Option<u64>,
    /// The largest sum of the guest's linear memories, in bytes.
    pub memory_bytes: u64,
    /// HTTP requests that left the host.
    pub http_requests: u64,
}

/// Why a call failed, for two readers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
