//! The example's agent loop: whatever a model, a tool, a user or a provider does, each call that the provider is sent
//! again has its one result after it.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcell::format::{Format, Strict};
use toolcell::policy::Rule;
use toolcell::{Access, CancellationToken, Grant, Limits, Runtime, ToolComponent};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::model_server::{ModelServer, Reply};
use toolcell_tests::{builder, built, probe};

#[expect(dead_code, reason = "what reads the environment and the terminal runs in the example's own process")]
#[path = "../../runtime/examples/agent_loop.rs"]
mod agent_loop;

use agent_loop::{Agent, Ending, MAX_ITERATIONS, Provider};

const FORMATS: [Format; 2] = [Format::Anthropic, Format::OpenAi];

fn runtime(folder: &Path) -> Runtime {
    let files = Grant::none().dir(folder, "/work", Access::ReadWrite);
    built(
        builder()
            .component(ToolComponent::builtin("files").grant(files))
            .component(probe(Grant::none(), Limits::new()))
            .rule(Rule::deny("glob").reason("use grep instead")),
    )
}

/// An agent in a folder of its own, and the server that plays its model.
struct Played {
    format: Format,
    folder: TempDir,
    server: ModelServer,
    agent: Agent,
}

impl Played {
    fn new(format: Format, replies: impl IntoIterator<Item = Reply>) -> Self {
        let folder = TempDir::new().unwrap();
        let server = ModelServer::start(replies);
        let base = if format == Format::OpenAi { "/v1/" } else { "" };
        let provider = Provider::new(format, &format!("{}{base}", server.url()), "a-key", "a-model");
        let agent = Agent::new(provider, runtime(folder.path()), "Be brief.");
        Self { format, folder, server, agent }
    }

    async fn says(&mut self, text: &str) -> Ending {
        self.agent.turn(text, &CancellationToken::new()).await.unwrap()
    }

    /// The messages of every request so far; each has its calls answered.
    fn messages(&self) -> Vec<Vec<Value>> {
        let all: Vec<Vec<Value>> = self
            .server
            .requests()
            .iter()
            .map(|request| request.body["messages"].as_array().unwrap().clone())
            .collect();
        all.iter().for_each(|messages| assert_paired(self.format, messages));
        all
    }

    /// The results in the last request, of its last round: id, text, and whether it is marked as failed.
    fn results(&self) -> Vec<(String, String, bool)> {
        let messages = self.messages().pop().unwrap();
        let last_calls = messages.iter().rposition(|message| !calls_of(self.format, message).is_empty());
        messages[last_calls.unwrap() + 1..]
            .iter()
            .flat_map(|message| results_of(self.format, message))
            .collect()
    }
}

/// The ids of the calls in a message.
fn calls_of(format: Format, message: &Value) -> Vec<String> {
    if message["role"] != "assistant" {
        return Vec::new();
    }
    let calls = format.parse_calls(message).unwrap();
    calls.iter().map(|call| call.id.as_str().unwrap().to_owned()).collect()
}

fn results_of(format: Format, message: &Value) -> Vec<(String, String, bool)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    if format == Format::OpenAi {
        let is_result = message["role"] == "tool";
        let said = || text(&message["content"]);
        return is_result
            .then(|| (text(&message["tool_call_id"]), said(), said().starts_with("error (")))
            .into_iter()
            .collect();
    }
    let blocks = message["content"].as_array().into_iter().flatten();
    blocks
        .filter(|block| block["type"] == "tool_result")
        .map(|block| {
            (text(&block["tool_use_id"]), text(&block["content"][0]["text"]), block["is_error"] == true)
        })
        .collect()
}

