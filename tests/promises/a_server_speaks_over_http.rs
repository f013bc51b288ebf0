//! `toolcell mcp --http` as clients of both eras see it: answers alone or in streams, sessions by handles of the server's,
//! questions, changes, and an end in order.

use std::io::{Read as _, Write as _};

use serde_json::{Value, json};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::guest;
use toolcell_tests::http_client::{HttpRequest, HttpResponse, HttpServer};

fn serving(line: &CommandLine, more: &[&str]) -> HttpServer {
    let probe = guest("probe");
    let probe = probe.to_string_lossy();
    let arguments = [&["mcp", "--http", "127.0.0.1:0", "--component", &probe], more].concat();
    HttpServer::start(&mut line.command(&arguments))
}

fn configured(line: &CommandLine, more: &str) -> HttpServer {
    let probe = guest("probe");
    line.write("toolcell.toml", format!("{more}\n[component.probe]\npath = \"{}\"\n", probe.display()));
    HttpServer::start(&mut line.command(&["mcp", "--http", "127.0.0.1:0", "--config", "toolcell.toml"]))
}

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_default()
}

fn call(name: &str, arguments: Value) -> Value {
    json!({ "name": name, "arguments": arguments })
}

fn message(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

/// A request of a session.
fn in_session(session: &str, message: &Value) -> HttpRequest {
    HttpRequest::post(message).header("Mcp-Session-Id", session).header("MCP-Protocol-Version", "2025-11-25")
}

fn current(id: impl Into<Value>, name: &str, arguments: Value) -> HttpRequest {
    HttpRequest::current(id, "tools/call", call(name, arguments), json!({}))
}

#[test]
fn both_eras_are_served_at_one_place() {
    let line = CommandLine::new();
    let server = serving(&line, &[]);
    // One that says everything itself needs no session, and gets none.
    let mut response = server.send(current(1, "echo_u32", json!({ "value": 5 })));
    assert_eq!((response.status, response.header("mcp-session-id")), (200, None));
    let answer = response.answer();
    assert_eq!((&answer["id"], &answer["result"]["structuredContent"]["result"]), (&json!(1), &json!(5)));
    let discovered = server.send(HttpRequest::current(2, "server/discover", json!({}), json!({}))).answer();
    assert_eq!(discovered["result"]["supportedVersions"].as_array().unwrap().len(), 5);
    // A handshake begins a session.
    let session = server.initialize(json!({}), |request| request);
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(server.send(in_session(&session, &initialized)).status, 202);
    let answer = server
        .send(in_session(&session, &message("a", "tools/call", call("echo_u32", json!({ "value": 6 })))))
        .answer();
    assert_eq!((&answer["id"], &answer["result"]["structuredContent"]["result"]), (&json!("a"), &json!(6)));
    // Errors of the protocol have a status in the current era.
    for (request, status, expected) in [
        (HttpRequest::current(1, "ping", json!({}), json!({})), 404, -32601),
        (HttpRequest::current(1, "no/such", json!({}), json!({})), 404, -32601),
        (current(1, "no_such", json!({})), 400, -32602),
        (current(1, "echo_u32", json!({})).header("Mcp-Name", "echo_u64"), 400, -32020),
        (current(1, "echo_u32", json!({})).header("Mcp-Method", "tools/list"), 400, -32020),
        (current(1, "echo_u32", json!({})).header("MCP-Protocol-Version", "2031-01-01"), 400, -32020),
        (current(1, "echo_u32", json!({})).header("MCP-Protocol-Version", ""), 400, -32020),
        (current(1, "echo_u32", json!({})).body("garbage"), 400, -32700),
        (current(1, "echo_u32", json!({})).body("[]"), 400, -32600),
        (HttpRequest::post(&message(1, "tools/list", json!({}))), 400, -32600),
        (
            in_session(&session, &message(1, "tools/list", json!({}))).header("MCP-Protocol-Version", "1"),
            400,
            -32602,
        ),
        (in_session("0123456789abcdef0123456789abcdef", &message(1, "tools/list", json!({}))), 404, -32600),
        (in_session(&session, &message(1, "no/such", json!({}))), 200, -32601),
    ] {
        let bytes = String::from_utf8(request.bytes("x")).unwrap();
        let mut response = server.send(request);
        let answer = response.answer();
        assert_eq!((response.status, code(&answer)), (status, expected), "{bytes}\n{answer}");
    }
}

#[test]
fn what_is_no_message_is_refused_by_its_headers() {
    let line = CommandLine::new();
    let server = serving(&line, &[]);
    let plain = || current(1, "echo_u32", json!({ "value": 1 }));
    for (request, status) in [
        (plain().header("Content-Type", "text/plain"), 415),
        (plain().header("Content-Type", ""), 415),
        (plain().header("Accept", "application/json"), 406),
        (plain().header("Accept", ""), 200),
        (plain().header("Accept", "*/*"), 200),
        (HttpRequest::new("PUT", "/mcp"), 405),
        (HttpRequest::new("GET", "/mcp").header("MCP-Protocol-Version", "2026-07-28"), 405),
        (HttpRequest::new("GET", "/mcp"), 400),
        (HttpRequest::new("DELETE", "/mcp"), 404),
        (HttpRequest::new("GET", "/"), 404),
        (HttpRequest::new("POST", "/healthz"), 405),
    ] {
        let bytes = String::from_utf8(request.bytes("x")).unwrap();
        assert_eq!(server.send(request).status, status, "{bytes}");
    }
}

#[test]
fn what_a_tool_says_comes_in_the_stream_of_its_call() {
    let line = CommandLine::new();
    let server = serving(&line, &[]);
    let session = server.initialize(json!({}), |request| request);
    let params =
        json!({ "name": "progress_many", "arguments": { "count": 3 }, "_meta": { "progressToken": "p" } });
    let mut response = server.send(in_session(&session, &message(1, "tools/call", params)));
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    let progress = response.event();
    assert_eq!(
        (&progress["method"], &progress["params"]["progressToken"]),
        (&json!("notifications/progress"), &json!("p"))
    );
    assert_eq!(response.answer()["result"]["isError"], false);
    assert_eq!(response.event(), Value::Null, "the answer is the end");
    // In the current era, only a request that names a level hears of the log.
    let logging = || json!({ "level": "warn", "text": "words", "count": 1 });
    let mut quiet = server.send(current(2, "log_many", logging()));
    assert_eq!(quiet.header("content-type"), Some("application/json"));
    assert_eq!(quiet.answer()["result"]["isError"], false);
    let mut params = call("log_many", logging());
    params["_meta"] = toolcell_tests::mcp_client::current(json!({}));
    params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("info");
    let loud = HttpRequest::post(&message(3, "tools/call", params));
    let loud = loud
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", "tools/call")
        .header("Mcp-Name", "log_many");
    assert_eq!(server.send(loud).event()["params"]["data"], "words");
}

#[test]
fn a_session_ends_with_its_deletion() {
    let line = CommandLine::new();
    let server = serving(&line, &["--timeout", "10m"]);
    let session = server.initialize(json!({}), |request| request);
    let other = server.initialize(json!({}), |request| request);
    assert_ne!(session, other);
    let get = |session: &str| {
        HttpRequest::new("GET", "/mcp")
            .header("Accept", "text/event-stream")
            .header("Mcp-Session-Id", session)
    };
    let mut stream = server.send(get(&session));
    assert_eq!((stream.status, stream.header("content-type")), (200, Some("text/event-stream")));
    let mut second = server.send(get(&session));
    assert_eq!(second.status, 200);
    let progress = json!({ "name": "poll_forever", "arguments": {} });
    let endless = in_session(&session, &message(1, "tools/call", progress));
    let mut connection = server.connect();
    connection.write_all(&endless.header("Connection", "close").bytes(&server.address)).unwrap();
    running(&server, 1);
    let delete = |session: &str| HttpRequest::new("DELETE", "/mcp").header("Mcp-Session-Id", session);
    assert_eq!(server.send(delete(&session)).status, 204);
    assert_eq!((stream.event(), second.event()), (Value::Null, Value::Null));
    let ended = HttpResponse::read(connection).answer();
    assert_eq!(ended["result"]["_meta"]["toolcell/kind"], "cancelled", "{ended}");
    assert_eq!(server.send(delete(&session)).status, 404);
    assert_eq!(server.send(in_session(&session, &message(1, "ping", json!({})))).status, 404);
    assert_eq!(server.send(in_session(&other, &message(1, "ping", json!({})))).status, 200);
}

/// Waits until that many cells run.
fn running(server: &HttpServer, count: usize) {
    let wanted = format!("\ntoolcell_cells_running {count}\n");
    for _ in 0..10_000 {
        if server.send(HttpRequest::new("GET", "/metrics")).text().contains(&wanted) {
            return;
        }
    }
    panic!("there are never {count} cells");
}

#[test]
fn a_client_that_goes_away_ends_its_call() {
    let line = CommandLine::new();
    let server = serving(&line, &["--fuel", "off", "--timeout", "10m"]);
    let session = server.initialize(json!({}), |request| request);
    for request in [
        current(1, "spin", json!({})),
        in_session(&session, &message(1, "tools/call", call("poll_forever", json!({})))),
    ] {
        let mut connection = server.connect();
        connection.write_all(&request.bytes(&server.address)).unwrap();
        running(&server, 1);
        drop(connection);
        running(&server, 0);
    }
    // And so does one that takes its call back.
    let mut connection = server.connect();
    let endless = in_session(&session, &message(7, "tools/call", call("poll_forever", json!({}))));
    connection.write_all(&endless.bytes(&server.address)).unwrap();
    running(&server, 1);
    let params = json!({ "requestId": 7 });
    let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    assert_eq!(server.send(in_session(&session, &cancelled)).status, 202);
    running(&server, 0);
    assert_eq!(HttpResponse::read(connection).answer(), Value::Null, "nobody waits for its answer");
}

const ASKS: &str = "[[rule]]\ntools = [\"echo_string\"]\naction = \"ask\"\nreason = \"who knows\"\n";

#[test]
fn a_question_comes_in_the_stream_and_its_answer_by_another_request() {
    let line = CommandLine::new();
    let server = configured(&line, ASKS);
    let session = server.initialize(json!({ "elicitation": {} }), |request| request);
    let other = server.initialize(json!({ "elicitation": {} }), |request| request);
    let asked = message(1, "tools/call", call("echo_string", json!({ "value": "a" })));
    let mut response = server.send(in_session(&session, &asked));
    let question = response.event();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let yes = json!({ "action": "accept", "content": { "answer": "once" } });
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": yes });
    // The same answer in another session is of no question there.
    assert_eq!(server.send(in_session(&other, &answer)).status, 202);
    assert_eq!(server.send(in_session(&session, &answer)).status, 202);
    assert_eq!(response.answer()["result"]["structuredContent"]["result"], "a");
}

#[test]
fn a_question_of_the_current_era_is_answered_by_coming_back() {
    let line = CommandLine::new();
    let server = configured(&line, ASKS);
    let asking = |id: i64, value: &str, more: Value| {
        let mut params = call("echo_string", json!({ "value": value }));
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        server.send(HttpRequest::current(id, "tools/call", params, json!({ "elicitation": {} })))
    };
    let open = asking(1, "a", json!({})).answer()["result"].clone();
    assert_eq!(open["resultType"], "input_required", "{open}");
    let given = json!({ "approval": { "action": "accept", "content": { "answer": "once" } } });
    let back = |state: &Value| json!({ "requestState": state, "inputResponses": given });
    let state = &open["requestState"];
    assert_eq!(asking(2, "b", back(state)).status, 400, "bound to the arguments");
    assert_eq!(asking(2, "a", back(&json!("o-0"))).status, 400);
    let done = asking(2, "a", back(state)).answer();
    assert_eq!(
        (&done["id"], &done["result"]["structuredContent"]["result"]),
        (&json!(2), &json!("a")),
        "{done}"
    );
    assert_eq!(asking(3, "a", back(state)).status, 400, "once");
}

#[test]
fn changed_tools_are_told_in_both_eras() {
    let line = CommandLine::new();
    let probe = guest("probe");
    let write = |tool: &str| {
        let text = format!("[component.probe]\npath = \"{}\"\ntools = [\"{tool}\"]\n", probe.display());
        line.write("toolcell.toml", text);
    };
    write("echo_u32");
    let server =
        HttpServer::start(&mut line.command(&["mcp", "--http", "127.0.0.1:0", "--config", "toolcell.toml"]));
    let session = server.initialize(json!({}), |request| request);
    let get = HttpRequest::new("GET", "/mcp").header("Accept", "text/event-stream");
    let mut stream = server.send(get.header("Mcp-Session-Id", &session));
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    let mut listening = server.send(HttpRequest::current("s", "subscriptions/listen", listen, json!({})));
    assert_eq!(listening.event()["method"], "notifications/subscriptions/acknowledged");
    write("echo_u64");
    assert_eq!(stream.event()["method"], "notifications/tools/list_changed");
    let told = listening.event();
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "s");
    let listed = server.send(in_session(&session, &message(1, "tools/list", json!({})))).answer();
    let names: Vec<&Value> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["echo_u64", "read_output"]);
    // Whoever listens later hears of what it has missed.
    let later = server.initialize(json!({}), |request| request);
    write("echo_u8");
    assert_eq!(stream.event()["method"], "notifications/tools/list_changed");
    let get = HttpRequest::new("GET", "/mcp").header("Accept", "text/event-stream");
    let mut missed = server.send(get.header("Mcp-Session-Id", &later));
    assert_eq!(missed.event()["method"], "notifications/tools/list_changed");
}

