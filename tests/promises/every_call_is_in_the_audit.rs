//! The command line: every call is a line of the audit, and no line can be changed or lost unseen.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use toolcell::audit::Detail;
use toolcell::call::Response;
use toolcell::hook::{Hook, HookCall, HookEntry, HookResult, Post, Pre, async_trait};
use toolcell::policy::{Answer, Approver, Question, Rule};
use toolcell::{Audit, Grant, Limits, ToolCall};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::{builder, built, probe};

const CONFIG: &str = "[audit]\nfolder = \"audit\"\narguments = \"full\"\n\
                      [component.basics]\npath = \"builtin:basics\"\n";

/// A message of a model with `count` calls of `echo`, in the format `anthropic`.
fn message(count: usize) -> String {
    let calls: Vec<_> = (0..count)
        .map(|call| {
            let (id, input) = (format!("toolu_{call}"), serde_json::json!({ "text": "x" }));
            serde_json::json!({ "type": "tool_use", "id": id, "name": "echo", "input": input })
        })
        .collect();
    serde_json::json!({ "role": "assistant", "content": calls }).to_string()
}

#[test]
fn a_thousand_calls_of_eight_processes_are_recorded_and_a_change_is_named() {
    let line = CommandLine::new();
    line.write("toolcell.toml", CONFIG);
    line.write("message.json", message(125));
    let arguments = ["batch", "message.json", "--format", "anthropic", "--config", "toolcell.toml"];
    let first = line.run(&["call", "echo", r#"{"text":"x"}"#, "--config", "toolcell.toml"]);
    assert_eq!(first.code, 0, "{first:?}");
    std::fs::remove_dir_all(line.folder().join("audit")).unwrap();
    let spawn = |_| line.command(&arguments).stdout(Stdio::null()).spawn().unwrap();
    let mut children: Vec<_> = (0..8).map(spawn).collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let verify =
        |rest: &[&str]| line.run(&[&["audit", "verify", "--config", "toolcell.toml"], rest].concat());
    let intact = verify(&[]);
    assert_eq!(intact.code, 0, "{intact:?}");
    assert!(intact.stdout.ends_with("8 files, 1000 calls\n"), "{intact:?}");
    line.write("heads", &intact.stdout);

    let (fifth, head) = intact.stdout.lines().nth(4).unwrap().split_once(": 125 calls, head ").unwrap();
    let whole = std::fs::read(fifth).unwrap();
    let mut changed = whole.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    let number = whole[..middle].iter().filter(|byte| **byte == b'\n').count() + 1;
    std::fs::write(fifth, changed).unwrap();
    let named = verify(&[]);
    assert_eq!(named.code, 1);
    assert!(named.stderr.contains(&format!("{fifth}:{number}: this line ")), "{named:?}");

    let tail = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    std::fs::write(fifth, &whole[..tail]).unwrap();
    assert_eq!(verify(&[]).code, 0);
    let cut = verify(&["--expect", "@heads"]);
    assert!(cut.code == 1 && cut.stderr.contains(head), "{cut:?}");
    assert_eq!(verify(&["--expect", head]).code, 1);
}

#[test]
fn calls_that_fail_before_they_run_are_recorded_as_well() {
    let line = CommandLine::new();
    line.write("toolcell.toml", CONFIG);
    let call =
        |arguments: &[&str]| line.run(&[&["call"], arguments, &["--config", "toolcell.toml"]].concat());
    assert_eq!(call(&["ehco", "{}"]).code, 3);
    assert_eq!(call(&["echo", r#"{"txet":1}"#]).code, 3);
    assert_eq!(call(&["echo", "{"]).code, 3);
    assert_eq!(call(&["echo", r#"{"text":"x"}"#, "--session", "s1"]).code, 0);
    let shown = line.run(&["audit", "show", "--json", "--config", "toolcell.toml"]).json();
    let kinds: Vec<_> = shown.as_array().unwrap().iter().map(|call| call["kind"].as_str()).collect();
    let expected = [Some("unknown_tool"), Some("invalid_arguments"), Some("invalid_arguments"), None];
    assert_eq!(kinds, expected);
    let last = &shown[3];
    assert_eq!((&last["arguments"], &last["session"]), (&serde_json::json!({ "text": "x" }), &"s1".into()));
    assert_eq!(last["component"], "basics");
    line.run(&["list", "--config", "toolcell.toml"]);
    assert_eq!(std::fs::read_dir(line.folder().join("audit")).unwrap().count(), 4, "listing records nothing");
}

#[test]
fn a_call_that_cannot_be_recorded_is_not_made() {
    let line = CommandLine::new();
    line.write("toolcell.toml", CONFIG);
    line.write("audit", "a file in its place");
    let call = || line.run(&["call", "echo", r#"{"text":"x"}"#, "--config", "toolcell.toml"]);
    let refused = call();
    assert_ne!(refused.code, 0, "{refused:?}");
    assert_eq!(refused.stdout, "", "{refused:?}");
    line.write("toolcell.toml", CONFIG.replace("folder", "file"));
    let anybodys = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    std::fs::set_permissions(line.folder().join("audit"), anybodys).unwrap();
    let refused = call();
    assert_eq!((refused.code, refused.stdout.as_str()), (70, ""), "{refused:?}");
    for told in ["the call was not made, since it cannot be recorded", "`[audit]`", "then repeat the call"] {
        assert!(refused.stderr.contains(told), "{refused:?}");
    }
    let codes = line.run(&["call", "--help"]).stdout;
    assert!(codes.contains("70 a fault of toolcell or this machine"), "{codes}");
}

#[tokio::test]
async fn a_call_that_ran_and_cannot_be_recorded_says_that_it_ran() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("audit.jsonl");
    let runtime = built(
        builder()
            .component(probe(Grant::none(), Limits::new()))
            .audit(Audit::file(&file))
            .hook(HookEntry::new(Removing(file)).tools(["echo_u32"])),
    );
    let outcome = runtime.call(ToolCall::new("echo_u32", json!({"value": 7}))).await;
    let error = outcome.error.as_ref().unwrap();
    assert_eq!((error.kind.as_str(), error.kind.exit_code(), error.retryable), ("internal", 70, false));
    assert!(error.message.contains("the call may have run"), "{error:?}");
    assert!(error.help.as_ref().unwrap().contains("start toolcell again"), "{error:?}");
    assert!((outcome.content.len(), &outcome.structured) == (1, &None), "{outcome:?}");
    let next = runtime.call(ToolCall::new("echo_u32", json!({"value": 7}))).await;
    assert!(next.text().contains("the call was not made"), "{next:?}");
    assert!(next.error.unwrap().help.unwrap().contains("start toolcell again"));
}

#[tokio::test]
async fn what_cannot_be_recorded_gives_nothing_out_and_is_not_made_again() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("audit.jsonl");
    let print =
        || ToolCall::new("print", json!({ "channel": "stderr", "pattern": "secret words", "count": 200 }));
    let recorded = |hook: Option<HookEntry>| {
        let builder = builder().output(200, 10).component(probe(Grant::none(), Limits::new()));
        let builder = builder.audit(Audit::file(&file));
        built(match hook {
            Some(hook) => builder.hook(hook),
            None => builder,
        })
    };
    let runtime = recorded(Some(HookEntry::new(Removing(file.clone()))));
    let outcome = runtime.call(print()).await;
    assert!(!serde_json::to_string(&outcome).unwrap().contains("secret words"), "{outcome:?}");
    assert_eq!((outcome.logs.len(), &outcome.truncated), (0, &None));
    drop(runtime);
    let runtime = recorded(None);
    assert!(runtime.call(print()).await.is_success());
    std::fs::remove_file(&file).unwrap();
    let outcome = runtime.call(print()).await;
    assert!(outcome.text().contains("the call was not made"), "{outcome:?}");
}

/// Takes the audit's file away while a call runs.
struct Removing(std::path::PathBuf);

#[async_trait]
impl Hook for Removing {
    async fn pre(&self, _: &HookCall) -> HookResult<Pre> {
        std::fs::remove_file(&self.0)?;
        Ok(Pre::pass())
    }
}

/// The lines of the only file in `folder`.
fn lines(folder: &std::path::Path) -> Vec<Value> {
    let mut files = std::fs::read_dir(folder).unwrap();
    let text = std::fs::read_to_string(files.next().unwrap().unwrap().path()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Lets a call pass, with a panic after it.
struct Panicking;

#[async_trait]
impl Hook for Panicking {
    async fn post(&self, _: &HookCall, _: &Response) -> HookResult<Post> {
        panic!("after the call")
    }
}

#[tokio::test]
async fn every_end_of_a_call_is_recorded_with_what_was_decided() {
    let scratch = tempfile::tempdir().unwrap();
    let audit = scratch.path().join("audit");
    let runtime = built(
        builder()
            .component(probe(Grant::none(), Limits::new()))
            .audit(Audit::folder(&audit).arguments(Detail::Full))
            .rule(Rule::deny("trap").reason("no traps"))
            .rule(Rule::ask("time_now"))
            .hook(HookEntry::new(Panicking).tools(["echo_u32"])),
    );
    let call = |id: &str, name: &str, arguments: Value| runtime.call(ToolCall::new(name, arguments).id(id));
    call("denied", "trap", json!({})).await;
    call("asked", "time_now", json!({})).await;
    call("timeout", "spin", json!({})).timeout(Duration::from_millis(50)).await;
    call("hooked", "echo_u32", json!({"value": 1})).await;
    call("panicked", "panic_with", json!({"message": "oh"})).await;
    let dropped = call("dropped", "poll_forever", json!({})).into_future();
    assert!(tokio::time::timeout(Duration::from_millis(50), dropped).await.is_err());
    let twice = vec![
        ToolCall::new("echo_u32", json!({"value": 2})).id("same"),
        ToolCall::new("echo_u32", json!({"value": 3})).id("same"),
    ];
    runtime.call_batch(twice).await;
    drop(runtime);
    let recorded = lines(&audit);
    let facts: Vec<(&str, Option<&str>)> =
        recorded.iter().map(|line| (line["call"].as_str().unwrap(), line["kind"].as_str())).collect();
    let expected = [
        ("denied", Some("denied")),
        ("asked", Some("approval_needed")),
        ("timeout", Some("timeout")),
        ("hooked", None),
        ("panicked", Some("panicked")),
        ("dropped", Some("cancelled")),
    ];
    assert_eq!(facts[..6], expected);
    let mut both: Vec<_> = facts[6..].to_vec();
    both.sort();
    assert_eq!(both, [("same", None), ("same", Some("invalid_arguments"))]);
    let decisions = |index: usize| recorded[index]["decisions"].to_string();
    assert!(
        decisions(0).contains(r#""step":"rule","source":"`rule[0]`","action":"deny","reason":"no traps""#)
    );
    assert!(decisions(1).contains(r#""step":"approval""#), "{}", decisions(1));
    assert!(
        decisions(3).contains(r#""step":"post_hook","source":"Panicking","action":"failed""#),
        "{}",
        decisions(3)
    );
    assert!(decisions(4).contains(r#""step":"default","source":"`policy.default`","action":"allow""#));
    assert_eq!(recorded[3]["arguments"], json!({"value": 1}));
}

/// Calls something else than what the model wanted.
struct Rewriting;

#[async_trait]
impl Hook for Rewriting {
    async fn pre(&self, call: &HookCall) -> HookResult<Pre> {
        let rewritten = json!({ "value": format!("{} in other words", call.arguments()["value"]) });
        Ok(Pre::pass().rewrite(rewritten))
    }
}

/// Says yes under a name of its own, for good.
struct Colleague;

#[async_trait]
impl Approver for Colleague {
    async fn ask(&self, _: &Question) -> Answer {
        Answer::Always
    }

    fn name(&self) -> &str {
        "colleague"
    }
}

#[tokio::test]
async fn who_allowed_a_call_and_what_it_came_with_are_recorded() {
    let scratch = tempfile::tempdir().unwrap();
    let audited = |folder: &str| {
        let audit = Audit::folder(scratch.path().join(folder)).arguments(Detail::Full);
        builder().component(probe(Grant::none(), Limits::new())).audit(audit)
    };
    let asking = || audited("named").rule(Rule::ask("echo_string")).hook(Rewriting);
    let runtime = built(asking().approver(Colleague));
    for _ in 0..2 {
        let outcome = runtime.call(ToolCall::new("echo_string", json!({"value": "x"}))).await;
        assert!(outcome.is_success(), "{outcome:?}");
    }
    let closure = |_: Question| async { Answer::Once };
    let unnamed = built(audited("unnamed").rule(Rule::ask("echo_string")).approver(closure));
    unnamed.call(ToolCall::new("echo_string", json!({"value": "x"}))).await;
    let recorded = [lines(&scratch.path().join("named")), lines(&scratch.path().join("unnamed"))].concat();
    let approval = |line: &Value| {
        let decisions = line["decisions"].as_array().unwrap().iter();
        decisions.clone().find(|decision| decision["step"] == "approval").unwrap().clone()
    };
    let by: Vec<Value> = recorded.iter().map(|line| approval(line)["source"].clone()).collect();
    assert_eq!(by, ["colleague", "store", "callback"]);
    let which = approval(&recorded[1])["reason"].as_str().unwrap().to_owned();
    assert!(which.starts_with("always, exactly this, given as a-"), "{which}");
    for line in &recorded[..2] {
        assert_eq!(line["arguments"], json!({"value": "\"x\" in other words"}));
        assert_eq!(line["original"]["arguments"], json!({"value": "x"}));
        assert_ne!(line["original"]["arguments_hash"], line["arguments_hash"]);
    }
    assert_eq!(recorded[2].get("original"), None, "nobody changed these");
}

#[test]
fn a_call_that_is_interrupted_ends_in_order_and_is_recorded() {
    for signal in [Signal::INT, Signal::TERM] {
        let line = CommandLine::new();
        line.write("toolcell.toml", "[audit]\nfolder = \"audit\"\n");
        let probe = toolcell_tests::guest("probe");
        let config = ["--config", "toolcell.toml", "--component", probe.to_str().unwrap()];
        let mut command =
            line.command(&[&["call", "emit_and_spin", r#"{"text":"begun"}"#], &config[..]].concat());
        let mut child = command.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let pid = Pid::from_child(&child);
        // The file of the audit is there once the call has begun.
        let audit = line.folder().join("audit");
        while !audit.exists() {
            assert!(child.try_wait().unwrap().is_none());
            std::thread::yield_now();
        }
        kill_process(pid, signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(7), "{signal:?}");
        let recorded = lines(&audit);
        assert_eq!(recorded.len(), 1);
        assert_eq!(recorded[0]["kind"], "cancelled");
    }
}
