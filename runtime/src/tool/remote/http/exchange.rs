//! One message to a server and what comes of it: nothing, one message, or a stream of them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, Request, StatusCode, response};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::Shared;
use super::events::Events;
use super::place::{Arrived, Body};
use crate::net::Connection;
use crate::tool::remote::message::{Failure, Incoming as Message, SHORT, read_error};
use crate::tool::remote::pending::{Progress, ProgressSink};

/// Bytes of a response that refuses; a longer one says nothing that is read.
const MAX_REFUSAL: usize = 64 << 10;

/// How long a stream may go on once it has answered, so that its connection can be used again.
const DRAINING: Duration = Duration::from_millis(100);

/// How often a stream is taken up again, and how long is waited where its server does not say.
const MAX_RESUMED: u32 = 64;
const RESUMING: Duration = Duration::from_secs(1);
const LONGEST_RESUMING: Duration = Duration::from_secs(30);

/// The header that names a session.
pub(super) const SESSION: &str = "mcp-session-id";

/// A message that is to be answered.
pub(super) struct Asked {
    pub id: u64,
    pub request: Request<Body>,
    pub progress: Option<ProgressSink>,
    /// Whether it begins a session.
    pub is_handshake: bool,
    /// Whether it names a session.
    pub is_in_session: bool,
    /// Whether its answer is what is told from now on.
    pub is_subscription: bool,
}

/// What waits for an answer.
struct Awaited {
    id: u64,
    progress: Option<ProgressSink>,
    is_subscription: bool,
}

/// A stream of messages that is being read.
struct Stream {
    body: Incoming,
    connection: Connection<Body>,
    events: Events,
}

impl Shared {
    /// Sends a message and gives its answer.
    pub async fn exchange(self: Arc<Self>, asked: Asked) -> Result<Value, Failure> {
        let Asked { id, request, progress, is_handshake, is_in_session, is_subscription } = asked;
        let Arrived { response, connection } =
            self.place.send(request).await.map_err(|why| self.lost(&why))?;
        let (head, body) = response.into_parts();
        let awaited = Awaited { id, progress, is_subscription };
        match head.status {
            StatusCode::NOT_FOUND if is_in_session => return Err(Failure::Expired),
            status if !status.is_success() => return Err(self.refused(&head, body, connection).await),
            _ if is_handshake => self.begin(head.headers.get(SESSION)),
            _ => {}
        }
        match kind(&head.headers) {
            Kind::Json => {
                let bytes = self.whole(body, self.most).await?;
                self.place.keep(connection);
                self.answered(bytes, &awaited).await
            }
            Kind::Events => {
                self.streamed(Stream { body, connection, events: Events::default() }, &awaited).await
            }
            Kind::Other => Err(Failure::Unreadable),
        }
    }

    /// Says something that is not answered.
    pub async fn tell_request(self: Arc<Self>, request: Request<Body>) {
        if let Ok(Arrived { response, connection }) = self.place.send(request).await
            && self.whole(response.into_body(), MAX_REFUSAL).await.is_ok()
        {
            self.place.keep(connection);
        }
    }

    /// Reads the stream of what belongs to no request. False where the server has none.
    pub async fn listen(self: Arc<Self>, request: Request<Body>) -> bool {
        let Ok(Arrived { response, connection }) = self.place.send(request).await else { return true };
        let (head, body) = response.into_parts();
        if head.status != StatusCode::OK || kind(&head.headers) != Kind::Events {
            return false;
        }
        let mut stream = Stream { body, connection, events: Events::default() };
        while let Ok(Some(message)) = self.next(&mut stream).await {
            self.heard(message, None).await;
        }
        true
    }

    /// The answer in a stream. One that ends before is taken up again where its server has said how.
    async fn streamed(self: &Arc<Self>, mut stream: Stream, awaited: &Awaited) -> Result<Value, Failure> {
        for _ in 0..MAX_RESUMED {
            while let Some(message) =
                self.next(&mut stream).await.map_err(|failure| self.ended(failure, awaited))?
            {
                if let Some(end) = self.heard(message, Some(awaited)).await {
                    self.drain(stream);
                    return end;
                }
            }
            stream = self.resumed(stream.events).await.map_err(|failure| self.ended(failure, awaited))?;
        }
        Err(Failure::Unreadable)
    }

    /// The next message of a stream; none at its end.
    async fn next(&self, stream: &mut Stream) -> Result<Option<Vec<u8>>, Failure> {
        loop {
            if let Some(message) = stream.events.next() {
                return Ok(Some(message));
            }
            // Who sends much leaves others on this thread their turn.
            tokio::task::yield_now().await;
            let frame = match stream.body.frame().await {
                None => return Ok(None),
                // Whatever cut it may have let the server go on: the stream may be taken up again.
                Some(Err(_)) if stream.events.last_id().is_some() => return Ok(None),
                Some(Err(error)) => return Err(Failure::Gone(super::place::broken(&error))),
                Some(Ok(frame)) => frame,
            };
            if let Ok(piece) = frame.into_data() {
                stream.events.add(&piece, self.most).map_err(|_| Failure::TooLong)?;
            }
        }
    }

