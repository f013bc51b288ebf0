//! Bodies both ways: counted, bounded in time, and read only as far as somebody takes them.

use std::error::Error as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::Sleep;
use wasmtime_wasi_http::{Error, WasiBody};

use super::meter::{Meter, Open};
use crate::net::{Connection, Exceeded, Origin, Pool};
use crate::output::MaskingBytes;

/// What a guest sends.
pub(super) struct OutgoingBody {
    inner: WasiBody,
    meter: Arc<Meter>,
    /// What is left of the length that was announced. What goes beyond it ends the request: cut to its length it would be
    /// another one, and whole.
    left: Option<u64>,
}

impl OutgoingBody {
    /// A body, of exactly `length` bytes if that was announced.
    pub fn new(inner: WasiBody, length: Option<u64>, meter: Arc<Meter>) -> Self {
        Self { inner, meter, left: length }
    }

    /// Counts a piece.
    fn count(&mut self, bytes: usize) -> Result<(), Error> {
        self.meter.send(bytes).map_err(|total| Error::HttpRequestBodySize(Some(total)))?;
        if let Some(left) = &mut self.left {
            let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
            *left = left.checked_sub(bytes).ok_or(Error::HttpRequestBodySize(None))?;
        }
        Ok(())
    }

    /// No body.
    pub fn empty(meter: Arc<Meter>) -> Self {
        let nothing = http_body_util::Empty::<Bytes>::new().map_err(|never| match never {});
        Self::new(nothing.boxed_unsync(), None, meter)
    }
}

impl Body for OutgoingBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let Some(frame) = ready!(Pin::new(&mut self.inner).poll_frame(context)) else {
            return Poll::Ready(None);
        };
        let frame = match frame {
            Ok(frame) => frame,
            Err(error) => return Poll::Ready(Some(Err(error))),
        };
        Poll::Ready(Some(match frame.into_data() {
            Ok(data) => self.count(data.len()).map(|()| Frame::data(data)),
            // They would pass every check on headers.
            Err(_) => Err(Error::InternalError(Some("trailers of requests are not sent".to_owned()))),
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// A connection, and where it goes once its response is read.
pub(super) struct Held {
    pub connection: Connection<OutgoingBody>,
    pub pool: Arc<Pool<OutgoingBody>>,
    pub origin: Origin,
}

impl Held {
    fn give_back(self) {
        self.pool.put(self.origin, self.connection);
    }
}

/// What a server sends. Dropped before its end, it takes the connection with it.
pub(super) struct IncomingBody {
    inner: Incoming,
    held: Option<Held>,
    /// How long a server may be silent.
    between: Option<Duration>,
    silence: Option<Pin<Box<Sleep>>>,
    masking: Option<MaskingBytes>,
    ended: bool,
    _open: Open,
}

impl IncomingBody {
    pub fn new(
        inner: Incoming,
        held: Held,
        between: Option<Duration>,
        masking: Option<MaskingBytes>,
        open: Open,
    ) -> Self {
        let mut body =
            Self { inner, held: Some(held), between, silence: None, masking, ended: false, _open: open };
        // A response without a body is read already, whether or not the guest asks for it.
        if body.inner.is_end_stream() {
            body.end();
        }
        body
    }

    fn end(&mut self) {
        self.ended = true;
        if let Some(held) = self.held.take() {
            held.give_back();
        }
    }

    fn fail(&mut self, error: Error) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        self.ended = true;
        self.held = None;
        Poll::Ready(Some(Err(error)))
    }

    /// The last of what was kept back, or nothing.
    fn last(&mut self) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let rest = self.masking.take().map(|mut masking| masking.rest()).unwrap_or_default();
        Poll::Ready((!rest.is_empty()).then(|| Ok(Frame::data(rest.into()))))
    }

    fn data(&mut self, data: Bytes) -> Option<Bytes> {
        match &mut self.masking {
            None => Some(data),
            Some(masking) => {
                let shown = masking.piece(&data);
                (!shown.is_empty()).then(|| shown.into())
            }
        }
    }

    fn read_error(&self, error: &hyper::Error) -> Error {
        let exceeded = self.held.as_ref().and_then(|held| held.connection.exceeded());
        exceeded.map_or_else(|| read_error(error), too_much)
    }

    fn is_silent(&mut self, context: &mut Context<'_>) -> bool {
        let Some(between) = self.between else { return false };
        let silence = self.silence.get_or_insert_with(|| Box::pin(tokio::time::sleep(between)));
        silence.as_mut().poll(context).is_ready()
    }
}

impl Body for IncomingBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        loop {
            if self.ended {
                return self.last();
            }
            let frame = match Pin::new(&mut self.inner).poll_frame(context) {
                Poll::Ready(frame) => frame,
                Poll::Pending if self.is_silent(context) => return self.fail(Error::ConnectionReadTimeout),
                Poll::Pending => return Poll::Pending,
            };
            self.silence = None;
            let frame = match frame {
                None => {
                    self.end();
                    continue;
                }
                Some(Err(error)) => {
                    let error = self.read_error(&error);
                    return self.fail(error);
                }
                Some(Ok(frame)) => frame,
            };
            match frame.into_data() {
                Ok(data) => {
                    if let Some(data) = self.data(data) {
                        return Poll::Ready(Some(Ok(Frame::data(data))));
                    }
                }
                // Nothing of what a guest is told comes by them, and they would have to pass the same checks as headers.
                Err(_trailers) => {}
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ended && self.masking.is_none()
    }
}

/// What a guest is told where more came than may.
pub(super) fn too_much(exceeded: Exceeded) -> Error {
    match exceeded {
        Exceeded::BeforeBody(total) => {
            Error::HttpResponseHeaderSectionSize(Some(u32::try_from(total).unwrap_or(u32::MAX)))
        }
        Exceeded::Counted(total) => Error::HttpResponseBodySize(Some(total)),
    }
}

fn read_error(error: &hyper::Error) -> Error {
    if error.is_incomplete_message() {
        Error::HttpResponseIncomplete
    } else if error.is_timeout() {
        Error::ConnectionReadTimeout
    } else if error.is_closed() || error.is_canceled() {
        Error::ConnectionTerminated
    } else {
        match error.source().and_then(|source| source.downcast_ref::<io::Error>()).map(io::Error::kind) {
            Some(io::ErrorKind::UnexpectedEof) => Error::HttpResponseIncomplete,
            Some(io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted) => {
                Error::ConnectionTerminated
            }
            _ => Error::HttpProtocolError,
        }
    }
}
