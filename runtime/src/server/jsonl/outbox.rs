//! Replies on their way to the client: one writer, and a bounded number of bytes before it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::reply::Reply;

/// Bytes that may wait to be written; a reply that is longer waits alone.
const ROOM: u32 = 1 << 20;

/// What stands for a reply that cannot be said in JSON, which none is known to be.
const UNSAYABLE: &str =
    r#"{"type":"error","id":null,"kind":"internal","message":"a reply could not be written"}"#;

/// Where replies are put; the clones of one connection share its room.
#[derive(Debug, Clone)]
pub(super) struct Outbox {
    queue: UnboundedSender<Queued>,
    room: Arc<Semaphore>,
    /// How many lines were written.
    written: Arc<AtomicU64>,
}

/// What the writer takes from.
pub(super) struct Queue {
    queue: UnboundedReceiver<Queued>,
    room: Arc<Semaphore>,
    written: Arc<AtomicU64>,
}

/// A line that holds its room until it is written.
#[derive(Debug)]
struct Queued {
    text: Vec<u8>,
    _room: OwnedSemaphorePermit,
}

impl Outbox {
    pub fn new() -> (Self, Queue) {
        let (sender, receiver) = unbounded_channel();
        let room = Arc::new(Semaphore::new(usize::try_from(ROOM).unwrap_or(Semaphore::MAX_PERMITS)));
        let written = Arc::<AtomicU64>::default();
        let outbox = Self { queue: sender, room: Arc::clone(&room), written: Arc::clone(&written) };
        (outbox, Queue { queue: receiver, room, written })
    }

    /// Puts a reply behind the others, when there is room. A client that went away misses it.
    pub async fn send(&self, reply: &Reply) {
        let mut text = serde_json::to_vec(reply).unwrap_or_else(|_| UNSAYABLE.into());
        text.push(b'\n');
        let bytes = u32::try_from(text.len()).unwrap_or(ROOM).min(ROOM);
        if let Ok(room) = Arc::clone(&self.room).acquire_many_owned(bytes).await {
            let _ = self.queue.send(Queued { text, _room: room });
        }
    }

    /// Whether its lines are read.
    pub fn reading(&self) -> Reading {
        Reading { room: Arc::clone(&self.room), written: Arc::clone(&self.written) }
    }

    /// Waits until nothing can be written any more.
    pub async fn closed(&self) {
        self.queue.closed().await;
    }
}

/// How far a client has read, without a hold on what is written to it.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    room: Arc<Semaphore>,
    written: Arc<AtomicU64>,
}

impl Reading {
    /// Waits until nothing was read for `time` though something waits to be. The timers are those of `timers`.
    pub async fn stalled(&self, time: Duration, timers: &Handle) {
        let room = usize::try_from(ROOM).unwrap_or(usize::MAX);
        loop {
            let before = self.written.load(Ordering::Relaxed);
            let pause = {
                let _entered = timers.enter();
                tokio::time::sleep(time)
            };
            pause.await;
            let is_waiting = self.room.available_permits() < room;
            if is_waiting && self.written.load(Ordering::Relaxed) == before {
                return;
            }
        }
    }
}

impl Queue {
    /// Writes until every [`Outbox`] is gone.
    pub async fn write(mut self, mut output: impl AsyncWrite + Unpin) -> io::Result<()> {
        let written = self.all(&mut output).await;
        // Whoever waits for room waits no longer.
        self.room.close();
        written
    }

    async fn all(&mut self, output: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        while let Some(queued) = self.queue.recv().await {
            output.write_all(&queued.text).await?;
            self.written.fetch_add(1, Ordering::Relaxed);
            if self.queue.is_empty() {
                output.flush().await?;
            }
        }
        output.flush().await
    }
}
