//! Servers: how programs that do not embed the runtime reach it. None has a policy of its own.

pub mod jsonl;
#[cfg(feature = "mcp")]
pub mod mcp;
