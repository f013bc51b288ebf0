//! The path of one call, in the order of the steps that the architecture numbers.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use super::after::post_hooks;
use super::answer::{Answering, aside};
use super::ask::Asking;
use super::checking::{canonical, canonical_in_time};
use super::decide::{Reason, by_rules, pre_hooks, ruled};
use super::explain::Explanation;
use super::hidden::{hide, readable, reveal};
use super::passage::{Passage, unanswered};
use super::recording::unrecordable;
use super::runs::{Repeated, Runs, Totals};
use super::whole::{Whole, lowered, within_whole};
use super::{Call, Session, Shared, Terms};
use crate::call::{Action, Arguments, CallError, Ended, ErrorKind, Outcome, Status, ToolCall};
use crate::hook::{HookCall, HostHandle, Settings, around};
use crate::limits::{EffectiveLimits, Origin};
use crate::policy::{Decision, NoPaths, RuleSource};
use crate::registry::Placed;
use crate::telemetry;
use crate::tool::{ACTIVATE_GROUP, Tool};

/// Runs a call from its entry to its outcome, and records it.
pub(super) async fn run(mut call: Call) -> Outcome {
    let began = SystemTime::now();
    let started = Instant::now();
    let shared = Arc::clone(&call.session.runtime.shared);
    let span = telemetry::call(&call.call.name, [&call.call.meta, &call.session.state.meta]);
    let arguments = std::mem::replace(&mut call.call.arguments, Arguments::Value(Value::Null));
    let problem = call.call.problem().map(|why| Box::new(CallError::new(ErrorKind::InvalidArguments, why)));
    let refusal = problem.or_else(|| call.refusal.take());
    if let Some(recorder) = call.recorder() {
        recorder.arguments(&arguments);
    }
    let mut passage = Passage::of(&call, began, started);
    // Once, so that what is reloaded meanwhile is for later calls.
    let terms = shared.terms();
    let end = {
        let running = pin!(async {
            if let Some(error) = refusal {
                return Err(*error);
            }
            passage.ready()?;
            passage.ran(&shared, &call, &Whole::of(&shared, &call, &terms, started), arguments).await
        });
        telemetry::within(&span, running).await
    };
    if let Some(placed) = &passage.placed {
        telemetry::found(&span, placed.tool.component());
    }
    let placed = passage.placed.clone();
    let outcome = &mut passage.outcome;
    match (end, &placed) {
        (Ok(Ran { limits, mut ended, totals }), Some(placed)) => {
            if let Some(redactor) = placed.tool.redactor() {
                redactor.ended(&mut ended);
            }
            if shared.outputs.waits() {
                let placed = Arc::clone(placed);
                let answer =
                    move |by: &Answering<'_>, outcome: &mut Outcome| by.answer(&placed.tool, ended, outcome);
                Box::pin(aside(&shared, &terms, &call, limits, outcome, answer)).await;
            } else {
                answering(&shared, &terms, &call, &limits).answer(&placed.tool, ended, outcome);
            }
            if outcome.error_kind() == Some(ErrorKind::HookFailed) {
                // Nothing was refused here: the tool may have run.
                outcome.status = Status::Error;
            }
            if let Some(totals) = totals {
                totals.put_into(outcome);
            }
        }
        (Err(mut error), placed) => {
            if let Some(redactor) = placed.as_ref().and_then(|placed| placed.tool.redactor()) {
                redactor.error(&mut error);
            }
            if shared.outputs.waits() {
                let answer = move |by: &Answering<'_>, outcome: &mut Outcome| by.fail(error, outcome);
                Box::pin(aside(&shared, &terms, &call, Arc::default(), outcome, answer)).await;
            } else {
                fail(&shared, &terms, &call, error, outcome);
            }
        }
        (Ok(_), None) => fail(&shared, &terms, &call, lost(), outcome),
    }
    if let Some(redactor) = placed.as_ref().and_then(|placed| placed.tool.redactor()) {
        outcome.warnings.iter_mut().for_each(|warning| redactor.warning(warning));
    }
    outcome.usage.duration_ms = milliseconds(started.elapsed());
    if let Err(error) = passage.record() {
        telemetry::audit_failed(&error);
        let outcome = &mut passage.outcome;
        outcome.give_nothing();
        fail(&shared, &terms, &call, unanswered(&error), outcome);
    }
    telemetry::called(&span, &passage.outcome);
    if let Some(recorder) = call.recorder() {
        recorder.outcome(&passage.outcome);
    }
    passage.finish()
}

