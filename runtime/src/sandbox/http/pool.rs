//! Connections that are used again, by the same component under the same entry of its grant alone.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::body::OutgoingBody;
use crate::net::{Connection, Origin};

/// Connections that are kept for one entry.
const MAX_IDLE: usize = 4;

/// How long one is kept. Servers close theirs after a minute or more.
const IDLE: Duration = Duration::from_secs(15);

/// How long a connection whose response was read may take to be ready again.
const READY_WITHIN: Duration = Duration::from_millis(100);

struct Idle {
    origin: Origin,
    connection: Connection<OutgoingBody>,
    since: Instant,
}

/// Connections without a request.
#[derive(Default)]
pub(super) struct Pool(Mutex<Vec<Idle>>);

impl Pool {
    /// A connection to `origin` that can take a request.
    pub async fn take(&self, origin: &Origin) -> Option<Connection<OutgoingBody>> {
        while let Some(mut idle) = self.last_of(origin) {
            let ready = idle.connection.is_ready()
                || tokio::time::timeout(READY_WITHIN, idle.connection.is_reusable()).await == Ok(true);
            if ready {
                return Some(idle.connection);
            }
        }
        None
    }

    fn last_of(&self, origin: &Origin) -> Option<Idle> {
        let mut all = self.lock();
        all.retain(|idle| idle.since.elapsed() < IDLE);
        let at = all.iter().rposition(|idle| idle.origin == *origin)?;
        Some(all.remove(at))
    }

    /// Keeps a connection, whose response was read to its end.
    pub fn put(self: &Arc<Self>, origin: Origin, connection: Connection<OutgoingBody>) {
        // Without a runtime nothing would close it in time.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let mut all = self.lock();
        if all.len() >= MAX_IDLE {
            all.remove(0);
        }
        all.push(Idle { origin, connection, since: Instant::now() });
        drop(all);
        let pool = Arc::downgrade(self);
        runtime.spawn(async move {
            tokio::time::sleep(IDLE).await;
            if let Some(pool) = pool.upgrade() {
                pool.lock().retain(|idle| idle.since.elapsed() < IDLE);
            }
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Idle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
