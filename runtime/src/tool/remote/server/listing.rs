//! What a server offers: asked for when it is opened, when it tells of a change, and when its settings are loaded again.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::pace::Pace;
use super::{SHUTTING_DOWN, Server};
use crate::policy::Digest;
use crate::tool::misset::listed;
use crate::tool::remote::catalog::Listing;
use crate::tool::remote::client::Client;

/// The shortest pause before one is tried again that was not there at the start.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// What a server has offered, with the number of when it was heard among all such.
pub(super) struct Heard {
    number: u64,
    listing: Listing,
}

impl Server {
    /// What it offered last; nothing as long as it was never reached.
    pub(in crate::tool::remote) fn listing(&self) -> Option<Arc<Listing>> {
        self.state().listing.clone()
    }

    /// The identity of a tool as it was offered last.
    pub fn offered(&self, tool: &str) -> Option<Digest> {
        self.state().listing.as_ref()?.identities.get(tool).copied()
    }

    /// The identities of all its tools.
    pub fn all_offered(&self) -> BTreeMap<String, Digest> {
        self.listing().map(|listing| listing.identities.clone()).unwrap_or_default()
    }

    /// Asks for its tools, of a server that was not reached yet once it is. Must be awaited on the reactor.
    ///
    /// # Errors
    /// Why it does not say, for its operator.
    pub(in crate::tool::remote) async fn refresh(self: &Arc<Self>) -> Result<(), String> {
        if self.listing().is_none() {
            return self.open().await;
        }
        let client = self.connected().await?;
        let late =
            || format!("it did not name its tools within {}", humantime::format_duration(self.start_timeout));
        let definitions = tokio::time::timeout(self.start_timeout, client.list()).await;
        self.note(self.heard(definitions.unwrap_or_else(|_| Err(late()))?).await?);
        Ok(())
    }

    /// Waits until a server that has not been reached yet is, and goes on trying with ever longer pauses; `failed` hears why
    /// each time. None where nobody needs it any more. Must be awaited on the reactor.
    pub async fn arrives(server: Weak<Self>, mut failed: impl FnMut(String)) -> Option<Arc<Self>> {
        loop {
            let pause = {
                let server = server.upgrade()?;
                // It may be opened just now.
                drop(server.turn.lock().await);
                let (why, left) = {
                    let state = server.state();
                    if state.is_closed {
                        return None;
                    }
                    if state.listing.is_some() {
                        drop(state);
                        return Some(server);
                    }
                    let left = state.retry_at.map(|at| at.saturating_duration_since(Instant::now()));
                    (state.why.clone(), left)
                };
                failed(server.words(&why));
                left.unwrap_or_default().max(SHORTEST_PAUSE)
            };
            tokio::time::sleep(pause).await;
            let _ = server.upgrade()?.open().await;
        }
    }

    /// Whether somebody is to wait for it who has not begun to: its tools are not there.
    pub fn is_to_be_awaited(&self) -> bool {
        !self.is_taken.load(Ordering::Relaxed) && !self.is_awaited.swap(true, Ordering::Relaxed)
    }

    /// Notes that its tools are there. False if they were.
    pub fn is_taken_now(&self) -> bool {
        !self.is_taken.swap(true, Ordering::Relaxed)
    }

    /// What it offers by these definitions, whose schemas take as long to compile as it likes, so that nobody waits for that
    /// on the reactor.
    ///
    /// # Errors
    /// When the runtime is shutting down.
    pub(super) async fn heard(
        self: &Arc<Self>,
        definitions: Vec<serde_json::Value>,
    ) -> Result<Heard, String> {
        let number = {
            let mut state = self.state();
            state.heard += 1;
            state.heard
        };
        let server = Arc::clone(self);
        let reading = tokio::task::spawn_blocking(move || {
            Listing::of(
                &server.name,
                definitions,
                server.reach.has_headers(),
                server.redactor().map(Arc::as_ref),
            )
        });
        let listing = reading.await.map_err(|_| SHUTTING_DOWN.to_owned())?;
        Ok(Heard { number, listing })
    }

    /// Keeps what it offers unless it has said something else since, and tells if that is another offer.
    pub(super) fn note(&self, heard: Heard) {
        let listing = Arc::new(heard.listing);
        let before = {
            let mut state = self.state();
            if state.noted > heard.number {
                return;
            }
            state.noted = heard.number;
            state.listing.replace(Arc::clone(&listing))
        };
        if before.as_ref().is_some_and(|before| before.identities == listing.identities) {
            return;
        }
        let Some((teller, tell)) = self.teller.get() else { return };
        if let Some(before) = before {
            let changed =
                listing.identities.iter().filter(|(name, now)| before.identities.get(*name) != Some(now));
            let changed: Vec<&str> = changed.map(|(name, _)| name.as_str()).collect();
            if !changed.is_empty() {
                let what = listed(&changed);
                tell(format!(
                    "{}: what it says of {what} has changed; a tool that is not as it was approved is off, and `toolcell list` says \
                     which",
                    self.component
                ));
            }
        }
        teller.send_modify(|count| *count += 1);
    }
}

/// Asks for the tools again whenever they have changed, as long as the connection lasts.
pub(super) async fn follow(server: Weak<Server>, client: Weak<Client>, changed: Arc<Notify>) {
    let mut pace = Pace::default();
    loop {
        let begun = Instant::now();
        changed.notified().await;
        tokio::time::sleep(pace.after(begun.elapsed())).await;
        let (Some(server), Some(client)) = (server.upgrade(), client.upgrade()) else { return };
        if client.link.closed().is_some() {
            return;
        }
        if let Ok(Ok(definitions)) = tokio::time::timeout(server.start_timeout, client.list()).await
            && let Ok(heard) = server.heard(definitions).await
        {
            server.note(heard);
        }
    }
}
