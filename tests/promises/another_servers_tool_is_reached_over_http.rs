//! A tool of a server that is reached over HTTP is called like any: in both eras, with its secrets, within its bounds, and
//! whatever the server does.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::IpAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcell::call::Event;
use toolcell::net::Resolver;
use toolcell::{CancellationToken, ErrorKind, Runtime, RuntimeBuilder, ToolCall};

use toolcell_tests::command_line::CommandLine;
use toolcell_tests::http_client;
use toolcell_tests::http_server::{Asked, HttpServer, ok, response};
use toolcell_tests::scripted::definition;
use toolcell_tests::{builder, built, call, guest, repository};

const EVENTS: (&str, &str) = ("content-type", "text/event-stream");
const JSON: (&str, &str) = ("content-type", "application/json");

fn configured(text: &str) -> RuntimeBuilder {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("toolcell.toml");
    std::fs::write(&file, text).unwrap();
    let builder = builder().config_file(&file).unwrap();
    // Nothing of it is read again.
    drop(folder);
    builder
}

fn table(url: &str, more: &str) -> String {
    format!("[mcp.s]\nurl = \"{url}\"\n{more}\n")
}

fn runtime(url: &str, more: &str) -> Runtime {
    built(configured(&table(url, more)))
}

fn names(runtime: &Runtime) -> Vec<String> {
    runtime.list().iter().map(|tool| tool.name().to_owned()).collect()
}

fn help(outcome: &toolcell::Outcome) -> String {
    outcome.error.as_ref().and_then(|error| error.help.clone()).unwrap_or_default()
}

/// What a server of the handshake's era does with everything but calls; none for what it leaves to the test.
fn shakes_hands(asked: &Asked, tools: &[Value]) -> Option<Vec<u8>> {
    if asked.line.starts_with("DELETE") {
        return Some(response("204 No Content", &[], b""));
    }
    if asked.line.starts_with("GET") {
        return Some(response("405 Method Not Allowed", &[], b""));
    }
    let message: Value = serde_json::from_slice(&asked.body).unwrap();
    let result = match message["method"].as_str() {
        Some("server/discover") => return Some(response("400 Bad Request", &[], b"what?")),
        Some("initialize") => json!({
            "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
            "serverInfo": { "name": "s", "version": "1" },
        }),
        Some("tools/list") => json!({ "tools": tools }),
        Some("tools/call") => return None,
        _ => return Some(response("202 Accepted", &[], b"")),
    };
    let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string();
    Some(ok(&[JSON, ("mcp-session-id", "session-1")], answer.as_bytes()))
}

/// A server of that era, whose calls are answered by `call`.
fn server(tools: &[&str], call: impl Fn(&Value, &Asked) -> Vec<u8> + Send + Sync + 'static) -> HttpServer {
    let tools: Vec<Value> = tools.iter().map(|name| definition(name)).collect();
    HttpServer::answering(move |asked| {
        shakes_hands(asked, &tools)
            .unwrap_or_else(|| call(&serde_json::from_slice(&asked.body).unwrap(), asked))
    })
}

fn text(message: &Value, text: &str) -> String {
    let result = json!({ "content": [{ "type": "text", "text": text }] });
    json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string()
}

fn said(message: &Value, words: &str) -> Vec<u8> {
    ok(&[JSON], text(message, words).as_bytes())
}

fn methods(server: &HttpServer) -> Vec<String> {
    let method = |asked: Asked| match serde_json::from_slice::<Value>(&asked.body) {
        Ok(message) => message["method"].as_str().unwrap_or("answer").to_owned(),
        Err(_) => asked.line.split(' ').next().unwrap().to_owned(),
    };
    server.asked().into_iter().map(method).collect()
}

