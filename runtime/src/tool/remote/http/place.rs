//! Where a server is, and what every request to it has.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HOST, USER_AGENT};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;

use crate::config::McpUrl;
use crate::net::{
    AddressClass, ConnectError, Connection, Connector, Network, Origin, Pool, Reach, Scheme, client_config,
};

/// How long a connection may take; whoever waits for it may give up earlier.
const CONNECTING: Duration = Duration::from_secs(10);

/// What a request has in it.
pub(super) type Body = Full<Bytes>;

/// The address of a server, with what is known of how to reach it.
pub(in crate::tool::remote) struct Place {
    connector: Connector,
    origin: Origin,
    reach: Reach,
    target: PathAndQuery,
    headers: HeaderMap,
    pool: Arc<Pool<Body>>,
    /// The address of its table in the configuration.
    component: String,
}

/// How a place is described.
pub(in crate::tool::remote) struct Described<'a> {
    pub component: &'a str,
    pub url: &'a McpUrl,
    pub reach: Reach,
    pub ca: Option<&'a std::path::Path>,
    /// Headers with their values, secrets among them.
    pub headers: Vec<(String, String)>,
}

/// A response whose body is not read yet, with the connection that brings it.
pub(super) struct Arrived {
    pub response: Response<Incoming>,
    pub connection: Connection<Body>,
}

impl Place {
    /// The place that is described, in `network`.
    ///
    /// # Errors
    /// The setting that is wrong, and why.
    pub fn of(described: Described<'_>, network: &Arc<Network>) -> Result<Self, (String, String)> {
        let Described { component, url, reach, ca, headers: given } = described;
        let origin = url.origin().clone();
        let of_url = |told: &str| ("url".to_owned(), told.to_owned());
        let target = url.target().parse().map_err(|_| of_url("is no address"))?;
        let host = HeaderValue::from_str(&origin.authority()).map_err(|_| of_url("is no address"))?;
        let tls = client_config(ca.filter(|_| origin.scheme == Scheme::Https));
        let tls = tls.map_err(|told| ("ca".to_owned(), told))?;
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("toolcell/", env!("CARGO_PKG_VERSION"))));
        for (name, value) in given {
            let of_header = |told: &str| (format!("headers.{name}"), told.to_owned());
            let header =
                HeaderName::from_bytes(name.as_bytes()).map_err(|_| of_header("is no name of a header"))?;
            let mut value =
                HeaderValue::from_str(&value).map_err(|_| of_header("its value cannot stand in a header"))?;
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        headers.insert(HOST, host);
        // Events come as they are said, and nothing has to be unpacked within bounds.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let connector = Connector::new(Arc::clone(network), Arc::default(), tls);
        let pool = Arc::new(Pool::new(network));
        Ok(Self { connector, origin, reach, target, headers, pool, component: component.to_owned() })
    }

    /// A request that brings a message.
    pub(super) fn post(&self, message: Vec<u8>) -> Request<Body> {
        let mut request = self.request(Method::POST, Full::from(message));
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request
    }

    /// A request for a stream of messages.
    pub(super) fn get(&self) -> Request<Body> {
        let mut request = self.request(Method::GET, Full::default());
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        request
    }

    /// A request that ends a session.
    pub(super) fn delete(&self) -> Request<Body> {
        self.request(Method::DELETE, Full::default())
    }

    fn request(&self, method: Method, body: Body) -> Request<Body> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = self.target.clone().into();
        *request.headers_mut() = self.headers.clone();
        request
    }

    /// Sends a request, and waits for the head of its response. No redirect is followed: credentials are for this place.
    ///
    /// # Errors
    /// Why there is no response, for its operator.
    pub(super) async fn send(&self, mut request: Request<Body>) -> Result<Arrived, String> {
        // A connection that its server closes meanwhile sends nothing; then the next one takes the request.
        while let Some(mut connection) = self.pool.take(&self.origin).await {
            match connection.send(request, None).await {
                Ok(response) => return Ok(Arrived { response, connection }),
                Err((_, Some(unsent))) => request = unsent,
                Err((error, None)) => return Err(broken(&error)),
            }
        }
        let connecting = tokio::time::timeout(CONNECTING, self.connect()).await;
        let mut connection = connecting.unwrap_or_else(|_| {
            Err(format!("{} does not answer within {} s", self.origin, CONNECTING.as_secs()))
        })?;
        match connection.send(request, None).await {
            Ok(response) => Ok(Arrived { response, connection }),
            Err((error, _)) => Err(broken(&error)),
        }
    }

    /// Keeps a connection whose response was read to its end.
    pub(super) fn keep(&self, connection: Connection<Body>) {
        self.pool.put(self.origin.clone(), connection);
    }

    async fn connect(&self) -> Result<Connection<Body>, String> {
        self.connector.open(&self.origin, self.reach).await.map_err(|error| match &error {
            ConnectError::Prohibited { class: AddressClass::Public, .. } if self.reach == Reach::Inside => {
                format!("{error}; secrets go to the Internet over `https://` alone")
            }
            ConnectError::Prohibited { class, .. } if Reach::Private.admits(*class) => {
                format!("{error}; if that is meant, set `{}.private = true`", self.component)
            }
            ConnectError::Broken(error) => broken(error),
            _ => error.to_string(),
        })
    }
}

/// What went wrong on a connection, in words that say nothing of what went over it.
pub(super) fn broken(error: &hyper::Error) -> String {
    let what = match error {
        error if error.is_parse_too_large() => "its headers are longer than they may be",
        error if error.is_parse() => "it does not speak HTTP/1.1",
        error if error.is_timeout() => "it took too long",
        _ => "the connection broke",
    };
    what.to_owned()
}
