//! A recorded call, made again without what it reached, is the same; or the first difference is named.

use std::path::Path;

use serde_json::{Value, json};
use toolcell::config::Folders;
use toolcell::policy::StateScope;
use toolcell::{Access, Deterministic, Grant, Limits, Recorder, Recording, Runtime, ToolCall, ToolComponent};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::{builder, built, call, guest, probe};

/// A runtime whose probe may reach everything that there is, below `home`.
fn reaching(home: &Path) -> Runtime {
    let work = home.join("work");
    std::fs::create_dir(&work).unwrap();
    std::fs::create_dir(work.join("folder")).unwrap();
    std::fs::write(work.join("text"), "hello\n").unwrap();
    std::fs::write(work.join("bytes"), [0, 255, 7]).unwrap();
    let grant = Grant::none()
        .dir(&work, "/work", Access::ReadWrite)
        .env("LANG", "C")
        .config("city", "Oslo")
        .state(StateScope::Persistent);
    built(builder().folders(Folders::under(home)).component(probe(grant, Limits::default())))
}

fn observe() -> ToolCall {
    ToolCall::new("observe", json!({ "folder": "/work", "bucket": "b" })).id("c7").meta("k", "v")
}

async fn recorded(runtime: &Runtime, call: ToolCall) -> Recording {
    let recorder = Recorder::new();
    let outcome = runtime.session("s").call(call).record(&recorder).await;
    let recording = recorder.finish().unwrap_or_else(|why| panic!("{why}: {outcome:?}"));
    assert_eq!(recording.unreplayable(), None, "{outcome:?}");
    recording
}

#[tokio::test]
async fn everything_that_came_from_outside_comes_from_the_recording() {
    let home = tempfile::tempdir().unwrap();
    let runtime = reaching(home.path());
    let recording = recorded(&runtime, observe()).await;
    assert!(recording.outcome()["status"] == "success", "{}", recording.outcome());
    drop(runtime);
    std::fs::remove_dir_all(home.path()).unwrap();
    for _ in 0..3 {
        let replay = builder().replay(recording.clone()).await.unwrap();
        assert_eq!(replay.difference, None);
        let now = serde_json::to_value(&replay.outcome).unwrap();
        for part in ["/status", "/content", "/structured", "/logs", "/denials", "/usage/fuel", "/id"] {
            assert_eq!(now.pointer(part), recording.outcome().pointer(part), "{part}");
        }
    }
    assert!(!home.path().exists(), "a replay writes nothing");
}

#[tokio::test]
async fn whatever_the_end_is_it_comes_again() {
    let home = tempfile::tempdir().unwrap();
    let runtime = reaching(home.path());
    for (tool, arguments) in [
        ("fail", json!({ "message": "no" })),
        ("panic_with", json!({ "message": "boom" })),
        ("print", json!({ "channel": "stdout", "pattern": "abc", "count": 3 })),
        ("log_many", json!({ "level": "info", "text": "x", "count": 3 })),
        ("poll_many", json!({ "count": 0 })),
        ("keep_fill", json!({ "bucket": "b", "bytes": 500_000 })),
        ("nap", json!({ "ms": 5 })),
    ] {
        let recording = recorded(&runtime, ToolCall::new(tool, arguments)).await;
        let replay = builder().replay(recording).await.unwrap();
        assert_eq!(replay.difference, None, "{tool}");
    }
}

#[tokio::test]
async fn deterministic_calls_are_the_same_each_time_and_never_wait() {
    let home = tempfile::tempdir().unwrap();
    let runtime = reaching(home.path());
    let observed = async |settings: Deterministic| {
        let observe = ToolCall::new("observe", json!({}));
        let outcome = runtime.call(observe).deterministic(settings).await;
        assert!(outcome.is_success(), "{outcome:?}");
        (outcome.text(), outcome.usage.fuel, outcome.logs)
    };
    let settings: Deterministic = "2026-01-01T00:00:00Z,7".parse().unwrap();
    let first = observed(settings).await;
    assert!(first.0.contains("1767225600"), "{}", first.0);
    assert_eq!(observed(settings).await, first);
    let other = observed(settings.seed(8)).await;
    assert_ne!(other.0, first.0);
    let host = call(&runtime, "observe", json!({})).await;
    assert_ne!(host.text(), first.0);

    let hour = 3_600_000_u64;
    let nap = ToolCall::new("nap", json!({ "ms": hour }));
    let napped = runtime.call(nap).deterministic(settings).await;
    assert_eq!(napped.structured, Some(json!({ "result": [2 * hour, 2 * hour] })), "{napped:?}");
    let spin = ToolCall::new("spin_for", json!({ "ms": 10 }));
    assert!(runtime.call(spin).deterministic(settings).await.is_success());
}

