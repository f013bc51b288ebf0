//! One call on its way: what it says, what it asks, and its answer.

use std::future::IntoFuture as _;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::answer;
use super::approval::{Asked, Form, asking};
use super::client::{Parked, Resumed};
use super::connection::{Connection, Running};
use super::frame::{INVALID_PARAMS, Refusal};
use super::room::Arrival;
use super::shared::{About, SILENT, Unsealed};
use super::speech::Speech;
use super::version::Terms;
use super::writer::Writer;
use crate::call::{ErrorKind, Outcome, ToolCall};
use crate::policy::Answer;
use crate::sandbox::catch_unwind;

/// What a tool may say ahead of what is passed on; then it waits.
const EVENTS: usize = 64;

/// One call of a client's.
pub(super) struct Calling {
    pub connection: Arc<Connection>,
    /// Where what it says and its answer go.
    pub writer: Writer,
    pub terms: Terms,
    pub name: String,
    /// As they came, where the client may have to come back with them.
    pub arguments: Value,
    pub id: Value,
    pub running: Running,
    /// What its client has come back with, to another question or to this one.
    pub given: Option<Given>,
    /// The question that its client will answer with another request. Held to the end, so that the call ends as cancelled and
    /// not as refused.
    pub put_off: Option<oneshot::Sender<Answer>>,
}

/// What a client has come back with, perhaps from another instance.
pub(super) struct Given {
    pub unsealed: Unsealed,
    pub answer: Option<Value>,
}

/// A call that has an identifier, and is to be run.
pub(super) struct Started {
    pub calling: Calling,
    pub call: ToolCall,
    /// What its message takes up.
    pub arrival: Option<Arrival>,
}

impl Started {
    /// Counts what it came with until it has ended, also while it waits for its client to come back.
    pub fn holding(self, arrival: Option<Arrival>) -> Self {
        Self { arrival, ..self }
    }

    pub async fn run(self) {
        let _arrival = self.arrival;
        self.calling.run(self.call).await;
    }
}

/// A question that waits for its client to come back.
struct Open {
    key: String,
    form: Form,
    answered: oneshot::Sender<Answer>,
}

impl Calling {
    async fn run(mut self, call: ToolCall) {
        let (sink, mut events) = mpsc::channel(EVENTS);
        let (ask, mut questions) = mpsc::channel::<Asked>(1);
        let (resume, mut resumed) = mpsc::channel::<Resumed>(1);
        let mut speech = Speech { tool: self.name.clone(), terms: self.terms.clone(), done: None };
        let mut call = self.connection.client.session.call(call).cancel(self.running.end.clone());
        // Who comes back with an answer may want to hear more than who asked.
        if speech.is_wanted() || (self.terms.elicits && self.terms.is_current()) {
            call = call.events(sink);
        } else {
            drop(sink);
        }
        let call = asking(self.terms.elicits.then_some(ask), call.into_future());
        let mut call = pin!(catch_unwind(AssertUnwindSafe(call)));
        let mut open: Option<Open> = None;
        let ended = loop {
            tokio::select! {
                biased;
                Some(event) = events.recv() => speech.tell(event, &self.writer),
                Some(asked) = questions.recv() => if let Some(asked) = self.ask_anywhere(asked).await {
                    open = self.ask(asked, &resume).await;
                },
                Some(resumed) = resumed.recv() => {
                    speech.terms = resumed.terms.clone();
                    self.resumed(resumed, open.take());
                }
                ended = &mut call => break ended,
                () = self.writer.closed(), if open.is_none() && !self.is_unwanted() => self.abandon(),
            }
        };
        while let Ok(event) = events.try_recv() {
            speech.tell(event, &self.writer);
        }
        match open {
            // The client waits for nothing now: it was asked to come back, and has not.
            Some(open) => {
                self.connection.client.forget(&open.key);
                if let Ok(outcome) = &ended {
                    self.connection.client.ended(outcome).await;
                }
            }
            None => self.answer(ended.ok()).await,
        }
    }

    fn is_unwanted(&self) -> bool {
        self.running.is_unwanted.is_cancelled()
    }

    /// Ends the call, since nobody reads its answer.
    fn abandon(&self) {
        self.running.is_unwanted.cancel();
        self.running.end.cancel();
    }

