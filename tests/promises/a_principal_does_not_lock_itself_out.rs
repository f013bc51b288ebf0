//! However many requests of a principal wait, what they wait for reaches the server; and to listen is not to ask.

use std::io::Write as _;

use serde_json::{Value, json};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::http_client::{HttpRequest, HttpResponse, HttpServer};

fn serving(line: &CommandLine, server: &str) -> HttpServer {
    let rule = "[[rule]]\ntools = [\"add\"]\naction = \"ask\"\nreason = \"who knows\"\n";
    line.write(
        "toolcell.toml",
        format!("[server]\n{server}[component.basics]\npath = \"builtin:basics\"\n{rule}"),
    );
    HttpServer::start(&mut line.command(&["mcp", "--http", "127.0.0.1:0", "--config", "toolcell.toml"]))
}

fn opened(server: &HttpServer, request: &HttpRequest) -> HttpResponse {
    let mut stream = server.connect();
    stream.write_all(&request.bytes(&server.address)).unwrap();
    HttpResponse::read(stream)
}

#[test]
fn answers_and_cancellations_come_through_when_all_requests_wait() {
    let line = CommandLine::new();
    let server = serving(&line, "requests = 3\n");
    let session = server.initialize(json!({ "elicitation": {} }), |request| request);
    let in_session = |message: &Value| {
        let request = HttpRequest::post(message).header("Mcp-Session-Id", &session);
        request.header("MCP-Protocol-Version", "2025-11-25")
    };
    let call = |id: i64| {
        let params = json!({ "name": "add", "arguments": { "a": id, "b": 1 } });
        in_session(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
    };
    let mut asking: Vec<(HttpResponse, Value)> = (0..3)
        .map(|id| {
            let mut response = opened(&server, &call(id));
            let question = response.event();
            assert_eq!(question["method"], "elicitation/create", "{question}");
            (response, question["id"].clone())
        })
        .collect();
    let mut refused = server.send(call(9));
    assert!(refused.status == 429 && refused.text().contains("server.requests"), "all places are taken");
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 0 } });
    assert_eq!(server.send(in_session(&cancelled)).status, 202);
    for (id, (response, question)) in asking.iter_mut().enumerate().skip(1) {
        let yes = json!({ "action": "accept", "content": { "answer": "once" } });
        let answer = json!({ "jsonrpc": "2.0", "id": question, "result": yes });
        assert_eq!(server.send(in_session(&answer)).status, 202);
        assert_eq!(response.answer()["result"]["structuredContent"]["result"], id + 1);
    }
}

#[test]
fn streams_that_listen_take_no_place_of_requests() {
    let line = CommandLine::new();
    let server = serving(&line, "requests = 2\nsessions = 3\n");
    let listening = |id: i64| {
        let params = json!({ "notifications": { "toolsListChanged": true } });
        HttpRequest::current(id, "subscriptions/listen", params, json!({}))
    };
    let mut streams: Vec<HttpResponse> = (0..3).map(|id| opened(&server, &listening(id))).collect();
    for stream in &mut streams {
        assert_eq!(stream.event()["method"], "notifications/subscriptions/acknowledged");
    }
    let listed = server.send(HttpRequest::current(9, "tools/list", json!({}), json!({})));
    assert_eq!(listed.status, 200, "requests are served beside them");
    let mut refused = server.send(listening(4));
    assert!(
        refused.status == 429 && refused.text().contains("server.sessions"),
        "they have a bound of their own"
    );
    drop(streams);
    assert!((0..10_000).any(|id| server.send(listening(id)).status == 200), "their places are free again");
}
