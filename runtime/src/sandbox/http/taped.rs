//! Requests while a call is recorded or replayed. What is asked has the guest's headers alone, and what is answered is
//! what the guest is told: credentials are added behind this, and covered before it. Bodies pass as streams do. A replay
//! sends nothing: its handles stand for nothing, and what they say is in the recording.

use http::header::{HeaderMap, HeaderValue};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use wasmtime::Result;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi_http::FieldMap;
use wasmtime_wasi_http::WasiHttpView as _;
use wasmtime_wasi_http::p2::HttpResult;
use wasmtime_wasi_http::p2::bindings::http::types::{self, ErrorCode, IoError, RequestOptions};
use wasmtime_wasi_http::p2::body::{HostFutureTrailers, HostIncomingBody, HostOutgoingBody};
use wasmtime_wasi_http::p2::types::{HostFutureIncomingResponse, HostIncomingResponse, HostOutgoingRequest};

use super::code;
use super::handler::Outgoing;
use crate::recording::Tape;
use crate::sandbox::state::CellState;
use crate::sandbox::tape::taped;

/// The interface under the version that wasmtime serves it by; the linker takes every other 0.2.x for it.
const TYPES: &str = "wasi:http/types@0.2.12";

/// What a guest is told: something, or the code of an error.
type Told<T> = std::result::Result<T, ErrorCode>;

/// The same of what it may take once.
type Once<T> = Option<std::result::Result<Told<T>, ()>>;

/// Puts functions that know the tape in the place of wasmtime's.
pub(super) fn add_to_linker(linker: &mut Linker<CellState>) -> Result<()> {
    linker.allow_shadowing(true);
    let defined = shadow(linker);
    linker.allow_shadowing(false);
    defined
}

fn shadow(linker: &mut Linker<CellState>) -> Result<()> {
    let mut types = linker.instance(TYPES)?;
    types.func_wrap("http-error-code", |mut store, (error,): (Resource<IoError>,)| {
        error_code(store.data_mut(), &error).map(|code| (code,))
    })?;
    type Future = Resource<HostFutureIncomingResponse>;
    types.func_wrap("[method]future-incoming-response.get", |mut store, (future,): (Future,)| {
        response(store.data_mut(), &future).map(|response| (response,))
    })?;
    type Trailers = Resource<HostFutureTrailers>;
    types.func_wrap("[method]future-trailers.get", |mut store, (future,): (Trailers,)| {
        trailers(store.data_mut(), &future).map(|trailers| (trailers,))
    })?;
    type Finish = (Resource<HostOutgoingBody>, Option<Resource<FieldMap>>);
    types.func_wrap("[static]outgoing-body.finish", |mut store, (body, trailers): Finish| {
        finish(store.data_mut(), &body, trailers).map(|told| (told,))
    })
}

fn same<T: 'static>(handle: &Resource<T>) -> Resource<T> {
    Resource::new_borrow(handle.rep())
}

fn own<T: 'static>(handle: &Resource<T>) -> Resource<T> {
    Resource::new_own(handle.rep())
}

/// What the guest is told of a result that may also end the call.
fn told<T>(result: HttpResult<T>) -> Result<Told<T>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(error) => error.downcast().map(Err),
    }
}

/// A request of the guest.
pub(super) fn handle(
    state: &mut CellState,
    request: &Resource<HostOutgoingRequest>,
    options: Option<Resource<RequestOptions>>,
) -> Result<Told<Resource<HostFutureIncomingResponse>>> {
    let tape = state.tape.clone();
    let options = options.as_ref();
    let mut live = None;
    let asked = match &tape {
        None => String::new(),
        Some(tape) => asked(state, tape, request, options)?,
    };
    let mut outgoing = Outgoing { http: &mut state.http, table: &mut state.table };
    let answer: Result<Told<()>> = taped!(
        tape.clone(),
        asked,
        told(outgoing.handle(own(request), options.map(own)).map(|future| live = Some(future)))
    );
    if tape.as_ref().is_some_and(Tape::is_replay) {
        options.map(|options| state.table.delete(own(options))).transpose()?;
        state.table.delete(own(request))?;
    }
    if let Err(code) = answer? {
        return Ok(Err(code));
    }
    Ok(Ok(match live {
        Some(future) => future,
        None => state.table.push(HostFutureIncomingResponse::Consumed)?,
    }))
}

/// A request in words: whatever the guest said of it, and nothing else.
fn asked(
    state: &CellState,
    tape: &Tape,
    request: &Resource<HostOutgoingRequest>,
    options: Option<&Resource<RequestOptions>>,
) -> Result<String> {
    let HostOutgoingRequest { method, scheme, authority, path_with_query, headers, body } =
        state.table.get(request)?;
    let target = (scheme, authority.as_deref(), path_with_query.as_deref());
    let headers: Value =
        headers.iter().map(|(name, value)| json!([name.as_str(), spelled(tape, value)])).collect();
    let times = options
        .map(|options| state.table.get(options))
        .transpose()?
        .map(|options| [options.connect_timeout, options.first_byte_timeout, options.between_bytes_timeout]);
    let body = if body.is_some() { "a body" } else { "no body" };
    Ok(format!("request {} {method:?} {target:?} {headers} with {body} {times:?}", request.rep()))
}

