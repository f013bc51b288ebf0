//! State: kept as long as it is granted, for its component and scope alone, while there is room.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};
use toolcell::config::Folders;
use toolcell::policy::StateScope;
use toolcell::{ErrorKind, Grant, Limit, Limits, Outcome, Runtime, ToolCall, ToolComponent};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::{builder, built, call, guest, probe};

/// A runtime whose folders are below `home`, and the probe that may keep values for that long.
fn keeping(home: &tempfile::TempDir, scope: StateScope, limits: Limits) -> Runtime {
    let component = probe(Grant::none().state(scope), limits);
    built(builder().folders(Folders::under(home.path())).component(component))
}

fn home() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

async fn set(runtime: &Runtime, session: &str, value: &str) -> Outcome {
    let call = ToolCall::new("keep_set", json!({ "bucket": "b", "key": "k", "value": value }));
    runtime.session(session).call(call).await
}

async fn get(runtime: &Runtime, session: &str) -> Value {
    let call = ToolCall::new("keep_get", json!({ "bucket": "b", "key": "k" }));
    runtime.session(session).call(call).await.structured.unwrap()["result"].clone()
}

#[tokio::test]
async fn nothing_is_kept_without_a_grant_and_the_reason_is_told() {
    let home = home();
    let runtime = keeping(&home, StateScope::None, Limits::default());
    let refused = set(&runtime, "s", "1").await;
    assert_eq!(refused.error_kind(), Some(ErrorKind::ToolError));
    assert_eq!(refused.error.as_ref().unwrap().message, "access-denied");
    let denial = &refused.denials[0];
    assert_eq!(
        (
            denial.capability.as_str(),
            denial.operation.as_str(),
            denial.target.as_str(),
            denial.setting.as_str()
        ),
        ("state", "open", "b", "component.probe.grant.state")
    );
    assert!(!home.path().join("state").exists(), "nothing was written");
}

#[tokio::test]
async fn a_scope_ends_where_it_says() {
    let home = home();
    for (scope, same_session, other_session, nobody) in [
        (StateScope::Call, json!(null), json!(null), json!(null)),
        (StateScope::Session, json!("1"), json!(null), json!(null)),
        (StateScope::Persistent, json!("1"), json!("1"), json!("1")),
    ] {
        let runtime = keeping(&home, scope, Limits::default());
        assert!(set(&runtime, "one", "1").await.is_success());
        // Another runtime, as another process would have it.
        let runtime = keeping(&home, scope, Limits::default());
        assert_eq!(get(&runtime, "one").await, same_session, "{scope:?}");
        assert_eq!(get(&runtime, "two").await, other_session, "{scope:?}");
        assert_eq!(get(&runtime, "").await, nobody, "{scope:?}");
    }
    let runtime = keeping(&home, StateScope::Session, Limits::default());
    assert!(set(&runtime, "", "1").await.is_success());
    assert_eq!(get(&runtime, "").await, json!(null), "calls of nobody share nothing");
}

#[tokio::test]
async fn a_component_never_meets_the_values_of_another() {
    let home = home();
    let named = |name: &str, prefix: &str| {
        ToolComponent::file(guest("probe"))
            .name(name)
            .prefix(prefix)
            .tools(["keep_set", "keep_get", "keep_keys"])
            .grant(Grant::none().state(StateScope::Persistent))
    };
    let runtime = built(
        builder()
            .folders(Folders::under(home.path()))
            .component(named("one", "a_"))
            .component(named("two", "b_")),
    );
    let arguments = json!({ "bucket": "b", "key": "k", "value": "1" });
    assert!(call(&runtime, "a_keep_set", arguments).await.is_success());
    for bucket in ["b", "", "../one", "one", "session s", "persistent", "b\u{0}", "' OR 1=1 --"] {
        let seen = call(&runtime, "b_keep_keys", json!({ "bucket": bucket })).await;
        assert_eq!(seen.structured, Some(json!({ "result": [] })), "{bucket:?}");
    }
    let own = call(&runtime, "a_keep_get", json!({ "bucket": "b", "key": "k" })).await;
    assert_eq!(own.structured, Some(json!({ "result": "1" })));
}

