//! What of a file is searched.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;

use crate::text::{HEAD, is_utf16};

/// A file's bytes up to its first NUL. The searcher's own detection would leave out, unsearched, all that it read in
/// one piece with the NUL.
pub(super) struct Content<R> {
    bytes: R,
    passed: u64,
    /// UTF-16, which the searcher decodes: half of its bytes may be NUL.
    wide: bool,
    /// Where the first NUL byte is, as soon as it was met.
    pub(super) nul: Option<u64>,
}

impl Content<io::Chain<Cursor<Vec<u8>>, File>> {
    /// Opens a file; `None` if its beginning shows that it is binary.
    pub(super) fn open(path: &Path) -> io::Result<Option<Self>> {
        let mut file = File::open(path)?;
        let mut head = Vec::with_capacity(HEAD);
        file.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
        let wide = is_utf16(&head);
        let text = wide || memchr::memchr(0, &head).is_none();
        Ok(text.then(|| Self { bytes: Cursor::new(head).chain(file), passed: 0, wide, nul: None }))
    }
}

impl<R: Read> Read for Content<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.nul.is_some() {
            return Ok(0);
        }
        let count = self.bytes.read(buffer)?;
        let nul = if self.wide { None } else { memchr::memchr(0, buffer.get(..count).unwrap_or_default()) };
        self.nul = nul.map(|at| self.passed + at as u64);
        self.passed += count as u64;
        Ok(nul.unwrap_or(count))
    }
}
