//! Who reaches `toolcell mcp --http`, and what each may take up: hosts, origins, tokens, sizes, times and counts.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::guest;
use toolcell_tests::http_client::{HttpRequest, HttpResponse, HttpServer};

const ADA: &str = "ada-0123456789abcdef";
const BOB: &str = "bob-0123456789abcdef";

/// A configuration of the probe.
fn config(line: &CommandLine, text: &str) {
    let probe = guest("probe");
    line.write("toolcell.toml", format!("{text}\n[component.probe]\npath = \"{}\"\n", probe.display()));
}

fn serving(line: &CommandLine, text: &str) -> HttpServer {
    config(line, text);
    let arguments = ["mcp", "--http", "127.0.0.1:0", "--config", "toolcell.toml"];
    HttpServer::start(line.command(&arguments).env("ADA_TOKEN", ADA).env("BOB_TOKEN", BOB))
}

const TWO: &str = "tokens = { ada = { env = \"ADA_TOKEN\" }, bob = { env = \"BOB_TOKEN\" } }\n";

fn echo(value: u32) -> HttpRequest {
    let params = json!({ "name": "echo_u32", "arguments": { "value": value } });
    HttpRequest::current(1, "tools/call", params, json!({}))
}

fn of(token: &str) -> impl Fn(HttpRequest) -> HttpRequest {
    let value = format!("Bearer {token}");
    move |request| request.header("Authorization", &value)
}

#[test]
fn a_foreign_host_or_origin_is_refused() {
    let line = CommandLine::new();
    let server = serving(
        &line,
        "[server]\nhosts = [\"Tools.example.org\"]\norigins = [\"https://app.example.org\"]\n",
    );
    let own = format!("http://{}", server.address);
    for (host, origin, status) in [
        ("evil.test", "", 403),
        ("evil.test", "http://evil.test", 403),
        ("localhost.evil.test", "", 403),
        ("localhost:1234", "", 200),
        ("tools.example.org", "", 200),
        ("", "http://evil.test", 403),
        ("", "null", 403),
        ("", "http://localhost:1", 403),
        ("", own.as_str(), 200),
        ("", "https://app.example.org", 200),
    ] {
        for request in [echo(1), HttpRequest::new("GET", "/metrics"), HttpRequest::new("OPTIONS", "/mcp")] {
            let is_preflight = request.bytes("x").starts_with(b"OPTIONS");
            let response = server.send(request.header("Host", host).header("Origin", origin));
            let expected = if is_preflight && status == 200 { 204 } else { status };
            assert_eq!(response.status, expected, "{host} {origin}");
            let allowed = response.header("access-control-allow-origin").unwrap_or_default();
            assert_eq!(allowed, if status == 200 { origin } else { "" });
        }
    }
    // Probes of a machine's name any host, and learn nothing but that it runs.
    assert_eq!(server.send(HttpRequest::new("GET", "/healthz").header("Host", "10.1.2.3")).status, 200);
    let mut ready = server.send(HttpRequest::new("GET", "/readyz").header("Host", "10.1.2.3"));
    assert_eq!((ready.status, ready.text().as_str()), (200, "{\"status\":\"ok\"}"));
    let preflight = server.send(HttpRequest::new("OPTIONS", "/mcp").header("Origin", &own));
    assert!(preflight.header("access-control-allow-headers").unwrap().contains("mcp-session-id"));
    assert_eq!(preflight.header("access-control-expose-headers"), Some("mcp-session-id"));
    assert_eq!(preflight.header("access-control-allow-credentials"), None);
}

#[test]
fn beyond_loopback_everybody_needs_a_token() {
    let line = CommandLine::new();
    config(&line, "");
    let arguments = ["mcp", "--http", "0.0.0.0:0", "--config", "toolcell.toml"];
    let refused = line.run(&arguments);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    insta::assert_snapshot!("no_token", refused.stderr);
    config(&line, &format!("[server]\n{TWO}"));
    let server = HttpServer::start(line.command(&arguments).env("ADA_TOKEN", ADA).env("BOB_TOKEN", BOB));
    let address = server.address.replace("0.0.0.0", "127.0.0.1");
    let reached = HttpServer::at(address);
    assert_eq!(reached.send(echo(1)).status, 401);
    assert_eq!(reached.send(of(ADA)(echo(1))).status, 200);
    assert_eq!(reached.send(of(ADA)(echo(1)).header("Host", "192.0.2.1")).status, 403);
}

