//! Whether a server that answers no call is still there.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Server;

/// How long a server may take to show that it is there. One that works on a call and does nothing else meanwhile has to do
/// with this too.
const PULSE: Duration = Duration::from_secs(5);

impl Server {
    /// Asks the server for a sign of life, since a call of it ran out of its time. One that gives none is taken as dead: it is
    /// ended, what waits for it has no answer, and the next call starts it again.
    pub fn doubt(self: &Arc<Self>) {
        let Some(client) = self.state().client.clone() else { return };
        if client.is_doubted.swap(true, Ordering::Relaxed) {
            return;
        }
        self.handle.spawn(async move {
            if tokio::time::timeout(PULSE, client.pulse()).await.is_err() {
                let time = humantime::format_duration(PULSE);
                let told =
                    format!("it answered neither a call in its time nor, within {time}, whether it is there");
                client.link.give_up(&told);
            }
            client.is_doubted.store(false, Ordering::Relaxed);
        });
    }
}
