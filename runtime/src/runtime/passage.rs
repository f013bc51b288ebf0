//! What is known of a call on its way, and the line that it leaves in the audit, whatever becomes of it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use serde_json::Value;

use super::session::SessionState;
use super::{Call, Shared};
use crate::audit::{Facts, Record, Redact};
use crate::call::{CallError, ErrorKind, Outcome, Verdict};
use crate::error::Result;
use crate::output::Redactor;
use crate::registry::Placed;
use crate::schema::without_secrets;
use crate::telemetry;
use crate::tool::Tool;

/// What is known of a call on its way. One that its caller drops is recorded as cancelled.
pub(super) struct Passage {
    pub outcome: Outcome,
    pub verdicts: Vec<Verdict>,
    pub placed: Option<Arc<Placed>>,
    /// The canonical arguments without secrets, where a record needs them.
    arguments: Option<Value>,
    /// Those that the call came with, if hooks made others of them.
    original: Option<Value>,
    shared: Arc<Shared>,
    session: Arc<SessionState>,
    began: SystemTime,
    started: Instant,
    is_recorded: bool,
}

impl Passage {
    pub fn of(call: &Call, began: SystemTime, started: Instant) -> Self {
        Self {
            outcome: Outcome::begin(&call.call),
            verdicts: Vec::new(),
            placed: None,
            arguments: None,
            original: None,
            shared: Arc::clone(&call.session.runtime.shared),
            session: Arc::clone(&call.session.state),
            began,
            started,
            is_recorded: false,
        }
    }

    /// Whether what happens is worth noting: somebody keeps a record.
    pub fn keeps_record(&self) -> bool {
        self.shared.audit.is_some()
    }

    /// Keeps the arguments for the record; where others were kept, those as the original ones.
    pub fn keep_arguments(&mut self, tool: &Tool, arguments: &Value) {
        if !self.keeps_record() {
            return;
        }
        let kept = match tool.signature() {
            Some(signature) => without_secrets(signature, arguments),
            None => arguments.clone(),
        };
        match self.arguments.replace(kept) {
            Some(before) if self.arguments.as_ref() != Some(&before) => {
                self.original.get_or_insert(before);
            }
            _ => {}
        }
    }

    /// No call runs that could not be recorded.
    ///
    /// # Errors
    /// When it could not: then it is no line either.
    pub fn ready(&mut self) -> std::result::Result<(), CallError> {
        let Some(audit) = &self.shared.audit else { return Ok(()) };
        audit.ready().map_err(|error| {
            self.is_recorded = true;
            telemetry::audit_failed(&error);
            unmade(&error)
        })
    }

    /// Records the call as it has ended.
    ///
    /// # Errors
    /// When it cannot be recorded: then its result must not go out.
    pub fn record(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_recorded, true) {
            return Ok(());
        }
        let Some(audit) = &self.shared.audit else { return Ok(()) };
        let redactor = self.placed.as_ref().and_then(|placed| placed.tool.redactor());
        let redact = redactor.map(|redactor| redacting(redactor));
        audit.write(&Record {
            outcome: &self.outcome,
            tool: self.placed.as_ref().map(|placed| facts(&placed.tool)),
            arguments: self.arguments.as_ref(),
            original: self.original.as_ref(),
            session: self.session.name(),
            principal: self.session.identity.user.as_deref(),
            decisions: &self.verdicts,
            started: self.began,
            redact: redact.as_ref().map(|redact| -> Redact<'_> { redact }),
        })
    }

    /// The outcome, once it is recorded.
    pub fn finish(mut self) -> Outcome {
        self.is_recorded = true;
        std::mem::replace(&mut self.outcome, Outcome::blank())
    }
}

impl Drop for Passage {
    fn drop(&mut self) {
        if self.is_recorded || !self.keeps_record() {
            return;
        }
        let error = CallError::new(ErrorKind::Cancelled, "the call was dropped before it ended");
        self.outcome.status = error.kind.status();
        self.outcome.error = Some(error);
        self.outcome.usage.duration_ms = super::path::milliseconds(self.started.elapsed());
        if let Err(error) = self.record() {
            telemetry::audit_failed(&error);
        }
    }
}

/// Nothing ran: the audit was not ready for it.
fn unmade(error: &crate::error::Error) -> CallError {
    unrecorded("the call was not made, since it cannot be recorded", error)
}

/// It ended, and its line could not be written: nobody gets what nobody could account for.
pub(super) fn unanswered(error: &crate::error::Error) -> CallError {
    let message = "the call may have run, and its result is not given out, since the call cannot be recorded; \
                   do not repeat it before its operator has looked";
    unrecorded(message, error)
}

fn unrecorded(message: &str, error: &crate::error::Error) -> CallError {
    CallError::new(ErrorKind::Internal, message).help(format!(
        "{error}; no call is answered until the place of `[audit]` can be written: make room or mend it, start \
         toolcell again, then repeat the call"
    ))
}

fn redacting(redactor: &Redactor) -> impl for<'t> Fn(&'t str) -> Cow<'t, str> + Sync {
    // What hooks and errors say may have been shortened before.
    move |text| redactor.excerpts_in(text)
}

fn facts(tool: &Tool) -> Facts<'_> {
    Facts { component: tool.component(), digest: Some(tool.owner.digest), origin: tool.origin() }
}