#[test]
fn a_token_is_asked_for_wherever_there_are_any() {
    let line = CommandLine::new();
    let server = serving(&line, &format!("[server]\n{TWO}"));
    for request in [
        echo(1),
        HttpRequest::new("GET", "/mcp"),
        HttpRequest::new("DELETE", "/mcp"),
        HttpRequest::new("GET", "/metrics"),
    ] {
        for value in
            ["", "Bearer", "Bearer x", "Basic YWRhOng=", &format!("Bearer {ADA}x"), &format!("Bearer {ADA},")]
        {
            let response = server.send(request.clone().header("Authorization", value));
            assert_eq!(response.status, 401, "{value}");
            assert!(response.header("www-authenticate").unwrap().starts_with("Bearer"));
        }
    }
    assert_eq!(server.send(HttpRequest::new("GET", "/healthz")).status, 200);
    let mut metrics = server.send(of(BOB)(HttpRequest::new("GET", "/metrics")));
    let text = metrics.text();
    assert!(metrics.status == 200 && !text.contains("ada") && !text.contains("bob"), "{text}");
}

#[test]
fn what_is_one_principals_is_not_anothers() {
    let line = CommandLine::new();
    let server = serving(&line, &format!("[output]\nmax_bytes = \"1KiB\"\n[server]\n{TWO}"));
    let session = server.initialize(json!({}), of(ADA));
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let ping = HttpRequest::post(&ping).header("Mcp-Session-Id", &session);
    assert_eq!(server.send(of(ADA)(ping.clone())).status, 200);
    let mut refused = server.send(of(BOB)(ping.clone()));
    let mut none = server.send(of(BOB)(ping.header("Mcp-Session-Id", "0123456789abcdef0123456789abcdef")));
    // Not even that it is there can be told.
    assert_eq!((refused.status, refused.text()), (none.status, none.text()));
    assert_eq!(refused.status, 404);
    assert_eq!(
        server.send(of(BOB)(HttpRequest::new("DELETE", "/mcp").header("Mcp-Session-Id", &session))).status,
        404
    );
    // An output that was cut is read by whoever made the call, also by a request of its own, and by nobody else.
    let params = json!({ "name": "text", "arguments": { "bytes": 5000 } });
    let cut = server.send(of(ADA)(HttpRequest::current(1, "tools/call", params, json!({})))).answer();
    let handle = cut["result"]["_meta"]["toolcell/truncated"]["handle"].as_str().unwrap().to_owned();
    let reading = || {
        let params = json!({ "uri": format!("toolcell://output/{handle}") });
        HttpRequest::current(2, "resources/read", params, json!({}))
    };
    let read = server.send(of(ADA)(reading())).answer();
    assert_eq!(read["result"]["contents"][0]["text"].as_str().map(str::len), Some(5000), "{read}");
    assert_eq!(server.send(of(BOB)(reading())).status, 400);
    let listed = |token: &str| {
        let listed =
            server.send(of(token)(HttpRequest::current(3, "resources/list", json!({}), json!({})))).answer();
        listed["result"]["resources"].as_array().unwrap().len()
    };
    assert_eq!((listed(ADA), listed(BOB)), (1, 0));
    // A name that the client chose for itself changes nothing.
    let part = json!({ "name": "read_output", "arguments": { "handle": handle }, "session": "ada" });
    let refused = server.send(of(BOB)(HttpRequest::current(4, "tools/call", part, json!({})))).answer();
    assert_eq!(refused["result"]["_meta"]["toolcell/kind"], "tool_error", "{refused}");
}

