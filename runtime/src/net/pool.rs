//! Connections that are used again, by whoever owns the pool alone.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connection::Connection;
use super::network::Network;
use super::origin::Origin;

/// Connections that are kept.
const MAX_IDLE: usize = 4;

/// How long one is kept: less than the five seconds after which common servers close theirs, since a request that meets
/// the closing is lost.
const IDLE: Duration = Duration::from_secs(4);

/// How long a connection whose response was read may take to be ready again.
const READY_WITHIN: Duration = Duration::from_millis(100);

struct Idle<B> {
    origin: Origin,
    connection: Connection<B>,
    since: Instant,
    _place: OwnedSemaphorePermit,
}

/// Connections without a request.
pub(crate) struct Pool<B> {
    idle: Mutex<Vec<Idle<B>>>,
    /// Those of all pools of a runtime.
    places: Arc<Semaphore>,
}

impl<B> Pool<B>
where
    B: hyper::body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// One that keeps none yet.
    pub fn new(network: &Network) -> Self {
        Self { idle: Mutex::default(), places: Arc::clone(network.idle()) }
    }

    /// A connection to `origin` that can take a request.
    pub async fn take(&self, origin: &Origin) -> Option<Connection<B>> {
        while let Some(mut idle) = self.last_of(origin) {
            let ready = idle.connection.is_ready()
                || tokio::time::timeout(READY_WITHIN, idle.connection.is_reusable()).await == Ok(true);
            if ready {
                return Some(idle.connection);
            }
        }
        None
    }

    fn last_of(&self, origin: &Origin) -> Option<Idle<B>> {
        let mut all = self.lock();
        all.retain(|idle| idle.since.elapsed() < IDLE);
        let at = all.iter().rposition(|idle| idle.origin == *origin)?;
        Some(all.remove(at))
    }

    /// Keeps a connection, whose response was read to its end.
    pub fn put(self: &Arc<Self>, origin: Origin, connection: Connection<B>) {
        // Without a runtime nothing would close it in time.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        connection.rest();
        let mut all = self.lock();
        if all.len() >= MAX_IDLE {
            all.remove(0);
        }
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else { return };
        all.push(Idle { origin, connection, since: Instant::now(), _place: place });
        drop(all);
        let pool = Arc::downgrade(self);
        runtime.spawn(async move {
            tokio::time::sleep(IDLE).await;
            if let Some(pool) = pool.upgrade() {
                pool.lock().retain(|idle| idle.since.elapsed() < IDLE);
            }
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Idle<B>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
