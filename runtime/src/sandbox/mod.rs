//! The sandbox: everything between a validated call and the guest's own code. The only place that names
//! `wasmtime_wasi`.
//!
//! In reading order: `engine` (settings and slots), `cache` and `compiler` (native code), `host` (what a
//! guest can import), `dirs`, `http` and `stdio` (what of the outside it touches), `time` (what a deterministic call has in its
//! place), `tape` (how it is recorded and replayed), `state`, `limiter` and `deadline` (what bounds it), `denials` (what it was refused), `cell` (one call), `crossing` (between guest and
//! host), `threads` and `reactor` (where it runs), `end`, `report` and `chosen` (how it ended, and with what).

mod cache;
mod cell;
mod chosen;
mod compiler;
mod crossing;
mod deadline;
mod denials;
pub mod dirs;
mod end;
mod engine;
mod host;
#[cfg(feature = "http")]
mod http;
#[cfg(not(feature = "http"))]
#[path = "http_absent.rs"]
mod http;
mod limiter;
mod reactor;
mod report;
mod stamp;
mod state;
mod stdio;
mod tape;
mod threads;
mod time;
mod typed;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use wasmtime::component::{Component, ComponentExportIndex, Instance, InstancePre, Linker};
use wasmtime::{Engine, Store};

pub use cache::CompileCache;
pub(crate) use cell::{Cell, Function, Invocation, catch_unwind};
pub(crate) use chosen::{chosen_output, content_block};
pub use compiler::{CHILD_ARGUMENT, Compiler, compile_as_child};
pub(crate) use dirs::DirTemplate;
pub use engine::Allocation;
pub(crate) use engine::{EngineSettings, Meter};
pub(crate) use host::KeepGrant;
pub(crate) use http::{HttpAccess, HttpTemplate};
pub(crate) use stamp::Stamp;
pub(crate) use state::CallContext;
pub(crate) use typed::TypedCall;

use crate::call::{CallError, Ended, ErrorKind};
use crate::error::{Error, Result};
use crate::policy::Digest;
use engine::Engines;
pub(crate) use reactor::in_place;
use reactor::{Entered, Reactor};
use state::CellState;
use threads::GuestThreads;

/// What one host call may make the host copy from the guest. An eighth of wasmtime's default: streams pass data in
/// pieces of 64 KiB, and nothing that a tool hands over at once is larger than its arguments may be.
pub(crate) const HOST_CALL_BYTES: usize = 16 << 20;

/// What lifting a result may take on the host for each byte that it may have as JSON. wasmtime counts 40 bytes a list
/// element; records were measured to take more than double of what it counts.
const LIFT_BYTES_FOR_EACH: usize = 4;

/// The same where the result is bytes that cannot cross by copy: 4 MiB of them are worth the default of 16 MiB.
const LIFT_BYTES_FOR_EACH_OF_BYTES: usize = 11;

/// What lifting a result may take however little it may have as JSON.
const MIN_LIFT_BYTES: usize = 32 << 20;

/// How long after its deadline a cell on a guest thread may take to report before the thread counts as stuck.
/// Bulk operations, which cannot be interrupted, take 0.5 ms a MiB.
const STUCK_AFTER: Duration = Duration::from_millis(250);

/// Everything that calls share.
pub(crate) struct Sandbox {
    engines: Engines,
    linkers: Mutex<HashMap<Meter, Arc<Linker<CellState>>>>,
    compiler: Compiler,
    cache: Option<CompileCache>,
    threads: GuestThreads,
    reactor: Arc<Reactor>,
    kept: PathBuf,
    network: Networking,
}

/// Who finds the addresses of names for requests.
#[cfg(feature = "http")]
pub(crate) type Resolving = Arc<dyn crate::net::Resolver>;
#[cfg(not(feature = "http"))]
pub(crate) type Resolving = ();

/// What all requests have in common.
#[cfg(feature = "http")]
pub(crate) type Networking = Arc<crate::net::Network>;
#[cfg(not(feature = "http"))]
pub(crate) type Networking = ();

#[cfg(feature = "http")]
fn network(resolver: Resolving) -> Networking {
    Arc::new(crate::net::Network::new(resolver))
}

#[cfg(not(feature = "http"))]
fn network(_: Resolving) -> Networking {}

fn system_resolver() -> Resolving {
    #[cfg(feature = "http")]
    return Arc::new(crate::net::SystemResolver);
}