#[test]
fn a_session_has_several_streams_and_each_message_goes_to_one() {
    let line = CommandLine::new();
    let probe = guest("probe");
    let write = |tool: &str| {
        let text = format!("[component.probe]\npath = \"{}\"\ntools = [\"{tool}\"]\n", probe.display());
        line.write("toolcell.toml", text);
    };
    write("echo_u32");
    let server =
        HttpServer::start(&mut line.command(&["mcp", "--http", "127.0.0.1:0", "--config", "toolcell.toml"]));
    let session = server.initialize(json!({}), |request| request);
    let get = || {
        let get = HttpRequest::new("GET", "/mcp").header("Accept", "text/event-stream");
        server.send(get.header("Mcp-Session-Id", &session))
    };
    let mut streams: Vec<_> = (0..5).map(|_| get()).collect();
    assert_eq!(streams.remove(0).event(), Value::Null, "of five the oldest ends");
    write("echo_u64");
    let mut newest = streams.pop().unwrap();
    assert_eq!(newest.event()["method"], "notifications/tools/list_changed");
    drop(newest);
    write("echo_u8");
    let mut next = streams.pop().unwrap();
    assert_eq!(next.event()["method"], "notifications/tools/list_changed");
    assert_eq!(
        server.send(HttpRequest::new("DELETE", "/mcp").header("Mcp-Session-Id", &session)).status,
        204
    );
    streams.push(next);
    for mut stream in streams {
        assert_eq!(stream.event(), Value::Null, "nothing is told twice");
    }
}