/// A header's value; of one that is no text, which one.
fn spelled(tape: &Tape, value: &HeaderValue) -> String {
    let text = std::str::from_utf8(value.as_bytes());
    text.map_or_else(|_| tape.digest(value.as_bytes()).to_string(), str::to_owned)
}

/// The response that came, or why none did.
fn response(
    state: &mut CellState,
    future: &Resource<HostFutureIncomingResponse>,
) -> Result<Once<Resource<HostIncomingResponse>>> {
    let tape = state.tape.clone();
    if tape.is_none() {
        return types::HostFutureIncomingResponse::get(&mut state.http(), same(future));
    }
    let mut live = None;
    let answer: Result<Once<(u16, HeaderMap)>> = taped!(tape, format!("response {}", future.rep()), {
        let got: Result<Once<_>> = types::HostFutureIncomingResponse::get(&mut state.http(), same(future));
        got.and_then(|got| {
            handed(got, |response: Resource<HostIncomingResponse>| {
                let HostIncomingResponse { status, headers, .. } = state.table.get(&response)?;
                let head = (*status, HeaderMap::clone(headers));
                live = Some(response);
                Ok(head)
            })
        })
    });
    handed(answer?, |(status, headers)| match live.take() {
        Some(response) => Ok(response),
        None => replayed_response(state, status, headers),
    })
}

/// What a guest may take once, as `turn` makes something else of it.
fn handed<T, U>(once: Once<T>, turn: impl FnOnce(T) -> Result<U>) -> Result<Once<U>> {
    Ok(match once {
        None => None,
        Some(Err(())) => Some(Err(())),
        Some(Ok(Err(code))) => Some(Ok(Err(code))),
        Some(Ok(Ok(value))) => Some(Ok(Ok(turn(value)?))),
    })
}

/// A response whose body is read from the recording.
fn replayed_response(
    state: &mut CellState,
    status: u16,
    headers: HeaderMap,
) -> Result<Resource<HostIncomingResponse>> {
    let nothing = http_body_util::Empty::<bytes::Bytes>::new().map_err(|never| match never {});
    let view = state.http();
    let response = HostIncomingResponse {
        status,
        headers: FieldMap::new_immutable(view.hooks, headers),
        body: Some(HostIncomingBody::new(nothing.boxed_unsync())),
    };
    Ok(view.table.push(response)?)
}

/// The trailers of a response. The host passes none on, but when it knows that there are none depends on the server.
fn trailers(
    state: &mut CellState,
    future: &Resource<HostFutureTrailers>,
) -> Result<Once<Option<Resource<FieldMap>>>> {
    let tape = state.tape.clone();
    if tape.is_none() {
        return types::HostFutureTrailers::get(&mut state.http(), same(future));
    }
    let mut live = None;
    let answer: Result<Once<Option<HeaderMap>>> = taped!(tape, format!("trailers {}", future.rep()), {
        let got: Result<Once<_>> = types::HostFutureTrailers::get(&mut state.http(), same(future));
        got.and_then(|got| {
            handed(got, |trailers: Option<Resource<FieldMap>>| {
                let Some(trailers) = trailers else { return Ok(None) };
                let headers = HeaderMap::clone(state.table.get(&trailers)?);
                live = Some(trailers);
                Ok(Some(headers))
            })
        })
    });
    handed(answer?, |headers| {
        let Some(headers) = headers else { return Ok(None) };
        if let Some(trailers) = live.take() {
            return Ok(Some(trailers));
        }
        let view = state.http();
        Ok(Some(view.table.push(FieldMap::new_immutable(view.hooks, headers))?))
    })
}

/// The end of a request's body: whether it had the length that was announced.
fn finish(
    state: &mut CellState,
    body: &Resource<HostOutgoingBody>,
    trailers: Option<Resource<FieldMap>>,
) -> Result<Told<()>> {
    let tape = state.tape.clone();
    let trailers = trailers.as_ref();
    let answer: Result<Told<()>> = taped!(
        tape.clone(),
        format!("finish {} {}", body.rep(), trailers.is_some()),
        told(types::HostOutgoingBody::finish(&mut state.http(), own(body), trailers.map(own)))
    );
    let answer = answer?;
    if tape.as_ref().is_some_and(Tape::is_replay) {
        // Nothing was written to it, so that it would be too short.
        state.table.delete(own(body))?.abort();
        trailers.map(|trailers| state.table.delete(own(trailers))).transpose()?;
    }
    Ok(answer)
}

/// What an error of a stream means, if it is one of HTTP.
fn error_code(state: &mut CellState, error: &Resource<IoError>) -> Result<Option<ErrorCode>> {
    taped!(
        state.tape.clone(),
        format!("http-error-code {}", error.rep()),
        state.table.get(error).map(code::of).map_err(Into::into)
    )
}
