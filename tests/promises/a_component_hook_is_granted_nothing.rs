//! A component that is a hook decides within a cell, and has no way to allow anything.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use toolcell::hook::{ComponentHook, HookEntry};
use toolcell::{Error, ErrorKind, Grant, Limits, Outcome, Runtime, Status, ToolCall, ToolComponent};

use toolcell_tests::{builder, built, guest, probe};

fn judge() -> ComponentHook {
    ComponentHook::file(guest("judge")).unwrap()
}

fn judging(hook: impl Into<HookEntry>) -> Runtime {
    built(builder().component(probe(Grant::none(), Limits::new())).hook(hook))
}

/// A call of `tool` that is judged by `mode`.
async fn judged(runtime: &Runtime, mode: &str, tool: &str, arguments: Value) -> Outcome {
    runtime.call(ToolCall::new(tool, arguments).meta("mode", mode)).await
}

async fn echoed(mode: &str) -> Outcome {
    judged(&judging(judge()), mode, "echo_string", json!({"value": "x"})).await
}

#[tokio::test]
async fn its_decisions_are_followed() {
    let passed = judged(&judging(judge()), "", "metadata_of", json!({"key": "judged"})).await;
    assert_eq!(passed.text(), "yes");
    let denied = echoed("deny").await;
    assert_eq!((denied.status, denied.error_kind()), (Status::Denied, Some(ErrorKind::Denied)));
    assert_eq!(denied.text(), "the call was refused: echo_string is refused");
    assert_eq!(echoed("rewrite").await.text(), "rewritten");
    assert_eq!(echoed("ask").await.error_kind(), Some(ErrorKind::ApprovalNeeded));
}

#[tokio::test]
async fn its_verdicts_are_followed() {
    let replaced = echoed("replace").await;
    assert_eq!(
        (replaced.text().as_str(), replaced.structured),
        ("replaced", Some(json!({"result": "replaced"})))
    );
    assert_eq!(echoed("enrich").await.text(), "x\n1 blocks, {\"result\":\"x\"}");
    let failed = judged(&judging(judge()), "enrich", "echo_result", json!({"value": {"err": "no"}})).await;
    assert_eq!(failed.error_kind(), Some(ErrorKind::ToolError));
    assert!(
        serde_json::to_string(&failed).unwrap().contains("error-kind=tool_error error-message=no"),
        "{failed:?}"
    );
    let withheld = echoed("withhold").await;
    assert_eq!(withheld.text(), "the tool ran, and its result is withheld: not for you");
    let rich = judged(&judging(judge()), "enrich", "rich_output", json!({})).await;
    assert!(rich.text().contains("blocks,"), "{rich:?}");
    assert_eq!(rich.warnings, []);
}

