//! Whether what somebody was asked about is still what there is once the answer has come.

use std::sync::Arc;

use serde_json::Value;

use super::decide::{Reason, by_rules, ruled};
use super::passage::Passage;
use super::path::find;
use super::whole::Whole;
use super::{Call, Shared};
use crate::call::{CallError, ErrorKind};
use crate::registry::Placed;
use crate::tool::Tool;

impl Passage {
    /// The tool as it is by now, where it was placed anew while the question waited: a reload is of calls that have not begun.
    /// `None` where it was not.
    ///
    /// # Errors
    /// When it is another to whoever was asked, or the rules deny the call by now.
    pub(super) async fn still(
        &mut self,
        shared: &Shared,
        call: &Call,
        whole: &Whole<'_>,
        placed: &Arc<Placed>,
        (original, last): (&Value, &Value),
        asked: &[Reason],
    ) -> Result<Option<Arc<Placed>>, CallError> {
        let now = find(&call.session, &call.call.name)?;
        if Arc::ptr_eq(&now, placed) {
            return Ok(None);
        }
        if !is_same(&now.tool, &placed.tool) || !now.hooks.are(&placed.hooks) {
            return Err(changed());
        }
        let decision = by_rules(shared, whole, &now, original, last).await?;
        let mut verdicts = Vec::new();
        match ruled(&decision, &whole.terms.default_origin, &mut verdicts) {
            // Whoever said yes was asked about nothing else.
            Ok(reasons) if reasons.iter().all(|new| asked.iter().any(|known| known.text == new.text)) => {
                Ok(Some(now))
            }
            Ok(_) => Err(changed()),
            Err(error) => {
                self.verdicts.append(&mut verdicts);
                Err(error)
            }
        }
    }
}

/// Whether a call runs the same code with the same reach: of a component what an approval is bound to, of another server's
/// tool also who is called, by which way and with which secrets, and of a native one the function itself.
fn is_same(one: &Arc<Tool>, other: &Arc<Tool>) -> bool {
    let of =
        |tool: &Tool| (tool.origin().to_owned(), tool.component().to_owned(), tool.digest(), tool.grant());
    let runs_same = match (one.remote(), other.remote()) {
        (Some(one), Some(other)) => Arc::ptr_eq(&one.server, &other.server),
        (None, None) => one.entry().is_some() || Arc::ptr_eq(one, other),
        _ => false,
    };
    runs_same && of(one) == of(other)
}

fn changed() -> CallError {
    let message = "the tool, what it may reach or what checks its calls has changed while the question waited; repeat the call";
    CallError::new(ErrorKind::ApprovalNeeded, message)
        .help("an approval is of a tool as it is; what is new is asked about anew")
}
