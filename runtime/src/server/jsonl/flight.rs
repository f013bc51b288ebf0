//! One call or batch, from `start` to `result`.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::approver::{Client, Questions};
use super::events::Listeners;
use super::flights::Flights;
use super::id::Id;
use super::outbox::Outbox;
use super::read::Refused;
use super::reply::{Refusal, Reply};
use crate::runtime::{Batch, Call};
use crate::sandbox::catch_unwind;

/// A request that runs.
pub(super) struct Flight {
    pub id: Id,
    pub cancel: CancellationToken,
    pub outbox: Outbox,
    pub questions: Questions,
    pub flights: Flights,
    /// What its line takes of all lines in flight.
    pub _room: OwnedSemaphorePermit,
}

impl Flight {
    pub async fn call(self, call: Call) {
        let listeners = self.begin().await;
        let call = call.events(listeners.listener(None)).cancel(self.cancel.clone());
        let outcome = self.asked(call.into_future(), false).await;
        let reply = |id, outcome| Reply::Result { id, outcome: Some(Box::new(outcome)), outcomes: None };
        self.end(listeners, outcome.map(|outcome| reply(self.id.clone(), outcome))).await;
    }

    pub async fn batch(self, batch: Batch) {
        let listeners = self.begin().await;
        let of_calls = listeners.clone();
        let batch = batch
            .events(move |call| Some(of_calls.listener(Some(call.id.clone()))))
            .cancel(self.cancel.clone());
        let outcomes = self.asked(batch.into_future(), true).await;
        let reply = |id, outcomes| Reply::Result { id, outcome: None, outcomes: Some(outcomes) };
        self.end(listeners, outcomes.map(|outcomes| reply(self.id.clone(), outcomes))).await;
    }

    async fn begin(&self) -> Listeners {
        self.outbox.send(&Reply::Start { id: self.id.clone() }).await;
        Listeners::new(self.id.clone(), self.outbox.clone())
    }

    /// What `calls` come to, about which this client is asked; none if the runtime itself failed.
    async fn asked<F: Future>(&self, calls: F, is_batch: bool) -> Option<F::Output> {
        let (outbox, questions) = (self.outbox.clone(), self.questions.clone());
        let client = Client { id: self.id.clone(), is_batch, outbox, questions };
        catch_unwind(AssertUnwindSafe(client.calling(calls))).await.ok()
    }

    async fn end(&self, listeners: Listeners, reply: Option<Reply>) {
        listeners.finish().await;
        self.flights.end(&self.id);
        let failed = || {
            let message = "the call failed in the runtime itself".to_owned();
            Refused { id: Some(self.id.clone()), kind: Refusal::Internal, message }.into()
        };
        self.outbox.send(&reply.unwrap_or_else(failed)).await;
    }
}