    /// Why a stream ended. What lies between cuts those on which little is said, so that the end of a subscription says nothing of
    /// the server.
    fn ended(&self, failure: Failure, awaited: &Awaited) -> Failure {
        match failure {
            Failure::Gone(why) if !awaited.is_subscription => self.lost(&why),
            failure => failure,
        }
    }

    async fn resumed(&self, mut events: Events) -> Result<Stream, Failure> {
        let id = events.last_id().and_then(|id| HeaderValue::from_str(id).ok());
        let Some(id) = id.filter(|_| self.is_in_session()) else {
            return Err(Failure::Gone("it ended a stream without the answer".to_owned()));
        };
        sleep(events.retry().unwrap_or(RESUMING).min(LONGEST_RESUMING)).await;
        let mut request = self.in_session(self.place.get());
        request.headers_mut().insert("last-event-id", id);
        let Arrived { response, connection } = self.place.send(request).await.map_err(Failure::Gone)?;
        let (head, body) = response.into_parts();
        if head.status != StatusCode::OK || kind(&head.headers) != Kind::Events {
            return Err(Failure::Gone("it ended a stream without the answer".to_owned()));
        }
        events.resumed();
        Ok(Stream { body, connection, events })
    }

    /// Reads the rest of a stream that has answered, which is nothing, so that its connection can be used again.
    fn drain(self: &Arc<Self>, mut stream: Stream) {
        let shared = Arc::clone(self);
        tokio::spawn(async move {
            let rest = async {
                while let Some(Ok(_)) = stream.body.frame().await {
                    tokio::task::yield_now().await;
                }
            };
            if timeout(DRAINING, rest).await.is_ok() {
                shared.place.keep(stream.connection);
            }
        });
    }

    /// The answer in a response that is one message.
    async fn answered(self: &Arc<Self>, message: Bytes, awaited: &Awaited) -> Result<Value, Failure> {
        if let Some(end) = self.heard(message.clone(), Some(awaited)).await {
            return end;
        }
        // It can be of nothing else.
        let error =
            Some(&message).filter(|message| message.len() <= SHORT).and_then(|message| read_error(message));
        Err(error.map_or(Failure::Unreadable, Failure::Refused))
    }

    /// Does what a message is for. The end of what is awaited, if it is that.
    async fn heard(
        self: &Arc<Self>,
        message: impl AsRef<[u8]> + Send + 'static,
        awaited: Option<&Awaited>,
    ) -> Option<Result<Value, Failure>> {
        let asked = awaited.map(|awaited| awaited.id);
        match self.reader.read(message, move |id| asked == Some(id)).await {
            Message::Answer { end, .. } => return Some(end),
            Message::Request { id, method } => self.answer(&id, &method),
            Message::Notification { method, params } => match (method.as_str(), awaited) {
                ("notifications/progress", Some(awaited)) => awaited.progressed(&params),
                ("notifications/tools/list_changed", _) => self.changed.notify_one(),
                _ => {}
            },
            Message::Error(error) => return awaited.map(|_| Err(Failure::Refused(error))),
            Message::Unreadable => return awaited.map(|_| Err(Failure::Unreadable)),
            Message::Nothing => {}
        }
        None
    }

    /// What a status says that is none of success.
    async fn refused(&self, head: &response::Parts, body: Incoming, connection: Connection<Body>) -> Failure {
        let status = head.status.as_u16();
        if kind(&head.headers) != Kind::Json {
            return Failure::Status(status);
        }
        let Ok(bytes) = self.whole(body, MAX_REFUSAL).await else { return Failure::Status(status) };
        self.place.keep(connection);
        read_error(&bytes).map_or(Failure::Status(status), Failure::Refused)
    }

    async fn whole(&self, body: Incoming, most: usize) -> Result<Bytes, Failure> {
        match Limited::new(body, most).collect().await {
            Ok(collected) => Ok(collected.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => Err(Failure::TooLong),
            Err(_) => Err(self.lost("the connection broke")),
        }
    }
}

impl Awaited {
    fn progressed(&self, params: &Value) {
        if let (Some((token, progress)), Some(sink)) = (Progress::read(params), &self.progress)
            && token == self.id
        {
            // Whoever is too slow for it misses it.
            let _ = sink.try_send(progress);
        }
    }
}

/// What a response has in it.
#[derive(PartialEq, Eq)]
enum Kind {
    Json,
    Events,
    Other,
}

fn kind(headers: &HeaderMap) -> Kind {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    match kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "application/json" => Kind::Json,
        "text/event-stream" => Kind::Events,
        _ => Kind::Other,
    }
}
