//! One cell: a fresh store and instance for one call, from admission to the drop of the store.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use wasmtime::component::{ComponentExportIndex, Instance, Val};
use wasmtime::{Store, UpdateDeadline};
use wasmtime_wasi::WasiCtx;
use wasmtime_wasi::p2::pipe::MemoryInputPipe;

use super::chosen::chosen_output;
use super::crossing::Crossing;
use super::deadline::{Stop, Watch, watched};
use super::denials::Denials;
use super::dirs::{DirTemplate, DirsState};
use super::end;
use super::engine::{FUEL_YIELD_INTERVAL, Meter};
use super::host::{KeepGrant, Keeping};
use super::http::{HttpAccess, HttpState};
use super::limiter::Limiter;
use super::report::logs;
use super::state::{Budget, CallContext, CellState, LazyWasi};
use super::stdio::Sink;
use super::time::{SeededRandom, Time};
use super::typed::TypedCall;
use super::{HOST_CALL_BYTES, LIFT_BYTES_FOR_EACH, LIFT_BYTES_FOR_EACH_OF_BYTES, MIN_LIFT_BYTES, Prepared};
use crate::call::{CallError, Ended, ErrorKind, Returned, Violation};
use crate::kept::Place;
use crate::limits::{EffectiveLimits, Limit};
use crate::output::EventSinks;
use crate::policy::Deterministic;
use crate::recording::{End, Refused, Tape};
use crate::schema::{self, LiftError, Lifted, ResultKind, Shape, Signature};

/// What runs in a cell.
pub(crate) struct Cell {
    pub prepared: Arc<Prepared>,
    pub invocation: Invocation,
    pub limits: Arc<EffectiveLimits>,
    pub dirs: Arc<DirTemplate>,
    pub env: Arc<BTreeMap<String, String>>,
    pub config: Arc<BTreeMap<String, String>>,
    pub keeping: KeepGrant,
    pub http: HttpAccess,
    pub context: Arc<CallContext>,
    pub cancel: CancellationToken,
    pub events: EventSinks,
    /// Time and chance that are the same in every call; none for those of the host.
    pub deterministic: Option<Deterministic>,
    /// The recording that is made or replayed.
    pub tape: Option<Tape>,
}

/// What to call.
pub(crate) enum Invocation {
    /// A typed function with its canonical arguments.
    Typed { function: Function, arguments: Value },
    /// `wasi:cli/run`, with text on standard input.
    Command { stdin: Bytes, name: String },
}

/// A typed function of a compiled component.
pub(crate) struct Function {
    pub export: ComponentExportIndex,
    pub signature: Arc<Signature>,
    /// Its static types, where they are worth it.
    pub typed: Option<TypedCall>,
}

impl Cell {
    /// Whether its host calls may wait for the operating system.
    pub fn blocks(&self) -> bool {
        !self.dirs.is_empty() || self.keeping.place.as_ref().is_some_and(Place::blocks)
    }

    /// Runs the cell and hands its report to `report` before the store is dropped: nobody waits for that.
    pub async fn run(&self, report: impl FnOnce(Ended)) {
        let watch = Watch::new(Instant::now() + self.limits.timeout(), self.cancel.clone());
        let mut store = match self.store(&watch) {
            Ok(store) => store,
            Err(error) => return report(Ended::failed(internal(&error))),
        };
        let end = {
            let work = pin!(catch_unwind(AssertUnwindSafe(self.work(&mut store))));
            watched(&watch, work).await
        };
        report(self.report(&mut store, end));
    }

