//! The runtime: every call, from whatever entry, goes through [`Runtime::call`].

mod admission;
mod after;
mod answer;
mod ask;
mod batch;
mod builder;
mod checking;
mod decide;
mod elsewhere;
mod explain;
#[cfg(feature = "state")]
mod forgetting;
#[cfg(not(feature = "state"))]
#[path = "forgetting_absent.rs"]
mod forgetting;
mod groups;
mod hidden;
mod host;
mod json_bytes;
mod loading;
mod passage;
mod path;
mod recording;
mod reload;
mod remotes;
mod runs;
mod session;
mod standing;
mod told;
mod turns;
mod whole;

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

pub use batch::Batch;
pub use builder::RuntimeBuilder;
pub use explain::Explanation;
pub use loading::Registration;
pub use recording::Replay;
pub use reload::Reloaded;
pub use remotes::RemoteTool;
pub use session::{Identity, Session, SessionTools};

use crate::audit::AuditLog;
use crate::call::{CallError, Event, Outcome, ToolCall};
use crate::config::{Config, Folders, OutputBounds};
use crate::error::{Error, Result};
use crate::hook::HostHandle;
use crate::limits::Origin;
use crate::output::{Bounds, EventSinks, OutputStore};
use crate::policy::{Approvals, Approver, Deterministic, Pins};
use crate::recording::Tape;
use crate::registry::Registry;
use crate::sandbox::{Sandbox, in_place};
use crate::tool::{Body, Server, Tool};
use admission::Door;
use forgetting::Forgetting;
use loading::Loading;
use remotes::News;
use session::SessionState;
use turns::Turn;

/// Runs tools. Cheap to clone; usable from any thread, under any executor or none; never needs one to be dropped.
#[derive(Clone)]
pub struct Runtime {
    shared: Arc<Shared>,
}

/// What all clones share.
struct Shared {
    registry: Registry,
    terms: RwLock<Arc<Terms>>,
    loaded: Mutex<Loaded>,
    folders: Folders,
    session_tools: Option<Box<SessionTools>>,
    anonymous: Arc<SessionState>,
    approver: Option<Arc<dyn Approver>>,
    approvals: Approvals,
    audit: Option<AuditLog>,
    pins: Pins,
    warnings: Vec<String>,
    /// What there is to say of other servers since then.
    news: Arc<News>,
    policy_warnings: Vec<String>,
    cache_problem: Option<String>,
    door: Door,
    outputs: OutputStore,
    forgetting: Forgetting,
    // Last: what runs in it may still look at the rest.
    sandbox: Arc<Sandbox>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Whoever is opening one holds it.
        let terms = self.terms.get_mut().unwrap_or_else(PoisonError::into_inner);
        terms.loading.running.close();
        // A process that ends with its runtime leaves no server behind.
        crate::process::wait_for_killed();
    }
}

/// What a configuration says of every call, and under what tools are loaded; a reload replaces it.
struct Terms {
    loading: Loading,
    bounds: Bounds,
    output: OutputBounds,
    call_timeout: Duration,
    call_timeout_origin: Origin,
    default_origin: Origin,
}

/// What was loaded, for the next reload to compare with.
#[derive(Default)]
struct Loaded {
    /// Every component that was ever loaded, for what no tool may write.
    config: Config,
    /// The tools that come from the configuration and from the components that the builder was given.
    tools: Vec<Arc<Tool>>,
    servers: Vec<Arc<Server>>,
    source: reload::Source,
}

