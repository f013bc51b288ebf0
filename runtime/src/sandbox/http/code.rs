//! Errors of streams as guests read them. wasmtime's own function finds none, since streams carry the error of its
//! host's side.

use wasmtime_wasi_http::Error;
use wasmtime_wasi_http::p2::bindings::http::types::{DnsErrorPayload, ErrorCode};

/// The code of a stream's error, if it is one of HTTP.
pub(super) fn of(error: &wasmtime::Error) -> Option<ErrorCode> {
    let known = error.downcast_ref::<ErrorCode>().cloned();
    known.or_else(|| error.downcast_ref::<Error>().map(code))
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