/// What a server was answered to what it may not ask, once it was.
async fn refusal(server: &HttpServer) -> Asked {
    let begun = Instant::now();
    loop {
        let refuses = |asked: &Asked| asked.body.windows(6).any(|part| part == b"-32601");
        if let Some(refused) = server.asked().into_iter().find(refuses) {
            return refused;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "it never comes");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// `toolcell mcp --http` with the probe.
fn own(line: &CommandLine, more: &[&str]) -> http_client::HttpServer {
    let probe = guest("probe");
    let probe = probe.to_string_lossy();
    let arguments = [&["mcp", "--http", "127.0.0.1:0", "--component", &probe], more].concat();
    http_client::HttpServer::start(&mut line.command(&arguments))
}

#[tokio::test]
async fn one_of_our_own_is() {
    let line = CommandLine::new();
    let far = own(&line, &["--timeout", "10m"]);
    let runtime =
        runtime(&format!("http://{}/mcp", far.address), "prefix = \"far_\"\nlimits = { timeout = \"2s\" }");
    assert_eq!(runtime.warnings(), [] as [&str; 0]);
    let tool = runtime.get("far_echo_u32").unwrap();
    assert_eq!((tool.component(), tool.origin()), ("mcp.s", "echo_u32"));
    for value in 0..20 {
        let outcome = call(&runtime, "far_echo_u32", json!({ "value": value })).await;
        assert_eq!(outcome.structured, Some(json!({ "result": value })), "{outcome:?}");
    }
    let (sink, mut events) = tokio::sync::mpsc::channel(64);
    let outcome = runtime.call(ToolCall::new("far_progress_many", json!({ "count": 3 }))).events(sink).await;
    assert!(outcome.is_success(), "{outcome:?}");
    assert!(matches!(events.try_recv(), Ok(Event::Progress { .. })));
    // One that takes too long ends there as well.
    let slow = call(&runtime, "far_poll_forever", json!({})).await;
    assert_eq!(slow.error_kind(), Some(ErrorKind::Timeout));
    let begun = Instant::now();
    let metrics = || far.send(http_client::HttpRequest::new("GET", "/metrics")).text();
    while !metrics().contains("\ntoolcell_cells_running 0\n") {
        assert!(begun.elapsed() < Duration::from_secs(30), "it still runs there");
    }
}

#[tokio::test]
async fn its_changes_are_heard() {
    let line = CommandLine::new();
    let probe = guest("probe");
    let component = |more: &str| format!("[component.probe]\npath = \"{}\"\n{more}", probe.display());
    line.write("toolcell.toml", component("tools = [\"echo_u32\"]\n"));
    let far = http_client::HttpServer::start(&mut line.command(&[
        "mcp",
        "--http",
        "127.0.0.1:0",
        "--config",
        "toolcell.toml",
    ]));
    let runtime = runtime(&format!("http://{}/mcp", far.address), "");
    assert!(names(&runtime).contains(&"echo_u32".to_owned()));
    let mut changes = runtime.changes();
    changes.borrow_and_update();
    line.write("toolcell.toml", component("tools = [\"echo_u64\"]\n"));
    tokio::time::timeout(Duration::from_secs(60), changes.changed()).await.unwrap().unwrap();
    assert!(!names(&runtime).contains(&"echo_u32".to_owned()), "what is gone is off");
    assert_eq!(
        call(&runtime, "echo_u32", json!({ "value": 1 })).await.error_kind(),
        Some(ErrorKind::ToolInactive)
    );
}

#[tokio::test]
async fn one_with_a_handshake_is() {
    let far = server(&["echo", "stream"], |message, asked| {
        let id = &message["id"];
        if message["params"]["name"] == "echo" {
            return said(message, asked.header("authorization")[0]);
        }
        let token = &message["params"]["_meta"]["progressToken"];
        let progress = json!({ "jsonrpc": "2.0", "method": "notifications/progress",
            "params": { "progressToken": token, "progress": 1, "total": 2, "message": "half" } });
        let asks = json!({ "jsonrpc": "2.0", "id": "q", "method": "sampling/createMessage", "params": {} });
        let forged = json!({ "jsonrpc": "2.0", "id": id.as_u64().unwrap() + 1, "result": { "content": [] } });
        let events = format!(
            ": hello\n\nevent: message\ndata: {progress}\n\ndata: {asks}\n\ndata: {forged}\n\ndata: {}\n\n",
            text(message, "done")
        );
        ok(&[EVENTS], events.as_bytes())
    });
    let more = "headers = { Authorization = { secret = \"key\", prefix = \"Bearer \" }, x-tenant = \"t1\" }\nsecrets = { key = { file = \"key\" } }";
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, "hunter2-hunter2\n").unwrap();
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let file = folder.path().join("toolcell.toml");
    std::fs::write(&file, table(&format!("{}/mcp?a=b", far.origin()), more)).unwrap();
    let runtime = built(builder().config_file(&file).unwrap());
    assert_eq!(runtime.warnings(), [] as [&str; 0]);
    let echoed = call(&runtime, "echo", json!({})).await;
    assert!(echoed.text().starts_with("Bearer [redacted"), "{echoed:?}");
    let (sink, mut events) = tokio::sync::mpsc::channel(16);
    let outcome = runtime.call(ToolCall::new("stream", json!({}))).events(sink).await;
    assert_eq!(outcome.text(), "done", "{outcome:?}");
    let half = Event::Progress { done: 1, total: Some(2), text: Some("half".to_owned()) };
    assert_eq!(events.try_recv().ok(), Some(half));
    // What a server asks is answered beside the call, which does not wait for it.
    let refused = refusal(&far).await;
    assert!(String::from_utf8_lossy(&refused.body).contains("\"id\":\"q\""));
    runtime.close_remotes();
    let asked = far.asked();
    for one in &asked {
        assert_eq!(one.header("authorization"), ["Bearer hunter2-hunter2"], "{one:?}");
        assert_eq!(one.header("x-tenant"), ["t1"]);
        assert!(one.line.ends_with(" /mcp?a=b HTTP/1.1"), "{one:?}");
    }
    let greeted =
        asked.iter().position(|one| one.body.windows(12).any(|part| part == b"\"initialize\"")).unwrap();
    assert_eq!(asked[0].header("mcp-method"), ["server/discover"]);
    assert_eq!(
        (asked[greeted].header("mcp-session-id").len(), asked[greeted].header("mcp-protocol-version").len()),
        (0, 0)
    );
    for one in &asked[greeted + 1..] {
        assert_eq!(one.header("mcp-session-id"), ["session-1"], "{one:?}");
        assert_eq!(one.header("mcp-protocol-version"), ["2025-11-25"]);
    }
    assert_eq!(methods(&far).last().map(String::as_str), Some("DELETE"), "its session is ended");
}

#[tokio::test]
async fn a_session_that_is_over_begins_anew() {
    let sessions = AtomicUsize::new(0);
    let far = HttpServer::answering(move |asked| {
        let message: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
        if message["method"] == "initialize" {
            sessions.fetch_add(1, Ordering::Relaxed);
        }
        let is_over = message["method"] == "tools/call" && sessions.load(Ordering::Relaxed) == 1;
        match shakes_hands(asked, &[definition("echo")]) {
            Some(answer) => answer,
            None if is_over => response("404 Not Found", &[], b""),
            None => said(&message, "again"),
        }
    });
    let runtime = runtime(&far.origin(), "");
    let outcome = call(&runtime, "echo", json!({})).await;
    assert_eq!(outcome.text(), "again", "{outcome:?}");
    let begun = methods(&far).iter().filter(|method| *method == "initialize").count();
    assert_eq!(begun, 2);
}

#[tokio::test]
async fn an_event_that_is_no_message_is_passed_over() {
    let far = server(&["log", "torn"], |message, _| {
        let first = match message["params"]["name"].as_str() {
            Some("torn") => "{\"jsonrpc\":\"2.0\",\"id\":",
            _ => "not JSON\n\ndata: {\"level\":30}",
        };
        ok(&[EVENTS], format!("data: {first}\n\ndata: {}\n\n", text(message, "said")).as_bytes())
    });
    let runtime = runtime(&far.origin(), "");
    assert_eq!(call(&runtime, "log", json!({})).await.text(), "said");
    let torn = call(&runtime, "torn", json!({})).await;
    assert_eq!(torn.error_kind(), Some(ErrorKind::ToolError), "{torn:?}");
}

#[tokio::test]
async fn a_stream_that_was_cut_is_taken_up_again() {
    let far = HttpServer::answering(|asked| {
        if !asked.header("last-event-id").is_empty() {
            let message = json!({ "id": asked.header("last-event-id")[0].parse::<u64>().unwrap() });
            return ok(&[EVENTS], format!("data: {}\n\n", text(&message, "resumed")).as_bytes());
        }
        shakes_hands(asked, &[definition("echo")]).unwrap_or_else(|| {
            let message: Value = serde_json::from_slice(&asked.body).unwrap();
            ok(&[EVENTS], format!("id: {}\nretry: 10\ndata:\n\n", message["id"]).as_bytes())
        })
    });
    let runtime = runtime(&far.origin(), "");
    let outcome = call(&runtime, "echo", json!({})).await;
    assert_eq!(outcome.text(), "resumed", "{outcome:?}");
}

#[tokio::test]
async fn whatever_it_does_ends_as_a_failure() {
    let calls =
        ["garbage", "kind", "none", "large", "event", "line", "cut", "status", "redirect", "wrong", "good"];
    let far = server(&calls, |message, _| {
        let large = "x".repeat(8 << 20);
        match message["params"]["name"].as_str().unwrap() {
            "garbage" => ok(&[JSON], b"{\"jsonrpc\""),
            "kind" => ok(&[("content-type", "text/html")], b"<html>"),
            "none" => ok(&[EVENTS], b""),
            "large" => said(message, &large),
            "event" => ok(&[EVENTS], format!("data: {}\n\n", text(message, &large)).as_bytes()),
            "line" => ok(&[EVENTS], large.as_bytes()),
            "cut" => b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\nconnection: close\r\n\r\n{}".to_vec(),
            "status" => response("503 Service Unavailable", &[("retry-after", "1")], b"busy"),
            "redirect" => response("307 Temporary Redirect", &[("location", "http://127.0.0.1:1/elsewhere")], b""),
            "wrong" => {
                let error = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32000, "message": "no such project" } });
                response("400 Bad Request", &[JSON], error.to_string().as_bytes())
            }
            _ => said(message, "good"),
        }
    });
    let runtime = runtime(&far.origin(), "limits = { result_bytes = \"1MiB\", timeout = \"1s\" }");
    assert_eq!(runtime.warnings(), [] as [&str; 0]);
    for (name, kind, told) in [
        ("garbage", ErrorKind::ToolError, ""),
        ("kind", ErrorKind::ToolError, ""),
        ("large", ErrorKind::ResultTooLarge, ""),
        ("event", ErrorKind::ResultTooLarge, ""),
        ("line", ErrorKind::ResultTooLarge, ""),
        ("status", ErrorKind::Unavailable, "status 503"),
        ("redirect", ErrorKind::Unavailable, "status 307; write the address"),
        ("wrong", ErrorKind::ToolError, ""),
        ("none", ErrorKind::Unavailable, "without the answer"),
        ("cut", ErrorKind::Timeout, ""),
    ] {
        let outcome = call(&runtime, name, json!({})).await;
        assert_eq!(outcome.error_kind(), Some(kind), "{name}: {outcome:?}");
        assert!(help(&outcome).contains(told), "{name}: {outcome:?}");
        let good = call(&runtime, "good", json!({})).await;
        assert_eq!(good.text(), "good", "after {name}: {good:?}");
    }
    // It is told beside the answer to the caller, who does not wait for that.
    let begun = Instant::now();
    while !methods(&far).iter().any(|method| method == "notifications/cancelled") {
        assert!(begun.elapsed() < Duration::from_secs(30), "it was not told");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A server of that era, which answers a call of `endless` with this event for ever, and any other never.
fn endless(event: String) -> HttpServer {
    HttpServer::raw(move |mut stream| {
        let mut reading = BufReader::new(stream.try_clone().unwrap());
        loop {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                if reading.read_line(&mut head).unwrap_or(0) == 0 {
                    return;
                }
            }
            let length = head
                .to_ascii_lowercase()
                .split("content-length: ")
                .nth(1)
                .unwrap_or("0")
                .lines()
                .next()
                .unwrap()
                .parse()
                .unwrap();
            let mut body = vec![0; length];
            reading.read_exact(&mut body).unwrap();
            let line = head.lines().next().unwrap().to_owned();
            let asked = Asked { line, body: body.clone(), ..Asked::default() };
            if let Some(answer) = shakes_hands(&asked, &[definition("endless"), definition("silent")]) {
                stream.write_all(&answer).unwrap();
                continue;
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").unwrap();
            if body.windows(9).any(|part| part == b"\"endless\"") {
                while stream.write_all(event.as_bytes()).is_ok() {}
                return;
            }
        }
    })
}

#[tokio::test]
async fn endless_streams_end_with_their_call() {
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "data": "x" } });
    let far = endless(format!("data: {note}\n\n"));
    let runtime = runtime(&far.origin(), "limits = { timeout = \"500ms\" }");
    assert_eq!(names(&runtime), ["endless", "silent"], "{:?}", runtime.warnings());
    let outcome = call(&runtime, "endless", json!({})).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::Timeout), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_streams_delay_no_deadline_of_others() {
    let ones = "1,".repeat(16_000_000);
    let note = format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"x":[{ones}1]}}}}"#);
    let far = endless(format!("data: {note}\n\n"));
    let runtime = runtime(&far.origin(), "[mcp.s.tool.silent.limits]\ntimeout = \"100ms\"");
    let cancel = CancellationToken::new();
    let flood = runtime.call(ToolCall::new("endless", json!({}))).cancel(cancel.clone());
    let flooded = tokio::spawn(async move { flood.await });
    // The first event, of 32 MiB, is on its way.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let begun = Instant::now();
    for _ in 0..5 {
        let silent = call(&runtime, "silent", json!({})).await;
        assert_eq!(silent.error_kind(), Some(ErrorKind::Timeout), "{silent:?}");
    }
    // Each took some seconds where messages were read among the timers.
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    cancel.cancel();
    assert_eq!(flooded.await.unwrap().error_kind(), Some(ErrorKind::Cancelled));
}