impl Sandbox {
    pub fn new(settings: EngineSettings, compiler: Compiler, cache: Option<CompileCache>) -> Result<Self> {
        let reactor = Arc::new(Reactor::new()?);
        Ok(Self {
            engines: Engines::new(settings),
            linkers: Mutex::default(),
            compiler,
            cache,
            threads: GuestThreads::new(Arc::clone(&reactor)),
            reactor,
            kept: PathBuf::new(),
            network: network(system_resolver()),
        })
    }

    /// Finds names otherwise than by the operating system.
    #[must_use]
    pub fn resolving_by(mut self, resolver: Option<Resolving>) -> Self {
        if let Some(resolver) = resolver {
            self.network = network(resolver);
        }
        self
    }

    /// What all requests have in common.
    pub fn network(&self) -> &Networking {
        &self.network
    }

    /// The folder in which values are kept that outlive their call.
    #[must_use]
    pub fn keeping_in(mut self, folder: PathBuf) -> Self {
        self.kept = folder;
        self
    }

    /// That folder.
    pub fn kept(&self) -> &Path {
        &self.kept
    }

    pub fn settings(&self) -> &EngineSettings {
        self.engines.settings()
    }

    /// Whether the pool did not fit the address space, so that instances are mapped on demand.
    pub fn fell_back(&self) -> bool {
        self.engines.fell_back()
    }

    /// Why compiled components could not be kept, if that happened.
    pub fn cache_problem(&self) -> Option<&str> {
        self.cache.as_ref().and_then(CompileCache::problem)
    }

    /// The handle under which timers and blocking work run.
    pub fn handle(&self) -> &tokio::runtime::Handle {
        self.reactor.handle()
    }

    /// Waits, whatever executor polls it.
    pub async fn sleep(&self, pause: Duration) {
        let timer = {
            let _entered = self.handle().enter();
            tokio::time::sleep(pause)
        };
        timer.await;
    }

    /// Polls `future` with the runtime's timers in reach.
    pub fn entered<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        Entered::new(self.handle().clone(), future)
    }

    /// Guest threads that exist, those stuck in the operating system included.
    pub fn guest_threads(&self) -> usize {
        self.threads.count()
    }

    /// The digest of what is in a file as it is now, if an earlier process found it out and this one is for one call. A
    /// process that lives on reads what it runs.
    pub fn known_digest(&self, what: &str, stamp: &Stamp) -> Option<Digest> {
        self.notes()?.known_digest(what, stamp)
    }

    /// Remembers it for the next process, unless this one lives on: it would write all its notes anew at every start.
    pub fn remember_digest(&self, what: &str, stamp: &Stamp, digest: &Digest) {
        if let Some(cache) = self.notes() {
            cache.remember_digest(what, stamp, digest);
        }
    }

    /// Where a process for one call has its notes on files.
    fn notes(&self) -> Option<&CompileCache> {
        self.cache.as_ref().filter(|_| self.settings().allocation == Allocation::OnDemand)
    }

    /// Whether the cache has the component compiled, by whichever version and settings.
    pub fn has_compiled(&self, digest: &Digest) -> bool {
        self.cache.as_ref().is_some_and(|cache| cache.has(digest))
    }

    /// Native code of a component from the compiler, linked to what it imports. Blocks.
    pub fn prepare_anew(&self, name: &str, bytes: &[u8], digest: &Digest, meter: Meter) -> Result<Prepared> {
        let engine = self.engines.get(meter)?;
        let cache = self.cache.as_ref().map(|cache| (cache, digest));
        let compiled = self.compiler.compile(engine, meter, self.settings().stack, bytes, cache);
        self.link(name, &compiled.map_err(|message| Error::component(name, message))?, meter)
    }

    /// The same from the cache, if it is there. Blocks.
    pub fn prepare_cached(&self, name: &str, digest: &Digest, meter: Meter) -> Result<Option<Prepared>> {
        let engine = self.engines.get(meter)?;
        let allocation = self.settings().allocation;
        let cached = self.cache.as_ref().and_then(|cache| cache.load(engine, digest, allocation));
        cached.map(|component| self.link(name, &component, meter)).transpose()
    }

    fn link(&self, name: &str, component: &Component, meter: Meter) -> Result<Prepared> {
        let engine = self.engines.get(meter)?;
        let wrong = |message: String| Error::component(name, message);
        let mut linker = Linker::clone(self.linker(meter)?.as_ref());
        host::add_refused(&mut linker, engine, component)
            .and_then(|()| linker.instantiate_pre(component))
            .map(|pre| Prepared::new(pre, meter))
            .map_err(|error| wrong(format!("it cannot be linked: {}", error.root_cause())))
    }

    fn linker(&self, meter: Meter) -> Result<Arc<Linker<CellState>>> {
        let mut linkers = self.linkers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(linker) = linkers.get(&meter) {
            return Ok(Arc::clone(linker));
        }
        let linker = host::linker(self.engines.get(meter)?)
            .map(Arc::new)
            .map_err(|error| Error::Sandbox { message: format!("{error:#}") })?;
        linkers.insert(meter, Arc::clone(&linker));
        Ok(linker)
    }

    /// Runs a cell where it belongs: in the caller's task, or on a guest thread if it has directories or
    /// keeps values in a file. `permit` is held until the store is dropped, whatever happened to the caller.
    ///
    /// On the heap: every future around this one is moved, and would have it inside.
    pub fn run<'a>(&'a self, cell: Cell, permit: impl Send + 'static) -> Running<'a> {
        if cell.blocks() {
            return Box::pin(self.run_on_thread(cell, permit));
        }
        let running = async move {
            let mut report = None;
            cell.run(|ended| report = Some(ended)).await;
            drop(permit);
            report.unwrap_or_else(lost)
        };
        in_place(|| Entered::new(self.handle().clone(), running))
    }

    async fn run_on_thread(&self, mut cell: Cell, permit: impl Send + 'static) -> Ended {
        // A caller that goes away takes its cell with it, but not the other calls of its token.
        cell.cancel = cell.cancel.child_token();
        let _cancelled_with_caller = cell.cancel.clone().drop_guard();
        let patience = cell.limits.timeout().saturating_add(STUCK_AFTER);
        let begun = Instant::now();
        let (sender, receiver) = oneshot::channel();
        let limits = Arc::clone(&cell.limits);
        let running = async move { cell.run(|report| drop(sender.send(report))).await };
        if self.threads.run(running, permit).is_err() {
            return Ended::failed(CallError::new(
                ErrorKind::Busy,
                "the host has no thread for this call; try again",
            ));
        }
        let waited = tokio_timeout(patience, receiver);
        match Entered::new(self.handle().clone(), waited).await {
            Some(Ok(report)) => report,
            Some(Err(_)) => lost(),
            None => Ended::failed(stopped_at_deadline(&limits, begun.elapsed())),
        }
    }
}

