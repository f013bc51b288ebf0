//! A call through the whole pipeline beside wasmtime alone, in one process.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use toolcell::call::Ended;
use toolcell::hook::{Events, HookCall, HookResult, Next, async_trait};
use toolcell::{Access, Grant, Hook, Limits, Runtime, RuntimeBuilder, ToolCall, ToolComponent};

use crate::floor::{Floor, Metering};
use crate::measure::{Subject, in_turns, median};
use crate::page::{Section, micros, times};
use crate::work::{Work, document, text};

/// One work by a runtime.
pub struct Piped {
    runtime: Runtime,
    call: ToolCall,
}

impl Piped {
    pub fn new(work: &Work, grant: Grant, limits: Limits) -> Self {
        Self::with(work, grant, limits, |builder| builder)
    }

    pub fn with(
        work: &Work,
        grant: Grant,
        limits: Limits,
        more: impl FnOnce(RuntimeBuilder) -> RuntimeBuilder,
    ) -> Self {
        let component = ToolComponent::bytes("kernel", work.component()).grant(grant);
        let limits = limits
            .with(toolcell::Limit::ResultBytes, 64 << 20)
            .with(toolcell::Limit::ArgumentBytes, 64 << 20);
        let runtime = more(Runtime::builder().component(component).limits(limits)).build_blocking().unwrap();
        Self { runtime, call: ToolCall::new(work.function(), work.arguments()) }
    }
}

impl Subject for Piped {
    async fn run(&self, times: usize) -> Vec<Duration> {
        let mut taken = Vec::with_capacity(times);
        for _ in 0..times {
            let call = self.call.clone();
            let started = Instant::now();
            let outcome = self.runtime.call(call).await;
            taken.push(started.elapsed());
            assert!(outcome.error.is_none(), "{:?}", outcome.error);
        }
        taken
    }
}

/// Takes the time of what is inside of it: the place, the cell with its limits and grants, and the redaction.
#[derive(Clone, Default)]
struct Watch(Arc<Mutex<Vec<Duration>>>);

#[async_trait]
impl Hook for Watch {
    fn events(&self) -> Events {
        Events::AROUND
    }

    async fn around(&self, _: &HookCall, next: Next<'_>) -> HookResult<Ended> {
        let started = Instant::now();
        let ended = next.run().await;
        self.0.lock().unwrap().push(started.elapsed());
        Ok(ended)
    }
}

/// The cell of one work, without the pipeline around it.
pub struct Celled {
    piped: Piped,
    watch: Watch,
}

impl Celled {
    pub fn new(work: &Work, grant: Grant, limits: Limits) -> Self {
        let watch = Watch::default();
        let piped = Piped::with(work, grant, limits, |builder| builder.hook(watch.clone()));
        Self { piped, watch }
    }
}

impl Subject for Celled {
    async fn run(&self, times: usize) -> Vec<Duration> {
        self.piped.run(times).await;
        std::mem::take(&mut self.watch.0.lock().unwrap())
    }
}

/// Any of them, since they are measured in turns.
pub enum Either {
    Floor(Box<Floor>),
    Celled(Box<Celled>),
    Piped(Box<Piped>),
}

impl Subject for Either {
    async fn run(&self, times: usize) -> Vec<Duration> {
        match self {
            Self::Floor(floor) => floor.run(times).await,
            Self::Celled(celled) => celled.run(times).await,
            Self::Piped(piped) => piped.run(times).await,
        }
    }
}

/// Runs a benchmark's future on one thread.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

pub fn section() -> Section {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("page"), text(10 << 10)).unwrap();
    let works = [
        ("`echo` of 1 KB, a component without WASI", Work::Echo(text(1 << 10)), 4_000),
        ("`add`, a small WASI guest", Work::Sum(2, 3), 1_000),
        ("`echo` of 1 KB, the same", Work::Repeat(text(1 << 10)), 1_000),
        ("`echo` of 1 MB", Work::Repeat(text(1 << 20)), 50),
        ("`echo` of 10 MB", Work::Repeat(text(10 << 20)), 10),
        ("reading a file of 10 KB", Work::Content("/work/page".to_owned()), 500),
        ("parsing 1 MB of JSON", Work::Values(document(1 << 20)), 20),
        ("SHA-256 of 10 MB", Work::Digest(10), 10),
    ];
    let mut rows = Vec::new();
    for (name, work, count) in works {
        let reads = matches!(work, Work::Content(_));
        let grant =
            if reads { Grant::none().dir(folder.path(), "/work", Access::Read) } else { Grant::none() };
        let of_floor = reads.then(|| folder.path());
        let floor = Either::Floor(Box::new(Floor::new(work.clone(), Metering::None, of_floor)));
        let metered = Either::Floor(Box::new(Floor::new(work.clone(), Metering::Fuel, of_floor)));
        let celled = Either::Celled(Box::new(Celled::new(&work, grant.clone(), Limits::new())));
        let piped = Either::Piped(Box::new(Piped::new(&work, grant, Limits::new())));
        let medians = wait(in_turns(&[&floor, &metered, &celled, &piped], 7, count));
        let (floor, metered, celled, piped) = (medians[0], medians[1], medians[2], medians[3]);
        let above = piped.saturating_sub(floor);
        rows.push(vec![
            name.to_owned(),
            micros(floor),
            micros(metered),
            micros(celled),
            micros(piped),
            micros(above),
            times(celled, floor),
            times(piped, floor),
            times(piped, metered),
        ]);
    }
    Section {
        title: "A call in one process",
        words: "*Floor*: wasmtime alone, synchronous, typed, pooled, linked ahead, without limits. *With fuel*: the same \
                with its meter compiled in. *Cell*: the place, the fresh instance under all limits and grants, and its \
                end, as a hook around it sees it. *Call*: `Runtime::call` with everything on, the audit off. Medians of \
                seven rounds in turns."
            .to_owned(),
        head: vec![
            "work",
            "floor",
            "with fuel",
            "cell",
            "call",
            "call above the floor",
            "cell : floor",
            "call : floor",
            "call : with fuel",
        ],
        rows,
    }
}

/// The median of one subject alone.
pub fn alone(subject: &impl Subject, count: usize) -> Duration {
    wait(async {
        subject.run(count.div_ceil(10)).await;
        median(&mut subject.run(count).await)
    })
}