    /// Brings a question to the client that it may answer on any instance, if there are others. A question that is still
    /// to be asked here is given back.
    async fn ask_anywhere(&mut self, asked: Asked) -> Option<Asked> {
        let Some(shared) = self.connection.client.shared.clone().filter(|_| self.terms.is_current()) else {
            return Some(asked);
        };
        let form = Form::new(&asked.question, self.connection.client.answers);
        if let Some(Given { unsealed, answer }) = self.given.take()
            && unsealed.is_about(form.digest())
        {
            let answer = match shared.use_up(&unsealed).await {
                Some(true) => Some(form.answer(answer.as_ref())),
                Some(false) => None,
                // Whether it was given before is not known.
                None => Some(Answer::Deny(Some(SILENT.to_owned()))),
            };
            if let Some(answer) = answer {
                let _ = asked.answered.send(answer);
                return None;
            }
        }
        let about = About {
            tool: &self.name,
            arguments: &self.arguments,
            session: self.connection.client.session.name(),
        };
        let Some(state) = shared.seal(&about, form.digest()) else {
            let _ = asked.answered.send(Answer::Nobody);
            return None;
        };
        self.writer.send(&answer::message(&self.id, asks(&form, &state))).await;
        self.put_off = Some(asked.answered);
        self.abandon();
        None
    }

    /// Brings a question to the client. One that it is to come back with is returned.
    async fn ask(&self, asked: Asked, resume: &mpsc::Sender<Resumed>) -> Option<Open> {
        let Asked { question, answered } = asked;
        let form = Form::new(&question, self.connection.client.answers);
        if !self.terms.is_current() {
            tokio::spawn(ask_now(Arc::clone(&self.connection), self.writer.clone(), form, answered));
            return None;
        }
        let parked = Parked {
            name: self.name.clone(),
            arguments: self.arguments.clone(),
            end: self.running.end.clone(),
            resume: resume.clone(),
        };
        // Where as many wait as may, nobody has said no: this one waits for its operator.
        let Ok(key) = self.connection.client.park(parked) else {
            let _ = answered.send(Answer::Nobody);
            return None;
        };
        self.connection.ended(&self.id);
        self.writer.send(&answer::message(&self.id, asks(&form, &key))).await;
        Some(Open { key, form, answered })
    }

    fn resumed(&mut self, resumed: Resumed, open: Option<Open>) {
        self.id = resumed.id;
        self.terms = resumed.terms;
        self.running = resumed.running;
        self.writer = resumed.writer;
        self.connection = resumed.connection;
        if let Some(open) = open {
            let _ = open.answered.send(open.form.answer(resumed.answer.as_ref()));
        }
    }

    /// Answers, unless nobody wants to know. The identifier is free from then on, not before.
    async fn answer(&self, ended: Option<Outcome>) {
        let connection = &self.connection;
        if let Some(outcome) = &ended {
            connection.client.ended(outcome).await;
        }
        if self.is_unwanted() {
            return connection.ended(&self.id);
        }
        let message = match ended {
            Some(outcome) => self.told(&outcome),
            None => Refusal::internal().message(&self.id),
        };
        connection.ended(&self.id);
        self.writer.send(&message).await;
    }

    fn told(&self, outcome: &Outcome) -> Value {
        match &outcome.error {
            Some(error) if error.kind == ErrorKind::UnknownTool => {
                Refusal::new(INVALID_PARAMS, error.message.clone())
                    .data(json!({ "kind": error.kind }))
                    .message(&self.id)
            }
            _ => answer::message(&self.id, answer::called(outcome, &self.terms)),
        }
    }
}

/// The result by which a client is asked to come back with an answer, and with `state`.
fn asks(form: &Form, state: &str) -> Value {
    json!({
        "resultType": "input_required",
        "inputRequests": { Form::KEY: { "method": "elicitation/create", "params": form.params() } },
        "requestState": state,
    })
}

/// Asks while the call waits, as clients with a handshake are asked.
async fn ask_now(
    connection: Arc<Connection>,
    writer: Writer,
    form: Form,
    mut answered: oneshot::Sender<Answer>,
) {
    let (id, answer) = connection.ask();
    let request = json!({
        "jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": form.params(),
    });
    writer.send(&request).await;
    tokio::select! {
        result = answer => {
            let _ = answered.send(form.answer(result.ok().flatten().as_ref()));
        }
        () = answered.closed() => {
            connection.unask(&id);
            let params = json!({ "requestId": id, "reason": "the call has ended" });
            writer.send(&super::speech::notification("notifications/cancelled", params)).await;
        }
    }
}
