//! One request and its response: the one place by which either crosses. Credentials are added and covered here, so that
//! nothing before it, a recording neither, meets them.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT_ENCODING, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use rustls::Error as TlsError;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

use super::access::Route;
use super::body::{Held, IncomingBody, OutgoingBody, too_much};
use super::meter::{Meter, Open};
use crate::net::{ConnectError, Connection, Origin};
use crate::output::{MaskingBytes, Redactor};
use crate::policy::HOST_HEADERS;

/// How long a connection may take where the guest says nothing; the call's own time bounds it too.
const CONNECT: Duration = Duration::from_secs(10);

/// A request that was judged: `request` is in origin form, with the guest's headers alone.
pub(super) struct Exchange {
    pub route: Arc<Route>,
    pub origin: Origin,
    pub request: http::Request<OutgoingBody>,
    pub options: RequestOptions,
    pub meter: Arc<Meter>,
    pub open: Open,
}

impl Exchange {
    /// Sends the request and waits for the head of its response. No redirect is followed: a guest that follows one asks
    /// anew, and is judged anew.
    pub async fn run(self) -> Result<http::Response<WasiBody>, Error> {
        let Self { route, origin, mut request, options, meter, open } = self;
        add_headers(request.headers_mut(), &route, &origin)?;
        meter.send(head_bytes(&request)).map_err(|total| Error::HttpRequestBodySize(Some(total)))?;
        let sending = send(&route, &origin, request, &options, &meter);
        let (response, connection) = match options.first_byte_timeout {
            None => sending.await?,
            Some(within) => {
                tokio::time::timeout(within, sending).await.map_err(|_| Error::HttpResponseTimeout)??
            }
        };
        let (mut head, body) = response.into_parts();
        // They are of the connection; a guest is told of none.
        for name in HOST_HEADERS.iter().filter(|name| **name != CONTENT_LENGTH) {
            head.headers.remove(*name);
        }
        if let Some(redactor) = &route.redactor {
            cover(&mut head.headers, redactor);
        }
        let masking = route.redactor.as_ref().map(|redactor| MaskingBytes::new(Arc::clone(redactor)));
        let held = Held { connection, pool: Arc::clone(&route.pool), origin };
        let body = IncomingBody::new(body, held, options.between_bytes_timeout, masking, open);
        Ok(http::Response::from_parts(head, body.boxed_unsync()))
    }
}

