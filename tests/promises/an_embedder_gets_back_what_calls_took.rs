//! Calls that end, are given up or are dropped give back their threads, descriptors and memory, and so does a runtime.
//! Each of these tests needs a process of its own, as nextest gives it one.

use std::future::IntoFuture;
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use toolcell::{Access, ErrorKind, Grant, Limits, Outcome, Runtime, ToolCall};
use toolcell_tests::process::{descriptors, resident, threads};
use toolcell_tests::{builder, built, call, probe, probing};

const MIB: u64 = 1 << 20;

/// Cells that run at once by default.
const CELLS: u64 = 32;

fn with_folder() -> (TempDir, Runtime) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "content").unwrap();
    let grant = Grant::none().dir(folder.path(), "/work", Access::ReadWrite);
    (folder, probing(grant, Limits::new()))
}

/// Waits until `is_so`, as the end of a thread is not at once seen by the system; panics with `what` if it never is.
async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(10), "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The outcome of `call`, or `None` after `patience`: then the call was dropped.
async fn dropped_after(call: toolcell::Call, patience: Duration) -> Option<Outcome> {
    tokio::time::timeout(patience, call.into_future()).await.ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_calls_dropped_in_the_middle_leave_nothing() {
    let (_folder, files) = with_folder();
    let plain = probing(Grant::none(), Limits::new());
    for runtime in [&plain, &files] {
        runtime.warm().await.unwrap();
        assert!(call(runtime, "sleep", json!({ "ms": 1 })).await.is_success());
    }
    let (threads_before, descriptors_before) = (threads(), descriptors());
    let mut resident_before = 0;
    for round in 0..10 {
        let dropped: Vec<_> = (0..50)
            .map(|number| {
                let runtime = if usize::is_multiple_of(number, 2) { &plain } else { &files };
                let name = ["sleep", "spin", "loop_clock", "poll_forever", "loop_print"][number % 5];
                let arguments = if name == "sleep" { json!({ "ms": 60_000 }) } else { json!({}) };
                let call = runtime.call(ToolCall::new(name, arguments));
                tokio::spawn(dropped_after(call, Duration::from_millis(10)))
            })
            .collect();
        for task in dropped {
            assert!(task.await.unwrap().is_none(), "dropped before its end");
        }
        if round == 2 {
            resident_before = resident();
        }
    }
    for runtime in [&plain, &files] {
        assert!(call(runtime, "sleep", json!({ "ms": 1 })).await.is_success(), "cells are free again");
    }
    // Idle guest threads stay for a while, but not more of them than ran at once.
    eventually("descriptors stay open", || descriptors() <= descriptors_before + 2).await;
    assert!(files.guest_threads() <= 32, "{}", files.guest_threads());
    let grown = resident().saturating_sub(resident_before);
    assert!(grown < 20 * MIB, "the process grew by {} MiB", grown / MIB);
    drop((plain, files));
    eventually("threads stay", || threads() <= threads_before).await;
}

#[tokio::test]
async fn a_dropped_call_with_directories_ends_its_cell() {
    let mut admission = toolcell::limits::Admission::default();
    admission.concurrent_cells = 1;
    let folder = tempfile::tempdir().unwrap();
    let grant = Grant::none().dir(folder.path(), "/work", Access::ReadWrite);
    let runtime = built(builder().component(probe(grant, Limits::new())).admission(admission));
    runtime.warm().await.unwrap();
    for endless in ["spin", "poll_forever", "loop_clock"] {
        let call = runtime.call(ToolCall::new(endless, json!({})));
        assert!(dropped_after(call, Duration::from_millis(50)).await.is_none());
        // There is one cell: this one gets it only once the other has ended, long before its 30 s.
        let started = Instant::now();
        let next = runtime.call(ToolCall::new("echo_silence", json!({}))).await;
        assert!(next.is_success(), "after {endless}: {:#?}", next.error);
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    }
    assert_eq!(runtime.guest_threads(), 1);
}

#[tokio::test]
async fn a_cancelled_call_says_so_and_ends() {
    let (_folder, files) = with_folder();
    let plain = probing(Grant::none(), Limits::new());
    for runtime in [plain, files] {
        runtime.warm().await.unwrap();
        for endless in ["spin", "poll_forever", "loop_clock"] {
            let token = CancellationToken::new();
            let call = runtime.call(ToolCall::new(endless, json!({}))).cancel(token.clone());
            let canceller = async {
                tokio::time::sleep(Duration::from_millis(20)).await;
                token.cancel();
            };
            let started = Instant::now();
            let (outcome, ()) = tokio::join!(call.into_future(), canceller);
            assert_eq!(outcome.error_kind(), Some(ErrorKind::Cancelled), "{endless}: {:#?}", outcome.error);
            assert_eq!(outcome.exit_code(), 7);
            assert!(outcome.error.unwrap().retryable);
            assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
        }
        let token = CancellationToken::new();
        token.cancel();
        let early = runtime.call(ToolCall::new("spin", json!({}))).cancel(token).await;
        assert_eq!(early.error_kind(), Some(ErrorKind::Cancelled), "{:#?}", early.error);
    }
}

#[tokio::test]
async fn a_token_belongs_to_the_caller_and_serves_many_calls() {
    let (_folder, files) = with_folder();
    let plain = probing(Grant::none(), Limits::new());
    for runtime in [plain, files] {
        let token = CancellationToken::new();
        for _ in 0..3 {
            let call = runtime.call(ToolCall::new("echo_silence", json!({}))).cancel(token.clone());
            let outcome = call.await;
            assert!(outcome.is_success(), "{:#?}", outcome.error);
            assert!(!token.is_cancelled(), "a call cancels nobody else's");
        }
        let call = runtime.call(ToolCall::new("spin", json!({}))).cancel(token.clone());
        assert!(dropped_after(call, Duration::from_millis(20)).await.is_none());
        assert!(!token.is_cancelled(), "neither does a dropped one");
    }
}

#[tokio::test]
async fn two_hundred_runtimes_come_and_go() {
    let folder = tempfile::tempdir().unwrap();
    let cycle = async |number: u64| {
        let grant = Grant::none().dir(folder.path(), "/work", Access::Read);
        let limits = if number.is_multiple_of(2) { Limits::new() } else { Limits::new().fuel_off() };
        let component = probe(if number % 4 < 2 { grant } else { Grant::none() }, limits);
        let runtime = built(builder().component(component.tools(["echo_silence", "poll_forever"])));
        let outcome = call(&runtime, "echo_silence", json!({})).await;
        assert!(outcome.is_success(), "{:#?}", outcome.error);
        if number % 8 < 4 {
            let call = runtime.call(ToolCall::new("poll_forever", json!({})));
            assert!(dropped_after(call, Duration::from_millis(1)).await.is_none());
        }
    };
    for number in 0..20 {
        cycle(number).await;
    }
    let base = 4;
    eventually("threads of the first runtimes stay", || threads() <= base).await;
    let (descriptors_before, resident_before) = (descriptors(), resident());
    for number in 0..180 {
        cycle(number).await;
    }
    eventually("threads stay", || threads() <= base).await;
    eventually("descriptors stay open", || descriptors() <= descriptors_before + 2).await;
    let grown = resident().saturating_sub(resident_before);
    assert!(grown < 20 * MIB, "the process grew by {} MiB", grown / MIB);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_calls_are_as_light_as_a_thousand() {
    let (_folder, files) = with_folder();
    let plain = probing(Grant::none(), Limits::new());
    for runtime in [&plain, &files] {
        let fuel = echo(runtime.clone()).await;
        let threads_before = threads();
        for at_once in [1, 16] {
            let mut after_a_thousand = None;
            for _ in 0..10 {
                let tasks: Vec<_> = (0..at_once)
                    .map(|_| {
                        let runtime = runtime.clone();
                        tokio::spawn(async move {
                            for _ in 0..1000 / at_once {
                                assert_eq!(echo(runtime.clone()).await, fuel, "equal calls burn equal fuel");
                            }
                        })
                    })
                    .collect();
                for task in tasks {
                    task.await.unwrap();
                }
                let now = (resident(), descriptors());
                let (memory, open) = *after_a_thousand.get_or_insert(now);
                assert!(now.0 < memory + 16 * MIB, "the process grew from {memory} to {}", now.0);
                assert!(now.1 <= open + 2, "descriptors: {open}, then {}", now.1);
                // A cell is taken until its store is dropped, which nobody waits for; there are never more guest
                // threads than cells.
                assert!(threads() <= threads_before + CELLS, "threads: {threads_before}, then {}", threads());
            }
        }
    }
}

/// One call; the fuel that it burnt.
async fn echo(runtime: Runtime) -> Option<u64> {
    let outcome = call(&runtime, "echo_string", json!({ "value": "hello world" })).await;
    assert_eq!(outcome.text(), "hello world", "{:#?}", outcome.error);
    outcome.usage.fuel
}
