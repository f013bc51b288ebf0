//! While `toolcell mcp --http` ends, probes and clients are told so, what its calls wait for still reaches them, and they finish.

use std::io::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::guest;
use toolcell_tests::http_client::{HttpRequest, HttpResponse, HttpServer};

fn until(what: &str, is: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
    }
}

#[test]
fn a_server_that_ends_is_not_ready_and_takes_no_more_requests() {
    let line = CommandLine::new();
    let probe = guest("probe");
    let text =
        format!("[server]\ndrain_timeout = \"10m\"\n[component.probe]\npath = \"{}\"\n", probe.display());
    line.write("toolcell.toml", text);
    let arguments = ["mcp", "--http", "127.0.0.1:0", "--config", "toolcell.toml", "--timeout", "10m"];
    let mut server = HttpServer::start(&mut line.command(&arguments));
    let session = server.initialize(json!({}), |request| request);
    let in_session = |message: &Value| {
        let request = HttpRequest::post(message).header("Mcp-Session-Id", &session);
        request.header("MCP-Protocol-Version", "2025-11-25")
    };
    let params = json!({ "name": "poll_forever", "arguments": {} });
    let call = in_session(&json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }));
    let mut connection = server.connect();
    connection.write_all(&call.bytes(&server.address)).unwrap();
    let metrics = || server.send(HttpRequest::new("GET", "/metrics")).text();
    until("it does not run", || metrics().contains("\ntoolcell_cells_running 1\n"));
    assert_eq!(server.send(HttpRequest::new("GET", "/readyz")).status, 200);
    server.terminate();
    until("it says that it is ready", || server.send(HttpRequest::new("GET", "/readyz")).status == 503);
    let mut ready = server.send(HttpRequest::new("GET", "/readyz"));
    assert_eq!(ready.text(), "{\"status\":\"ending\"}");
    assert_eq!(server.send(HttpRequest::new("GET", "/healthz")).status, 200, "it is alive");
    let ping = json!({ "jsonrpc": "2.0", "id": 8, "method": "ping" });
    let listing = HttpRequest::new("GET", "/mcp").header("Accept", "text/event-stream");
    for request in [
        in_session(&ping),
        HttpRequest::current(9, "tools/list", json!({}), json!({})),
        listing.header("Mcp-Session-Id", &session),
    ] {
        let mut refused = server.send(request);
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
        assert!(refused.text().contains("the server is ending"));
    }
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } });
    assert_eq!(server.send(in_session(&cancelled)).status, 202);
    assert_eq!(server.wait(), 0, "it ends with its last call");
    drop(HttpResponse::read(connection));
}
