//! A guest's request, judged before anything leaves the host.

use std::sync::Arc;

use http::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};
use http::uri::PathAndQuery;
use wasmtime::Result;
use wasmtime::component::{Linker, Resource, ResourceTable};
use wasmtime_wasi_http::p2::bindings::http::types::{ErrorCode, RequestOptions, Scheme as WasiScheme};
use wasmtime_wasi_http::p2::types::{HostFutureIncomingResponse, HostOutgoingRequest};
use wasmtime_wasi_http::p2::{HttpError, HttpResult};

use super::access::Route;
use super::body::OutgoingBody;
use super::exchange::Exchange;
use super::meter::{Full, Meter};
use super::{HOSTS, HttpState, taped};
use crate::net::{Origin, Scheme};
use crate::policy::{hyphened, is_never_sent, leads_elsewhere};
use crate::sandbox::state::CellState;

/// Headers of a request; servers take about a hundred.
const MAX_HEADERS: usize = 128;

/// Bytes of path and query; servers take 8 KiB or a little more.
const MAX_PATH: usize = 32 << 10;

/// Headers that ask for a part of a response. In parts nobody can find what was halved between them.
const PARTS: [&str; 3] = ["range", "if-range", "request-range"];

/// The interface under the version that wasmtime serves its types by; the linker takes every other 0.2.x for it.
const HANDLER: &str = "wasi:http/outgoing-handler@0.2.12";

/// Not by wasmtime's own: its trait is one with those of all types.
pub(super) fn add_to_linker(linker: &mut Linker<CellState>) -> Result<()> {
    type Arguments = (Resource<HostOutgoingRequest>, Option<Resource<RequestOptions>>);
    linker.instance(HANDLER)?.func_wrap("handle", |mut store, (request, options): Arguments| {
        taped::handle(store.data_mut(), &request, options).map(|handled| (handled,))
    })
}

/// The side of the store that requests need.
pub(super) struct Outgoing<'a> {
    pub http: &'a mut HttpState,
    pub table: &'a mut ResourceTable,
}

/// A request as the guest means it.
struct Asked {
    method: http::Method,
    origin: Origin,
    path: PathAndQuery,
}

impl Outgoing<'_> {
    /// Judges a request, and begins what is allowed.
    pub fn handle(
        &mut self,
        request: Resource<HostOutgoingRequest>,
        options: Option<Resource<RequestOptions>>,
    ) -> HttpResult<Resource<HostFutureIncomingResponse>> {
        let options = match options {
            Some(options) => self.table.delete(options)?,
            None => RequestOptions::default(),
        };
        let request = self.table.delete(request)?;
        let meter = self.http.meter();
        let asked = self.asked(&request, &meter)?;
        let route = self.route(&asked, &meter)?;
        let mut headers = HeaderMap::from(request.headers);
        let length = check_headers(&mut headers, &route, request.body.is_some(), &meter)?;
        let open = meter.place(&route.network).map_err(|full| {
            if matches!(full, Full::Runtime) {
                let target = format!("{} {}{}", asked.method, asked.origin, asked.path.path());
                meter.deny(
                    "request",
                    target,
                    "none: as many requests are under way as all calls may have; try again",
                );
            }
            ErrorCode::ConnectionLimitReached
        })?;
        meter.begin().map_err(HttpError::trap)?;
        let body = match request.body {
            Some(body) => OutgoingBody::new(body, length, Arc::clone(&meter)),
            None => OutgoingBody::empty(Arc::clone(&meter)),
        };
        let mut sent = http::Request::new(body);
        *sent.method_mut() = asked.method;
        *sent.uri_mut() = http::Uri::from(asked.path);
        *sent.headers_mut() = headers;
        let exchange = Exchange { route, origin: asked.origin, request: sent, options, meter, open };
        let running = wasmtime_wasi::runtime::spawn(async move {
            let response = exchange.run().await?;
            // The connection is driven elsewhere; wasmtime wants something to keep beside the body.
            Ok((response, wasmtime_wasi::runtime::spawn(std::future::ready(()))))
        });
        Ok(self.table.push(HostFutureIncomingResponse::Pending(running))?)
    }

    /// The request in one spelling.
    fn asked(&self, request: &HostOutgoingRequest, meter: &Meter) -> HttpResult<Asked> {
        let method: http::Method =
            request.method.clone().try_into().map_err(|_| ErrorCode::HttpRequestMethodInvalid)?;
        let authority = request.authority.as_deref().unwrap_or_default();
        let scheme = match &request.scheme {
            None | Some(WasiScheme::Https) => Some(Scheme::Https),
            Some(WasiScheme::Http) => Some(Scheme::Http),
            Some(WasiScheme::Other(name)) => Scheme::from_name(name),
        };
        let origin = scheme.ok_or_else(String::new).and_then(|scheme| Origin::of(scheme, authority));
        let Ok(origin) = origin else {
            meter.deny("request", format!("{method} {authority}"), self.http.access.setting());
            return Err(ErrorCode::HttpRequestDenied.into());
        };
        let path = request.path_with_query.as_deref().unwrap_or("/");
        if path.len() > MAX_PATH {
            return Err(ErrorCode::HttpRequestUriTooLong.into());
        }
        let path = match path {
            "" => "/".to_owned(),
            query if query.starts_with('?') => format!("/{query}"),
            // Anything else would be another form of target, which names a host of its own.
            path if path.starts_with('/') => path.to_owned(),
            _ => return Err(ErrorCode::HttpRequestUriInvalid.into()),
        };
        let path = PathAndQuery::try_from(path).map_err(|_| ErrorCode::HttpRequestUriInvalid)?;
        Ok(Asked { method, origin, path })
    }

    fn route(&self, asked: &Asked, meter: &Meter) -> HttpResult<Arc<Route>> {
        let Asked { method, origin, path } = asked;
        let setting = match is_never_sent(method.as_str()) {
            true => format!("none: {} is never sent", method.as_str().to_ascii_uppercase()),
            false => match self.http.access.route(origin, method.as_str(), path.path()) {
                Ok(route) => return Ok(Arc::clone(route)),
                Err(setting) => setting,
            },
        };
        // Without the query, in which there may be what is no operator's business.
        meter.deny("request", format!("{method} {origin}{}", path.path()), setting);
        Err(ErrorCode::HttpRequestDenied.into())
    }
}

