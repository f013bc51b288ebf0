//! Tools are registered and removed while others are called; each call finishes on what it began with.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;
use toolcell::format::Strict;
use toolcell::{ErrorKind, Format, Grant, Limits, NativeTool, Runtime, ToolCall, ToolComponent};
use toolcell_tests::{block_on, builder, built, call, guest, probe};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

fn saying(name: &str, words: &'static str) -> NativeTool<String> {
    NativeTool::new(
        name,
        "Says its words.",
        move |_: Nothing, _| async move { Ok::<_, String>(words.to_owned()) },
    )
}

fn names(runtime: &Runtime) -> Vec<String> {
    runtime.list().iter().map(|tool| tool.name().to_owned()).collect()
}

async fn kind(runtime: &Runtime, name: &str) -> Option<ErrorKind> {
    call(runtime, name, json!({})).await.error_kind()
}

#[tokio::test]
async fn a_registration_that_is_dropped_takes_its_tools_along() {
    let runtime = built(builder());
    let (registration, warnings) = runtime.register(probe(Grant::none(), Limits::new())).unwrap();
    assert_eq!(warnings, [] as [String; 0]);
    let echoed = call(&runtime, "echo_u32", json!({ "value": 7 })).await;
    assert_eq!(echoed.structured, Some(json!({ "result": 7 })));
    assert!(registration.tools().iter().any(|tool| tool.name() == "echo_u32"));
    assert_eq!(names(&runtime).len(), registration.tools().len());
    drop(registration);
    assert_eq!(names(&runtime), [] as [String; 0]);
    let gone = call(&runtime, "echo_u32", json!({ "value": 7 })).await;
    assert_eq!(gone.error_kind(), Some(ErrorKind::UnknownTool));
    assert!(runtime.get("echo_u32").is_none());
    // The same again, and for good.
    let (registration, _) = runtime.register(probe(Grant::none(), Limits::new())).unwrap();
    registration.detach();
    assert!(call(&runtime, "echo_u32", json!({ "value": 7 })).await.is_success());
    runtime.register_native(saying("native", "here")).unwrap().detach();
    assert_eq!(call(&runtime, "native", json!({})).await.text(), "here");
}

#[tokio::test]
async fn a_taken_name_is_refused_and_nothing_changes() {
    let runtime = built(builder().native(saying("echo_u32", "first")));
    let mut changes = runtime.changes();
    let error = runtime.register(probe(Grant::none(), Limits::new())).unwrap_err().to_string();
    assert!(
        error.contains("two tools are named `echo_u32`") && error.contains("`prefix` or `rename`"),
        "{error}"
    );
    assert!(runtime.register_native(saying("echo_u32", "second")).is_err());
    assert_eq!(names(&runtime), ["echo_u32"], "all or none");
    assert!(!changes.has_changed().unwrap());
    let registration = runtime.register_native(saying("other", "x")).unwrap();
    assert!(changes.has_changed().unwrap());
    changes.mark_unchanged();
    drop(registration);
    assert!(changes.has_changed().unwrap());
}

#[tokio::test]
async fn one_of_the_same_name_that_came_later_stays() {
    let runtime = built(builder());
    let first = runtime.register_native(saying("tool", "first")).unwrap();
    assert!(runtime.register_native(saying("tool", "second")).is_err());
    drop(first);
    let second = runtime.register_native(saying("tool", "second")).unwrap();
    assert_eq!(call(&runtime, "tool", json!({})).await.text(), "second");
    drop(second);
    assert_eq!(kind(&runtime, "tool").await, Some(ErrorKind::UnknownTool));
}

#[tokio::test]
async fn a_change_is_told_once() {
    let runtime = built(builder());
    let before = *runtime.changes().borrow();
    let (registration, _) = runtime.register(probe(Grant::none(), Limits::new())).unwrap();
    assert_eq!(*runtime.changes().borrow(), before + 1, "many tools, one change");
    drop(registration);
    assert_eq!(*runtime.changes().borrow(), before + 2);
    let waiting = runtime.clone();
    let mut changes = runtime.changes();
    let told = tokio::spawn(async move {
        changes.changed().await.unwrap();
        names(&waiting)
    });
    tokio::task::yield_now().await;
    runtime.register_native(saying("new", "x")).unwrap().detach();
    assert_eq!(told.await.unwrap(), ["new"], "who is told sees what changed");
}

