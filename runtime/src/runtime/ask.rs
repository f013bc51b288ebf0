//! The question about a call: what was approved before, who can be asked, and what becomes of it if nobody can.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use serde_json::{Value, json};

use super::decide::Reason;
use super::hidden::readable;
use super::turns::Turn;
use super::whole::Whole;
use super::{Call, Shared};
use crate::call::{Action, CallError, ErrorKind, Outcome, Step, Verdict, Warning};
use crate::error::Result;
use crate::policy::{Answer, Approvals, Binding, Bound, Question, RuleSource, Scope};
use crate::sandbox::catch_unwind;
use crate::tool::Tool;

/// A call about which somebody has to be asked.
pub(super) struct Asking<'a> {
    pub shared: &'a Shared,
    pub call: &'a Call,
    pub whole: &'a Whole<'a>,
    pub tool: &'a Tool,
    /// The arguments with which it will run.
    pub arguments: &'a Value,
    /// Every wish to ask, that of hooks and of rules.
    pub reasons: &'a [Reason],
    /// The rules among them, if nobody but rules asks.
    pub rules: &'a [Arc<RuleSource>],
}

impl Asking<'_> {
    /// Allows the call, or says why not.
    pub async fn decide(
        &self,
        outcome: &mut Outcome,
        verdicts: &mut Vec<Verdict>,
    ) -> std::result::Result<(), CallError> {
        let grant = self.tool.grant();
        let digest = self.tool.digest();
        let bound = Bound {
            tool: self.tool.name(),
            origin: self.tool.origin(),
            component: self.tool.component(),
            digest: &digest,
            grant: &grant,
        };
        let everybodys = Binding::new(&bound, self.arguments).by_rule(self.rules);
        let callers = everybodys.clone().of_user(self.call.session.state.identity.user.as_deref());
        if self.was_given(&callers, outcome, verdicts).await? {
            return Ok(());
        }
        let question = self.question(&digest);
        match self.shared.approver.as_ref().filter(|approver| approver.is_there()) {
            None => Err(self.pend(question, everybodys, verdicts).await),
            Some(approver) => {
                if let Some(turn) = self.call.turn.as_ref().filter(|_| approver.is_asked_in_order()) {
                    let before = async {
                        turn.comes().await;
                        Ok(())
                    };
                    self.whole.within_anywhere(before).await?;
                    // The answer to a question before this one may have been for this call too.
                    if self.was_given(&callers, outcome, verdicts).await? {
                        return Ok(());
                    }
                }
                let asked = catch_unwind(AssertUnwindSafe(approver.ask(&question)));
                let answered = async { Ok(asked.await.unwrap_or(Answer::Deny(None))) };
                let answer = self.whole.within_anywhere(answered).await?;
                if answer == Answer::Nobody {
                    return Err(self.pend(question, everybodys, verdicts).await);
                }
                let binding = if approver.is_caller() { callers } else { everybodys };
                self.answered(approver.name(), answer, question, binding, outcome, verdicts).await
            }
        }
    }

    /// Whether the call was approved before.
    async fn was_given(
        &self,
        binding: &Binding,
        outcome: &mut Outcome,
        verdicts: &mut Vec<Verdict>,
    ) -> std::result::Result<bool, CallError> {
        let (binding, session) = (binding.clone(), self.call.session.state.name().map(str::to_owned));
        match self.stored(move |approvals| approvals.given(&binding, session.as_deref())).await? {
            Ok(Some(given)) => {
                let which = format!("{}, given as {}", given.scope.words(), given.id);
                verdicts.push(Verdict::new(Step::Approval, "store", Action::Allow).reason(Some(which)));
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(error) => {
                outcome.warnings.push(unkept(&error));
                Ok(false)
            }
        }
    }

    async fn answered(
        &self,
        by: &str,
        answer: Answer,
        question: Question,
        binding: Binding,
        outcome: &mut Outcome,
        verdicts: &mut Vec<Verdict>,
    ) -> std::result::Result<(), CallError> {
        let verdict = |action| Verdict::new(Step::Approval, by, action);
        let scope = match &answer {
            Answer::Deny(reason) => {
                verdicts.push(verdict(Action::Deny).reason(reason.clone()));
                return Err(refused(reason.as_deref()));
            }
            Answer::Nobody => return Err(refused(None)),
            Answer::AlwaysByRule if question.by_rule.is_none() => {
                verdicts.push(verdict(Action::Deny));
                return Err(refused(None));
            }
            Answer::Once => Scope::Once,
            Answer::Session => Scope::Session,
            Answer::Always => Scope::Always,
            Answer::AlwaysByRule => Scope::ByRule,
        };
        verdicts.push(verdict(Action::Allow).reason(Some(scope.words().to_owned())));
        if answer != Answer::Once {
            let kept = self.stored(move |approvals| approvals.remember(&question, &binding, &answer)).await?;
            if let Err(error) = kept {
                outcome.warnings.push(unkept(&error));
            }
        }
        Ok(())
    }

    /// Nobody can be asked now: the question waits for its operator.
    async fn pend(&self, question: Question, binding: Binding, verdicts: &mut Vec<Verdict>) -> CallError {
        let reasons: Vec<String> = question.reasons.iter().map(|reason| reason.text.clone()).collect();
        let why = reasons.join("; ");
        let pending = self.stored(move |approvals| approvals.pend(&question, &binding)).await;
        let (message, help, id) = match pending.and_then(|pending| pending.map_err(|error| unpended(&error)))
        {
            Ok(id) => (
                format!(
                    "this call needs its operator's approval, which is asked for as `{id}` ({why}); repeat it unchanged once it is given"
                ),
                format!("`toolcell approvals allow {id}` allows it once"),
                Some(id),
            ),
            Err(error) => (
                format!(
                    "this call needs its operator's approval ({why}), and the question could not be kept for them: go on without \
                     it, or repeat it once they have answered what they were asked before"
                ),
                error.help.unwrap_or(error.message),
                None,
            ),
        };
        verdicts.push(Verdict::new(Step::Approval, "nobody to ask", Action::Deny).reason(id.clone()));
        let mut error = CallError::new(ErrorKind::ApprovalNeeded, message).help(help);
        error.details = id.map(|id| json!({ "approval": id }));
        error
    }

    fn question(&self, digest: &str) -> Question {
        let shown = readable(self.tool, self.arguments);
        let mut question =
            Question::new(self.tool.name(), self.tool.component(), digest, shown).call(&self.call.call.id);
        for reason in self.reasons {
            let text = match self.tool.redactor() {
                Some(redactor) => redactor.excerpts_in(&reason.text),
                None => Cow::Borrowed(reason.text.as_str()),
            };
            question = question.reason(&reason.source, &text);
        }
        let words: Vec<&str> = self.rules.iter().map(|rule| rule.words.as_str()).collect();
        if !words.is_empty() {
            let (tool, component) = (self.tool.name(), self.tool.component());
            question = question.by_rule(&format!(
                "every call of `{tool}` of component `{component}`, as it is now, that its rule asks about ({})",
                words.join("; and ")
            ));
        }
        if let Some((nth, calls)) = self.call.turn.as_ref().map(Turn::place) {
            question = question.of_batch(nth, calls);
        }
        match self.call.session.state.name() {
            Some(session) => question.session(session),
            None => question,
        }
    }

    /// Does something with the store, on a thread that may wait for the file.
    async fn stored<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Approvals) -> Result<T> + Send + 'static,
    ) -> std::result::Result<Result<T>, CallError> {
        let approvals = self.shared.approvals.clone();
        let running = self.shared.sandbox.handle().spawn_blocking(move || work(&approvals));
        let done = async {
            running.await.map_err(|_| CallError::new(ErrorKind::Internal, "the store of approvals failed"))
        };
        self.whole.within_anywhere(done).await
    }
}

fn refused(reason: Option<&str>) -> CallError {
    let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    CallError::new(ErrorKind::Denied, format!("the call was refused by whoever was asked{why}"))
        .help("ask again, or change the rule that asks")
}

fn unkept(error: &crate::error::Error) -> Warning {
    Warning::new(ErrorKind::ApprovalNeeded, "approvals", error.to_string())
}

fn unpended(error: &crate::error::Error) -> CallError {
    CallError::new(ErrorKind::ApprovalNeeded, "the question could not be kept").help(error.to_string())
}
