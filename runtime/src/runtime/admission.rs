//! The door to the cells: so many at once, so many waiting, so long.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::call::{CallError, ErrorKind};
use crate::config::Config;
use crate::limits::{Admission, Origin};

/// A bounded number of cells and a bounded queue before them.
pub(super) struct Door {
    cells: Arc<Semaphore>,
    waiting: AtomicU32,
    admission: Admission,
    batch_calls_at: Origin,
    batch_bytes_at: Origin,
}

/// One waiting call; leaving the queue in whatever way is counted.
struct Waiting<'a>(&'a AtomicU32);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Door {
    /// The door that a configuration wants. It stays as it is when the configuration is replaced.
    pub fn new(config: &Config) -> Self {
        let admission = config.admission;
        let cells = usize::try_from(admission.concurrent_cells.max(1)).unwrap_or(Semaphore::MAX_PERMITS);
        Self {
            cells: Arc::new(Semaphore::new(cells)),
            waiting: AtomicU32::new(0),
            admission,
            batch_calls_at: config.origin("limits.batch_calls"),
            batch_bytes_at: config.origin("limits.batch_bytes"),
        }
    }

    /// What is allowed at once, and of one batch.
    pub fn admission(&self) -> &Admission {
        &self.admission
    }

    /// Where it was set how many calls of a batch are made.
    pub fn batch_calls_at(&self) -> &Origin {
        &self.batch_calls_at
    }

    /// Where it was set how much results of a batch may have.
    pub fn batch_bytes_at(&self) -> &Origin {
        &self.batch_bytes_at
    }

    /// How many cells there are, at least one.
    pub fn cells(&self) -> usize {
        usize::try_from(self.admission.concurrent_cells.max(1)).unwrap_or(usize::MAX)
    }

    /// How many of them are taken.
    pub fn running(&self) -> usize {
        self.cells().saturating_sub(self.cells.available_permits())
    }

    /// How many calls wait for one.
    pub fn waiting(&self) -> usize {
        usize::try_from(self.waiting.load(Ordering::Relaxed)).unwrap_or(usize::MAX)
    }

    /// A permit to run a cell, if one is free.
    pub fn try_enter(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.cells).try_acquire_owned().ok()
    }

    /// A permit to run a cell, at the latest at `deadline`. Must be polled where timers are in reach.
    ///
    /// # Errors
    /// `busy`, with the setting that allows more.
    pub async fn enter(&self, deadline: Instant) -> Result<OwnedSemaphorePermit, CallError> {
        if let Some(permit) = self.try_enter() {
            return Ok(permit);
        }
        let waiting = Waiting(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.admission.max_waiting {
            return Err(busy("too many calls are waiting", "limits.max_waiting"));
        }
        let patience = self.admission.queue_timeout.min(deadline.saturating_duration_since(Instant::now()));
        let entered = tokio::time::timeout(patience, Arc::clone(&self.cells).acquire_owned()).await;
        drop(waiting);
        match entered {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(busy(
                &format!("no cell was free for {}", humantime::format_duration(round(patience))),
                "limits.concurrent_cells` or `limits.queue_timeout",
            )),
        }
    }
}

fn round(duration: Duration) -> Duration {
    Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

fn busy(what: &str, setting: &str) -> CallError {
    CallError::new(ErrorKind::Busy, format!("{what}; try again later")).help(format!("raise `{setting}`"))
}
