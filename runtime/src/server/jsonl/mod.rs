//! JSON lines: a program writes one request a line and reads one reply a line, while tools still run.
//!
//! Each request has a `type` and an `id` of the client's choice; each reply carries that `id` unchanged. A request ends
//! with exactly one `hello`, `tools`, `result` or `error`; before the `result` of a call come its `start`, what its tool
//! says (`log`, `progress`, `chunk`), and each `approval` that the client is asked for and answers by `approve`. Replies
//! to calls that run at the same time are mixed. An `error` with the `id` null is about a line whose own could not be
//! read, or is that of another call that runs.
//!
//! [`schema`] describes both directions.

mod answers;
mod approver;
mod connection;
mod events;
mod flight;
mod flights;
mod id;
mod lines;
mod outbox;
mod read;
mod reply;
mod request;
mod schema;
#[cfg(test)]
mod tests;

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

pub use approver::AskClient;
pub use schema::schema;

use crate::runtime::{Runtime, Session};
use connection::Connection;
use lines::Lines;
use outbox::{Outbox, Reading};

/// The version of the protocol, told in `hello`. What is added to replies does not change it.
pub const PROTOCOL: u32 = 1;

/// Bytes of one line: arguments of the default limit, 16 MiB, as text in which every character is escaped.
pub const MAX_LINE_BYTES: usize = 33 << 20;

/// Calls of one connection that may be in flight: as many as wait for cells by default. A batch counts as one.
pub const MAX_CALLS: usize = 1024;

/// Bytes of the lines of all calls of one connection that may be in flight together: one of the longest, and as much again.
pub const MAX_BYTES_IN_FLIGHT: usize = 66 << 20;

/// Names of sessions that one connection may use.
pub const MAX_SESSIONS: usize = 1024;

/// How long a client may read nothing when its input has ended: a person may be reading.
const LEAVING: Duration = Duration::from_secs(10);

/// The same when it is stopped.
const STOPPING: Duration = Duration::from_secs(1);

/// Serves a runtime to one client after another.
///
/// For the client to be asked about calls, [`AskClient`] must be the runtime's approver.
#[derive(Clone)]
pub struct JsonLines {
    runtime: Runtime,
    sessions: Arc<SessionOf>,
    stop: CancellationToken,
    left: CancellationToken,
}

/// Makes the session that a client names; the empty name is that of calls without one.
type SessionOf = dyn Fn(&str) -> Session + Send + Sync;

impl JsonLines {
    /// Serves `runtime`. A session of a client is the runtime's session of that name.
    pub fn new(runtime: Runtime) -> Self {
        let of_runtime = runtime.clone();
        Self {
            runtime,
            sessions: Arc::new(move |name| of_runtime.session(name)),
            stop: CancellationToken::new(),
            left: CancellationToken::new(),
        }
    }

    /// Makes sessions otherwise: under names that no other client can choose, say. It is asked once for each name of a
    /// connection, and for the empty name, which is that of calls without a session.
    #[must_use]
    pub fn sessions(mut self, make: impl Fn(&str) -> Session + Send + Sync + 'static) -> Self {
        self.sessions = Arc::new(make);
        self
    }

    /// Ends all connections when `token` is cancelled: nothing more is read, and calls that run end as `cancelled`.
    #[must_use]
    pub fn stop(mut self, token: CancellationToken) -> Self {
        self.stop = token;
        self
    }

    /// Says by `token` that the client has left, whatever of its lines is still to be read: of one that reads no replies no
    /// more lines are taken, so that the end of its input would never be seen.
    #[must_use]
    pub fn left(mut self, token: CancellationToken) -> Self {
        self.left = token;
        self
    }

    /// Answers the lines of `input` on `output` until the input ends and the calls that run then have ended, each within
    /// its deadline; a question that waits for an answer then is answered by a no. Must be awaited inside of a tokio runtime, on
    /// which calls are spawned. Dropping it ends all calls.
    ///
    /// A client that does not read makes the tools wait that have something to say, up to their deadlines. What it has not read
    /// is dropped when it reads nothing for ten seconds after the end of its input, or for one after it was stopped.
    ///
    /// # Errors
    /// When reading or writing fails, or replies were dropped. Calls that run then are ended when nothing can be written any more.
    pub async fn serve(
        &self,
        input: impl AsyncRead + Unpin + Send,
        output: impl AsyncWrite + Unpin + Send,
    ) -> io::Result<()> {
        let (outbox, queue) = Outbox::new();
        let reading = outbox.reading();
        let connection = Connection::new(Arc::clone(&self.sessions), self.stop.clone(), outbox);
        let given_up = CancellationToken::new();
        let unread = async {
            self.unread(&reading, self.left.cancelled()).await;
            given_up.cancel();
        };
        let serving = connection.serve(Lines::new(input), unread);
        let (mut serving, mut writing) = (pin!(serving), pin!(queue.write(output)));
        let read = tokio::select! {
            read = &mut serving => read,
            written = &mut writing => return written.and(serving.await),
        };
        tokio::select! {
            written = writing => return written.and(read),
            () = given_up.cancelled() => {}
            () = self.unread(&reading, std::future::ready(())) => {}
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "the client did not read all replies"))
    }

    /// Waits until replies are not read by a client that has `left`, or is to be left.
    async fn unread(&self, reading: &Reading, left: impl Future<Output = ()>) {
        let timers = self.runtime.timers();
        let stopped = async {
            self.stop.cancelled().await;
            reading.stalled(STOPPING, timers).await;
        };
        let gone = async {
            left.await;
            reading.stalled(LEAVING, timers).await;
        };
        tokio::select! {
            () = stopped => {}
            () = gone => {}
        }
    }
}

impl std::fmt::Debug for JsonLines {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("JsonLines").field("runtime", &self.runtime).finish_non_exhaustive()
    }
}