#[test]
fn a_server_that_is_terminated_ends_its_calls_first() {
    let line = CommandLine::new();
    let mut server = configured(&line, "[server]\ndrain_timeout = \"1s\"\n");
    let session = server.initialize(json!({}), |request| request);
    let get = HttpRequest::new("GET", "/mcp")
        .header("Accept", "text/event-stream")
        .header("Mcp-Session-Id", &session);
    let mut stream = server.send(get);
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    let mut listening = server.send(HttpRequest::current("s", "subscriptions/listen", listen, json!({})));
    assert_eq!(listening.event()["method"], "notifications/subscriptions/acknowledged");
    let mut connections: Vec<_> = ["poll_forever", "sleep"]
        .map(|name| {
            let arguments = if name == "sleep" { json!({ "ms": 300 }) } else { json!({}) };
            let mut connection = server.connect();
            connection.write_all(&current(name, name, arguments).bytes(&server.address)).unwrap();
            connection
        })
        .into();
    running(&server, 2);
    server.terminate();
    assert_eq!(stream.event(), Value::Null);
    assert_eq!(listening.answer()["result"]["resultType"], "complete");
    let slept = HttpResponse::read(connections.pop().unwrap()).answer();
    assert_eq!(slept["result"]["isError"], false, "{slept}");
    let ended = HttpResponse::read(connections.pop().unwrap()).answer();
    assert_eq!(ended["result"]["_meta"]["toolcell/kind"], "cancelled", "{ended}");
    assert_eq!(server.wait(), 0);
}

