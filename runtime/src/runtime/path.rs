//! The path of one call, in the order of the steps that the architecture numbers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::answer::Answering;
use super::{Call, Shared};
use crate::call::{Arguments, CallError, Ended, ErrorKind, Outcome, Repair, Status, Usage, Violation};
use crate::limits::{EffectiveLimits, Limit, Origin};
use crate::sandbox::{CallContext, Cell, Function, Invocation};
use crate::schema::{self, ParseError};
use crate::tool::{Entry, Tool};

/// Runs a call from its entry to its outcome.
pub(super) async fn run(mut call: Call) -> Outcome {
    let started = Instant::now();
    let shared = Arc::clone(&call.runtime.shared);
    let mut outcome = outcome_of(&call);
    let arguments = std::mem::replace(&mut call.call.arguments, Arguments::Value(Value::Null));
    let end = match find(&shared, &call.call.name) {
        Ok(tool) => {
            let tool = Arc::clone(tool);
            let limits = effective(&tool, &call);
            match canonical(&tool, &limits, arguments) {
                Ok((arguments, repaired)) => {
                    outcome.repaired = repaired;
                    let report = cell(&shared, &call, &tool, arguments, Arc::clone(&limits), started).await;
                    Ok((tool, limits, report))
                }
                Err(error) => Err(error),
            }
        }
        Err(error) => Err(error),
    };
    let answering = |limits| Answering {
        bounds: &shared.bounds,
        outputs: &shared.outputs,
        session: &call.session,
        limits,
    };
    match end {
        Ok((tool, limits, report)) => answering(limits.as_ref()).answer(&tool, report, &mut outcome),
        Err(error) => answering(&EffectiveLimits::default()).fail(error, &mut outcome),
    }
    outcome.usage.duration_ms = milliseconds(started.elapsed());
    outcome
}

fn outcome_of(call: &Call) -> Outcome {
    Outcome {
        id: call.call.id.clone(),
        name: call.call.name.clone(),
        status: Status::Success,
        content: Vec::new(),
        structured: None,
        truncated: None,
        repaired: Vec::new(),
        denials: Vec::new(),
        logs: Vec::new(),
        usage: Usage::default(),
        error: None,
    }
}

/// Step 2.
pub(super) fn find<'a>(shared: &'a Shared, name: &str) -> Result<&'a Arc<Tool>, CallError> {
    shared.registry.get(name).ok_or_else(|| {
        let near = shared.registry.nearest(name);
        let hint = match near.as_slice() {
            [] => String::new(),
            names => format!("; did you mean {}?", quoted(names)),
        };
        CallError::new(ErrorKind::UnknownTool, format!("there is no tool `{}`{hint}", excerpt(name)))
            .help("`toolcell list` shows the tools that there are")
    })
}

/// Steps 1, 3 and 4: the arguments as every later step sees them.
pub(super) fn canonical(
    tool: &Tool,
    limits: &EffectiveLimits,
    arguments: Arguments,
) -> Result<(Value, Vec<Repair>), CallError> {
    let bounds =
        schema::Bounds { bytes: limits.get_usize(Limit::ArgumentBytes), ..schema::Bounds::default() };
    let mode = tool.component.repair;
    let parsed = match arguments {
        Arguments::Text(text) => schema::parse_arguments(&text, bounds, mode),
        Arguments::Value(value) => schema::accept_arguments(value, bounds, mode),
    };
    let (value, decoded) = parsed.map_err(|error| unreadable(&error, limits))?;
    let Entry::Typed { signature, .. } = &tool.entry else {
        return Ok((value, decoded.into_iter().collect()));
    };
    let (value, mut repaired) = schema::canonicalise(signature, value, mode);
    let violations = schema::validate(signature, &value);
    if !violations.is_empty() {
        return Err(invalid(tool, violations));
    }
    repaired.splice(0..0, decoded);
    Ok((value, repaired))
}

fn unreadable(error: &ParseError, limits: &EffectiveLimits) -> CallError {
    let message = format!("the arguments cannot be read: {error}");
    let mut unreadable = CallError::new(ErrorKind::InvalidArguments, message);
    if let ParseError::TooLarge { bytes, .. } = error {
        let wanted = u64::try_from(*bytes).unwrap_or(u64::MAX);
        let hit = limits.hit(Limit::ArgumentBytes, wanted);
        unreadable = unreadable.help(format!("raise `{}`", hit.setting)).limit(hit);
    }
    unreadable
}

fn invalid(tool: &Tool, violations: Vec<Violation>) -> CallError {
    let mut message = format!("the arguments do not fit `{}`:", tool.name);
    for violation in &violations {
        let at = if violation.path.is_empty() { "arguments" } else { violation.path.as_str() };
        message.push_str(&format!("\n- {at}: expected {}, got {}", violation.expected, violation.got));
        if let Some(hint) = &violation.hint {
            message.push_str(&format!(" ({hint})"));
        }
    }
    let mut error = CallError::new(ErrorKind::InvalidArguments, message);
    error.violations = violations;
    error
}

