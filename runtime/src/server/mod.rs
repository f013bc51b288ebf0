//! Servers: how programs that do not embed the crate reach a runtime. None has a policy of its own.

pub mod jsonl;
