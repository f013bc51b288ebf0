//! Principals with what each has at this server, whatever connections and sessions it comes by.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::config::Server as Settings;
use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::server::mcp::approval::Answers;
use crate::server::mcp::client::{Client, Observer};
use crate::server::mcp::room::{ARRIVING, Room};
use crate::server::mcp::shared::Shared;

/// A principal. Without tokens there is one, whoever asks.
pub(super) struct Caller {
    /// Its name in the settings.
    pub principal: Option<String>,
    /// What its requests outside of sessions belong to.
    pub client: Arc<Client>,
    pub places: Places,
}

/// What a principal may have under way. Each kind has places of its own, so that no kind keeps another out.
pub(super) struct Places {
    /// Requests that are to be answered.
    pub requests: Arc<Semaphore>,
    /// Messages that are being received, and those that are no requests: what a call waits for must reach it when all
    /// places for requests are taken by calls that ask.
    pub messages: Arc<Semaphore>,
    /// Requests that only listen.
    pub listening: Arc<Semaphore>,
}

impl Places {
    pub fn new(settings: &Settings) -> Self {
        let places = |count: u32| {
            let count = usize::try_from(count).unwrap_or(Semaphore::MAX_PERMITS);
            Arc::new(Semaphore::new(count))
        };
        Self {
            requests: places(settings.requests),
            messages: places(settings.requests),
            listening: places(settings.sessions),
        }
    }
}

/// What the names of sessions are made of, so that nobody finds them by knowing a principal's.
pub(super) struct Key([u8; 32]);

impl Key {
    /// A key of this process alone.
    ///
    /// # Errors
    /// When the operating system gives no random bytes.
    pub fn random() -> Result<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)
            .map_err(|error| Error::Sandbox { message: format!("no random bytes for a key: {error}") })?;
        Ok(Self(key))
    }

    /// The name of what belongs to `principal` outside of sessions.
    fn of_principal(&self, principal: Option<&str>) -> String {
        self.name("principal", principal.unwrap_or_default())
    }

    /// The name of what belongs to the session of that handle.
    pub fn of_session(&self, id: &str) -> String {
        self.name("session", id)
    }

    /// Hashed twice with the key in front, so that no hash can be continued.
    fn name(&self, kind: &str, of: &str) -> String {
        let hash =
            |text: &[u8]| Sha256::new().chain_update(self.0).chain_update(kind).chain_update(text).finalize();
        let hash = hash(&hash(of.as_bytes()));
        let digits: String = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        format!("mcp-{digits}")
    }
}

impl From<[u8; 32]> for Key {
    fn from(key: [u8; 32]) -> Self {
        Self(key)
    }
}

impl Caller {
    pub fn new(
        runtime: &Runtime,
        principal: Option<String>,
        key: &Key,
        (places, room): (Places, Room),
        (observer, end): (Observer, CancellationToken),
        shared: Option<Arc<Shared>>,
    ) -> Self {
        let session = runtime.session(key.of_principal(principal.as_deref()));
        let session = match &principal {
            Some(name) => session.user(name),
            None => session,
        };
        let client = Client::new(runtime.clone(), session).observed(observer, end).shared(shared);
        let client = client
            .within(room, Room::new(ARRIVING))
            .answering(Answers::of_principal(principal.as_deref(), false));
        Self { principal, client: Arc::new(client), places }
    }
}
