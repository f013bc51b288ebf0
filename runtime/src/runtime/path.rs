//! The path of one call, in the order of the steps that the architecture numbers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::after::post_hooks;
use super::answer::Answering;
use super::decide::pre_hooks;
use super::explain::Explanation;
use super::runs::{Repeated, Runs, Totals};
use super::whole::{Whole, lowered, within_whole};
use super::{Call, Session, Shared};
use crate::call::{Arguments, CallError, Ended, ErrorKind, Outcome, Repair, ToolCall, Verdict, Violation};
use crate::hook::{HookCall, around};
use crate::limits::{EffectiveLimits, Limit, Origin, advice};
use crate::registry::Placed;
use crate::schema::{self, ParseError};
use crate::tool::{Body, Entry, Tool};

/// Runs a call from its entry to its outcome.
pub(super) async fn run(mut call: Call) -> Outcome {
    let started = Instant::now();
    let shared = Arc::clone(&call.session.runtime.shared);
    let arguments = std::mem::replace(&mut call.call.arguments, Arguments::Value(Value::Null));
    let mut passage = Passage { outcome: Outcome::begin(&call.call), verdicts: Vec::new() };
    let whole = Whole::of(&shared, &call, started);
    let end = passage.ran(&shared, &call, &whole, arguments).await;
    let mut outcome = passage.outcome;
    match end {
        Ok(Ran { placed, limits, ended, totals }) => {
            answering(&shared, &call, &limits).answer(&placed.tool, ended, &mut outcome);
            if let Some(totals) = totals {
                totals.put_into(&mut outcome);
            }
        }
        Err(error) => answering(&shared, &call, &EffectiveLimits::default()).fail(error, &mut outcome),
    }
    outcome.usage.duration_ms = milliseconds(started.elapsed());
    outcome
}

/// What is known of a call on its way.
struct Passage {
    outcome: Outcome,
    verdicts: Vec<Verdict>,
}

/// A call that was allowed to run, with how that ended.
struct Ran {
    placed: Arc<Placed>,
    limits: Arc<EffectiveLimits>,
    ended: Ended,
    /// Where hooks may have run it several times, what all runs took.
    totals: Option<Totals>,
}

impl Passage {
    /// Steps 2 to 10. An error is one of a call that never ran.
    async fn ran(
        &mut self,
        shared: &Arc<Shared>,
        call: &Call,
        whole: &Whole<'_>,
        arguments: Arguments,
    ) -> Result<Ran, CallError> {
        let placed = find(&call.session, &call.call.name)?;
        let limits = effective(&placed.tool, call);
        let (arguments, repaired) = canonical(&placed.tool, &limits, arguments)?;
        self.outcome.repaired = repaired;
        if placed.hooks.is_empty() {
            let meta = meta(call);
            let runs = Runs { shared, call, tool: &placed.tool, limits: &limits, whole, meta: &meta };
            let ended = runs.once(arguments).await;
            return Ok(Ran { placed, limits, ended, totals: None });
        }
        self.hooked(shared, call, whole, placed, limits, arguments).await
    }

    /// Steps 5 to 10 where there are hooks.
    async fn hooked(
        &mut self,
        shared: &Arc<Shared>,
        call: &Call,
        whole: &Whole<'_>,
        placed: Arc<Placed>,
        limits: Arc<EffectiveLimits>,
        arguments: Value,
    ) -> Result<Ran, CallError> {
        let timers = shared.sandbox.handle();
        let mut hooked = hook_call(call, &placed.tool, arguments);
        let deciding =
            pre_hooks(&placed.hooks.pre, &mut hooked, &limits, timers, &mut self.outcome, &mut self.verdicts);
        whole.within_anywhere(deciding).await?;
        let runs = Runs { shared, call, tool: &placed.tool, limits: &limits, whole, meta: &hooked.meta };
        let repeated = Repeated { runs, call: &hooked, totals: Mutex::default() };
        let running = async { Ok(around(&placed.hooks.around, &hooked, &repeated).await) };
        let ended = whole.with_grace(running).await.unwrap_or_else(Ended::failed);
        let totals = repeated.totals.into_inner().unwrap_or_else(PoisonError::into_inner);
        let answering = answering(shared, call, &limits);
        let (outcome, verdicts) = (&mut self.outcome, &mut self.verdicts);
        let ended =
            post_hooks(&placed.hooks.post, &hooked, &answering, ended, timers, outcome, verdicts).await;
        Ok(Ran { placed, limits, ended, totals: Some(totals) })
    }
}

