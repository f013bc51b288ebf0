//! Requests to a registry, and to where it sends them: bounded in time, in bytes, and in how far they go.

use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, USER_AGENT,
};
use http::uri::PathAndQuery;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};

use super::failure::Failure;
use crate::config::McpUrl;
use crate::net::{ConnectError, Connection, Connector, Origin, OriginPattern, Reach, Scheme};

/// How long a connection and the head of a response may take together.
const HEAD_WITHIN: Duration = Duration::from_secs(30);

/// How long nothing may come of a body.
const STALLED: Duration = Duration::from_secs(30);

/// What is read of a body that only says why there is none.
const MAX_REFUSAL: u64 = 16 << 10;

/// Where something is to be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub origin: Origin,
    /// Path and query.
    pub target: String,
}

/// A request, apart from where it goes.
#[derive(Default)]
pub(super) struct Asking {
    pub accept: &'static str,
    pub authorization: Option<HeaderValue>,
    /// A form to be posted.
    pub form: Option<String>,
}

/// The head of a response, with what brings the rest.
pub(super) struct Arrived {
    response: Response<Incoming>,
    _connection: Connection<Full<Bytes>>,
}

/// Reaches one registry.
pub(super) struct Transport {
    connector: Connector,
    /// The registry.
    origin: Origin,
    /// Whether the registry turned out to be in a network that is not public: then so may be what it names.
    is_inside: bool,
}

impl Transport {
    pub fn new(connector: Connector, origin: Origin) -> Self {
        let is_inside = origin.scheme == Scheme::Http;
        Self { connector, origin, is_inside }
    }

    /// The registry.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The place that a registry names: an address, or a path of `here`. Nothing leads from TLS to where there is none.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn place(&self, named: &str, here: Option<&Place>) -> Result<Place, Failure> {
        let absolute = match here {
            Some(here) if named.starts_with('/') && !named.starts_with("//") => {
                format!("{}{named}", here.origin)
            }
            _ => named.to_owned(),
        };
        let wrong = |_| Failure::lasting("the registry sends requests to what is no address");
        let url = McpUrl::parse(&absolute).map_err(wrong)?;
        let place = Place { origin: url.origin().clone(), target: url.target().to_owned() };
        match place.origin.scheme == Scheme::Http && self.origin.scheme == Scheme::Https {
            true => Err(Failure::lasting(format!(
                "the registry sends requests to {}, which is without TLS",
                place.origin
            ))),
            false => Ok(place),
        }
    }

    /// Asks, and waits for the head of the response.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn ask(&mut self, place: &Place, asking: Asking) -> Result<Arrived, Failure> {
        let request =
            request(place, asking).ok_or_else(|| Failure::lasting("the registry has no such address"))?;
        let late = |_| {
            let time = humantime::format_duration(HEAD_WITHIN);
            Err(Failure::passing(format!("{} does not answer within {time}; try again later", place.origin)))
        };
        tokio::time::timeout(HEAD_WITHIN, self.answer(place, request)).await.unwrap_or_else(late)
    }

    async fn answer(&mut self, place: &Place, request: Request<Full<Bytes>>) -> Result<Arrived, Failure> {
        let mut connection = self.open(&place.origin).await.map_err(|error| unconnected(&error))?;
        match connection.send(request, None).await {
            Ok(response) => Ok(Arrived { response, _connection: connection }),
            Err((error, _)) => Err(broken(&place.origin, &error)),
        }
    }

    /// A connection, to public addresses first. What its operator named may be in a private network as well; what a public
    /// registry names may not.
    async fn open(&mut self, origin: &Origin) -> Result<Connection<Full<Bytes>>, ConnectError> {
        if origin.scheme == Scheme::Http {
            return self.connector.open(origin, Reach::Inside).await;
        }
        let opened = self.connector.open(origin, Reach::Public).await;
        let Err(ConnectError::Prohibited { class, .. }) = &opened else { return opened };
        let is_registry = *origin == self.origin;
        let widest = OriginPattern::from(origin.clone()).reach_if(true);
        if !widest.admits(*class) || !(is_registry || self.is_inside) {
            return opened;
        }
        let opened = self.connector.open(origin, widest).await;
        self.is_inside |= is_registry && opened.is_ok();
        opened
    }
}

impl Arrived {
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The text of a header, if it is one.
    pub fn header(&self, name: impl http::header::AsHeaderName) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// The body, of at most so many bytes.
    ///
    /// # Errors
    /// When it is longer, breaks or stops.
    pub async fn body(mut self, most: u64) -> Result<Vec<u8>, Failure> {
        let too_much =
            || Failure::lasting(format!("the registry sends more than the {most} bytes that this may have"));
        let body = self.response.body_mut();
        if body.size_hint().lower() > most {
            return Err(too_much());
        }
        let mut read: Vec<u8> = Vec::new();
        loop {
            let frame = tokio::time::timeout(STALLED, body.frame()).await.map_err(|_| {
                let time = humantime::format_duration(STALLED);
                Failure::passing(format!("nothing came of the registry's answer for {time}; try again later"))
            })?;
            let Some(frame) = frame else { return Ok(read) };
            let frame = frame.map_err(|_| Failure::passing("the registry's answer broke off; try again"))?;
            let Ok(data) = frame.into_data() else { continue };
            let length = read.len().saturating_add(data.len());
            if u64::try_from(length).is_ok_and(|length| length > most) {
                return Err(too_much());
            }
            read.extend_from_slice(&data);
        }
    }

    /// What is said beside a status that is no success.
    pub async fn refusal(self) -> Vec<u8> {
        self.body(MAX_REFUSAL).await.unwrap_or_default()
    }
}

fn request(place: &Place, asking: Asking) -> Option<Request<Full<Bytes>>> {
    let mut request = Request::new(Full::default());
    *request.uri_mut() = place.target.parse::<PathAndQuery>().ok()?.into();
    let headers = request.headers_mut();
    headers.insert(HOST, HeaderValue::from_str(&place.origin.authority()).ok()?);
    headers.insert(USER_AGENT, HeaderValue::from_static(concat!("toolcell/", env!("CARGO_PKG_VERSION"))));
    // What comes is what its digest is of.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if !asking.accept.is_empty() {
        headers.insert(ACCEPT, HeaderValue::from_static(asking.accept));
    }
    headers.extend(asking.authorization.map(|value| (AUTHORIZATION, value)));
    if let Some(form) = asking.form {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        *request.method_mut() = Method::POST;
        *request.body_mut() = Full::from(form);
    }
    Some(request)
}

fn unconnected(error: &ConnectError) -> Failure {
    match error {
        ConnectError::Prohibited { class: crate::net::AddressClass::Public, .. } => {
            Failure::lasting(format!("{error}; without TLS registries are asked in private networks alone"))
        }
        ConnectError::Prohibited { .. } => Failure::lasting(error.to_string()),
        ConnectError::Tls { .. } => Failure::lasting(format!(
            "{error}; `--ca FILE` names the authority of a private registry, and `--plain-http` asks one that has no TLS"
        )),
        _ => Failure::passing(format!("{error}; is the registry there?")),
    }
}

fn broken(origin: &Origin, error: &hyper::Error) -> Failure {
    match error.is_parse() {
        true => Failure::lasting(format!("{origin} does not speak HTTP/1.1 as a registry does")),
        false => Failure::passing(format!("the connection to {origin} broke; try again")),
    }
}
