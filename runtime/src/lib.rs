//! Runs tools that a language model calls, each call in a WebAssembly cell of its own.

pub mod audit;
pub mod call;
pub mod config;
pub mod error;
pub mod format;
pub mod hook;
pub mod kept;
pub mod limits;
pub mod net;
#[cfg(feature = "oci")]
pub mod oci;
pub mod output;
pub mod policy;
mod process;
pub mod recording;
mod registry;
pub mod runtime;
pub mod sandbox;
pub mod schema;
pub mod server;
pub mod shared;
mod telemetry;
pub mod tool;

pub use audit::Audit;
pub use call::{Content, ErrorKind, Outcome, Status, ToolCall};
pub use error::{Error, Result};
pub use format::Format;
pub use hook::{Hook, HookEntry};
pub use limits::{Limit, Limits};
pub use policy::{Access, Deterministic, DirGrant, Grant, Narrowing};
pub use process::wait_for_killed;
pub use recording::{Recorder, Recording};
pub use runtime::{Batch, Call, Registration, Runtime, RuntimeBuilder, Session};
pub use tokio_util::sync::CancellationToken;
pub use tool::{NativeTool, Tool, ToolComponent};
#[cfg(feature = "otel")]
pub use toolcell_otel as otel;
