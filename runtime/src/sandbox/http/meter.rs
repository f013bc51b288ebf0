//! What one call used of its limits on HTTP, and what it was refused. Shared by its requests, which are under way at
//! the same time.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::OwnedSemaphorePermit;

use crate::call::Denial;
use crate::limits::{EffectiveLimits, Limit};
use crate::net::{Count, Network};
use crate::output::Redactor;
use crate::sandbox::denials::Denials;
use crate::sandbox::state::LimitExceeded;

/// Requests of a call that are under way at once, until their responses are read: each holds a socket.
const MAX_OPEN: usize = 32;

/// The counters of one call.
pub(super) struct Meter {
    max_requests: u64,
    max_bytes: u64,
    requests: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
    open: AtomicUsize,
    hit: OnceLock<u64>,
    denials: Mutex<Denials>,
}

impl Meter {
    pub fn new(limits: &EffectiveLimits, redactor: Option<&Arc<Redactor>>) -> Self {
        Self {
            max_requests: limits.get(Limit::HttpRequests),
            max_bytes: limits.get(Limit::HttpBytes),
            requests: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            open: AtomicUsize::new(0),
            hit: OnceLock::new(),
            denials: Mutex::new(Denials::of(redactor)),
        }
    }

    /// Counts a request.
    pub fn begin(&self) -> Result<(), LimitExceeded> {
        let wanted = self.requests.load(Ordering::Relaxed).saturating_add(1);
        if wanted > self.max_requests {
            return Err(LimitExceeded { limit: Limit::HttpRequests, wanted });
        }
        self.requests.store(wanted, Ordering::Relaxed);
        Ok(())
    }

    /// A place among the requests that are under way, of this call and of all in `network`, given back when it is
    /// dropped.
    pub fn place(self: &Arc<Self>, network: &Network) -> Result<Open, Full> {
        if self.open.fetch_add(1, Ordering::Relaxed) >= MAX_OPEN {
            self.open.fetch_sub(1, Ordering::Relaxed);
            return Err(Full::Call);
        }
        let open = |place| Open { meter: Arc::clone(self), _place: place };
        match network.place() {
            Some(place) => Ok(open(Some(place))),
            None => {
                drop(open(None));
                Err(Full::Runtime)
            }
        }
    }

    /// Counts bytes to a server; the total, where it is beyond the limit.
    pub fn send(&self, bytes: usize) -> Result<(), u64> {
        self.count(&self.sent, bytes)
    }

    /// Counts bytes from one, as they come.
    pub fn receiving(self: &Arc<Self>) -> Count {
        let meter = Arc::clone(self);
        Arc::new(move |bytes| meter.count(&meter.received, bytes))
    }

    fn count(&self, counter: &AtomicU64, bytes: usize) -> Result<(), u64> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let total = counter.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if total <= self.max_bytes {
            return Ok(());
        }
        Err(*self.hit.get_or_init(|| total))
    }

    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    pub fn hit(&self) -> Option<(Limit, u64)> {
        self.hit.get().map(|total| (Limit::HttpBytes, *total))
    }

    pub fn deny(&self, operation: &str, target: impl Into<String>, setting: impl Into<String>) {
        self.lock().add(Denial::new("http", operation, target, setting));
    }

    pub fn denials(&self) -> Vec<Denial> {
        self.lock().list()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Denials> {
        self.denials.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why there is no place for a request.
pub(super) enum Full {
    /// The call has as many as it may.
    Call,
    /// All calls together have.
    Runtime,
}

/// A request that is under way.
pub(super) struct Open {
    meter: Arc<Meter>,
    _place: Option<OwnedSemaphorePermit>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.meter.open.fetch_sub(1, Ordering::Relaxed);
    }
}
