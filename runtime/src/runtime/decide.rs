//! Steps 5 and 6: what hooks, rules and people say about a call before it runs.

use std::sync::Arc;

use serde_json::Value;
use tracing::Instrument;

use super::Shared;
use super::checking::canonical_in_time;
use super::whole::Whole;
use crate::call::{Action, Arguments, CallError, ErrorKind, Outcome, Step, Verdict};
use crate::hook::{Failure, HookCall, HookEntry, Objection, Pre, Time, guarded, held};
use crate::limits::{EffectiveLimits, Origin};
use crate::policy::{self, Decision, NoPaths, RuleSource};
use crate::registry::Placed;
use crate::telemetry;

/// A wish of a hook or a rule that somebody is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reason {
    pub source: String,
    pub text: String,
}

/// Step 5: the hooks before the call, in order. A rewrite is canonicalised and validated again.
pub(super) async fn pre_hooks(
    hooks: &[Arc<HookEntry>],
    call: &mut HookCall,
    limits: &EffectiveLimits,
    whole: &Whole<'_>,
    outcome: &mut Outcome,
    verdicts: &mut Vec<Verdict>,
) -> Result<Vec<Reason>, CallError> {
    let clock = Arc::clone(&call.clock);
    let mut asks = Vec::new();
    let mut own_meta = call.meta_of_caller;
    for entry in hooks {
        let name = entry.name();
        let note = |action| Verdict::new(Step::PreHook, name, action);
        let span = telemetry::hook(name, "pre");
        let time = Time { own: Some(entry.timeout), end: whole.deadline, clock: &clock };
        let deciding = guarded(entry.hook.pre(call), time, whole.timers());
        let decision = match deciding.instrument(span.clone()).await {
            Ok(decision) => decision,
            Err(failure) => {
                telemetry::decided(&span, "failed");
                verdicts.push(note(Action::Failed).reason(Some(failure.to_string())));
                return Err(failed(name, &failure, whole));
            }
        };
        telemetry::decided(&span, action_of(&decision));
        for (key, value) in decision.meta {
            verdicts.push(note(Action::Metadata).reason(Some(key.clone())));
            call.meta.insert(own_meta, (key, value));
            own_meta += 1;
        }
        if let Some(arguments) = decision.rewrite {
            call.arguments = rewritten(whole, call, limits, arguments, outcome).await.map_err(|error| {
                verdicts.push(note(Action::Failed).reason(Some(error.message.clone())));
                refused_rewrite(name, &error)
            })?;
            verdicts.push(note(Action::Rewrite));
        }
        match decision.objection {
            None => verdicts.push(note(Action::Allow)),
            Some(Objection::Ask(reason)) => {
                verdicts.push(note(Action::Ask).reason(Some(reason.clone())));
                asks.push(Reason { source: format!("hook `{name}`"), text: reason });
            }
            Some(Objection::Deny(reason)) => {
                verdicts.push(note(Action::Deny).reason(Some(reason.clone())));
                return Err(CallError::new(ErrorKind::Denied, format!("the call was refused: {reason}"))
                    .help(format!("hook `{name}` refused it")));
            }
        }
    }
    Ok(asks)
}

fn action_of(decision: &Pre) -> &'static str {
    match (&decision.objection, &decision.rewrite) {
        (Some(Objection::Deny(_)), _) => "deny",
        (Some(Objection::Ask(_)), _) => "ask",
        (None, Some(_)) => "rewrite",
        (None, None) => "allow",
    }
}

/// Steps 3 and 4 once more.
async fn rewritten(
    whole: &Whole<'_>,
    call: &HookCall,
    limits: &EffectiveLimits,
    arguments: Value,
    outcome: &mut Outcome,
) -> Result<Value, CallError> {
    let (arguments, mut repaired) =
        canonical_in_time(whole, &call.tool, limits, Arguments::Value(arguments)).await?;
    outcome.repaired.append(&mut repaired);
    Ok(arguments)
}

/// The end of a call whose hook said nothing. Where the host had no room for the hook, the call may have it later.
fn failed(name: &str, failure: &Failure, whole: &Whole<'_>) -> CallError {
    match failure {
        Failure::Over => held(name, whole.over()),
        Failure::Busy(busy) => {
            let message = format!("a check before the call had to wait: {}", busy.message);
            let advice = busy.help.as_deref().unwrap_or_default();
            CallError::new(ErrorKind::Busy, message).help(format!("hook `{name}`: {advice}"))
        }
        Failure::Waited(wanted) => {
            let message = format!(
                "the host is busy: a check before the call waited for {wanted} until the time of the call was \
                 over; try again later"
            );
            CallError::new(ErrorKind::Busy, message).help(format!("hook `{name}`: {}", wanted.advice()))
        }
        failure => {
            CallError::new(ErrorKind::HookFailed, "the call was refused, since a check before it failed")
                .help(format!("hook `{name}`: {failure}"))
        }
    }
}

