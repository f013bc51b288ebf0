//! A guest's request, judged before anything leaves the host.

use std::sync::Arc;

use http::header::{CONTENT_LENGTH, HeaderMap, HeaderValue};
use http::uri::PathAndQuery;
use wasmtime::Result;
use wasmtime::component::{Linker, Resource, ResourceTable};
use wasmtime_wasi_http::p2::bindings::http::types::{ErrorCode, RequestOptions, Scheme as WasiScheme};
use wasmtime_wasi_http::p2::types::{HostFutureIncomingResponse, HostOutgoingRequest};
use wasmtime_wasi_http::p2::{HttpError, HttpResult};

use super::access::Route;
use super::body::OutgoingBody;
use super::exchange::Exchange;
use super::meter::Meter;
use super::{HttpState, taped};
use crate::net::{Origin, Scheme};
use crate::sandbox::state::CellState;

/// Headers of a request; servers take about a hundred.
const MAX_HEADERS: usize = 128;

/// Bytes of path and query; servers take 8 KiB or a little more.
const MAX_PATH: usize = 32 << 10;

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
        let open = meter.place().ok_or(ErrorCode::ConnectionLimitReached)?;
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
        let setting = match *method {
            // Both turn a connection into something that no check sees.
            http::Method::CONNECT | http::Method::TRACE => format!("none: {method} is never sent"),
            _ => match self.http.access.route(origin, method.as_str(), path.path()) {
                Ok(route) => return Ok(Arc::clone(route)),
                Err(setting) => setting,
            },
        };
        // Without the query, in which there may be what is no operator's business.
        meter.deny("request", format!("{method} {origin}{}", path.path()), setting);
        Err(ErrorCode::HttpRequestDenied.into())
    }
}

/// What a guest may say in headers: not too much, not the host's, and nothing where a credential goes. Returns the length
/// that it announces.
fn check_headers(
    headers: &mut HeaderMap,
    route: &Route,
    has_body: bool,
    meter: &Meter,
) -> HttpResult<Option<u64>> {
    if headers.len() > MAX_HEADERS {
        return Err(ErrorCode::HttpRequestHeaderSectionSize(None).into());
    }
    if let Some((name, _)) = route.headers.iter().find(|(name, _)| headers.contains_key(name)) {
        meter.deny("header", name.as_str(), route.key("headers"));
        return Err(ErrorCode::HttpRequestDenied.into());
    }
    if let Some(name) = headers.keys().find(|name| super::is_hosts(name)) {
        meter.deny("header", name.as_str(), "none: the host sets it");
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
