//! Errors of streams as guests read them. wasmtime's own function finds none, since streams carry the error of its
//! host's side.

use wasmtime::Result;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi_http::Error;
use wasmtime_wasi_http::p2::bindings::http::types::{DnsErrorPayload, ErrorCode, IoError};

use crate::sandbox::state::CellState;

/// The interface under the version that wasmtime serves it by; the linker takes every other 0.2.x for it.
const TYPES: &str = "wasi:http/types@0.2.12";

pub(super) fn add_to_linker(linker: &mut Linker<CellState>) -> Result<()> {
    linker.allow_shadowing(true);
    let defined = linker.instance(TYPES)?.func_wrap(
        "http-error-code",
        |store, (error,): (Resource<IoError>,)| -> Result<(Option<ErrorCode>,)> {
            let error = store.data().table.get(&error)?;
            let known = error.downcast_ref::<ErrorCode>().cloned();
            Ok((known.or_else(|| error.downcast_ref::<Error>().map(code)),))
        },
    );
    linker.allow_shadowing(false);
    defined
}

/// The code of what bodies here fail with.
fn code(error: &Error) -> ErrorCode {
    match error {
        Error::HttpRequestBodySize(bytes) => ErrorCode::HttpRequestBodySize(*bytes),
        Error::HttpResponseBodySize(bytes) => ErrorCode::HttpResponseBodySize(*bytes),
        Error::HttpResponseTrailerSectionSize(bytes) => ErrorCode::HttpResponseTrailerSectionSize(*bytes),
        Error::HttpResponseIncomplete => ErrorCode::HttpResponseIncomplete,
        Error::HttpResponseTimeout => ErrorCode::HttpResponseTimeout,
        Error::ConnectionReadTimeout => ErrorCode::ConnectionReadTimeout,
        Error::ConnectionTerminated => ErrorCode::ConnectionTerminated,
        Error::DnsError { rcode, info_code } => {
            ErrorCode::DnsError(DnsErrorPayload { rcode: rcode.clone(), info_code: *info_code })
        }
        _ => ErrorCode::HttpProtocolError,
    }
}
