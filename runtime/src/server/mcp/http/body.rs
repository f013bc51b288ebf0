//! What is sent back: nothing, one message, or a stream of them as server-sent events.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::mpsc::Receiver;
use tokio::time::{Interval, MissedTickBehavior, interval_at};

use super::exchange::Hold;
use super::newcomers::Visit;
use crate::server::mcp::room::Space;
use crate::server::mcp::writer::Outgoing;

/// How often a stream that has nothing to say shows that it is there. Proxies cut connections after 30 to 60 seconds.
pub(super) const QUIET: Duration = Duration::from_secs(15);

/// The body of a response.
pub(super) enum Reply {
    /// All of it; nothing once it is sent.
    Whole(Option<Bytes>),
    Events(Box<Events>),
}

/// Messages as they come, until one that answers, or until there are no more.
pub(super) struct Events {
    first: Option<Outgoing>,
    messages: Receiver<Outgoing>,
    quiet: Interval,
    is_over: bool,
    /// Given back with the stream.
    hold: Hold,
}

impl Events {
    pub fn new(first: Option<Outgoing>, messages: Receiver<Outgoing>, hold: Hold) -> Self {
        let mut quiet = interval_at(tokio::time::Instant::now() + QUIET, QUIET);
        quiet.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { first, messages, quiet, is_over: false, hold }
    }

    fn event(&mut self, message: Outgoing) -> Bytes {
        self.is_over = message.is_answer;
        self.quiet.reset();
        let mut event = b"event: message\ndata: ".to_vec();
        // The line has its newline, and an event another.
        event.extend(message.line);
        event.push(b'\n');
        written(event, message.space)
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(self.event(first)));
        }
        match self.messages.poll_recv(context) {
            Poll::Ready(Some(message)) => Poll::Ready(Some(self.event(message))),
            Poll::Ready(None) => Poll::Ready(None),
            // A comment, which is no event.
            Poll::Pending => self.quiet.poll_tick(context).map(|_| Some(Bytes::from_static(b": \n\n"))),
        }
    }
}

impl Reply {
    /// Whether it is a stream for what belongs to no request.
    pub fn listens(&self) -> bool {
        matches!(self, Self::Events(events) if events.hold.listens)
    }
}

/// The body of a response, and that its request is not answered until all of it is written.
pub(super) struct Visited {
    reply: Reply,
    _visit: Visit,
}

impl Visited {
    pub fn new(reply: Reply, visit: Visit) -> Self {
        Self { reply, _visit: visit }
    }
}

impl Body for Visited {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.reply).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.reply.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.reply.size_hint()
    }
}

/// Bytes that take up their space until they are written or given up.
pub(super) fn written(line: Vec<u8>, space: Option<Space>) -> Bytes {
    Bytes::from_owner(Written { line, _space: space })
}

struct Written {
    line: Vec<u8>,
    _space: Option<Space>,
}

impl AsRef<[u8]> for Written {
    fn as_ref(&self) -> &[u8] {
        &self.line
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take()),
            Self::Events(events) => events.poll_next(context),
        };
        next.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Self::Events(_) => SizeHint::default(),
        }
    }
}
