//! Many at once: threads, callers, tools.

use std::time::{Duration, Instant};

use serde_json::json;
use toolcell::{Grant, Limits, Runtime, ToolCall, ToolComponent};
use toolcell_tests::guest;

use crate::measure::{median, quantile};
use crate::page::{Section, micros};
use crate::work::{BARE, text};

/// How long calls are counted.
const PERIOD: Duration = Duration::from_millis(700);

fn runtime(bytes: Vec<u8>) -> Runtime {
    let component = ToolComponent::bytes("kernel", bytes).grant(Grant::none());
    Runtime::builder().component(component).limits(Limits::new()).build_blocking().unwrap()
}

fn kernel() -> Vec<u8> {
    std::fs::read(guest("kernel")).unwrap()
}

/// Calls a second by so many callers on so many threads.
fn throughput(runtime: &Runtime, call: &ToolCall, threads: usize, callers: usize) -> f64 {
    let executor =
        tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build().unwrap();
    let started = Instant::now();
    let count: usize = executor.block_on(async {
        let callers: Vec<_> = (0..callers)
            .map(|_| {
                let (runtime, call) = (runtime.clone(), call.clone());
                tokio::spawn(async move {
                    let mut count = 0;
                    while started.elapsed() < PERIOD {
                        assert!(runtime.call(call.clone()).await.error.is_none());
                        count += 1;
                    }
                    count
                })
            })
            .collect();
        let mut count = 0;
        for caller in callers {
            count += caller.await.unwrap();
        }
        count
    });
    count as f64 / started.elapsed().as_secs_f64()
}

pub fn threads() -> Section {
    let works = [
        (
            "`echo` of 1 KB, a component without WASI",
            wat::parse_str(BARE).unwrap(),
            "echo",
            json!({ "text": text(1024) }),
        ),
        ("`sum`, a small WASI guest", kernel(), "sum", json!({ "a": 2, "b": 3 })),
        ("`take` of 1 MiB, which grows its memory", kernel(), "take", json!({ "kib": 1024 })),
    ];
    let row = |(name, bytes, tool, arguments): (&str, Vec<u8>, &str, serde_json::Value)| {
        let (runtime, call) = (runtime(bytes), ToolCall::new(tool, arguments));
        throughput(&runtime, &call, 1, 1);
        let mut rounds: Vec<(f64, f64)> =
            (0..5).map(|_| (throughput(&runtime, &call, 1, 2), throughput(&runtime, &call, 2, 4))).collect();
        rounds.sort_by(|one, other| (one.1 / one.0).total_cmp(&(other.1 / other.0)));
        let (one, two) = rounds[rounds.len() / 2];
        vec![name.to_owned(), format!("{one:.0}"), format!("{two:.0}"), format!("{:.2}×", two / one)]
    };
    Section {
        title: "Threads",
        words: "Calls a second by two callers on one thread, and by four on two, in one process.".to_owned(),
        head: vec!["work", "one thread", "two threads", "ratio"],
        rows: works.into_iter().map(row).collect(),
    }
}

/// The times of calls by so many callers at once.
fn crowd(runtime: &Runtime, callers: usize) -> Vec<Duration> {
    let executor =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    executor.block_on(async {
        let calls: Vec<_> = (0..callers)
            .map(|_| {
                let runtime = runtime.clone();
                tokio::spawn(async move {
                    let mut times = Vec::new();
                    for _ in 0..100 {
                        let started = Instant::now();
                        let outcome = runtime.call(ToolCall::new("sum", json!({ "a": 2, "b": 3 }))).await;
                        times.push(started.elapsed());
                        assert!(outcome.error.is_none(), "{:?}", outcome.error);
                    }
                    times
                })
            })
            .collect();
        let mut times = Vec::new();
        for call in calls {
            times.extend(call.await.unwrap());
        }
        times
    })
}

/// A thousand components of one tool each, in a folder.
fn thousand() -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..1_000 {
        let text = BARE.replace("\"echo\"", &format!("\"echo-{number}\""));
        std::fs::write(folder.path().join(format!("c{number}.wasm")), wat::parse_str(text).unwrap()).unwrap();
    }
    let cache = tempfile::tempdir().unwrap();
    let load = || {
        let started = Instant::now();
        let component = ToolComponent::file(folder.path());
        let runtime =
            Runtime::builder().component(component).cache(cache.path().join("c")).build_blocking().unwrap();
        assert_eq!(runtime.list().len(), 1_000);
        (started.elapsed(), runtime)
    };
    let mut loads: Vec<Duration> = (0..5).map(|_| load().0).collect();
    let runtime = load().1;
    let mut lists: Vec<Duration> = (0..20)
        .map(|_| {
            let started = Instant::now();
            std::hint::black_box(
                toolcell::Format::Mcp.export(&runtime.list(), toolcell::format::Strict::Off),
            );
            started.elapsed()
        })
        .collect();
    vec![
        vec!["loading 1,000 components of one tool".to_owned(), micros(median(&mut loads))],
        vec!["exporting their 1,000 tools for MCP".to_owned(), micros(median(&mut lists))],
    ]
}

pub fn section() -> Section {
    let runtime = runtime(kernel());
    crowd(&runtime, 10);
    let mut times = crowd(&runtime, 200);
    let (half, most, nearly) =
        (quantile(&mut times, 0.5), quantile(&mut times, 0.99), quantile(&mut times, 0.999));
    let ratio = most.as_secs_f64() / half.as_secs_f64();
    let mut rows = vec![vec![
        "`sum` by 200 callers at once on two threads, p50 / p99 / p99.9".to_owned(),
        format!("{} / {} / {} (p99 : p50 = {ratio:.1})", micros(half), micros(most), micros(nearly)),
    ]];
    rows.extend(thousand());
    Section {
        title: "Many at once",
        words: "Callers and tools in great numbers.".to_owned(),
        head: vec!["what", "measured"],
        rows,
    }
}