#[tokio::test]
async fn one_that_cannot_be_used_has_no_tools() {
    let unauthorized =
        HttpServer::answering(|_| response("401 Unauthorized", &[("www-authenticate", "Bearer")], b""));
    let other = HttpServer::raw(|mut stream| {
        // What is left unread when a connection is closed would break it.
        while stream.read(&mut [0; 4096]).is_ok_and(|count| count == 4096) {}
        let _ = stream.write_all(b"220 mail\r\n");
    });
    let nobody = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    for (url, told) in [
        (unauthorized.origin(), "status 401; `headers` have to say who asks"),
        (other.origin(), "does not speak HTTP/1.1"),
        (format!("http://127.0.0.1:{nobody}/mcp"), "cannot connect"),
        (format!("https://127.0.0.1:{}/mcp", other.port()), "no TLS with"),
    ] {
        let runtime = runtime(&url, "start_timeout = \"5s\"");
        let warnings = runtime.warnings().join("\n");
        assert!(
            warnings.contains("none of its tools are there") && warnings.contains(told),
            "{url}: {warnings}"
        );
    }
}

/// Names that lead where a test says.
struct Names(IpAddr);

#[toolcell::hook::async_trait]
impl Resolver for Names {
    async fn resolve(&self, _: &str) -> std::io::Result<Vec<IpAddr>> {
        Ok(vec![self.0])
    }
}

