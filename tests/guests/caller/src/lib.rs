//! A component that sends requests over HTTP as the tests tell it.

mod bindings {
    wit_bindgen::generate!({ path: "wit", world: "caller-world", generate_all });
}

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bindings::exports::toolcell::guests::caller::{Guest, Response, Target};
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, FutureIncomingResponse, IncomingBody, IncomingResponse, Method, OutgoingBody,
    OutgoingRequest, RequestOptions, Scheme, http_error_code,
};
use wasip2::io::streams::{OutputStream, StreamError};

struct Caller;

bindings::export!(Caller with_types_in bindings);

fn code(code: ErrorCode) -> String {
    format!("{code:?}").trim_start_matches("ErrorCode::").to_owned()
}

fn stream_error(error: StreamError) -> String {
    match error {
        StreamError::Closed => "closed".to_owned(),
        StreamError::LastOperationFailed(error) => {
            http_error_code(&error).map_or_else(|| error.to_debug_string(), code)
        }
    }
}

fn request(to: &Target, headers: &[(String, String)]) -> Result<OutgoingRequest, String> {
    let fields = Fields::new();
    for (name, value) in headers {
        fields.append(name, value.as_bytes()).map_err(|error| format!("{error:?}"))?;
    }
    let request = OutgoingRequest::new(fields);
    let method = match to.method.as_str() {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "CONNECT" => Method::Connect,
        "TRACE" => Method::Trace,
        other => Method::Other(other.to_owned()),
    };
    let scheme = match to.scheme.as_str() {
        "" => None,
        "http" => Some(Scheme::Http),
        "https" => Some(Scheme::Https),
        other => Some(Scheme::Other(other.to_owned())),
    };
    request.set_method(&method).map_err(|()| "the method was refused")?;
    request.set_scheme(scheme.as_ref()).map_err(|()| "the scheme was refused")?;
    request.set_authority(Some(&to.authority)).map_err(|()| "the authority was refused")?;
    request.set_path_with_query(Some(&to.path)).map_err(|()| "the path was refused")?;
    Ok(request)
}

fn answer(future: &FutureIncomingResponse) -> Result<IncomingResponse, String> {
    future.subscribe().block();
    let answered = future.get().ok_or("there is no answer")?;
    answered.map_err(|()| "the answer was taken")?.map_err(code)
}

/// Hands each piece of the body to `take`.
fn read(response: &IncomingResponse, mut take: impl FnMut(&[u8])) -> Result<(), String> {
    let body: IncomingBody = response.consume().map_err(|()| "the body was taken")?;
    let stream = body.stream().map_err(|()| "the stream was taken")?;
    loop {
        match stream.blocking_read(64 << 10) {
            Ok(piece) => take(&piece),
            Err(StreamError::Closed) => return Ok(()),
            Err(error) => return Err(stream_error(error)),
        }
    }
}

fn whole(response: &IncomingResponse) -> Result<Response, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let headers = response.headers().entries();
    let headers = headers.into_iter().map(|(name, value)| (name, text(&value))).collect();
    let mut body = Vec::new();
    read(response, |piece| body.extend_from_slice(piece))?;
    Ok(Response { status: response.status(), headers, body: text(&body) })
}

fn get(to: &Target) -> Result<IncomingResponse, String> {
    answer(&handle(request(to, &[])?, None).map_err(code)?)
}

fn write(stream: &OutputStream, piece: &[u8]) -> Result<(), String> {
    loop {
        let room = usize::try_from(stream.check_write().map_err(stream_error)?).unwrap_or_default();
        if room >= piece.len() && room > 0 {
            return stream.write(piece).map_err(stream_error);
        }
        stream.subscribe().block();
    }
}

impl Guest for Caller {
    fn send(
        to: Target,
        headers: Vec<(String, String)>,
        body: Option<String>,
        nanos: Option<u64>,
    ) -> Result<Response, String> {
        let request = request(&to, &headers)?;
        let options = match nanos {
            None => None,
            Some(nanos) => {
                let options = RequestOptions::new();
                options.set_connect_timeout(Some(nanos)).map_err(|()| "no time to connect")?;
                options.set_first_byte_timeout(Some(nanos)).map_err(|()| "no time for a first byte")?;
                options.set_between_bytes_timeout(Some(nanos)).map_err(|()| "no time between bytes")?;
                Some(options)
            }
        };
        let outgoing = match &body {
            None => None,
            Some(_) => Some(request.body().map_err(|()| "the body was refused")?),
        };
        let future = handle(request, options).map_err(code)?;
        if let (Some(text), Some(outgoing)) = (body, outgoing) {
            {
                let stream = outgoing.write().map_err(|()| "the body was taken")?;
                for piece in text.as_bytes().chunks(4096) {
                    write(&stream, piece)?;
                }
            }
            OutgoingBody::finish(outgoing, None).map_err(code)?;
        }
        whole(&answer(&future)?)
    }