/// Why a guest may not say this header, as the setting that would let it.
fn refusal(name: &HeaderName, route: &Route) -> Option<String> {
    let hyphens = hyphened(name.as_str());
    if route.headers.iter().any(|(other, _)| hyphened(other.as_str()) == hyphens) {
        return Some(route.key("headers"));
    }
    if super::is_hosts(name) {
        return Some(HOSTS.to_owned());
    }
    if route.redactor.is_some() && PARTS.contains(&&*hyphens) {
        return Some("none: parts of a response could have parts of a credential in them".to_owned());
    }
    if route.grant.restricts() && leads_elsewhere(name.as_str()) {
        let key = if route.grant.paths.is_empty() { "methods" } else { "paths" };
        return Some(format!("{}: this header may ask for what it leaves out", route.key(key)));
    }
    None
}

/// What a guest may say in headers: not too much, not the host's, nothing where a credential goes or by which it could get
/// one, and nothing that turns the request into another. Returns the length that it announces.
fn check_headers(
    headers: &mut HeaderMap,
    route: &Route,
    has_body: bool,
    meter: &Meter,
) -> HttpResult<Option<u64>> {
    if headers.len() > MAX_HEADERS {
        return Err(ErrorCode::HttpRequestHeaderSectionSize(None).into());
    }
    let mut refused = headers.keys().filter_map(|name| Some((name, refusal(name, route)?)));
    if let Some((name, setting)) = refused.next() {
        meter.deny("header", name.as_str(), setting);
        return Err(ErrorCode::HttpRequestDenied.into());
    }
    // Written anew: digits once, or nothing.
    let lengths: Vec<u64> = headers.get_all(CONTENT_LENGTH).iter().map_while(length).collect();
    let given = headers.get_all(CONTENT_LENGTH).iter().count();
    headers.remove(CONTENT_LENGTH);
    match (given, lengths.as_slice()) {
        (0, _) => Ok(None),
        (1, [0]) if !has_body => Ok(None),
        (1, [length]) if has_body => {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(*length));
            Ok(Some(*length))
        }
        _ => Err(ErrorCode::HttpRequestBodySize(None).into()),
    }
}

fn length(value: &HeaderValue) -> Option<u64> {
    let text = value.to_str().ok()?;
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}