    fn store(&self, watch: &Watch) -> wasmtime::Result<Store<CellState>> {
        let limits = &self.limits;
        let handles = limits.get_usize(Limit::Handles);
        let stdio = limits.get_usize(Limit::StdioBytes);
        let (stdout, stderr) = (Sink::new(self.stdout_bytes(stdio)), Sink::new(stdio));
        let redactor = self.events.redactor();
        let mut table = wasmtime::component::ResourceTable::new();
        table.set_max_capacity(handles);
        let mut store = Store::new(
            self.prepared.engine(),
            CellState {
                wasi: LazyWasi::new(self.wasi(&stdout, &stderr)),
                table,
                limiter: Limiter::new(limits),
                dirs: DirsState::new(Arc::clone(&self.dirs), limits, watch.clone()).redacting(redactor),
                config: Arc::clone(&self.config),
                keeping: Keeping::new(self.keeping.clone()),
                http: HttpState::new(self.http.clone(), Arc::clone(limits), redactor),
                context: Arc::clone(&self.context),
                watch: watch.clone(),
                budget: Budget::new(Arc::clone(limits)),
                stdout,
                stderr,
                events: self.events.clone(),
                logs: Vec::new(),
                dropped_logs: 0,
                chunks: Vec::new(),
                chunk_bytes: 0,
                denials: Denials::of(redactor),
                time: self.deterministic.map(|settings| Box::new(Time::new(settings))),
                random: self.deterministic.map(|settings| Box::new(SeededRandom::new(settings))),
                tape: self.tape.clone(),
                taped_stdio: Vec::new(),
                lifting_result: false,
                lift_bytes: self.lift_bytes(),
            },
        );
        store.limiter(|state| &mut state.limiter);
        store.set_max_component_handles(handles);
        store.set_hostcall_fuel(HOST_CALL_BYTES);
        match self.prepared.meter() {
            Meter::Fuel => {
                store.set_fuel(limits.get(Limit::Fuel))?;
                store.fuel_async_yield_interval(Some(FUEL_YIELD_INTERVAL))?;
                store.call_hook_async(Crossing(Meter::Fuel));
            }
            Meter::Epoch => {
                store.set_epoch_deadline(1);
                store.epoch_deadline_callback(|context| {
                    context.data().watch.check()?;
                    Ok(UpdateDeadline::Yield(1))
                });
                store.call_hook_async(Crossing(Meter::Epoch));
            }
        }
        Ok(store)
    }

    /// A command's result is what it prints, so it may print as much as a result may have.
    fn stdout_bytes(&self, stdio: usize) -> usize {
        match self.invocation {
            Invocation::Typed { .. } => stdio,
            Invocation::Command { .. } => self.limits.get_usize(Limit::ResultBytes).saturating_mul(2),
        }
    }

    fn lift_bytes(&self) -> usize {
        let for_each = match &self.invocation {
            Invocation::Typed { function, .. }
                if matches!(function.signature.returns().ok(), Some(Shape::Bytes)) =>
            {
                LIFT_BYTES_FOR_EACH_OF_BYTES
            }
            _ => LIFT_BYTES_FOR_EACH,
        };
        self.limits.get_usize(Limit::ResultBytes).saturating_mul(for_each).max(MIN_LIFT_BYTES)
    }

