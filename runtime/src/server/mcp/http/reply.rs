//! Responses: their status and headers.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER,
    VARY, WWW_AUTHENTICATE,
};
use http::{HeaderValue, Response, StatusCode};
use hyper::body::Bytes;
use serde_json::{Value, json};

use super::body::{Events, Reply, written};
use crate::server::mcp::frame::{INVALID_REQUEST, METHOD_NOT_FOUND, Refusal};
use crate::server::mcp::id::Echo;
use crate::server::mcp::shared::SILENT;
use crate::server::mcp::writer::Outgoing;

/// The header that names a session.
pub(super) const SESSION: &str = "mcp-session-id";

/// Headers that a web page may send.
const SENT: &str = "authorization, content-type, accept, last-event-id, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name";

/// A response with nothing in it.
pub(super) fn empty(status: StatusCode) -> Response<Reply> {
    with(status, Reply::Whole(None))
}

/// A response with a text for people.
pub(super) fn text(status: StatusCode, kind: &'static str, text: String) -> Response<Reply> {
    let mut response = with(status, Reply::Whole(Some(text.into())));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// A message of the protocol.
pub(super) fn message(status: StatusCode, line: impl Into<Bytes>) -> Response<Reply> {
    let mut response = with(status, Reply::Whole(Some(line.into())));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A request that is refused before it was read, or with the id that it has.
pub(super) fn refused(status: StatusCode, refusal: Refusal, id: &Value) -> Response<Reply> {
    message(status, refusal.message(id).to_string().into_bytes())
}

/// A message that could not be read.
pub(super) fn unread(status: StatusCode, refusal: Refusal, echo: &Echo) -> Response<Reply> {
    message(status, refusal.unread(echo).into_bytes())
}

/// A request that the transport refuses.
pub(super) fn refuse(status: StatusCode, told: &str) -> Response<Reply> {
    refused(status, Refusal::new(INVALID_REQUEST, told), &Value::Null)
}

/// One who has not proved who it is.
pub(super) fn unknown() -> Response<Reply> {
    let told = "who asks? Send the header `Authorization: Bearer …` with a token of this server's";
    let mut response = refuse(StatusCode::UNAUTHORIZED, told);
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"toolcell\""));
    response
}

/// One who asks for too much at once.
pub(super) fn too_many(told: &str) -> Response<Reply> {
    let mut response = refuse(StatusCode::TOO_MANY_REQUESTS, told);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// What needs the store that instances share, while that cannot be reached.
pub(super) fn unshared() -> Response<Reply> {
    let mut response = refuse(StatusCode::SERVICE_UNAVAILABLE, SILENT);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// A method that the path does not have.
pub(super) fn not_allowed(allowed: &'static str) -> Response<Reply> {
    let mut response = empty(StatusCode::METHOD_NOT_ALLOWED);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

/// A stream of messages.
pub(super) fn events(events: Events) -> Response<Reply> {
    let mut response = with(StatusCode::OK, Reply::Events(Box::new(events)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    // A proxy that gathers events before it passes them on would hold back questions.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// The answer to a request in one piece. In the current era, errors of the protocol have statuses.
pub(super) fn answer(answer: Outgoing, is_current: bool) -> Response<Reply> {
    let status = match answer.code {
        Some(code) if is_current && code == i64::from(METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(-32700 | -32600 | -32602 | -32022..=-32020) if is_current => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    };
    message(status, written(answer.line, answer.space))
}

/// What a browser asks before a page may ask for more.
pub(super) fn preflight() -> Response<Reply> {
    let mut response = empty(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(SENT));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

/// Lets the page that asked read the response.
pub(super) fn readable(mut response: Response<Reply>, origin: Option<&str>) -> Response<Reply> {
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = origin.and_then(|origin| HeaderValue::from_str(origin).ok()) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(SESSION));
    }
    response
}

/// A request that comes while the server ends.
pub(super) fn ending() -> Response<Reply> {
    let mut response =
        refuse(StatusCode::SERVICE_UNAVAILABLE, "the server is ending; ask another, or this one later");
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// How the server is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Health {
    Well,
    /// It takes no more requests.
    Ending,
    /// The store that instances share does not answer.
    Unshared,
}

/// What probes are told.
pub(super) fn health(health: Health) -> Response<Reply> {
    let (status, told) = match health {
        Health::Well => (StatusCode::OK, "ok"),
        Health::Ending => (StatusCode::SERVICE_UNAVAILABLE, "ending"),
        Health::Unshared => (StatusCode::SERVICE_UNAVAILABLE, "the shared store cannot be reached"),
    };
    text(status, "application/json", json!({ "status": told }).to_string())
}

fn with(status: StatusCode, body: Reply) -> Response<Reply> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    // Answers are for whoever asked, and for now.
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