fn refused_rewrite(name: &str, error: &CallError) -> CallError {
    CallError::new(ErrorKind::HookFailed, "the call was refused, since a check before it made it invalid")
        .help(format!("hook `{name}` changed the arguments: {}", error.message))
}

/// Values of arguments up to which rules are held against them where the call is polled: about a tenth of a millisecond for each rule.
const MANY: usize = 1_000;

/// Step 6, as far as rules decide it. Where a path leads may take long to find out, and so may many values, so that is done
/// on a thread that may wait.
pub(super) async fn by_rules(
    shared: &Shared,
    whole: &Whole<'_>,
    placed: &Arc<Placed>,
    original: &Value,
    last: &Value,
) -> Result<Decision, CallError> {
    let dirs = placed.tool.dirs().filter(|dirs| placed.rules.needs_paths() && !dirs.is_empty());
    if dirs.is_none() && !has_more_values(original, MANY) && !has_more_values(last, MANY) {
        return Ok(placed.rules.decide(original, last, &NoPaths));
    }
    let (deciding, dirs) = (Arc::clone(placed), dirs.cloned());
    let (original, last) = (original.clone(), last.clone());
    let running = shared.sandbox.handle().spawn_blocking(move || match dirs {
        Some(dirs) => deciding.rules.decide(&original, &last, dirs.as_ref()),
        None => deciding.rules.decide(&original, &last, &NoPaths),
    });
    let done = async {
        running
            .await
            .map_err(|_| CallError::new(ErrorKind::Internal, "the rules could not be held against the call"))
    };
    whole.within_anywhere(done).await
}

/// Whether there are more values in one than `most`, itself not counted. Looks at no more than that.
fn has_more_values(value: &Value, most: usize) -> bool {
    let mut open = vec![value];
    let mut count = 0_usize;
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => {
                count = count.saturating_add(items.len());
                open.extend(items.iter().take(most).filter(|item| item.is_array() || item.is_object()));
            }
            Value::Object(members) => {
                count = count.saturating_add(members.len());
                open.extend(members.values().take(most).filter(|item| item.is_array() || item.is_object()));
            }
            _ => {}
        }
        if count > most {
            return true;
        }
    }
    false
}

/// What a decision of the rules makes of a call: an error if it is refused, else the wishes to ask.
pub(super) fn ruled(
    decision: &Decision,
    default_at: &Origin,
    verdicts: &mut Vec<Verdict>,
) -> Result<Vec<Reason>, CallError> {
    let (step, source, reason) = match &decision.deciding {
        Some(rule) => (Step::Rule, placed_rule(rule), rule.reason.clone()),
        None => (Step::Default, placed_default(default_at), None),
    };
    let verdict = |action| Verdict::new(step, source.clone(), action).reason(reason.clone());
    match decision.action {
        policy::Action::Allow => {
            verdicts.push(verdict(Action::Allow));
            Ok(Vec::new())
        }
        policy::Action::Deny => {
            verdicts.push(verdict(Action::Deny));
            let why = reason.as_deref().unwrap_or("the policy does not allow it");
            Err(CallError::new(ErrorKind::Denied, format!("the call was refused: {why}"))
                .help(format!("{source} refused it")))
        }
        policy::Action::Ask => {
            verdicts.push(verdict(Action::Ask));
            if decision.asks.is_empty() {
                let text = "the policy asks about every call that no rule allows".to_owned();
                return Ok(vec![Reason { source, text }]);
            }
            let asking = |rule: &Arc<RuleSource>| Reason {
                source: placed_rule(rule),
                text: rule.reason.clone().unwrap_or_else(|| format!("a rule asks about {}", rule.words)),
            };
            Ok(decision.asks.iter().map(asking).collect())
        }
    }
}

fn placed_rule(rule: &RuleSource) -> String {
    let at = rule.at.as_deref().map(|at| format!(" ({at})")).unwrap_or_default();
    format!("`{}`{at}", rule.setting)
}

fn placed_default(origin: &Origin) -> String {
    let at = origin.at.as_deref().map(|at| format!(" ({at})")).unwrap_or_default();
    format!("`policy.default`{at}")
}
