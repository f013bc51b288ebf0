//! Connections: taken, bounded, and let go in order.

use std::net::TcpListener;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{interval, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::caller::{Caller, Key};
use super::guard::Guard;
use super::instances::Instances;
use super::metrics::Metrics;
use super::patience::Patient;
use super::sessions::Sessions;
use super::tokens::Tokens;
use crate::config::Server as Settings;
use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::server::mcp::ENDING;
use crate::server::mcp::approval::Answers;
use crate::server::mcp::client::{Client, Observer};

/// Bytes of a request's headers: tokens have a kilobyte or two, and clients send few others.
const MAX_HEADERS: usize = 32 << 10;

/// How often sessions are looked at for those that nobody uses.
const SWEEP: Duration = Duration::from_secs(5);

/// How long to wait where the operating system has no descriptor for another connection.
const EXHAUSTED: Duration = Duration::from_millis(100);

/// What all connections share.
pub(super) struct Server {
    pub runtime: Runtime,
    pub settings: Settings,
    pub guard: Guard,
    pub tokens: Tokens,
    pub callers: Vec<Caller>,
    pub sessions: Sessions,
    /// Others that know the same sessions, if there are any.
    pub instances: Option<Instances>,
    key: Key,
    pub metrics: Arc<Metrics>,
    pub connections: AtomicUsize,
    /// No more requests.
    pub stop: CancellationToken,
    /// Ends all calls.
    pub end: CancellationToken,
    calls: Mutex<JoinSet<()>>,
}

impl Server {
    fn new(
        runtime: Runtime,
        settings: Settings,
        listener: &TcpListener,
        stop: CancellationToken,
    ) -> Result<Self> {
        let address = listener.local_addr().map_err(|error| unserved(&error))?;
        let tokens = Tokens::read(&settings.tokens)?;
        if tokens.is_empty() && !address.ip().is_loopback() {
            return Err(Error::Config {
                at: "server.tokens".to_owned(),
                message: format!(
                    "{} can be reached from other machines, so everybody who asks must prove who it is: give each principal \
                     a token, as in `tokens = {{ ada = {{ env = \"ADA_TOKEN\" }} }}` or `--token ada=env:ADA_TOKEN`, or listen on 127.0.0.1",
                    address.ip()
                ),
            });
        }
        let (metrics, end) = (Arc::new(Metrics::default()), CancellationToken::new());
        let (key, instances) = match &settings.shared {
            None => (Key::random()?, None),
            Some(shared) => {
                let secret = shared.read_key()?;
                let instances = Instances::new(shared.open()?, &secret, settings.session_timeout)?;
                (Key::of(&secret), Some(instances))
            }
        };
        let shared = instances.as_ref().map(|instances| &instances.shared);
        let places = usize::try_from(settings.requests).unwrap_or(Semaphore::MAX_PERMITS);
        let caller = |name: Option<String>| {
            let (observer, end) = (observer(&metrics), end.child_token());
            Caller::new(&runtime, name, &key, places, (observer, end), shared.cloned())
        };
        let callers = match tokens.is_empty() {
            true => vec![caller(None)],
            false => settings.tokens.keys().cloned().map(|name| caller(Some(name))).collect(),
        };
        let most = usize::try_from(settings.sessions).unwrap_or(usize::MAX);
        Ok(Self {
            guard: Guard::new(address, &settings.hosts, &settings.origins),
            sessions: Sessions::new(most, settings.session_timeout),
            connections: AtomicUsize::new(0),
            calls: Mutex::default(),
            runtime,
            settings,
            tokens,
            callers,
            instances,
            key,
            metrics,
            stop,
            end,
        })
    }

    /// Who counts the calls of a client.
    pub(super) fn observer(&self) -> Observer {
        observer(&self.metrics)
    }

    /// The client of a session of that handle.
    pub(super) fn client(&self, id: &str, owner: Option<&str>) -> Client {
        let session = self.runtime.session(self.key.of_session(id));
        let session = match owner {
            Some(user) => session.user(user),
            None => session,
        };
        let client = Client::new(self.runtime.clone(), session);
        let shared = self.instances.as_ref().map(|instances| Arc::clone(&instances.shared));
        let client = client.answering(Answers::of_principal(owner));
        client.observed(self.observer(), self.end.child_token()).shared(shared)
    }

    /// Runs what goes on after its request.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        // Keeps the set as small as what runs.
        while calls.try_join_next().is_some() {}
        calls.spawn(task);
    }

    fn take_calls(&self) -> JoinSet<()> {
        std::mem::take(&mut *self.calls.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn observer(metrics: &Arc<Metrics>) -> Observer {
    let metrics = Arc::clone(metrics);
    Arc::new(move |outcome| metrics.ended(outcome))
}

/// Serves a runtime to whoever reaches a listener and may, at `/mcp`; both eras of the protocol, and beside them `/healthz`,
/// `/readyz` and `/metrics`.
pub struct HttpServer {
    server: Arc<Server>,
    listener: TcpListener,
}

impl HttpServer {
    /// Makes ready to serve `runtime` on `listener` until `stop`. Where the settings name a store that instances share, the
    /// runtime's outputs and approvals are to be in it too.
    ///
    /// # Errors
    /// When the listener can be reached from other machines and there are no tokens, when a token or key cannot be read or
    /// proves nothing, when nobody answers at the store that instances share, and when there are no random bytes.
    pub fn new(
        runtime: Runtime,
        listener: TcpListener,
        settings: Settings,
        stop: CancellationToken,
    ) -> Result<Self> {
        let server = Arc::new(Server::new(runtime, settings, &listener, stop)?);
        listener.set_nonblocking(true).map_err(|error| unserved(&error))?;
        Ok(Self { server, listener })
    }

    /// Serves until it is stopped. Then no more connections are taken; calls have `drain_timeout` of the settings to
    /// finish, and are then cancelled and answered as such. Must be awaited within a tokio runtime with timers and
    /// input and output.
    ///
    /// # Errors
    /// When the executor cannot watch the listener.
    pub async fn serve(self) -> Result<()> {
        let Self { server, listener } = self;
        let listener = tokio::net::TcpListener::from_std(listener).map_err(|error| unserved(&error))?;
        let mut connections = JoinSet::new();
        server.hear();
        accept(&server, listener, &mut connections).await;
        drain(&server, connections).await;
        Ok(())
    }
}

async fn accept(server: &Arc<Server>, listener: tokio::net::TcpListener, connections: &mut JoinSet<()>) {
    let most = usize::try_from(server.settings.connections).unwrap_or(Semaphore::MAX_PERMITS);
    let mut sweep = interval(SWEEP);
    loop {
        let is_full = connections.len() >= most;
        tokio::select! {
            biased;
            () = server.stop.cancelled() => return,
            Some(_) = connections.join_next() => {}
            _ = sweep.tick() => server.sessions.sweep(),
            // Those beyond wait at the operating system's door.
            accepted = listener.accept(), if !is_full => match accepted {
                Ok((stream, _)) => drop(connections.spawn(connection(Arc::clone(server), stream))),
                Err(_) => sleep(EXHAUSTED).await,
            },
        }
    }
}

async fn connection(server: Arc<Server>, stream: TcpStream) {
    let _counted = Counted::new(&server);
    // Answers are small, and each is waited for.
    let _ = stream.set_nodelay(true);
    let stream = Patient::new(stream, server.settings.write_timeout);
    let service = service_fn(|request| Arc::clone(&server).respond(request));
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(server.settings.header_timeout)
        .max_buf_size(MAX_HEADERS);
    let mut serving = pin!(builder.serve_connection(TokioIo::new(stream), service));
    // What goes wrong here is the peer's, and it is gone.
    tokio::select! {
        _ = &mut serving => return,
        () = server.stop.cancelled() => serving.as_mut().graceful_shutdown(),
    }
    let _ = serving.await;
}

/// A connection that is open.
struct Counted<'a>(&'a Server);

impl<'a> Counted<'a> {
    fn new(server: &'a Server) -> Self {
        server.connections.fetch_add(1, Ordering::Relaxed);
        Self(server)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Lets calls finish, cancels what has not, and waits for both.
async fn drain(server: &Server, mut connections: JoinSet<()>) {
    server.sessions.unlisten();
    // Nobody can come back with an answer any more.
    server.callers.iter().for_each(|caller| caller.client.end_parked());
    let mut calls = server.take_calls();
    if timeout(server.settings.drain_timeout, all(&mut connections, &mut calls)).await.is_err() {
        server.end.cancel();
        let _ = timeout(ENDING, all(&mut connections, &mut calls)).await;
    }
    server.sessions.end_all();
    // One that cannot be ended is left behind.
    let ending = async {
        calls.shutdown().await;
        connections.shutdown().await;
    };
    let _ = timeout(ENDING, ending).await;
}

async fn all(connections: &mut JoinSet<()>, calls: &mut JoinSet<()>) {
    while calls.join_next().await.is_some() {}
    while connections.join_next().await.is_some() {}
}

fn unserved(error: &std::io::Error) -> Error {
    Error::Sandbox { message: format!("cannot serve connections: {error}") }
}
