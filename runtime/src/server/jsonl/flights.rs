//! The calls of one connection that run, by the id of their request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use super::id::Id;

/// Which calls run, and how each is ended.
#[derive(Debug, Clone, Default)]
pub(super) struct Flights(Arc<Mutex<HashMap<String, CancellationToken>>>);

impl Flights {
    /// Notes a call of an id that no other has, and gives what ends it.
    pub fn begin(&self, id: &Id) -> CancellationToken {
        self.all().entry(id.to_string()).or_default().clone()
    }

    /// Whether a call of that id runs.
    pub fn has(&self, id: &Id) -> bool {
        self.all().contains_key(&id.to_string())
    }

    /// Ends a call. Returns whether it runs.
    pub fn cancel(&self, id: &Id) -> bool {
        let token = self.all().get(&id.to_string()).cloned();
        token.map(|token| token.cancel()).is_some()
    }

    /// Ends all calls.
    pub fn cancel_all(&self) {
        self.all().values().for_each(CancellationToken::cancel);
    }

    /// Forgets a call, before its client can know that it ended and use its id again.
    pub fn end(&self, id: &Id) {
        self.all().remove(&id.to_string());
    }

    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
