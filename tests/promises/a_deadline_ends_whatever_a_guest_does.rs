//! A call ends at its deadline, whatever its guest does: computing, sleeping, or calling the host in a loop. It ends
//! only its own call, and until then everybody else on the same thread gets a turn.

use std::future::IntoFuture;
use std::pin::pin;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcell::{Access, ErrorKind, Grant, Limit, Limits, Outcome, Runtime, ToolCall};
use toolcell_tests::{call, probing};

/// What is asked for, and what is acceptable on a machine with much else to do.
const ASKED: Duration = Duration::from_millis(100);
const ACCEPTABLE: Duration = Duration::from_secs(2);

/// Limits under which nothing but the deadline ends a loop.
fn endless() -> Limits {
    let enough = u64::MAX >> 1;
    Limits::new().timeout(ASKED).with(Limit::RandomBytes, enough).with(Limit::HostBytes, enough)
}

/// Ways of never returning, without directories.
fn endless_calls() -> Vec<(&'static str, Value)> {
    let mut calls = vec![
        ("spin", json!({})),
        ("sleep", json!({ "ms": 3_600_000 })),
        ("sleep_nanos", json!({ "nanos": "18446744073709551615" })),
        ("sleep_until", json!({ "instant": "18446744073709551615" })),
        ("poll_forever", json!({})),
        ("emit_and_spin", json!({ "text": "chunk" })),
        ("loop_random", json!({ "chunk": 64 << 10 })),
        ("loop_random", json!({ "chunk": 4 << 10 })),
        ("loop_random", json!({ "chunk": 1 })),
    ];
    let loops = [
        "loop_print",
        "loop_write_zero",
        "loop_flush",
        "loop_clock",
        "loop_poll",
        "loop_ready",
        "loop_environment",
        "loop_log",
        "loop_progress",
        "loop_metadata",
        "loop_config",
    ];
    calls.extend(loops.map(|name| (name, json!({}))));
    calls
}

/// Ways of never returning with a directory.
fn endless_calls_on_files() -> Vec<(&'static str, Value)> {
    vec![
        ("spin", json!({})),
        ("poll_forever", json!({})),
        ("loop_stat", json!({ "path": "file" })),
        ("loop_stat", json!({ "path": "missing" })),
        ("loop_read", json!({ "path": "file" })),
        ("loop_list", json!({ "preopen": 0 })),
        ("loop_clock", json!({})),
    ]
}

fn folder() -> (TempDir, Grant) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), vec![7; 100_000]).unwrap();
    let grant = Grant::none().dir(folder.path(), "/work", Access::Read);
    (folder, grant)
}

fn assert_timeout(name: &str, outcome: &Outcome) {
    let shown = format!("{name}: {:#?}", outcome.error);
    assert_eq!(outcome.error_kind(), Some(ErrorKind::Timeout), "{shown}");
    assert_eq!(outcome.exit_code(), 5, "{shown}");
    let error = outcome.error.as_ref().unwrap();
    assert!(error.help.as_ref().is_some_and(|help| help.contains("--timeout")), "{shown}");
    let took = Duration::from_secs_f64(outcome.usage.duration_ms / 1e3);
    assert!(took >= ASKED && took < ACCEPTABLE, "{name} took {took:?}");
}

/// The outcome, and how long the longest poll of it lasted: so long could nobody else on the thread do anything.
async fn watched(call: impl IntoFuture<Output = Outcome>) -> (Outcome, Duration) {
    let mut call = pin!(call.into_future());
    let mut longest = Duration::ZERO;
    let outcome = std::future::poll_fn(|context| {
        let began = Instant::now();
        let poll = call.as_mut().poll(context);
        longest = longest.max(began.elapsed());
        poll
    })
    .await;
    (outcome, longest)
}

#[tokio::test]
async fn computing_sleeping_and_calling_the_host_all_end_in_time() {
    for limits in [endless(), endless().fuel_off()] {
        let runtime = probing(Grant::none(), limits);
        runtime.warm().await.unwrap();
        for (name, arguments) in endless_calls() {
            assert_timeout(name, &call(&runtime, name, arguments).await);
            assert!(
                call(&runtime, "echo_silence", json!({})).await.is_success(),
                "the next call after {name}"
            );
        }
    }
}

#[tokio::test]
async fn so_do_calls_with_directories() {
    for limits in [endless(), endless().fuel_off()] {
        let (_folder, grant) = folder();
        let runtime = probing(grant, limits);
        runtime.warm().await.unwrap();
        for (name, arguments) in endless_calls_on_files() {
            assert_timeout(name, &call(&runtime, name, arguments).await);
            assert!(
                call(&runtime, "echo_silence", json!({})).await.is_success(),
                "the next call after {name}"
            );
        }
    }
}

