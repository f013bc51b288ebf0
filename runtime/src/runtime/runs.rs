//! Step 8: one run of a tool, each in a cell of its own, and what all runs of a call took together.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::Sender;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::checking::as_announced;
use super::json_bytes::json_bytes;
use super::told::Told;
use super::whole::Whole;
use super::{Call, Shared};
use crate::call::{CallError, Denial, Ended, ErrorKind, Event, Outcome, Returned};
use crate::hook::{Core, HookCall};
use crate::kept::Place;
use crate::limits::{EffectiveLimits, Limit, advice};
use crate::output::EventSinks;
use crate::policy::StateScope;
use crate::recording::Tape;
use crate::sandbox::{
    CallContext, Cell, DirTemplate, Function, HttpAccess, Invocation, KeepGrant, Prepared, catch_unwind,
    stopped_at_deadline,
};
use crate::telemetry;
use crate::tool::{Body, Entry, LoadedComponent, NativeBody, NativeCall, NativeEvents, NativeFunction, Tool};

/// The runs of one call.
pub(super) struct Runs<'a> {
    pub shared: &'a Arc<Shared>,
    pub call: &'a Call,
    pub tool: &'a Arc<Tool>,
    pub limits: &'a Arc<EffectiveLimits>,
    pub whole: &'a Whole<'a>,
    pub meta: &'a [(String, String)],
    pub events: EventSinks,
}

