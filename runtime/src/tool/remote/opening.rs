//! How long a load waits until servers have named their tools. What takes longer goes on without anybody who waits.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::server::Server;
use crate::sandbox::Sandbox;

/// How long to wait for servers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Patience {
    /// For all together; without, for each as long as its own time.
    pub within: Option<Duration>,
    /// Only until one of them has the tool of this name.
    pub until: Option<String>,
}

/// What came of asking a server for its tools; nothing while nothing has.
pub(super) type Opened = Option<Result<(), String>>;

/// Asks all servers for their tools at once, on a thread of its own: the caller may be one that must not wait. Who waits for
/// one alone is told by `is_wanted` which of those that answered it is.
pub(super) fn open(
    servers: &[Arc<Server>],
    sandbox: &Arc<Sandbox>,
    patience: &Patience,
    is_wanted: impl Fn(usize) -> bool + Sync,
) -> Vec<Opened> {
    let (done, mut ends) = mpsc::channel(servers.len().max(1));
    for (index, server) in servers.iter().enumerate() {
        let (server, done) = (Arc::clone(server), done.clone());
        sandbox.handle().spawn(async move {
            let end = server.refresh().await;
            let _ = done.send((index, end)).await;
        });
    }
    drop(done);
    let mut opened: Vec<Opened> = servers.iter().map(|_| None).collect();
    let gathering = async {
        let deadline = patience.within.map(|within| Instant::now() + within);
        loop {
            let next = match deadline {
                Some(deadline) => tokio::time::timeout_at(deadline, ends.recv()).await.unwrap_or_default(),
                None => ends.recv().await,
            };
            let Some((index, end)) = next else { return };
            let is_last = end.is_ok() && is_wanted(index);
            if let Some(place) = opened.get_mut(index) {
                *place = Some(end);
            }
            if is_last {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        // One that fails has found out as much as it has.
        let _ = scope.spawn(|| sandbox.handle().block_on(gathering)).join();
    });
    opened
}
