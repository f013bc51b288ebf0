//! All servers that a runtime has begun to start, those too that nobody calls yet or any more.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::server::Server;

/// Servers, to be ended together; clones share them.
#[derive(Clone, Default)]
pub(crate) struct Running(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    servers: Vec<Weak<Server>>,
    is_closed: bool,
}

impl Running {
    /// Counts a server, before it is started. Where all have been ended, it never is.
    pub fn add(&self, server: &Arc<Server>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.servers.retain(|known| known.strong_count() > 0);
        state.servers.push(Arc::downgrade(server));
        if state.is_closed {
            server.close();
        }
    }

    /// Begins to end them all, and those to come. Gives those that there are.
    pub fn close(&self) -> Vec<Arc<Server>> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_closed = true;
        let servers: Vec<Arc<Server>> = state.servers.iter().filter_map(Weak::upgrade).collect();
        servers.iter().for_each(|server| drop(server.close()));
        servers
    }
}
