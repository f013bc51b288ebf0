//! One connection to a server: which era of the protocol it speaks, its tools, and calls of them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use super::link::Link;
use super::message::{Failure, RpcError};
use super::pending::ProgressSink;
use crate::tool::mirrored::Mirrored;

/// The revision whose requests say everything themselves.
const CURRENT: &str = "2026-07-28";

/// The revisions that begin with a handshake, newest first.
const HANDSHAKE: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Of the protocol: a revision that is not served.
const UNSUPPORTED_VERSION: i64 = -32022;

/// The pauses before changes are asked for again, when what told of them was cut.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Tools that are read of one server, whatever is taken of them.
const MAX_LISTED: usize = 1024;

/// Pages of a list; one may be empty.
const MAX_PAGES: usize = 64;

/// Bytes of all pages together, read one after another: twice what the most tools take whose schemas are as large as most
/// are that people use.
const MAX_LIST_BYTES: usize = 8 << 20;

/// Bytes of what names the next page.
const MAX_CURSOR_BYTES: usize = 64 << 10;

/// A connection that is ready for calls.
pub(super) struct Client {
    pub link: Link,
    is_current: bool,
    has_tools: bool,
    tells_changes: bool,
    /// Whether it is being asked if it is still there.
    pub is_doubted: AtomicBool,
    /// The calls that run there, numbered as they began.
    calls: Mutex<BTreeSet<u64>>,
    begun: AtomicU64,
}

/// A call that runs, until its answer or its caller is gone.
struct Numbered<'a> {
    calls: &'a Mutex<BTreeSet<u64>>,
    number: u64,
}

impl Drop for Numbered<'_> {
    fn drop(&mut self) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}

impl Client {
    /// Finds out what the server speaks, and greets it. The caller bounds the time.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub async fn open(link: Link) -> Result<Self, String> {
        let probing = link.request("server/discover", |_| with_terms(Map::new(), None), &[], None);
        let found = match link.probing() {
            Some(within) => tokio::time::timeout(within, probing).await.ok(),
            None => Some(probing.await),
        };
        match found {
            Some(Ok(found)) if lists(found.get("supportedVersions"), CURRENT) => {
                Ok(Self::new(link, true, found.get("capabilities")))
            }
            Some(Err(Failure::Gone(why))) => Err(why),
            Some(Err(Failure::Refused(error))) if speaks_other_revisions_alone(&error) => {
                Err(format!("it speaks none of the revisions {CURRENT} and {}", HANDSHAKE.join(", ")))
            }
            _ => Self::greet(link).await,
        }
    }

    async fn greet(link: Link) -> Result<Self, String> {
        let [newest, ..] = HANDSHAKE;
        let params = json!({ "protocolVersion": newest, "capabilities": {}, "clientInfo": client() });
        let greeted =
            link.request("initialize", |_| params, &[], None).await.map_err(|failure| failure.to_string())?;
        let version = greeted.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        let Some(version) = HANDSHAKE.into_iter().find(|known| *known == version) else {
            return Err(format!("it speaks none of the revisions {CURRENT} and {}", HANDSHAKE.join(", ")));
        };
        link.settle(version);
        link.notify("notifications/initialized").await;
        Ok(Self::new(link, false, greeted.get("capabilities")))
    }

    fn new(link: Link, is_current: bool, capabilities: Option<&Value>) -> Self {
        let tools = capabilities.and_then(|given| given.get("tools"));
        let tells_changes = tools.and_then(|tools| tools.get("listChanged")) == Some(&Value::Bool(true));
        let has_tools = tools.is_some_and(Value::is_object);
        Self {
            link,
            is_current,
            has_tools,
            tells_changes,
            is_doubted: AtomicBool::new(false),
            calls: Mutex::default(),
            begun: AtomicU64::new(0),
        }
    }

    /// The definitions of all its tools. Must be awaited on the reactor.
    ///
    /// # Errors
    /// When it does not say them, or names too many, or says too much of them.
    pub async fn list(&self) -> Result<Vec<Value>, String> {
        let (mut all, mut bytes, mut cursor) = (Vec::new(), 0_usize, None::<String>);
        if !self.has_tools {
            return Ok(all);
        }
        for _ in 0..MAX_PAGES {
            let mut params = Map::new();
            params.extend(cursor.take().map(|cursor| ("cursor".to_owned(), Value::from(cursor))));
            let page = self.request("tools/list", params, &[], None).await;
            let page = page.map_err(|failure| format!("asked for its tools: {failure}"))?;
            // Counting takes long where there is much.
            let page = tokio::task::spawn_blocking(move || Page::of(page)).await;
            let page = page.map_err(|_| "the runtime is shutting down")?;
            let Some(page) = page else { return Err("asked for its tools: it gives no list".to_owned()) };
            bytes = bytes.saturating_add(page.bytes);
            all.extend(page.tools);
            if all.len() > MAX_LISTED {
                return Err(format!("it names more than {MAX_LISTED} tools"));
            }
            if bytes > MAX_LIST_BYTES || page.cursor_bytes > MAX_CURSOR_BYTES {
                return Err(format!("its list of tools has more than {MAX_LIST_BYTES} bytes"));
            }
            match page.next {
                Some(next) => cursor = Some(next),
                None => return Ok(all),
            }
        }
        Err(format!("its list of tools has more than {MAX_PAGES} pages"))
    }

    /// The result of a call as it came.
    ///
    /// # Errors
    /// When there is none.
    pub async fn call(
        &self,
        name: &str,
        arguments: Value,
        mirrored: &[Mirrored],
        progress: Option<ProgressSink>,
    ) -> Result<Value, Failure> {
        let params =
            Map::from_iter([("name".to_owned(), Value::from(name)), ("arguments".to_owned(), arguments)]);
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).insert(number);
        let _numbered = Numbered { calls: &self.calls, number };
        self.request("tools/call", params, mirrored, progress).await
    }

    /// The number of the next call.
    pub fn next(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Whether a call runs that began before the call of that number.
    pub fn runs_one_before(&self, number: u64) -> bool {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).first().is_some_and(|first| *first < number)
    }

    /// Asks for a sign of life, and waits for whatever is answered: an error is one too. The current revision has no `ping`.
    pub async fn pulse(&self) {
        let method = if self.is_current { "server/discover" } else { "ping" };
        let _ = self.request(method, Map::new(), &[], None).await;
    }

    /// Waits for changes of the list of tools to be told, as long as the connection lasts. `changed` hears where some may
    /// have been missed. Must be awaited on the reactor.
    pub async fn subscribe(&self, changed: &Notify) {
        let mut pause = SHORTEST_PAUSE;
        while self.tells_changes && self.link.closed().is_none() {
            let begun = Instant::now();
            if !self.told().await || self.link.closed().is_some() {
                return;
            }
            pause = if begun.elapsed() > LONGEST_PAUSE { SHORTEST_PAUSE } else { pause };
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
            changed.notify_one();
        }
    }

    /// Hears of changes until that ends; with a handshake they are told unasked. Whether asking again is of use.
    async fn told(&self) -> bool {
        if !self.is_current {
            return self.link.listen().await;
        }
        let wanted = json!({ "toolsListChanged": true });
        let params = Map::from_iter([("notifications".to_owned(), wanted)]);
        match self.request("subscriptions/listen", params, &[], None).await {
            Err(Failure::Refused(_) | Failure::Unreadable) => false,
            _ => self.link.is_interrupted(),
        }
    }

    async fn request(
        &self,
        method: &str,
        params: Map<String, Value>,
        mirrored: &[Mirrored],
        progress: Option<ProgressSink>,
    ) -> Result<Value, Failure> {
        let wants_progress = progress.is_some();
        let params = |id| {
            let token = wants_progress.then_some(id);
            if self.is_current { with_terms(params, token) } else { with_token(params, token) }
        };
        self.link.request(method, params, mirrored, progress).await
    }
}