/// What both providers refuse a request for: a call without its result right after it, or a result without its call.
fn assert_paired(format: Format, messages: &[Value]) {
    let mut open: BTreeSet<String> = BTreeSet::new();
    let mut last_role = "";
    for message in messages {
        let results = results_of(format, message);
        for (id, _, _) in &results {
            assert!(open.remove(id), "a result of no call {id}: {messages:#?}");
        }
        let role = message["role"].as_str().unwrap();
        let is_whole = open.is_empty() || (format == Format::OpenAi && role == "tool");
        assert!(is_whole, "calls {open:?} have no result: {messages:#?}");
        assert!(role == "tool" || role != last_role, "two messages of {role}: {messages:#?}");
        let calls = calls_of(format, message);
        let is_empty = message["content"] == "" || message["content"] == json!([]);
        assert!(!is_empty || !calls.is_empty(), "an empty message: {messages:#?}");
        for id in calls {
            assert!(open.insert(id.clone()), "{id} twice: {messages:#?}");
        }
        last_role = role;
    }
    assert!(open.is_empty(), "calls {open:?} have no result: {messages:#?}");
    assert!(matches!(last_role, "user" | "tool"), "{messages:#?}");
}

/// A model's answer: text, calls, and why it stopped.
fn answer(format: Format, text: &str, calls: &[(&str, &str, Value)], stop: &str) -> Reply {
    let body = if format == Format::OpenAi {
        let one = |(id, name, arguments): &(&str, &str, Value)| {
            json!({ "id": id, "type": "function",
                "function": { "name": name, "arguments": arguments.to_string() } })
        };
        let mut message = json!({ "role": "assistant", "content": text, "refusal": null });
        if !calls.is_empty() {
            message["tool_calls"] = calls.iter().map(one).collect();
        }
        json!({ "object": "chat.completion",
            "choices": [{ "index": 0, "finish_reason": stop, "message": message }] })
    } else {
        let text = (!text.is_empty()).then(|| json!({ "type": "text", "text": text }));
        let calls = calls
            .iter()
            .map(|(id, name, input)| json!({ "type": "tool_use", "id": id, "name": name, "input": input }));
        json!({ "type": "message", "role": "assistant", "stop_reason": stop,
            "content": text.into_iter().chain(calls).collect::<Vec<_>>() })
    };
    Reply::Answer(200, body.to_string())
}

fn calls(format: Format, calls: &[(&str, &str, Value)]) -> Reply {
    let stop = if format == Format::OpenAi { "tool_calls" } else { "tool_use" };
    answer(format, "Let me see.", calls, stop)
}

fn done(format: Format, text: &str) -> Reply {
    answer(format, text, &[], if format == Format::OpenAi { "stop" } else { "end_turn" })
}

fn read(path: &str) -> Value {
    json!({ "path": path })
}

#[tokio::test]
async fn several_turns_carry_all_that_was_said() {
    for format in FORMATS {
        let mut played = Played::new(
            format,
            [
                calls(format, &[("c1", "read_file", read("a.txt"))]),
                calls(format, &[("c2", "write_file", json!({ "path": "b.txt", "content": "new\n" }))]),
                done(format, "Written."),
                done(format, "You are welcome."),
            ],
        );
        fs::write(played.folder.path().join("a.txt"), "the first file\n").unwrap();
        assert_eq!(played.says("Copy it.").await, Ending::Done("Written.".to_owned()));
        assert_eq!(played.says("Thanks.").await, Ending::Done("You are welcome.".to_owned()));
        let messages = played.messages();
        let system = usize::from(format == Format::OpenAi);
        assert_eq!(
            messages.iter().map(|messages| messages.len() - system).collect::<Vec<_>>(),
            [1, 3, 5, 7],
            "{format}"
        );
        assert!(messages[1].last().unwrap().to_string().contains("the first file"), "{format}");
        assert_eq!(fs::read_to_string(played.folder.path().join("b.txt")).unwrap(), "new\n");
        assert_request(&played);
    }
}

