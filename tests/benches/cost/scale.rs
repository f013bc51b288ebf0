//! Many at once: threads, callers, tools.

use std::time::{Duration, Instant};

use serde_json::json;
use toolcell::format::Strict;
use toolcell::{Format, Grant, Limits, Runtime, ToolCall, ToolComponent};
use toolcell_tests::guest;

use crate::floor::{Floor, Metering};
use crate::measure::{median, quantile, timed};
use crate::page::{Section, micros};
use crate::pipeline::wait;
use crate::work::{BARE, Work, text};

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

/// Calls a second by wasmtime alone, on so many threads of one process.
fn bare(floor: &Floor, threads: usize) -> f64 {
    let started = Instant::now();
    let count: usize = std::thread::scope(|scope| {
        let counting = || {
            let mut count = 0;
            while started.elapsed() < PERIOD {
                floor.call();
                count += 1;
            }
            count
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(counting)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    count as f64 / started.elapsed().as_secs_f64()
}

/// The round of the median ratio of the second to the first.
fn middle(mut rounds: Vec<(f64, f64)>) -> (f64, f64) {
    rounds.sort_by(|one, other| (one.1 / one.0).total_cmp(&(other.1 / other.0)));
    rounds[rounds.len() / 2]
}

pub fn threads() -> Section {
    let works = [
        ("`echo` of 1 KB, a component without WASI", Work::Echo(text(1024))),
        ("`sum`, a small WASI guest", Work::Sum(2, 3)),
        ("`take` of 1 MiB, which grows its memory", Work::Take(1024)),
    ];
    let row = |(name, work): (&str, Work)| {
        let runtime = runtime(work.component());
        let call = ToolCall::new(work.function(), work.arguments());
        let floor = Floor::new(work, Metering::None, None);
        throughput(&runtime, &call, 1, 1);
        bare(&floor, 1);
        let (mut calls, mut floors) = (Vec::new(), Vec::new());
        for _ in 0..5 {
            calls.push((throughput(&runtime, &call, 1, 2), throughput(&runtime, &call, 2, 4)));
            floors.push((bare(&floor, 1), bare(&floor, 2)));
        }
        let ((one, two), (floor, floors)) = (middle(calls), middle(floors));
        vec![
            name.to_owned(),
            format!("{one:.0}"),
            format!("{two:.0}"),
            format!("{:.2}×", two / one),
            format!("{:.2}×", floors / floor),
        ]
    };
    Section {
        title: "Threads",
        words: "Calls a second by two callers on one thread, and by four on two, in one process; beside it what two threads \
                are to one for wasmtime alone."
            .to_owned(),
        head: vec!["work", "one thread", "two threads", "ratio", "wasmtime alone"],
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

/// Components of one tool each, in a folder, and where their native code is kept.
pub struct Crowd {
    folder: tempfile::TempDir,
    cache: tempfile::TempDir,
    count: usize,
}

impl Crowd {
    pub fn new(count: usize) -> Self {
        let (folder, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for number in 0..count {
            let text = BARE.replace("\"echo\"", &format!("\"echo-{number}\""));
            let file = folder.path().join(format!("c{number}.wasm"));
            std::fs::write(file, wat::parse_str(text).unwrap()).unwrap();
        }
        let new = Self { folder, cache, count };
        wait(async { new.load().1.warm().await.unwrap() });
        new
    }

    /// A runtime of all of them, and how long it took to make.
    pub fn load(&self) -> (Duration, Runtime) {
        let started = Instant::now();
        let component = ToolComponent::file(self.folder.path());
        let builder = Runtime::builder().component(component).cache(self.cache.path().join("c"));
        let runtime = builder.build_blocking().unwrap();
        let taken = started.elapsed();
        assert_eq!(runtime.list().len(), self.count);
        (taken, runtime)
    }

    /// How long a client of MCP waits for the list of their tools.
    pub fn listing(&self) -> Duration {
        let runtime = self.load().1;
        median(&mut timed(20, || {
            std::hint::black_box(Format::Mcp.export(&runtime.list(), Strict::Off));
        }))
    }
}

fn thousand() -> Vec<Vec<String>> {
    let crowd = Crowd::new(1_000);
    let mut loads: Vec<Duration> = (0..5).map(|_| crowd.load().0).collect();
    vec![
        vec!["loading 1,000 components of one tool".to_owned(), micros(median(&mut loads))],
        vec!["exporting their 1,000 tools for MCP".to_owned(), micros(crowd.listing())],
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
