//! A program calls tools by JSON lines: each reply has its request's id, what tools say comes while they run, and no line,
//! whatever is in it, keeps the next one from being answered.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};
use toolcell::server::jsonl::{AskClient, JsonLines, schema};
use toolcell::{Grant, Limits};
use toolcell_tests::command_line::{CommandLine, binary, ended};
use toolcell_tests::{builder, built, guest, probe, repository};

use super::validators::Validators;

/// The program at the other end of the server's pipes.
struct Client {
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    requests: Validators,
    replies: Validators,
    _line: CommandLine,
}

/// The schema of one direction.
fn direction(name: &str) -> Validators {
    let mut schema = schema();
    schema.as_object_mut().unwrap().remove("anyOf");
    schema["$ref"] = json!(format!("#/$defs/{name}"));
    Validators::new(&schema)
}

const RULES: &str = r#"
[component.basics]
path = "builtin:basics"
group = "sums"
[[rule]]
tools = ["echo"]
action = "ask"
reason = "who is there"
"#;

impl Client {
    fn new() -> Self {
        Self::with(&[])
    }

    fn with(flags: &[&str]) -> Self {
        let line = CommandLine::new();
        let probe = guest("probe");
        line.write(
            "toolcell.toml",
            format!("[component.probe]\npath = {probe:?}\ngroup = \"probes\"\n{RULES}"),
        );
        let mut command = line.command(&[&["jsonl", "--config", "toolcell.toml"], flags].concat());
        let mut server =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (input, output) = (server.stdin.take(), BufReader::new(server.stdout.take().unwrap()));
        let (requests, replies) = (direction("Request"), direction("Reply"));
        Self { server, input, output, requests, replies, _line: line }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Sends a request, which the schema must know.
    fn send(&mut self, request: Value) {
        assert_eq!(self.requests.violations(&request), Vec::<String>::new(), "{request}");
        self.write(format!("{request}\n").as_bytes());
    }

    /// The next line, which the schema must know.
    fn reply(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "the output ended at `{line}`");
        let reply: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(self.replies.violations(&reply), Vec::<String>::new(), "{reply}");
        reply
    }

    /// The replies up to the first of this kind to this request, which is the last.
    fn until(&mut self, kind: &str, id: &Value) -> Vec<Value> {
        let mut replies = Vec::new();
        loop {
            let reply = self.reply();
            let is_last = reply["type"] == kind && reply["id"] == *id;
            replies.push(reply);
            if is_last {
                return replies;
            }
        }
    }

    fn ask(&mut self, request: Value) -> Value {
        self.send(request);
        self.reply()
    }

    /// Cancels a call; its result, which may come before or after that of the request.
    fn cancel(&mut self, id: impl Into<Value>, call: Value) -> Value {
        let id = id.into();
        self.send(json!({ "type": "cancel", "id": id, "call": call }));
        let mut replies = vec![self.reply(), self.reply()];
        replies.sort_by_key(|reply| reply["id"] == call);
        assert_eq!(replies[0], json!({ "type": "result", "id": id }));
        assert_eq!((&replies[1]["type"], &replies[1]["id"]), (&json!("result"), &call));
        replies.remove(1)
    }

    /// Ends the input; the rest of the output, the exit code, and what was said beside.
    fn end(mut self) -> (Vec<Value>, i32, String) {
        drop(self.input.take());
        let mut rest = Vec::new();
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            let reply: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(self.replies.violations(&reply), Vec::<String>::new(), "{reply}");
            rest.push(reply);
            line.clear();
        }
        let output = self.server.wait_with_output().unwrap();
        (rest, output.status.code().unwrap_or(-1), String::from_utf8(output.stderr).unwrap())
    }
}

fn call(id: impl Into<Value>, name: &str, arguments: Value) -> Value {
    json!({ "type": "call", "id": id.into(), "name": name, "arguments": arguments })
}

fn kinds(replies: &[Value]) -> Vec<&str> {
    replies.iter().map(|reply| reply["type"].as_str().unwrap()).collect()
}

