//! The way of one request, from its headers to its message.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body as _, Bytes, Incoming};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::body::{Reply, Visited};
use super::caller::Caller;
use super::exchange::Hold;
use super::guard::one;
use super::listen::Server;
use super::metrics::Now;
use super::newcomers::Newcomer;
use super::reply::Health;
use super::{era, reply};
use crate::config::MAX_BODY;
use crate::server::mcp::frame::{Message, read_aside};
use crate::server::mcp::room::Arrival;

/// Where the protocol is spoken.
pub(super) const PATH: &str = "/mcp";

impl Server {
    /// Answers a request.
    pub(super) async fn respond(
        self: Arc<Self>,
        request: Request<Incoming>,
        newcomer: Arc<Newcomer>,
    ) -> Result<Response<Visited>, Infallible> {
        let mut visit = newcomer.visit();
        let response = self.route(request, &newcomer).await;
        self.metrics.responded(response.status().as_u16());
        if response.body().listens() {
            visit.listens();
        }
        Ok(response.map(|reply| Visited::new(reply, visit)))
    }

    async fn route(
        self: &Arc<Self>,
        request: Request<Incoming>,
        newcomer: &Arc<Newcomer>,
    ) -> Response<Reply> {
        let is_get = request.method() == Method::GET || request.method() == Method::HEAD;
        match request.uri().path() {
            // They say nothing that depends on who asks, and probes name any host.
            "/healthz" if is_get => return reply::health(Health::Well),
            "/readyz" if is_get => return reply::health(self.readiness()),
            "/healthz" | "/readyz" => return reply::not_allowed("GET"),
            _ => {}
        }
        let door = self.door();
        let origin = match door.guard.check(request.headers(), request.uri().authority()) {
            Ok(origin) => origin,
            Err(told) => return reply::refuse(StatusCode::FORBIDDEN, &told),
        };
        let caller = door.caller(request.headers());
        if let Some(caller) = &caller {
            self.newcomers.know(newcomer, caller.principal.as_deref());
        }
        reply::readable(self.guarded(request, caller).await, origin.as_deref())
    }

    async fn guarded(
        self: &Arc<Self>,
        request: Request<Incoming>,
        caller: Option<Arc<Caller>>,
    ) -> Response<Reply> {
        // Browsers ask first, without a token.
        if request.method() == Method::OPTIONS && request.uri().path() == PATH {
            return reply::preflight();
        }
        let Some(caller) = caller else { return reply::unknown() };
        match (request.uri().path(), request.method()) {
            (PATH, &Method::POST) => self.post(request, &caller).await,
            (PATH, &Method::GET) => self.get(request.headers(), &caller).await,
            (PATH, &Method::DELETE) => self.delete(request.headers(), &caller).await,
            (PATH, _) => reply::not_allowed("GET, POST, DELETE, OPTIONS"),
            ("/metrics", &Method::GET) => self.watched(),
            ("/metrics", _) => reply::not_allowed("GET"),
            _ => reply::refuse(StatusCode::NOT_FOUND, "the protocol is spoken at /mcp"),
        }
    }

