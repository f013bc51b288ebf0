//! What happens while a tool runs.

use serde::{Deserialize, Serialize};

use super::{Content, Log};

/// Something that a tool said before its end, cleaned like its result. The outcome is the sum of these: chunks are its
/// first content, records its logs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Event {
    /// A part of the result.
    Chunk {
        /// The part.
        content: Content,
    },
    /// A record of the tool's log.
    Log {
        /// The record.
        #[serde(flatten)]
        log: Log,
    },
    /// How far the call has come.
    Progress {
        /// Units that are done.
        done: u64,
        /// Units that there are, if that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total: Option<u64>,
        /// What is being done, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
}
