//! One server: the connection to it as long as there is one, and how it comes back.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;

use super::RemoteBody;
use super::catalog::{Offer, offers};
use super::client::Client;
use super::message::Failure;
use super::pending::ProgressSink;
use super::reach::{Reach, place};
use super::result::{refused, returned};
use crate::call::{CallError, ErrorKind, Returned};
use crate::config::McpConfig;
use crate::error::Result;
use crate::limits::{EffectiveLimits, Limit, advice};
use crate::output::{Redactor, clean};
use crate::policy::Digest;
use crate::sandbox::Sandbox;
use crate::tool::mirrored::{Mirrored, mirrored};

/// Calls that may wait for their turn at one server, as many as wait for cells by default.
const MAX_WAITING: u32 = 1024;

/// How long one may wait, as long as for a cell by default.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest pause before a server is started again.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Changes of a list that follow each other this closely are one.
const TOGETHER: Duration = Duration::from_millis(250);

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

/// A waiting call; leaving the queue in whatever way is counted.
struct Queued<'a>(&'a AtomicU32);

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
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

    /// A place among the calls that run there. Must be polled where timers are in reach.
    ///
    /// # Errors
    /// `busy`, with the setting that allows more.
    pub async fn enter(&self) -> std::result::Result<OwnedSemaphorePermit, CallError> {
        if let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() {
            return Ok(permit);
        }
        let busy = |what: &str| {
            let message = format!("{what} for this tool's server; try again later");
            CallError::new(ErrorKind::Busy, message)
                .help(format!("raise `{}.concurrent_calls`", self.component))
        };
        let _queued = Queued(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= MAX_WAITING {
            return Err(busy("too many calls are waiting"));
        }
        match tokio::time::timeout(PATIENCE, Arc::clone(&self.places).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(busy("calls have been waiting for half a minute")),
        }
    }

    /// Calls a tool. Dropping the future tells the server that nobody waits any more.
    ///
    /// # Errors
    /// When there is no result.
    pub async fn call(
        self: &Arc<Self>,
        tool: &RemoteBody,
        arguments: Value,
        mirrored: &[Mirrored],
        progress: Option<ProgressSink>,
        limits: &EffectiveLimits,
    ) -> std::result::Result<Returned, CallError> {
        let mut answered = self.try_call(tool, arguments.clone(), mirrored, progress.clone()).await?;
        if matches!(answered, Err(Failure::Expired)) {
            // It forgets sessions that nobody uses, and has not taken the call.
            answered = self.try_call(tool, arguments, mirrored, progress).await?;
        }
        match answered {
            Ok(result) => {
                self.state().failures = 0;
                returned(result)
            }
            Err(Failure::Refused(error)) => {
                self.state().failures = 0;
                Ok(refused(&error))
            }
            Err(Failure::TooLong) => Err(too_long(limits)),
            Err(Failure::Unreadable) => {
                let message = "the tool's server gave no result that can be read";
                Err(CallError::new(ErrorKind::ToolError, message))
            }
            Err(failure @ (Failure::Gone(_) | Failure::Expired | Failure::Status(_))) => {
                Err(self.unavailable(&failure.to_string()))
            }
        }
    }

    async fn try_call(
        self: &Arc<Self>,
        tool: &RemoteBody,
        arguments: Value,
        mirrored: &[Mirrored],
        progress: Option<ProgressSink>,
    ) -> std::result::Result<std::result::Result<Value, Failure>, CallError> {
        let client = self.client().await?;
        // It may have come back as another.
        if self.offered(&tool.name) != Some(tool.identity) {
            let message = "the tool is not what it was when it was approved, and is off";
            let help = format!("`toolcell list` says what became of `{}.{}`", self.component, tool.name);
            return Err(CallError::new(ErrorKind::ToolInactive, message).help(help));
        }
        let answered = client.call(&tool.name, arguments, mirrored, progress).await;
        if matches!(answered, Err(Failure::Expired)) {
            let mut state = self.state();
            if state.client.as_ref().is_some_and(|known| Arc::ptr_eq(known, &client)) {
                state.client = None;
            }
        }
        Ok(answered)
    }

    /// Ends it for good. The token is cancelled once it is gone.
    pub fn close(&self) -> Option<CancellationToken> {
        let mut state = self.state();
        state.is_closed = true;
        state.client.take().map(|client| client.link.close())
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
        let back = back.await.unwrap_or_else(|_| Err("the runtime is shutting down".to_owned()));
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
            _ if state.is_closed => Err("the runtime is shutting down".to_owned()),
            Some(left) if !left.is_zero() => {
                let left = humantime::format_duration(Duration::from_secs(left.as_secs() + 1));
                Err(format!("{}; it is started again in {left}", state.why))
            }
            _ => Ok(()),
        }
    }

    async fn connect(self: &Arc<Self>) -> std::result::Result<(Vec<Offer>, Vec<(String, String)>), String> {
        let changed = Arc::new(Notify::new());
        let opening = async {
            let client =
                Client::open(self.reach.link(self.most, &self.handle, Arc::clone(&changed)).await?).await?;
            let definitions = client.list().await?;
            Ok((client, definitions))
        };
        let opened = tokio::time::timeout(self.start_timeout, opening).await.unwrap_or_else(|_| {
            let time = humantime::format_duration(self.start_timeout);
            Err(format!("it was not ready within {time}; raise `{}.start_timeout`", self.component))
        });
        let (client, definitions) = match opened {
            Ok(opened) => opened,
            Err(why) => {
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
        {
            let mut state = self.state();
            if state.is_closed {
                return Err("the runtime is shutting down".to_owned());
            }
            state.client = Some(Arc::clone(&client));
        }
        self.note(&offers);
        tokio::spawn(follow(Arc::downgrade(self), Arc::downgrade(&client), Arc::clone(&changed)));
        tokio::spawn(async move { client.subscribe(&changed).await });
        Ok((offers, refused))
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

    fn unavailable(&self, why: &str) -> CallError {
        let message = "the tool's server cannot be reached; try again later";
        let help = format!("`{}`: {}", self.component, self.words(why));
        CallError::new(ErrorKind::Unavailable, message).help(help)
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

fn too_long(limits: &EffectiveLimits) -> CallError {
    let allowed = limits.get(Limit::ResultBytes);
    let hit = limits.hit(Limit::ResultBytes, allowed.saturating_add(1));
    let message = format!("the result is larger than {}; ask for a smaller part", hit.allowed);
    CallError::new(ErrorKind::ResultTooLarge, message).help(advice(&hit)).limit(hit)
}