#[tokio::test]
async fn a_name_leads_to_private_addresses_only_if_that_is_meant() {
    let far = server(&["echo"], |message, _| said(message, "here"));
    let url = format!("http://mcp.example.org:{}/mcp", far.port());
    let loopback = || Names("127.0.0.1".parse().unwrap());
    let refused = built(configured(&table(&url, "")).resolver(loopback()));
    let warnings = refused.warnings().join("\n");
    assert!(
        warnings.contains("leads to the loopback address") && warnings.contains("`mcp.s.private = true`"),
        "{warnings}"
    );
    assert_eq!(far.connections_seen(), 0);
    let meant = built(configured(&table(&url, "private = true")).resolver(loopback()));
    assert_eq!(call(&meant, "echo", json!({})).await.text(), "here");
    let metadata = Names("169.254.169.254".parse().unwrap());
    let metadata = built(configured(&table(&url, "private = true")).resolver(metadata));
    assert!(metadata.warnings().join("\n").contains("cloud metadata"), "{:?}", metadata.warnings());
}

#[tokio::test]
async fn a_dead_one_comes_back() {
    let line = CommandLine::new();
    let far = own(&line, &[]);
    let address = far.address.clone();
    let runtime = runtime(&format!("http://{address}/mcp"), "");
    assert!(call(&runtime, "echo_u32", json!({ "value": 1 })).await.is_success());
    drop(far);
    let gone = call(&runtime, "echo_u32", json!({ "value": 1 })).await;
    assert_eq!(gone.error_kind(), Some(ErrorKind::Unavailable), "{gone:?}");
    assert!(gone.error.as_ref().unwrap().retryable);
    let probe = guest("probe");
    let again = ["mcp", "--http", &address, "--component", &probe.to_string_lossy()];
    let _again = http_client::HttpServer::start(&mut line.command(&again));
    let begun = Instant::now();
    while !call(&runtime, "echo_u32", json!({ "value": 1 })).await.is_success() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not come back");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn arguments_are_repeated_in_headers_where_that_is_wanted() {
    let schema = |header: &str| {
        json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": header }, "count": { "type": "integer", "x-mcp-header": "Count" } } })
    };
    let mut good = definition("good");
    good["inputSchema"] = schema("Region");
    let mut bad = definition("bad");
    bad["inputSchema"] = schema("a b");
    let tools = json!({ "resultType": "complete", "tools": [good, bad] });
    let far = HttpServer::answering(move |asked| {
        let message: Value = serde_json::from_slice(&asked.body).unwrap();
        let result = match message["method"].as_str() {
            Some("server/discover") => {
                json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } })
            }
            Some("tools/list") => tools.clone(),
            _ => json!({ "resultType": "complete", "content": [{ "type": "text", "text": "ok" }] }),
        };
        ok(&[JSON], json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string().as_bytes())
    });
    let runtime = runtime(&far.origin(), "");
    assert_eq!(names(&runtime), ["good"]);
    let warnings = runtime.warnings().join("\n");
    assert!(warnings.contains("`bad` is no tool: its input schema: `x-mcp-header`"), "{warnings}");
    assert!(call(&runtime, "good", json!({ "region": "Zürich\r\nX: y", "count": 5 })).await.is_success());
    assert!(call(&runtime, "good", json!({})).await.is_success());
    let calls: Vec<Asked> =
        far.asked().into_iter().filter(|asked| asked.header("mcp-method") == ["tools/call"]).collect();
    assert_eq!(calls[0].header("mcp-name"), ["good"]);
    assert_eq!(calls[0].header("mcp-param-region"), ["=?base64?WsO8cmljaA0KWDogeQ==?="]);
    assert_eq!(calls[0].header("mcp-param-count"), ["5"]);
    assert_eq!((calls[1].header("mcp-param-region").len(), calls[1].header("x").len()), (0, 0));
}