#[test]
fn the_command_line_records_and_replays() {
    let line = CommandLine::new();
    line.write("text", "hello\n");
    let probe = guest("probe");
    let probe = probe.to_str().unwrap();
    let run = |rest: &[&str]| {
        let observe = ["call", "observe", r#"{"folder":"/w"}"#, "--component", probe, "--dir", ".::/w::rw"];
        line.run(&[&observe[..], rest].concat())
    };
    let made = run(&["--record", "r.jsonl", "--json"]);
    assert_eq!(made.code, 0, "{made:?}");
    std::fs::remove_file(line.folder().join("text")).unwrap();
    let replayed = line.run(&["replay", "r.jsonl", "--json"]);
    assert_eq!(replayed.code, 0, "{replayed:?}");
    let replayed = replayed.json();
    assert_eq!(replayed["same"], true, "{replayed}");
    assert_eq!(replayed["outcome"]["structured"], made.json()["structured"]);
    assert_eq!(replayed["outcome"]["usage"]["fuel"], made.json()["usage"]["fuel"]);
    assert!(!line.folder().join("new").exists());

    line.write("mine", "my own notes");
    let refused = run(&["--record", "mine"]);
    assert!(refused.code == 2 && refused.stderr.contains("something else than a recording"), "{refused:?}");
    let nowhere = run(&["--record", "gone/r.jsonl"]);
    let told = "error: cannot write gone/r.jsonl: No such file or directory (os error 2)\n";
    assert_eq!(
        (nowhere.code, nowhere.stdout.as_str(), nowhere.stderr.as_str()),
        (2, "", told),
        "before it runs"
    );
    let foreign = line.run(&["replay", "mine"]);
    assert!(foreign.code == 2 && foreign.stderr.contains("no recording of toolcell"), "{foreign:?}");
    let unknown = line.run(&["call", "none", "--component", probe, "--record", "n"]);
    assert!(unknown.stderr.contains("nothing was recorded"), "{unknown:?}");

    let deterministic = || {
        let observe = ["call", "observe", "{}", "--component", probe, "--deterministic=7", "--json"];
        let outcome = line.run(&observe).json();
        (outcome["usage"]["fuel"].clone(), outcome["structured"].clone())
    };
    assert_eq!(deterministic(), deterministic());
    let config = format!(
        "[component.probe]\npath = \"{probe}\"\ndeterministic = {{ clock = \"2026-01-01T00:00:00Z\", seed = 1 }}\n"
    );
    line.write("toolcell.toml", &config);
    let time = || line.run(&["call", "time_now", "--config", "toolcell.toml", "--json"]).json();
    assert_eq!(time()["structured"], json!({ "result": [0, 1_767_225_600] }), "{}", time());
    line.write("toolcell.toml", config.replace("2026-01-01T", "1926-01-01T"));
    let wrong = line.run(&["list", "--config", "toolcell.toml"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("toolcell.toml:3"), "{wrong:?}");
}

#[tokio::test]
async fn a_providers_call_and_one_without_fuel_come_again() {
    let grant = Grant::none().config("mode", "good");
    let provider = || ToolComponent::file(guest("provider")).grant(grant.clone());
    let runtime = built(builder().component(provider()));
    for (tool, arguments) in [
        ("add", json!({ "a": 2, "b": 3 })),
        ("fail", json!({ "kind": "weather" })),
        ("say", json!({})),
        ("lie", json!({})),
    ] {
        let recording = recorded(&runtime, ToolCall::new(tool, arguments)).await;
        let replay = builder().replay(recording).await.unwrap();
        assert_eq!(replay.difference, None, "{tool}");
    }
    let home = tempfile::tempdir().unwrap();
    let timed = probe(Grant::none(), Limits::default().fuel_off());
    let runtime = built(builder().folders(Folders::under(home.path())).component(timed));
    let recording = recorded(&runtime, observe()).await;
    assert_eq!(recording.outcome()["usage"]["fuel"], Value::Null, "{}", recording.outcome());
    assert_eq!(builder().replay(recording.permit_limits()).await.unwrap().difference, None);
}

#[test]
fn a_component_that_is_described_by_its_wit_comes_again_with_it() {
    let line = CommandLine::new();
    let wit = line.folder().join("wit");
    std::fs::create_dir(&wit).unwrap();
    let world = "package a:b;\nworld w {\n/// Adds.\n///\n/// @param n How many. @default 7\n\
                 export id: func(n: option<u32>) -> u32;\n}\n";
    std::fs::write(wit.join("w.wit"), world).unwrap();
    let component = "(component (core module $m (func (export \"id\") (param i32 i32) (result i32) (local.get 1)))\n\
                     (core instance $i (instantiate $m))\n\
                     (func (export \"id\") (param \"n\" (option u32)) (result u32)\n\
                     (canon lift (core func $i \"id\"))))";
    line.write("id.wasm", wat::parse_str(component).unwrap());
    let made =
        line.run(&["call", "id", "{}", "--component", "id.wasm", "--wit", "wit", "--record", "r", "--json"]);
    assert_eq!(made.json()["structured"], json!({ "result": 7 }), "{made:?}");
    std::fs::remove_dir_all(wit).unwrap();
    std::fs::remove_file(line.folder().join("id.wasm")).unwrap();
    let replayed = line.run(&["replay", "r", "--json"]);
    assert_eq!(replayed.json()["same"], true, "{replayed:?}");
}

#[tokio::test]
async fn a_plan_lasts_as_long_as_its_session() {
    let home = tempfile::tempdir().unwrap();
    let runtime = || {
        let grant = Grant::none().state(StateScope::Session);
        let plan = ToolComponent::builtin("plan").grant(grant);
        built(builder().folders(Folders::under(home.path())).component(plan))
    };
    let one = runtime();
    let run = async |runtime: &Runtime, session: &str, tool: &str, arguments: Value| {
        let outcome = runtime.session(session).call(ToolCall::new(tool, arguments)).await;
        (outcome.structured.clone().unwrap_or_default(), outcome.text())
    };
    let made = run(&one, "s", "create_task", json!({ "title": "first", "details": "how" })).await.0;
    assert_eq!(made, json!({ "id": 1, "title": "first", "status": "pending", "details": "how" }));
    run(&one, "s", "create_task", json!({ "title": "second" })).await;
    let changed = run(&runtime(), "s", "update_task", json!({ "id": 1, "status": "done" })).await.0;
    assert_eq!(changed["status"], "done");
    let listed = run(&runtime(), "s", "list_tasks", json!({ "status": "pending" })).await.0;
    assert_eq!(listed["result"][0]["title"], "second");
    assert_eq!(run(&one, "t", "list_tasks", json!({})).await.0, json!({ "result": [] }));
    let missing = run(&one, "t", "get_task", json!({ "id": 1 })).await.1;
    assert!(missing.contains("the plan is empty"), "{missing}");
    // Without a session nothing fails, and the operator is told why nothing is kept.
    for (tool, arguments) in [("create_task", json!({ "title": "x" })), ("list_tasks", json!({}))] {
        let alone = one.call(ToolCall::new(tool, arguments)).await;
        assert_eq!(alone.logs.len(), 1, "{alone:?}");
        assert!(alone.logs[0].text.contains("belongs to no session"), "{alone:?}");
    }
    let empty = one.session("t").call(ToolCall::new("list_tasks", json!({}))).await;
    assert!(empty.logs.is_empty(), "{empty:?}");
    let bare = built(builder().component(ToolComponent::builtin("plan")));
    let refused = run(&bare, "s", "create_task", json!({ "title": "x" })).await.1;
    assert!(refused.contains("grant.state"), "{refused}");
}