/// The request has what its provider needs: path, key, model, tools, and the tools' rules in the system prompt.
fn assert_request(played: &Played) {
    let request = played.server.requests().remove(0);
    let (target, key) = match played.format {
        Format::OpenAi => ("POST /v1/chat/completions HTTP/1.1", "authorization: bearer a-key"),
        _ => ("POST /v1/messages HTTP/1.1", "x-api-key: a-key"),
    };
    assert_eq!(request.target, target);
    assert!(request.headers.iter().any(|header| header == key), "{:?}", request.headers);
    assert_eq!(request.body["model"], "a-model");
    let runtime = runtime(played.folder.path());
    assert_eq!(request.body["tools"], played.format.export(&runtime.list(), Strict::Off).tools);
    let system = match played.format {
        Format::OpenAi => &request.body["messages"][0]["content"],
        _ => &request.body["system"],
    };
    let (_, rules) = runtime.instructions().remove(0);
    assert!(system.as_str().unwrap().starts_with("Be brief.\n\n"), "{system}");
    assert!(system.as_str().unwrap().contains(&rules), "{system}");
}

#[tokio::test]
async fn calls_of_one_answer_have_their_results_in_order() {
    for format in FORMATS {
        let asked: Vec<(&str, &str, Value)> = vec![
            ("c1", "read_file", read("a.txt")),
            ("c2", "read_file", read("b.txt")),
            ("c3", "echo_string", json!({ "value": "third" })),
        ];
        let mut played = Played::new(format, [calls(format, &asked), done(format, "Done.")]);
        for (name, content) in [("a.txt", "first"), ("b.txt", "second")] {
            fs::write(played.folder.path().join(name), content).unwrap();
        }
        played.says("Read both.").await;
        let results = played.results();
        assert_eq!(results.len(), 3, "{format}: {results:#?}");
        for ((id, text, failed), (expected_id, expected)) in
            results.iter().zip([("c1", "first"), ("c2", "second"), ("c3", "third")])
        {
            assert_eq!((id.as_str(), *failed), (expected_id, false), "{format}: {results:#?}");
            assert!(text.contains(expected), "{format}: {text}");
        }
    }
}

/// An answer with other ids in the place of those of its calls; null is none.
fn with_ids(reply: Reply, ids: &[Value]) -> Reply {
    let Reply::Answer(status, body) = reply else { return reply };
    let mut body: Value = serde_json::from_str(&body).unwrap();
    let calls = match body.pointer("/choices/0/message/tool_calls") {
        Some(_) => body.pointer_mut("/choices/0/message/tool_calls"),
        None => body.get_mut("content"),
    };
    let calls = calls.unwrap().as_array_mut().unwrap().iter_mut().filter(|call| call["type"] != "text");
    for (call, id) in calls.zip(ids) {
        let call = call.as_object_mut().unwrap();
        match id {
            Value::Null => drop(call.remove("id")),
            id => drop(call.insert("id".to_owned(), id.clone())),
        }
    }
    Reply::Answer(status, body.to_string())
}

#[tokio::test]
async fn a_call_whose_id_is_missing_or_there_twice_runs_and_is_answered() {
    let ids = [json!("c1"), json!(null), json!(""), json!("c1"), json!(7), json!("c2")];
    let said = ["first", "second", "third", "fourth", "fifth", "sixth"];
    for format in FORMATS {
        let asked = said.map(|word| ("id", "echo_string", json!({ "value": word })));
        let odd = || with_ids(calls(format, &asked), &ids);
        // A server that counts in each answer anew gives the same ids in the next round.
        let mut played = Played::new(format, [odd(), odd(), done(format, "Done.")]);
        assert_eq!(played.says("Echo them.").await, Ending::Done("Done.".to_owned()));
        let messages = played.messages().pop().unwrap();
        let results: Vec<_> = messages.iter().flat_map(|message| results_of(format, message)).collect();
        let texts: Vec<&str> = results.iter().map(|(_, text, _)| text.as_str()).collect();
        assert_eq!(texts, [said, said].concat(), "{format}");
        let all: BTreeSet<&str> = results.iter().map(|(id, _, _)| id.as_str()).collect();
        assert_eq!(all.len(), results.len(), "{format}: an id is there twice in the talk: {results:#?}");
        assert!(results.iter().all(|(_, _, failed)| !failed), "{format}: {results:#?}");
        let asked: Vec<String> = messages.iter().flat_map(|message| calls_of(format, message)).collect();
        assert!(asked.contains(&"c1".to_owned()) && asked.contains(&"c2".to_owned()), "{format}: {asked:?}");
    }
}

