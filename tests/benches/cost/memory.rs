//! What waiting and running cells and sessions hold in memory.

use std::time::Duration;

use serde_json::json;
use toolcell::limits::Admission;
use toolcell::{Grant, Limits, Runtime, ToolCall};
use toolcell_tests::{built, probe};

use crate::page::Section;
use crate::pipeline::wait;

/// Cells that run at once.
const PLACES: u32 = 48;

/// Calls that wait for a place: no more than may.
const WAITING: usize = 1_000;

/// Bytes of this process alone: what it wrote to, no file that it maps.
pub fn private() -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() << 10
    };
    of("Private_Dirty:") + of("Private_Clean:")
}

fn kib(bytes: u64) -> String {
    format!("{:.1} KiB", bytes as f64 / 1024.0)
}

/// Bytes that so many calls hold that sleep in their cells.
async fn asleep(runtime: &Runtime, count: usize) -> u64 {
    let before = private();
    let call = || ToolCall::new("sleep", json!({ "ms": 60_000 }));
    let calls: Vec<_> = (0..count).map(|_| tokio::spawn(runtime.call(call()).into_future())).collect();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let held = private().saturating_sub(before);
    calls.iter().for_each(tokio::task::JoinHandle::abort);
    for call in calls {
        let _ = call.await;
    }
    held
}

/// Bytes that calls hold which have no place yet.
async fn waiting(runtime: &Runtime, places: usize, count: usize) -> u64 {
    let sleeping =
        || tokio::spawn(runtime.call(ToolCall::new("sleep", json!({ "ms": 60_000 }))).into_future());
    let mut calls: Vec<_> = (0..places).map(|_| sleeping()).collect();
    tokio::time::sleep(Duration::from_millis(1_000)).await;
    let before = private();
    calls.extend((0..count).map(|_| sleeping()));
    tokio::time::sleep(Duration::from_millis(1_000)).await;
    let held = private().saturating_sub(before);
    calls.iter().for_each(tokio::task::JoinHandle::abort);
    for call in calls {
        let _ = call.await;
    }
    held
}

pub fn section() -> Section {
    let limits = || Limits::new().timeout(Duration::from_secs(120));
    let mut admission = Admission::default();
    admission.concurrent_cells = PLACES;
    let runtime = || built(Runtime::builder().component(probe(Grant::none(), limits())).admission(admission));
    let places = PLACES as usize;
    let (one, all) = wait(async {
        let runtime = runtime();
        let call = ToolCall::new("sleep", json!({ "ms": 1 }));
        assert!(runtime.call(call).await.error.is_none());
        (asleep(&runtime, 8).await, asleep(&runtime, places).await)
    });
    let running = all.saturating_sub(one) / (places as u64 - 8);
    let queued = wait(async {
        let runtime = runtime();
        waiting(&runtime, places, WAITING).await / WAITING as u64
    });
    let sessions = wait(async {
        let runtime = runtime();
        let before = private();
        let mut kept = Vec::new();
        for number in 0..10_000 {
            let session = runtime.session(format!("session {number}"));
            let outcome = session.call(ToolCall::new("sleep", json!({ "ms": 0 }))).await;
            assert!(outcome.error.is_none(), "{:?}", outcome.error);
            kept.push(session);
        }
        private().saturating_sub(before) / 10_000
    });
    Section {
        title: "Memory",
        words: format!(
            "Private bytes of the process, each more of its kind: of {places} cells of the probing guest that sleep, of \
             {WAITING} calls that wait for a place, of 10,000 sessions that each made a call."
        ),
        head: vec!["what", "each"],
        rows: vec![
            vec!["a cell that sleeps".to_owned(), kib(running)],
            vec!["a call that waits".to_owned(), kib(queued)],
            vec!["a session".to_owned(), kib(sessions)],
        ],
    }
}