fn answering<'a>(shared: &'a Shared, call: &'a Call, limits: &'a EffectiveLimits) -> Answering<'a> {
    Answering { bounds: &shared.bounds, outputs: &shared.outputs, session: call.session.name(), limits }
}

/// Takes a call as far as its cell: nothing is compiled and no guest code runs.
pub(super) fn explain(session: &Session, call: ToolCall) -> Explanation {
    let mut explanation = Explanation::default();
    let call = session.call(call);
    let shared = &session.runtime.shared;
    match find(session, &call.call.name) {
        Err(error) => explanation.error = Some(error),
        Ok(placed) => {
            let limits = within_whole(shared, effective(&placed.tool, &call), Duration::ZERO);
            match canonical(&placed.tool, &limits, call.call.arguments.clone()) {
                Err(error) => explanation.error = Some(error),
                Ok((arguments, repaired)) => {
                    explanation.arguments = Some(arguments);
                    explanation.repaired = repaired;
                }
            }
            explanation.limits = Some(limits);
            explanation.tool = Some(Arc::clone(&placed.tool));
        }
    }
    explanation
}

/// Step 2.
fn find(session: &Session, name: &str) -> Result<Arc<Placed>, CallError> {
    let Some(placed) = session.placed(name) else {
        let near = session.nearest(name);
        let hint = match near.as_slice() {
            [] => String::new(),
            names => format!("; did you mean {}?", quoted(names)),
        };
        let message = format!("there is no tool `{}`{hint}", excerpt(name));
        return Err(CallError::new(ErrorKind::UnknownTool, message)
            .help("`toolcell list` shows the tools that there are"));
    };
    if !session.is_active(&placed.tool) {
        let group = placed.tool.group().unwrap_or_default();
        let message = format!("the tool `{name}` is switched off, with its group `{group}`");
        return Err(CallError::new(ErrorKind::ToolInactive, message)
            .help(format!("switch the group `{group}` on for this session, or for all")));
    }
    Ok(placed)
}

/// The call as hooks see it. Of two entries of metadata with one key the first wins: the caller's, then that of a hook,
/// then the session's.
fn hook_call(call: &Call, tool: &Arc<Tool>, arguments: Value) -> HookCall {
    let identity = &call.session.state.identity;
    HookCall {
        id: call.call.id.clone(),
        tool: Arc::clone(tool),
        arguments,
        meta: meta(call),
        meta_of_caller: call.call.meta.len(),
        session: call.session.state.name().map(str::to_owned),
        user: identity.user.clone(),
    }
}

fn meta(call: &Call) -> Vec<(String, String)> {
    call.call.meta.iter().chain(&call.session.state.meta).cloned().collect()
}

/// Steps 1, 3 and 4: the arguments as every later step sees them.
pub(super) fn canonical(
    tool: &Tool,
    limits: &EffectiveLimits,
    arguments: Arguments,
) -> Result<(Value, Vec<Repair>), CallError> {
    let bounds =
        schema::Bounds { bytes: limits.get_usize(Limit::ArgumentBytes), ..schema::Bounds::default() };
    let mode = tool.owner.repair;
    let parsed = match arguments {
        Arguments::Text(text) => schema::parse_arguments(&text, bounds, mode),
        Arguments::Value(value) => schema::accept_arguments(value, bounds, mode),
    };
    let (value, decoded) = parsed.map_err(|error| unreadable(&error, limits))?;
    let signature = match &tool.body {
        Body::Component { entry: Entry::Typed { signature, .. }, .. } => signature,
        Body::Component { entry: Entry::Command, .. } => return Ok((value, decoded.into_iter().collect())),
        Body::Native(native) => {
            return match native.violations(&value) {
                violations if violations.is_empty() => Ok((value, decoded.into_iter().collect())),
                violations => Err(invalid(tool, violations)),
            };
        }
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
        unreadable = unreadable.help(advice(&hit)).limit(hit);
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
fn effective(tool: &Tool, call: &Call) -> Arc<EffectiveLimits> {
    match call.timeout {
        Some(timeout) if timeout < tool.limits.timeout() => {
            lowered(&tool.limits, timeout, Duration::ZERO, Origin::setting("the call's own timeout"))
        }
        _ => Arc::clone(&tool.limits),
    }
}

/// Milliseconds with three digits: microseconds are what the clock is good for.
fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// A name that somebody else wrote, short enough for a message.
fn excerpt(name: &str) -> &str {
    name.get(..name.floor_char_boundary(64)).unwrap_or_default()
}
