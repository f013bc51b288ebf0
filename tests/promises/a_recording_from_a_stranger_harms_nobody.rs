//! A recording may come from anybody. Whatever is in it, its replay ends with an outcome or an error in words, and reaches
//! nothing.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};
use toolcell::config::Folders;
use toolcell::limits::Limit;
use toolcell::policy::{Digest, HttpGrant, StateScope};
use toolcell::runtime::Replay;
use toolcell::{Access, ErrorKind, Grant, Limits, Recorder, Recording, ToolCall, ToolComponent};
use toolcell_tests::http_server::HttpServer;
use toolcell_tests::{builder, built, guest, probe};

/// The lines of a recording of a call that reached everything that its component can.
async fn recorded(home: &Path, component: ToolComponent, call: ToolCall) -> Vec<Value> {
    let runtime = built(builder().folders(Folders::under(home)).component(component));
    let recorder = Recorder::new();
    let outcome = runtime.session("s").call(call).record(&recorder).await;
    let file = home.join("r");
    recorder.finish().unwrap_or_else(|why| panic!("{why}: {outcome:?}")).write(&file).unwrap();
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The recording with these lines, whose sum is right.
fn written(home: &Path, lines: &[Value]) -> toolcell::Result<Recording> {
    let (_, lines) = lines.split_last().unwrap();
    let mut text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    text.push_str(&format!("{{\"sum\":\"{}\"}}\n", Digest::of(text.as_bytes())));
    std::fs::write(home.join("changed"), text).unwrap();
    Recording::read(&home.join("changed"))
}

/// Answers that no host gives, some of them of the right kind.
fn hostile(contents: &[String]) -> Vec<Value> {
    let content = contents.first().cloned().unwrap_or_default();
    let largest = contents.last().cloned().unwrap_or_default();
    vec![
        json!(null),
        json!({ "ok": u64::MAX }),
        json!({ "ok": [u64::MAX, u64::MAX] }),
        json!({ "ok": [0, 1, 2, 3, 4_000_000_000_u32] }),
        json!({ "ok": [] }),
        json!({ "ok": content }),
        json!({ "ok": [largest, true] }),
        json!({ "ok": [{ "ok": { "ok": [999, [["a", "b"], ["content-length", "18446744073709551615"]]] } }] }),
        json!({ "ok": [{ "ok": { "err": { "InternalError": ["x".repeat(100_000)] } } }] }),
        json!({ "err": { "ends": "it ends" } }),
        json!({ "err": { "limit": "memory", "wanted": u64::MAX } }),
        json!({ "err": "no-entry" }),
    ]
}

/// The host did not fail: what is `internal` is that the replay is another, and it says where.
fn check(replay: &Replay, context: &str) {
    let Some(error) = replay.outcome.error.as_ref().filter(|error| error.kind == ErrorKind::Internal) else {
        return;
    };
    assert_eq!(error.message, "the replay is not what was recorded", "{context}");
    assert!(replay.difference.is_some(), "{context}");
}

async fn check_events(home: &Path, lines: &[Value], every: usize) {
    let is_event = |line: &Value| line.get("ask").is_some();
    let contents: Vec<String> =
        lines.iter().filter_map(|line| line["content"].as_str().map(str::to_owned)).collect();
    let events: Vec<usize> = (0..lines.len()).filter(|index| is_event(&lines[*index])).collect();
    assert!(events.len() > 20, "{} events", events.len());
    let mut hostile = hostile(&contents).into_iter().cycle();
    for index in events.into_iter().step_by(every) {
        for answer in hostile.by_ref().take(3) {
            let mut changed = lines.to_vec();
            changed[index]["answer"] = answer.clone();
            let context = format!("{} answered by {answer}", changed[index]["ask"]);
            let recording = written(home, &changed).unwrap_or_else(|error| panic!("{error}: {context}"));
            let replay =
                builder().replay(recording).await.unwrap_or_else(|error| panic!("{error}: {context}"));
            check(&replay, &context);
        }
    }
}

fn observed(home: &Path) -> (ToolComponent, ToolCall) {
    std::fs::create_dir(home.join("work")).unwrap();
    std::fs::write(home.join("work/text"), "hello\n").unwrap();
    let grant =
        Grant::none().dir(home.join("work"), "/work", Access::ReadWrite).state(StateScope::Persistent);
    let limits = Limits::default().timeout(std::time::Duration::from_secs(20));
    (probe(grant, limits), ToolCall::new("observe", json!({ "folder": "/work", "bucket": "b" })))
}

#[tokio::test]
async fn any_answer_of_the_host_may_be_another() {
    let home = tempfile::tempdir().unwrap();
    let (component, call) = observed(home.path());
    let lines = recorded(home.path(), component, call).await;
    check_events(home.path(), &lines, 5).await;
    let server = HttpServer::saying("hello");
    let grant = Grant::none()
        .dir(home.path().join("work"), "/work", Access::Read)
        .http(HttpGrant::to(&server.origin()).unwrap());
    let authority = format!("127.0.0.1:{}", server.port());
    let to = json!({ "method": "POST", "scheme": "http", "authority": authority, "path": "/" });
    let call = ToolCall::new("gather", json!({ "to": to, "file": "/work/text" }));
    let caller = ToolComponent::file(guest("caller")).grant(grant);
    let lines = recorded(home.path(), caller, call).await;
    let asked = server.asked().len();
    check_events(home.path(), &lines, 2).await;
    assert_eq!(server.asked().len(), asked);
}

#[tokio::test]
async fn what_was_called_may_be_anything() {
    let home = tempfile::tempdir().unwrap();
    let (component, call) = observed(home.path());
    let lines = recorded(home.path(), component, call).await;
    let with = |pointer: &str, value: Value| {
        let mut changed = lines.clone();
        *changed[0].pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer} in {}", lines[0])) = value;
        changed
    };
    let (memory, timeout) = ("/called/limits/memory/value", "/called/limits/timeout/value");
    for changed in [
        with("/called/tool", json!("none")),
        with("/called/tool", json!("../x\u{1b}[2J")),
        with("/called/arguments", json!({ "text": "{" })),
        with("/called/arguments", json!({ "text": "[".repeat(1_000_000) })),
        with("/called/component/name", json!("")),
        with("/called/component/name", json!("../../x")),
        with("/called/component/origin", json!("nothing.of.it")),
        with("/called/component/digest", lines[1]["content"].clone()),
        with("/called/component/digest", json!("sha256:00")),
        with("/called/session", json!("s".repeat(1_000_000))),
        with("/called/output", json!([0, 0])),
        with("/called/output", json!([u64::MAX, u64::MAX])),
        with("/called/limits", json!({})),
        with("/called/limits", json!({ "wishes": { "value": 1, "setting": "", "at": null } })),
        with(memory, json!(u64::MAX)),
        with(memory, json!(0)),
        with(timeout, json!(u64::MAX)),
        with(timeout, json!(0)),
        with("/called/secrets", json!({ "k": { "env": { "name": "TOOLCELL_NOT_SET", "readable": true } } })),
        with("/called/secrets", json!({ "k": { "file": { "path": "/etc/passwd", "readable": true } } })),
        with("/called/env", json!({ "A=B": "\u{0}" })),
        with("/called/state/scope", json!("none")),
    ] {
        let replayed = match written(home.path(), &changed) {
            Ok(recording) => builder().replay(recording).await,
            Err(error) => Err(error),
        };
        match replayed {
            Ok(replay) => check(&replay, &changed[0].to_string()),
            Err(error) => assert!(!error.to_string().is_empty() && error.to_string().len() < 10_000),
        }
    }
}