#[tokio::test]
async fn it_sees_the_call_and_nothing_of_the_host() {
    let runtime = judging(judge());
    let session = runtime.session("s1").user("u42");
    let called = ToolCall::new("echo_string", json!({"value": "x"})).id(7).meta("mode", "facts");
    let told = session.call(called).await.text();
    insta::assert_snapshot!(told, @r#"
    the call was refused: component=probe
    origin=echo.echo-string
    read-only=true
    destructive=false
    call-id=7
    session=s1
    user=u42
    {"value":"x"}
    0 folders, 0 variables
    "#);
}

#[tokio::test]
async fn one_that_does_not_decide_refuses() {
    for mode in ["trap", "exit", "hog", "spin", "rewrite-unreadable", "rewrite-unfit"] {
        let hook = HookEntry::new(judge()).timeout(Duration::from_secs(3));
        let outcome = judged(&judging(hook), mode, "echo_string", json!({"value": "x"})).await;
        assert_eq!(
            (outcome.status, outcome.error_kind()),
            (Status::Denied, Some(ErrorKind::HookFailed)),
            "{mode}"
        );
        assert_eq!(outcome.usage.fuel, None, "{mode}: nothing ran");
        assert!(outcome.error.unwrap().help.unwrap().contains("hook `judge`"), "{mode}");
    }
    for mode in ["post-trap", "post-spin", "replace-unfit"] {
        let hook = HookEntry::new(judge()).timeout(Duration::from_secs(3));
        let outcome = judged(&judging(hook.clone()), mode, "echo_u32", json!({"value": 1})).await;
        // Seven is a number as the schema wants it.
        let expected = if mode == "replace-unfit" { json!({"result": 7}) } else { json!({"result": 1}) };
        assert_eq!((outcome.status, outcome.structured), (Status::Success, Some(expected)), "{mode}");
        let outcome =
            judged(&judging(hook.redacts()), mode, "echo_string", json!({"value": "hunter2"})).await;
        assert_eq!(outcome.error_kind(), Some(ErrorKind::HookFailed), "{mode}");
        assert!(!serde_json::to_string(&outcome).unwrap().contains("hunter2"), "{mode}");
    }
}

#[tokio::test]
async fn its_limits_are_its_own() {
    let small = judge().limits(Limits::new().fuel(1_000)).unwrap();
    let outcome = judged(&judging(small), "", "echo_string", json!({"value": "x"})).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::HookFailed));
    assert!(outcome.error.unwrap().help.unwrap().contains("out_of_fuel"));
    assert!(matches!(judge().limits(Limits::new().memory(1 << 10)), Err(Error::Limit { .. })));
    assert!(matches!(
        judge().limits(Limits::new().timeout(Duration::from_secs(1))),
        Err(Error::Limit { .. })
    ));
}

#[tokio::test]
async fn it_is_configured_by_its_operator() {
    let told = BTreeMap::from([("mode".to_owned(), "deny".to_owned())]);
    let runtime = judging(judge().config(told));
    let outcome = judged(&runtime, "", "echo_string", json!({"value": "x"})).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::Denied));
}

#[tokio::test]
async fn it_waits_for_its_place_among_the_cells() {
    let mut admission = toolcell::limits::Admission::default();
    admission.concurrent_cells = 1;
    let builder = builder().component(probe(Grant::none(), Limits::new())).admission(admission).hook(judge());
    let runtime = built(builder);
    let calls: Vec<_> = (0..20)
        .map(|number| {
            let runtime = runtime.clone();
            tokio::spawn(async move { judged(&runtime, "", "echo_u32", json!({"value": number})).await })
        })
        .collect();
    for (number, outcome) in calls.into_iter().enumerate() {
        assert_eq!(outcome.await.unwrap().structured, Some(json!({"result": number})));
    }
}

#[tokio::test]
async fn what_is_no_hook_is_refused_as_one_and_a_hook_as_a_tool() {
    let told = |hook: toolcell::Result<ComponentHook>| hook.unwrap_err().to_string();
    let other = ComponentHook::file(guest("probe"));
    insta::assert_snapshot!(told(other), @"probe: it is no hook: it does not export `toolcell:tool/hook` 1.x");
    // The right name with other types.
    let crafted = wat::parse_str(
        r#"(component
            (core module $module (func (export "run") (result i32) i32.const 0))
            (core instance $instance (instantiate $module))
            (func $run (result u32) (canon lift (core func $instance "run")))
            (instance $api (export "pre" (func $run)) (export "post" (func $run)))
            (export "toolcell:tool/hook@1.0.0" (instance $api)))"#,
    );
    insta::assert_snapshot!(told(ComponentHook::bytes("crafted", crafted.unwrap())), @"crafted: its `pre` has other parameters than that of `toolcell:tool/hook` 1.x");
    let as_tool = builder().component(ToolComponent::file(guest("judge"))).build().await;
    insta::assert_snapshot!(as_tool.unwrap_err().to_string().rsplit_once("judge").unwrap().1, @".wasm: it is a hook (`toolcell:tool/hook`) and has no tools; name it as the `path` of a `[[hook]]`");
}