#[test]
fn every_id_comes_back_as_it_was_with_its_own_result() {
    let mut client = Client::new();
    let long = "ü".repeat(4096);
    let ids = [json!(1), json!("1"), json!(0), json!(-1), json!(9_007_199_254_740_993_u64), json!(u64::MAX)];
    let ids: Vec<Value> = ids.into_iter().chain([json!(i64::MIN), json!(long), json!("\u{0}\"\n")]).collect();
    for (at, id) in ids.iter().enumerate() {
        client.send(call(id.clone(), "add", json!({ "a": at, "b": 0.5 })));
    }
    let replies: Vec<Value> = (0..ids.len() * 2).map(|_| client.reply()).collect();
    for (at, id) in ids.iter().enumerate() {
        let own: Vec<Value> = replies.iter().filter(|reply| reply["id"] == *id).cloned().collect();
        assert_eq!(kinds(&own), ["start", "result"], "{id}");
        assert_eq!(own[1]["outcome"]["id"], *id);
        assert_eq!(own[1]["outcome"]["structured"]["result"].as_f64().unwrap(), at as f64 + 0.5);
    }
    assert_eq!(client.end(), (Vec::new(), 0, String::new()));
}

#[test]
fn what_a_tool_says_comes_while_it_runs_and_other_calls_run_beside_it() {
    let mut client = Client::new();
    client.send(call("slow", "emit_and_spin", json!({ "text": "half" })));
    let chunk = client.until("chunk", &json!("slow"));
    assert_eq!(kinds(&chunk), ["start", "chunk"]);
    assert_eq!(chunk[1]["content"], json!({ "type": "text", "text": "half" }));
    // The first one still runs, and the others are answered.
    client.send(call(1, "progress_many", json!({ "count": 4 })));
    let replies = client.until("result", &json!(1));
    assert_eq!(kinds(&replies), ["start", "progress", "progress", "progress", "progress", "result"]);
    client.send(call(2, "log_many", json!({ "level": "warn", "text": "a \u{1b}[31mred", "count": 2 })));
    let replies = client.until("result", &json!(2));
    assert_eq!(kinds(&replies), ["start", "log", "log", "result"]);
    assert_eq!((&replies[1]["stream"], &replies[1]["text"]), (&json!("warn"), &json!("a red")));
    assert_eq!(client.ask(json!({ "type": "hello", "id": 3 }))["protocol"], 1);
    let end = client.cancel(4, json!("slow"));
    assert_eq!(end["outcome"]["error"]["kind"], "cancelled");
    assert_eq!(end["outcome"]["content"][0]["text"], "half", "what was said is kept");
    let gone = client.ask(json!({ "type": "cancel", "id": 5, "call": "slow" }));
    assert_eq!((&gone["id"], &gone["kind"]), (&json!(5), &json!("not_found")));
    assert_eq!(client.end().1, 0);
}

#[test]
fn an_id_in_flight_is_not_taken_twice_and_is_free_afterwards() {
    let mut client = Client::new();
    client.send(call(7, "spin", json!({})));
    assert_eq!(client.reply()["type"], "start");
    for request in [call(7, "add", json!({})), json!({ "type": "list", "id": 7 })] {
        let refused = client.ask(request);
        // An error with the id would be the end of the call that runs.
        assert_eq!((&refused["id"], &refused["kind"]), (&Value::Null, &json!("id_in_use")));
        assert!(refused["message"].as_str().unwrap().contains("the id 7 is in flight"));
    }
    client.cancel("x", json!(7));
    for _ in 0..20 {
        client.send(call(7, "add", json!({ "a": 1, "b": 1 })));
        assert_eq!(kinds(&client.until("result", &json!(7))), ["start", "result"]);
    }
    assert_eq!(client.end().1, 0);
}