#[tokio::test]
async fn what_a_model_gets_wrong_is_told_to_it() {
    for format in FORMATS {
        let outside = read("/work/../etc/passwd");
        let mut played = Played::new(
            format,
            [
                calls(format, &[("c1", "reed_file", read("a.txt"))]),
                calls(format, &[("c2", "read_file", json!({ "file": "a.txt" }))]),
                calls(format, &[("c3", "read_file", outside)]),
                calls(format, &[("c4", "glob", json!({ "pattern": "*" }))]),
                done(format, "I give up."),
            ],
        );
        assert_eq!(played.says("Try.").await, Ending::Done("I give up.".to_owned()));
        let messages = played.messages().pop().unwrap();
        let results: Vec<_> = messages.iter().flat_map(|message| results_of(format, message)).collect();
        for ((id, text, failed), (expected_id, expected)) in results.iter().zip([
            ("c1", "`read_file`"),
            ("c2", "/file"),
            ("c3", "outside the granted directories"),
            ("c4", "the call was refused: use grep instead"),
        ]) {
            assert_eq!((id.as_str(), *failed), (expected_id, true), "{format}: {results:#?}");
            assert!(text.contains(expected), "{format}: {text}");
        }
        assert_eq!(results.len(), 4);
    }
}

#[tokio::test]
async fn a_large_result_reaches_the_model_cut() {
    for format in FORMATS {
        let large = json!({ "value": vec!["a line of a large result"; 20_000] });
        let mut played =
            Played::new(format, [calls(format, &[("c1", "echo_strings", large)]), done(format, "Much.")]);
        played.says("Echo it.").await;
        let (_, text, failed) = played.results().remove(0);
        assert!(!failed && text.len() < 48 << 10, "{format}: {} bytes", text.len());
        assert!(text.contains("a line of a large result"), "{format}: {text:.200}");
    }
}

#[tokio::test]
async fn a_turn_cancelled_while_tools_run_can_be_followed_by_another() {
    for format in FORMATS {
        let asked = [
            ("c1", "write_file", json!({ "path": "started", "content": "" })),
            ("c2", "poll_forever", json!({})),
            ("c3", "write_file", json!({ "path": "never", "content": "" })),
        ];
        let mut played = Played::new(format, [calls(format, &asked), done(format, "Something else.")]);
        let cancel = CancellationToken::new();
        let started = played.folder.path().join("started");
        let canceller = {
            let cancel = cancel.clone();
            tokio::spawn(async move {
                while !started.exists() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                cancel.cancel();
            })
        };
        assert_eq!(
            played.agent.turn("Wait for ever.", &cancel).await.unwrap(),
            Ending::Cancelled,
            "{format}"
        );
        canceller.await.unwrap();
        assert!(!played.folder.path().join("never").exists());
        assert_eq!(played.says("Do something else.").await, Ending::Done("Something else.".to_owned()));
        let results = played.results();
        let marks: Vec<(&str, bool)> = results.iter().map(|(id, _, failed)| (id.as_str(), *failed)).collect();
        assert_eq!(marks, [("c1", false), ("c2", true), ("c3", true)], "{format}: {results:#?}");
        let messages = played.messages().pop().unwrap();
        assert!(messages.last().unwrap().to_string().contains("Do something else."), "{format}");
    }
}

