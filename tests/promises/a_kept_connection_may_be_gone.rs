//! A connection that was kept, and that its server closes when the next request comes, costs no request that may be sent
//! twice, and sends none twice that may not.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use toolcell::policy::HttpGrant;
use toolcell::{Grant, Runtime, ToolComponent};
use toolcell_tests::http_server::{HttpServer, ok};
use toolcell_tests::{builder, built, call, guest};

/// A server that answers the first request of each connection, reads the second and closes. It counts what it read.
fn closing(answer_begins: &'static [u8]) -> (HttpServer, Arc<AtomicUsize>) {
    let heads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&heads);
    let server = HttpServer::raw(move |stream: TcpStream| {
        let mut stream = BufReader::new(stream);
        for answer in [&ok(&[], b"hello")[..], answer_begins] {
            let mut line = String::new();
            let mut has_head = false;
            while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
                has_head = true;
                line.clear();
            }
            if !has_head {
                return;
            }
            counted.fetch_add(1, Ordering::Relaxed);
            let _ = stream.get_mut().write_all(answer);
        }
    });
    (server, heads)
}

fn calling(server: &HttpServer) -> Runtime {
    let grant = Grant::none().http(HttpGrant::to(&server.origin()).unwrap());
    built(builder().component(ToolComponent::file(guest("caller")).grant(grant)))
}

fn send(server: &HttpServer, method: &str, body: Option<&str>) -> Value {
    let authority = format!("127.0.0.1:{}", server.port());
    let to = json!({ "method": method, "scheme": "http", "authority": authority, "path": "/" });
    json!({ "to": to, "headers": [], "body": body, "nanos": null })
}

#[tokio::test]
async fn what_may_be_sent_twice_is_sent_anew() {
    for method in ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"] {
        let (server, heads) = closing(b"");
        let runtime = calling(&server);
        assert!(call(&runtime, "send", send(&server, "GET", None)).await.is_success());
        let outcome = call(&runtime, "send", send(&server, method, None)).await;
        // What answers HEAD has no body; the one that came counts for the next.
        assert!(outcome.is_success(), "{method}: {outcome:?}");
        assert_eq!((server.connections_seen(), heads.load(Ordering::Relaxed)), (2, 3), "{method}");
    }
}

#[tokio::test]
async fn what_may_not_is_told_to_the_guest() {
    for (method, body, begins) in [
        ("POST", None, &b""[..]),
        ("POST", Some("pay"), b""),
        ("PATCH", None, b""),
        ("PUT", Some("x"), b""),
        // This server has begun to answer.
        ("GET", None, b"HTTP/1.1 200 OK\r\n"),
    ] {
        let (server, heads) = closing(begins);
        let runtime = calling(&server);
        assert!(call(&runtime, "send", send(&server, "GET", None)).await.is_success());
        let outcome = call(&runtime, "send", send(&server, method, body)).await;
        let message = &outcome.error.as_ref().unwrap_or_else(|| panic!("{method}: {outcome:?}")).message;
        // The last is what a body's stream says that has no reader any more.
        let codes = ["HttpResponseIncomplete", "ConnectionTerminated", "HttpProtocolError", "closed"];
        assert!(codes.contains(&message.as_str()), "{method}: {message}");
        assert_eq!((server.connections_seen(), heads.load(Ordering::Relaxed)), (1, 2), "{method}");
    }
}
