//! One exchange through `wasi:http`.

use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingResponse, Method, OutgoingBody, OutgoingRequest, Scheme, http_error_code,
};
use wasip2::io::streams::StreamError;

use super::{Request, Response, Url, named};

/// What is read or written at once.
const PIECE: usize = 16 << 10;

/// Sends a request and reads its response as far as asked. Redirects are not followed.
///
/// # Errors
/// Why there is no response, in words that say what to do.
pub fn send(request: &Request<'_>) -> Result<Response, String> {
    let outgoing = outgoing(request)?;
    let body = match request.body {
        None => None,
        Some(_) => Some(outgoing.body().map_err(|()| "the request cannot have a body".to_owned())?),
    };
    let future = handle(outgoing, None).map_err(|code| refused(&code, request))?;
    let mut unsent = None;
    if let (Some(text), Some(body)) = (request.body, body) {
        unsent = write(body, text.as_bytes()).err();
    }
    future.subscribe().block();
    let answered = future.get().and_then(Result::ok).ok_or("the host lost the response")?;
    let response = answered.map_err(|code| refused(&code, request))?;
    if let (Some(told), true) = (unsent, response.status() < 300) {
        return Err(told);
    }
    read(&response, request)
}

fn outgoing(request: &Request<'_>) -> Result<OutgoingRequest, String> {
    let fields = Fields::new();
    for (name, value) in request.headers {
        fields.append(name, value.as_bytes()).map_err(|_| {
            format!(
                "the header `{name}` cannot be sent: its name or value is wrong, or only the host sets it"
            )
        })?;
    }
    if let Some(body) = request.body {
        let length = body.len().to_string();
        fields
            .append("content-length", length.as_bytes())
            .map_err(|_| "the body has no length".to_owned())?;
    }
    let outgoing = OutgoingRequest::new(fields);
    let scheme = if request.url.is_https { Scheme::Https } else { Scheme::Http };
    outgoing
        .set_method(&method(request.method))
        .map_err(|()| format!("`{}` is no method", request.method))?;
    let wrong = |()| format!("`{}` is no URL that can be fetched", request.url);
    outgoing.set_scheme(Some(&scheme)).map_err(wrong)?;
    outgoing.set_authority(Some(&request.url.authority)).map_err(wrong)?;
    outgoing.set_path_with_query(Some(&request.url.target)).map_err(wrong)?;
    Ok(outgoing)
}

fn method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        other => Method::Other(other.to_owned()),
    }
}

fn write(body: OutgoingBody, bytes: &[u8]) -> Result<(), String> {
    let failed = |_: StreamError| "the server did not take the whole body".to_owned();
    {
        let stream = body.write().map_err(|()| "the body cannot be written".to_owned())?;
        for piece in bytes.chunks(PIECE) {
            let mut piece = piece;
            while !piece.is_empty() {
                stream.subscribe().block();
                let room = usize::try_from(stream.check_write().map_err(failed)?).unwrap_or(usize::MAX);
                let (now, later) = piece.split_at(room.min(piece.len()));
                stream.write(now).map_err(failed)?;
                piece = later;
            }
        }
    }
    OutgoingBody::finish(body, None).map_err(|_| "the body could not be ended".to_owned())
}

fn read(response: &IncomingResponse, request: &Request<'_>) -> Result<Response, String> {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let headers = response.headers().entries();
    let headers = headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), text(value))).collect();
    let mut read = Response { status: response.status(), headers, body: Vec::new(), is_cut: false };
    let body = response.consume().map_err(|()| "the response has no body".to_owned())?;
    let stream = body.stream().map_err(|()| "the response has no body".to_owned())?;
    while read.body.len() < request.max_bytes {
        match stream.blocking_read(PIECE as u64) {
            Ok(piece) => read.body.extend_from_slice(&piece),
            Err(StreamError::Closed) => return Ok(read),
            Err(StreamError::LastOperationFailed(error)) => {
                return Err(match http_error_code(&error) {
                    Some(code) => words(&code, request.url),
                    None => format!("reading from {} failed", request.url.origin()),
                });
            }
        }
    }
    read.body.truncate(request.max_bytes);
    read.is_cut = true;
    Ok(read)
}

/// Why a request was not answered. That it is not allowed may be meant of a header: the code does not say of what.
fn refused(code: &ErrorCode, request: &Request<'_>) -> String {
    let told = words(code, request.url);
    match (code, named(request.headers)) {
        (ErrorCode::HttpRequestDenied, Some(names)) => {
            format!(
                "{told}. If it is not the address, it is one of the headers: leave out {names}, and try again"
            )
        }
        _ => told,
    }
}

/// Why there is no response, for a model.
fn words(code: &ErrorCode, url: &Url) -> String {
    let origin = url.origin();
    match code {
        ErrorCode::HttpRequestDenied => {
            format!(
                "requests to {origin} are not allowed here; whoever runs this tool would have to allow them"
            )
        }
        ErrorCode::DestinationIpProhibited => {
            format!("{origin} leads to an address that is not allowed here")
        }
        ErrorCode::DnsError(_) => format!("the host of {origin} is not known; check its spelling"),
        ErrorCode::ConnectionRefused | ErrorCode::DestinationUnavailable => {
            format!("nobody answers at {origin}")
        }
        ErrorCode::ConnectionTimeout | ErrorCode::HttpResponseTimeout | ErrorCode::ConnectionReadTimeout => {
            format!("{origin} did not answer in time")
        }
        ErrorCode::TlsCertificateError => format!("{origin} has no certificate that is trusted here"),
        ErrorCode::TlsProtocolError => format!("{origin} speaks no TLS that is understood here"),
        ErrorCode::HttpResponseBodySize(_) => {
            format!("the response of {origin} is larger than one call may receive")
        }
        ErrorCode::HttpRequestBodySize(_) => "the body is larger than one call may send".to_owned(),
        ErrorCode::HttpResponseHeaderSectionSize(_) => {
            format!("{origin} sends more headers than are taken here")
        }
        ErrorCode::HttpResponseIncomplete | ErrorCode::ConnectionTerminated => {
            format!("{origin} ended the connection before its answer was complete")
        }
        ErrorCode::HttpProtocolError => format!("{origin} did not answer with HTTP"),
        other => format!("the request to {origin} failed: {other:?}"),
    }
}