    fn look(to: Target) -> Result<Response, String> {
        whole(&get(&to)?)
    }

    fn drain(to: Target) -> Result<(u64, Option<String>), String> {
        let response = get(&to)?;
        let mut bytes = 0_u64;
        let ended = read(&response, |piece| bytes += piece.len() as u64);
        Ok((bytes, ended.err()))
    }

    fn pour(to: Target, bytes: u64, piece: u32) -> (u64, Option<String>) {
        let piece = vec![b'x'; piece as usize];
        let mut written = 0_u64;
        let mut pour = || -> Result<(), String> {
            let request = request(&to, &[])?;
            let body = request.body().map_err(|()| "the body was refused")?;
            let future = handle(request, None).map_err(code)?;
            let stream = body.write().map_err(|()| "the body was taken")?;
            while written < bytes {
                if let Err(error) = write(&stream, &piece) {
                    // What ended the body is told with the answer.
                    return Err(answer(&future).err().unwrap_or(error));
                }
                written += piece.len() as u64;
            }
            drop(stream);
            OutgoingBody::finish(body, None).map_err(code)?;
            answer(&future).map(drop)
        };
        let error = pour().err();
        (written, error)
    }

    fn pour_nothing(to: Target, times: u64) -> Result<u64, String> {
        let request = request(&to, &[])?;
        let body = request.body().map_err(|()| "the body was refused")?;
        let future = handle(request, None).map_err(code)?;
        {
            let stream = body.write().map_err(|()| "the body was taken")?;
            for _ in 0..times {
                write(&stream, &[])?;
            }
        }
        OutgoingBody::finish(body, None).map_err(code)?;
        answer(&future)?;
        Ok(times)
    }

    fn many_headers(count: u32) -> Result<u32, String> {
        let fields = Fields::new();
        for number in 0..count {
            fields.append(&format!("x-{number}"), b"value").map_err(|error| format!("{error:?}"))?;
        }
        Ok(u32::try_from(fields.entries().len()).unwrap_or(u32::MAX))
    }

    fn repeat(to: Target, times: u32) -> Result<u32, String> {
        for _ in 0..times {
            read(&get(&to)?, |_| {})?;
        }
        Ok(times)
    }

    fn hold(to: Target, times: u32) -> (u32, Option<String>) {
        let mut held = Vec::new();
        for number in 0..times {
            match request(&to, &[]).and_then(|request| handle(request, None).map_err(code)) {
                Ok(future) => held.push(future),
                Err(error) => return (number, Some(error)),
            }
        }
        (times, None)
    }

    fn gather(to: Target, file: String) -> String {
        let mut seen = String::new();
        let mut line = |what: &str, value: &dyn std::fmt::Debug| {
            seen.push_str(&format!("{what}: {value:?}\n"));
        };
        let (begun, time) = (Instant::now(), SystemTime::now());
        line("time", &time.duration_since(UNIX_EPOCH));
        let content = std::fs::read(&file);
        line(
            "file",
            &content.as_ref().map(|bytes| String::from_utf8_lossy(bytes)).map_err(|error| error.kind()),
        );
        let answer = exchange(&to, &content.unwrap_or_default());
        line("answer", &answer.as_ref().map(|response| (response.status(), response.headers().entries())));
        if let Ok(response) = answer {
            let mut pieces = Vec::new();
            let end = read(&response, |piece| pieces.push(String::from_utf8_lossy(piece).into_owned()));
            line("pieces", &pieces);
            line("end", &end);
        }
        line("again", &get(&to).map(|response| response.status()));
        line("took", &begun.elapsed());
        line(
            "files",
            &std::fs::read_dir("/work")
                .map(|entries| entries.flatten().count())
                .map_err(|error| error.kind()),
        );
        seen
    }
}

/// Sends a body with its length, and looks for trailers where there are none.
fn exchange(to: &Target, body: &[u8]) -> Result<IncomingResponse, String> {
    let length = [("content-length".to_owned(), body.len().to_string())];
    let request = request(to, &length)?;
    let outgoing = request.body().map_err(|()| "the body was refused")?;
    let future = handle(request, None).map_err(code)?;
    let stream = outgoing.write().map_err(|()| "the body was taken")?;
    for piece in body.chunks(4096) {
        write(&stream, piece)?;
    }
    drop(stream);
    OutgoingBody::finish(outgoing, None).map_err(code)?;
    answer(&future)
}
