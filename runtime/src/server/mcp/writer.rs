//! The one writer of the output.

use std::io::{self, Write};

use serde_json::Value;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Messages that wait for a client that reads slowly; more make their senders wait.
const QUEUE: usize = 256;

/// Bytes that are written at once where many messages wait.
const AT_ONCE: usize = 64 << 10;

/// Gives messages to the thread that owns the output.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    messages: Sender<Vec<u8>>,
}

impl Writer {
    /// Starts the thread. The receiver ends once everything is written, or cannot be.
    pub fn start(mut output: impl Write + Send + 'static) -> io::Result<(Self, Receiver<()>)> {
        let (messages, received) = channel(QUEUE);
        let (done, written) = channel(1);
        let writing = move || {
            // What goes wrong here has no reader: dropping the queue tells the connection.
            let _ = write_all(received, &mut output);
            drop(done);
        };
        std::thread::Builder::new().name("mcp-output".to_owned()).spawn(writing)?;
        Ok((Self { messages }, written))
    }

    /// Writes a message, after all before it.
    pub async fn send(&self, message: &Value) {
        let _ = self.messages.send(line(message)).await;
    }

    /// Writes a message that nobody misses, unless others wait already.
    pub fn offer(&self, message: &Value) {
        if self.messages.capacity() > QUEUE / 2 {
            let _ = self.messages.try_send(line(message));
        }
    }

    /// Waits until nobody reads any more.
    pub async fn closed(&self) {
        self.messages.closed().await;
    }
}

/// JSON has no newline outside of strings, and in them it is escaped: a message is one line whatever it holds.
fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

fn write_all(mut messages: Receiver<Vec<u8>>, output: &mut impl Write) -> io::Result<()> {
    while let Some(mut bytes) = messages.blocking_recv() {
        while bytes.len() < AT_ONCE
            && let Ok(more) = messages.try_recv()
        {
            bytes.extend(more);
        }
        output.write_all(&bytes)?;
        output.flush()?;
    }
    Ok(())
}
