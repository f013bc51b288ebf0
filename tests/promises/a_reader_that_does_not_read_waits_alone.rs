//! Answers that nobody reads wait, up to a bound in bytes, and make nobody else wait.

use std::io::Write as _;

use serde_json::{Value, json};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::guest;
use toolcell_tests::http_client::{HttpRequest, HttpResponse, HttpServer};

const ADA: &str = "ada-0123456789abcdef";
const BOB: &str = "bob-0123456789abcdef";

/// What all answers together would take several times over.
const BOUND: u64 = 450 << 20;

/// Bytes of one output.
const OUTPUT: usize = 15 << 20;

/// Requests whose answers nobody reads at first.
const REQUESTS: i64 = 40;

fn written(line: &CommandLine, server: &str) {
    let probe = guest("probe");
    line.write("toolcell.toml", format!("{server}[component.probe]\npath = \"{}\"\n", probe.display()));
}

fn handle_of(answer: &Value) -> String {
    let handle = &answer["result"]["_meta"]["toolcell/truncated"]["handle"];
    handle.as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn is_whole(answer: &Value) -> bool {
    answer["result"]["contents"][0]["text"].as_str().map(str::len) == Some(OUTPUT)
}

#[test]
fn over_http_a_principals_answers_are_bounded_and_anothers_are_not_held_up() {
    let line = CommandLine::new();
    written(
        &line,
        "[server]\ntokens = { ada = { env = \"A\" }, bob = { env = \"B\" } }\nwrite_timeout = \"10m\"\n",
    );
    let arguments = ["mcp", "--http", "127.0.0.1:0", "--config", "toolcell.toml"];
    let server = HttpServer::start(line.command(&arguments).env("A", ADA).env("B", BOB));
    let of = |token: &str, request: HttpRequest| request.header("Authorization", &format!("Bearer {token}"));
    let call = |bytes: usize| {
        let params = json!({ "name": "text", "arguments": { "bytes": bytes } });
        HttpRequest::current(1, "tools/call", params, json!({}))
    };
    let uri = format!("toolcell://output/{}", handle_of(&server.send(of(ADA, call(OUTPUT))).answer()));
    let reading = |id: i64| HttpRequest::current(id, "resources/read", json!({ "uri": uri }), json!({}));
    let deaf: Vec<_> = (0..REQUESTS)
        .map(|id| {
            let mut connection = server.connect();
            connection.write_all(&of(ADA, reading(id)).bytes(&server.address)).unwrap();
            connection
        })
        .collect();
    let beside = server.send(of(BOB, call(100))).answer();
    assert_eq!(beside["result"]["isError"], false, "{beside}");
    // Those that leave without having read anything give back what they took.
    let mut deaf = deaf.into_iter();
    drop(deaf.by_ref().take(10).collect::<Vec<_>>());
    // They are read at the same time: what is not read makes the others of its principal wait.
    std::thread::scope(|scope| {
        let reading: Vec<_> = deaf
            .map(|connection| scope.spawn(|| is_whole(&HttpResponse::read(connection).answer())))
            .collect();
        assert!(reading.into_iter().all(|whole| whole.join().unwrap()));
    });
    let peak = server.peak_memory();
    assert!((1..BOUND).contains(&peak), "{} MiB", peak >> 20);
}
