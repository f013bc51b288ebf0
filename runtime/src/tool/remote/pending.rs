//! Requests of one connection that wait for their answers.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::message::Failure;

/// How far a call has come.
#[derive(Debug)]
pub(crate) struct Progress {
    pub done: u64,
    pub total: Option<u64>,
    pub text: Option<String>,
}

impl Progress {
    /// What a notification says, with the request that it is about.
    pub(super) fn read(params: &Value) -> Option<(u64, Self)> {
        let number = |key: &str| params.get(key).and_then(Value::as_f64).and_then(whole);
        let token = params.get("progressToken").and_then(Value::as_u64)?;
        let text = params.get("message").and_then(Value::as_str).map(str::to_owned);
        Some((token, Self { done: number("progress")?, total: number("total"), text }))
    }
}

/// Where progress is told.
pub(crate) type ProgressSink = mpsc::Sender<Progress>;

type Answer = Result<Value, Failure>;

/// Requests by their identifiers.
#[derive(Default)]
pub(super) struct Pending(Mutex<State>);

#[derive(Default)]
struct State {
    last: u64,
    waiting: HashMap<u64, Waiting>,
    closed: Option<String>,
}

struct Waiting {
    answer: oneshot::Sender<Answer>,
    progress: Option<ProgressSink>,
}

impl Pending {
    /// A new request's identifier, and where its answer comes.
    ///
    /// # Errors
    /// When there is no connection any more.
    pub fn begin(&self, progress: Option<ProgressSink>) -> Result<(u64, oneshot::Receiver<Answer>), Failure> {
        let mut state = self.state();
        if let Some(why) = &state.closed {
            return Err(Failure::Gone(why.clone()));
        }
        state.last += 1;
        let id = state.last;
        let (answer, answered) = oneshot::channel();
        state.waiting.insert(id, Waiting { answer, progress });
        Ok((id, answered))
    }

    /// Forgets a request that nobody waits for. Returns whether it was not answered.
    pub fn forget(&self, id: u64) -> bool {
        self.state().waiting.remove(&id).is_some()
    }

    /// Whether somebody waits for the answer to a request.
    pub fn awaits(&self, id: u64) -> bool {
        self.state().waiting.contains_key(&id)
    }

    /// Answers a request; one that nobody made is nothing.
    pub fn answer(&self, id: u64, end: Answer) {
        if let Some(waiting) = self.state().waiting.remove(&id) {
            let _ = waiting.answer.send(end);
        }
    }

    /// Ends the only call there is, of which a message must have been that could not be taken. Returns whether there was
    /// one alone.
    pub fn fail_only(&self, failure: Failure) -> bool {
        let mut state = self.state();
        // Only calls have somebody who listens.
        let mut calls = state.waiting.iter().filter(|(_, waiting)| waiting.progress.is_some());
        let only = calls.next().map(|(id, _)| *id).filter(|_| calls.next().is_none());
        match only.and_then(|id| state.waiting.remove(&id)) {
            Some(waiting) => waiting.answer.send(Err(failure)).is_ok(),
            None => false,
        }
    }

    /// Passes on how far a request has come. Whoever is too slow for it misses it.
    pub fn progress(&self, params: &Value) {
        let Some((token, progress)) = Progress::read(params) else { return };
        if let Some(sink) = self.state().waiting.get(&token).and_then(|waiting| waiting.progress.as_ref()) {
            let _ = sink.try_send(progress);
        }
    }

    /// Ends all requests, and those to come.
    pub fn close(&self, why: &str) {
        let mut state = self.state();
        state.closed.get_or_insert_with(|| why.to_owned());
        for (_, waiting) in state.waiting.drain() {
            let _ = waiting.answer.send(Err(Failure::Gone(why.to_owned())));
        }
    }

    /// Why there is no connection any more, if so.
    pub fn closed(&self) -> Option<String> {
        self.state().closed.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The whole part of a number that is one of units.
fn whole(number: f64) -> Option<u64> {
    let is_countable = (0.0..9_007_199_254_740_992.0).contains(&number);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in the range just checked")]
    is_countable.then_some(number as u64)
}
