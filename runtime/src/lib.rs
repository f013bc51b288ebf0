//! Runs tools that a language model calls, each call in a WebAssembly cell of its own.

pub mod call;
pub mod config;
pub mod error;
pub mod limits;
pub mod output;
pub mod policy;
pub mod sandbox;
pub mod schema;
pub mod tool;