#[test]
fn a_token_comes_from_a_variable_or_a_file_of_ones_own() {
    let line = CommandLine::new();
    config(&line, "");
    let file = line.write("token", format!("{ADA}\n"));
    let arguments = ["mcp", "--http", "0", "--config", "toolcell.toml", "--token", "ada=file:token"];
    let mode = |mode: u32| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o640);
    let refused = line.run(&arguments);
    assert!(refused.code == 2 && refused.stderr.contains("chmod 600"), "{}", refused.stderr);
    mode(0o600);
    let server = HttpServer::start(&mut line.command(&arguments));
    assert_eq!((server.send(echo(1)).status, server.send(of(ADA)(echo(1))).status), (401, 200));
    for (written, told) in [
        ("ada", "never the token itself"),
        (&format!("ada={ADA}"), "never the token itself"),
        ("Ada=env:X", "no principal's name"),
        ("ada=env:NO_SUCH_VARIABLE", "is not set"),
        ("ada=file:gone", "cannot read"),
    ] {
        let refused = line.run(&["mcp", "--http", "0", "--config", "toolcell.toml", "--token", written]);
        assert!(refused.code == 2 && refused.stderr.contains(told), "{written}: {}", refused.stderr);
        assert!(!refused.stderr.contains(ADA), "{}", refused.stderr);
    }
}

#[test]
fn a_message_has_a_size_and_a_time() {
    let line = CommandLine::new();
    let server = serving(
        &line,
        "[server]\nmax_body = \"2KiB\"\nbody_timeout = \"200ms\"\nheader_timeout = \"300ms\"\n",
    );
    let mut long = server.send(echo(1).body("x".repeat(3000)));
    assert!(long.status == 413 && long.text().contains("server.max_body"));
    // One that does not say how long it is, is counted.
    let mut stream = server.connect();
    let chunked = echo(1).header("Content-Length", "0").header("Transfer-Encoding", "chunked").body("");
    let head =
        String::from_utf8(chunked.bytes(&server.address)).unwrap().replace("Content-Length: 0\r\n", "");
    stream.write_all(head.as_bytes()).unwrap();
    for _ in 0..3 {
        stream.write_all(format!("400\r\n{}\r\n", "x".repeat(1024)).as_bytes()).unwrap();
    }
    assert_eq!(HttpResponse::read(stream).status, 413);
    let mut slow = server.connect();
    slow.write_all(&echo(1).header("Content-Length", "100").body("{").bytes(&server.address)).unwrap();
    assert_eq!(HttpResponse::read(slow).status, 408);
    // Headers that never end, and a connection that never says anything.
    for begun in ["POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-A: b", ""] {
        let mut idle = server.connect();
        idle.write_all(begun.as_bytes()).unwrap();
        let mut rest = Vec::new();
        idle.read_to_end(&mut rest).unwrap();
        assert!(!String::from_utf8_lossy(&rest).contains("200 OK"));
    }
    let mut huge = server.connect();
    let sent = huge.write_all(
        format!("GET /mcp HTTP/1.1\r\nHost: localhost\r\nX-A: {}\r\n\r\n", "b".repeat(1 << 20)).as_bytes(),
    );
    let mut answer = Vec::new();
    let _ = huge.read_to_end(&mut answer);
    assert!(sent.is_err() || !answer.starts_with(b"HTTP/1.1 2"), "{}", String::from_utf8_lossy(&answer));
    assert_eq!(server.send(echo(2)).status, 200);
}

#[test]
fn a_principal_takes_no_more_than_its_share() {
    let line = CommandLine::new();
    let server = serving(&line, &format!("[server]\nrequests = 1\nsessions = 2\n{TWO}"));
    let call = json!({ "name": "sleep", "arguments": { "ms": 60_000 } });
    let mut busy = server.connect();
    let sleeping = of(ADA)(HttpRequest::current(1, "tools/call", call, json!({})));
    busy.write_all(&sleeping.bytes(&server.address)).unwrap();
    // Not before it has the place: whoever comes first has it.
    let metrics = || server.send(of(BOB)(HttpRequest::new("GET", "/metrics"))).text();
    assert!(
        std::iter::repeat_with(metrics)
            .take(10_000)
            .any(|text| text.contains("\ntoolcell_cells_running 1\n"))
    );
    let refused = std::iter::repeat_with(|| server.send(of(ADA)(echo(1))))
        .take(10_000)
        .find(|response| response.status == 429);
    let mut refused = refused.unwrap();
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(refused.text().contains("server.requests"));
    assert_eq!(server.send(of(BOB)(echo(1))).status, 200, "others are not held up");
    drop(busy);
    assert!(
        std::iter::repeat_with(|| server.send(of(ADA)(echo(1))))
            .take(10_000)
            .any(|response| response.status == 200)
    );
    // A session beyond those that one may have takes the place of the one that was idle for longest.
    let sessions: Vec<String> = (0..3).map(|_| server.initialize(json!({}), of(BOB))).collect();
    let status = |session: &String| {
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        server.send(of(BOB)(HttpRequest::post(&ping).header("Mcp-Session-Id", session))).status
    };
    assert_eq!(sessions.iter().map(status).collect::<Vec<_>>(), [404, 200, 200]);
}

