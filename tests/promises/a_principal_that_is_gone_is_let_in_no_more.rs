//! Who may reach `toolcell mcp --http` is what its files say now: a token that was taken away or replaced proves nothing,
//! and what its principal had is over.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use serde_json::json;
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::guest;
use toolcell_tests::http_client::{HttpRequest, HttpServer};

const ADA: &str = "ada-0123456789abcdef";
const BOB: &str = "bob-0123456789abcdef";
const NEW: &str = "new-0123456789abcdef";

/// A file of its owner's alone, replaced at once.
fn token(line: &CommandLine, name: &str, token: &str) {
    let path = line.write(&format!("{name}.new"), token);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::rename(path, line.folder().join(name)).unwrap();
}

fn config(line: &CommandLine, server: &str) {
    let probe = guest("probe");
    let path =
        line.write("new.toml", format!("{server}\n[component.probe]\npath = \"{}\"\n", probe.display()));
    std::fs::rename(path, line.folder().join("toolcell.toml")).unwrap();
}

fn of(token: &str) -> impl Fn(HttpRequest) -> HttpRequest {
    let value = format!("Bearer {token}");
    move |request| request.header("Authorization", &value)
}

fn status(server: &HttpServer, token: &str) -> u16 {
    server.send(of(token)(HttpRequest::new("GET", "/metrics"))).status
}

fn until(what: &str, is: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
    }
}

const BOTH: &str = "tokens = { ada = { file = \"ada\" }, bob = { file = \"bob\" } }";

fn serving(line: &CommandLine, more: &[&str]) -> HttpServer {
    token(line, "ada", ADA);
    token(line, "bob", BOB);
    let arguments = ["mcp", "--http", "127.0.0.1:0", "--config", "toolcell.toml"];
    HttpServer::start(&mut line.command(&[&arguments, more].concat()))
}

#[test]
fn a_name_that_was_removed_is_nobodys_and_all_it_had_ends() {
    let line = CommandLine::new();
    config(&line, &format!("[server]\n{BOTH}"));
    let server = serving(&line, &[]);
    let session = server.initialize(json!({}), of(BOB));
    let get = HttpRequest::new("GET", "/mcp").header("Accept", "text/event-stream");
    let mut stream = server.send(of(BOB)(get.header("Mcp-Session-Id", &session)));
    assert_eq!(stream.status, 200);
    let mut listening = server.send(of(BOB)(HttpRequest::current(
        1,
        "subscriptions/listen",
        json!({ "notifications": { "toolsListChanged": true } }),
        json!({}),
    )));
    assert_eq!(listening.event()["method"], "notifications/subscriptions/acknowledged");
    let sleeping = json!({ "name": "sleep", "arguments": { "ms": 600_000 } });
    let call = of(BOB)(HttpRequest::current(2, "tools/call", sleeping, json!({})));
    std::thread::scope(|scope| {
        let calling = scope.spawn(|| server.send(call).answer());
        let running = || server.send(of(ADA)(HttpRequest::new("GET", "/metrics"))).text();
        until("it does not run", || running().contains("\ntoolcell_cells_running 1\n"));
        config(&line, "[server]\nmax_body = \"1MiB\"\ntokens = { ada = { file = \"ada\" } }");
        until("the token still lets in", || status(&server, BOB) == 401);
        let answer = calling.join().unwrap();
        assert_eq!(answer["result"]["_meta"]["toolcell/kind"], "cancelled", "{answer}");
        until("its session is still there", || running().contains("\ntoolcell_sessions 0\n"));
    });
    // Streams of its end by themselves.
    stream.text();
    listening.text();
    assert_eq!(status(&server, ADA), 200);
    server.says("`server.max_body` has changed, and holds from the next start");
    server.says("what has changed was loaded");
    // A name that comes back is one that begins anew.
    config(&line, &format!("[server]\n{BOTH}"));
    until("it does not come back", || status(&server, BOB) == 200);
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let ping = of(BOB)(HttpRequest::post(&ping).header("Mcp-Session-Id", &session));
    assert_eq!(server.send(ping).status, 404);
}

#[test]
fn a_token_that_was_replaced_proves_nothing() {
    let line = CommandLine::new();
    config(&line, "[server]\ntokens = { ada = { file = \"ada\" } }");
    let server = serving(&line, &["--token", "bob=file:bob"]);
    let session = server.initialize(json!({}), of(ADA));
    for (name, old) in [("ada", ADA), ("bob", BOB)] {
        assert_eq!(status(&server, old), 200);
        // What could be guessed is no token, and changes nothing.
        token(&line, name, "short-token");
        server.says("can be guessed");
        assert_eq!(status(&server, old), 200);
        token(&line, name, &format!("{name}-{NEW}"));
        until("the old token still lets in", || status(&server, old) == 401);
        assert_eq!(status(&server, &format!("{name}-{NEW}")), 200);
    }
    // Its principal is the same, and goes on.
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let ping = HttpRequest::post(&ping).header("Mcp-Session-Id", &session);
    assert_eq!(server.send(of(&format!("ada-{NEW}"))(ping)).status, 200);
}

#[test]
fn without_any_token_left_nobody_is_let_in() {
    let line = CommandLine::new();
    config(&line, &format!("[server]\n{BOTH}"));
    let server = serving(&line, &[]);
    assert_eq!(status(&server, ADA), 200);
    config(&line, "");
    until("the token still lets in", || status(&server, ADA) == 401);
    assert_eq!(server.send(HttpRequest::new("GET", "/metrics")).status, 401);
    server.says("so nobody is let in");
    // Hosts and origins hold at once too.
    config(&line, &format!("[server]\nhosts = [\"tools.example.org\"]\n{BOTH}"));
    let named =
        |host: &str| server.send(of(ADA)(HttpRequest::new("GET", "/metrics")).header("Host", host)).status;
    until("the host is not served", || named("tools.example.org") == 200);
    assert_eq!(named("other.example.org"), 403);
}

#[test]
fn tokens_that_come_later_are_asked_for_at_once() {
    let line = CommandLine::new();
    config(&line, "");
    let server = serving(&line, &[]);
    let open = || server.send(HttpRequest::new("GET", "/metrics")).status;
    assert_eq!(open(), 200);
    config(&line, &format!("[server]\n{BOTH}"));
    until("everybody is still let in", || open() == 401);
    assert_eq!(status(&server, ADA), 200);
}