#[tokio::test]
async fn a_call_that_runs_finishes_on_what_it_began_with() {
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (telling, waiting) = (Arc::clone(&begun), Arc::clone(&go));
    let tool = NativeTool::new("tool", "Waits.", move |_: Nothing, _| {
        let (telling, waiting) = (Arc::clone(&telling), Arc::clone(&waiting));
        async move {
            telling.notify_one();
            waiting.notified().await;
            Ok::<_, String>("first".to_owned())
        }
    });
    let runtime = built(builder());
    let first = runtime.register_native(tool).unwrap();
    let running = tokio::spawn(runtime.call(ToolCall::new("tool", json!({}))).into_future());
    begun.notified().await;
    drop(first);
    assert_eq!(kind(&runtime, "tool").await, Some(ErrorKind::UnknownTool));
    let _second = runtime.register_native(saying("tool", "second")).unwrap();
    assert_eq!(call(&runtime, "tool", json!({})).await.text(), "second");
    go.notify_one();
    assert_eq!(running.await.unwrap().text(), "first");
}

#[tokio::test]
async fn a_guest_s_call_finishes_though_its_component_is_gone_and_its_file_is_another() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tool.wasm");
    std::fs::copy(guest("probe"), &file).unwrap();
    let runtime = built(builder());
    let (registration, _) = runtime.register(ToolComponent::file(&file)).unwrap();
    assert!(call(&runtime, "sleep", json!({ "ms": 1 })).await.is_success());
    let mut running = Box::pin(runtime.call(ToolCall::new("sleep", json!({ "ms": 50 }))).into_future());
    let polled =
        std::future::poll_fn(|context| std::task::Poll::Ready(running.as_mut().poll(context).is_pending()));
    assert!(polled.await);
    std::fs::copy(guest("readonly-liar"), &file).unwrap();
    drop(registration);
    assert_eq!(kind(&runtime, "sleep").await, Some(ErrorKind::UnknownTool));
    let (_registration, _) = runtime.register(ToolComponent::file(&file)).unwrap();
    assert!(runtime.get("lie").is_some(), "the new content is what is loaded now");
    assert!(running.await.is_success());
}

#[test]
fn eight_threads_call_while_tools_come_and_go() {
    let runtime = built(builder().native(saying("stable", "stable")));
    let done = AtomicBool::new(false);
    let served = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let stable = block_on(call(&runtime, "stable", json!({})));
                    assert_eq!(stable.text(), "stable");
                    let fleeting = block_on(call(&runtime, "fleeting", json!({})));
                    match fleeting.error_kind() {
                        None => assert_eq!(fleeting.text(), "fleeting"),
                        Some(kind) => assert_eq!(kind, ErrorKind::UnknownTool),
                    }
                    served.fetch_add(usize::from(fleeting.is_success()), Ordering::Relaxed);
                    assert!(names(&runtime).contains(&"stable".to_owned()));
                }
            });
        }
        for _ in 0..300 {
            drop(runtime.register_native(saying("fleeting", "fleeting")).unwrap());
        }
        let registration = runtime.register_native(saying("fleeting", "fleeting")).unwrap();
        while served.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        done.store(true, Ordering::Relaxed);
        drop(registration);
    });
    assert_eq!(names(&runtime), ["stable"]);
}

#[tokio::test]
async fn definitions_follow_what_there_is() {
    let runtime = built(builder().native(saying("one", "1").group("g")));
    let exported = |runtime: &Runtime| Format::Anthropic.export(&runtime.list(), Strict::Off).tools;
    let listed = |tools: Value| -> Vec<String> {
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(listed(exported(&runtime)), ["one"]);
    let registration = runtime.register_native(saying("another", "2")).unwrap();
    assert_eq!(listed(exported(&runtime)), ["another", "one"]);
    runtime.switch("g", false);
    assert_eq!(listed(exported(&runtime)), ["another"]);
    assert!(runtime.get("one").is_some(), "it is there, switched off");
    drop(registration);
    assert_eq!(listed(exported(&runtime)), [] as [String; 0]);
}

#[tokio::test]
async fn an_id_comes_back_as_it_was_also_twice_at_once() {
    let runtime = built(builder().native(saying("tool", "x")));
    let ids = [
        json!(1),
        json!("1"),
        json!(0),
        json!(-1),
        json!(9_007_199_254_740_993_u64),
        json!("x".repeat(5000)),
        Value::Null,
    ];
    for id in &ids {
        let one = runtime.call(ToolCall::new("tool", json!({})).id(id.clone())).into_future();
        let same = runtime.call(ToolCall::new("missing", json!({})).id(id.clone())).into_future();
        let (one, same) = tokio::join!(one, same);
        assert_eq!((&one.id, &same.id), (id, id));
        assert_eq!((one.is_success(), same.error_kind()), (true, Some(ErrorKind::UnknownTool)));
    }
}