#[test]
fn many_requests_on_one_connection_are_answered_in_order() {
    let line = CommandLine::new();
    let server = serving(&line, &[]);
    let mut connection = server.connect();
    let mut sending = connection.try_clone().unwrap();
    let address = server.address.clone();
    let text = |at: usize| format!("{at}:{}", "é".repeat((at * 109) % (32 << 10)));
    let sender = std::thread::spawn(move || {
        for at in 0..300 {
            let mut request = current(at, "echo_string", json!({ "value": text(at) }));
            if at == 299 {
                request = request.header("Connection", "close");
            }
            // In pieces that end anywhere, inside of characters as well.
            request.bytes(&address).chunks(7919).for_each(|piece| sending.write_all(piece).unwrap());
        }
    });
    let mut all = Vec::new();
    connection.read_to_end(&mut all).unwrap();
    sender.join().unwrap();
    let mut rest = all.as_slice();
    for at in 0..300 {
        let end = rest.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        let head = String::from_utf8_lossy(&rest[..end]).to_ascii_lowercase();
        let length = head.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap();
        let (body, after) = rest[end..].split_at(length.parse().unwrap());
        let answer: Value = serde_json::from_slice(body).unwrap();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(answer["id"] == at && text.starts_with(&format!("{at}:")), "{at}");
        rest = after;
    }
    assert_eq!(rest, b"");
}
