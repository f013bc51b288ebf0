//! How much is searched only to count what the page does not show.

use std::cell::Cell;
use std::io::{self, Read};

/// Bytes that are searched after the page is full. It bounds the time that a page costs beyond its own results.
const LOOK: u64 = 128 << 20;
/// What opening a file takes of it, so that very many small files are bounded too.
const FILE: u64 = 4 << 10;

/// Unlimited until the page is full.
#[derive(Default)]
pub(super) struct Allowance {
    left: Cell<Option<u64>>,
}

impl Allowance {
    /// The page is full: from now on there is only counting.
    pub(super) fn begin(&self) {
        self.left.set(self.left.get().or(Some(LOOK)));
    }

    /// Whether counting ended before the search did.
    pub(super) fn is_spent(&self) -> bool {
        self.left.get() == Some(0)
    }

    /// Takes what another file costs.
    pub(super) fn spend_file(&self) {
        self.spend(FILE);
    }

    fn spend(&self, bytes: u64) {
        self.left.set(self.left.get().map(|left| left.saturating_sub(bytes)));
    }
}

/// A reader that fails as soon as the allowance is spent. It does not end, since then the searcher would take the part
/// of a line that it has for a line.
pub(super) struct Allowed<'a, R> {
    pub(super) bytes: R,
    pub(super) allowance: &'a Allowance,
}

impl<R: Read> Read for Allowed<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.allowance.is_spent() {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        let count = self.bytes.read(buffer)?;
        self.allowance.spend(count as u64);
        Ok(count)
    }
}
