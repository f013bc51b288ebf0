//! What a principal over HTTP answers about its calls holds for its calls: not for those of others, not by rule, and where
//! nobody has a name, not beyond the session.

use serde_json::{Value, json};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::http_client::{HttpRequest, HttpServer};

const ADA: &str = "ada-0123456789abcdef";
const BOB: &str = "bob-0123456789abcdef";

fn serving(line: &CommandLine, tokens: &str) -> HttpServer {
    let rule = "[[rule]]\ntools = [\"add\"]\naction = \"ask\"\nreason = \"who knows\"\n";
    let text = format!("[server]\n{tokens}[component.basics]\npath = \"builtin:basics\"\n{rule}");
    line.write("toolcell.toml", text);
    let arguments = ["mcp", "--http", "127.0.0.1:0", "--config", "toolcell.toml"];
    HttpServer::start(line.command(&arguments).env("ADA_TOKEN", ADA).env("BOB_TOKEN", BOB))
}

const TWO: &str = "tokens = { ada = { env = \"ADA_TOKEN\" }, bob = { env = \"BOB_TOKEN\" } }\n";

/// A call by a client that shows forms; an empty token is none.
fn calling(server: &HttpServer, token: &str, number: i64, more: &Value) -> Value {
    let mut params = json!({ "name": "add", "arguments": { "a": number, "b": 1 } });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let request = HttpRequest::current(1, "tools/call", params, json!({ "elicitation": {} }));
    let value = if token.is_empty() { String::new() } else { format!("Bearer {token}") };
    server.send(request.header("Authorization", &value)).answer()["result"].clone()
}

/// The answers that are offered to a question, which is then answered so, and what comes of it.
fn answering(server: &HttpServer, token: &str, number: i64, answer: &str) -> (Value, Value) {
    let asked = calling(server, token, number, &json!({}));
    let form = &asked["inputRequests"]["approval"]["params"];
    let offered = form["requestedSchema"]["properties"]["answer"]["enum"].clone();
    let given = json!({ "action": "accept", "content": { "answer": answer } });
    let back = json!({ "requestState": asked["requestState"], "inputResponses": { "approval": given } });
    (offered, calling(server, token, number, &back))
}

fn is_asked(result: &Value) -> bool {
    result["resultType"] == "input_required"
}

fn ran(result: &Value, number: i64) -> bool {
    result["structuredContent"]["result"] == number + 1
}

#[test]
fn a_principals_answer_approves_nothing_of_anothers() {
    let line = CommandLine::new();
    let server = serving(&line, TWO);
    let (offered, done) = answering(&server, ADA, 1, "always");
    assert_eq!(offered, json!(["no", "once", "session", "always"]));
    assert!(ran(&done, 1), "{done}");
    assert!(ran(&calling(&server, ADA, 1, &json!({})), 1), "it was always");
    assert!(is_asked(&calling(&server, BOB, 1, &json!({}))), "it is not Bob's");
    let listed = line.run(&["approvals", "list"]).stdout;
    assert!(listed.contains("always, for ada"), "{listed}");
    // Both may approve the same, and each takes back nothing of the other's.
    assert!(ran(&answering(&server, BOB, 1, "always").1, 1));
    assert!(ran(&calling(&server, ADA, 1, &json!({})), 1));
    assert_eq!(line.run(&["approvals", "list", "--json"]).json().as_array().map(Vec::len), Some(2));
    for answer in ["once", "session"] {
        assert!(ran(&answering(&server, ADA, 2, answer).1, 2));
        assert!(is_asked(&calling(&server, BOB, 2, &json!({}))), "{answer}");
    }
    // After another start too.
    drop(server);
    let server = serving(&line, TWO);
    assert!(ran(&calling(&server, ADA, 1, &json!({})), 1));
    let single = "tokens = { eve = { env = \"ADA_TOKEN\" } }\n";
    drop(server);
    let server = serving(&line, single);
    assert!(is_asked(&calling(&server, ADA, 1, &json!({}))), "the same token is another principal's");
}

#[test]
fn what_is_not_offered_is_a_no() {
    let line = CommandLine::new();
    let server = serving(&line, TWO);
    let refused = answering(&server, ADA, 1, "rule").1;
    assert_eq!(refused["_meta"]["toolcell/kind"], "denied", "{refused}");
    assert!(is_asked(&calling(&server, ADA, 2, &json!({}))));
    drop(server);
    // Whoever reaches a server without tokens has no name that anything could be bound to.
    let server = serving(&line, "");
    let (offered, refused) = answering(&server, "", 1, "always");
    assert_eq!(offered, json!(["no", "once"]), "without a session of its own it has everybody's");
    assert_eq!(refused["_meta"]["toolcell/kind"], "denied", "{refused}");
    assert_eq!(answering(&server, "", 1, "session").1["_meta"]["toolcell/kind"], "denied");
    assert!(ran(&answering(&server, "", 1, "once").1, 1));
    assert!(is_asked(&calling(&server, "", 1, &json!({}))), "it was once");
    assert_eq!(line.run(&["approvals", "list", "--json"]).json().as_array().map(Vec::len), Some(0));
}

#[test]
fn an_operators_answer_is_for_everybody() {
    let line = CommandLine::new();
    let server = serving(&line, TWO);
    let params = json!({ "name": "add", "arguments": { "a": 1, "b": 1 } });
    let request = HttpRequest::current(1, "tools/call", params, json!({}));
    let pending = server.send(request.header("Authorization", &format!("Bearer {ADA}"))).answer();
    let id = pending["result"]["_meta"]["toolcell/error"]["details"]["approval"].as_str().unwrap().to_owned();
    assert_eq!(line.run(&["approvals", "allow", &id, "--always"]).code, 0);
    for token in [ADA, BOB] {
        assert!(ran(&calling(&server, token, 1, &json!({})), 1));
    }
    assert!(is_asked(&calling(&server, BOB, 2, &json!({}))));
}
