//! How a change of a file shows without reading it.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Everything by which a change of a file shows: which file it is, its length, and when it or what is known of it last changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    place: (u64, u64),
    bytes: u64,
    content: (i64, i64),
    state: (i64, i64),
}

impl Stamp {
    /// That of the file which `path` leads to; none where there is none.
    pub fn of(path: &Path) -> Option<Self> {
        let metadata = path.metadata().ok()?;
        Some(Self {
            place: (metadata.dev(), metadata.ino()),
            bytes: metadata.size(),
            content: (metadata.mtime(), metadata.mtime_nsec()),
            state: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}