    /// How to make the WASI context: nothing of the host's is inherited, and there are no sockets.
    fn wasi(&self, stdout: &Sink, stderr: &Sink) -> impl FnOnce() -> WasiCtx + Send + 'static {
        let (stdout, stderr, env) = (stdout.clone(), stderr.clone(), Arc::clone(&self.env));
        let command = match &self.invocation {
            Invocation::Typed { .. } => None,
            Invocation::Command { stdin, name } => Some((stdin.clone(), name.clone())),
        };
        move || {
            let mut wasi = WasiCtx::builder();
            wasi.stdout(stdout).stderr(stderr);
            wasi.allow_tcp(false).allow_udp(false).allow_ip_name_lookup(false);
            for (name, value) in env.iter() {
                wasi.env(name, value);
            }
            if let Some((stdin, name)) = command {
                wasi.stdin(MemoryInputPipe::new(stdin)).arg(name);
            }
            wasi.build()
        }
    }

    async fn work(&self, store: &mut Store<CellState>) -> wasmtime::Result<Result<Returned, CallError>> {
        let instance = self.prepared.instantiate(&mut *store).await?;
        match &self.invocation {
            Invocation::Typed { function, arguments } => {
                self.call_typed(store, &instance, function, arguments).await
            }
            Invocation::Command { .. } => self.call_command(store, &instance).await,
        }
    }

    async fn call_typed(
        &self,
        store: &mut Store<CellState>,
        instance: &Instance,
        function: &Function,
        arguments: &Value,
    ) -> wasmtime::Result<Result<Returned, CallError>> {
        let Function { export, signature, typed } = function;
        if let Some(typed) = typed {
            return typed.call(store, instance, export, signature, arguments).await;
        }
        let params = match schema::lower(signature, arguments) {
            Ok(params) => params,
            Err(violations) => return Ok(Err(unfit(violations))),
        };
        let called = instance
            .get_func(&mut *store, export)
            .ok_or_else(|| wasmtime::format_err!("the component does not export its function"))?;
        let returns = signature.returns();
        let mut results =
            vec![Val::Bool(false); usize::from(returns.ok().is_some() || returns.is_fallible())];
        called.call_async(&mut *store, &params, &mut results).await?;
        let max_bytes = self.limits.get(Limit::ResultBytes);
        Ok(match schema::lift_result(signature, &results, max_bytes) {
            Ok(Lifted::Err(value)) => Ok(Returned::ToolError(returns.err().map(|_| value))),
            Ok(Lifted::Ok(value)) => match returns.kind() {
                ResultKind::Plain => Ok(Returned::Value(returns.ok().map(|_| value))),
                ResultKind::Output => chosen_output(&value),
            },
            Err(LiftError::Mismatch) => {
                return Err(wasmtime::format_err!("the result is not of the function's type"));
            }
            Err(_) => Err(end::result_too_large(&self.limits)),
        })
    }

    async fn call_command(
        &self,
        store: &mut Store<CellState>,
        instance: &Instance,
    ) -> wasmtime::Result<Result<Returned, CallError>> {
        let Some(run) = self.prepared.command() else {
            return Err(wasmtime::format_err!("the component does not export wasi:cli/run"));
        };
        let run = instance.get_typed_func::<(), (Result<(), ()>,)>(&mut *store, run)?;
        let ended = match run.call_async(&mut *store, ()).await {
            Ok((ended,)) => ended,
            Err(error) => match error.downcast_ref::<wasmtime_wasi::I32Exit>() {
                Some(exit) if exit.0 == 0 => Ok(()),
                _ => return Err(error),
            },
        };
        let stdout = store.data().stdout.clone();
        let limit = self.limits.get(Limit::ResultBytes);
        if stdout.total() > limit {
            return Ok(Err(end::limit_error(Limit::ResultBytes, stdout.total(), &self.limits)));
        }
        let printed = stdout.text(self.events.redactor()).unwrap_or_default();
        Ok(Ok(match ended {
            Ok(()) => Returned::Printed(printed),
            Err(()) => Returned::ToolError(Some(Value::String(printed))),
        }))
    }

    /// What the layers know at the end, or did when the recording was made that is replayed.
    fn layers(&self, state: &CellState) -> End {
        if let Some(Tape::Replay(player)) = &self.tape {
            return player.end().clone();
        }
        let named = |(limit, wanted): (Limit, u64)| (limit.name().to_owned(), wanted);
        let end = End {
            files: Refused { limit: state.dirs.limit_hit().map(named), denials: state.dirs.denials().list() },
            http: Refused { limit: state.http.limit_hit().map(named), denials: state.http.denials() },
            http_requests: state.http.requests(),
        };
        if let Some(Tape::Record(recorder)) = &self.tape {
            recorder.ended(end.clone());
        }
        end
    }

    fn report(
        &self,
        store: &mut Store<CellState>,
        ended: Result<std::thread::Result<wasmtime::Result<Result<Returned, CallError>>>, Stop>,
    ) -> Ended {
        let fuel = match self.prepared.meter() {
            Meter::Fuel => {
                store.get_fuel().ok().map(|left| self.limits.get(Limit::Fuel).saturating_sub(left))
            }
            Meter::Epoch => None,
        };
        let end = match ended {
            Err(stop) => Err(end::stopped(stop, &self.limits, store.data().watch.elapsed())),
            Ok(Err(_panic)) => Err(CallError::new(
                ErrorKind::Internal,
                "the host failed while it served the tool; the call had no result",
            )),
            Ok(Ok(Err(error))) => Err(end::classify(&error, store.data(), fuel)),
            Ok(Ok(Ok(end))) => end,
        };
        let state = store.data_mut();
        let End { files, http, http_requests } = self.layers(state);
        let known = |(name, wanted): (String, u64)| Some((Limit::from_name(&name)?, wanted));
        Ended {
            end,
            chunks: std::mem::take(&mut state.chunks),
            logs: logs(state, matches!(self.invocation, Invocation::Command { .. })),
            denials: [files.denials, state.denials.list(), http.denials].concat(),
            fuel,
            memory_bytes: state.limiter.memory_peak(),
            http_requests,
            limit: (files.limit.and_then(known))
                .or(state.keeping.full)
                .or(http.limit.and_then(known))
                .map(|(limit, wanted)| self.limits.hit(limit, wanted)),
            verdicts: Vec::new(),
        }
    }
}

pin_project_lite::pin_project! {
    /// A future whose panic is its output.
    pub(crate) struct CatchUnwind<F> {
        #[pin]
        future: F,
    }
}

/// A panic of a host function ends its own call and nothing else.
pub(crate) fn catch_unwind<F: Future>(future: AssertUnwindSafe<F>) -> CatchUnwind<F> {
    CatchUnwind { future: future.0 }
}

impl<F: Future> Future for CatchUnwind<F> {
    type Output = std::thread::Result<F::Output>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let future = self.project().future;
        match std::panic::catch_unwind(AssertUnwindSafe(|| future.poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    }
}

fn unfit(violations: Vec<Violation>) -> CallError {
    let mut error = CallError::new(ErrorKind::InvalidArguments, "the arguments do not fit the tool's types");
    error.violations = violations;
    error
}

fn internal(error: &wasmtime::Error) -> CallError {
    CallError::new(ErrorKind::Internal, "the cell could not be made").help(error.root_cause().to_string())
}
