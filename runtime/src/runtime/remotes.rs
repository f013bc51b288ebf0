//! The other servers whose tools there are.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Runtime;
use crate::error::Result;
use crate::policy::Digest;
use crate::tool::{Server, Tell, Tool, remote_tools_of};

/// How long servers may take to end, all together.
const ENDING: Duration = Duration::from_secs(2);

/// Lines that are kept for whoever asks what is new.
const MAX_NEWS: usize = 64;

/// A tool of another server, with what is told of it now.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RemoteTool {
    /// Its server's name in the configuration.
    pub server: String,
    /// The server's own name of it.
    pub name: String,
    /// The tool as it is now.
    pub tool: Arc<Tool>,
    /// Why it is off, in words, if it is.
    pub off: Option<String>,
}

/// What there is to say of other servers since they were loaded.
#[derive(Debug, Default)]
pub(super) struct News(Mutex<Vec<String>>);

impl News {
    /// Adds what a server has to say.
    pub fn hearing(self: &Arc<Self>) -> Tell {
        let news = Arc::clone(self);
        Arc::new(move |told| news.add(vec![told]))
    }

    fn add(&self, told: Vec<String>) {
        let mut lines = self.lines();
        lines.extend(told);
        let gone = lines.len().saturating_sub(MAX_NEWS);
        lines.drain(..gone);
    }

    fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Runtime {
    /// All tools of other servers, those that are off too, in the order of the names that models call them by.
    pub fn remote_tools(&self) -> Vec<RemoteTool> {
        let all = self.shared.registry.now();
        let remote = all.iter().filter_map(|placed| {
            let body = placed.tool.remote()?;
            Some(RemoteTool {
                server: body.server.name().to_owned(),
                name: body.name.clone(),
                tool: Arc::clone(&placed.tool),
                off: placed.tool.off(),
            })
        });
        remote.collect()
    }

    /// Approves the tools of another server as they are now: one, by the server's own name of it, or all. What was off
    /// is on once the configuration is loaded again. Returns the names of what is approved.
    ///
    /// # Errors
    /// When what is approved cannot be kept.
    pub fn approve_remote(&self, server: &str, tool: Option<&str>) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for known in self.servers(server) {
            let offered: BTreeMap<String, Digest> = known
                .all_offered()
                .into_iter()
                .filter(|(name, _)| tool.is_none_or(|tool| tool == name))
                .collect();
            self.shared.pins.approve(known.place(), known.name(), &offered)?;
            names.extend(offered.into_keys());
        }
        Ok(names)
    }

    /// Approves the tools of another server no longer: one, or all that it has.
    ///
    /// # Errors
    /// When that cannot be kept.
    pub fn revoke_remote(&self, server: &str, tool: Option<&str>) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for known in self.servers(server) {
            let offered = known.all_offered().into_keys();
            let revoked: Vec<String> = offered.filter(|name| tool.is_none_or(|tool| tool == name)).collect();
            self.shared.pins.revoke(known.place(), known.name(), revoked.iter().map(String::as_str))?;
            names.extend(revoked);
        }
        Ok(names)
    }

    /// Ends the servers of other tools and waits until they are gone, two seconds at most; those too that are just being
    /// started, or belong to a configuration that is being loaded. None is started from then on. For a program that is about to
    /// end; a runtime that is dropped ends them too, without waiting. Blocks.
    pub fn close_remotes(&self) {
        let closing = self.shared.terms().loading.running.close();
        if closing.is_empty() {
            return;
        }
        let gone = async {
            for server in closing {
                server.closed().await;
            }
        };
        let handle = self.shared.sandbox.handle();
        // On a thread of its own: the caller may be one of an executor.
        std::thread::scope(|scope| {
            scope.spawn(|| handle.block_on(async { tokio::time::timeout(ENDING, gone).await }));
        });
    }

    /// What there is to say of other servers since the tools were loaded, in words, each once: that one which was not there
    /// cannot be reached, and what is unusual of one that came later. What nobody asks for is not kept beyond some lines.
    pub fn news(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.news.lines())
    }

    /// Waits for the servers that were not there, on the reactor, and takes up the tools of each once it is.
    pub(super) fn await_remotes(&self) {
        let loaded = self.shared.loaded();
        for server in loaded.servers.iter().filter(|server| server.is_to_be_awaited()) {
            // The runtime itself is never held on the reactor, which is a part of it.
            let (shared, news) = (Arc::downgrade(&self.shared), Arc::clone(&self.shared.news));
            let (component, mut is_told) = (server.component().to_owned(), server.has_failed());
            let waiting = Server::arrives(Arc::downgrade(server), move |why| {
                if !std::mem::replace(&mut is_told, true) {
                    news.add(vec![format!("{component}: none of its tools are there: {why}")]);
                }
            });
            self.shared.sandbox.handle().spawn(async move {
                let Some(server) = waiting.await else { return };
                // Not on the reactor, which waits for nothing.
                tokio::task::spawn_blocking(move || {
                    if let Some(shared) = shared.upgrade() {
                        Self { shared }.take_up(&server);
                    }
                });
            });
        }
    }

    /// Adds the tools of a server that has arrived, unless they are there, or another configuration has taken its place.
    fn take_up(&self, server: &Arc<Server>) {
        let mut loaded = self.shared.loaded();
        let is_known = loaded.servers.iter().any(|known| Arc::ptr_eq(known, server));
        let config = loaded.config.mcp.iter().find(|config| config.name == server.name());
        let (true, Some(config)) = (is_known && server.is_taken_now(), config) else { return };
        let terms = self.shared.terms();
        let scopes = [&terms.loading.limits, &terms.loading.over];
        let mut told = Vec::new();
        match remote_tools_of(config, server, scopes, &self.shared.pins, &mut told) {
            Ok(mut remotes) => {
                let now = self.shared.registry.now();
                remotes.without_clashes(now.iter().map(|placed| placed.tool.name()), &mut told);
                match self.shared.registry.add(remotes.tools.clone()) {
                    Ok(()) => loaded.tools.append(&mut remotes.tools),
                    Err(error) => told.push(error.to_string()),
                }
            }
            Err(error) => told.push(error.to_string()),
        }
        drop(loaded);
        self.shared.news.add(told);
    }

    fn servers(&self, name: &str) -> Vec<Arc<Server>> {
        self.shared.loaded().servers.iter().filter(|server| server.name() == name).cloned().collect()
    }
}