#[tokio::test]
async fn a_turn_cancelled_or_dropped_while_the_model_writes_can_be_followed_by_another() {
    for format in FORMATS {
        let mut played = Played::new(format, [Reply::Silence, Reply::Silence, done(format, "Here.")]);
        let cancel = CancellationToken::new();
        let (agent, server) = (&mut played.agent, &played.server);
        let turn = agent.turn("Think for ever.", &cancel);
        let cancelled = async {
            server.request(1).await;
            cancel.cancel();
        };
        let (ending, ()) = tokio::join!(turn, cancelled);
        assert_eq!(ending.unwrap(), Ending::Cancelled, "{format}");
        let never = CancellationToken::new();
        tokio::select! {
            _ = played.agent.turn("Once more.", &never) => panic!("the server says nothing"),
            () = played.server.request(2) => {}
        }
        assert_eq!(played.says("Still there?").await, Ending::Done("Here.".to_owned()));
        let last = played.messages().pop().unwrap().pop().unwrap();
        for said in ["Think for ever.", "Once more.", "Still there?"] {
            assert!(last.to_string().contains(said), "{format}: {last:#}");
        }
    }
}

#[tokio::test]
async fn a_model_that_never_stops_is_stopped() {
    for format in FORMATS {
        let ids: Vec<String> = (0..MAX_ITERATIONS).map(|at| format!("c{at}")).collect();
        let again = ids.iter().map(|id| calls(format, &[(id.as_str(), "echo_constant", json!({}))]));
        let mut played = Played::new(format, again.chain([done(format, "At last.")]).collect::<Vec<_>>());
        let ending = played.says("Go.").await;
        assert_eq!(ending, Ending::TooManyIterations, "{format}");
        assert!(ending.to_string().contains("10 rounds"), "{ending}");
        assert_eq!(played.server.requests().len(), MAX_ITERATIONS);
        assert_eq!(played.says("Go on.").await, Ending::Done("At last.".to_owned()));
        assert_eq!(played.results().len(), 1, "{format}");
    }
}

#[tokio::test]
async fn calls_that_were_cut_off_are_answered_and_not_run() {
    for (format, stop) in [
        (Format::Anthropic, "max_tokens"),
        (Format::Anthropic, "refusal"),
        (Format::OpenAi, "length"),
        (Format::OpenAi, "content_filter"),
    ] {
        let half = [("c1", "write_file", json!({ "path": "half", "content": "" }))];
        let mut played =
            Played::new(format, [answer(format, "I wri", &half, stop), done(format, "Now it is whole.")]);
        let ending = played.says("Write.").await;
        let text = "I wri".to_owned();
        let expected = match stop {
            "max_tokens" | "length" => Ending::MaxTokens(text),
            _ => Ending::Stopped(stop.to_owned(), text),
        };
        assert_eq!(ending, expected);
        assert!(!played.folder.path().join("half").exists(), "{format} {stop}");
        played.says("Go on.").await;
        let (id, _, failed) = played.results().remove(0);
        assert_eq!((id.as_str(), failed), ("c1", true), "{format} {stop}");
    }
}

