//! A million calls of all kinds, those that fail and those that are ended among them: what the process holds at the end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcell::{Access, ErrorKind, Grant, Limit, Limits, NativeTool, Runtime, ToolCall, ToolComponent};
use toolcell_tests::{builder, built, probe};

use crate::page::Section;
use crate::work::BARE;

const CALLS: usize = 1_000_000;

/// When the process has what it needs.
const SETTLED: usize = 50_000;

/// Calls on their way at once.
const CALLERS: usize = 16;

/// The arguments of the native tool.
#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
struct Number {
    number: i64,
}

/// What a process holds.
#[derive(Clone, Copy)]
struct Held {
    resident: u64,
    threads: u64,
    descriptors: u64,
}

impl Held {
    fn now() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let of = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().trim_end_matches(" kB").trim().parse().unwrap()
        };
        let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
        Self { resident: of("VmRSS:"), threads: of("Threads:"), descriptors }
    }
}

/// A kind of call, in a hundred calls how many are of it, and the error that it ends with.
struct Kind {
    tool: &'static str,
    arguments: Value,
    share: usize,
    error: Option<ErrorKind>,
}

fn kind(tool: &'static str, arguments: Value, share: usize, error: Option<ErrorKind>) -> Kind {
    Kind { tool, arguments, share, error }
}

/// Shares of ten thousand: what takes long is rare.
fn kinds() -> Vec<Kind> {
    vec![
        kind("echo", json!({ "text": "hello world" }), 5_650, None),
        kind("same", json!({ "number": 21 }), 1_000, None),
        kind("echo_string", json!({ "v": "a text" }), 1_000, None),
        kind("fs_read_text", json!({ "path": "/work/page" }), 500, None),
        kind("print", json!({ "channel": "stdout", "pattern": "line\n", "count": 1_000 }), 200, None),
        kind("echo", json!({ "text": [1] }), 500, Some(ErrorKind::InvalidArguments)),
        kind("no_such_tool", json!({}), 500, Some(ErrorKind::UnknownTool)),
        kind("fail", json!({ "message": "no" }), 300, Some(ErrorKind::ToolError)),
        kind("trap", json!({}), 100, Some(ErrorKind::Trapped)),
        kind("panic_with", json!({ "message": "no" }), 100, Some(ErrorKind::Panicked)),
        kind("exit_with", json!({ "code": 3 }), 100, Some(ErrorKind::Exited)),
        kind("alloc", json!({ "mib": 512 }), 30, Some(ErrorKind::MemoryLimit)),
        kind("spin", json!({}), 10, Some(ErrorKind::Timeout)),
        kind("sleep", json!({ "ms": 60_000 }), 10, Some(ErrorKind::Timeout)),
    ]
}

/// The kinds in an order in which none comes many times in a row.
fn schedule(kinds: &[Kind]) -> Vec<usize> {
    let mut all: Vec<(usize, usize)> = Vec::new();
    for (kind, Kind { share, .. }) in kinds.iter().enumerate() {
        all.extend((0..*share).map(|at| (at * 10_000 / share, kind)));
    }
    all.sort_unstable();
    all.into_iter().map(|(_, kind)| kind).collect()
}

fn runtime(folder: &std::path::Path) -> Runtime {
    let grant = Grant::none().dir(folder, "/work", Access::Read);
    let limits = Limits::new().timeout(Duration::from_millis(20)).with(Limit::Memory, 64 << 20);
    let same =
        NativeTool::new("same", "Returns its arguments", |given: Number, _| async { Ok::<_, String>(given) });
    let echo = ToolComponent::bytes("echo", wat::parse_str(BARE).unwrap());
    built(builder().component(probe(grant, limits)).component(echo).native(same))
}

async fn calls(runtime: &Runtime, kinds: &Arc<Vec<Kind>>, order: &Arc<Vec<usize>>, count: usize) {
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| {
            let (runtime, kinds, order) = (runtime.clone(), Arc::clone(kinds), Arc::clone(order));
            tokio::spawn(async move {
                for number in (caller..count).step_by(CALLERS) {
                    let kind = &kinds[order[number % order.len()]];
                    let outcome = runtime.call(ToolCall::new(kind.tool, kind.arguments.clone())).await;
                    let error = outcome.error.as_ref().map(|error| error.kind);
                    // On a machine that others load, anything may take longer than its time.
                    let late = error == Some(ErrorKind::Timeout);
                    assert!(error == kind.error || late, "{}: {outcome:?}", kind.tool);
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
}

pub fn section() -> Section {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("page"), "a page").unwrap();
    let runtime = runtime(folder.path());
    let kinds = Arc::new(kinds());
    let order = Arc::new(schedule(&kinds));
    let executor =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let started = Instant::now();
    executor.block_on(calls(&runtime, &kinds, &order, SETTLED));
    let before = Held::now();
    executor.block_on(calls(&runtime, &kinds, &order, CALLS - SETTLED));
    let after = Held::now();
    let growth =
        |before: u64, after: u64| format!("{:+.1} %", (after as f64 - before as f64) / before as f64 * 100.0);
    let row = |name: &str, before: u64, after: u64| {
        vec![name.to_owned(), before.to_string(), after.to_string(), growth(before, after)]
    };
    Section {
        title: "A million calls",
        words: format!(
            "Of {} kinds, mixed, {CALLERS} at once: results, files, native tools, wrong arguments, unknown tools, failures, \
             traps, exits, and those that end at their memory or time; {:.0} s in all.",
            kinds.len(),
            started.elapsed().as_secs_f64()
        ),
        head: vec!["what the process holds", "after 50,000", "after 1,000,000", "growth"],
        rows: vec![
            row("resident memory, KiB", before.resident, after.resident),
            row("threads", before.threads, after.threads),
            row("descriptors", before.descriptors, after.descriptors),
        ],
    }
}
