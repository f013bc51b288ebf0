//! What is told without being asked for: that the tools have changed.

use serde_json::{Map, Value};

use super::super::changes;
use super::super::frame::{INVALID_PARAMS, INVALID_REQUEST, Refusal};
#[cfg(feature = "http")]
use super::super::writer::Writer;
use super::{Connection, MAX_RUNNING};

/// Streams of one session for what belongs to no request. A client needs one; a second is one of before that broke unseen, or of
/// another of its windows.
#[cfg(feature = "http")]
const MAX_LISTENERS: usize = 4;

impl Connection {
    /// Opens a subscription; what it is answered with.
    pub(super) fn subscribe(&self, id: &Value, params: &Map<String, Value>) -> Result<Value, Refusal> {
        let wanted = params.get("notifications").and_then(Value::as_object);
        let wanted =
            wanted.ok_or_else(|| Refusal::new(INVALID_PARAMS, "`notifications` must be an object"))?;
        self.begin(id)?;
        self.ended(id);
        let wants_tools = wanted.get("toolsListChanged") == Some(&Value::Bool(true));
        let mut state = self.state();
        if state.subscriptions.len() >= MAX_RUNNING {
            return Err(Refusal::new(INVALID_REQUEST, "there are too many subscriptions"));
        }
        state.subscriptions.push((id.clone(), wants_tools));
        Ok(changes::acknowledgement(id, wants_tools))
    }

    /// Whether a subscription of that identifier is open.
    #[cfg(feature = "http")]
    pub fn is_subscribed(&self, id: &Value) -> bool {
        self.state().is_subscribed(id)
    }

    /// Sends what belongs to no request to `writer` from now on, and what was missed at once. Of more than
    /// [`MAX_LISTENERS`] the oldest ends.
    #[cfg(feature = "http")]
    pub async fn listen(&self, writer: Writer) {
        let is_behind = {
            let mut state = self.state();
            state.listeners.retain(|listener| !listener.is_closed());
            let beyond = (state.listeners.len() + 1).saturating_sub(MAX_LISTENERS);
            state.listeners.drain(..beyond);
            state.listeners.push(writer.clone());
            std::mem::take(&mut state.is_behind)
        };
        if is_behind {
            writer.send(&changes::plain()).await;
        }
    }

    /// Sends nothing any more that belongs to no request.
    #[cfg(feature = "http")]
    pub fn unlisten(&self) {
        self.state().listeners.clear();
    }

    /// Notifications that the tools have changed, for everybody who wants to know.
    pub async fn tell_change(&self) {
        let (listener, messages) = {
            let mut state = self.state();
            let Some(listener) = state.listener().cloned() else {
                state.is_behind = state.is_open;
                return;
            };
            let wanted = state.subscriptions.iter().filter(|(_, wants_tools)| *wants_tools);
            let subscribed = wanted.map(|(id, _)| changes::subscribed(id));
            let messages: Vec<Value> =
                state.is_open.then(changes::plain).into_iter().chain(subscribed).collect();
            (listener, messages)
        };
        for message in &messages {
            listener.send(message).await;
        }
    }

    /// Says that there will be no more notifications.
    pub async fn end_subscriptions(&self) {
        let (listener, subscriptions) = {
            let mut state = self.state();
            (state.listener().cloned(), std::mem::take(&mut state.subscriptions))
        };
        let Some(listener) = listener else { return };
        for (id, _) in subscriptions {
            listener.send(&changes::ended(&id)).await;
        }
    }
}