/// The tool's limits, lowered by what the caller asked for.
pub(super) fn effective(tool: &Tool, call: &Call) -> Arc<EffectiveLimits> {
    match call.timeout {
        Some(timeout) if timeout < tool.limits.timeout() => {
            lowered(&tool.limits, timeout, Origin::setting("the call's own timeout"))
        }
        _ => Arc::clone(&tool.limits),
    }
}

/// The limits, lowered to what is left of the time for the whole path.
pub(super) fn within_whole(
    shared: &Shared,
    limits: Arc<EffectiveLimits>,
    remaining: Duration,
) -> Arc<EffectiveLimits> {
    if remaining < limits.timeout() {
        lowered(&limits, remaining, shared.call_timeout_origin.clone())
    } else {
        limits
    }
}

fn lowered(limits: &EffectiveLimits, timeout: Duration, origin: Origin) -> Arc<EffectiveLimits> {
    let mut limits = limits.clone();
    limits.cap_timeout(timeout, origin);
    Arc::new(limits)
}

/// Step 8: a place, the native code, the cell.
async fn cell(
    shared: &Arc<Shared>,
    call: &Call,
    tool: &Arc<Tool>,
    arguments: Value,
    limits: Arc<EffectiveLimits>,
    started: Instant,
) -> Ended {
    let sandbox = &shared.sandbox;
    let whole = Whole { shared, call, deadline: later(started, shared.call_timeout) };
    let ready = async {
        let permit = shared.door.enter(whole.deadline).await?;
        let prepared = tool.component.prepared(sandbox, tool.meter()).await;
        Ok((permit, prepared.map_err(|error| broken(&error))?))
    };
    let (permit, prepared) = match sandbox.entered(whole.within(ready)).await {
        Ok(ready) => ready,
        Err(error) => return Ended::failed(error),
    };
    let remaining = whole.deadline.saturating_duration_since(Instant::now());
    let limits = within_whole(shared, limits, remaining);
    let invocation = match &tool.entry {
        Entry::Typed { signature, typed, .. } => match tool.export(&prepared) {
            Some(export) => {
                let function = Function { export, signature: Arc::clone(signature), typed: *typed };
                Invocation::Typed { function, arguments }
            }
            None => return Ended::failed(gone(tool)),
        },
        Entry::Command => Invocation::Command {
            stdin: arguments.to_string().into_bytes().into(),
            name: tool.component.name.clone(),
        },
    };
    let cell = Cell {
        prepared,
        invocation,
        limits,
        dirs: Arc::clone(&tool.dirs),
        env: Arc::clone(&tool.component.env),
        config: Arc::clone(&tool.component.config),
        context: Arc::new(context(shared, call)),
        cancel: call.cancel.clone(),
    };
    sandbox.run(cell, permit).await
}

fn context(shared: &Shared, call: &Call) -> CallContext {
    CallContext {
        call_id: match &call.call.id {
            Value::Null => String::new(),
            Value::String(id) => id.clone(),
            id => id.to_string(),
        },
        session: Some(call.session.clone()).filter(|session| !session.is_empty()),
        meta: call.call.meta.clone(),
        budget_bytes: shared.output.max_bytes,
        budget_lines: shared.output.max_lines,
    }
}

/// The time for the whole path of a call.
struct Whole<'a> {
    shared: &'a Shared,
    call: &'a Call,
    deadline: Instant,
}

impl Whole<'_> {
    /// `work`, unless the caller gives up or the time is over first. Must be polled where timers are in reach.
    async fn within<T>(&self, work: impl Future<Output = Result<T, CallError>>) -> Result<T, CallError> {
        tokio::select! {
            biased;
            done = work => done,
            () = self.call.cancel.cancelled() => {
                Err(CallError::new(ErrorKind::Cancelled, "the call was cancelled"))
            }
            () = tokio::time::sleep_until(self.deadline.into()) => Err(self.over()),
        }
    }

    fn over(&self) -> CallError {
        let allowed = Limit::Timeout.format(nanos(self.shared.call_timeout));
        let message = format!("the call was not ready to run within {allowed}; try again later");
        CallError::new(ErrorKind::Timeout, message).help("raise `policy.call_timeout`")
    }
}

/// How far ahead a deadline can be: a century, which every clock and timer takes.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

fn later(started: Instant, timeout: Duration) -> Instant {
    started + timeout.min(FOREVER)
}

/// Milliseconds with three digits: microseconds are what the clock is good for.
fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn broken(error: &crate::error::Error) -> CallError {
    CallError::new(ErrorKind::Internal, "the tool's component cannot be used").help(error.to_string())
}

fn gone(tool: &Tool) -> CallError {
    CallError::new(ErrorKind::Internal, "the tool's component does not export its function")
        .help(format!("{} of component `{}`", tool.origin, tool.component.name))
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// A name that somebody else wrote, short enough for a message.
fn excerpt(name: &str) -> &str {
    name.get(..name.floor_char_boundary(64)).unwrap_or_default()
}
