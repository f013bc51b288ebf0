//! One server: the connection to it as long as there is one, and what it offered last.

mod calls;
mod connecting;
mod listing;
mod pace;
mod pulse;

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use super::catalog::Listing;
use super::client::Client;
use super::reach::{Reach, made_of, place, secrets};
use crate::config::McpConfig;
use crate::error::Result;
use crate::output::{Redactor, clean};
use crate::policy::Digest;
use crate::sandbox::Sandbox;

/// Hears what there is to say to the operator.
pub(crate) type Tell = Arc<dyn Fn(String) + Send + Sync>;

/// Bytes of a message beside a result: what is around it, and how its text is escaped.
const AROUND: usize = 1 << 20;

/// Why nothing is opened any more.
const SHUTTING_DOWN: &str = "the runtime is shutting down";

/// Bytes of what a server said before it ended, in an error.
const MAX_WORDS: usize = 1 << 10;

/// A server, connected or not.
pub(crate) struct Server {
    component: String,
    name: String,
    place: Digest,
    /// The digest of all that decides how it runs.
    made_of: Digest,
    reach: Reach,
    redactor: Option<Arc<Redactor>>,
    start_timeout: Duration,
    /// Bytes of one message of it.
    most: usize,
    handle: Handle,
    places: Arc<Semaphore>,
    waiting: AtomicU32,
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Cancelled when it is ended for good, so that a connection that is being opened is given up.
    ending: CancellationToken,
    state: Mutex<State>,
    teller: OnceLock<(watch::Sender<u64>, Tell)>,
    /// Whether the tools of its settings were made of what it offers.
    is_taken: AtomicBool,
    /// Whether somebody waits, or has waited, for it to be reached.
    is_awaited: AtomicBool,
}

#[derive(Default)]
struct State {
    client: Option<Arc<Client>>,
    /// How often it failed since it last answered a call.
    failures: u32,
    retry_at: Option<Instant>,
    /// How it failed last.
    why: String,
    /// What it offered last.
    listing: Option<Arc<Listing>>,
    /// How often it was heard what it offers, and which of these times that was.
    heard: u64,
    noted: u64,
    is_closed: bool,
}

impl Server {
    /// The server that `config` describes, whose largest result has `result_bytes`: one `of` those that there are, if one of
    /// them is the same and runs or is being opened, or else a new one. Nothing is started.
    ///
    /// # Errors
    /// When a secret of it cannot be read, or its address cannot be reached by this build.
    pub fn one(
        of: &[Arc<Self>],
        config: &McpConfig,
        result_bytes: usize,
        sandbox: &Sandbox,
    ) -> Result<Arc<Self>> {
        let secrets = secrets(config)?;
        let most = result_bytes.saturating_mul(2).saturating_add(AROUND);
        let made_of = made_of(config, &secrets, most);
        if let Some(known) = of.iter().find(|known| known.made_of == made_of && known.is_of_use()) {
            return Ok(Arc::clone(known));
        }
        let (reach, redactor) = Reach::of(config, &secrets, sandbox)?;
        let places = usize::try_from(config.concurrent_calls).unwrap_or(Semaphore::MAX_PERMITS);
        Ok(Arc::new(Self {
            component: config.component(),
            name: config.name.clone(),
            place: place(config),
            made_of,
            reach,
            redactor,
            start_timeout: config.start_timeout,
            most,
            handle: sandbox.handle().clone(),
            places: Arc::new(Semaphore::new(places)),
            waiting: AtomicU32::new(0),
            turn: Arc::default(),
            ending: CancellationToken::new(),
            state: Mutex::default(),
            teller: OnceLock::new(),
            is_taken: AtomicBool::new(false),
            is_awaited: AtomicBool::new(false),
        }))
    }

    /// The digest of all that decides how it runs, its secrets among them.
    pub fn made_of(&self) -> Digest {
        self.made_of
    }

    /// Whether there is more to it than to a new one.
    fn is_of_use(&self) -> bool {
        let is_opening = self.is_opening();
        let state = self.state();
        !state.is_closed && (state.listing.is_some() || is_opening)
    }

    /// The component that its tools belong to.
    pub fn component(&self) -> &str {
        &self.component
    }

    /// Its name in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The digest of where it is.
    pub fn place(&self) -> Digest {
        self.place
    }

    /// How long it may take until it is ready.
    pub fn start_timeout(&self) -> Duration {
        self.start_timeout
    }

    /// What takes its secrets out of texts.
    pub fn redactor(&self) -> Option<&Arc<Redactor>> {
        self.redactor.as_ref()
    }

    /// Where to tell that its tools have changed, and to say which.
    pub fn tell(&self, teller: watch::Sender<u64>, tell: Tell) {
        let _ = self.teller.set((teller, tell));
    }

    /// Whether it was tried and could not be reached.
    pub fn has_failed(&self) -> bool {
        self.state().failures > 0
    }

    /// Ends it if nothing of it is in use: it was never reached.
    pub fn close_unreached(&self) {
        if self.state().listing.is_none() {
            self.close();
        }
    }

    /// Ends it for good, also while it is being opened. The token is cancelled once it is gone.
    pub fn close(&self) -> Option<CancellationToken> {
        self.ending.cancel();
        let mut state = self.state();
        state.is_closed = true;
        state.client.as_ref().map(|client| client.link.close())
    }

    /// The same, ready once it is gone, and what was being opened too.
    pub async fn closed(&self) {
        if let Some(gone) = self.close() {
            gone.cancelled().await;
        }
        drop(self.turn.lock().await);
    }

    /// What it said of its end, without secrets and short.
    pub fn words(&self, why: &str) -> String {
        let cleaned = clean(why);
        let redacted = match &self.redactor {
            Some(redactor) => Cow::Owned(redactor.text(&cleaned).into_owned()),
            None => cleaned,
        };
        let start = redacted.ceil_char_boundary(redacted.len().saturating_sub(MAX_WORDS));
        match start {
            0 => redacted.into_owned(),
            start => format!("…{}", redacted.get(start..).unwrap_or_default()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.close();
    }
}
