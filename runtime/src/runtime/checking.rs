//! Values against the schemas of tools: what takes no time here, everything else on a thread that may take it, while the
//! call that waits has its deadline.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::Semaphore;

use super::whole::Whole;
use crate::call::{Arguments, CallError, Ended, ErrorKind, Repair, Returned, Violation};
use crate::limits::{EffectiveLimits, Limit, advice};
use crate::schema::{self, ParseError, Repairs, Signature};
use crate::tool::{ArgumentSchema, Body, Entry, Tool};

/// Long checks at a time: one goes on for a moment when its call is over.
static LONG_CHECKS: Semaphore = Semaphore::const_new(4);

/// Steps 1, 3 and 4 within the call's time: the arguments as every later step sees them.
pub(super) async fn canonical_in_time(
    whole: &Whole<'_>,
    tool: &Arc<Tool>,
    limits: &EffectiveLimits,
    arguments: Arguments,
) -> Result<(Value, Vec<Repair>), CallError> {
    let (value, decoded) = parsed(tool, limits, arguments)?;
    if tool.takes_quickly(&value) {
        return checked(tool, value, decoded);
    }
    let tool = Arc::clone(tool);
    Box::pin(aside(whole, move || checked(&tool, value, decoded))).await?
}

/// The same for who waits for as long as it takes.
pub(super) fn canonical(
    tool: &Tool,
    limits: &EffectiveLimits,
    arguments: Arguments,
) -> Result<(Value, Vec<Repair>), CallError> {
    let (value, decoded) = parsed(tool, limits, arguments)?;
    checked(tool, value, decoded)
}

/// The end of a tool that says itself what its data is like, unless the data is not: whoever reads it relies on that.
pub(super) async fn as_announced(whole: &Whole<'_>, tool: &Arc<Tool>, mut ended: Ended) -> Ended {
    let Ok(Returned::Output { structured, .. }) = &ended.end else { return ended };
    let misfit = match structured {
        Some(structured) if tool.gives_quickly(structured) => Ok(tool.misfit(structured)),
        Some(structured) => {
            let (tool, structured) = (Arc::clone(tool), structured.clone());
            Box::pin(aside(whole, move || tool.misfit(&structured))).await
        }
        None => Ok(tool.output_schema().map(|_| "there is none".to_owned())),
    };
    match misfit {
        Ok(None) => {}
        Ok(Some(misfit)) => {
            let message = "the tool's data is not what its output schema announces";
            ended.end = Err(CallError::new(ErrorKind::Trapped, format!("{message}: {misfit}")));
        }
        Err(mut error) => {
            if error.kind == ErrorKind::Timeout {
                error.message =
                    "the tool's data was not checked against its output schema within the call's time"
                        .to_owned();
            }
            ended.end = Err(error);
        }
    }
    ended
}

/// Work of a thread that may take long; once the call is over nobody waits for it.
async fn aside<T: Send + 'static>(
    whole: &Whole<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CallError> {
    let lost = || CallError::new(ErrorKind::Internal, "the check of a value was lost");
    let working = async {
        let place = LONG_CHECKS.acquire().await.map_err(|_| lost())?;
        let working = whole.timers().spawn_blocking(move || {
            let _place = place;
            work()
        });
        working.await.map_err(|_| lost())
    };
    whole.within_anywhere(working).await
}

fn parsed(
    tool: &Tool,
    limits: &EffectiveLimits,
    arguments: Arguments,
) -> Result<(Value, Option<Repair>), CallError> {
    let bounds =
        schema::Bounds { bytes: limits.get_usize(Limit::ArgumentBytes), ..schema::Bounds::default() };
    let mode = tool.owner.repair;
    let parsed = match arguments {
        Arguments::Text(text) => schema::parse_arguments(&text, bounds, mode),
        Arguments::Value(value) => schema::accept_arguments(value, bounds, mode),
    };
    parsed.map_err(|error| unreadable(&error, limits))
}

fn checked(tool: &Tool, value: Value, decoded: Option<Repair>) -> Result<(Value, Vec<Repair>), CallError> {
    let (value, mut repaired) = match &tool.body {
        Body::Component { entry, .. } => match &**entry {
            Entry::Typed { signature, .. } => typed(tool, signature, value)?,
            Entry::Command => (value, Vec::new()),
            Entry::Provided { arguments, .. } => described(tool, arguments, value)?,
        },
        Body::Native(native) => described(tool, &native.arguments, value)?,
        Body::Remote(remote) => described(tool, &remote.arguments, value)?,
    };
    repaired.splice(0..0, decoded);
    Ok((value, repaired))
}

fn typed(tool: &Tool, signature: &Signature, value: Value) -> Result<(Value, Vec<Repair>), CallError> {
    let (value, repaired) = schema::canonicalise(signature, value, tool.owner.repair);
    let redactor = tool.redactor().map(|redactor| &**redactor);
    let violations = schema::validate_redacted(signature, &value, redactor);
    if violations.is_empty() { Ok((value, repaired)) } else { Err(invalid(tool, violations)) }
}

/// Where a schema is all that there is to go by, the check comes first: it bounds what writing takes.
fn described(
    tool: &Tool,
    schema: &ArgumentSchema,
    mut value: Value,
) -> Result<(Value, Vec<Repair>), CallError> {
    let mut repairs = Repairs::default();
    let violations = schema.violations(&value);
    if !violations.is_empty() {
        match schema.with_decoded_texts(&value, tool.owner.repair, &mut repairs) {
            Some(decoded) => value = decoded,
            None => return Err(invalid(tool, violations)),
        }
    }
    schema.write_integers(&mut value, &mut repairs);
    Ok((value, repairs.into_vec()))
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

fn invalid(tool: &Tool, mut violations: Vec<Violation>) -> CallError {
    if let Some(redactor) = tool.redactor() {
        // Before they are put into one text, where what belongs together is not known any more.
        violations.iter_mut().for_each(|violation| redactor.violation(violation));
    }
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
