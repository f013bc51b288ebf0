//! A build without state in files keeps nothing for sessions.

use std::time::Duration;

use super::Runtime;

/// Sessions whose values are to be forgotten: none.
#[derive(Default)]
pub(super) struct Forgetting;

impl Runtime {
    /// Forgets what tools keep for the session of that name in files: in this build nothing.
    pub fn forget_session(&self, _: &str) {}

    /// Waits until everything that is over is forgotten, which it is.
    pub fn await_forgotten(&self, _: Duration) {}
}