fn lost() -> CallError {
    CallError::new(ErrorKind::Internal, "the tool of the call was lost")
}

fn fail(shared: &Shared, terms: &Terms, call: &Call, error: CallError, outcome: &mut Outcome) {
    answering(shared, terms, call, &EffectiveLimits::default()).fail(error, outcome);
}

/// How a call ended that was allowed to run.
struct Ran {
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
        self.placed = Some(Arc::clone(&placed));
        let limits = effective(&placed.tool, call);
        let (arguments, repaired) = canonical_in_time(whole, &placed.tool, &limits, arguments).await?;
        self.outcome.repaired = repaired;
        self.keep_arguments(&placed.tool, &arguments);
        if let Some(recorder) = call.recorder()
            && let Some(why) = unrecordable(&placed)
        {
            recorder.fail(&why);
        }
        if !placed.is_free() {
            // On the heap: most calls have neither, and every call would carry the room for them.
            return Box::pin(self.decided(shared, call, whole, placed, limits, arguments)).await;
        }
        if self.keeps_record() {
            Box::pin(self.ruled(shared, &placed, whole, &arguments, &arguments)).await?;
        }
        call.is_decided();
        let meta = meta(call);
        let (tool, events) = (&placed.tool, call.events.clone());
        let runs = Runs { shared, call, tool, limits: &limits, whole, meta: &meta, events };
        let ended = runs.once(arguments, runs.events.clone()).await;
        Ok(Ran { limits, ended, totals: None })
    }

    /// Steps 5 to 10 where hooks or rules have something to say.
    async fn decided(
        &mut self,
        shared: &Arc<Shared>,
        call: &Call,
        whole: &Whole<'_>,
        placed: Arc<Placed>,
        limits: Arc<EffectiveLimits>,
        arguments: Value,
    ) -> Result<Ran, CallError> {
        let original = (!placed.hooks.pre.is_empty()).then(|| arguments.clone());
        let mut hooked = hook_call(shared, call, &placed.tool, arguments, &limits, whole);
        let hidden = hide(&mut hooked);
        let deciding =
            pre_hooks(&placed.hooks.pre, &mut hooked, &limits, whole, &mut self.outcome, &mut self.verdicts);
        // They watch the time themselves, so that who held the call is named.
        let mut reasons = whole.with_grace(deciding).await?;
        reveal(&mut hooked, hidden);
        self.keep_arguments(&placed.tool, &hooked.arguments);
        let original = original.as_ref().unwrap_or(&hooked.arguments);
        let (mut asked, rules) = self.ruled(shared, &placed, whole, original, &hooked.arguments).await?;
        let only_rules = reasons.is_empty();
        reasons.append(&mut asked);
        if !reasons.is_empty() {
            let rules = if only_rules { rules.as_slice() } else { &[] };
            let (tool, arguments, reasons) = (&*placed.tool, &hooked.arguments, reasons.as_slice());
            let asking = Asking { shared, call, whole, tool, arguments, reasons, rules };
            asking.decide(&mut self.outcome, &mut self.verdicts).await?;
            let now = self.still(shared, call, whole, &placed, (original, &hooked.arguments), reasons);
            if let Some(now) = now.await? {
                // The same to whoever was asked, within what its limits and secrets are by now.
                let limits = effective(&now.tool, call);
                hooked.tool = Arc::clone(&now.tool);
                hooked.settings = settings(call, &now.tool, &limits, whole);
                self.placed = Some(Arc::clone(&now));
                call.is_decided();
                return self.hooked(shared, call, whole, &now, limits, hooked).await;
            }
        }
        call.is_decided();
        self.hooked(shared, call, whole, &placed, limits, hooked).await
    }

    /// Step 6: who has to be asked, and by which rules.
    async fn ruled(
        &mut self,
        shared: &Shared,
        placed: &Arc<Placed>,
        whole: &Whole<'_>,
        original: &Value,
        last: &Value,
    ) -> Result<(Vec<Reason>, Vec<Arc<RuleSource>>), CallError> {
        let decision = by_rules(shared, whole, placed, original, last).await?;
        let reasons = ruled(&decision, &whole.terms.default_origin, &mut self.verdicts)?;
        Ok((reasons, decision.asks))
    }

    /// Steps 7 to 10.
    async fn hooked(
        &mut self,
        shared: &Arc<Shared>,
        call: &Call,
        whole: &Whole<'_>,
        placed: &Arc<Placed>,
        limits: Arc<EffectiveLimits>,
        mut hooked: HookCall,
    ) -> Result<Ran, CallError> {
        let hooks = &placed.hooks;
        // What a hook may still replace nobody has seen.
        let has_post = !hooks.post.is_empty();
        let events = call.events.clone();
        let events = match hooks.post.iter().any(|hook| hook.redacts) {
            true => events.holding_everything(),
            false if has_post => events.holding_chunks(),
            false => events,
        };
        let (tool, meta) = (&placed.tool, hooked.meta.as_slice());
        let runs = Runs { shared, call, tool, limits: &limits, whole, meta, events };
        if hooks.around.is_empty() && !has_post {
            let ended = runs.once(hooked.arguments.clone(), runs.events.clone()).await;
            return Ok(Ran { limits, ended, totals: None });
        }
        let repeated = Repeated { runs, call: &hooked, totals: Mutex::default() };
        let running = async { Ok(around(&hooks.around, &hooked, &repeated, Vec::new()).await) };
        let mut ended = whole.with_grace(running).await.unwrap_or_else(Ended::failed);
        self.outcome.usage.from_cache = ended.verdicts.iter().any(|verdict| verdict.action == Action::Reuse);
        self.verdicts.append(&mut ended.verdicts);
        let totals = repeated.totals.into_inner().unwrap_or_else(PoisonError::into_inner);
        hide(&mut hooked);
        let answering = answering(shared, whole.terms, call, &limits);
        let (outcome, verdicts) = (&mut self.outcome, &mut self.verdicts);
        let ended = post_hooks(&hooks.post, &hooked, &answering, ended, whole, outcome, verdicts).await;
        if has_post {
            let events = call.events.clone().redacting(placed.tool.redactor());
            let released = async {
                for chunk in &ended.chunks {
                    events.chunk(chunk.clone()).await;
                }
                events.rest().await;
                Ok(())
            };
            // A listener that is too slow for the rest of the call's time still gets it all with the outcome.
            let _ = whole.within_anywhere(released).await;
        }
        Ok(Ran { limits, ended, totals: Some(totals) })
    }
}

