//! Servers: how those who do not embed the runtime reach it. None has a policy of its own.

#[cfg(feature = "mcp")]
pub mod mcp;
