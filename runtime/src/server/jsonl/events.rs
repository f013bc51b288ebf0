//! What tools say while they run, on its way to the client.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::id::Id;
use super::outbox::Outbox;
use super::reply::Reply;
use crate::call::Event;

/// Events that wait for the client, of one call: the tool waits for those before the next.
const WAITING: usize = 1;

/// The listeners of one request; all have told what they heard before its result is told.
#[derive(Debug, Clone)]
pub(super) struct Listeners {
    id: Id,
    outbox: Outbox,
    telling: Arc<Mutex<JoinSet<()>>>,
    ended: CancellationToken,
}

impl Listeners {
    pub fn new(id: Id, outbox: Outbox) -> Self {
        Self { id, outbox, telling: Arc::default(), ended: CancellationToken::new() }
    }

    /// A listener more, of this call of a batch or of the only one.
    pub fn listener(&self, call: Option<Value>) -> Sender<Event> {
        let (sink, events) = channel(WAITING);
        let telling = tell(events, self.outbox.clone(), self.id.clone(), call, self.ended.clone());
        self.telling.lock().unwrap_or_else(PoisonError::into_inner).spawn(telling);
        sink
    }

    /// Tells what is left once the calls have ended. What somebody says later, who outlived its call, is not heard.
    pub async fn finish(self) {
        self.ended.cancel();
        let mut telling = std::mem::take(&mut *self.telling.lock().unwrap_or_else(PoisonError::into_inner));
        while telling.join_next().await.is_some() {}
    }
}

async fn tell(
    mut events: Receiver<Event>,
    outbox: Outbox,
    id: Id,
    call: Option<Value>,
    ended: CancellationToken,
) {
    loop {
        let event = tokio::select! {
            biased;
            event = events.recv() => event,
            () = ended.cancelled(), if !events.is_closed() => {
                events.close();
                continue;
            }
        };
        let Some(event) = event else { return };
        outbox.send(&Reply::event(id.clone(), call.clone(), event)).await;
    }
}
