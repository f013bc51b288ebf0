//! A server that sends informational heads for ever ends its own request, with a code and within bounds, and holds up
//! nobody else's time.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcell::policy::HttpGrant;
use toolcell::{ErrorKind, Grant, Limit, Limits, Runtime, ToolComponent};
use toolcell_tests::http_server::{HttpServer, ok};
use toolcell_tests::{builder, built, call, guest, probe};

const HEADS: [&str; 2] = ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"];

/// A server that sends this head for ever.
fn flooding(head: &'static str) -> HttpServer {
    HttpServer::raw(move |mut stream| {
        let many = head.repeat(2000);
        let _ = stream.read(&mut [0; 4096]);
        while stream.write_all(many.as_bytes()).is_ok() {}
    })
}

fn send(server: &HttpServer) -> Value {
    let authority = format!("127.0.0.1:{}", server.port());
    let to = json!({ "method": "GET", "scheme": "http", "authority": authority, "path": "/" });
    json!({ "to": to, "headers": [], "body": null, "nanos": null })
}

fn calling(server: &HttpServer, limits: Limits) -> Runtime {
    let grant = Grant::none().http(HttpGrant::to(&server.origin()).unwrap());
    let caller = ToolComponent::file(guest("caller")).grant(grant).limits(limits);
    built(builder().component(caller).component(probe(Grant::none(), Limits::default())))
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn it_ends_with_a_code_and_takes_no_memory() {
    for head in HEADS {
        let server = flooding(head);
        let runtime = calling(&server, Limits::default());
        call(&runtime, "many_headers", json!({ "count": 1 })).await;
        let before = resident();
        for _ in 0..10 {
            let outcome = call(&runtime, "send", send(&server)).await;
            let message = &outcome.error.as_ref().unwrap_or_else(|| panic!("{outcome:?}")).message;
            let bytes = message
                .strip_prefix("HttpResponseHeaderSectionSize(Some(")
                .unwrap_or_else(|| panic!("{message}"));
            let bytes: u64 = bytes.strip_suffix("))").unwrap().parse().unwrap();
            assert!(bytes > 256 << 10 && bytes <= 384 << 10, "{bytes}");
        }
        assert!(resident().saturating_sub(before) < 40 << 20, "{} bytes more", resident() - before);
        // These bytes are bytes like others.
        let small = calling(&server, Limits::default().with(Limit::HttpBytes, 100 << 10));
        let outcome = call(&small, "send", send(&server)).await;
        let error = outcome.error.as_ref().unwrap_or_else(|| panic!("{outcome:?}"));
        assert!(error.message.starts_with("HttpResponseBodySize(Some("), "{outcome:?}");
        assert_eq!(error.limit.as_ref().unwrap().name, "http_bytes");
    }
}

#[tokio::test]
async fn some_heads_before_a_response_are_passed_over() {
    for head in HEADS {
        let server =
            HttpServer::answering(move |_| [head.repeat(20).into_bytes(), ok(&[], b"hello")].concat());
        let outcome = call(&calling(&server, Limits::default()), "send", send(&server)).await;
        assert_eq!(outcome.structured.as_ref().unwrap_or_else(|| panic!("{outcome:?}"))["body"], "hello");
    }
}

#[tokio::test]
async fn other_calls_end_at_their_time() {
    let server = flooding(HEADS[0]);
    let runtime = calling(&server, Limits::default());
    call(&runtime, "sleep", json!({ "ms": 1 })).await;
    let flooded: Vec<_> = (0..16)
        .map(|_| {
            let (runtime, arguments) = (runtime.clone(), send(&server));
            tokio::spawn(async move {
                loop {
                    call(&runtime, "send", arguments.clone()).await;
                }
            })
        })
        .collect();
    for _ in 0..3 {
        let begun = Instant::now();
        let sleep = toolcell::ToolCall::new("sleep", json!({ "ms": 60_000 }));
        let outcome = runtime.call(sleep).timeout(Duration::from_millis(500)).await;
        assert_eq!(outcome.error_kind(), Some(ErrorKind::Timeout), "{outcome:?}");
        assert!(begun.elapsed() < Duration::from_millis(500 + 2_500), "{:?}", begun.elapsed());
    }
    flooded.iter().for_each(tokio::task::JoinHandle::abort);
}
