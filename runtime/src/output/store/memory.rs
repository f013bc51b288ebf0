//! Outputs in the memory of this process.

use std::collections::VecDeque;
use std::io::Cursor;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::Quota;
use super::room::{Held, giving_way};
use crate::output::StoredOutput;

/// Outputs, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Memory {
    outputs: Mutex<VecDeque<Output>>,
}

#[derive(Debug)]
struct Output {
    name: String,
    owner: String,
    stored: Instant,
    bytes: Arc<[u8]>,
}

impl Memory {
    pub(super) fn put(&self, name: String, owner: String, bytes: &[u8], quota: Quota) {
        let mut outputs = self.fresh(quota);
        let total: u64 = outputs.iter().map(|output| output.bytes.len() as u64).sum();
        if total.saturating_add(bytes.len() as u64) > quota.bytes {
            make_room(&mut outputs, &owner, bytes.len() as u64, quota);
        }
        outputs.push_back(Output { name, owner, stored: Instant::now(), bytes: bytes.into() });
    }

    pub(super) fn open_output(&self, name: &str, quota: Quota) -> Option<StoredOutput> {
        let bytes = Arc::clone(&self.fresh(quota).iter().find(|output| output.name == name)?.bytes);
        let length = bytes.len() as u64;
        Some(StoredOutput::new(Cursor::new(bytes), length))
    }

    /// The outputs that are not too old.
    fn fresh(&self, quota: Quota) -> MutexGuard<'_, VecDeque<Output>> {
        // A panic elsewhere leaves the list whole: every output is put in or taken out at once.
        let mut outputs = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        while outputs.front().is_some_and(|oldest| oldest.stored.elapsed() > quota.age) {
            outputs.pop_front();
        }
        outputs
    }
}

fn make_room(outputs: &mut VecDeque<Output>, owner: &str, incoming: u64, quota: Quota) {
    let held = outputs.iter().map(|output| Held {
        key: output.name.clone(),
        owner: output.owner.clone(),
        bytes: output.bytes.len() as u64,
    });
    let removed = giving_way(held.collect(), owner, incoming, quota.bytes);
    outputs.retain(|output| !removed.contains(&output.name));
}
