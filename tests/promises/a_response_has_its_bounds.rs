//! Whatever a server or a guest does with bodies, headers and time over HTTP ends with a code or a limit, and takes no
//! memory of the host's.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcell::policy::HttpGrant;
use toolcell::{ErrorKind, Grant, Limit, Limits, Outcome, Runtime, ToolComponent};
use toolcell_tests::http_server::HttpServer;
use toolcell_tests::{builder, built, call, guest};

const MIB: u64 = 1 << 20;

/// What the process may grow by while bodies of many times that pass.
const FLAT: u64 = 40 * MIB;

fn calling(server: &HttpServer, limits: Limits) -> Runtime {
    let grant = Grant::none().http(HttpGrant::to(&server.origin()).unwrap());
    built(builder().component(ToolComponent::file(guest("caller")).grant(grant).limits(limits)))
}

fn target(server: &HttpServer, method: &str) -> Value {
    json!({ "method": method, "scheme": "http", "authority": format!("127.0.0.1:{}", server.port()), "path": "/" })
}

fn send(server: &HttpServer, nanos: Option<u64>) -> Value {
    json!({ "to": target(server, "GET"), "headers": [], "body": null, "nanos": nanos })
}

fn message(outcome: &Outcome) -> &str {
    &outcome.error.as_ref().unwrap_or_else(|| panic!("{outcome:?}")).message
}

/// The pair that some functions give: a count, and how it ended.
fn counted(outcome: &Outcome) -> (u64, String) {
    let result = &outcome.structured.as_ref().unwrap_or_else(|| panic!("{outcome:?}"))["result"];
    (result[0].as_u64().unwrap(), result[1].as_str().unwrap_or("none").to_owned())
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// Reads a request's head and writes this.
fn begin(stream: &mut TcpStream, head: &[u8]) {
    let mut request = [0; 4096];
    let _ = stream.read(&mut request);
    let _ = stream.write_all(head);
}

/// A server that sends this again and again.
fn endless(head: &'static [u8], piece: &'static [u8]) -> HttpServer {
    HttpServer::raw(move |mut stream| {
        begin(&mut stream, head);
        while stream.write_all(piece).is_ok() {}
    })
}

const PLAIN: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";
/// A chunk of one kilobyte with its framing.
const KILOBYTE: &[u8] = &chunk();

const fn chunk() -> [u8; 1031] {
    let mut chunk = [b'x'; 1031];
    let (head, tail) = (*b"400\r\n", *b"\r\n");
    let mut at = 0;
    while at < head.len() {
        chunk[at] = head[at];
        at += 1;
    }
    chunk[1029] = tail[0];
    chunk[1030] = tail[1];
    chunk
}

const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

#[tokio::test]
async fn an_endless_response_ends_at_its_bytes() {
    for (head, piece) in [(PLAIN, &[b'x'; 65536][..]), (CHUNKED, KILOBYTE)] {
        let server = endless(head, piece);
        let runtime = calling(&server, Limits::default().with(Limit::HttpBytes, 32 * MIB));
        call(&runtime, "many_headers", json!({ "count": 1 })).await;
        let before = resident();
        let outcome = call(&runtime, "drain", target(&server, "GET")).await;
        let (bytes, end) = counted(&outcome);
        assert!(end.starts_with("HttpResponseBodySize(Some("), "{end}");
        assert!(bytes <= 32 * MIB && bytes > 31 * MIB, "{bytes}");
        assert!(resident().saturating_sub(before) < FLAT, "{} bytes more", resident() - before);
        // The tool that says so is told which limit it was.
        let small = calling(&server, Limits::default().with(Limit::HttpBytes, MIB));
        let outcome = call(&small, "send", send(&server, None)).await;
        let error = outcome.error.as_ref().unwrap_or_else(|| panic!("{outcome:?}"));
        assert_eq!(error.kind, ErrorKind::ToolError, "{outcome:?}");
        let hit = error.limit.as_ref().unwrap();
        assert_eq!((hit.name.as_str(), hit.allowed.as_str()), ("http_bytes", "1MiB"));
    }
}

#[tokio::test]
async fn a_body_to_a_server_that_never_reads_waits_and_takes_nothing() {
    let server = HttpServer::raw(|stream| {
        std::thread::park();
        drop(stream);
    });
    let limits = Limits::default().timeout(Duration::from_millis(1500));
    let runtime = calling(&server, limits);
    let (before, begun) = (resident(), Instant::now());
    let arguments = json!({ "to": target(&server, "POST"), "bytes": u64::MAX >> 12, "piece": 65536 });
    let outcome = call(&runtime, "pour", arguments).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::Timeout), "{outcome:?}");
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert!(resident().saturating_sub(before) < FLAT, "{} bytes more", resident() - before);
}