#[test]
fn each_answer_to_a_question_reaches_as_far_as_it_says() {
    let mut client = Client::new();
    let asked = |client: &mut Client, id: u64, session: &str| -> Option<String> {
        client.send(json!({ "type": "call", "id": id, "name": "echo", "session": session,
            "arguments": { "text": session } }));
        assert_eq!(client.reply()["type"], "start");
        let reply = client.reply();
        if reply["type"] == "result" {
            assert_eq!(reply["outcome"]["status"], "success");
            return None;
        }
        assert_eq!((&reply["type"], &reply["id"]), (&json!("approval"), &json!(id)));
        assert_eq!(reply["arguments"], json!({ "text": session }));
        assert_eq!(reply["question"]["reasons"][0]["text"], "who is there");
        assert_eq!(reply["answers"], json!(["deny", "once", "session", "always", "rule"]));
        Some(reply["approval"].as_str().unwrap().to_owned())
    };
    let mut id = 0;
    let scopes = [("deny", true), ("once", true), ("session", false), ("always", false), ("rule", false)];
    for (answer, is_asked_again) in scopes {
        id += 10;
        let approval = asked(&mut client, id, answer).unwrap();
        client.send(json!({ "type": "approve", "id": id + 1, "approval": approval, "answer": answer,
            "reason": "not now" }));
        let replies = [client.reply(), client.reply()];
        assert!(replies.iter().any(|reply| *reply == json!({ "type": "result", "id": id + 1 })));
        let outcome = &replies.iter().find(|reply| reply["id"] == id).unwrap()["outcome"];
        if answer == "deny" {
            assert_eq!(outcome["error"]["kind"], "denied");
            assert!(outcome["error"]["message"].as_str().unwrap().contains("not now"));
        } else {
            assert_eq!(outcome["content"][0]["text"], answer);
        }
        // Answered once is answered.
        let again =
            client.ask(json!({ "type": "approve", "id": id + 2, "approval": approval, "answer": "once" }));
        assert_eq!(again["kind"], "not_found");
        let approval = asked(&mut client, id + 3, answer);
        assert_eq!(approval.is_some(), is_asked_again, "{answer}");
        if approval.is_some() {
            client.cancel(id + 4, json!(id + 3));
        }
    }
    assert_eq!(client.end(), (Vec::new(), 0, String::new()));
}

#[test]
fn a_question_without_an_answer_at_the_end_of_input_is_a_no() {
    let mut client = Client::new();
    client.send(call(1, "echo", json!({ "text": "x" })));
    client.until("approval", &json!(1));
    let (rest, code, _) = client.end();
    assert_eq!((kinds(&rest), code), (vec!["result"], 0));
    assert_eq!(rest[0]["outcome"]["error"]["kind"], "denied");
    let mut yes = Client::with(&["--yes"]);
    yes.send(call(1, "echo", json!({ "text": "x" })));
    assert_eq!(kinds(&yes.until("result", &json!(1))), ["start", "result"]);
}