/// What the host says of a request: whom it is for, and the credentials that the grant has for it.
fn add_headers(headers: &mut HeaderMap, route: &Route, origin: &Origin) -> Result<(), Error> {
    let host = HeaderValue::from_str(&origin.authority()).map_err(|_| Error::HttpRequestUriInvalid)?;
    headers.insert(HOST, host);
    for (name, value) in &route.headers {
        headers.insert(name.clone(), value.clone());
    }
    if route.redactor.is_some() {
        // In a compressed echo nothing could be found.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    Ok(())
}

async fn send(
    route: &Route,
    origin: &Origin,
    mut request: http::Request<OutgoingBody>,
    options: &RequestOptions,
    meter: &Arc<Meter>,
) -> Result<(http::Response<Incoming>, Connection<OutgoingBody>), Error> {
    // A connection that its server closes meanwhile sends nothing; then the next one takes the request. Where it may have
    // been sent, a new connection takes what may be sent twice.
    while let Some(mut connection) = route.pool.take(origin).await {
        let twice = repeatable(&request, meter);
        match (connection.send(request, Some(meter.receiving())).await, twice) {
            (Ok(response), _) => return Ok((response, connection)),
            (Err((_, Some(unsent))), _) => request = unsent,
            (Err((_, None)), Some(twice)) if connection.is_unanswered() => {
                request = twice;
                break;
            }
            (Err((error, None)), _) => return Err(send_error(&connection, &error)),
        }
    }
    let within = options.connect_timeout.map_or(CONNECT, |asked| asked.min(CONNECT));
    let asked = format!("{} {origin}{}", request.method(), request.uri().path());
    let connecting = connect(route, origin, asked, meter);
    let mut connection =
        tokio::time::timeout(within, connecting).await.map_err(|_| Error::ConnectionTimeout)??;
    match connection.send(request, Some(meter.receiving())).await {
        Ok(response) => Ok((response, connection)),
        Err((error, _)) => Err(send_error(&connection, &error)),
    }
}

/// The same request once more, if a server may get it twice and there is no body of which a part may be gone.
fn repeatable(
    request: &http::Request<OutgoingBody>,
    meter: &Arc<Meter>,
) -> Option<http::Request<OutgoingBody>> {
    if !request.method().is_idempotent() || !request.body().is_end_stream() {
        return None;
    }
    let mut twice = http::Request::new(OutgoingBody::empty(Arc::clone(meter)));
    *twice.method_mut() = request.method().clone();
    *twice.uri_mut() = request.uri().clone();
    *twice.headers_mut() = request.headers().clone();
    Some(twice)
}

async fn connect(
    route: &Route,
    origin: &Origin,
    asked: String,
    meter: &Meter,
) -> Result<Connection<OutgoingBody>, Error> {
    let connector = route.connector().map_err(|told| Error::InternalError(Some(told)))?;
    connector.open(origin, route.reach()).await.map_err(|error| {
        match &error {
            ConnectError::Prohibited { address, class, .. } => {
                let target = format!("{asked}: {class} address {address}");
                meter.deny("connect", target, route.reaching(*class));
            }
            ConnectError::Busy => meter.deny("connect", asked, format!("none: {error}")),
            _ => {}
        }
        connect_error(error)
    })
}

fn connect_error(error: ConnectError) -> Error {
    match error {
        ConnectError::Unknown { reason, .. } => Error::DnsError { rcode: Some(reason), info_code: None },
        ConnectError::Busy => Error::ConnectionLimitReached,
        ConnectError::Prohibited { .. } => Error::DestinationIpProhibited,
        ConnectError::Unreachable { source, .. } => match source.kind() {
            std::io::ErrorKind::ConnectionRefused => Error::ConnectionRefused,
            std::io::ErrorKind::TimedOut => Error::ConnectionTimeout,
            _ => Error::DestinationUnavailable,
        },
        ConnectError::Broken(error) => sending_error(&error),
        ConnectError::NoThread(_) => Error::InternalError(Some(error.to_string())),
        ConnectError::Tls { source, .. } => {
            let tls = source.get_ref().and_then(|inner| inner.downcast_ref::<TlsError>());
            match tls {
                Some(TlsError::InvalidCertificate(_)) => Error::TlsCertificateError,
                _ => Error::TlsProtocolError,
            }
        }
    }
}

fn send_error(connection: &Connection<OutgoingBody>, error: &hyper::Error) -> Error {
    connection.exceeded().map_or_else(|| sending_error(error), too_much)
}

fn sending_error(error: &hyper::Error) -> Error {
    if let Some(of_body) = error.source().and_then(|source| source.downcast_ref::<Error>()) {
        return match of_body {
            Error::HttpRequestBodySize(bytes) => Error::HttpRequestBodySize(*bytes),
            Error::InternalError(told) => Error::InternalError(told.clone()),
            _ => Error::HttpProtocolError,
        };
    }
    if error.is_parse_too_large() {
        Error::HttpResponseHeaderSectionSize(None)
    } else if error.is_incomplete_message() {
        Error::HttpResponseIncomplete
    } else if error.is_closed() || error.is_canceled() {
        Error::ConnectionTerminated
    } else if error.is_parse() {
        Error::HttpProtocolError
    } else if error.source().is_some_and(|source| source.is::<std::io::Error>()) {
        Error::ConnectionTerminated
    } else {
        Error::HttpProtocolError
    }
}

/// Headers that echo a credential do it covered; one whose name does is left out.
fn cover(headers: &mut HeaderMap, redactor: &Redactor) {
    let told: Vec<HeaderName> =
        headers.keys().filter(|name| redactor.is_in(name.as_str())).cloned().collect();
    for name in told {
        headers.remove(name);
    }
    for value in headers.values_mut() {
        let text = String::from_utf8_lossy(value.as_bytes());
        let whole = redactor.without_halves(&text);
        if whole.len() < text.len() || redactor.is_in(&text) {
            *value = HeaderValue::from_str(&redactor.text(whole))
                .unwrap_or_else(|_| HeaderValue::from_static("[redacted]"));
        }
    }
}

fn head_bytes<B>(request: &http::Request<B>) -> usize {
    let line = request.method().as_str().len()
        + request.uri().path_and_query().map_or(1, |path| path.as_str().len());
    line.saturating_add(headers_bytes(request.headers()))
}

fn headers_bytes(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).fold(0, usize::saturating_add)
}
