//! The server in a program that adds and removes tools: clients are told once for many changes, in both eras, and the next
//! list is right, page by page.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcell::server::mcp::serve;
use toolcell::{CancellationToken, NativeTool, Runtime};
use toolcell_tests::mcp_client::{Messages, current};
use toolcell_tests::scripted::{Scripted, definition};
use toolcell_tests::{builder, built};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

fn tool(name: impl Into<String>) -> NativeTool<String> {
    NativeTool::blocking(name, "Says its piece", |_: Nothing, _| Ok::<_, String>("piece".to_owned()))
}

/// A client in this process.
struct Client {
    input: UnixStream,
    messages: Messages,
}

impl Client {
    fn of(runtime: &Runtime) -> (Self, tokio::task::JoinHandle<toolcell::Result<()>>) {
        let (input, read) = UnixStream::pair().unwrap();
        let (written, output) = UnixStream::pair().unwrap();
        let serving = tokio::spawn(serve(runtime.clone(), read, written, CancellationToken::new()));
        (Self { input, messages: Messages::of(output) }, serving)
    }

    fn ask(&mut self, id: i64, method: &str, params: Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.input.write_all(format!("{message}\n").as_bytes()).unwrap();
        if method == "subscriptions/listen" { Value::Null } else { self.messages.answer(&json!(id)) }
    }
}

fn names(listed: &Value) -> Vec<String> {
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_changes_are_one_notification_and_the_list_is_right() {
    let runtime = built(builder().native(tool("first")));
    let (mut client, serving) = Client::of(&runtime);
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {} });
    client.ask(1, "initialize", hello);
    client.ask(
        2,
        "subscriptions/listen",
        json!({ "notifications": { "toolsListChanged": true }, "_meta": current(json!({})) }),
    );
    let acknowledged = client.messages.said("notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["notifications"], json!({ "toolsListChanged": true }));
    assert_eq!(names(&client.ask(3, "tools/list", json!({}))), ["first", "read_output"]);
    let mut added = Vec::new();
    for at in 0..100 {
        added.push(runtime.register_native(tool(format!("tool_{at:02}"))).unwrap());
    }
    let told = |of: &Value| of["method"] == "notifications/tools/list_changed";
    client.messages.next(|message| told(message) && message.get("params").is_none());
    let subscribed = client.messages.next(|message| told(message) && message.get("params").is_some());
    assert_eq!(subscribed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 2);
    assert_eq!(names(&client.ask(4, "tools/list", json!({}))).len(), 102);
    drop(added);
    assert_eq!(names(&client.ask(5, "tools/list", json!({}))), ["first", "read_output"]);
    let gone = client.ask(6, "tools/call", json!({ "name": "tool_00" }));
    assert_eq!(gone["error"]["code"], -32602, "{gone}");
    client.messages.next(|message| told(message) && message.get("params").is_none());
    drop(client.input);
    serving.await.unwrap().unwrap();
    let rest = client.messages.rest();
    let of_subscription = rest.iter().find(|message| message["id"] == 2).unwrap();
    assert_eq!(of_subscription["result"]["resultType"], "complete");
    assert!(rest.iter().filter(|message| told(message)).count() <= 4, "{rest:#?}");
}

/// A change of another server's tools is told where it changes what a client sees, and only there.
#[tokio::test(flavor = "multi_thread")]
async fn what_no_client_sees_is_not_told() {
    let server = Scripted::new(&[definition("change"), definition("hidden")]);
    let runtime = server.runtime("tools = [\"change\", \"new\"]");
    let (mut client, serving) = Client::of(&runtime);
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {} });
    client.ask(1, "initialize", hello);
    let mut changes = runtime.changes();
    // A tool that is off, since nobody has approved it, and another that was not wanted.
    server.script(json!({ "tools": [definition("change"), definition("new"), definition("other")] }));
    changes.borrow_and_update();
    assert_eq!(
        client.ask(2, "tools/call", json!({ "name": "change", "arguments": {} }))["result"]["isError"],
        false
    );
    tokio::time::timeout(Duration::from_secs(60), changes.changed()).await.unwrap().unwrap();
    // Changes are gathered for a tenth of a second before they are told.
    let told = |of: &Value| of["method"] == "notifications/tools/list_changed";
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(1) {
        client.input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":\"still\",\"method\":\"ping\"}\n").unwrap();
        let next = client.messages.next(|message| told(message) || message["id"] == "still");
        assert_eq!(next["id"], "still", "{next}");
    }
    let own = runtime.register_native(tool("own")).unwrap();
    client.messages.next(told);
    assert_eq!(names(&client.ask(3, "tools/list", json!({}))), ["change", "own", "read_output"]);
    drop((own, client.input));
    serving.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_list_comes_in_pages() {
    let all = (0..450).fold(builder(), |builder, at| builder.native(tool(format!("tool_{at:03}"))));
    let runtime = built(all);
    let (mut client, serving) = Client::of(&runtime);
    let mut seen: Vec<String> = Vec::new();
    let mut cursor = Value::Null;
    for page in 0..10 {
        let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        let listed = client.ask(page, "tools/list", params);
        seen.extend(names(&listed));
        cursor = listed["result"]["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert!(seen.len() == 451 && seen.is_sorted_by(|one, other| one < other), "{}", seen.len());
    drop(client.input);
    serving.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_reads_no_more_ends_its_connection() {
    let runtime = built(builder().native(tool("first")));
    let (input, read) = UnixStream::pair().unwrap();
    let (written, output) = UnixStream::pair().unwrap();
    let serving = tokio::spawn(serve(runtime.clone(), read, written, CancellationToken::new()));
    drop(output);
    let mut input = input;
    let ping = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    // The input stays open, and may be refused once the server has gone.
    while !serving.is_finished() {
        let _ = input.write_all(ping);
        tokio::task::yield_now().await;
    }
    serving.await.unwrap().unwrap();
}
