//! What tools keep for sessions that are over is forgotten on a thread that nobody waits for.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::Runtime;
use crate::kept::StateFolder;

/// Sessions that wait. What finds no room is forgotten by its age, or when there are too many.
const WAITING: usize = 4096;

/// Sessions whose values are to be forgotten.
#[derive(Default)]
pub(super) struct Forgetting {
    /// None where no thread could be started.
    names: OnceLock<Option<SyncSender<String>>>,
    open: Arc<Open>,
}

/// How many are not forgotten yet.
#[derive(Default)]
struct Open {
    count: Mutex<usize>,
    changed: Condvar,
}

impl Open {
    fn count(&self) -> MutexGuard<'_, usize> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn done(&self) {
        let mut count = self.count();
        *count = count.saturating_sub(1);
        self.changed.notify_all();
    }
}

impl Runtime {
    /// Forgets, in the background, what tools keep for the session of that name in files: nobody comes back to it.
    pub fn forget_session(&self, name: &str) {
        let Forgetting { names, open } = &self.shared.forgetting;
        let folder = self.shared.sandbox.kept().to_owned();
        // Most servers have no tool that keeps anything.
        if name.is_empty() || !folder.is_dir() {
            return;
        }
        let Some(names) = names.get_or_init(|| start(folder, Arc::clone(open))) else { return };
        *open.count() += 1;
        if names.try_send(name.to_owned()).is_err() {
            open.done();
        }
    }

    /// Waits until everything that is over is forgotten, for `time` at most: for a process that ends.
    pub fn await_forgotten(&self, time: Duration) {
        let open = &self.shared.forgetting.open;
        let waited = open.changed.wait_timeout_while(open.count(), time, |count| *count > 0);
        drop(waited);
    }
}

/// Starts the thread, which ends with the runtime.
fn start(folder: PathBuf, open: Arc<Open>) -> Option<SyncSender<String>> {
    let (names, waiting) = sync_channel(WAITING);
    let forgetting = move || forget(&StateFolder::at(folder), &waiting, &open);
    let started = std::thread::Builder::new().name("toolcell-forget".to_owned()).spawn(forgetting);
    started.is_ok().then_some(names)
}

fn forget(folder: &StateFolder, waiting: &Receiver<String>, open: &Open) {
    while let Ok(session) = waiting.recv() {
        folder.forget_session(&session);
        open.done();
    }
}
