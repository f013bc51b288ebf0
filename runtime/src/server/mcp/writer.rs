//! Messages on their way out: to the one writer of an output, or into the answer of one request.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio_util::sync::CancellationToken;

use super::frame::Refusal;
use super::id::Echo;
use super::room::{OF_ONE, Room, Space};

/// Messages that wait for a client that reads slowly; more make their senders wait, as more bytes than there is room for do.
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
    /// Held until it is written.
    pub space: Option<Space>,
}

impl Outgoing {
    fn new(message: &Value) -> Self {
        let code = message.get("error").and_then(|error| error.get("code")).and_then(Value::as_i64);
        // JSON has no newline outside of strings, and in them it is escaped: a message is one line whatever it holds.
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        Self { line, is_answer: message.get("method").is_none(), code, space: None }
    }

    fn refusal(refusal: Refusal, echo: &Echo) -> Self {
        let code = Some(refusal.code.into());
        let mut line = refusal.unread(echo).into_bytes();
        line.push(b'\n');
        Self { line, is_answer: true, code, space: None }
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
    room: Room,
}

impl Writer {
    /// A writer whose messages are taken from the receiver, and wait in `room`; where the receiver is dropped, nobody reads.
    pub fn channel(room: &Room) -> (Self, Receiver<Outgoing>) {
        let (messages, received) = channel(QUEUE);
        let (writes, given_up) = (Arc::default(), CancellationToken::new());
        (Self { messages, writes, given_up, room: room.clone() }, received)
    }

    /// Starts the thread. The receiver ends once everything is written, or cannot be.
    pub fn start(mut output: impl Write + Send + 'static) -> io::Result<(Self, Receiver<()>)> {
        let (writer, received) = Self::channel(&Room::new(OF_ONE));
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
        self.send_made(Outgoing::new(message)).await;
    }

    /// The same for what answers a message that could not be read.
    pub async fn send_refusal(&self, refusal: Refusal, echo: &Echo) {
        self.send_made(Outgoing::refusal(refusal, echo)).await;
    }

    async fn send_made(&self, message: Outgoing) {
        let space = tokio::select! {
            biased;
            () = self.given_up.cancelled() => return,
            () = self.messages.closed() => return,
            space = self.room.take(message.line.len()) => space,
        };
        tokio::select! {
            biased;
            () = self.given_up.cancelled() => {}
            _ = self.messages.send(Outgoing { space, ..message }) => {}
        }
    }

    /// Waits until something large may be made, to be held until it is sent; nothing if nobody reads any more.
    pub async fn make(&self) -> Option<OwnedSemaphorePermit> {
        tokio::select! {
            biased;
            () = self.given_up.cancelled() => None,
            () = self.messages.closed() => None,
            made = self.room.make() => made,
        }
    }

    /// Waits until nothing was read for `time` though something waits to be.
    pub async fn stalled(&self, time: Duration) {
        loop {
            let before = self.writes.load(Ordering::Relaxed);
            tokio::time::sleep(time).await;
            if self.room.is_used() && self.writes.load(Ordering::Relaxed) == before {
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
            let message = Outgoing::new(message);
            let Some(space) = self.room.try_take(message.line.len()) else { return };
            let _ = self.messages.try_send(Outgoing { space: Some(space), ..message });
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
        let mut spaces = vec![first.space];
        while bytes.len() < AT_ONCE
            && let Ok(more) = messages.try_recv()
        {
            bytes.extend(more.line);
            spaces.push(more.space);
        }
        output.write_all(&bytes)?;
        output.flush()?;
        writes.fetch_add(1, Ordering::Relaxed);
        drop(spaces);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use serde_json::json;

    use super::*;

    /// What is there without waiting.
    fn at_once<T>(future: &mut Pin<Box<dyn Future<Output = T> + '_>>) -> Option<T> {
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => Some(done),
            Poll::Pending => None,
        }
    }

    fn sent(writer: &Writer, message: &Value) -> bool {
        let mut sending: Pin<Box<dyn Future<Output = ()>>> = Box::pin(writer.send(message));
        at_once(&mut sending).is_some()
    }

    fn made(writer: &Writer) -> Option<Option<OwnedSemaphorePermit>> {
        let mut making: Pin<Box<dyn Future<Output = Option<OwnedSemaphorePermit>>>> = Box::pin(writer.make());
        at_once(&mut making)
    }

    #[test]
    fn what_nobody_reads_waits_and_takes_no_more_than_its_room() {
        let room = Room::new(100 << 10);
        let (writer, mut received) = Writer::channel(&room);
        let (other, _received) = Writer::channel(&Room::new(100 << 10));
        let large = json!({ "id": 1, "result": "x".repeat(60 << 10) });
        assert!(sent(&writer, &large));
        let mut second: Pin<Box<dyn Future<Output = ()>>> = Box::pin(writer.send(&large));
        assert!(at_once(&mut second).is_none(), "there is no room for two");
        writer.offer(&json!({ "method": "x", "params": "y".repeat(60 << 10) }));
        assert!(sent(&other, &large), "another's room is free");
        // Room is given back when what was taken is written, not when it is taken.
        let taken = received.try_recv().unwrap();
        assert!(at_once(&mut second).is_none());
        drop(taken);
        assert!(at_once(&mut second).is_some());
        drop(received.try_recv().unwrap());
        assert!(received.try_recv().is_err(), "what nobody misses was left out");
        // What is larger than all of it goes alone.
        let huge = json!({ "id": 1, "result": "x".repeat(1 << 20) });
        assert!(sent(&writer, &huge));
        let small = json!({ "id": 2, "result": {} });
        let mut after: Pin<Box<dyn Future<Output = ()>>> = Box::pin(writer.send(&small));
        assert!(at_once(&mut after).is_none());
        drop(received);
        assert!(at_once(&mut after).is_some(), "nobody waits for one who is gone");
    }

    #[test]
    fn few_large_messages_are_made_at_once() {
        let room = Room::new(OF_ONE);
        let (writer, received) = Writer::channel(&room);
        let both: Vec<_> = (0..2).map(|_| made(&writer).flatten().unwrap()).collect();
        assert!(made(&writer).is_none());
        drop(both);
        assert!(made(&writer).flatten().is_some());
        drop(received);
        assert!(made(&writer).unwrap().is_none());
    }
}
