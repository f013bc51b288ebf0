//! A hook that answers a call with the result of an equal one.

mod source;
mod stored;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Events, Hook, HookCall, HookResult, Next, async_trait};
use crate::call::{Action, Ended, Step, Verdict};
use crate::tool::Tool;
use source::{Source, Writer};
use stored::{Bounds, Key, Stored};

/// Metadata that identifies a call and says nothing of what it wants.
const OF_ONE_CALL: &str = "traceparent";

/// Answers a call with the stored result of an equal one, without running the tool.
///
/// Equal are calls of one function of one component (by its digest) with equal arguments, in whatever order they are
/// written, under equal grants, limits, settings (of time and chance, too), values of secrets, environment, metadata and
/// user, and of the same session unless it is [`shared`](Self::shared). Only successes are stored, each with its chunks and logs. `usage.from_cache` of the outcome
/// says that a result is a stored one, and so does the record of the call.
///
/// Without [`ttl`](Self::ttl), only for tools that are [self-contained](crate::Tool::is_self_contained), which most
/// guests of Rust's standard library are not. With it, for every tool that cannot change anything, and no longer than
/// until a run of this runtime has ended that may have changed what the result came from: one of the same component; one
/// with a directory to write in, for results of tools with directories; one that may send requests that change
/// something, for results of tools with a network; one of a native or another server's tool that is not read-only, for all;
/// and any of these, for results of native and other servers' tools. So a call that begins after another has ended sees
/// what that changed, whatever session made it and whatever tools the hook is for. What other processes and servers
/// change by themselves, or a native function after its call was given up, is seen when the time to live is over.
#[derive(Debug)]
pub struct CacheHook {
    ttl: Option<Duration>,
    bounds: Bounds,
    shared: bool,
    stored: Mutex<Stored>,
}

impl Default for CacheHook {
    fn default() -> Self {
        let bounds = Bounds { entries: 1024, bytes: 64 << 20 };
        Self { ttl: None, bounds, shared: false, stored: Mutex::default() }
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
        self.bounds.entries = entries;
        self
    }

    /// How many bytes all results may take together.
    #[must_use]
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.bounds.bytes = bytes;
        self
    }

    /// Lets sessions see results of each other.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.shared = true;
        self
    }

    fn stored(&self) -> MutexGuard<'_, Stored> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
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
        // Their sources are in the grants, and stay where their values are renewed.
        part(&tool.renewed());
        part(&call.settings.words());
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

#[async_trait]
impl Hook for CacheHook {
    fn name(&self) -> &str {
        "cache"
    }

    fn events(&self) -> Events {
        Events::AROUND.and(Events::CHANGES)
    }

    fn changed(&self, tool: &Tool) {
        self.stored().changed(&Writer::of(tool));
    }

    async fn around(&self, call: &HookCall, next: Next<'_>) -> HookResult<Ended> {
        if !self.serves(call) {
            return Ok(next.run().await);
        }
        let key = self.key(call);
        let (found, changes) = self.stored().look(&key, self.ttl);
        if let Some((mut ended, age)) = found {
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
            let source = Source::of(call.tool());
            self.stored().put(key, kept, source, changes, self.bounds);
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
