//! The library works under any executor or none, and on any thread.

use std::task::{Context, Waker};
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use toolcell::{Access, ErrorKind, Grant, Limits, Runtime, ToolCall};
use toolcell_tests::{block_on, builder, built, call, probe};

/// A component with directories and one without.
fn both() -> (TempDir, Runtime) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "content").unwrap();
    let grant = Grant::none().dir(folder.path(), "/work", Access::Read);
    let runtime = built(
        builder()
            .component(probe(Grant::none(), Limits::new()))
            .component(probe(grant, Limits::new()).name("with_folder").prefix("folder_")),
    );
    (folder, runtime)
}

/// Prints, sleeps, opens a file, is stopped.
async fn exercise(runtime: &Runtime) {
    for prefix in ["", "folder_"] {
        let tool = |name: &str| format!("{prefix}{name}");
        let printed =
            call(runtime, &tool("print"), json!({ "channel": "stdout", "pattern": "hi", "count": 2 })).await;
        assert_eq!(printed.structured, Some(json!({ "result": 4 })), "{:#?}", printed.error);
        let slept = call(runtime, &tool("sleep"), json!({ "ms": 5 })).await;
        assert!(slept.is_success(), "{:#?}", slept.error);
        for endless in ["spin", "poll_forever", "loop_clock"] {
            let call = ToolCall::new(tool(endless), json!({}));
            let stopped = runtime.call(call).timeout(Duration::from_millis(30)).await;
            assert_eq!(stopped.error_kind(), Some(ErrorKind::Timeout), "{:#?}", stopped.error);
        }
    }
    let read = json!({ "preopen": 0, "path": "file", "offset": 0, "length": 100 });
    let read = call(runtime, "folder_raw_read", read).await;
    assert_eq!(read.structured, Some(json!({ "result": "Y29udGVudA==" })), "{:#?}", read.error);
}

#[test]
fn from_a_plain_thread_without_an_executor() {
    let (_folder, runtime) = both();
    block_on(exercise(&runtime));
}

#[tokio::test(flavor = "current_thread")]
async fn from_a_runtime_of_one_thread() {
    let (_folder, runtime) = both();
    exercise(&runtime).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_a_runtime_of_several_threads() {
    let (_folder, runtime) = both();
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let runtime = runtime.clone();
            tokio::spawn(async move { exercise(&runtime).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    // Dropped where blocking is forbidden.
    drop(runtime);
}

#[tokio::test]
async fn from_a_thread_for_blocking_work() {
    let (_folder, runtime) = both();
    let blocking = runtime.clone();
    tokio::task::spawn_blocking(move || block_on(exercise(&blocking))).await.unwrap();
    let handle = tokio::runtime::Handle::current();
    tokio::task::spawn_blocking(move || handle.block_on(exercise(&runtime))).await.unwrap();
}

#[test]
fn from_two_runtimes_at_once_that_come_and_go() {
    let (_folder, runtime) = both();
    for _ in 0..2 {
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let executor = tokio::runtime::Builder::new_current_thread().build().unwrap();
                    executor.block_on(exercise(&runtime));
                });
            }
        });
    }
}

#[test]
fn a_future_may_move_between_executors() {
    let (_folder, runtime) = both();
    let mut call = Box::pin(runtime.call(ToolCall::new("sleep", json!({ "ms": 50 }))).into_future());
    assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let executor = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let outcome = executor.block_on(call);
    assert!(outcome.is_success(), "{:#?}", outcome.error);
}

#[test]
fn from_a_thread_with_a_small_stack() {
    let (_folder, runtime) = both();
    let small = std::thread::Builder::new().stack_size(256 << 10);
    let outcomes = small.spawn(move || {
        ["recurse", "folder_recurse"].map(|name| {
            let deep = block_on(runtime.call(ToolCall::new(name, json!({ "depth": 10_000_000 }))));
            let next = block_on(runtime.call(ToolCall::new(name, json!({ "depth": 10 }))));
            (deep, next)
        })
    });
    for (deep, next) in outcomes.unwrap().join().unwrap() {
        assert_eq!(deep.error_kind(), Some(ErrorKind::StackOverflow), "{:#?}", deep.error);
        assert!(next.is_success(), "{:#?}", next.error);
    }
}