#[tokio::test]
async fn an_endless_request_ends_at_its_bytes() {
    let server = HttpServer::raw(|mut stream| {
        let mut sink = [0; 65536];
        while stream.read(&mut sink).is_ok_and(|read| read > 0) {}
    });
    let runtime = calling(&server, Limits::default().with(Limit::HttpBytes, 8 * MIB));
    let before = resident();
    let arguments = json!({ "to": target(&server, "POST"), "bytes": 1_u64 << 40, "piece": 65536 });
    let (bytes, end) = counted(&call(&runtime, "pour", arguments).await);
    assert!(end.starts_with("HttpRequestBodySize(Some("), "{end}");
    assert!(bytes < 9 * MIB, "{bytes}");
    assert!(resident().saturating_sub(before) < FLAT, "{} bytes more", resident() - before);
}

#[tokio::test]
async fn empty_writes_take_nothing() {
    let server = HttpServer::saying("ok");
    let runtime = calling(&server, Limits::default());
    let arguments = json!({ "to": target(&server, "POST"), "times": 1000 });
    call(&runtime, "pour_nothing", arguments).await;
    let before = resident();
    let arguments = json!({ "to": target(&server, "POST"), "times": 50_000 });
    let outcome = call(&runtime, "pour_nothing", arguments).await;
    assert_eq!(outcome.structured, Some(json!({ "result": 50_000 })), "{outcome:?}");
    assert!(resident().saturating_sub(before) < FLAT);
    let [_, asked] = server.asked().try_into().unwrap();
    assert_eq!(asked.body, b"");
}

#[tokio::test]
async fn heads_that_are_too_large_end_with_a_code() {
    let flood: String = (0..1000).map(|number| format!("x-{number}: v\r\n")).collect();
    let long = format!("x: {}\r\n", "v".repeat(1 << 20));
    for headers in [flood, long] {
        let head = format!("HTTP/1.1 200 OK\r\n{headers}content-length: 0\r\n\r\n");
        let server = HttpServer::answering(move |_| head.clone().into_bytes());
        let outcome = call(&calling(&server, Limits::default()), "send", send(&server, None)).await;
        assert_eq!(message(&outcome), "HttpResponseHeaderSectionSize(None)");
    }
    let before = resident();
    for piece in [&b"x-header: and so on\r\n"[..], b"x-header-without-an-end-"] {
        let endless = endless(b"HTTP/1.1 200 OK\r\n", piece);
        let runtime = calling(&endless, Limits::default());
        for _ in 0..20 {
            let outcome = call(&runtime, "send", send(&endless, None)).await;
            assert_eq!(message(&outcome), "HttpResponseHeaderSectionSize(None)");
        }
    }
    assert!(resident().saturating_sub(before) < FLAT, "{} bytes more", resident() - before);
    let server = HttpServer::saying("ok");
    let runtime = calling(&server, Limits::default());
    let outcome = call(&runtime, "many_headers", json!({ "count": 200_000 })).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::ResourceLimit), "{outcome:?}");
    let outcome = call(&runtime, "many_headers", json!({ "count": 100 })).await;
    assert_eq!(outcome.structured, Some(json!({ "result": 100 })));
}

