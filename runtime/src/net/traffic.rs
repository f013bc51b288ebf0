//! What a server sends, counted where it comes off the wire: heads, informational ones, framing and trailers too. Whatever
//! an HTTP implementation does with them, nobody is sent more than they may be.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::connect::Stream;

/// What may come for a request before the head of its response is there: that head, which has its own bound, what was read
/// ahead of the body, and a few informational heads before it. These have no end of their own.
const MAX_BEFORE_BODY: u64 = 256 << 10;

/// Counts so many bytes more; the total, where it is beyond what may come.
pub(crate) type Count = Arc<dyn Fn(usize) -> Result<(), u64> + Send + Sync>;

/// More came than may, as a total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exceeded {
    /// Before the body of a response.
    BeforeBody(u64),
    /// Of all that is counted.
    Counted(u64),
}

impl fmt::Display for Exceeded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BeforeBody(total) => write!(formatter, "{total} bytes came before a response"),
            Self::Counted(total) => write!(formatter, "{total} bytes came"),
        }
    }
}

impl std::error::Error for Exceeded {}

/// What came over one connection for its latest request.
#[derive(Default)]
pub(super) struct Traffic(Mutex<State>);

#[derive(Default)]
struct State {
    count: Option<Count>,
    /// For this request.
    received: u64,
    has_head: bool,
    exceeded: Option<Exceeded>,
}

impl Traffic {
    /// Begins a request, whose response `count` counts.
    pub fn begin(&self, count: Option<Count>) {
        *self.lock() = State { count, ..State::default() };
    }

    /// The head of its response is there.
    pub fn has_head(&self) {
        self.lock().has_head = true;
    }

    /// Ends it: what comes now is counted nowhere, and ends the connection.
    pub fn end(&self) {
        self.lock().count = None;
    }

    pub fn received(&self) -> u64 {
        self.lock().received
    }

    pub fn exceeded(&self) -> Option<Exceeded> {
        self.lock().exceeded
    }

    fn receive(&self, bytes: usize) -> Result<(), Exceeded> {
        let mut state = self.lock();
        state.received = state.received.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        let counted = state.count.as_ref().map_or(Ok(()), |count| count(bytes)).map_err(Exceeded::Counted);
        let before = match state.has_head || state.received <= MAX_BEFORE_BODY {
            true => Ok(()),
            false => Err(Exceeded::BeforeBody(state.received)),
        };
        let judged = counted.and(before);
        state.exceeded = judged.err();
        judged
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream whose bytes are counted.
pub(super) struct Counted {
    pub stream: Box<dyn Stream>,
    pub traffic: Arc<Traffic>,
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let bytes = buffer.filled().len().saturating_sub(before);
        Poll::Ready(self.traffic.receive(bytes).map_err(io::Error::other))
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