#[test]
fn a_batch_gives_its_outcomes_in_order_and_says_which_call_speaks_or_is_asked_about() {
    let mut client = Client::new();
    client.send(json!({ "type": "batch", "id": "b", "session": "s", "timeout": "10s", "calls": [
        { "id": 1, "name": "emit_many", "arguments": { "count": 2, "bytes": 3 } },
        { "id": "1", "name": "echo", "arguments": "{\"text\":\"hi\"}", "meta": { "k": "v" } },
        { "id": 1, "name": "add", "arguments": { "a": 1, "b": 1 } },
        { "id": 2, "name": "ad", "arguments": {} },
        { "id": 3, "name": "progress_many", "arguments": { "count": 1 } },
    ] }));
    let replies = client.until("approval", &json!("b"));
    assert_eq!(kinds(&replies), ["start", "chunk", "chunk", "approval"]);
    assert!(replies[1..3].iter().all(|reply| reply["call"] == 1));
    assert_eq!(replies[3]["call"], "1");
    let approval = &replies[3]["approval"];
    client.send(json!({ "type": "approve", "id": "y", "approval": approval, "answer": "once" }));
    let replies = client.until("result", &json!("b"));
    assert!(replies.iter().any(|reply| reply["type"] == "progress" && reply["call"] == 3));
    let outcomes = replies.last().unwrap()["outcomes"].as_array().unwrap();
    let ids: Vec<&Value> = outcomes.iter().map(|outcome| &outcome["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!("1"), &json!(1), &json!(2), &json!(3)]);
    let kinds: Vec<&Value> = outcomes.iter().map(|outcome| &outcome["error"]["kind"]).collect();
    assert_eq!(
        kinds,
        [&Value::Null, &Value::Null, &json!("invalid_arguments"), &json!("unknown_tool"), &Value::Null]
    );
    assert_eq!(outcomes[1]["content"][0]["text"], "hi");
}

#[test]
fn a_call_of_a_batch_that_is_none_is_refused_in_its_place_and_the_others_run() {
    let mut client = Client::new();
    let long = "i".repeat(5000);
    let cases = [
        (json!({ "id": 1, "name": "add", "arguments": { "a": 1, "b": 1 } }), json!(1), None),
        (json!({ "id": "x", "name": "add", "argumens": {} }), json!("x"), Some("unknown field `argumens`")),
        (json!({ "id": "x", "name": "add", "argumens": {} }), json!("x"), Some("did you mean `arguments`?")),
        (
            json!({ "id": 1.5, "name": "add" }),
            Value::Null,
            Some("`calls[3]`: `id`: invalid type: floating point"),
        ),
        (json!({ "id": "", "name": "add" }), Value::Null, Some("`id`: invalid length 0")),
        (json!({ "id": long, "name": "add" }), Value::Null, Some("`id`: invalid length 5000")),
        (json!({ "name": "add" }), Value::Null, Some("missing field `id`")),
        (json!({ "id": "n" }), json!("n"), Some("missing field `name`")),
        (json!({ "id": "m", "name": "add", "meta": { "k": 1 } }), json!("m"), Some("`meta`: invalid type")),
        (json!({ "id": "s", "name": "add", "session": "s" }), json!("s"), Some("unknown field `session`")),
        (json!("add\u{1b}[2J"), Value::Null, Some("a call is an object")),
        (json!({ "id": 2, "name": "add", "arguments": { "a": 2, "b": 2 } }), json!(2), None),
    ];
    let calls: Vec<&Value> = cases.iter().map(|(call, _, _)| call).collect();
    client.write(format!("{}\n", json!({ "type": "batch", "id": "b", "calls": calls })).as_bytes());
    let replies = client.until("result", &json!("b"));
    let outcomes = replies.last().unwrap()["outcomes"].as_array().unwrap();
    assert_eq!(outcomes.len(), cases.len());
    for (outcome, (call, id, told)) in outcomes.iter().zip(&cases) {
        assert_eq!(outcome["id"], *id, "{call}: {outcome}");
        let (kind, message) = (&outcome["error"]["kind"], outcome["error"]["message"].as_str());
        match told {
            None => assert_eq!(outcome["status"], "success", "{outcome}"),
            Some(told) => {
                assert_eq!(*kind, "invalid_arguments", "{call}: {outcome}");
                let message = message.unwrap();
                assert!(message.contains(told) && message.len() < 1000, "{call}: {message}");
            }
        }
    }
}

#[test]
fn tools_are_listed_exported_and_switched_for_one_session() {
    let mut client = Client::new();
    let names = |reply: &Value| -> Vec<String> {
        assert_eq!(reply["type"], "tools", "{reply}");
        let tools = reply["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let all = names(&client.ask(json!({ "type": "list", "id": 1 })));
    assert!(all.is_sorted() && all.contains(&"add".to_owned()) && all.contains(&"spin".to_owned()));
    let export = client.ask(json!({ "type": "export", "id": 2, "format": "anthropic", "strict": false }));
    assert_eq!(names(&export), all);
    let line = CommandLine::new();
    let basics = line.run(&["export", "--format", "anthropic", "--component", "builtin:basics"]).json();
    for tool in basics.as_array().unwrap() {
        assert!(export["tools"].as_array().unwrap().contains(tool), "{tool}");
    }
    let off = json!({ "type": "groups", "id": 3, "session": "s", "deactivate": ["probes"] });
    assert_eq!(names(&client.ask(off)), ["add", "calculate", "echo", "multiply"]);
    client.send(json!({ "type": "call", "id": 4, "name": "spin", "session": "s" }));
    assert_eq!(client.until("result", &json!(4))[1]["outcome"]["error"]["kind"], "tool_inactive");
    assert_eq!(names(&client.ask(json!({ "type": "list", "id": 5, "session": "t" }))), all);
    assert_eq!(names(&client.ask(json!({ "type": "list", "id": 6 }))), all);
    for (wrong, kind) in [
        (json!({ "type": "groups", "id": 7, "session": "s", "activate": ["probes", "gone"] }), "not_found"),
        (json!({ "type": "groups", "id": 7, "activate": ["sums"], "deactivate": ["sums"] }), "invalid"),
    ] {
        assert_eq!(client.ask(wrong)["kind"], kind);
    }
    let still = client.ask(json!({ "type": "list", "id": 8, "session": "s" }));
    assert_eq!(names(&still).len(), 4, "all groups of a request are switched, or none");
    let on = json!({ "type": "groups", "id": 9, "session": "s", "activate": ["probes"] });
    assert_eq!(names(&client.ask(on)), all);
}

#[test]
fn a_bad_line_gets_its_error_and_the_next_line_its_answer() {
    let mut client = Client::new();
    client.write("\u{feff}{\"type\":\"hello\",\"id\":\"first\"}\r\n".as_bytes());
    assert_eq!(client.reply()["id"], "first", "a mark before the first line, and CRLF, are no fault");
    let cases = include_str!("cases/jsonl/bad-lines.txt");
    let mut count = 0;
    for case in cases.lines().skip(1) {
        let (line, expected) = case.split_once(" ⇒ ").unwrap();
        let mut expected = expected.splitn(3, ' ');
        let mut next = || expected.next().unwrap();
        if let Ok(value) = serde_json::from_str(line)
            && !line.contains("soon")
            && !line.contains("\"id\":2}")
        {
            assert!(!client.requests.is_valid(&value), "{line} fits the schema");
        }
        client.write(format!("{line}\n").as_bytes());
        let error = client.reply();
        assert_eq!(
            (error["type"].as_str(), error["id"].to_string().as_str()),
            (Some("error"), next()),
            "{line}"
        );
        assert_eq!(error["kind"], next(), "{line}: {error}");
        let told = next();
        assert!(error["message"].as_str().unwrap().contains(told), "{line}: {error}");
        assert_eq!(client.ask(json!({ "type": "hello", "id": count }))["id"], count);
        count += 1;
    }
    assert!(count > 30);
    for bytes in
        [&b"\xff\xfe\n"[..], b"\xef\xbb\xbf{\"type\":\"hello\",\"id\":1}\n", b"{\"id\":\"\xed\xa0\x80\"}\n"]
    {
        client.write(bytes);
        assert_eq!(client.reply()["kind"], "unreadable", "{bytes:?}");
    }
    let deep = format!(
        "{{\"type\":\"call\",\"id\":1,\"name\":\"add\",\"arguments\":{}1{}}}",
        "[".repeat(200),
        "]".repeat(200)
    );
    client.write(format!("{deep}\n").as_bytes());
    assert!(client.reply()["message"].as_str().unwrap().contains("nests deeper"));
    client.write(&[&vec![b'x'; 34 << 20][..], b"\n"].concat());
    assert!(client.reply()["message"].as_str().unwrap().contains("more than"));
    client.write(br#"{"type":"hello","id":"without an end"}"#);
    let (rest, code, said) = client.end();
    assert_eq!(
        (rest[0]["id"].as_str(), rest.len(), code, said),
        (Some("without an end"), 1, 0, String::new())
    );
}

#[test]
fn at_the_end_of_input_calls_finish_or_end_within_their_deadline() {
    let mut client = Client::new();
    client.send(json!({ "type": "call", "id": 1, "name": "spin", "timeout": "300ms" }));
    client.send(call(2, "sleep", json!({ "ms": 200 })));
    let (rest, code, said) = client.end();
    assert_eq!((code, said), (0, String::new()));
    let result = |id: u64| rest.iter().find(|reply| reply["type"] == "result" && reply["id"] == id).unwrap();
    assert_eq!(result(1)["outcome"]["error"]["kind"], "timeout");
    assert_eq!(result(2)["outcome"]["status"], "success");
}

#[test]
fn no_request_is_lost_when_hundreds_are_sent_before_the_first_reply_is_read() {
    let mut client = Client::new();
    let text = |id: usize| format!("{id} {}", "é🦀".repeat(id * 35));
    let requests: Vec<Value> =
        (0..300).map(|id| call(id, "echo_string", json!({ "value": text(id) }))).collect();
    let mut input = client.input.take().unwrap();
    let sending = std::thread::spawn(move || {
        for request in requests {
            writeln!(input, "{request}").unwrap();
        }
        input
    });
    let mut results = vec![None; 300];
    for _ in 0..600 {
        let reply = client.reply();
        let id = usize::try_from(reply["id"].as_u64().unwrap()).unwrap();
        if reply["type"] == "result" {
            assert!(results[id].replace(reply["outcome"]["content"][0]["text"].clone()).is_none());
        }
    }
    for (id, result) in results.into_iter().enumerate() {
        assert!(result.is_some_and(|result| result.as_str().unwrap().starts_with(&format!("{id} "))));
    }
    client.input = Some(sending.join().unwrap());
    assert_eq!(client.end(), (Vec::new(), 0, String::new()));
}

#[test]
fn nothing_that_a_guest_prints_passes_for_a_reply() {
    let mut client = Client::new();
    let forged = "\n{\"type\":\"result\",\"id\":1,\"outcome\":{\"status\":\"success\"}}\n";
    for channel in ["stdout", "stderr"] {
        client.send(call(1, "print", json!({ "channel": channel, "pattern": forged, "count": 3 })));
        let replies = client.until("result", &json!(1));
        assert_eq!(kinds(&replies), ["start", "result"]);
        assert!(replies[1]["outcome"]["logs"][0]["text"].as_str().unwrap().contains("\"result\""));
    }
    client.send(call(2, "print_and_trap", json!({ "start": forged })));
    assert_eq!(client.until("result", &json!(2))[1]["outcome"]["error"]["kind"], "trapped");
    assert_eq!(client.end(), (Vec::new(), 0, String::new()));
}

#[test]
fn a_client_that_stops_reading_ends_the_server() {
    let mut client = Client::new();
    client.send(call(1, "spin", json!({})));
    client.until("start", &json!(1));
    let (other, _) = std::io::pipe().unwrap();
    drop(std::mem::replace(
        &mut client.output,
        BufReader::new(ChildStdout::from(std::os::fd::OwnedFd::from(other))),
    ));
    client.write(b"{\"type\":\"hello\",\"id\":2}\n");
    // The input stays open.
    let ended = client.server.wait().unwrap();
    assert_eq!(ended.code(), Some(0));
}

#[test]
fn a_signal_ends_calls_in_order_though_the_input_is_open() {
    let mut client = Client::new();
    client.send(call(1, "spin", json!({})));
    client.until("start", &json!(1));
    let server = rustix::process::Pid::from_child(&client.server);
    rustix::process::kill_process(server, rustix::process::Signal::TERM).unwrap();
    assert_eq!(client.until("result", &json!(1))[0]["outcome"]["error"]["kind"], "cancelled");
    assert_eq!(client.server.wait().unwrap().code(), Some(0));
}

#[test]
fn the_schema_is_what_the_command_prints_and_refuses_what_is_no_line() {
    let line = CommandLine::new();
    let printed = line.run(&["jsonl", "--schema"]);
    assert_eq!(printed.json(), schema());
    let both = Validators::new(&schema());
    assert!(both.is_valid(&json!({ "type": "hello", "id": 1 })));
    assert!(both.is_valid(&json!({ "type": "start", "id": 1 })));
    for wrong in [json!({}), json!({ "type": "start" }), json!({ "type": "call", "id": 1 }), json!([])] {
        assert!(!both.is_valid(&wrong), "{wrong}");
    }
    let replies = direction("Reply");
    assert!(!replies.is_valid(&json!({ "type": "chunk", "id": 1, "content": { "type": "text" } })));
}

#[test]
fn the_example_in_python_needs_nothing_but_its_standard_library() {
    let line = CommandLine::new();
    let example = repository().join("runtime/examples/jsonl.py");
    assert!(std::fs::read_to_string(&example).unwrap().lines().count() <= 35);
    let mut python = line.program("/usr/bin/env");
    let folder = binary().parent().unwrap().to_owned();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    python.env("PATH", path).args(["python3", "-I", "-B"]).arg(example);
    let ended = ended(&mut python);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    let mut lines: Vec<&str> = ended.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["1 + 1 = 2", "2 + 2 = 4", "3 + 3 = 6"]);
}

#[tokio::test]
async fn an_embedder_serves_several_clients_each_asked_about_its_own_calls() {
    let rule = toolcell::policy::Rule::ask("echo_string");
    let runtime =
        built(builder().component(probe(Grant::none(), Limits::new())).rule(rule).approver(AskClient));
    let direct = runtime.call(toolcell::ToolCall::new("echo_string", json!({ "value": "x" }))).await;
    assert_eq!(direct.error_kind(), Some(toolcell::ErrorKind::Denied), "a call of no client asks nobody");
    let of_embedder = runtime.clone();
    let server = JsonLines::new(runtime).sessions(move |name| of_embedder.session(format!("tenant/{name}")));
    let one_client = async |answer: &str| {
        let (mine, theirs) = tokio::io::duplex(4096);
        let (input, output) = tokio::io::split(theirs);
        let client = async {
            use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _};
            let (read, mut write) = tokio::io::split(mine);
            let mut lines = tokio::io::BufReader::new(read).lines();
            let request = json!({ "type": "call", "id": answer, "name": "echo_string", "session": "s",
                "arguments": { "value": answer } });
            write.write_all(format!("{request}\n").as_bytes()).await.unwrap();
            loop {
                let reply: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
                assert!(reply["id"] == answer || reply["id"] == 2, "{reply}");
                if reply["type"] == "approval" {
                    assert_eq!(reply["question"]["session"], "tenant/s");
                    let answer = json!({ "type": "approve", "id": 2, "approval": reply["approval"],
                        "answer": answer });
                    write.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
                } else if !reply["outcome"].is_null() {
                    write.shutdown().await.unwrap();
                    return reply["outcome"]["status"].clone();
                }
            }
        };
        let (served, status) = tokio::join!(server.serve(input, output), client);
        served.unwrap();
        status
    };
    let (one, other) = tokio::join!(one_client("once"), one_client("deny"));
    assert_eq!((one, other), (json!("success"), json!("denied")));
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

/// The outcomes of requests that are all there before the first is read, by id.
async fn outcomes_of(server: &JsonLines, requests: &[Value]) -> std::collections::BTreeMap<String, Value> {
    let input: String = requests.iter().map(|request| format!("{request}\n")).collect();
    let mut output = Vec::new();
    server.serve(input.as_bytes(), &mut output).await.unwrap();
    let replies = output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let replies = replies.map(|line| serde_json::from_slice::<Value>(line).unwrap());
    replies.filter(|reply| reply["type"] == "result").map(|reply| (reply["id"].to_string(), reply)).collect()
}

#[tokio::test]
async fn a_line_that_switches_groups_holds_for_the_lines_after_it_alone() {
    let said = |name: &'static str| {
        toolcell::NativeTool::new(name, "Says it.", |_: Nothing, _| async {
            Ok::<_, String>("said".to_owned())
        })
    };
    let runtime = built(
        builder()
            .native(said("git_log").group("git"))
            .native(said("plain"))
            .activate_group_tool()
            .inactive_group("off")
            .native(said("later").group("off")),
    );
    let server = JsonLines::new(runtime);
    let groups = |id: &str, key: &str| json!({ "type": "groups", "id": id, "session": "s", key: ["git"] });
    let log = |id: &str| json!({ "type": "call", "id": id, "name": "git_log", "session": "s" });
    let batch = json!({ "type": "batch", "id": "batch", "session": "s", "calls": [
        { "id": 1, "name": "plain" },
        { "id": 2, "name": "git_log" },
        { "id": 3, "name": "activate_group", "arguments": { "group": "off" } },
        { "id": 4, "name": "later" },
    ] });
    let requests = [
        log("before"),
        batch,
        groups("off", "deactivate"),
        log("between"),
        groups("on", "activate"),
        log("after"),
        groups("off again", "deactivate"),
    ];
    let results = outcomes_of(&server, &requests).await;
    let kind = |id: &str| results[&json!(id).to_string()]["outcome"]["error"]["kind"].clone();
    assert_eq!(kind("before"), Value::Null, "{results:#?}");
    assert_eq!(kind("between"), "tool_inactive", "{results:#?}");
    assert_eq!(kind("after"), Value::Null, "{results:#?}");
    for outcome in results["\"batch\""]["outcomes"].as_array().unwrap() {
        assert_eq!(outcome["status"], "success", "{outcome}");
    }
}