#[tokio::test]
async fn a_response_that_is_none_has_a_code() {
    for (answer, expected) in [
        (&b"SSH-2.0-OpenSSH\r\n\r\n"[..], "HttpProtocolError"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort", "HttpResponseIncomplete"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab", "HttpProtocolError"),
        (b"", "HttpResponseIncomplete"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", "HttpProtocolError"),
    ] {
        let server = HttpServer::raw(move |mut stream| begin(&mut stream, answer));
        let outcome = call(&calling(&server, Limits::default()), "send", send(&server, None)).await;
        assert_eq!(message(&outcome), expected, "{answer:?}");
    }
    let closed = HttpServer::raw(drop);
    let outcome = call(&calling(&closed, Limits::default()), "send", send(&closed, None)).await;
    assert!(["HttpResponseIncomplete", "ConnectionTerminated"].contains(&message(&outcome)), "{outcome:?}");
}

#[tokio::test]
async fn a_slow_server_ends_with_the_calls_time_or_the_guests() {
    let silent = HttpServer::raw(|stream| {
        std::thread::park();
        drop(stream);
    });
    let dripping = HttpServer::raw(|mut stream| {
        begin(&mut stream, PLAIN);
        while stream.write_all(b".").is_ok() {
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let before = resident();
    for server in [&silent, &dripping] {
        let runtime = calling(server, Limits::default().timeout(Duration::from_millis(500)));
        let begun = Instant::now();
        let outcome = call(&runtime, "send", send(server, None)).await;
        assert_eq!(outcome.error_kind(), Some(ErrorKind::Timeout), "{outcome:?}");
        assert!(begun.elapsed() < Duration::from_secs(10));
        let outcome = call(&runtime, "many_headers", json!({ "count": 1 })).await;
        assert_eq!(outcome.structured, Some(json!({ "result": 1 })));
    }
    assert!(resident().saturating_sub(before) < FLAT, "{} bytes more", resident() - before);
    let runtime = calling(&silent, Limits::default());
    let outcome = call(&runtime, "send", send(&silent, Some(100_000_000))).await;
    assert_eq!(message(&outcome), "HttpResponseTimeout");
    for nanos in [0, 1] {
        let outcome = call(&runtime, "send", send(&silent, Some(nanos))).await;
        assert!(message(&outcome).ends_with("Timeout"), "{outcome:?}");
    }
    let server = HttpServer::saying("ok");
    let outcome = call(&calling(&server, Limits::default()), "send", send(&server, Some(u64::MAX))).await;
    assert!(outcome.is_success(), "{outcome:?}");
}

/// A gzip file of ten gigabytes of zeroes, in 65 MiB. One block: a zero, then over and over the 258 bytes before, eight of
/// which are 13 bytes.
fn send_bomb(stream: &mut TcpStream) -> std::io::Result<()> {
    const EIGHT: [u8; 13] = [0x18, 0x05, 0xa3, 0x60, 0x14, 0x8c, 0x82, 0x51, 0x30, 0x0a, 0x46, 0xc1, 0x28];
    const TIMES: usize = 5_202_353;
    stream.write_all(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 0x63])?;
    let many = EIGHT.repeat(5_000);
    for _ in 0..TIMES / 5_000 {
        stream.write_all(&many)?;
    }
    stream.write_all(&EIGHT.repeat(TIMES % 5_000))?;
    stream.write_all(&[0, 0])?;
    stream.write_all(&0x3db6_5920_u32.to_le_bytes())?;
    stream.write_all(&0x8003_a311_u32.to_le_bytes())
}

#[tokio::test]
async fn a_compressed_bomb_is_never_unpacked() {
    let server = HttpServer::raw(|mut stream| {
        begin(&mut stream, b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-encoding: gzip\r\n\r\n");
        let _ = send_bomb(&mut stream);
    });
    // What a guest reads of it is counted as it came.
    let runtime = calling(&server, Limits::default());
    call(&runtime, "many_headers", json!({ "count": 1 })).await;
    let before = resident();
    let (bytes, end) = counted(&call(&runtime, "drain", target(&server, "GET")).await);
    assert!(end.starts_with("HttpResponseBodySize(Some(") && bytes <= 64 * MIB, "{bytes} {end}");
    // The shipped tool reads as much of it as of any page, and says what it is.
    let grant = Grant::none().http(HttpGrant::to(&server.origin()).unwrap());
    let fetching = built(builder().component(ToolComponent::builtin("fetch").grant(grant)));
    for _ in 0..3 {
        let outcome = call(&fetching, "fetch", json!({ "url": server.origin() })).await;
        let told = "The body is compressed (gzip), though nobody asked for that, and is not unpacked: more than 4194304 bytes.";
        assert!(outcome.text().ends_with(told), "{outcome:?}");
        assert!(outcome.usage.memory_bytes < 32 * MIB, "{outcome:?}");
    }
    assert!(resident().saturating_sub(before) < FLAT, "{} bytes more", resident() - before);
}

#[tokio::test]
async fn requests_are_counted_and_few_at_once() {
    let server = HttpServer::saying("ok");
    let runtime = calling(&server, Limits::default().with(Limit::HttpRequests, 5));
    let outcome = call(&runtime, "repeat", json!({ "to": target(&server, "GET"), "times": 6 })).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::ResourceLimit), "{outcome:?}");
    let hit = outcome.error.as_ref().unwrap().limit.as_ref().unwrap();
    assert_eq!((hit.name.as_str(), hit.allowed.as_str(), hit.used.as_str()), ("http_requests", "5", "6"));
    assert_eq!((outcome.usage.http_requests, server.asked().len()), (5, 5));
    let outcome = call(&runtime, "repeat", json!({ "to": target(&server, "GET"), "times": 5 })).await;
    assert_eq!(outcome.usage.http_requests, 5);

    let silent = HttpServer::raw(|stream| {
        std::thread::park();
        drop(stream);
    });
    let runtime = calling(&silent, Limits::default());
    let outcome = call(&runtime, "hold", json!({ "to": target(&silent, "GET"), "times": 50 })).await;
    assert_eq!(counted(&outcome), (32, "ConnectionLimitReached".to_owned()));
}

#[tokio::test]
async fn a_call_that_ends_closes_its_connection() {
    let (closed, is_closed) = std::sync::mpsc::channel();
    let closed = std::sync::Mutex::new(closed);
    let server = HttpServer::raw(move |mut stream| {
        begin(&mut stream, CHUNKED);
        let ended = stream.read(&mut [0; 16]);
        let _ = closed.lock().unwrap().send(ended.is_ok());
    });
    let runtime = calling(&server, Limits::default().timeout(Duration::from_millis(500)));
    let outcome = call(&runtime, "send", send(&server, None)).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::Timeout), "{outcome:?}");
    assert!(is_closed.recv_timeout(Duration::from_secs(20)).is_ok(), "the server still waits");
}