#[test]
fn a_peer_that_reads_nothing_is_let_go() {
    let line = CommandLine::new();
    let server = serving(&line, "[server]\nwrite_timeout = \"300ms\"\n");
    let params = json!({ "name": "echo_string", "arguments": { "value": "x".repeat(32 << 10) } });
    let request = HttpRequest::current(1, "tools/call", params, json!({})).bytes(&server.address);
    let mut deaf = server.connect();
    // What waits for it fills what lies between, and then nothing is taken from it any more.
    let refused = (0..100_000).find(|_| deaf.write_all(&request).is_err());
    assert!(refused.is_some(), "it is answered for ever");
    assert_eq!(server.send(echo(1)).status, 200);
}

/// Sends a request on a connection that stays open, and reads the beginning of its answer.
fn answered(stream: &mut std::net::TcpStream, request: &[u8]) {
    stream.write_all(request).unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    let mut rest = [0; 64 << 10];
    let _ = stream.read(&mut rest).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
}

#[test]
fn connections_beyond_those_that_are_served_wait_while_calls_run_on_all() {
    let line = CommandLine::new();
    // A connection whose request has not been read yet is one on which nothing is asked.
    let begun = line.folder().join("begun");
    let script =
        line.write("note.sh", format!("#!/bin/sh\ncat > /dev/null\necho begun >> {}\n", begun.display()));
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let hook =
        "[[hook]]\nuse = \"command\"\ncommand = [\"./note.sh\"]\non = [\"pre\"]\ntools = [\"sleep\"]\n";
    let server = serving(&line, &format!("[server]\nconnections = 2\n{hook}"));
    let request = echo(1).bytes(&server.address);
    let call = json!({ "name": "sleep", "arguments": { "ms": 60_000 } });
    let sleeping = HttpRequest::current(1, "tools/call", call, json!({})).bytes(&server.address);
    let calling = || {
        let mut stream = server.connect();
        answered(&mut stream, &request);
        stream.write_all(&sleeping).unwrap();
        stream
    };
    let calls = || std::fs::read_to_string(&begun).unwrap_or_default().lines().count();
    let has_begun = |count: usize| {
        let since = Instant::now();
        while calls() < count {
            assert!(since.elapsed() < Duration::from_secs(60), "call {count} never begins");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let first = calling();
    has_begun(1);
    let second = calling();
    has_begun(2);
    let third = server.connect();
    let mut sending = third.try_clone().unwrap();
    sending.write_all(&request).unwrap();
    let waiting = std::thread::spawn(move || HttpResponse::read(third).status);
    std::thread::sleep(Duration::from_millis(300));
    assert!(!waiting.is_finished(), "it is served beside the others");
    drop(first);
    assert_eq!(waiting.join().unwrap(), 200);
    drop(second);
}

#[test]
fn nobody_keeps_others_out_with_connections() {
    let line = CommandLine::new();
    let server = serving(&line, &format!("[server]\nconnections = 6\n{TWO}"));
    let asked = |token: &str| of(token)(echo(1)).bytes(&server.address);
    let mut bobs = server.connect();
    answered(&mut bobs, &asked(BOB));
    // Streams that never end, then connections on which nothing is asked.
    let session = server.initialize(json!({}), of(ADA));
    let mut streams = Vec::new();
    for _ in 0..6 {
        let mut stream = server.connect();
        let listen = HttpRequest::new("GET", "/mcp")
            .header("Accept", "text/event-stream")
            .header("Mcp-Session-Id", &session);
        stream.write_all(&of(ADA)(listen).bytes(&server.address)).unwrap();
        streams.push(stream);
    }
    assert_eq!(server.send(of(BOB)(echo(1))).status, 200, "another connection of bob's");
    assert_eq!(server.send(HttpRequest::new("GET", "/healthz")).status, 200);
    let mut idle = Vec::new();
    for _ in 0..12 {
        let mut stream = server.connect();
        answered(&mut stream, &asked(ADA));
        idle.push(stream);
    }
    assert_eq!(server.send(of(BOB)(echo(1))).status, 200);
    answered(&mut bobs, &asked(BOB));
}

#[test]
fn a_session_that_nobody_uses_ends() {
    let line = CommandLine::new();
    let server = serving(&line, "[server]\nsession_timeout = \"100ms\"\n");
    let session = server.initialize(json!({}), |request| request);
    let open = || server.send(HttpRequest::new("GET", "/metrics")).text().contains("\ntoolcell_sessions 1\n");
    let begun = Instant::now();
    while open() {
        assert!(begun.elapsed().as_secs() < 60, "it is never swept");
    }
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_eq!(server.send(HttpRequest::post(&ping).header("Mcp-Session-Id", &session)).status, 404);
}

#[test]
fn metrics_count_calls_by_tool_and_kind() {
    let line = CommandLine::new();
    let server = serving(&line, "");
    server.send(echo(1));
    let secret = json!({ "name": "echo_u32", "arguments": { "value": "hunter2" } });
    server.send(HttpRequest::current(1, "tools/call", secret, json!({})));
    let unknown = json!({ "name": "no_such", "arguments": {} });
    server.send(HttpRequest::current(1, "tools/call", unknown, json!({})));
    let deadline = Instant::now() + Duration::from_secs(10);
    // The connections of the requests before are closed a moment after their responses.
    let text = loop {
        let mut response = server.send(HttpRequest::new("GET", "/metrics"));
        assert_eq!(response.header("content-type"), Some("text/plain; version=0.0.4"));
        let text = response.text();
        if text.contains("toolcell_http_connections 1\n") || Instant::now() > deadline {
            break text;
        }
    };
    for expected in [
        "toolcell_calls_total{tool=\"echo_u32\",status=\"success\",kind=\"\"} 1",
        "toolcell_calls_total{tool=\"echo_u32\",status=\"error\",kind=\"invalid_arguments\"} 1",
        "toolcell_calls_total{tool=\"unknown\",status=\"error\",kind=\"unknown_tool\"} 1",
        "toolcell_call_duration_seconds_count{tool=\"echo_u32\"} 2",
        "toolcell_call_duration_seconds_bucket{tool=\"echo_u32\",le=\"+Inf\"} 2",
        "toolcell_http_responses_total{status=\"400\"} 1",
        "toolcell_cells_running 0",
        "toolcell_calls_waiting 0",
        "toolcell_http_connections 1",
    ] {
        assert!(text.lines().any(|line| line == expected), "{expected}\n{text}");
    }
    assert!(!text.contains("hunter2") && !text.contains("no_such"), "{text}");
}

#[test]
fn wrong_settings_are_refused_with_their_line() {
    let line = CommandLine::new();
    config(
        &line,
        "[server]\nhosts = [\"*\", \"a b\"]\norigins = [\"app.example.org\"]\ntokens = { Ada = { env = \"A\" }, bob = {}, eve = { env = \"A\", file = \"b\" } }\n\
         max_body = \"1GiB\"\nconnections = 0\nsession_timeout = \"soon\"\nport = 80\n",
    );
    let refused = line.run(&["mcp", "--http", "0", "--config", "toolcell.toml"]);
    assert_eq!(refused.code, 2);
    insta::assert_snapshot!("wrong_settings", refused.stderr);
    let shown: Value = {
        config(&line, &format!("[server]\n{TWO}max_body = \"1MiB\"\n"));
        line.run(&["config", "show", "--json", "--config", "toolcell.toml"]).json()
    };
    assert_eq!(shown["server"]["tokens"]["value"]["ada"], json!({ "env": "ADA_TOKEN" }));
    assert_eq!(shown["server"]["max_body"], json!({ "value": 1 << 20, "from": "toolcell.toml:3" }));
}