/// A part of the list of tools.
struct Page {
    tools: Vec<Value>,
    bytes: usize,
    /// What names the part after it.
    next: Option<String>,
    cursor_bytes: usize,
}

impl Page {
    /// What a result says; none if it has no list.
    fn of(mut result: Value) -> Option<Self> {
        let Some(Value::Array(tools)) = result.get_mut("tools").map(Value::take) else { return None };
        let bytes = tools.iter().map(length).fold(0, usize::saturating_add);
        let cursor_bytes = result.get("nextCursor").map_or(0, length);
        let next = result.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        Some(Self { tools, bytes, next, cursor_bytes })
    }
}

/// The bytes of a value as JSON.
fn length(value: &Value) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_) => usize::MAX,
    }
}

fn client() -> Value {
    json!({ "name": "toolcell", "version": env!("CARGO_PKG_VERSION") })
}

/// Parameters that say what client this is. It gives servers nothing, so its capabilities are none.
fn with_terms(mut params: Map<String, Value>, token: Option<u64>) -> Value {
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": CURRENT,
        "io.modelcontextprotocol/clientInfo": client(),
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    if let (Some(token), Value::Object(meta)) = (token, &mut meta) {
        meta.insert("progressToken".to_owned(), token.into());
    }
    params.insert("_meta".to_owned(), meta);
    Value::Object(params)
}

fn with_token(mut params: Map<String, Value>, token: Option<u64>) -> Value {
    params.extend(token.map(|token| ("_meta".to_owned(), json!({ "progressToken": token }))));
    Value::Object(params)
}

fn lists(versions: Option<&Value>, version: &str) -> bool {
    versions.and_then(Value::as_array).is_some_and(|known| known.iter().any(|known| known == version))
}

/// Whether a server that knows requests of this kind serves no revision that we know.
fn speaks_other_revisions_alone(error: &RpcError) -> bool {
    let supported = error.data.get("supported");
    error.code == UNSUPPORTED_VERSION && !HANDSHAKE.iter().any(|known| lists(supported, known))
}