#[tokio::test]
async fn every_function_of_the_interface_does_what_it_says() {
    let home = home();
    for scope in [StateScope::Call, StateScope::Persistent] {
        let runtime = keeping(&home, scope, Limits::default());
        let entries = json!([["x", "1"], ["y", "2"]]);
        let batch = call(&runtime, "keep_batch", json!({ "bucket": "b", "entries": entries })).await;
        assert_eq!(batch.structured, Some(json!({ "result": ["1", "2", null] })), "{batch:?}");
        let counted = json!({ "bucket": "b", "key": "n", "times": 5 });
        assert_eq!(call(&runtime, "keep_increment", counted).await.structured, Some(json!({ "result": 5 })));
        let long = json!({ "bucket": "b", "key": "k".repeat(1025), "value": "" });
        let refused = call(&runtime, "keep_set", long).await;
        assert_eq!(refused.error.unwrap().message, "other: a key has at most 1024 bytes");
        let named = json!({ "bucket": "b".repeat(257), "key": "k", "value": "" });
        assert_eq!(call(&runtime, "keep_set", named).await.error.unwrap().message, "no-such-store");
        let exists = json!({ "bucket": "b", "key": "n" });
        let exists = call(&runtime, "keep_exists", exists).await.structured;
        assert_eq!(exists, Some(json!({ "result": scope == StateScope::Persistent })));
    }
    let runtime = keeping(&home, StateScope::Persistent, Limits::default());
    assert!(call(&runtime, "keep_delete", json!({ "bucket": "b", "key": "n" })).await.is_success());
    let keys = call(&runtime, "keep_keys", json!({ "bucket": "b" })).await;
    assert_eq!(keys.structured, Some(json!({ "result": [] })));
}

#[tokio::test]
async fn a_function_that_claims_to_be_read_only_keeps_nothing() {
    let home = home();
    for scope in [StateScope::Session, StateScope::Persistent] {
        let liar = ToolComponent::file(guest("readonly-liar")).grant(Grant::none().state(scope));
        let runtime = built(builder().folders(Folders::under(home.path())).component(liar));
        let session = runtime.session("s");
        let run = async |name: &str, arguments: Value| session.call(ToolCall::new(name, arguments)).await;
        assert!(run("tell_kept", json!({ "value": "dHJ1ZQ==" })).await.is_success());
        let lied = run("lie_keeping", json!({})).await;
        assert_eq!(lied.structured, Some(json!({ "result": [] })), "{lied:?}");
        let denied: Vec<&str> = lied.denials.iter().map(|denial| denial.operation.as_str()).collect();
        assert_eq!(denied, ["set", "delete", "increment", "set-many", "delete-many"]);
        assert_eq!(lied.denials[0].setting, "none: the function claims to be read-only");
        let kept = run("peek_kept", json!({})).await;
        assert_eq!(kept.structured, Some(json!({ "result": "dHJ1ZQ==" })), "{kept:?}");
    }
}

#[tokio::test]
async fn a_guest_that_fills_its_state_is_told_which_limit_it_met() {
    let home = home();
    for scope in [StateScope::Call, StateScope::Session, StateScope::Persistent] {
        let limits = Limits::default().with(Limit::StateBytes, 64 << 10);
        let runtime = keeping(&home, scope, limits);
        for bytes in [0, 1_000] {
            let fill = ToolCall::new("keep_fill", json!({ "bucket": bytes.to_string(), "bytes": bytes }));
            let full = runtime.session("s").call(fill).await;
            let error = full.error.unwrap();
            assert_eq!(error.kind, ErrorKind::ToolError);
            let limit = error.limit.unwrap();
            assert_eq!((limit.name.as_str(), limit.allowed.as_str()), ("state_bytes", "64KiB"), "{scope:?}");
            assert!(error.message.starts_with("other: there is no room"), "{}", error.message);
        }
        // What fits goes on, and the next call of another session has room of its own.
        assert!(call(&runtime, "echo_string", json!({ "value": "x" })).await.is_success());
    }
    let limits = Limits::default().with(Limit::StateBytes, 64 << 10).with(Limit::Handles, 50);
    let runtime = keeping(&home, StateScope::Call, limits);
    let held = call(&runtime, "keep_open_many", json!({ "bucket": "b" })).await;
    assert_eq!(held.error.unwrap().limit.unwrap().name, "handles");
}

