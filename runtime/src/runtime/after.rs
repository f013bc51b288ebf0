//! Step 10: what hooks make of an answer.

use std::sync::Arc;

use tracing::Instrument;

use super::answer::{Answering, ended, replace};
use crate::call::{Action, CallError, Ended, ErrorKind, Outcome, Step, Verdict, Warning};
use crate::hook::{Failure, HookCall, HookEntry, Post, guarded};
use crate::telemetry;

/// The hooks after the call, the last registered first.
pub(super) async fn post_hooks(
    hooks: &[Arc<HookEntry>],
    call: &HookCall,
    answering: &Answering<'_>,
    end: Ended,
    timers: &tokio::runtime::Handle,
    outcome: &mut Outcome,
    verdicts: &mut Vec<Verdict>,
) -> Ended {
    let mut response = answering.response(&call.tool, &end);
    let mut is_changed = false;
    for entry in hooks.iter().rev() {
        let name = entry.name();
        let note = |action| Verdict::new(Step::PostHook, name, action);
        let span = telemetry::hook(name, "post");
        let deciding = guarded(entry.hook.post(call, &response), Some(entry.timeout), timers);
        let decision = deciding.instrument(span.clone()).await;
        telemetry::decided(&span, action_of(&decision));
        let decision = decision.and_then(|decision| match decision {
            Post::Replace(replacement) => {
                replace(&call.tool, &mut response, *replacement)
                    .map_err(|unfit| Failure::Error(unfit.to_string()))?;
                Ok((true, Some(note(Action::Rewrite)), None))
            }
            Post::Accept => Ok((false, None, None)),
            Post::Enrich(mut content) => {
                response.content.append(&mut content);
                Ok((true, Some(note(Action::Enrich)), None))
            }
            Post::Withhold(reason) => {
                let verdict = note(Action::Withhold).reason(Some(reason.clone()));
                Ok((true, Some(verdict), Some(reason)))
            }
        });
        match decision {
            Ok((changes, verdict, withheld)) => {
                is_changed |= changes;
                verdicts.extend(verdict);
                if let Some(reason) = withheld {
                    let message = format!("the tool ran, and its result is withheld: {reason}");
                    let help = format!("hook `{name}` withheld it");
                    return withhold(end, CallError::new(ErrorKind::Denied, message).help(help));
                }
            }
            Err(failure) => {
                verdicts.push(note(Action::Failed).reason(Some(failure.to_string())));
                outcome.warnings.push(Warning::new(ErrorKind::HookFailed, name, failure.to_string()));
                if entry.redacts {
                    let message = "the tool ran, and its result is withheld, since a check of it failed";
                    let help = format!("hook `{name}`: {failure}");
                    return withhold(end, CallError::new(ErrorKind::HookFailed, message).help(help));
                }
            }
        }
    }
    if is_changed { ended(end, response) } else { end }
}

fn action_of(decision: &Result<Post, Failure>) -> &'static str {
    match decision {
        Ok(Post::Accept) => "allow",
        Ok(Post::Replace(_)) => "rewrite",
        Ok(Post::Enrich(_)) => "enrich",
        Ok(Post::Withhold(_)) => "withhold",
        Err(_) => "failed",
    }
}

/// The end without anything that the tool said.
fn withhold(mut end: Ended, error: CallError) -> Ended {
    end.chunks = Vec::new();
    end.logs = Vec::new();
    end.end = Err(error);
    end
}
