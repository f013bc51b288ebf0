//! Step 10: what hooks make of an answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::Instrument;

use super::answer::{Answering, ended as answered, replace};
use super::whole::Whole;
use crate::call::{Action, CallError, Ended, ErrorKind, Outcome, Step, Verdict, Warning};
use crate::hook::{Failure, HookCall, HookEntry, Post, Time, guarded};
use crate::telemetry;

/// What a hook after the call gets though the time of the call is over: it still has to see how that ended.
const LEAST_TIME: Duration = Duration::from_secs(1);

/// The hooks after the call, the last registered first. None is skipped: one outside of a hook that withholds the result
/// sees that it was withheld.
pub(super) async fn post_hooks(
    hooks: &[Arc<HookEntry>],
    call: &HookCall,
    answering: &Answering<'_>,
    mut ended: Ended,
    whole: &Whole<'_>,
    outcome: &mut Outcome,
    verdicts: &mut Vec<Verdict>,
) -> Ended {
    let mut response = answering.response(&call.tool, &ended);
    let mut is_changed = false;
    for entry in hooks.iter().rev() {
        let name = entry.name();
        let note = |action| Verdict::new(Step::PostHook, name, action);
        let span = telemetry::hook(name, "post");
        let end = Instant::now() + whole.left().max(LEAST_TIME);
        let time = Time { own: Some(entry.timeout), end, clock: &call.clock };
        let deciding = guarded(entry.hook.post(call, &response), time, whole.timers());
        let decision = tokio::select! {
            biased;
            decision = deciding.instrument(span.clone()) => decision,
            () = whole.cancelled() => Err(Failure::Error("the call was cancelled meanwhile".to_owned())),
        };
        telemetry::decided(&span, action_of(&decision));
        let decision = decision.and_then(|decision| match decision {
            Post::Replace(replacement) => {
                let logs = entry.redacts.then(|| replacement.logs.clone());
                replace(&call.tool, &mut response, *replacement)
                    .map_err(|unfit| Failure::Error(unfit.to_string()))?;
                if let Some(logs) = logs {
                    response.logs = logs;
                }
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
                    withhold(&mut ended, CallError::new(ErrorKind::Denied, message).help(help));
                    (response, is_changed) = (answering.response(&call.tool, &ended), false);
                }
            }
            Err(failure) => {
                verdicts.push(note(Action::Failed).reason(Some(failure.to_string())));
                outcome.warnings.push(Warning::new(ErrorKind::HookFailed, name, failure.to_string()));
                if entry.redacts {
                    let message = "the tool ran, and its result is withheld, since a check of it failed";
                    let help = format!("hook `{name}`: {failure}");
                    withhold(&mut ended, CallError::new(ErrorKind::HookFailed, message).help(help));
                    (response, is_changed) = (answering.response(&call.tool, &ended), false);
                }
            }
        }
    }
    if is_changed { answered(ended, response) } else { ended }
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

/// Takes everything that the tool said out of the end. The hooks outside of the one that wants it see this end.
fn withhold(end: &mut Ended, error: CallError) {
    end.chunks = Vec::new();
    end.logs = Vec::new();
    end.end = Err(error);
}
