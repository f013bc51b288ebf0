//! The other servers whose tools there are.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::Runtime;
use crate::error::Result;
use crate::policy::Digest;
use crate::tool::{Remotes, Server, Tool, arrived_remotes};

/// How long servers may take to end, all together.
const ENDING: Duration = Duration::from_secs(2);

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

    /// Goes on trying to reach the servers that were not there, and takes up the tools of each once it is.
    pub(super) fn await_remotes(&self) {
        let loaded = self.shared.loaded();
        let absent = loaded.servers.iter().filter(|server| server.is_absent());
        for server in absent {
            let config = loaded.config.mcp.iter().find(|config| config.name == server.name()).cloned();
            let Some(config) = config else { continue };
            let (shared, server) = (Arc::downgrade(&self.shared), Arc::downgrade(server));
            let (pins, loading) = (self.shared.pins.clone(), self.shared.terms().loading.clone());
            self.shared.sandbox.handle().spawn(async move {
                let scopes = [&loading.limits, &loading.over];
                let Some(Ok(remotes)) = arrived_remotes(&config, &server, scopes, &pins).await else {
                    return;
                };
                // Not on the reactor, which waits for nothing.
                tokio::task::spawn_blocking(move || {
                    if let Some(shared) = shared.upgrade() {
                        Self { shared }.take_up(remotes);
                    }
                });
            });
        }
    }

    /// Adds the tools of a server that has arrived, unless another configuration has taken its place meanwhile.
    fn take_up(&self, mut remotes: Remotes) {
        let mut loaded = self.shared.loaded();
        let is_known = |server: &Arc<Server>| loaded.servers.iter().any(|known| Arc::ptr_eq(known, server));
        if !remotes.servers.iter().all(is_known) {
            return;
        }
        let now = self.shared.registry.now();
        remotes.without_clashes(now.iter().map(|placed| placed.tool.name()), &mut Vec::new());
        if self.shared.registry.add(remotes.tools.clone()).is_ok() {
            loaded.tools.append(&mut remotes.tools);
        }
    }

    fn servers(&self, name: &str) -> Vec<Arc<Server>> {
        self.shared.loaded().servers.iter().filter(|server| server.name() == name).cloned().collect()
    }
}
