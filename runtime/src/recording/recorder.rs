//! Making a recording while a call runs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::file::{Event, Recording};
use super::permits::Permits;
use super::{Called, Contents, End, Taped};
use crate::call::{Arguments, ErrorKind, Outcome};
use crate::output::Redactor;

/// All that one recording holds, in bytes: what a tool reads in one call, many times over.
pub(super) const MAX_BYTES: usize = 256 << 20;

/// Records one call: give it to [`Call::record`](crate::Call::record), and take the recording when the call has ended.
#[derive(Debug, Clone, Default)]
pub struct Recorder(Arc<Mutex<Making>>);

#[derive(Debug, Default)]
struct Making {
    arguments: Option<Arguments>,
    called: Option<Called>,
    redactor: Option<Arc<Redactor>>,
    contents: Contents,
    events: Vec<Event>,
    /// The last bytes that were read by each handle.
    ends: BTreeMap<String, Vec<u8>>,
    bytes: usize,
    end: End,
    outcome: Option<Value>,
    unreplayable: Option<String>,
}

impl Recorder {
    /// A recorder for one call.
    pub fn new() -> Self {
        Self::default()
    }

    /// The recording.
    ///
    /// # Errors
    /// In words, why there is none: the call never ran a component, or has not ended.
    pub fn finish(&self) -> Result<Recording, String> {
        let mut making = self.lock();
        let (called, outcome) = (making.called.take(), making.outcome.take());
        let why = making.unreplayable.take();
        let Some(called) = called else {
            return Err(
                why.unwrap_or_else(|| "the tool did not run, so there is nothing to be recorded".to_owned())
            );
        };
        let outcome = outcome.ok_or("the call has not ended")?;
        let (contents, events) = (std::mem::take(&mut making.contents), std::mem::take(&mut making.events));
        Ok(Recording {
            called,
            contents,
            events,
            end: std::mem::take(&mut making.end),
            outcome,
            unreplayable: why,
            permits: Permits::default(),
        })
    }

    /// Keeps the arguments as they came.
    pub(crate) fn arguments(&self, arguments: &Arguments) {
        self.lock().arguments = Some(arguments.clone());
    }

    /// Those arguments.
    pub(crate) fn given(&self) -> Option<Arguments> {
        self.lock().arguments.clone()
    }

    /// Begins with a component's call; no secret that `redactor` knows gets into the recording.
    pub(crate) fn begin(&self, called: Called, component: &[u8], redactor: Option<&Arc<Redactor>>) {
        let mut making = self.lock();
        if making.called.is_some() {
            making.fail("the tool ran several times, and a recording holds one run");
            return;
        }
        making.redactor = redactor.cloned();
        let text = serde_json::to_string(&called).unwrap_or_default();
        if making.is_secret(text.as_bytes()) || component_says(redactor, component) {
            making.fail("a secret is in the call's arguments, metadata or settings");
            // Without what may be one of the secrets there is nothing to begin with.
            making.arguments = None;
            return;
        }
        making.bytes = component.len();
        making.contents.add(component);
        making.called = Some(called);
    }

    /// Says that the recording cannot be replayed; the first reason counts.
    pub(crate) fn fail(&self, why: &str) {
        self.lock().fail(why);
    }

    /// Adds an event.
    pub(crate) fn note<T: Taped>(&self, ask: String, answer: &T) {
        let mut making = self.lock();
        if making.unreplayable.is_some() {
            return;
        }
        let mut contents = Contents::default();
        let answer = answer.to_tape(&mut contents);
        let text = answer.to_string();
        let is_secret = making.is_secret(ask.as_bytes())
            || making.is_secret(text.as_bytes())
            || contents.iter().any(|(_, bytes)| making.is_secret(bytes));
        let is_across = making.is_across(&ask, &contents);
        if is_secret || is_across {
            let number = making.events.len().saturating_add(1);
            if is_across {
                // Its beginning is in what was recorded before.
                making.forget();
            }
            return making.fail(&format!(
                "a secret was in what the host and the tool said to each other (event {number})"
            ));
        }
        let more = ask.len().saturating_add(text.len()).saturating_add(contents.size());
        making.bytes = making.bytes.saturating_add(more);
        if making.bytes > MAX_BYTES {
            return making.fail("more came from outside than a recording holds, which is 256 MiB");
        }
        making.contents.append(contents);
        making.events.push(Event { ask, answer: text });
    }

    /// Looks at bytes of which only the digest will be recorded.
    pub(crate) fn gives(&self, bytes: &[u8]) {
        let mut making = self.lock();
        if making.is_secret(bytes) {
            making.fail("a secret was in what the tool wrote");
        }
    }

    /// What the layers of the cell know at its end.
    pub(crate) fn ended(&self, end: End) {
        self.lock().end = end;
    }

    /// How the call ended.
    pub(crate) fn outcome(&self, outcome: &Outcome) {
        let mut making = self.lock();
        making.outcome = serde_json::to_value(outcome).ok();
        match outcome.error_kind() {
            Some(ErrorKind::Timeout) => making.fail("the call was ended by its time, which is no replay's"),
            Some(ErrorKind::Cancelled) => making.fail("the call was cancelled from outside"),
            Some(ErrorKind::Internal) => making.fail("the host failed, which no recording holds"),
            _ => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, Making> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a secret is spelled out in the component itself.
fn component_says(redactor: Option<&Arc<Redactor>>, component: &[u8]) -> bool {
    redactor.is_some_and(|redactor| redactor.is_in_bytes(component))
}

impl Making {
    fn fail(&mut self, why: &str) {
        if self.unreplayable.is_none() {
            self.unreplayable = Some(why.to_owned());
        }
    }

    fn is_secret(&self, bytes: &[u8]) -> bool {
        self.redactor.as_ref().is_some_and(|redactor| redactor.is_in_bytes(bytes))
    }

    /// Whether a secret began in what the same handle gave before, and ends in this.
    fn is_across(&mut self, ask: &str, contents: &Contents) -> bool {
        let Some(redactor) = &self.redactor else { return false };
        let handle = ask.split(' ').nth(1).unwrap_or_default();
        let mut all = self.ends.get(handle).cloned().unwrap_or_default();
        let before = all.len();
        contents.iter().for_each(|(_, bytes)| all.extend_from_slice(bytes));
        if all.len() == before {
            return false;
        }
        let is_across = before > 0 && redactor.is_in_bytes(&all);
        all.drain(..all.len().saturating_sub(redactor.longest_part()));
        self.ends.insert(handle.to_owned(), all);
        is_across
    }

    /// Leaves nothing of what came from outside.
    fn forget(&mut self) {
        self.events.clear();
        self.contents = Contents::default();
    }
}
