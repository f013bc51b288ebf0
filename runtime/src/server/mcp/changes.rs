//! Changes of the list of tools, told once for many.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::connection::Connection;
use super::lists;
use super::speech::notification;

/// Changes that follow each other this closely are one.
const TOGETHER: Duration = Duration::from_millis(100);

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Tells the client of changes of what it sees, as that is now, until the runtime is gone. What changes may be none of its tools, or
/// one that is off.
pub(super) fn watch(connection: Arc<Connection>) -> impl Future<Output = ()> + Send {
    let mut changes = connection.client.runtime.changes();
    let mut seen = lists::identity(&connection.client.session);
    async move {
        while changes.changed().await.is_ok() {
            tokio::time::sleep(TOGETHER).await;
            changes.borrow_and_update();
            let now = lists::identity(&connection.client.session);
            if std::mem::replace(&mut seen, now) != now {
                connection.tell_change().await;
            }
        }
    }
}

/// The notification after a handshake.
pub(super) fn plain() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" })
}

/// The notification of a subscription.
pub(super) fn subscribed(id: &Value) -> Value {
    notification("notifications/tools/list_changed", json!({ "_meta": { SUBSCRIPTION: id } }))
}

/// The first notification of a subscription: what it will be told of.
pub(super) fn acknowledgement(id: &Value, tools: bool) -> Value {
    let agreed = if tools { json!({ "toolsListChanged": true }) } else { json!({}) };
    let params = json!({ "notifications": agreed, "_meta": { SUBSCRIPTION: id } });
    notification("notifications/subscriptions/acknowledged", params)
}

/// The answer to a subscription, which ends it.
pub(super) fn ended(id: &Value) -> Value {
    super::answer::message(id, json!({ "resultType": "complete", "_meta": { SUBSCRIPTION: id } }))
}