impl Runs<'_> {
    /// One run: a place, the native code, the cell. `events` are who listens to it.
    pub async fn once(&self, arguments: Value, events: EventSinks) -> Ended {
        let _told = Told::of(&self.shared.registry, self.tool);
        let redactor = self.tool.redactor();
        let events = events.redacting(redactor);
        let mut ended = self.unredacted(arguments, events.clone()).await;
        if let Some(redactor) = redactor {
            redactor.ended(&mut ended);
            // A listener that is too slow for it still gets it with the outcome.
            let rest = async {
                events.rest().await;
                Ok(())
            };
            let _ = Box::pin(self.whole.within_anywhere(rest)).await;
        }
        ended
    }

    async fn unredacted(&self, arguments: Value, events: EventSinks) -> Ended {
        let span = telemetry::cell(self.tool.component(), self.tool.name());
        if let Body::Remote(remote) = &self.tool.body {
            // Its place is one of its server's: what runs elsewhere takes no cell from others.
            return Box::pin(self.remote(remote, arguments, events)).instrument(span).await;
        }
        let permit = match self.permit().await {
            Ok(permit) => permit,
            Err(error) => return Ended::failed(error),
        };
        match &self.tool.body {
            Body::Component { component, dirs, env, http, entry } => {
                let prepared = match self.prepared(component).instrument(span.clone()).await {
                    Ok(prepared) => prepared,
                    Err(error) => return Ended::failed(error),
                };
                let reach = Reach { dirs, env, http };
                let cell = match self.cell(component, prepared, &reach, entry, arguments, events) {
                    Ok(cell) => cell,
                    Err(error) => return Ended::failed(error),
                };
                let ended = self.shared.sandbox.run(cell, permit).instrument(span).await;
                match &**entry {
                    Entry::Provided { .. } => as_announced(self.whole, self.tool, ended).await,
                    Entry::Typed { .. } | Entry::Command => ended,
                }
            }
            // On the heap: the room for it would be in every call of a component.
            Body::Native(body) => {
                Box::pin(self.native(body, arguments, events, permit)).instrument(span).await
            }
            Body::Remote(_) => Ended::failed(gone(self.tool)),
        }
    }

    /// A place. Most calls find one free, and no timer is made for those.
    async fn permit(&self) -> Result<OwnedSemaphorePermit, CallError> {
        if let Some(permit) = self.shared.door.try_enter() {
            return Ok(permit);
        }
        let entering = self.whole.within(self.shared.door.enter(self.whole.deadline));
        Box::pin(self.shared.sandbox.entered(entering)).await
    }

    /// The native code, which all but the first call find made.
    async fn prepared(&self, component: &Arc<LoadedComponent>) -> Result<Arc<Prepared>, CallError> {
        let (sandbox, meter) = (&self.shared.sandbox, self.tool.meter());
        if let Some(prepared) = component.prepared_before(meter) {
            return Ok(prepared);
        }
        let preparing = async { component.prepared(sandbox, meter).await.map_err(|error| broken(&error)) };
        Box::pin(sandbox.entered(self.whole.within(preparing))).await
    }

    /// Everything that its cell is made of.
    fn cell(
        &self,
        component: &Arc<LoadedComponent>,
        prepared: Arc<Prepared>,
        reach: &Reach<'_>,
        entry: &Entry,
        arguments: Value,
        events: EventSinks,
    ) -> Result<Cell, CallError> {
        let limits = self.whole.lower(Arc::clone(self.limits));
        if let Some(recorder) = self.call.recorder() {
            self.begin_recording(recorder, component, &arguments);
        }
        let (entry, arguments) = match entry {
            Entry::Provided { name, call, .. } => {
                (call.as_ref(), json!({ "name": name, "arguments": arguments.to_string() }))
            }
            entry => (entry, arguments),
        };
        let invocation = match entry {
            Entry::Provided { .. } => return Err(gone(self.tool)),
            Entry::Typed { signature, typed, .. } => {
                let export = entry.export(&prepared).ok_or_else(|| gone(self.tool))?;
                let function = Function { export, signature: Arc::clone(signature), typed: *typed };
                Invocation::Typed { function, arguments }
            }
            Entry::Command => Invocation::Command {
                stdin: arguments.to_string().into_bytes().into(),
                name: component.owner.name.clone(),
            },
        };
        Ok(Cell {
            prepared,
            invocation,
            limits,
            dirs: Arc::clone(reach.dirs),
            env: Arc::clone(reach.env),
            config: Arc::clone(&component.config_of_calls),
            keeping: self.keeping(component),
            http: reach.http.clone(),
            context: Arc::new(self.context()),
            cancel: self.call.cancel.clone(),
            events,
            deterministic: self.call.deterministic.or(component.deterministic),
            tape: self.call.tape.clone(),
        })
    }

    /// What values the call may keep. A replay has them from its recording.
    fn keeping(&self, component: &LoadedComponent) -> KeepGrant {
        if let Some(Tape::Replay(player)) = &self.call.tape {
            let state = &player.called().state;
            let place = Some(Place::Call).filter(|_| state.scope != StateScope::None);
            return KeepGrant { place, read_only: state.read_only, setting: state.setting.as_str().into() };
        }
        let (folder, session) = (self.shared.sandbox.kept(), self.call.session.state.name());
        let owner = &component.owner;
        KeepGrant {
            place: Place::of(self.tool.owner.grant.state, folder, &owner.name, session),
            read_only: self.tool.is_read_only(),
            setting: Arc::clone(&component.state_setting),
        }
    }

    /// A native function. What it cannot do without its caller's executor it does there: timers are the only thing
    /// that is lent to it where there is none.
    async fn native(
        &self,
        body: &NativeBody,
        arguments: Value,
        events: EventSinks,
        permit: OwnedSemaphorePermit,
    ) -> Ended {
        let limits = self.whole.lower(Arc::clone(self.limits));
        let cancel = self.call.cancel.child_token();
        let _cancelled_with_caller = cancel.clone().drop_guard();
        let events = NativeEvents::new(events, Arc::clone(&limits));
        let native = self.native_call(events.clone(), cancel.clone());
        let work: Pin<Box<dyn Future<Output = Ended> + Send>> = match &body.function {
            NativeFunction::Async(function) => {
                let function = Arc::clone(function);
                Box::pin(async move {
                    let _permit = permit;
                    let work = async { function(arguments, native).await };
                    match catch_unwind(AssertUnwindSafe(work)).await {
                        Ok(end) => Ended::from(end),
                        Err(_) => Ended::failed(panicked()),
                    }
                })
            }
            NativeFunction::GroupSwitch => return self.call.session.activate(arguments),
            NativeFunction::Blocking(function) => {
                let function = Arc::clone(function);
                let caller = tokio::runtime::Handle::try_current().ok();
                let running = self.shared.sandbox.handle().spawn_blocking(move || {
                    let _permit = permit;
                    // What it spawns or waits for belongs to its embedder's runtime.
                    let _entered = caller.as_ref().map(tokio::runtime::Handle::enter);
                    function(arguments, native)
                });
                Box::pin(async move {
                    match running.await {
                        Ok(end) => Ended::from(end),
                        Err(_) => Ended::failed(panicked()),
                    }
                })
            }
        };
        let ended = self.timed(work, &limits).await;
        events.before(bounded(ended, &limits))
    }

    /// The end of `work`, unless its caller gives up or its time is over before. Timers are lent to it where there are none.
    pub(super) async fn timed(&self, work: impl Future<Output = Ended>, limits: &EffectiveLimits) -> Ended {
        let begun = Instant::now();
        let timer = {
            let _entered = self.shared.sandbox.handle().enter();
            tokio::time::sleep_until((begun + limits.timeout()).into())
        };
        let ended = async {
            tokio::select! {
                biased;
                ended = work => ended,
                () = self.call.cancel.cancelled() => Ended::failed(cancelled()),
                () = timer => Ended::failed(stopped_at_deadline(limits, begun.elapsed())),
            }
        };
        if tokio::runtime::Handle::try_current().is_ok() {
            ended.await
        } else {
            self.shared.sandbox.entered(ended).await
        }
    }

    fn native_call(&self, events: NativeEvents, cancel: CancellationToken) -> NativeCall {
        let identity = &self.call.session.state.identity;
        NativeCall {
            id: text_of_id(&self.call.call.id),
            session: self.call.session.state.name().map(str::to_owned),
            user: identity.user.clone(),
            meta: self.meta.to_vec(),
            events,
            cancel,
        }
    }

    fn context(&self) -> CallContext {
        let terms = self.whole.terms;
        CallContext {
            call_id: text_of_id(&self.call.call.id),
            session: self.call.session.state.name().map(str::to_owned),
            meta: self.meta.to_vec(),
            budget_bytes: terms.output.max_bytes,
            budget_lines: terms.output.max_lines,
        }
    }
}

