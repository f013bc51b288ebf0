//! A hook that answers a call with the result of an equal one.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Events, Hook, HookCall, HookResult, Next, async_trait};
use crate::call::{Action, Ended, Returned, Step, Verdict};

/// Metadata that identifies a call and says nothing of what it wants.
const OF_ONE_CALL: &str = "traceparent";

/// What an entry takes beside its content.
const ENTRY_BYTES: usize = 512;

/// Answers a call with the stored result of an equal one, without running the tool.
///
/// Equal are calls of one function of one component (by its digest) with equal arguments, in whatever order they are
/// written, under equal grants, settings, environment, metadata and user, and of the same session unless it is
/// [`shared`](Self::shared). Only successes are stored, each with its chunks and logs. `usage.from_cache` of the outcome
/// says that a result is a stored one, and so does the record of the call.
///
/// Without [`ttl`](Self::ttl), only for tools that are [self-contained](crate::Tool::is_self_contained), which most
/// guests of Rust's standard library are not. With it, for every tool that cannot change anything.
#[derive(Debug)]
pub struct CacheHook {
    ttl: Option<Duration>,
    entries: usize,
    bytes: usize,
    shared: bool,
    stored: Mutex<Stored>,
}

impl Default for CacheHook {
    fn default() -> Self {
        Self { ttl: None, entries: 1024, bytes: 64 << 20, shared: false, stored: Mutex::default() }
    }
}

impl CacheHook {
    /// At most 1,024 results and 64 MiB, each for one session; the least recently used give way.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long a result stands for later ones. With it, results of tools that look at files or at the time are stored
    /// as well, and may be as old as this.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// How many results are kept.
    #[must_use]
    pub fn entries(mut self, entries: usize) -> Self {
        self.entries = entries;
        self
    }

    /// How many bytes all results may take together.
    #[must_use]
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }

    /// Lets sessions see results of each other.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.shared = true;
        self
    }

    fn serves(&self, call: &HookCall) -> bool {
        let tool = call.tool();
        tool.is_self_contained() || (self.ttl.is_some() && !tool.may_change_something())
    }

    fn key(&self, call: &HookCall) -> Key {
        let tool = call.tool();
        let mut hasher = Sha256::new();
        let mut part = |text: &str| {
            hasher.update(text.len().to_le_bytes());
            hasher.update(text);
        };
        for text in [tool.component(), tool.name(), &tool.digest(), tool.origin()] {
            part(text);
        }
        // Maps in it are ordered.
        part(&format!("{:?}", tool.grant()));
        let session = if self.shared { None } else { Some((call.session(), call.user())) };
        part(&format!("{session:?}"));
        for (key, value) in call.meta.iter().filter(|(key, _)| key != OF_ONE_CALL) {
            part(key);
            part(value);
        }
        let mut arguments = String::new();
        canonical(call.arguments(), &mut arguments);
        part(&arguments);
        hasher.finalize().into()
    }
}

type Key = [u8; 32];

/// Stored results, by key and by when they were last used.
#[derive(Debug, Default)]
struct Stored {
    by_key: HashMap<Key, Entry>,
    by_use: BTreeMap<u64, Key>,
    bytes: usize,
    uses: u64,
}

#[derive(Debug)]
struct Entry {
    ended: Ended,
    at: Instant,
    bytes: usize,
    used: u64,
}

impl Stored {
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

    fn put(&mut self, key: Key, ended: Ended, most_entries: usize, most_bytes: usize) {
        let bytes = weight(&ended);
        if bytes > most_bytes || most_entries == 0 {
            return;
        }
        self.remove(&key);
        while self.by_key.len() >= most_entries || self.bytes.saturating_add(bytes) > most_bytes {
            let Some((_, oldest)) = self.by_use.first_key_value() else { break };
            let oldest = *oldest;
            self.remove(&oldest);
        }
        self.uses += 1;
        self.bytes += bytes;
        self.by_use.insert(self.uses, key);
        self.by_key.insert(key, Entry { ended, at: Instant::now(), bytes, used: self.uses });
    }

    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.by_key.remove(key) {
            self.by_use.remove(&entry.used);
            self.bytes -= entry.bytes;
        }
    }
}

