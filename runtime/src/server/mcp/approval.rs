//! Questions about calls, as forms that the client shows to whoever sits before it.

use std::future::Future;

use async_trait::async_trait;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::{mpsc, oneshot};

use crate::output::{Bounds, Keep, truncate_text};
use crate::policy::{Answer, Approver, Question};

/// Bytes of arguments that a form shows; of longer ones it shows both ends and says so.
const MAX_SHOWN: usize = 16 << 10;

tokio::task_local! {
    /// Who carries the questions of the call that runs here, if its client answers any.
    static CARRIER: mpsc::Sender<Asked>;
}

/// Asks the client that made the call, if it shows forms. Otherwise the question waits in the store of approvals.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClientApprover;

/// A question on its way to a client.
pub(super) struct Asked {
    pub question: Question,
    pub answered: oneshot::Sender<Answer>,
}

/// Runs `call` so that its questions go to `carrier`.
pub(super) async fn asking<F: Future>(carrier: Option<mpsc::Sender<Asked>>, call: F) -> F::Output {
    match carrier {
        Some(carrier) => CARRIER.scope(carrier, call).await,
        None => call.await,
    }
}

#[async_trait]
impl Approver for ClientApprover {
    async fn ask(&self, question: &Question) -> Answer {
        let (answered, answer) = oneshot::channel();
        let asked = Asked { question: question.clone(), answered };
        let Ok(carrier) = CARRIER.try_with(Clone::clone) else { return Answer::Nobody };
        match carrier.send(asked).await {
            Ok(()) => answer.await.unwrap_or(Answer::Deny(None)),
            Err(_) => Answer::Deny(None),
        }
    }

    fn name(&self) -> &str {
        "client"
    }

    fn is_there(&self) -> bool {
        CARRIER.try_with(|_| ()).is_ok()
    }

    fn is_caller(&self) -> bool {
        true
    }
}

/// What a client may answer: nobody grants more than belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Answers {
    /// Everything: whoever started the server on this machine is its operator.
    #[default]
    All,
    /// What is about exactly one call, for a principal that has a name: it holds for its own calls.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only HTTP has principals"))]
    Own,
    /// What ends with its session, for whoever reaches a server without tokens: it has no name that approvals could be bound to.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only HTTP has principals"))]
    Passing,
    /// What ends with its call, for whoever reaches such a server without a session of its own: its session is everybody's.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only HTTP has principals"))]
    Single,
}

impl Answers {
    /// What a principal over HTTP may answer, in a session of its own or in what it has without one.
    #[cfg(feature = "http")]
    pub fn of_principal(name: Option<&str>, has_session: bool) -> Self {
        match (name, has_session) {
            (Some(_), _) => Self::Own,
            (None, true) => Self::Passing,
            (None, false) => Self::Single,
        }
    }
}

/// A question as a form.
pub(super) struct Form {
    message: String,
    /// The answers that it offers; every other is a no.
    answers: Vec<&'static str>,
    /// The digest of the question, with all of its arguments.
    digest: [u8; 32],
}

impl Form {
    /// The name of the one question among those that a client may be asked at once.
    pub const KEY: &str = "approval";

    pub fn new(question: &Question, answers: Answers) -> Self {
        let Question { tool, component, digest, arguments, by_rule, .. } = question;
        let mut message = format!("May {tool} run? It is of component {component}, {digest}\n");
        for reason in &question.reasons {
            message.push_str(&format!("since {} ({})\n", reason.text, reason.source));
        }
        let written = question.shown(true);
        let bounds = Bounds::default().max_bytes(MAX_SHOWN).max_lines(usize::MAX);
        let shown = truncate_text(&written, &bounds, Keep::Ends, "NOT SHOWN");
        message.push_str(&format!("with {}\n", shown.text));
        let by_rule = by_rule.as_ref().filter(|_| answers == Answers::All);
        if let Some(words) = by_rule {
            message.push_str(&format!("`rule` means always by this rule: {words}\n"));
        }
        let digest =
            Sha256::new().chain_update(&message).chain_update(b"\n").chain_update(arguments.to_string());
        let mut offered = vec!["no", "once"];
        offered.extend((answers != Answers::Single).then_some("session"));
        offered.extend(matches!(answers, Answers::All | Answers::Own).then_some("always"));
        offered.extend(by_rule.map(|_| "rule"));
        Self { message, answers: offered, digest: digest.finalize().into() }
    }

