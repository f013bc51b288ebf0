//! The connection to a server: how it begins, and how it comes back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::Notify;

use super::listing::follow;
use super::{SHUTTING_DOWN, Server, State};
use crate::tool::remote::client::Client;
use crate::tool::remote::link::Link;

/// The longest pause before a server is started again.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

impl Server {
    /// Starts it and asks for its tools, unless it was reached meanwhile. Must be awaited on the reactor.
    ///
    /// # Errors
    /// Why there is no connection, for its operator.
    pub(super) async fn open(self: &Arc<Self>) -> Result<(), String> {
        let _turn = Arc::clone(&self.turn).lock_owned().await;
        if self.listing().is_some() && self.live().is_some() {
            return Ok(());
        }
        self.connect().await
    }

    /// Whether it is being opened.
    pub(super) fn is_opening(&self) -> bool {
        self.turn.try_lock().is_err()
    }

    /// The connection, which is made anew where there is none and the pause since the last is over.
    ///
    /// # Errors
    /// Why there is none, for its operator.
    pub(super) async fn connected(self: &Arc<Self>) -> Result<Arc<Client>, String> {
        if let Some(client) = self.live() {
            return Ok(client);
        }
        let server = Arc::clone(self);
        let back = self.handle.spawn(async move {
            let _turn = Arc::clone(&server.turn).lock_owned().await;
            if let Some(client) = server.live() {
                return Ok(client);
            }
            server.may_start()?;
            server.connect().await?;
            server.live().ok_or_else(|| "it ended at once".to_owned())
        });
        back.await.unwrap_or_else(|_| Err(SHUTTING_DOWN.to_owned()))
    }

    /// The connection, if it lasts. One that has ended is a failure, counted once.
    fn live(&self) -> Option<Arc<Client>> {
        let mut state = self.state();
        let client = state.client.clone()?;
        let Some(why) = client.link.closed() else { return Some(client) };
        state.client = None;
        state.failed(&why);
        None
    }

    fn may_start(&self) -> Result<(), String> {
        let state = self.state();
        let left = state.retry_at.map(|at| at.saturating_duration_since(Instant::now()));
        match left {
            _ if state.is_closed => Err(SHUTTING_DOWN.to_owned()),
            Some(left) if !left.is_zero() => {
                let left = humantime::format_duration(Duration::from_secs(left.as_secs() + 1));
                Err(format!("{}; it is started again in {left}", state.why))
            }
            _ => Ok(()),
        }
    }

    async fn connect(self: &Arc<Self>) -> Result<(), String> {
        let changed = Arc::new(Notify::new());
        if self.ending.is_cancelled() {
            return Err(SHUTTING_DOWN.to_owned());
        }
        let mut gone = None;
        let opening = async {
            let link = self.reach.link(self.most, &self.handle, Arc::clone(&changed)).await?;
            gone = link.gone();
            // Not before there is a link: a program that is started meanwhile would be nobody's.
            tokio::select! {
                biased;
                () = self.ending.cancelled() => Err(SHUTTING_DOWN.to_owned()),
                opened = opened(link) => opened,
            }
        };
        let opened = tokio::time::timeout(self.start_timeout, opening).await.unwrap_or_else(|_| {
            let time = humantime::format_duration(self.start_timeout);
            Err(format!("it was not ready within {time}; raise `{}.start_timeout`", self.component))
        });
        let (client, definitions) = match opened {
            Ok(opened) => opened,
            Err(why) => {
                if let Some(gone) = gone {
                    gone.cancelled().await;
                }
                self.state().failed(&why);
                return Err(why);
            }
        };
        let client = Arc::new(client);
        // Before anybody can call it: it may have come back as another.
        self.note(self.heard(definitions).await?);
        if !self.begun(&client) {
            drop(client);
            if let Some(gone) = gone {
                gone.cancelled().await;
            }
            return Err(SHUTTING_DOWN.to_owned());
        }
        tokio::spawn(follow(Arc::downgrade(self), Arc::downgrade(&client), Arc::clone(&changed)));
        tokio::spawn(async move { client.subscribe(&changed).await });
        Ok(())
    }

    /// Takes a connection into use, unless none is wanted any more.
    fn begun(&self, client: &Arc<Client>) -> bool {
        let mut state = self.state();
        if !state.is_closed {
            state.client = Some(Arc::clone(client));
        }
        !state.is_closed
    }
}

impl State {
    /// Counts a failure. After the first it is started again at once, then after ever longer pauses.
    fn failed(&mut self, why: &str) {
        self.failures = self.failures.saturating_add(1);
        let pause = match self.failures {
            1 => Duration::ZERO,
            failures => Duration::from_secs(1 << (failures - 2).min(6)).min(LONGEST_PAUSE),
        };
        self.retry_at = Some(Instant::now() + pause);
        why.clone_into(&mut self.why);
    }
}

/// A connection over a link, with the definitions of the tools.
async fn opened(link: Link) -> Result<(Client, Vec<Value>), String> {
    let client = Client::open(link).await?;
    let definitions = client.list().await?;
    Ok((client, definitions))
}