#[async_trait]
impl Hook for CacheHook {
    fn name(&self) -> &str {
        "cache"
    }

    fn events(&self) -> Events {
        Events::AROUND
    }

    async fn around(&self, call: &HookCall, next: Next<'_>) -> HookResult<Ended> {
        if !self.serves(call) {
            return Ok(next.run().await);
        }
        let key = self.key(call);
        let stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner).get(&key, self.ttl);
        if let Some((mut ended, age)) = stored {
            let age = humantime::format_duration(Duration::from_millis(
                u64::try_from(age.as_millis()).unwrap_or(u64::MAX),
            ));
            let why = format!("a result of {age} ago");
            ended.verdicts = vec![Verdict::new(Step::AroundHook, "cache", Action::Reuse).reason(Some(why))];
            return Ok(ended);
        }
        let ended = next.run().await;
        if ended.is_success() {
            let mut kept = ended.clone();
            (kept.fuel, kept.memory_bytes) = (None, 0);
            let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
            stored.put(key, kept, self.entries, self.bytes);
        }
        Ok(ended)
    }
}

/// JSON in which equal values are equal texts: the keys of objects are sorted.
fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(object) => {
            let sorted: BTreeMap<&String, &Value> = object.iter().collect();
            text.push('{');
            for (key, value) in sorted {
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                canonical(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                canonical(item, text);
                text.push(',');
            }
            text.push(']');
        }
        plain => text.push_str(&plain.to_string()),
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
    use serde_json::json;

    use super::*;

    fn ended(text: &str) -> Ended {
        Ended::from(Ok(Returned::Printed(text.to_owned())))
    }

    fn texts(stored: &mut Stored, keys: &[u8]) -> Vec<bool> {
        keys.iter().map(|key| stored.get(&[*key; 32], None).is_some()).collect()
    }

    #[test]
    fn the_least_recently_used_give_way() {
        let mut stored = Stored::default();
        for key in 0..3 {
            stored.put([key; 32], ended("x"), 3, 1 << 20);
        }
        assert!(stored.get(&[0; 32], None).is_some());
        stored.put([3; 32], ended("x"), 3, 1 << 20);
        assert_eq!(texts(&mut stored, &[0, 1, 2, 3]), [true, false, true, true]);
    }

    #[test]
    fn bytes_are_bounded_and_what_is_larger_than_all_is_not_kept() {
        let mut stored = Stored::default();
        let most = 3 * (ENTRY_BYTES + 1000);
        for key in 0..10 {
            stored.put([key; 32], ended(&"x".repeat(900)), 1000, most);
            assert!(stored.bytes <= most);
        }
        assert_eq!((stored.by_key.len(), stored.by_use.len()), (3, 3));
        stored.put([99; 32], ended(&"x".repeat(most)), 1000, most);
        assert_eq!(stored.by_key.len(), 3);
        for key in 0..10 {
            stored.remove(&[key; 32]);
        }
        assert_eq!(stored.bytes, 0);
    }

    #[test]
    fn a_result_ends_with_its_time() {
        let mut stored = Stored::default();
        stored.put([1; 32], ended("x"), 3, 1 << 20);
        assert!(stored.get(&[1; 32], Some(Duration::from_secs(3600))).is_some());
        assert!(stored.get(&[1; 32], Some(Duration::ZERO)).is_none());
        assert!(stored.by_key.is_empty());
    }

    #[test]
    fn the_order_of_keys_makes_no_difference_and_everything_else_does() {
        let text = |value: Value| {
            let mut text = String::new();
            canonical(&value, &mut text);
            text
        };
        assert_eq!(
            text(json!({"a": 1, "b": {"c": [1], "d": 2}})),
            text(json!({"b": {"d": 2, "c": [1]}, "a": 1}))
        );
        for other in [json!({"a": "1"}), json!({"a": [1]}), json!({"a": 1.5}), json!({"a": null}), json!({})]
        {
            assert_ne!(text(json!({"a": 1})), text(other));
        }
    }
}
