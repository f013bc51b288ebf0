//! Steps 5 and 6: what hooks, rules and people say about a call before it runs.

use serde_json::Value;

use super::path::canonical;
use crate::call::{Action, Arguments, CallError, ErrorKind, Outcome, Step, Verdict};
use crate::hook::{Failure, HookCall, HookEntry, Objection, guarded};
use crate::limits::EffectiveLimits;

/// A wish of a hook or a rule that somebody is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reason {
    pub source: String,
    pub text: String,
}

/// Step 5: the hooks before the call, in order. A rewrite is canonicalised and validated again.
pub(super) async fn pre_hooks(
    hooks: &[std::sync::Arc<HookEntry>],
    call: &mut HookCall,
    limits: &EffectiveLimits,
    timers: &tokio::runtime::Handle,
    outcome: &mut Outcome,
    verdicts: &mut Vec<Verdict>,
) -> Result<Vec<Reason>, CallError> {
    let mut asks = Vec::new();
    let mut own_meta = call.meta_of_caller;
    for entry in hooks {
        let name = entry.hook.name();
        let note = |action| Verdict::new(Step::PreHook, name, action);
        let decision = match guarded(entry.hook.pre(call), Some(entry.timeout), timers).await {
            Ok(decision) => decision,
            Err(failure) => {
                verdicts.push(note(Action::Failed).reason(Some(failure.to_string())));
                return Err(failed(name, &failure));
            }
        };
        for (key, value) in decision.meta {
            verdicts.push(note(Action::Metadata).reason(Some(key.clone())));
            call.meta.insert(own_meta, (key, value));
            own_meta += 1;
        }
        if let Some(arguments) = decision.rewrite {
            call.arguments = rewritten(call, limits, arguments, outcome).map_err(|error| {
                verdicts.push(note(Action::Failed).reason(Some(error.message.clone())));
                refused_rewrite(name, &error)
            })?;
            verdicts.push(note(Action::Rewrite));
        }
        match decision.objection {
            None => {}
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

/// Steps 3 and 4 once more.
fn rewritten(
    call: &HookCall,
    limits: &EffectiveLimits,
    arguments: Value,
    outcome: &mut Outcome,
) -> Result<Value, CallError> {
    let (arguments, mut repaired) = canonical(&call.tool, limits, Arguments::Value(arguments))?;
    outcome.repaired.append(&mut repaired);
    Ok(arguments)
}

fn failed(name: &str, failure: &Failure) -> CallError {
    CallError::new(ErrorKind::HookFailed, "the call was refused, since a check before it failed")
        .help(format!("hook `{name}`: {failure}"))
}

fn refused_rewrite(name: &str, error: &CallError) -> CallError {
    CallError::new(ErrorKind::HookFailed, "the call was refused, since a check before it made it invalid")
        .help(format!("hook `{name}` changed the arguments: {}", error.message))
}