/// What of the host a cell reaches.
struct Reach<'a> {
    dirs: &'a Arc<DirTemplate>,
    env: &'a Arc<BTreeMap<String, String>>,
    http: &'a HttpAccess,
}

/// The end of a native function, unless it gives more than it may.
pub(super) fn bounded(mut ended: Ended, limits: &EffectiveLimits) -> Ended {
    let allowed = limits.get(Limit::ResultBytes);
    let bytes = match &ended.end {
        Ok(Returned::Output { content, structured }) => {
            json_bytes(content, allowed).max(json_bytes(structured, allowed))
        }
        Ok(Returned::ToolError(value)) => json_bytes(value, allowed),
        _ => 0,
    };
    if bytes > allowed {
        let hit = limits.hit(Limit::ResultBytes, bytes);
        let message = format!("the result is larger than {}; ask for a smaller part", hit.allowed);
        let error = CallError::new(ErrorKind::ResultTooLarge, message).help(advice(&hit)).limit(hit);
        ended.end = Err(error);
    }
    ended
}

/// The runs that hooks may ask for: any number of them.
pub(super) struct Repeated<'a> {
    pub runs: Runs<'a>,
    pub call: &'a HookCall,
    pub totals: Mutex<Totals>,
}

impl Core for Repeated<'_> {
    fn run<'a>(&'a self, watching: &'a [Sender<Event>]) -> Pin<Box<dyn Future<Output = Ended> + Send + 'a>> {
        Box::pin(async move {
            let mut events = self.runs.events.clone();
            watching.iter().for_each(|watching| events.add(watching.clone()));
            let ended = self.runs.once(self.call.arguments.clone(), events).await;
            self.totals.lock().unwrap_or_else(PoisonError::into_inner).add(&ended);
            ended
        })
    }

    fn timers(&self) -> &tokio::runtime::Handle {
        self.runs.shared.sandbox.handle()
    }

    fn over(&self) -> CallError {
        self.runs.whole.over()
    }
}

/// What all runs took: a hook that repeats or hides one hides neither its cost nor what was refused to it.
#[derive(Debug, Default)]
pub(super) struct Totals {
    fuel: Option<u64>,
    memory_bytes: u64,
    http_requests: u64,
    denials: Vec<Denial>,
}

impl Totals {
    fn add(&mut self, ended: &Ended) {
        if let Some(fuel) = ended.fuel {
            self.fuel = Some(self.fuel.unwrap_or_default().saturating_add(fuel));
        }
        self.memory_bytes = self.memory_bytes.max(ended.memory_bytes);
        self.http_requests = self.http_requests.saturating_add(ended.http_requests);
        for denial in &ended.denials {
            if !self.denials.contains(denial) {
                self.denials.push(denial.clone());
            }
        }
    }

    /// Puts them in the place of what the last run took.
    pub fn put_into(self, outcome: &mut Outcome) {
        outcome.usage.fuel = self.fuel;
        outcome.usage.memory_bytes = self.memory_bytes;
        outcome.usage.http_requests = self.http_requests;
        outcome.denials = self.denials;
    }
}

fn text_of_id(id: &Value) -> String {
    match id {
        Value::Null => String::new(),
        Value::String(id) => id.clone(),
        id => id.to_string(),
    }
}

fn broken(error: &crate::error::Error) -> CallError {
    CallError::new(ErrorKind::Internal, "the tool's component cannot be used").help(error.to_string())
}

fn gone(tool: &Tool) -> CallError {
    CallError::new(ErrorKind::Internal, "the tool's component does not export its function")
        .help(format!("{} of component `{}`", tool.origin, tool.owner.name))
}

fn panicked() -> CallError {
    CallError::new(ErrorKind::Panicked, "the tool failed unexpectedly; it may have done a part of its work")
}

fn cancelled() -> CallError {
    CallError::new(ErrorKind::Cancelled, "the call was cancelled")
}
