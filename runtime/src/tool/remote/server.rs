//! One server: the connection to it as long as there is one, and how it comes back.

mod calls;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::sync::CancellationToken;

use super::catalog::{Offer, offers};
use super::client::Client;
use super::link::Link;
use super::reach::{Reach, place};
use crate::call::CallError;
use crate::config::McpConfig;
use crate::error::Result;
use crate::output::{Redactor, clean};
use crate::policy::Digest;
use crate::sandbox::Sandbox;
use crate::tool::mirrored::mirrored;

/// The shortest pause before one is tried again that was not there at the start.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause before a server is started again.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Changes of a list that follow each other this closely are one.
const TOGETHER: Duration = Duration::from_millis(250);

/// Why nothing is opened any more.
const SHUTTING_DOWN: &str = "the runtime is shutting down";

/// Bytes of a message beside a result: what is around it, and how its text is escaped.
const AROUND: usize = 1 << 20;

/// Bytes of what a server said before it ended, in an error.
const MAX_WORDS: usize = 1 << 10;

/// A server, connected or not.
pub(crate) struct Server {
    component: String,
    name: String,
    place: Digest,
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
    teller: OnceLock<watch::Sender<u64>>,
}

#[derive(Default)]
struct State {
    client: Option<Arc<Client>>,
    /// How often it failed since it last answered a call.
    failures: u32,
    retry_at: Option<Instant>,
    /// How it failed last.
    why: String,
    /// Its tools as it offered them last.
    offered: BTreeMap<String, Digest>,
    is_closed: bool,
}

impl Server {
    /// The server that `config` describes, whose largest result has `result_bytes`. Nothing is started.
    ///
    /// # Errors
    /// When a secret of it cannot be read, or its address cannot be reached by this build.
    pub fn new(config: &McpConfig, result_bytes: usize, sandbox: &Sandbox) -> Result<Self> {
        let (reach, redactor) = Reach::of(config, sandbox)?;
        let places = usize::try_from(config.concurrent_calls).unwrap_or(Semaphore::MAX_PERMITS);
        Ok(Self {
            component: config.component(),
            name: config.name.clone(),
            place: place(config),
            reach,
            redactor,
            start_timeout: config.start_timeout,
            most: result_bytes.saturating_mul(2).saturating_add(AROUND),
            handle: sandbox.handle().clone(),
            places: Arc::new(Semaphore::new(places)),
            waiting: AtomicU32::new(0),
            turn: Arc::default(),
            ending: CancellationToken::new(),
            state: Mutex::default(),
            teller: OnceLock::new(),
        })
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

    /// What takes its secrets out of texts.
    pub fn redactor(&self) -> Option<&Arc<Redactor>> {
        self.redactor.as_ref()
    }

    /// The identity of a tool as it was offered last.
    pub fn offered(&self, tool: &str) -> Option<Digest> {
        self.state().offered.get(tool).copied()
    }

    /// The identities of all its tools.
    pub fn all_offered(&self) -> BTreeMap<String, Digest> {
        self.state().offered.clone()
    }

    /// Where to tell that its tools have changed.
    pub fn tell(&self, teller: watch::Sender<u64>) {
        let _ = self.teller.set(teller);
    }

    /// Starts it and asks for its tools; also why others are none. Must be awaited on the reactor.
    ///
    /// # Errors
    /// Why there is no connection, for its operator.
    pub(super) async fn open(
        self: &Arc<Self>,
    ) -> std::result::Result<(Vec<Offer>, Vec<(String, String)>), String> {
        let _turn = Arc::clone(&self.turn).lock_owned().await;
        self.connect().await
    }

    /// Whether it has not been reached yet.
    pub fn is_absent(&self) -> bool {
        let state = self.state();
        state.client.is_none() && state.offered.is_empty() && !state.is_closed
    }

    /// Goes on trying to reach a server that was not there, with ever longer pauses; what it offers once it is. None where
    /// nobody needs it any more. Must be awaited on the reactor.
    pub(super) async fn arrives(server: Weak<Self>) -> Option<(Vec<Offer>, Vec<(String, String)>)> {
        loop {
            let pause = {
                let state = server.upgrade()?;
                let state = state.state();
                let left = state.retry_at.map(|at| at.saturating_duration_since(Instant::now()));
                left.unwrap_or_default().max(SHORTEST_PAUSE)
            };
            tokio::time::sleep(pause).await;
            let server = server.upgrade()?;
            if !server.is_absent() {
                return None;
            }
            if let Ok(found) = server.open().await {
                return Some(found);
            }
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
        let redacted = match &self.redactor {
            Some(redactor) => redactor.text(why),
            None => why.into(),
        };
        let cleaned = clean(&redacted);
        let start = cleaned.ceil_char_boundary(cleaned.len().saturating_sub(MAX_WORDS));
        match start {
            0 => cleaned.into_owned(),
            start => format!("…{}", cleaned.get(start..).unwrap_or_default()),
        }
    }

    async fn client(self: &Arc<Self>) -> std::result::Result<Arc<Client>, CallError> {
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
        let back = back.await.unwrap_or_else(|_| Err(SHUTTING_DOWN.to_owned()));
        back.map_err(|why| self.unavailable(&why))
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

    fn may_start(&self) -> std::result::Result<(), String> {
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

    async fn connect(self: &Arc<Self>) -> std::result::Result<(Vec<Offer>, Vec<(String, String)>), String> {
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
        let (mut offers, mut refused) = offers(&self.name, definitions);
        if self.reach.has_headers() {
            offers.retain(|offer| match mirrored(&offer.input_schema) {
                Ok(_) => true,
                Err(why) => {
                    refused.push((offer.name.clone(), format!("its input schema: {why}")));
                    false
                }
            });
        }
        if !self.begun(&client) {
            drop(client);
            if let Some(gone) = gone {
                gone.cancelled().await;
            }
            return Err(SHUTTING_DOWN.to_owned());
        }
        self.note(&offers);
        tokio::spawn(follow(Arc::downgrade(self), Arc::downgrade(&client), Arc::clone(&changed)));
        tokio::spawn(async move { client.subscribe(&changed).await });
        Ok((offers, refused))
    }

    /// Takes a connection into use, unless none is wanted any more.
    fn begun(&self, client: &Arc<Client>) -> bool {
        let mut state = self.state();
        if !state.is_closed {
            state.client = Some(Arc::clone(client));
        }
        !state.is_closed
    }

    /// Keeps what it offers, and tells if that is another offer.
    fn note(&self, offers: &[Offer]) {
        let offered: BTreeMap<String, Digest> =
            offers.iter().map(|offer| (offer.name.clone(), offer.identity)).collect();
        let before = std::mem::replace(&mut self.state().offered, offered.clone());
        if before != offered
            && let Some(teller) = self.teller.get()
        {
            teller.send_modify(|count| *count += 1);
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
async fn opened(link: Link) -> std::result::Result<(Client, Vec<Value>), String> {
    let client = Client::open(link).await?;
    let definitions = client.list().await?;
    Ok((client, definitions))
}

/// Asks for the tools again whenever they have changed, as long as the connection lasts.
async fn follow(server: Weak<Server>, client: Weak<Client>, changed: Arc<Notify>) {
    loop {
        changed.notified().await;
        tokio::time::sleep(TOGETHER).await;
        let (Some(server), Some(client)) = (server.upgrade(), client.upgrade()) else { return };
        if client.link.closed().is_some() {
            return;
        }
        if let Ok(Ok(definitions)) = tokio::time::timeout(server.start_timeout, client.list()).await {
            server.note(&offers(&server.name, definitions).0);
        }
    }
}
