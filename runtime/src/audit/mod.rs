//! The audit: one JSON line a call, each chained to the line before, in a file that only grows.
//!
//! In reading order: `record` makes a line of what is known of a call, `chain` seals it, `log` writes it, `resume` finds
//! where a file that is there goes on, and `verify` tells whether anything was changed since.
//!
//! # A line, version 1
//!
//! | member | what it is |
//! |---|---|
//! | `v` | 1; a reader refuses versions that it does not know |
//! | `time` | when the call came in: RFC 3339, UTC, milliseconds; lines are in the order in which calls ended |
//! | `log` | 16 digits, chosen when a process takes up the log: tells processes apart, and makes every chain its own |
//! | `call` | the caller's id, with its JSON type; absent if there is none |
//! | `session`, `principal` | whose call it was, where known |
//! | `tool` | the name that was called, also if there is no such tool |
//! | `component`, `digest`, `origin` | the tool's component, the digest of its file, and `interface.function`; absent for unknown tools |
//! | `arguments` | the canonical arguments, with `arguments = "full"` only |
//! | `arguments_start` | in place of those the first bytes of their text, where they are too long for a line |
//! | `arguments_hash`, `arguments_bytes` | hash (SHA-256, or HMAC with the chain's key) and length of their canonical text: no spaces, members sorted by name; absent for arguments that could not be read |
//! | `original` | where hooks changed the arguments, those that the call came with: `arguments`, `arguments_start`, `arguments_hash` and `arguments_bytes`, as above |
//! | `decisions` | what hooks, rules and approvals said, in order: `step`, `source`, `action`, `reason`; of an approval the source is who gave it: `terminal`, `--yes`, `client`, `callback`, or `store` for one that was given before, whose identifier is in the reason |
//! | `status`, `kind`, `limit` | as in the outcome |
//! | `denials` | what the host refused to the tool: `capability`, `operation`, `target` |
//! | `usage` | as in the outcome |
//! | `truncated` | `total_bytes` and `total_lines` of an output that was cut |
//! | `cut` | the members that were shortened to keep the line below its bound |
//! | `prev` | the `hash` of the line before; 64 zeros in the first |
//! | `hash` | of the line's bytes up to `,"hash":`; `sha256:` or, with a key, `hmac-sha256:` and 64 digits |
//!
//! `prev` and `hash` are the last two members, in this order and without spaces, so that a line can be checked without
//! a JSON parser.
//!
//! # A line that a crash cut
//!
//! A process that is killed while it writes may leave the beginning of a line, whose call never returned. The next one that
//! continues the file ends that piece with `#torn` and a newline, and appends a line of its own: `v`, `time`, `event`
//! (`"unfinished"`), `torn_bytes`, `torn_hash`, `prev`, `hash`. It covers the piece, so that this cannot be
//! changed later, and its `prev` is the hash of the last whole line. Nothing else may be in the file: a whole line that
//! does not fit the chain is never taken for a crash, and neither is a piece that does not begin as every line does. A piece at the end that no line covers
//! yet may be what a crash left or what somebody did, so `verify` does not call such a file intact.

mod chain;
mod log;
mod read;
mod record;
mod resume;
mod verify;
mod words;

#[cfg(test)]
mod tests;

pub use crate::config::{Audit, Detail};
pub use chain::Hash;
pub(crate) use log::AuditLog;
pub use read::{files, line_at, lines};
pub(crate) use record::{Facts, Record};
pub use verify::{Break, Verification, Verified, verify};
pub(crate) use words::Redact;

/// The version of the lines that this version writes and reads.
pub const VERSION: u32 = 1;

/// The most bytes of one line, its newline included; every part of a line has a bound such that the sum is below this.
pub const MAX_LINE: usize = 160 << 10;

/// What ends a piece of a line that a crash left. A whole line ends in `"}`.
const TORN: &[u8] = b"#torn";
