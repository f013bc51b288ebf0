//! A server that is reached over HTTP: a request for each message of ours, answered by one message or by a stream of events.
//!
//! In reading order: `place` is where it is, `exchange` one message and its answer, `events` what streams are made of.

mod events;
mod exchange;
mod place;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{HeaderName, HeaderValue, Request};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::message::{self, Failure};
use super::pending::ProgressSink;
use super::reader::Reader;
use crate::tool::mirrored::{Mirrored, encoded};
use exchange::{Asked, SESSION};
use place::Body;
pub(super) use place::{Described, Place};

/// The header that names a request's revision.
const VERSION: &str = "mcp-protocol-version";

/// Where a message names its revision.
const VERSION_IN_MESSAGE: &str = "/_meta/io.modelcontextprotocol~1protocolVersion";

/// Bytes of a session's name.
const MAX_SESSION: usize = 1 << 10;

/// Answers to what the server asks that are on their way at once. Who asks more has to do without.
const MAX_ANSWERS: usize = 8;

/// How long a message that nobody waits for may take.
const TELLING: Duration = Duration::from_secs(10);

/// How long the server may take to hear that its session is over.
const LINGERING: Duration = Duration::from_millis(500);

/// A server that is reached over HTTP. Dropping it ends its session.
pub(super) struct Http {
    shared: Arc<Shared>,
}

/// What everything that is under way shares.
struct Shared {
    place: Arc<Place>,
    /// Bytes of a message.
    most: usize,
    handle: Handle,
    reader: Reader,
    /// Hears that the list of tools has changed.
    changed: Arc<Notify>,
    last: AtomicU64,
    state: Mutex<State>,
    answers: Arc<Semaphore>,
    /// No more requests.
    over: CancellationToken,
    /// Ends those that are under way too.
    stop: CancellationToken,
    gone: CancellationToken,
}

#[derive(Default)]
struct State {
    /// The revision of a handshake.
    version: Option<&'static str>,
    session: Option<HeaderValue>,
    /// Why there are no more requests.
    closed: Option<String>,
}

