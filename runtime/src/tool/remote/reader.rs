//! Where messages are read: a short one where it comes, a long one where nobody waits for that. The reactor, to which all of
//! them come, has the timers of all calls.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::message::{Incoming, SHORT, read};

/// Long messages of one server that are read at once: each is there as its text and as what was made of it.
const AT_ONCE: usize = 2;

/// Reads the messages of one server.
pub(super) struct Reader(Arc<Semaphore>);

impl Default for Reader {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl Reader {
    /// One message; `is_awaited` says of which requests answers are. Must be awaited on the reactor.
    pub async fn read(
        &self,
        message: impl AsRef<[u8]> + Send + 'static,
        is_awaited: impl Fn(u64) -> bool + Send + 'static,
    ) -> Incoming {
        if message.as_ref().len() <= SHORT {
            return read(message.as_ref(), is_awaited);
        }
        let Ok(place) = Arc::clone(&self.0).acquire_owned().await else { return Incoming::Nothing };
        let reading = tokio::task::spawn_blocking(move || {
            let _place = place;
            read(message.as_ref(), is_awaited)
        });
        // It fails when the runtime is shutting down.
        reading.await.unwrap_or(Incoming::Nothing)
    }
}
