//! Standard output and error of a guest: kept at both ends, counted in between, and never full. A guest whose print
//! fails is a working tool that breaks, and one that waits for a full pipe never ends.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use crate::output::{HeadTail, Redactor};

/// What one write may bring, so that a guest prints in pieces that the host can copy.
const WRITE_PERMIT: usize = 64 << 10;

/// One stream's capture, shared between the store and the streams that the guest opens on it.
#[derive(Clone)]
pub(crate) struct Sink(Arc<Mutex<HeadTail>>);

impl Sink {
    /// A sink that keeps `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self(Arc::new(Mutex::new(HeadTail::new(limit))))
    }

    /// What was kept, as text, without what the border of that may have left of a secret.
    pub fn text(&self, redactor: Option<&Arc<Redactor>>) -> Option<String> {
        let capture = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (!capture.is_empty()).then(|| capture.render_redacted(redactor.map(Arc::as_ref)))
    }

    /// What was written, kept or not, in bytes.
    pub fn total(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).total()
    }

    fn keep(&self, bytes: &[u8]) {
        // Zero-length writes must cost nothing: they are free for the guest.
        if !bytes.is_empty() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes);
        }
    }
}

impl IsTerminal for Sink {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Sink {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl AsyncWrite for Sink {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.keep(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Sink {
    async fn ready(&mut self) {}
}

#[wasmtime_wasi::async_trait]
impl OutputStream for Sink {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.keep(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE_PERMIT)
    }
}
