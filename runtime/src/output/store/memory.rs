//! Outputs in the memory of this process.

use std::collections::VecDeque;
use std::io::Cursor;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::Quota;
use crate::output::StoredOutput;

/// Outputs, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Memory {
    outputs: Mutex<VecDeque<Output>>,
}

#[derive(Debug)]
struct Output {
    name: String,
    stored: Instant,
    bytes: Arc<[u8]>,
}

impl Memory {
    pub(super) fn put(&self, name: String, bytes: &[u8], quota: Quota) {
        let output = Output { name, stored: Instant::now(), bytes: bytes.into() };
        self.within(quota, bytes.len() as u64, |outputs| outputs.push_back(output));
    }

    pub(super) fn open_output(&self, name: &str, quota: Quota) -> Option<StoredOutput> {
        self.within(quota, 0, |outputs| {
            let bytes = Arc::clone(&outputs.iter().find(|output| output.name == name)?.bytes);
            let length = bytes.len() as u64;
            Some(StoredOutput::new(Cursor::new(bytes), length))
        })
    }

    /// Removes what is too old and what leaves no room for `incoming` bytes, then works on the rest.
    fn within<T>(&self, quota: Quota, incoming: u64, work: impl FnOnce(&mut VecDeque<Output>) -> T) -> T {
        // A panic elsewhere leaves the list whole: every change is a single push or pop.
        let mut outputs = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut total: u64 = outputs.iter().map(|output| output.bytes.len() as u64).sum();
        while let Some(oldest) = outputs.front() {
            if oldest.stored.elapsed() <= quota.age && total.saturating_add(incoming) <= quota.bytes {
                break;
            }
            total -= oldest.bytes.len() as u64;
            outputs.pop_front();
        }
        work(&mut outputs)
    }
}