#[tokio::test]
async fn what_tells_of_changes_is_asked_for_again_when_it_is_cut() {
    let listed = AtomicUsize::new(0);
    let far = HttpServer::answering(move |asked| {
        let message: Value = serde_json::from_slice(&asked.body).unwrap();
        let result = match message["method"].as_str() {
            Some("server/discover") => {
                json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": { "listChanged": true } } })
            }
            Some("tools/list") if listed.fetch_add(1, Ordering::Relaxed) == 0 => {
                json!({ "tools": [definition("a")] })
            }
            Some("tools/list") => json!({ "tools": [definition("a"), definition("b")] }),
            Some("subscriptions/listen") => return ok(&[EVENTS], b": nothing\n\n"),
            _ => json!({ "content": [{ "type": "text", "text": "ok" }] }),
        };
        ok(&[JSON], json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string().as_bytes())
    });
    let runtime = runtime(&far.origin(), "");
    let mut changes = runtime.changes();
    tokio::time::timeout(Duration::from_secs(60), changes.changed()).await.unwrap().unwrap();
    assert!(call(&runtime, "a", json!({})).await.is_success());
    let asked = methods(&far);
    assert_eq!(
        asked.iter().filter(|method| *method == "server/discover").count(),
        1,
        "it is one connection: {asked:?}"
    );
}