/// Eight at once, some on the executor's threads and some on the runtime's own.
async fn eight_at_once(runtime: &Runtime, calls: Vec<(&'static str, Value)>) {
    for eight in calls.chunks(8) {
        let running: Vec<_> = (0..8)
            .map(|place| {
                let (name, arguments) = eight[place % eight.len()].clone();
                (name, tokio::spawn(runtime.call(ToolCall::new(name, arguments)).into_future()))
            })
            .collect();
        for (name, running) in running {
            assert_timeout(name, &running.await.unwrap());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_at_once_on_two_threads_end_in_time() {
    let runtime = probing(Grant::none(), endless());
    runtime.warm().await.unwrap();
    eight_at_once(&runtime, endless_calls()).await;
    let (_folder, grant) = folder();
    let runtime = probing(grant, endless());
    runtime.warm().await.unwrap();
    eight_at_once(&runtime, endless_calls_on_files()).await;
}

#[tokio::test]
async fn until_then_others_on_the_same_thread_get_their_turn() {
    for limits in [endless(), endless().fuel_off()] {
        let runtime = probing(Grant::none(), limits.timeout(Duration::from_millis(1200)));
        runtime.warm().await.unwrap();
        let calls: Vec<_> =
            endless_calls().into_iter().filter(|(name, _)| !name.starts_with("sleep")).collect();
        let watched = calls.iter().map(|(name, arguments)| {
            let runtime = runtime.clone();
            async move { (*name, watched(runtime.call(ToolCall::new(*name, arguments.clone()))).await) }
        });
        // Eight at once, all on this thread.
        let mut watched: Vec<_> = watched.collect();
        while !watched.is_empty() {
            let batch = watched.split_off(watched.len().saturating_sub(8));
            for (name, (outcome, longest)) in joined(batch).await {
                assert_eq!(outcome.error_kind(), Some(ErrorKind::Timeout), "{name}: {:#?}", outcome.error);
                assert!(longest < Duration::from_millis(500), "{name} held its thread for {longest:?}");
            }
        }
    }
}

/// All of `futures` in one task.
async fn joined<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        for (future, output) in futures.iter_mut().filter(|(_, output)| output.is_none()) {
            if let std::task::Poll::Ready(ready) = future.as_mut().poll(context) {
                *output = Some(ready);
            }
        }
        if futures.iter().all(|(_, output)| output.is_some()) {
            return std::task::Poll::Ready(());
        }
        std::task::Poll::Pending
    })
    .await;
    futures.into_iter().filter_map(|(_, output)| output).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_short_deadline_takes_no_other_call_with_it() {
    for limits in [Limits::new(), Limits::new().fuel_off()] {
        let runtime = probing(Grant::none(), limits);
        runtime.warm().await.unwrap();
        let stop = tokio_util::sync::CancellationToken::new();
        let killed = tokio::spawn({
            let (runtime, stop) = (runtime.clone(), stop.clone());
            async move {
                let mut killed = 0;
                while !stop.is_cancelled() {
                    let spin = ToolCall::new("spin", json!({}));
                    let outcome = runtime.call(spin).timeout(Duration::from_millis(20)).await;
                    assert_eq!(outcome.error_kind(), Some(ErrorKind::Timeout), "{:#?}", outcome.error);
                    killed += 1;
                }
                killed
            }
        });
        // Each starts at another phase of the clock, and has time in plenty.
        let long: Vec<_> = (0..50)
            .map(|number| {
                let runtime = runtime.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(number * 7)).await;
                    let call = ToolCall::new("spin_for", json!({ "ms": 20 }));
                    runtime.call(call).timeout(Duration::from_secs(25)).await
                })
            })
            .collect();
        for task in long {
            let outcome = task.await.unwrap();
            assert!(outcome.is_success(), "{:#?}", outcome.error);
        }
        stop.cancel();
        assert!(killed.await.unwrap() > 1);
    }
}

#[tokio::test]
async fn nobody_is_stopped_before_the_time_and_a_longer_timeout_lasts_longer() {
    let runtime = probing(Grant::none(), Limits::new());
    runtime.warm().await.unwrap();
    let ended_after = |name: &'static str, timeout: Duration| {
        let runtime = runtime.clone();
        async move {
            let outcome = runtime.call(ToolCall::new(name, json!({}))).timeout(timeout).await;
            assert_eq!(outcome.error_kind(), Some(ErrorKind::Timeout), "{:#?}", outcome.error);
            let took = Duration::from_secs_f64(outcome.usage.duration_ms / 1e3);
            assert!(took >= timeout, "{name} was stopped after {took:?} of {timeout:?}");
            took
        }
    };
    for name in ["spin", "poll_forever", "loop_clock"] {
        let (short, long) = tokio::join!(
            ended_after(name, Duration::from_millis(100)),
            ended_after(name, Duration::from_millis(1500))
        );
        assert!(long > short * 2, "{name}: {short:?} and {long:?}");
    }
}

#[tokio::test]
async fn two_hundred_at_once_all_end_at_their_own_time() {
    let mut admission = toolcell::limits::Admission::default();
    admission.concurrent_cells = 200;
    let probe = toolcell_tests::probe(Grant::none(), Limits::new());
    let runtime = toolcell_tests::built(toolcell_tests::builder().component(probe).admission(admission));
    runtime.warm().await.unwrap();
    let started = Instant::now();
    let calls: Vec<_> = (0..200)
        .map(|number| {
            let timeout = Duration::from_millis(100 + number);
            let call = runtime.call(ToolCall::new("poll_forever", json!({}))).timeout(timeout);
            (timeout, tokio::spawn(call.into_future()))
        })
        .collect();
    for (timeout, task) in calls {
        let outcome = task.await.unwrap();
        assert_eq!(outcome.error_kind(), Some(ErrorKind::Timeout), "{:#?}", outcome.error);
        assert!(outcome.usage.duration_ms >= timeout.as_secs_f64() * 1e3, "stopped early");
    }
    assert!(started.elapsed() < ACCEPTABLE * 2, "{:?}", started.elapsed());
}

#[tokio::test]
async fn standard_input_is_at_its_end_and_waits_for_nobody() {
    let runtime = probing(Grant::none(), Limits::new().timeout(Duration::from_secs(20)));
    let outcome = call(&runtime, "read_stdin", json!({})).await;
    assert_eq!(outcome.structured, Some(json!({ "result": "" })), "{:#?}", outcome.error);
}
