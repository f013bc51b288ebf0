//! Questions about calls, to the client that made the call.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use super::id::Id;
use super::outbox::Outbox;
use super::reply::{AskedQuestion, AskedReason, Reply};
use super::request::ClientAnswer;
use crate::policy::{Answer, Approver, Question};

tokio::task_local! {
    /// Whom a question about the call of this task goes to.
    static CLIENT: Client;
}

/// Asks the client whose call it is, by a line that `approve` answers. A call that came another way is refused.
///
/// One serves all connections of a runtime: each call carries its own along.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AskClient;

#[async_trait::async_trait]
impl Approver for AskClient {
    async fn ask(&self, question: &Question) -> Answer {
        match CLIENT.try_with(Client::clone) {
            Ok(client) => client.ask(question).await,
            Err(_) => Answer::Deny(None),
        }
    }

    fn name(&self) -> &str {
        "client"
    }
}

/// The request that a question belongs to, and its connection.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub id: Id,
    pub is_batch: bool,
    pub outbox: Outbox,
    pub questions: Questions,
}

impl Client {
    /// Runs calls, about which this client is asked.
    pub async fn calling<F: Future>(self, calls: F) -> F::Output {
        CLIENT.scope(self, calls).await
    }

    async fn ask(self, question: &Question) -> Answer {
        let answers = answers(question);
        let Some(waiting) = self.questions.wait(answers.clone()) else { return unanswered() };
        let reason = |reason: &crate::policy::Reason| AskedReason {
            source: reason.source.clone(),
            text: reason.text.clone(),
        };
        let asked = AskedQuestion {
            tool: question.tool.clone(),
            component: question.component.clone(),
            digest: question.digest.clone(),
            reasons: question.reasons.iter().map(reason).collect(),
            by_rule: question.by_rule.clone(),
            session: question.session.clone(),
        };
        let reply = Reply::Approval {
            id: self.id.clone(),
            call: self.is_batch.then(|| question.call.clone()),
            approval: waiting.name.clone(),
            question: asked,
            arguments: question.arguments.clone(),
            answers,
        };
        self.outbox.send(&reply).await;
        waiting.answer().await
    }
}

/// What can be answered: a wider scope only where there is one.
fn answers(question: &Question) -> Vec<ClientAnswer> {
    let mut answers =
        vec![ClientAnswer::Deny, ClientAnswer::Once, ClientAnswer::Session, ClientAnswer::Always];
    answers.extend(question.by_rule.is_some().then_some(ClientAnswer::Rule));
    answers
}

fn unanswered() -> Answer {
    Answer::Deny(Some("the input ended before an answer".to_owned()))
}

/// The questions of one connection that wait for an answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Questions(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    count: u64,
    is_closed: bool,
    open: HashMap<String, Open>,
}

#[derive(Debug)]
struct Open {
    answers: Vec<ClientAnswer>,
    answer: oneshot::Sender<Answer>,
}

/// Why an answer was not taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotTaken {
    /// No such question waits.
    NoQuestion,
    /// The question has other answers, and still waits.
    NotOffered,
}

impl Questions {
    /// A question more, unless nobody can answer any longer.
    fn wait(&self, answers: Vec<ClientAnswer>) -> Option<Asked> {
        let mut waiting = self.waiting();
        if waiting.is_closed {
            return None;
        }
        waiting.count += 1;
        let name = format!("a{}", waiting.count);
        let (answer, answered) = oneshot::channel();
        waiting.open.insert(name.clone(), Open { answers, answer });
        Some(Asked { name, answered, questions: self.clone() })
    }

    /// Answers a question.
    pub fn answer(&self, name: &str, answer: ClientAnswer, reason: Option<String>) -> Result<(), NotTaken> {
        let mut waiting = self.waiting();
        let open = waiting.open.get(name).ok_or(NotTaken::NoQuestion)?;
        if !open.answers.contains(&answer) {
            return Err(NotTaken::NotOffered);
        }
        let open = waiting.open.remove(name).ok_or(NotTaken::NoQuestion)?;
        open.answer.send(answer.with(reason)).map_err(|_| NotTaken::NoQuestion)
    }

    /// Answers all questions by a no, and those to come.
    pub fn close(&self) {
        let mut waiting = self.waiting();
        waiting.is_closed = true;
        waiting.open.clear();
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question that waits; it leaves with the call that it is about.
struct Asked {
    name: String,
    answered: oneshot::Receiver<Answer>,
    questions: Questions,
}

impl Asked {
    async fn answer(mut self) -> Answer {
        (&mut self.answered).await.unwrap_or_else(|_| unanswered())
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.questions.waiting().open.remove(&self.name);
    }
}