#[tokio::test]
async fn what_was_set_before_a_call_was_stopped_is_kept_and_time_goes_on() {
    let home = home();
    let runtime = keeping(&home, StateScope::Persistent, Limits::default());
    let spin = ToolCall::new("keep_set_and_spin", json!({ "bucket": "b", "key": "k", "value": "last" }));
    let stopped = runtime.call(spin).timeout(std::time::Duration::from_millis(300)).await;
    assert_eq!(stopped.error_kind(), Some(ErrorKind::Timeout));
    assert_eq!(get(&runtime, "").await, json!("last"));
    // A loop of writes, each of which waits for the disk, ends with its time as well.
    let count = ToolCall::new("keep_increment", json!({ "bucket": "b", "key": "n", "times": 1_000_000_000 }));
    let stopped = runtime.call(count).timeout(std::time::Duration::from_millis(300)).await;
    assert_eq!(stopped.error_kind(), Some(ErrorKind::Timeout));
}

#[test]
fn several_processes_count_together() {
    let line = CommandLine::new();
    let probe = guest("probe");
    let probe = probe.to_str().unwrap();
    let arguments = r#"{"bucket":"b","key":"n","times":25}"#;
    let count =
        ["call", "keep_increment", arguments, "--component", probe, "--state", "persistent", "--json"];
    assert_eq!(line.run(&count).json()["structured"]["result"], 25);
    let spawn = |_| line.command(&count).stdout(Stdio::null()).spawn().unwrap();
    let mut children: Vec<_> = (0..6).map(spawn).collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(line.run(&count).json()["structured"]["result"], 8 * 25);
}

