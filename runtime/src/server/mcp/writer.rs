//! Messages on their way out: to the one writer of an output, or into the answer of one request.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio_util::sync::CancellationToken;

/// Messages that wait for a client that reads slowly; more make their senders wait.
const QUEUE: usize = 256;

/// Bytes that are written at once where many messages wait.
const AT_ONCE: usize = 64 << 10;

/// A message on its way out.
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "a stream needs nothing but the line"))]
#[derive(Debug)]
pub(super) struct Outgoing {
    /// With its newline.
    pub line: Vec<u8>,
    /// Whether it answers a request.
    pub is_answer: bool,
    /// The code of the error that it is, if it is one.
    pub code: Option<i64>,
}

impl Outgoing {
    fn new(message: &Value) -> Self {
        let code = message.get("error").and_then(|error| error.get("code")).and_then(Value::as_i64);
        // JSON has no newline outside of strings, and in them it is escaped: a message is one line whatever it holds.
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        Self { line, is_answer: message.get("method").is_none(), code }
    }
}

/// Gives messages to whoever owns the output.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    messages: Sender<Outgoing>,
    /// How many writes there have been.
    writes: Arc<AtomicU64>,
    /// Whether nothing more is to be written.
    given_up: CancellationToken,
}

impl Writer {
    /// A writer whose messages are taken from the receiver; where that is dropped, nobody reads.
    pub fn channel() -> (Self, Receiver<Outgoing>) {
        let (messages, received) = channel(QUEUE);
        (Self { messages, writes: Arc::default(), given_up: CancellationToken::new() }, received)
    }

    /// Starts the thread. The receiver ends once everything is written, or cannot be.
    pub fn start(mut output: impl Write + Send + 'static) -> io::Result<(Self, Receiver<()>)> {
        let (writer, received) = Self::channel();
        let (done, written) = channel(1);
        let writes = Arc::clone(&writer.writes);
        let writing = move || {
            // What goes wrong here has no reader: dropping the queue tells the connection.
            let _ = write_all(received, &mut output, &writes);
            drop(done);
        };
        std::thread::Builder::new().name("mcp-output".to_owned()).spawn(writing)?;
        Ok((writer, written))
    }

    /// Writes a message, after all before it.
    pub async fn send(&self, message: &Value) {
        tokio::select! {
            biased;
            () = self.given_up.cancelled() => {}
            _ = self.messages.send(Outgoing::new(message)) => {}
        }
    }

    /// Waits until nothing was read for `time` though something waits to be.
    pub async fn stalled(&self, time: Duration) {
        loop {
            let before = self.writes.load(Ordering::Relaxed);
            tokio::time::sleep(time).await;
            let is_waiting = self.messages.capacity() < self.messages.max_capacity();
            if is_waiting && self.writes.load(Ordering::Relaxed) == before {
                return;
            }
        }
    }

    /// Drops what is not written yet: nobody who writes waits any longer.
    pub fn give_up(&self) {
        self.given_up.cancel();
    }

    /// Writes a message that nobody misses, unless others wait already.
    pub fn offer(&self, message: &Value) {
        if self.messages.capacity() > QUEUE / 2 {
            let _ = self.messages.try_send(Outgoing::new(message));
        }
    }

    /// Whether nobody reads any more.
    pub fn is_closed(&self) -> bool {
        self.messages.is_closed()
    }

    /// Waits until nobody reads any more.
    pub async fn closed(&self) {
        self.messages.closed().await;
    }
}

fn write_all(
    mut messages: Receiver<Outgoing>,
    output: &mut impl Write,
    writes: &AtomicU64,
) -> io::Result<()> {
    while let Some(first) = messages.blocking_recv() {
        let mut bytes = first.line;
        while bytes.len() < AT_ONCE
            && let Ok(more) = messages.try_recv()
        {
            bytes.extend(more.line);
        }
        output.write_all(&bytes)?;
        output.flush()?;
        writes.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}