    /// What tells this question from all others.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    pub fn params(&self) -> Value {
        let meaning = |answer: &&'static str| match *answer {
            "session" => Some("exactly this for the rest of the session"),
            "always" => Some("exactly this from now on"),
            // The message says it.
            "rule" => None,
            plain => Some(plain),
        };
        let meanings: Vec<&str> = self.answers.iter().filter_map(meaning).collect();
        let meanings = meanings.join("; ");
        json!({
            "mode": "form",
            "message": self.message,
            "requestedSchema": {
                "type": "object",
                "properties": { "answer": {
                    "type": "string",
                    "title": "Answer",
                    "description": meanings,
                    "enum": self.answers,
                } },
                "required": ["answer"],
            },
        })
    }

    /// The answer that a client's result is. Whatever is unclear is a no.
    pub fn answer(&self, result: Option<&Value>) -> Answer {
        let entry = |name: &str| result.and_then(|result| result.get(name));
        if entry("action").is_none_or(|action| action != "accept") {
            return Answer::Deny(None);
        }
        let answer = entry("content").and_then(|content| content.get("answer")).and_then(Value::as_str);
        match answer.filter(|answer| self.answers.contains(answer)) {
            Some("once") => Answer::Once,
            Some("session") => Answer::Session,
            Some("always") => Answer::Always,
            Some("rule") => Answer::AlwaysByRule,
            _ => Answer::Deny(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_one() {
        let question = Question::new("t", "c", "d", json!({}));
        let plain = Form::new(&question, Answers::All);
        let question = question.by_rule("all");
        let by_rule = Form::new(&question, Answers::All);
        let own = Form::new(&question, Answers::Own);
        let passing = Form::new(&question, Answers::Passing);
        let accepted = |answer: Value| json!({ "action": "accept", "content": { "answer": answer } });
        for (form, result, expected) in [
            (&plain, accepted(json!("once")), Answer::Once),
            (&plain, accepted(json!("session")), Answer::Session),
            (&plain, accepted(json!("always")), Answer::Always),
            (&by_rule, accepted(json!("rule")), Answer::AlwaysByRule),
            (&plain, accepted(json!("rule")), Answer::Deny(None)),
            (&own, accepted(json!("rule")), Answer::Deny(None)),
            (&own, accepted(json!("always")), Answer::Always),
            (&passing, accepted(json!("rule")), Answer::Deny(None)),
            (&passing, accepted(json!("always")), Answer::Deny(None)),
            (&passing, accepted(json!("session")), Answer::Session),
            (&plain, accepted(json!("no")), Answer::Deny(None)),
            (&plain, accepted(json!(true)), Answer::Deny(None)),
            (&plain, json!({ "action": "accept" }), Answer::Deny(None)),
            (&plain, json!({ "action": "decline", "content": { "answer": "once" } }), Answer::Deny(None)),
            (&plain, json!("once"), Answer::Deny(None)),
        ] {
            assert_eq!(form.answer(Some(&result)), expected, "{result}");
        }
        assert_eq!(plain.answer(None), Answer::Deny(None));
        let offered = |form: &Form| {
            let params = form.params();
            params.pointer("/requestedSchema/properties/answer/enum").cloned().unwrap_or_default()
        };
        assert_eq!(offered(&by_rule), json!(["no", "once", "session", "always", "rule"]));
        assert_eq!(offered(&own), json!(["no", "once", "session", "always"]));
        assert_eq!(offered(&passing), json!(["no", "once", "session"]));
        assert!(!own.message.contains("`rule`") && by_rule.message.contains("`rule`"));
    }
}