    async fn post(self: &Arc<Self>, request: Request<Incoming>, caller: &Caller) -> Response<Reply> {
        let (parts, body) = request.into_parts();
        if !is_json(&parts.headers) {
            let told = "the header `Content-Type` must be `application/json`";
            return reply::refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, told);
        }
        if !(accepts(&parts.headers, "application/json") && accepts(&parts.headers, "text/event-stream")) {
            let told = "the header `Accept` must have `application/json` and `text/event-stream`";
            return reply::refuse(StatusCode::NOT_ACCEPTABLE, told);
        }
        let Some(receiving) = taken(&caller.places.messages) else { return too_many_requests() };
        let mut arrival = Arrival::in_room(&caller.client.arrivals);
        let bytes = match self.received(body, &mut arrival).await {
            Ok(bytes) => bytes,
            Err(refusal) => return refusal,
        };
        let message = match read_aside(bytes.clone()).await {
            Ok(message) => message,
            Err((echo, refusal)) => return reply::unread(StatusCode::BAD_REQUEST, refusal, &echo),
        };
        if self.stop.is_cancelled() && matches!(message, Message::Request { .. }) {
            return reply::ending();
        }
        let place = match &message {
            Message::Request { method, .. } if method == "subscriptions/listen" => {
                match taken(&caller.places.listening) {
                    Some(place) => place,
                    None => return too_many_streams(),
                }
            }
            Message::Request { .. } => match taken(&caller.places.requests) {
                Some(place) => place,
                None => return too_many_requests(),
            },
            // A call may wait for it.
            Message::Notification { .. } | Message::Response { .. } => receiving,
        };
        let listens = matches!(&message, Message::Request { method, .. } if method == "subscriptions/listen");
        let hold = Hold { _place: Some(place), session: None, listens, arrival: Some(arrival) };
        if era::is_current(&parts.headers) {
            return self.alone(&parts.headers, caller, message, hold).await;
        }
        if let Message::Request { id, method, params } = &message {
            if era::is_unannounced(method, params) {
                return reply::refused(StatusCode::BAD_REQUEST, era::unannounced(), id);
            }
            if method == "initialize" {
                return self.handshake(caller, message, hold).await;
            }
        }
        match self.session(&parts.headers, caller).await {
            Ok(session) => self.in_session(session, (message, bytes), hold).await,
            Err(refusal) => refusal,
        }
    }

    /// The body, if it is neither too long nor too slow, and there is room for it among what its principal has under way.
    async fn received(&self, body: Incoming, arrival: &mut Arrival) -> Result<Bytes, Response<Reply>> {
        let most = self.settings.max_body;
        let too_long = || {
            let told = match most < MAX_BODY {
                true => format!(
                    "the message is longer than {most} bytes; its operator may raise `server.max_body`"
                ),
                false => format!("the message is longer than {most} bytes, and no longer one is taken"),
            };
            reply::refuse(StatusCode::PAYLOAD_TOO_LARGE, &told)
        };
        if body.size_hint().lower() > most {
            return Err(too_long());
        }
        let limited = Limited::new(body, usize::try_from(most).unwrap_or(usize::MAX));
        match timeout(self.settings.body_timeout, collected(limited, arrival)).await {
            Ok(Ok(Some(bytes))) => Ok(bytes),
            Ok(Ok(None)) => Err(reply::too_many(
                "messages of this principal that are worked on take up too much; send it again when some are answered",
            )),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_long()),
            Ok(Err(_)) => Err(reply::refuse(StatusCode::BAD_REQUEST, "the message did not come whole")),
            Err(_) => Err(reply::refuse(StatusCode::REQUEST_TIMEOUT, "the message took too long to come")),
        }
    }

    async fn get(&self, headers: &HeaderMap, caller: &Caller) -> Response<Reply> {
        if era::is_current(headers) {
            return reply::not_allowed("POST");
        }
        if !accepts(headers, "text/event-stream") {
            let told = "the header `Accept` must have `text/event-stream`";
            return reply::refuse(StatusCode::NOT_ACCEPTABLE, told);
        }
        if self.stop.is_cancelled() {
            return reply::ending();
        }
        match self.session(headers, caller).await {
            Ok(session) => self.stream(session).await,
            Err(refusal) => refusal,
        }
    }

    async fn delete(&self, headers: &HeaderMap, caller: &Caller) -> Response<Reply> {
        if era::is_current(headers) {
            return reply::not_allowed("POST");
        }
        let id = one(headers, reply::SESSION).unwrap_or_default();
        match self.session(headers, caller).await {
            Ok(session) => drop(session),
            Err(_) if !headers.contains_key(reply::SESSION) => return no_session(),
            Err(refusal) => return refusal,
        }
        if let Some(instances) = &self.instances
            && instances.end(id).await.is_err()
        {
            return reply::unshared();
        }
        self.sessions.end(id, caller.principal.as_deref());
        reply::empty(StatusCode::NO_CONTENT)
    }

    async fn session(
        &self,
        headers: &HeaderMap,
        caller: &Caller,
    ) -> Result<super::sessions::InUse, Response<Reply>> {
        if !headers.contains_key(reply::SESSION) {
            let told = "a request outside of a session must be `initialize`, or name its revision in the header \
                        `MCP-Protocol-Version`";
            return Err(reply::refuse(StatusCode::BAD_REQUEST, told));
        }
        let id = one(headers, reply::SESSION).unwrap_or_default();
        let owner = caller.principal.as_deref();
        let Some(session) = self.sessions.find(id, owner) else {
            let joined = self.join(id, caller).await.map_err(|_| reply::unshared())?;
            return joined.ok_or_else(no_session);
        };
        if let Some(instances) = &self.instances
            && session.is_to_be_renewed(self.settings.session_timeout)
            && !instances.renew(id).await.map_err(|_| reply::unshared())?
        {
            // It was ended elsewhere.
            drop(session);
            self.sessions.end(id, owner);
            return Err(no_session());
        }
        Ok(session)
    }

    /// Whether it takes requests, and can serve all of them.
    fn readiness(&self) -> Health {
        let is_shared =
            self.instances.as_ref().is_none_or(|instances| instances.is_there.load(Ordering::Relaxed));
        match (self.stop.is_cancelled(), is_shared) {
            (true, _) => Health::Ending,
            (false, false) => Health::Unshared,
            (false, true) => Health::Well,
        }
    }

    fn watched(&self) -> Response<Reply> {
        let runtime = &self.runtime;
        let now = Now {
            cells: runtime.cells_running(),
            waiting: runtime.calls_waiting(),
            sessions: self.sessions.count(),
            connections: self.connections.load(Ordering::Relaxed),
        };
        reply::text(StatusCode::OK, "text/plain; version=0.0.4", self.metrics.text(&now))
    }
}

