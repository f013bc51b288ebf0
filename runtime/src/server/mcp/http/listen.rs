//! Connections: taken, bounded, and let go in order.

use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{interval, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::caller::{Caller, Key, Places};
use super::door::{Door, HttpAccess};
use super::guard::Guard;
use super::instances::Instances;
use super::metrics::Metrics;
use super::newcomers::{Newcomer, Newcomers};
use super::patience::Patient;
use super::sessions::Sessions;
use super::tokens::Tokens;
use crate::config::Server as Settings;
use crate::error::{Error, Result};
use crate::policy::Digest;
use crate::runtime::Runtime;
use crate::server::mcp::ENDING;
use crate::server::mcp::approval::Answers;
use crate::server::mcp::client::{Client, Observer};
use crate::server::mcp::in_place::InPlace;
use crate::server::mcp::room::Room;

/// Bytes of a request's headers: tokens have a kilobyte or two, and clients send few others.
const MAX_HEADERS: usize = 32 << 10;

/// How often sessions are looked at for those that nobody uses.
const SWEEP: Duration = Duration::from_secs(5);

/// How often to look whether there is room for one that waits.
const LOOK: Duration = Duration::from_millis(20);

/// How long to wait where the operating system has no descriptor for another connection.
const EXHAUSTED: Duration = Duration::from_millis(100);

/// A secret of the store that instances share: its setting, and the digest of what it is, if there is one.
pub(super) type SharedSecret = (&'static str, Option<Digest>);

/// What all connections share.
pub(super) struct Server {
    pub runtime: Runtime,
    pub settings: Settings,
    /// What is listened on.
    pub address: SocketAddr,
    pub door: RwLock<Arc<Door>>,
    pub sessions: Sessions,
    /// Others that know the same sessions, if there are any.
    pub instances: Option<Instances>,
    /// What these are reached and known by.
    pub secrets: Vec<SharedSecret>,
    key: Key,
    pub metrics: Arc<Metrics>,
    pub connections: AtomicUsize,
    pub(super) newcomers: Newcomers,
    /// No more requests.
    pub stop: CancellationToken,
    /// Ends all calls.
    pub end: CancellationToken,
    calls: Mutex<JoinSet<()>>,
    pub(super) in_place: InPlace,
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
        let mut secrets = Vec::new();
        let (key, instances) = match &settings.shared {
            None => (Key::random()?, None),
            Some(shared) => {
                secrets = shared.secrets()?.into();
                let secret = shared.read_key()?;
                let instances = Instances::new(shared.open()?, &secret, settings.session_timeout)?;
                (Key::of(&secret), Some(instances))
            }
        };
        let most = usize::try_from(settings.sessions).unwrap_or(usize::MAX);
        let guard = Guard::new(address, &settings.hosts, &settings.origins);
        let names: Vec<Option<String>> = match tokens.is_empty() {
            true => vec![None],
            false => settings.tokens.keys().cloned().map(Some).collect(),
        };
        let server = Self {
            address,
            door: RwLock::new(Arc::new(Door::new(guard.clone(), Tokens::default(), Vec::new()))),
            sessions: Sessions::new(most, settings.session_timeout),
            connections: AtomicUsize::new(0),
            newcomers: Newcomers::new(count(settings.connections)),
            calls: Mutex::default(),
            in_place: InPlace::default(),
            runtime,
            settings,
            instances,
            secrets,
            key,
            metrics,
            stop,
            end,
        };
        let callers =
            names.iter().map(|name| Arc::new(server.new_caller(name.clone(), names.len()))).collect();
        let door = RwLock::new(Arc::new(Door::new(guard, tokens, callers)));
        Ok(Self { door, ..server })
    }

    /// Who is let in now.
    pub(super) fn door(&self) -> Arc<Door> {
        Arc::clone(&self.door.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets nobody in any more, and forgets who was.
    fn close(&self) {
        let mut door = self.door.write().unwrap_or_else(PoisonError::into_inner);
        let guard = door.guard.clone();
        *door = Arc::new(Door::new(guard, Tokens::default(), Vec::new()));
    }

    /// A principal that has nothing here yet, one of so many.
    pub(super) fn new_caller(&self, name: Option<String>, of: usize) -> Caller {
        let shared = self.instances.as_ref().map(|instances| Arc::clone(&instances.shared));
        let ends = (self.observer(), self.end.child_token());
        Caller::new(
            &self.runtime,
            name,
            &self.key,
            (Places::new(&self.settings), Room::share(of)),
            ends,
            shared,
        )
    }

    /// Who counts the calls of a client.
    pub(super) fn observer(&self) -> Observer {
        observer(&self.metrics)
    }

    /// The client of a session of that handle. It ends with its principal.
    pub(super) fn client(&self, id: &str, caller: &Caller) -> Client {
        let owner = caller.principal.as_deref();
        let session = self.runtime.session(self.key.of_session(id));
        let session = match owner {
            Some(user) => session.user(user),
            None => session,
        };
        let client = Client::new(self.runtime.clone(), session);
        let shared = self.instances.as_ref().map(|instances| Arc::clone(&instances.shared));
        let client = client
            .within(caller.client.room.clone(), caller.client.arrivals.clone())
            .answering(Answers::of_principal(owner, true));
        client.observed(self.observer(), caller.client.end.child_token()).shared(shared)
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

    /// What changes who may reach it while it runs.
    pub fn access(&self) -> HttpAccess {
        HttpAccess::new(Arc::clone(&self.server))
    }

    /// Serves until it is stopped. Then requests get 503, as `/readyz` does; calls have `drain_timeout` of the settings to
    /// finish, what they wait for still reaches them, and those that have not finished are cancelled and answered as such.
    /// The listener stays open until then. Must be awaited within a tokio runtime with timers and
    /// input and output.
    ///
    /// # Errors
    /// When the executor cannot watch the listener.
    pub async fn serve(self) -> Result<()> {
        let Self { server, listener } = self;
        let listener = tokio::net::TcpListener::from_std(listener).map_err(|error| unserved(&error))?;
        let mut connections = JoinSet::new();
        server.hear();
        tokio::select! {
            () = accept(&server, &listener, &mut connections) => {}
            () = server.watch_store() => {}
        }
        drain(&server, &listener, connections).await;
        Ok(())
    }
}

async fn accept(server: &Arc<Server>, listener: &tokio::net::TcpListener, connections: &mut JoinSet<()>) {
    let most = count(server.settings.connections);
    let mut sweep = interval(SWEEP);
    // One for which there is no room yet.
    let mut waiting: Option<(TcpStream, SocketAddr)> = None;
    loop {
        // Whoever was told to leave is as good as gone.
        let is_taken = connections.len().saturating_sub(server.newcomers.leaving()) >= most;
        let is_there_room = waiting.is_some() && (!is_taken || server.newcomers.make_room());
        if let Some((stream, from)) = waiting.take_if(|_| is_there_room) {
            // Here, so that those to come find it among those that may give way.
            let newcomer = server.newcomers.enter(from.ip());
            connections.spawn(connection(Arc::clone(server), stream, newcomer));
        }
        tokio::select! {
            biased;
            () = server.stop.cancelled() => return,
            Some(_) = connections.join_next() => {}
            _ = sweep.tick() => server.sessions.sweep(),
            () = sleep(LOOK), if waiting.is_some() => {}
            // Those beyond wait at the operating system's door, while calls run on all that there are.
            accepted = listener.accept(), if waiting.is_none() => match accepted {
                Ok(accepted) => waiting = Some(accepted),
                Err(_) => sleep(EXHAUSTED).await,
            },
        }
    }
}

fn count(setting: u32) -> usize {
    usize::try_from(setting).unwrap_or(Semaphore::MAX_PERMITS)
}

async fn connection(server: Arc<Server>, stream: TcpStream, newcomer: Arc<Newcomer>) {
    let _counted = Counted::new(&server);
    // Answers are small, and each is waited for.
    let _ = stream.set_nodelay(true);
    let stream = Patient::new(stream, server.settings.write_timeout);
    let service = service_fn(|request| Arc::clone(&server).respond(request, Arc::clone(&newcomer)));
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(server.settings.header_timeout)
        .max_buf_size(MAX_HEADERS);
    // One that comes while the server ends has one request, to be told so.
    let is_late = server.stop.is_cancelled();
    builder.keep_alive(!is_late);
    let mut serving = pin!(builder.serve_connection(TokioIo::new(stream), service));
    // What goes wrong here is the peer's, and it is gone.
    tokio::select! {
        _ = &mut serving => return,
        () = newcomer.overdue() => return,
        () = server.stop.cancelled(), if !is_late => serving.as_mut().graceful_shutdown(),
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

/// Lets calls finish, cancels what has not, and waits for both; tells whoever comes meanwhile.
async fn drain(server: &Arc<Server>, listener: &tokio::net::TcpListener, mut connections: JoinSet<()>) {
    server.sessions.unlisten();
    // Nobody can come back with an answer any more.
    server.door().callers().for_each(|caller| caller.client.end_parked());
    let mut calls = server.take_calls();
    let ending = async {
        if timeout(server.settings.drain_timeout, all(&mut connections, &mut calls)).await.is_err() {
            server.end.cancel();
            let _ = timeout(ENDING, all(&mut connections, &mut calls)).await;
        }
    };
    let mut late = JoinSet::new();
    tokio::select! {
        () = ending => {}
        () = turn_away(server, listener, &mut late) => {}
    }
    server.sessions.end_all();
    server.close();
    // One that cannot be ended is left behind.
    let ending = async {
        calls.shutdown().await;
        connections.shutdown().await;
        late.shutdown().await;
    };
    let _ = timeout(ENDING, ending).await;
}

/// Takes connections as long as it is awaited, so that probes and clients are told that the server ends.
async fn turn_away(server: &Arc<Server>, listener: &tokio::net::TcpListener, late: &mut JoinSet<()>) {
    let most = count(server.settings.connections);
    loop {
        let is_full = late.len() >= most;
        tokio::select! {
            Some(_) = late.join_next() => {}
            accepted = listener.accept(), if !is_full => match accepted {
                Ok((stream, from)) => {
                    let newcomer = server.newcomers.enter(from.ip());
                    late.spawn(connection(Arc::clone(server), stream, newcomer));
                }
                Err(_) => sleep(EXHAUSTED).await,
            },
        }
    }
}

async fn all(connections: &mut JoinSet<()>, calls: &mut JoinSet<()>) {
    while calls.join_next().await.is_some() {}
    while connections.join_next().await.is_some() {}
}

fn unserved(error: &std::io::Error) -> Error {
    Error::Sandbox { message: format!("cannot serve connections: {error}") }
}