/// A cell on its way to its end.
pub(crate) type Running<'a> = Pin<Box<dyn Future<Output = Ended> + Send + 'a>>;

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.threads.close();
    }
}

/// The error of a call whose time is over after it ran for `elapsed`.
pub(crate) fn stopped_at_deadline(limits: &crate::limits::EffectiveLimits, elapsed: Duration) -> CallError {
    end::stopped(deadline::Stop::Deadline, limits, elapsed)
}

/// `tokio::time::timeout` made where the timers are in reach.
async fn tokio_timeout<F: Future>(patience: Duration, future: F) -> Option<F::Output> {
    tokio::time::timeout(patience, future).await.ok()
}

fn lost() -> Ended {
    Ended::failed(CallError::new(ErrorKind::Internal, "the thread of the call was lost"))
}

/// A component that is compiled and linked: what every call of it starts from.
pub(crate) struct Prepared {
    pre: InstancePre<CellState>,
    meter: Meter,
    command: Option<ComponentExportIndex>,
}

impl Prepared {
    fn new(pre: InstancePre<CellState>, meter: Meter) -> Self {
        let command = command_export(pre.component());
        Self { pre, meter, command }
    }

    pub fn engine(&self) -> &Engine {
        self.pre.engine()
    }

    pub fn meter(&self) -> Meter {
        self.meter
    }

    /// The export of `wasi:cli/run`, if there is one.
    pub fn command(&self) -> Option<&ComponentExportIndex> {
        self.command.as_ref()
    }

    /// The export of a function, of an interface or of the world itself.
    pub fn function(&self, interface: Option<&str>, function: &str) -> Option<ComponentExportIndex> {
        let component = self.pre.component();
        match interface {
            None => component.get_export_index(None, function),
            Some(interface) => {
                let instance = component.get_export_index(None, interface)?;
                component.get_export_index(Some(&instance), function)
            }
        }
    }

    async fn instantiate(&self, store: &mut Store<CellState>) -> wasmtime::Result<Instance> {
        self.pre.instantiate_async(store).await
    }
}

/// `wasi:cli/run` of whatever 0.2 patch level the component exports.
fn command_export(component: &Component) -> Option<ComponentExportIndex> {
    let engine = component.engine();
    let kind = component.component_type();
    let interface =
        kind.exports(engine).map(|(name, _)| name).find(|name| name.starts_with("wasi:cli/run@"))?;
    let instance = component.get_export_index(None, interface)?;
    component.get_export_index(Some(&instance), "run")
}
