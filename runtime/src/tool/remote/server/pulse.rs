//! Whether a server that answers no call is still there.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Server;

/// How long a server may take to show that it is there.
const PULSE: Duration = Duration::from_secs(5);

impl Server {
    /// Asks the server for a sign of life, since a call of it ran out of its time. One that gives none is taken as dead: it is
    /// ended, what waits for it has no answer, and the next call starts it again. But not while a call runs that began
    /// before: it may work on that one and on nothing else, and how long others wait for it is not for one to say.
    pub fn doubt(self: &Arc<Self>) {
        let Some(client) = self.state().client.clone() else { return };
        if client.is_doubted.swap(true, Ordering::Relaxed) {
            return;
        }
        let next = client.next();
        self.handle.spawn(async move {
            while tokio::time::timeout(PULSE, client.pulse()).await.is_err() {
                if client.runs_one_before(next) {
                    continue;
                }
                let time = humantime::format_duration(PULSE);
                let told =
                    format!("it answered neither a call in its time nor, within {time}, whether it is there");
                client.link.give_up(&told);
                break;
            }
            client.is_doubted.store(false, Ordering::Relaxed);
        });
    }
}