impl Http {
    /// A way to `place`, driven by the reactor of `handle`. `changed` hears of changes of the list of tools; a message has
    /// at most `most` bytes. Nothing is sent yet.
    pub fn new(place: Arc<Place>, most: usize, handle: Handle, changed: Arc<Notify>) -> Self {
        let over = CancellationToken::new();
        let shared = Shared {
            place,
            most,
            handle,
            reader: Reader::default(),
            changed,
            last: AtomicU64::new(0),
            state: Mutex::default(),
            answers: Arc::new(Semaphore::new(MAX_ANSWERS)),
            stop: CancellationToken::new(),
            over,
            gone: CancellationToken::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// What the server answers. Dropping the future closes what would bring the answer, by which the server knows.
    pub async fn request(
        &self,
        method: &str,
        params: impl FnOnce(u64) -> Value,
        mirrored: &[Mirrored],
        progress: Option<ProgressSink>,
    ) -> Result<Value, Failure> {
        let shared = &self.shared;
        if let Some(why) = &shared.state().closed {
            return Err(Failure::Gone(why.clone()));
        }
        let id = shared.last.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let params = params(id);
        let is_current = params.pointer(VERSION_IN_MESSAGE).is_some();
        let request = shared.message(id, method, params, mirrored)?;
        let (is_handshake, is_subscription) = (method == "initialize", method == "subscriptions/listen");
        let asked = Asked {
            id,
            request,
            progress,
            is_handshake,
            is_in_session: !is_current && shared.is_in_session(),
            is_subscription,
        };
        // A subscription is one of what there will be, which ends with the last request.
        let end = if is_subscription { &shared.over } else { &shared.stop }.clone();
        let exchange = Arc::clone(shared).exchange(asked);
        let task = shared.handle.spawn(async move {
            tokio::select! {
                biased;
                () = end.cancelled() => Err(Failure::Gone("the server was stopped".to_owned())),
                end = exchange => end,
            }
        });
        let mut waiting =
            Waiting { shared, task: task.abort_handle(), told: (!is_current && !is_handshake).then_some(id) };
        let end =
            task.await.unwrap_or_else(|_| Err(Failure::Gone("the runtime is shutting down".to_owned())));
        waiting.told = None;
        if matches!(end, Err(Failure::Expired)) {
            shared.state().session = None;
        }
        end
    }

    /// Says something that is not answered, and waits until it was taken.
    pub async fn notify(&self, method: &str) {
        let _ = self.shared.tell(message::notification(method, None)).await;
    }

    /// Hears what belongs to no request, as long as there is a stream of that. False where there is none.
    pub async fn listen(&self) -> bool {
        let shared = &self.shared;
        let (end, listening) =
            (shared.over.clone(), Arc::clone(shared).listen(shared.in_session(shared.place.get())));
        let task = shared.handle.spawn(async move {
            tokio::select! {
                biased;
                () = end.cancelled() => false,
                goes_on = listening => goes_on,
            }
        });
        let _waiting = Waiting { shared, task: task.abort_handle(), told: None };
        task.await.unwrap_or(false)
    }

    /// Notes the revision that both sides speak from now on.
    pub fn settle(&self, version: &'static str) {
        self.shared.state().version = Some(version);
    }

    /// Why nothing can come of another request, if so.
    pub fn closed(&self) -> Option<String> {
        self.shared.state().closed.clone()
    }

    /// The same as [`close`](Self::close), and says why to whoever asks later.
    pub fn give_up(&self, why: &str) -> CancellationToken {
        let _ = self.shared.lost(why);
        self.close()
    }

    /// Ends it. The token is cancelled once the server has heard so.
    pub fn close(&self) -> CancellationToken {
        let shared = &self.shared;
        let _ = shared.lost("the server was stopped");
        let (is_closing, session) = {
            let mut state = shared.state();
            let is_closing = shared.stop.is_cancelled();
            shared.stop.cancel();
            (is_closing, state.session.take())
        };
        match session {
            // Whoever began with it says when the server has heard.
            None if is_closing => {}
            None => shared.gone.cancel(),
            Some(session) => {
                let mut request = shared.in_session(shared.place.delete());
                request.headers_mut().insert(SESSION, session);
                let shared = Arc::clone(shared);
                self.shared.handle.spawn(async move {
                    let _gone = shared.gone.clone().drop_guard();
                    let _ = timeout(LINGERING, Arc::clone(&shared).tell_request(request)).await;
                });
            }
        }
        shared.gone.clone()
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    /// A request with a message, whose headers say what the message says.
    ///
    /// # Errors
    /// When an argument cannot stand in a header.
    fn message(
        &self,
        id: u64,
        method: &str,
        params: Value,
        mirrored: &[Mirrored],
    ) -> Result<Request<Body>, Failure> {
        let Some(version) = params.pointer(VERSION_IN_MESSAGE).and_then(Value::as_str).map(str::to_owned)
        else {
            return Ok(self.in_session(self.place.post(message::request(id, method, params))));
        };
        let mut headers = vec![(VERSION.to_owned(), version), ("mcp-method".to_owned(), method.to_owned())];
        if method == "tools/call" {
            let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
            headers.push(("mcp-name".to_owned(), encoded(name).into_owned()));
            let arguments = params.get("arguments").unwrap_or(&Value::Null);
            let values = mirrored.iter().filter_map(|one| Some((one.header.clone(), one.value(arguments)?)));
            headers.extend(values.map(|(name, value)| (name, encoded(&value).into_owned())));
        }
        let mut request = self.place.post(message::request(id, method, params));
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| Failure::Unreadable)?;
            let value = HeaderValue::from_str(&value).map_err(|_| Failure::Unreadable)?;
            request.headers_mut().insert(name, value);
        }
        Ok(request)
    }

    /// The request as one of the session that a handshake began.
    fn in_session(&self, mut request: Request<Body>) -> Request<Body> {
        let state = self.state();
        let version = state.version.map(HeaderValue::from_static);
        for (name, value) in [(VERSION, version), (SESSION, state.session.clone())] {
            if let Some(value) = value {
                request.headers_mut().insert(name, value);
            }
        }
        request
    }

    fn is_in_session(&self) -> bool {
        self.state().session.is_some()
    }

    /// Begins a session, if the server has named one.
    fn begin(&self, session: Option<&HeaderValue>) {
        self.state().session = session.filter(|session| session.len() <= MAX_SESSION).cloned();
    }

    /// Notes that there is no way to the server any more.
    fn lost(&self, why: &str) -> Failure {
        self.state().closed.get_or_insert_with(|| why.to_owned());
        self.over.cancel();
        // Whoever waits for changes sees that there will be none.
        self.changed.notify_one();
        Failure::Gone(why.to_owned())
    }

    /// Tells the server that it gets nothing that it asks for.
    fn answer(self: &Arc<Self>, id: &Value, method: &str) {
        if let Ok(place) = Arc::clone(&self.answers).try_acquire_owned() {
            let telling = self.tell(message::answer(id, method));
            self.handle.spawn(async move {
                let _place = place;
                let _ = telling.await;
            });
        }
    }

    /// Sends a message that is not answered, on the reactor.
    fn tell(self: &Arc<Self>, message: Vec<u8>) -> tokio::task::JoinHandle<()> {
        let telling = Arc::clone(self).tell_request(self.in_session(self.place.post(message)));
        self.handle.spawn(async move {
            let _ = timeout(TELLING, telling).await;
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request on its way; if it is given up, what would bring its answer is closed.
struct Waiting<'a> {
    shared: &'a Arc<Shared>,
    task: AbortHandle,
    /// Its identifier, where a server does not take that for the end of a request and has to be told.
    told: Option<u64>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.task.abort();
        if let Some(id) = self.told
            && !self.shared.stop.is_cancelled()
        {
            let params = json!({ "requestId": id, "reason": "nobody waits for the result any more" });
            self.shared.tell(message::notification("notifications/cancelled", Some(params)));
        }
    }
}
