//! Other instances of this server: sessions that began at one of them, and messages that one gets for another.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use hyper::body::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Handle;

use super::caller::{Caller, Key};
use super::listen::Server;
use super::sessions::{InUse, Opened};
use crate::error::{Error, Result};
use crate::server::mcp::connection::Connection;
use crate::server::mcp::frame::read;
use crate::server::mcp::shared::Shared;
use crate::server::mcp::speech::Level;
use crate::server::mcp::version::{HANDSHAKE, Terms};
use crate::server::mcp::writer::Writer;
use crate::shared::SharedStore;

/// Where instances tell each other.
const CHANNEL: &str = "messages";

/// How often the store is asked whether it is there, for those who want to know at once.
const LOOK: Duration = Duration::from_secs(2);

/// How long to wait before the store is listened to again.
const PAUSE: Duration = Duration::from_secs(1);

/// What stands in the place of a message where a session has ended.
const ENDED: &[u8] = b"";

/// The other instances.
pub(super) struct Instances {
    pub shared: Arc<Shared>,
    /// What tells this instance's own messages from those of others.
    own: [u8; 16],
    /// How long a session lives that nobody uses.
    life: Duration,
    /// Whether the store answered when it was last asked.
    pub is_there: AtomicBool,
}

/// A session as another instance takes it up.
#[derive(Serialize, Deserialize)]
struct Record {
    owner: Option<String>,
    version: String,
    elicits: bool,
    level: Option<String>,
}

impl Instances {
    /// The instances that share `store`, and have the same `secret`; sessions live for `life`.
    ///
    /// # Errors
    /// When there are no random bytes.
    pub fn new(store: Arc<SharedStore>, secret: &str, life: Duration) -> Result<Self> {
        let failed =
            |what: &str| Error::Sandbox { message: format!("cannot share with other instances: {what}") };
        let mut own = [0; 16];
        getrandom::fill(&mut own).map_err(|_| failed("there are no random bytes"))?;
        let shared = Shared::new(store, secret.as_bytes()).ok_or_else(|| failed("the key cannot be used"))?;
        Ok(Self { shared: Arc::new(shared), own, life, is_there: AtomicBool::new(true) })
    }

    /// Writes a session down, so that others can take it up.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn keep(&self, id: &str, owner: Option<&str>, terms: &Terms) -> io::Result<()> {
        let record = Record {
            owner: owner.map(str::to_owned),
            version: terms.version.to_owned(),
            elicits: terms.elicits,
            level: terms.level.map(|level| level.name().to_owned()),
        };
        let (name, life) = (name(id), self.life);
        self.asked(move |store| store.set(&name, &serde_json::to_vec(&record)?, life)).await
    }

    /// Forgets a session everywhere.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn end(&self, id: &str) -> io::Result<()> {
        let (name, message) = (name(id), self.message(id, ENDED));
        self.asked(move |store| {
            store.remove(&name)?;
            store.publish(CHANNEL, &message)
        })
        .await
    }

    /// Tells the others what came for a session that one of them may have a question or a call of.
    pub async fn tell(&self, id: &str, message: &Bytes) {
        let message = self.message(id, message);
        // Where nobody hears it, a call goes on to its time.
        let _ = self.asked(move |store| store.publish(CHANNEL, &message)).await;
    }

    /// Notes that a session is in use here; whether it is still there.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn renew(&self, id: &str) -> io::Result<bool> {
        let (name, life) = (name(id), self.life);
        Ok(self.asked(move |store| store.renew(&name, life)).await?.is_some())
    }

    async fn find(&self, id: &str, owner: Option<&str>) -> io::Result<Option<Terms>> {
        let (name, life) = (name(id), self.life);
        let found = self.asked(move |store| store.renew(&name, life)).await?;
        let record: Option<Record> = found.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Ok(record.filter(|record| record.owner.as_deref() == owner).and_then(|record| record.terms()))
    }

    /// Asks the store again and again whether it is there.
    async fn watch(&self) {
        loop {
            let is_there = self.asked(|store| store.check()).await.is_ok();
            self.is_there.store(is_there, Ordering::Relaxed);
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Asks the store, on a thread that may wait for it.
    async fn asked<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&SharedStore) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let store = Arc::clone(&self.shared.store);
        tokio::task::spawn_blocking(move || ask(&store)).await.map_err(io::Error::other)?
    }

    fn message(&self, id: &str, message: &[u8]) -> Vec<u8> {
        [self.own.as_slice(), &digest(id), message].concat()
    }
}

impl Record {
    fn terms(self) -> Option<Terms> {
        let version = HANDSHAKE.into_iter().find(|known| *known == self.version)?;
        let level = self.level.as_deref().and_then(Level::named);
        Some(Terms { version, elicits: self.elicits, level, progress: None })
    }
}

impl Server {
    /// A session that began at another instance, from now on here too; none if it is of nobody's, or of another principal.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub(super) async fn join(&self, id: &str, caller: &Caller) -> io::Result<Option<InUse>> {
        let Some(instances) = &self.instances else { return Ok(None) };
        let owner = caller.principal.as_deref();
        let Some(terms) = instances.find(id, owner).await? else { return Ok(None) };
        let client = self.client(id, caller);
        let connection = Arc::new(Connection::taken_up(Arc::new(client), terms));
        Ok(self.sessions.open(Opened { id, connection, owner }))
    }

    /// Watches the store that instances share, if there is one.
    pub(super) async fn watch_store(&self) {
        match &self.instances {
            Some(instances) => instances.watch().await,
            None => std::future::pending().await,
        }
    }

    /// Hears what other instances tell, on a thread of its own, for as long as there is this server.
    pub(super) fn hear(self: &Arc<Self>) {
        let Some(instances) = &self.instances else { return };
        let (server, handle) = (Arc::downgrade(self), Handle::current());
        let (store, own) = (Arc::clone(&instances.shared.store), instances.own);
        let listening = move || {
            while server.strong_count() > 0 {
                let _ = store.subscribe(CHANNEL, |message| heard(&server, &own, message, &handle));
                std::thread::sleep(PAUSE);
            }
        };
        // Without it, what comes to the wrong instance is not heard, as while the store cannot be reached.
        let _ = std::thread::Builder::new().name("mcp-instances".to_owned()).spawn(listening);
    }
}

/// Does what another instance's message is for; whether to hear more.
fn heard(server: &Weak<Server>, own: &[u8; 16], message: Option<&[u8]>, handle: &Handle) -> bool {
    let Some(server) = server.upgrade() else { return false };
    let parts = message.and_then(|message| {
        let (sender, rest) = message.split_first_chunk::<16>()?;
        let (session, message) = rest.split_first_chunk::<32>()?;
        (sender != own).then_some((session, message))
    });
    let Some((digest, message)) = parts else { return true };
    if message == ENDED {
        server.sessions.end_by(digest);
        return true;
    }
    if let (Some(session), Ok(message)) = (server.sessions.find_by(digest), read(message)) {
        handle.spawn(async move {
            let (nobody, _) = Writer::channel(&session.connection.client.room);
            session.connection.receive(message, &nobody).await;
        });
    }
    true
}

impl Key {
    /// The key that all instances make of their secret.
    pub fn of(secret: &str) -> Self {
        let key: [u8; 32] =
            Sha256::new().chain_update(b"toolcell sessions 1").chain_update(secret).finalize().into();
        Self::from(key)
    }
}

/// What a session is known by in the store, where nobody reads its handle.
pub(super) fn digest(id: &str) -> [u8; 32] {
    Sha256::digest(id).into()
}

fn name(id: &str) -> String {
    let digits: String = digest(id).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("session:{digits}")
}
