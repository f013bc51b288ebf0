//! Who is let in: hosts, origins and principals as the settings have them now, which may change while the server runs.

use std::sync::{Arc, PoisonError};

use http::HeaderMap;

use super::caller::Caller;
use super::guard::Guard;
use super::listen::{Server, SharedSecret};
use super::tokens::Tokens;
use crate::config::Server as Settings;
use crate::error::Result;

/// Hosts and origins that are served, and the principals. What a request found here holds for the rest of its way.
pub(super) struct Door {
    pub guard: Guard,
    tokens: Tokens,
    callers: Vec<Arc<Caller>>,
}

impl Door {
    /// With one caller for each principal, or one for everybody where it is open.
    pub fn new(guard: Guard, tokens: Tokens, callers: Vec<Arc<Caller>>) -> Self {
        Self { guard, tokens, callers }
    }

    /// Who asks: one of the principals, or anybody where everybody is let in.
    pub fn caller(&self, headers: &HeaderMap) -> Option<Arc<Caller>> {
        let principal = self.tokens.principal(headers);
        self.of(principal).cloned()
    }

    pub fn callers(&self) -> impl Iterator<Item = &Arc<Caller>> {
        self.callers.iter()
    }

    fn of(&self, principal: Option<&str>) -> Option<&Arc<Caller>> {
        self.callers.iter().find(|caller| caller.principal.as_deref() == principal)
    }
}

/// Changes who may reach a server that runs. A clone is of the same server.
#[derive(Clone)]
pub struct HttpAccess {
    server: Arc<Server>,
}

/// A change that is checked, and not made yet.
#[must_use = "nothing changes before it is made"]
pub struct AccessChange {
    server: Arc<Server>,
    settings: Settings,
    tokens: Tokens,
    /// What the store that instances share is reached and sealed by, as it is now.
    secrets: Vec<SharedSecret>,
}

impl HttpAccess {
    pub(super) fn new(server: Arc<Server>) -> Self {
        Self { server }
    }

    /// Reads the tokens that `settings` name.
    ///
    /// # Errors
    /// As for a server that starts: when one cannot be read, could be guessed, or is that of two principals; the same for the key and
    /// the password of a store that instances share.
    pub fn check(&self, settings: Settings) -> Result<AccessChange> {
        let tokens = Tokens::read(&settings.tokens)?;
        let is_same = settings.shared == self.server.settings.shared;
        let secrets = match settings.shared.as_ref().filter(|_| is_same) {
            Some(shared) => shared.secrets()?.into(),
            None => self.server.secrets.clone(),
        };
        Ok(AccessChange { server: Arc::clone(&self.server), settings, tokens, secrets })
    }
}

impl AccessChange {
    /// Lets in whom the settings name, by the tokens that were read, and nobody else: calls, sessions and streams of a principal
    /// that is gone end. Where the last token went, nobody is let in. Returns what there is to tell of the settings in words,
    /// such as those that hold from the next start only.
    pub fn make(self) -> Vec<String> {
        let Self { server, settings, tokens, secrets } = self;
        let mut door = server.door.write().unwrap_or_else(PoisonError::into_inner);
        let mut told = Vec::new();
        // That everybody may come in is for a start to say, never for what was left out while the server runs.
        let names: Vec<Option<String>> = match tokens.is_empty() {
            false => settings.tokens.keys().cloned().map(Some).collect(),
            true => door.of(None).map(|_| None).into_iter().collect(),
        };
        if names.is_empty() {
            let closed = "`server.tokens` names nobody any more, so nobody is let in; started again without tokens, the server \
                          lets in everybody on this machine";
            told.push(closed.to_owned());
        }
        let count = names.len();
        let caller = |name: Option<String>| match door.of(name.as_deref()) {
            Some(known) => Arc::clone(known),
            None => Arc::new(server.new_caller(name, count)),
        };
        let callers: Vec<_> = names.into_iter().map(caller).collect();
        let guard = Guard::new(server.address, &settings.hosts, &settings.origins);
        let before = std::mem::replace(&mut *door, Arc::new(Door::new(guard, tokens, callers)));
        let gone: Vec<_> =
            before.callers().filter(|caller| door.of(caller.principal.as_deref()).is_none()).collect();
        drop(door);
        for caller in gone {
            caller.client.end_parked();
            caller.client.end.cancel();
            server.sessions.end_of(caller.principal.as_deref());
        }
        let other = secrets.iter().filter(|secret| !server.secrets.contains(secret)).map(|(name, _)| *name);
        let fixed = settings.fixed_differences(&server.settings).into_iter().chain(other);
        told.extend(fixed.map(|name| format!("`server.{name}` has changed, and holds from the next start")));
        told
    }
}