fn answering<'a>(
    shared: &'a Shared,
    terms: &Terms,
    call: &'a Call,
    limits: &'a EffectiveLimits,
) -> Answering<'a> {
    let (session, owner) = (call.session.name(), call.session.state.identity.owner());
    Answering { bounds: terms.bounds, outputs: &shared.outputs, session, owner, limits }
}

/// Takes a call as far as its cell: nothing is compiled and no guest code runs.
pub(super) fn explain(session: &Session, call: ToolCall) -> Explanation {
    let mut explanation = Explanation::default();
    let call = session.call(call);
    let shared = &session.runtime.shared;
    match find(session, &call.call.name) {
        Err(error) => explanation.error = Some(error),
        Ok(placed) => {
            let limits = within_whole(&shared.terms(), effective(&placed.tool, &call), Duration::ZERO);
            match canonical(&placed.tool, &limits, call.call.arguments.clone()) {
                Err(error) => explanation.error = Some(error),
                Ok((arguments, repaired)) => {
                    explanation.decision = Some(decision(&placed, &arguments));
                    explanation.arguments = Some(readable(&placed.tool, &arguments));
                    explanation.repaired = repaired;
                }
            }
            if let (Some(redactor), Some(error)) = (placed.tool.redactor(), &mut explanation.error) {
                redactor.error(error);
            }
            explanation.hooks = placed.hooks.named();
            explanation.limits = Some(limits);
            explanation.tool = Some(Arc::clone(&placed.tool));
        }
    }
    explanation
}