/// A body as it comes; none once there is no room for more of it.
async fn collected(mut body: Limited<Incoming>, arrival: &mut Arrival) -> Result<Option<Bytes>, BoxError> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        if !arrival.has_come(bytes.len().saturating_add(data.len())) {
            return Ok(None);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(Some(bytes.into()))
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A place, if one is free.
fn taken(places: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    Arc::clone(places).try_acquire_owned().ok()
}

fn too_many_requests() -> Response<Reply> {
    reply::too_many(
        "this principal has too many requests under way; its operator may raise `server.requests`",
    )
}

fn too_many_streams() -> Response<Reply> {
    reply::too_many("this principal has too many subscriptions; its operator may raise `server.sessions`")
}

fn no_session() -> Response<Reply> {
    let told = "there is no such session at this instance of the server: it ended, was idle for too long, or is another's; \
                begin with `initialize`";
    reply::refuse(StatusCode::NOT_FOUND, told)
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = one(headers, CONTENT_TYPE).and_then(|kind| kind.split(';').next()).unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

/// Whether `kind` is among what the client takes. One that does not say takes everything.
fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    if !headers.contains_key(ACCEPT) {
        return true;
    }
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut kinds =
        values.flat_map(|value| value.split(',')).map(|one| one.split(';').next().unwrap_or_default());
    let family = kind.split('/').next().unwrap_or_default();
    kinds.any(|one| {
        let one = one.trim();
        one.eq_ignore_ascii_case(kind) || one == "*/*" || one.strip_suffix("/*") == Some(family)
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    #[test]
    fn what_a_client_takes_is_read_from_its_header() {
        let accepting = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, value.parse().unwrap());
            (accepts(&headers, "application/json"), accepts(&headers, "text/event-stream"))
        };
        assert_eq!(accepting("application/json, text/event-stream"), (true, true));
        assert_eq!(accepting("Application/JSON;q=1,text/*"), (true, true));
        assert_eq!(accepting("*/*"), (true, true));
        assert_eq!(accepting("application/json"), (true, false));
        assert_eq!(accepting("text/html"), (false, false));
        assert!(accepts(&HeaderMap::new(), "text/event-stream"));
    }
}
