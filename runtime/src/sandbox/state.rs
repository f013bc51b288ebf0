//! What a store holds: everything of one call that host functions and the limiter need.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use super::deadline::Watch;
use super::denials::Denials;
use super::dirs::DirsState;
use super::host::Keeping;
use super::http::HttpState;
use super::limiter::Limiter;
use super::stdio::Sink;
use super::time::{SeededRandom, Time};
use crate::call::{Content, Log};
use crate::limits::{EffectiveLimits, Limit};
use crate::output::EventSinks;
use crate::recording::Tape;

/// What a guest may learn of its call through `toolcell:tool/context`.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallContext {
    pub call_id: String,
    pub session: Option<String>,
    pub meta: Vec<(String, String)>,
    pub budget_bytes: u64,
    pub budget_lines: u64,
}

/// A limit that a host function found exhausted; ends the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the limit {limit} is used up")]
pub(crate) struct LimitExceeded {
    pub limit: Limit,
    pub wanted: u64,
}

/// A use of something that was not granted, of an interface that has no way to say so; ends the call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{interface} is not granted")]
pub(crate) struct CapabilityRefused {
    pub capability: &'static str,
    pub interface: String,
    pub function: String,
}

/// How many bytes of one log record are kept.
const MAX_RECORD_BYTES: usize = 4 << 10;

/// The data of one store.
pub(crate) struct CellState {
    pub wasi: LazyWasi,
    pub table: ResourceTable,
    pub limiter: Limiter,
    pub dirs: DirsState,
    pub config: Arc<BTreeMap<String, String>>,
    pub keeping: Keeping,
    pub http: HttpState,
    pub context: Arc<CallContext>,
    pub watch: Watch,
    pub budget: Budget,
    pub stdout: Sink,
    pub stderr: Sink,
    pub events: EventSinks,
    pub logs: Vec<Log>,
    pub dropped_logs: u64,
    pub chunks: Vec<Content>,
    pub chunk_bytes: u64,
    pub denials: Denials,
    /// The clocks and the randomness of a deterministic call.
    pub time: Option<Box<Time>>,
    pub random: Option<Box<SeededRandom>>,
    /// The recording that is made or replayed, and which streams are standard output and error meanwhile.
    pub tape: Option<Tape>,
    pub taped_stdio: Vec<u32>,
    /// Whether the guest returned, so that what is copied now is its result.
    pub lifting_result: bool,
    /// What the host may spend on that, in wasmtime's count.
    pub lift_bytes: usize,
}

/// The WASI context, made when the guest first uses WASI: many calls never do.
pub(crate) struct LazyWasi {
    make: Option<Box<dyn FnOnce() -> WasiCtx + Send>>,
    made: Option<WasiCtx>,
}

impl LazyWasi {
    pub fn new(make: impl FnOnce() -> WasiCtx + Send + 'static) -> Self {
        Self { make: Some(Box::new(make)), made: None }
    }

    pub fn get(&mut self) -> &mut WasiCtx {
        let make = &mut self.make;
        self.made.get_or_insert_with(|| make.take().map_or_else(|| WasiCtx::builder().build(), |make| make()))
    }
}

/// What is left of the totals over a call.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    host_bytes: u64,
    random_bytes: u64,
    limits: Arc<EffectiveLimits>,
}

impl Budget {
    pub fn new(limits: Arc<EffectiveLimits>) -> Self {
        Self { host_bytes: 0, random_bytes: 0, limits }
    }

    pub fn limits(&self) -> &EffectiveLimits {
        &self.limits
    }

    /// The limits, to be kept beside the store.
    pub fn shared_limits(&self) -> Arc<EffectiveLimits> {
        Arc::clone(&self.limits)
    }

    /// Counts bytes that the guest makes the host copy or allocate.
    pub fn charge_host_bytes(&mut self, bytes: u64) -> Result<(), LimitExceeded> {
        charge(&mut self.host_bytes, bytes, Limit::HostBytes, &self.limits)
    }

    /// Counts random bytes.
    pub fn charge_random_bytes(&mut self, bytes: u64) -> Result<(), LimitExceeded> {
        charge(&mut self.random_bytes, bytes, Limit::RandomBytes, &self.limits)
    }
}

fn charge(used: &mut u64, bytes: u64, limit: Limit, limits: &EffectiveLimits) -> Result<(), LimitExceeded> {
    let wanted = used.saturating_add(bytes);
    if wanted > limits.get(limit) {
        return Err(LimitExceeded { limit, wanted });
    }
    *used = wanted;
    Ok(())
}

impl CellState {
    /// Keeps a log record within the call's limit, or counts it. Returns what of the text is kept.
    pub fn log<'a>(&mut self, level: &str, text: &'a str) -> Option<Cow<'a, str>> {
        let kept = self.logs.len();
        if kept >= self.budget.limits().get_usize(Limit::LogRecords) {
            self.dropped_logs = self.dropped_logs.saturating_add(1);
            return None;
        }
        let start = text.get(..text.floor_char_boundary(MAX_RECORD_BYTES)).unwrap_or_default();
        let kept = match self.events.redactor() {
            Some(redactor) if start.len() < text.len() => redactor.cut_end(start).into(),
            _ => Cow::Borrowed(start),
        };
        self.logs.push(Log::new(level, kept.as_ref()));
        Some(kept)
    }
}

impl WasiView for CellState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: self.wasi.get(), table: &mut self.table }
    }
}