#[tokio::test]
async fn it_has_no_secret_and_no_more_time_or_room_unless_that_is_permitted() {
    let home = tempfile::tempdir().unwrap();
    let (component, call) = observed(home.path());
    let lines = recorded(home.path(), component, call).await;
    let key = home.path().join("key");
    std::fs::write(&key, "sk-0123456789abcdef").unwrap();
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    let refused = async |recording: Recording| match builder().replay(recording).await {
        Ok(replay) => panic!("{replay:?}"),
        Err(error) => error.to_string(),
    };
    let mut stealing = lines.clone();
    stealing[0]["called"]["secrets"] = json!({ "k": { "file": { "path": key, "readable": true } } });
    let stealing = written(home.path(), &stealing).unwrap();
    let named: Vec<(&str, String)> = stealing.secrets().collect();
    assert_eq!(named, [("k", format!("the file `{}`", key.display()))]);
    for recording in [stealing.clone(), stealing.clone().permit_secret("other").permit_limits()] {
        let told = refused(recording).await;
        assert!(told.contains("the secret `k` from the file") && told.contains("--secret k"), "{told}");
    }
    check(&builder().replay(stealing.permit_secret("k")).await.unwrap(), "permitted");
    for limit in Limit::ALL {
        let mut raised = lines.clone();
        raised[0]["called"]["limits"][limit.name()]["value"] = json!(limit.default_value() + 1);
        let raised = written(home.path(), &raised).unwrap();
        let told = refused(raised.clone()).await;
        assert!(
            told.contains(&format!("`{}` of ", limit.name())) && told.contains("--recorded-limits"),
            "{told}"
        );
        let replay = builder().replay(raised.permit_limits()).await;
        check(&replay.unwrap_or_else(|error| panic!("{limit:?}: {error}")), limit.name());
    }
}

#[tokio::test]
async fn it_takes_no_memory_by_being_dense() {
    let home = tempfile::tempdir().unwrap();
    let (component, call) = observed(home.path());
    let lines = recorded(home.path(), component, call).await;
    let event = lines.iter().position(|line| line.get("ask").is_some()).unwrap();
    let mut dense = lines.clone();
    dense[event]["answer"] = json!({ "ok": vec![0_u8; 10_000_000] });
    let told = written(home.path(), &dense).unwrap_err().to_string();
    assert!(told.contains("is damaged"), "{told}");
}