#[test]
fn the_command_line_and_the_configuration_grant_state() {
    let line = CommandLine::new();
    let probe = guest("probe");
    let probe = probe.to_str().unwrap();
    let set = ["call", "keep_set", r#"{"bucket":"b","key":"k","value":"1"}"#, "--component", probe];
    let refused = line.run(&[&set[..], &["--json"]].concat());
    assert_eq!(refused.json()["denials"][0]["setting"], "--state");
    let wrong = line.run(&[&set[..], &["--state", "forever"]].concat());
    assert!(wrong.code == 2 && wrong.stderr.contains("write `none`, `call`, `session` or"), "{wrong:?}");
    assert_eq!(line.run(&["list", "--state", "call"]).code, 2, "it is for a component that a flag names");

    let config = |state: &str| format!("[component.probe]\npath = \"{probe}\"\ngrant.state = {state}\n");
    line.write("toolcell.toml", config("\"forever\""));
    let wrong = line.run(&["list", "--config", "toolcell.toml"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("toolcell.toml:3"), "{wrong:?}");
    line.write("toolcell.toml", config("\"session\""));
    let in_session = |session: &str| {
        let get = r#"{"bucket":"b","key":"k"}"#;
        let run = |arguments: &[&str]| {
            line.run(&[arguments, &["--config", "toolcell.toml", "--session", session, "--json"]].concat())
        };
        let kept = run(&["call", "keep_get", get]).json()["structured"]["result"].clone();
        assert_eq!(run(&[set[0], set[1], set[2]]).code, 0);
        kept
    };
    assert_eq!((in_session("s"), in_session("t"), in_session("s")), (json!(null), json!(null), json!("1")));
    let described = line.run(&["describe", "keep_set", "--config", "toolcell.toml"]);
    assert!(described.stdout.contains("state  session"), "{}", described.stdout);
    let shown = line.run(&["config", "show", "--config", "toolcell.toml", "--json"]).json();
    assert_eq!(shown["component"]["probe"]["grant"]["state"], "session");
    let checked = line.run(&["check", probe]);
    assert!(
        checked.stdout.contains("wasi:keyvalue/store@0.2.0-draft (needs `grant.state`)"),
        "{}",
        checked.stdout
    );
}

#[test]
fn processes_that_keep_values_beside_each_other_lose_none() {
    const EACH: usize = 150;
    let line = CommandLine::new();
    let probe = guest("probe");
    line.write(
        "toolcell.toml",
        format!("[component.probe]\npath = \"{}\"\ngrant.state = \"persistent\"\n", probe.display()),
    );
    // Several calls at a time in each, which open and close the file while others use it.
    let started: Vec<_> = (0..2)
        .map(|process| {
            let mut command = line.command(&["jsonl", "--config", "toolcell.toml"]);
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let mut input = child.stdin.take().unwrap();
            let writing = std::thread::spawn(move || {
                for number in 0..EACH {
                    let arguments =
                        json!({ "bucket": "b", "key": format!("{process} {number}"), "value": "v" });
                    let call =
                        json!({ "type": "call", "id": number, "name": "keep_set", "arguments": arguments });
                    writeln!(input, "{call}").unwrap();
                }
            });
            (child, writing)
        })
        .collect();
    let mut kept = 0;
    for (child, writing) in started {
        writing.join().unwrap();
        let ended = child.wait_with_output().unwrap();
        for reply in String::from_utf8(ended.stdout).unwrap().lines() {
            let reply: Value = serde_json::from_str(reply).unwrap();
            if reply["type"] == "result" {
                // One that had to wait for too long is told so, and nothing else may go wrong.
                let error = &reply["outcome"]["error"];
                assert!(error.is_null() || error.to_string().contains("busy"), "{reply}");
                kept += usize::from(error.is_null());
            }
        }
    }
    let listed = line.run(&["state", "list"]).stdout;
    assert!(kept > EACH, "{kept}");
    assert!(listed.starts_with(&format!("probe, persistent: {kept} values,")), "{kept} were kept: {listed}");
}

#[test]
fn the_command_line_shows_and_removes_what_is_kept() {
    let line = CommandLine::new();
    let probe = guest("probe");
    line.write("toolcell.toml", "");
    let added = line.run(&["add", probe.to_str().unwrap(), "--state", "session"]);
    assert!(added.code == 0 && added.stdout.contains("state  session"), "{added:?}");
    let written = std::fs::read_to_string(line.folder().join("toolcell.toml")).unwrap();
    assert!(written.contains("state = \"session\""), "{written}");
    let wrong = line.run(&["add", "builtin:plan", "--state", "forever"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("write `none`, `call`, `session` or"), "{wrong:?}");

    let none = line.run(&["state", "list"]);
    assert!(none.code == 0 && none.stdout.starts_with("0 values, 0 bytes in "), "{none:?}");
    assert_eq!(line.run(&["trust"]).code, 0);
    for session in ["s", "t"] {
        let set = r#"{"bucket":"b","key":"k","value":"hello"}"#;
        let set = line.run(&["call", "keep_set", set, "--session", session]);
        assert_eq!(set.code, 0, "{set:?}");
    }
    let listed = line.run(&["state", "list"]);
    let lines: Vec<&str> = listed.stdout.lines().collect();
    let expected = ["probe, session \"s\": 1 value, 70 bytes", "probe, session \"t\": 1 value, 70 bytes"];
    assert_eq!(lines[..2], expected, "{listed:?}");
    assert!(lines[2].starts_with("2 values, 140 bytes in "), "{listed:?}");
    for (rest, told) in [
        (&[][..], "<COMPONENT>"),
        (&["prob"], "no component `prob` keeps anything"),
        (&["probe", "--session", "u"], "keeps nothing for a session `u`"),
        (&["probe", "--all"], "cannot be used with"),
    ] {
        let refused = line.run(&[&["state", "clear"], rest].concat());
        assert!(refused.code == 2 && refused.stderr.contains(told), "{refused:?}");
    }
    let cleared = line.run(&["state", "clear", "probe", "--session", "s", "--json"]).json();
    assert_eq!(cleared["removed"][0]["session"], "s");
    let left = line.run(&["state", "list", "--json"]).json();
    assert_eq!((left["kept"].as_array().unwrap().len(), &left["kept"][0]["session"]), (1, &json!("t")));
    let cleared = line.run(&["state", "clear", "--all"]);
    assert_eq!(cleared.stdout, "removed 1 value, 70 bytes\n");
    assert_eq!(line.run(&["state", "list", "--json"]).json()["kept"], json!([]));
}