#[tokio::test]
async fn every_reason_to_stop_has_an_ending() {
    let text = || "text".to_owned();
    for (format, stop, expected) in [
        (Format::Anthropic, "end_turn", Ending::Done(text())),
        (Format::Anthropic, "max_tokens", Ending::MaxTokens(text())),
        (Format::Anthropic, "stop_sequence", Ending::StopSequence(text())),
        (Format::Anthropic, "refusal", Ending::Stopped("refusal".to_owned(), text())),
        (Format::Anthropic, "of_tomorrow", Ending::Stopped("of_tomorrow".to_owned(), text())),
        (Format::OpenAi, "stop", Ending::Done(text())),
        (Format::OpenAi, "length", Ending::MaxTokens(text())),
        (Format::OpenAi, "content_filter", Ending::Stopped("content_filter".to_owned(), text())),
        (Format::OpenAi, "of_tomorrow", Ending::Stopped("of_tomorrow".to_owned(), text())),
    ] {
        let mut played = Played::new(format, [answer(format, "text", &[], stop), done(format, "Yes.")]);
        let ending = played.says("Say it.").await;
        assert!(ending.to_string().starts_with("text"), "{ending}");
        assert_eq!(ending, expected);
        assert_eq!(played.says("Go on?").await, Ending::Done("Yes.".to_owned()), "{format} {stop}");
        played.messages();
    }
    // Calls are whole whatever else a server names as the reason beside them.
    for (format, stop) in [(Format::OpenAi, "stop"), (Format::Anthropic, "of_tomorrow")] {
        let asked = [("c1", "echo_string", json!({ "value": "ran" }))];
        let mut played = Played::new(format, [answer(format, "", &asked, stop), done(format, "Yes.")]);
        assert_eq!(played.says("Call.").await, Ending::Done("Yes.".to_owned()));
        assert_eq!(played.results(), [("c1".to_owned(), "ran".to_owned(), false)]);
    }
}

#[tokio::test]
async fn an_error_of_the_provider_is_told_and_the_talk_goes_on() {
    for format in FORMATS {
        let overloaded = json!({ "type": "error", "error": { "type": "overloaded", "message": "too much" } });
        let outline =
            if format == Format::OpenAi { json!({ "choices": [] }) } else { json!({ "content": 1 }) };
        for (status, body, told) in [
            (529, overloaded.to_string(), "529 <unknown status code>: too much"),
            (200, overloaded.to_string(), "too much"),
            (401, "<html>".to_owned(), "401"),
            (200, "<html>".to_owned(), "without a message"),
            (302, String::new(), "302"),
            (200, outline.to_string(), "no message in the format"),
        ] {
            let mut played = Played::new(
                format,
                [
                    calls(format, &[("c1", "echo_constant", json!({}))]),
                    Reply::Answer(status, body),
                    done(format, "Better now."),
                ],
            );
            let error = played.agent.turn("Go.", &CancellationToken::new()).await.unwrap_err().to_string();
            assert!(error.contains(told), "{format} {status}: {error}");
            assert!(!error.contains("a-key"), "{error}");
            assert_eq!(played.says("Again.").await, Ending::Done("Better now.".to_owned()));
            assert_eq!(played.messages().len(), 3);
        }
    }
}

#[tokio::test]
async fn the_example_talks_by_its_standard_input() {
    let line = CommandLine::new();
    line.write("a.txt", "of the user\n");
    let format = Format::Anthropic;
    let server = ModelServer::start([
        Reply::Silence,
        calls(format, &[("c1", "read_file", read("a.txt"))]),
        done(format, "It is yours."),
        done(format, "Bye."),
    ]);
    let example = toolcell_tests::command_line::binary().with_file_name("examples").join("agent_loop");
    let mut command = std::process::Command::new(example);
    command.current_dir(line.folder()).env_clear().stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let unset = command.output().unwrap();
    assert!(String::from_utf8_lossy(&unset.stderr).contains("AGENT_API"), "{unset:?}");
    command.env("AGENT_API", "anthropic").env("AGENT_BASE_URL", server.url()).env("AGENT_MODEL", "m");
    let mut child = command.env("AGENT_API_KEY", "a-key").spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"Think for ever.\n").unwrap();
    server.request(1).await;
    // The empty line cancels; the request that nobody answers keeps nothing from ending.
    stdin.write_all(b"\nWhose is it?\nThanks.\n").unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(
        (stdout.as_ref(), stderr.as_ref()),
        ("[cancelled]\nIt is yours.\nBye.\n", "calls read_file\n")
    );
    let requests = server.requests();
    assert!(requests[2].body.to_string().contains("of the user"));
    let messages = requests[3].body["messages"].as_array().unwrap();
    assert_paired(format, messages);
}
