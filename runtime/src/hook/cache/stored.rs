//! The results that a cache has.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::source::{Source, Writer};
use crate::call::{Ended, Returned};

/// What an entry takes beside its content.
const ENTRY_BYTES: usize = 512;

pub(super) type Key = [u8; 32];

/// Stored results, by key and by when they were last used.
#[derive(Debug, Default)]
pub(super) struct Stored {
    by_key: HashMap<Key, Entry>,
    by_use: BTreeMap<u64, Key>,
    bytes: usize,
    uses: u64,
    changes: u64,
}

/// How much is stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub entries: usize,
    pub bytes: usize,
}

#[derive(Debug)]
struct Entry {
    ended: Ended,
    source: Source,
    at: Instant,
    bytes: usize,
    used: u64,
}

impl Stored {
    /// What is stored under `key`, if it is no older than `ttl`, with its age; and how many changes there were so far.
    pub fn look(&mut self, key: &Key, ttl: Option<Duration>) -> (Option<(Ended, Duration)>, u64) {
        (self.get(key, ttl), self.changes)
    }

    fn get(&mut self, key: &Key, ttl: Option<Duration>) -> Option<(Ended, Duration)> {
        let age = self.by_key.get(key)?.at.elapsed();
        if ttl.is_some_and(|ttl| age >= ttl) {
            self.remove(key);
            return None;
        }
        self.uses += 1;
        let entry = self.by_key.get_mut(key)?;
        self.by_use.remove(&entry.used);
        entry.used = self.uses;
        self.by_use.insert(entry.used, *key);
        Some((entry.ended.clone(), age))
    }

    /// Stores a result that was made since there had been `changes`: one that may have been overtaken by another is not.
    pub fn put(&mut self, key: Key, ended: Ended, source: Source, changes: u64, most: Bounds) {
        let bytes = weight(&ended);
        let is_overtaken = changes != self.changes && !source.is_self_contained();
        if bytes > most.bytes || most.entries == 0 || is_overtaken {
            return;
        }
        self.remove(&key);
        while self.by_key.len() >= most.entries || self.bytes.saturating_add(bytes) > most.bytes {
            let Some((_, oldest)) = self.by_use.first_key_value() else { break };
            let oldest = *oldest;
            self.remove(&oldest);
        }
        self.uses += 1;
        self.bytes += bytes;
        self.by_use.insert(self.uses, key);
        self.by_key.insert(key, Entry { ended, source, at: Instant::now(), bytes, used: self.uses });
    }

    /// Forgets what a run may have made untrue.
    pub fn changed(&mut self, writer: &Writer) {
        self.changes += 1;
        let untrue = self.by_key.iter().filter(|(_, entry)| writer.may_reach(&entry.source));
        let untrue: Vec<Key> = untrue.map(|(key, _)| *key).collect();
        untrue.iter().for_each(|key| self.remove(key));
    }

    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.by_key.remove(key) {
            self.by_use.remove(&entry.used);
            self.bytes -= entry.bytes;
        }
    }
}

/// What a result takes, by the length of its JSON.
fn weight(ended: &Ended) -> usize {
    let returned = match &ended.end {
        Err(_) => 0,
        Ok(Returned::Value(value) | Returned::ToolError(value)) => length(value),
        Ok(Returned::Output { content, structured }) => length(&(content, structured)),
        Ok(Returned::Printed(text)) => text.len(),
    };
    ENTRY_BYTES + returned + length(&ended.chunks) + length(&ended.logs) + length(&ended.denials)
}

fn length(value: &impl Serialize) -> usize {
    struct Counter(usize);
    impl Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(text: &str) -> Ended {
        Ended::from(Ok(Returned::Printed(text.to_owned())))
    }

    const MOST: Bounds = Bounds { entries: 3, bytes: 1 << 20 };

    fn put(stored: &mut Stored, key: u8, text: &str, most: Bounds) {
        let changes = stored.changes;
        stored.put([key; 32], ended(text), Source::default(), changes, most);
    }

    fn texts(stored: &mut Stored, keys: &[u8]) -> Vec<bool> {
        keys.iter().map(|key| stored.get(&[*key; 32], None).is_some()).collect()
    }

    #[test]
    fn the_least_recently_used_give_way() {
        let mut stored = Stored::default();
        for key in 0..3 {
            put(&mut stored, key, "x", MOST);
        }
        assert!(stored.get(&[0; 32], None).is_some());
        put(&mut stored, 3, "x", MOST);
        assert_eq!(texts(&mut stored, &[0, 1, 2, 3]), [true, false, true, true]);
    }

    #[test]
    fn bytes_are_bounded_and_what_is_larger_than_all_is_not_kept() {
        let mut stored = Stored::default();
        let most = 3 * (ENTRY_BYTES + 1000);
        for key in 0..10 {
            put(&mut stored, key, &"x".repeat(900), Bounds { entries: 1000, bytes: most });
            assert!(stored.bytes <= most);
        }
        assert_eq!((stored.by_key.len(), stored.by_use.len()), (3, 3));
        put(&mut stored, 99, &"x".repeat(most), Bounds { entries: 1000, bytes: most });
        assert_eq!(stored.by_key.len(), 3);
        for key in 0..10 {
            stored.remove(&[key; 32]);
        }
        assert_eq!(stored.bytes, 0);
    }

    #[test]
    fn a_result_ends_with_its_time() {
        let mut stored = Stored::default();
        put(&mut stored, 1, "x", MOST);
        assert!(stored.get(&[1; 32], Some(Duration::from_secs(3600))).is_some());
        assert!(stored.get(&[1; 32], Some(Duration::ZERO)).is_none());
        assert!(stored.by_key.is_empty());
    }

    #[test]
    fn a_result_that_was_made_while_something_changed_is_not_stored() {
        let files = || Source { component: "files".to_owned(), dirs: true, ..Source::default() };
        let writer = Writer { component: "files".to_owned(), dirs: true, ..Writer::default() };
        let mut stored = Stored::default();
        let (_, before) = stored.look(&[1; 32], None);
        stored.changed(&writer);
        stored.put([1; 32], ended("old"), files(), before, MOST);
        stored.put([2; 32], ended("own"), Source::self_contained(), before, MOST);
        assert_eq!(texts(&mut stored, &[1, 2]), [false, true]);
        let (_, after) = stored.look(&[1; 32], None);
        stored.put([1; 32], ended("new"), files(), after, MOST);
        assert_eq!(texts(&mut stored, &[1]), [true]);
        stored.changed(&writer);
        assert_eq!(texts(&mut stored, &[1, 2]), [false, true]);
    }
}