impl Shared {
    fn terms(&self) -> Arc<Terms> {
        Arc::clone(&self.terms.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn loaded(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Runtime {
    /// Where timers are made, for who may run where there are none.
    pub(crate) fn timers(&self) -> &tokio::runtime::Handle {
        self.shared.sandbox.handle()
    }

    /// A runtime without tools, to be given some.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder::default()
    }

    /// The runtime that a configuration file describes. The file is named, so it is trusted as it is.
    ///
    /// # Errors
    /// When the file or anything that it names is wrong.
    pub async fn from_config(path: impl AsRef<std::path::Path>) -> Result<Self> {
        Self::builder().config_file(path)?.build().await
    }

    /// Calls a tool. Nothing runs until the call is awaited; dropping it ends its cell.
    pub fn call(&self, call: ToolCall) -> Call {
        Call::new(self.anonymous(), call)
    }

    /// The tool of that name, switched off or not.
    pub fn get(&self, name: &str) -> Option<Arc<Tool>> {
        self.shared.registry.now().get(name).map(|placed| Arc::clone(&placed.tool))
    }

    /// The tools that can be called, in the order of their names.
    pub fn list(&self) -> Vec<Arc<Tool>> {
        self.anonymous().list()
    }

    /// Rules of usage for the system prompt, by component, of the tools that can be called.
    pub fn instructions(&self) -> Vec<(String, String)> {
        self.anonymous().instructions()
    }

    /// Switches a group of tools on or off, for every session that does not say otherwise. Returns whether there is
    /// such a group. Calls that run go on.
    pub fn switch(&self, group: &str, on: bool) -> bool {
        self.shared.registry.switch(group, on)
    }

    /// Changes once whenever the tools or the groups do, those of one session included.
    pub fn changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.shared.registry.changes()
    }

    /// What was skipped or is unusual, in words, from the time of loading.
    pub fn warnings(&self) -> &[String] {
        &self.shared.warnings
    }

    /// Those of the warnings that say of rules and hooks that they can match nothing, and so protect nothing.
    pub fn policy_warnings(&self) -> &[String] {
        &self.shared.policy_warnings
    }

    /// Why the compile cache saves nothing, so that every process compiles anew; nothing as long as all is well. What
    /// is wrong with writing to it shows once something was compiled.
    pub fn cache_problem(&self) -> Option<&str> {
        self.shared.cache_problem.as_deref().or_else(|| self.shared.sandbox.cache_problem())
    }

    /// What was approved, and the questions that wait.
    pub fn approvals(&self) -> &Approvals {
        &self.shared.approvals
    }

    /// Full outputs that were cut, by handle.
    pub fn outputs(&self) -> &OutputStore {
        &self.shared.outputs
    }

    /// Compiles what is not compiled yet, the components of hooks too, so that no call waits for it.
    ///
    /// # Errors
    /// The first component that does not compile, or what the first hook that cannot be made ready says.
    pub async fn warm(&self) -> Result<()> {
        for tool in self.list() {
            if let Body::Component { component, .. } = &tool.body {
                component.prepared(&self.shared.sandbox, tool.meter()).await?;
            }
        }
        let host = HostHandle::new(Arc::clone(&self.shared));
        for entry in self.shared.registry.hooks() {
            entry.hook.warm(&host).await.map_err(|error| match error.downcast::<Error>() {
                Ok(error) => *error,
                Err(error) => Error::component(entry.name(), error.to_string()),
            })?;
        }
        Ok(())
    }

    /// Cells that run now.
    pub fn cells_running(&self) -> usize {
        self.shared.door.running()
    }

    /// Calls that wait for a cell now.
    pub fn calls_waiting(&self) -> usize {
        self.shared.door.waiting()
    }

    /// Threads that exist for guests with directories, those stuck in the operating system included.
    pub fn guest_threads(&self) -> usize {
        self.shared.sandbox.guest_threads()
    }

    /// Whether the pool of instances did not fit the address space, so that calls map their memory one by one.
    pub fn maps_on_demand(&self) -> bool {
        self.shared.sandbox.fell_back()
    }
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Runtime").field("tools", &self.shared.registry).finish_non_exhaustive()
    }
}

/// One call on its way; await it.
#[derive(Debug)]
#[must_use = "a call runs when it is awaited"]
pub struct Call {
    session: Session,
    call: ToolCall,
    timeout: Option<Duration>,
    cancel: CancellationToken,
    events: EventSinks,
    /// Why it does not even begin; it is recorded all the same.
    refusal: Option<Box<CallError>>,
    /// Its place in a batch.
    turn: Option<Turn>,
    deterministic: Option<Deterministic>,
    /// The recording that is made or replayed.
    tape: Option<Tape>,
}

impl Call {
    fn new(session: Session, call: ToolCall) -> Self {
        Self {
            session,
            call,
            timeout: None,
            cancel: CancellationToken::new(),
            events: EventSinks::default(),
            refusal: None,
            turn: None,
            deterministic: None,
            tape: None,
        }
    }

    fn refused(mut self, refusal: Option<CallError>) -> Self {
        self.refusal = refusal.map(Box::new);
        self
    }

    fn turn(mut self, turn: Turn) -> Self {
        self.turn = Some(turn);
        self
    }

    /// Lets the calls after it in its batch ask: nobody is to be asked about this one any more.
    fn is_decided(&self) {
        if let Some(turn) = &self.turn {
            turn.is_over();
        }
    }

    /// Lowers the time that the cell may take; a longer one than the tool's limit changes nothing.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sends what the tool says before its end to `sink` as it happens. A full channel makes the tool wait, at most
    /// until its deadline; a closed one is skipped. Parts of the result wait for hooks that may still replace it.
    pub fn events(mut self, sink: tokio::sync::mpsc::Sender<Event>) -> Self {
        self.events.add(sink);
        self
    }

    /// Gives a component's tool time and chance that are the same in every call, whatever its component is set to.
    pub fn deterministic(mut self, deterministic: Deterministic) -> Self {
        self.deterministic = Some(deterministic);
        self
    }

    /// Ends the call when `token` is cancelled, with the kind `cancelled`.
    pub fn cancel(mut self, token: CancellationToken) -> Self {
        self.cancel = token;
        self
    }
}

impl IntoFuture for Call {
    type Output = Outcome;
    type IntoFuture = Pin<Box<dyn Future<Output = Outcome> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        in_place(|| path::run(self))
    }
}