#[tokio::test]
async fn it_proves_who_it_is() {
    let line = CommandLine::new();
    let far = own(&line, &[]);
    let (host, port) = far.address.split_once(':').unwrap();
    let certificates = repository().join("tests/tls");
    let mut tls = Command::new("python3")
        .arg(repository().join("tests/servers/over_tls.py"))
        .args([certificates.join("server.pem"), certificates.join("server.key")])
        .args([host, port])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut listening = String::new();
    BufReader::new(tls.stdout.take().unwrap()).read_line(&mut listening).unwrap();
    let url = format!("https://localhost:{}/mcp", listening.trim());
    let unknown = runtime(&url, "");
    assert!(unknown.warnings().join("\n").contains("no TLS with `localhost`"), "{:?}", unknown.warnings());
    let known = runtime(&url, &format!("ca = \"{}\"", certificates.join("root.pem").display()));
    let outcome = call(&known, "echo_u32", json!({ "value": 7 })).await;
    assert_eq!(outcome.structured, Some(json!({ "result": 7 })), "{:?} {outcome:?}", known.warnings());
    drop((unknown, known));
    tls.kill().unwrap();
    tls.wait().unwrap();
}

#[tokio::test]
async fn many_calls_at_once_are_answered_each() {
    let line = CommandLine::new();
    let far = own(&line, &[]);
    let runtime = Arc::new(runtime(&format!("http://{}/mcp", far.address), "concurrent_calls = 16"));
    let calls = (0..200_u32).map(|value| {
        let runtime = Arc::clone(&runtime);
        tokio::spawn(async move { (value, call(&runtime, "echo_u32", json!({ "value": value })).await) })
    });
    for calling in calls.collect::<Vec<_>>() {
        let (value, outcome) = calling.await.unwrap();
        assert_eq!(outcome.structured, Some(json!({ "result": value })), "{outcome:?}");
    }
}