/// What the rules say about arguments that no hook has seen. Blocks on the file system where a rule is about paths.
fn decision(placed: &Placed, arguments: &Value) -> Decision {
    match placed.tool.dirs() {
        Some(dirs) => placed.rules.decide(arguments, arguments, dirs.as_ref()),
        None => placed.rules.decide(arguments, arguments, &NoPaths),
    }
}

/// Step 2.
pub(super) fn find(session: &Session, name: &str) -> Result<Arc<Placed>, CallError> {
    if name.is_empty() {
        return Err(CallError::new(ErrorKind::UnknownTool, "the call names no tool")
            .help("`toolcell list` shows the tools that there are"));
    }
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
    let placed = placed.map_err(|error| {
        CallError::new(ErrorKind::Internal, "the tool's grants cannot be narrowed as its session wants")
            .help(error.to_string())
    })?;
    if let Some(off) = placed.tool.off() {
        let message = format!("the tool `{name}` is off: its server is not trusted with it as it is now");
        return Err(CallError::new(ErrorKind::ToolInactive, message).help(format!(
            "{off}; look at it with `toolcell describe {name}`, then run `toolcell approvals allow` with that name"
        )));
    }
    if !session.is_active(&placed.tool) {
        let group = placed.tool.group().unwrap_or_default();
        let by_itself = if session.has_group_switch() {
            format!("; call `{ACTIVATE_GROUP}` with `{group}`, then repeat the call")
        } else {
            String::new()
        };
        let message = format!("the tool `{name}` is switched off, with its group `{group}`{by_itself}");
        return Err(CallError::new(ErrorKind::ToolInactive, message)
            .help(format!("switch the group `{group}` on for this session, or for all")));
    }
    Ok(placed)
}

/// The call as hooks see it. Of two entries of metadata with one key the first wins: the caller's, then that of a hook,
/// then the session's.
fn hook_call(
    shared: &Arc<Shared>,
    call: &Call,
    tool: &Arc<Tool>,
    arguments: Value,
    limits: &Arc<EffectiveLimits>,
    whole: &Whole<'_>,
) -> HookCall {
    let identity = &call.session.state.identity;
    HookCall {
        id: call.call.id.clone(),
        tool: Arc::clone(tool),
        arguments,
        meta: meta(call),
        meta_of_caller: call.call.meta.len(),
        session: call.session.state.name().map(str::to_owned),
        user: identity.user.clone(),
        settings: settings(call, tool, limits, whole),
        deadline: whole.deadline,
        host: HostHandle::new(Arc::clone(shared)),
        clock: Arc::default(),
    }
}

fn settings(call: &Call, tool: &Tool, limits: &Arc<EffectiveLimits>, whole: &Whole<'_>) -> Settings {
    Settings {
        limits: Arc::clone(limits),
        output: whole.terms.output,
        deterministic: call.deterministic.or(tool.deterministic()),
    }
}

fn meta(call: &Call) -> Vec<(String, String)> {
    call.call.meta.iter().chain(&call.session.state.meta).cloned().collect()
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
pub(super) fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// A name that somebody else wrote, short enough for a message.
fn excerpt(name: &str) -> &str {
    name.get(..name.floor_char_boundary(64)).unwrap_or_default()
}
