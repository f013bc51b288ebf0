//! How a call ended, as its caller gets it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::response::texts;
use super::{CallError, ErrorKind, ToolCall};

/// How a call ended, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
    /// What the host refused while the guest ran, also when the guest swallowed the refusal: each once, at most 64 of
    /// files and 64 of all else. A last entry whose operation is `more` says how many are not listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<Denial>,
    /// The guest's standard output, standard error and log records, bounded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<Log>,
    /// What went wrong beside the call itself: a hook that failed after the tool ran.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// What the call consumed.
    pub usage: Usage,
    /// Why the call failed; absent on success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<CallError>,
}

/// Something that went wrong beside the call itself, and did not change its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Warning {
    /// What kind of failure it was.
    pub kind: ErrorKind,
    /// What failed: a hook's name, say.
    pub source: String,
    /// How it failed, for the operator.
    pub message: String,
}

impl Warning {
    /// Notes a failure of `source`.
    pub fn new(kind: ErrorKind, source: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind, source: source.into(), message: message.into() }
    }
}

impl Outcome {
    /// An outcome of nothing, to be put in the place of one that is taken.
    pub(crate) fn blank() -> Self {
        Self::begin(&ToolCall::new(String::new(), Value::Null))
    }

    /// Takes out everything that the tool said, and the handle under which it is kept whole.
    pub(crate) fn give_nothing(&mut self) {
        self.content.clear();
        self.structured = None;
        self.logs.clear();
        self.truncated = None;
    }

    /// The outcome of `call` before anything happened to it.
    pub(crate) fn begin(call: &ToolCall) -> Self {
        Self {
            id: call.id.clone(),
            name: call.name.clone(),
            status: Status::Success,
            content: Vec::new(),
            structured: None,
            truncated: None,
            repaired: Vec::new(),
            denials: Vec::new(),
            logs: Vec::new(),
            warnings: Vec::new(),
            usage: Usage::default(),
            error: None,
        }
    }

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
        texts(&self.content)
    }

    /// The process exit code that stands for this outcome (see [`ErrorKind::exit_code`]); 0 on success.
    pub fn exit_code(&self) -> u8 {
        self.error_kind().map_or(0, ErrorKind::exit_code)
    }
}

/// One block of what a model reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Whether the result is one that was stored by an earlier call, so that the tool did not run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_cache: bool,
}
