//! Sessions that a handshake began, each under a handle of ours that only its principal can use.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::AbortHandle;

use super::instances::digest;
use crate::error::Result;
use crate::output::Handle;
use crate::server::mcp::changes;
use crate::server::mcp::connection::Connection;

/// The sessions of all principals.
pub(super) struct Sessions {
    all: Mutex<HashMap<String, Arc<Session>>>,
    /// How many a principal may have.
    most: usize,
    /// For how long one lives that nobody uses.
    idle: Duration,
}

/// One session.
pub(super) struct Session {
    pub id: String,
    pub owner: Option<String>,
    pub connection: Arc<Connection>,
    usage: Mutex<Usage>,
    watching: AbortHandle,
    /// What other instances know it by.
    digest: [u8; 32],
    /// When they last heard that it is used.
    renewed: Mutex<Instant>,
}

/// A session that begins, here or elsewhere.
pub(super) struct Opened<'a> {
    pub id: &'a str,
    pub connection: Arc<Connection>,
    pub owner: Option<&'a str>,
}

/// Requests and streams that are under way, and since when there are as many.
struct Usage {
    count: usize,
    since: Instant,
}

/// A session that is used, and therefore not idle.
pub(super) struct InUse(Arc<Session>);

impl Sessions {
    pub fn new(most: usize, idle: Duration) -> Self {
        Self { all: Mutex::default(), most, idle }
    }

    /// A handle for a session, which nobody can guess.
    ///
    /// # Errors
    /// When there are no random bytes.
    pub fn handle() -> Result<String> {
        Ok(Handle::random()?.as_str().trim_start_matches("o-").to_owned())
    }

    /// Opens a session, unless it is open; where the principal has too many, in place of the one that was idle for longest.
    /// None where all of them are in use.
    pub fn open(&self, opened: Opened<'_>) -> Option<InUse> {
        let Opened { id, connection, owner } = opened;
        let mut all = self.all();
        if let Some(known) = all.get(id) {
            return Some(InUse::of(Arc::clone(known)));
        }
        let own = all.values().filter(|session| session.owner.as_deref() == owner);
        if own.clone().count() >= self.most {
            let idle = own.filter_map(|session| Some((session.idle_since()?, session.id.clone())));
            let (_, id) = idle.min()?;
            all.remove(&id).iter().for_each(|session| session.end());
        }
        let watching = tokio::spawn(changes::watch(Arc::clone(&connection))).abort_handle();
        let usage = Mutex::new(Usage { count: 0, since: Instant::now() });
        let owner = owner.map(str::to_owned);
        let renewed = Mutex::new(Instant::now());
        let digest = digest(id);
        let session = Session { id: id.to_owned(), owner, connection, usage, watching, digest, renewed };
        let session = Arc::new(session);
        all.insert(id.to_owned(), Arc::clone(&session));
        Some(InUse::of(session))
    }

    /// The session of that handle, if it is this principal's. Another's is not there.
    pub fn find(&self, id: &str, owner: Option<&str>) -> Option<InUse> {
        let session = self.all().get(id).filter(|session| session.owner.as_deref() == owner).cloned();
        session.map(InUse::of)
    }

    /// Ends a session with everything that runs in it; whether it was there.
    pub fn end(&self, id: &str, owner: Option<&str>) -> bool {
        let mut all = self.all();
        if all.get(id).is_none_or(|session| session.owner.as_deref() != owner) {
            return false;
        }
        if let Some(session) = all.remove(id) {
            session.connection.client.is_over();
            session.end();
        }
        true
    }

    /// Ends all of a principal.
    pub fn end_of(&self, owner: Option<&str>) {
        self.all().retain(|_, session| {
            let is_over = session.owner.as_deref() == owner;
            if is_over {
                session.end();
            }
            !is_over
        });
    }

    /// The session that other instances know by this digest.
    pub fn find_by(&self, digest: &[u8; 32]) -> Option<InUse> {
        self.all().values().find(|session| session.digest == *digest).cloned().map(InUse::of)
    }

    /// Ends the session that other instances know by this digest.
    pub fn end_by(&self, digest: &[u8; 32]) {
        self.all().retain(|_, session| {
            let is_over = session.digest == *digest;
            if is_over {
                session.connection.client.is_over();
                session.end();
            }
            !is_over
        });
    }

    /// Ends those that were idle for too long.
    pub fn sweep(&self) {
        self.all().retain(|_, session| {
            let is_over = session.idle_since().is_some_and(|since| since.elapsed() >= self.idle);
            if is_over {
                session.end();
            }
            !is_over
        });
    }

    /// Ends their streams, and lets their calls go on.
    pub fn unlisten(&self) {
        self.all().values().for_each(|session| session.connection.unlisten());
    }

    /// Ends all of them.
    pub fn end_all(&self) {
        self.all().drain().for_each(|(_, session)| session.end());
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all().len()
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// Whether other instances are to hear again that it is used, which they hear a few times in the life of one.
    pub fn is_to_be_renewed(&self, life: Duration) -> bool {
        let mut renewed = self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = renewed.elapsed() >= life / 4;
        if is_due {
            *renewed = Instant::now();
        }
        is_due
    }

    fn idle_since(&self) -> Option<Instant> {
        let usage = self.usage();
        (usage.count == 0).then_some(usage.since)
    }

    fn end(&self) {
        self.watching.abort();
        self.connection.unlisten();
        self.connection.close_questions();
        self.connection.client.end.cancel();
    }

    fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InUse {
    fn of(session: Arc<Session>) -> Self {
        session.usage().count += 1;
        Self(session)
    }
}

impl Deref for InUse {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.0
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        let mut usage = self.0.usage();
        usage.count -= 1;
        usage.since = Instant::now();
    }
}
