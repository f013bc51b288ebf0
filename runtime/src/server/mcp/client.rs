//! Who calls: a session, what it was asked and what it can still read, whatever carries its messages.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::approval::Answers;
use super::connection::Running;
use super::frame::{INTERNAL_ERROR, Refusal};
use super::outputs;
#[cfg(feature = "http")]
use super::room::OF_ONE;
use super::room::{ARRIVING, Room};
use super::shared::{SILENT, Shared};
use crate::call::Outcome;
use crate::error::{Error, Result};
use crate::output::Handle;
use crate::runtime::{Runtime, Session};

/// Calls that wait for their client to come back with an answer. Each keeps its arguments for as long.
const MAX_PARKED: usize = 256;

/// Hears of every call that has ended.
pub(super) type Observer = Arc<dyn Fn(&Outcome) + Send + Sync>;

/// One client, of whom there is one over a pair of streams, and by HTTP one for each session or principal.
pub(super) struct Client {
    pub runtime: Runtime,
    pub session: Session,
    /// Ends everything that runs for it.
    pub end: CancellationToken,
    observer: Option<Observer>,
    /// Whether what its tools keep for its session goes with it: nobody else comes back to it then.
    forgets: AtomicBool,
    /// What it may answer to questions about its calls.
    pub answers: Answers,
    /// What other instances know too, if there are any.
    pub shared: Option<Arc<Shared>>,
    /// Where what is for it waits to be written, if its connections have none of their own.
    #[cfg(feature = "http")]
    pub room: Room,
    /// What its large messages take up that are worked on.
    pub arrivals: Room,
    outputs: Mutex<Vec<outputs::Kept>>,
    /// By the state that the client was given.
    parked: Mutex<HashMap<String, Parked>>,
}

/// A call that waits for an answer which comes with another request.
pub(super) struct Parked {
    pub name: String,
    pub arguments: Value,
    pub end: CancellationToken,
    pub resume: mpsc::Sender<Resumed>,
}

/// The request that a parked call goes on with.
pub(super) struct Resumed {
    pub id: Value,
    /// What its client wants to hear from now on, and where.
    pub terms: super::version::Terms,
    pub running: Running,
    pub writer: super::writer::Writer,
    pub connection: Arc<super::connection::Connection>,
    pub answer: Option<Value>,
}

impl Client {
    /// A client with a session of its own, whose name nobody can guess, on behalf of `user`.
    ///
    /// # Errors
    /// When there are no random bytes for the name.
    pub fn unnamed(runtime: Runtime, user: Option<&str>) -> Result<Self> {
        // As unguessable as a handle, and made the same way.
        let name = format!("mcp-{}", Handle::random()?.as_str().trim_start_matches("o-"));
        let session = runtime.session(name);
        let session = match user {
            Some(user) => session.user(user),
            None => session,
        };
        Ok(Self::new(runtime, session))
    }

    /// A client whose calls are made in `session`.
    pub fn new(runtime: Runtime, session: Session) -> Self {
        outputs::add_tool(&runtime, &session);
        Self {
            runtime,
            session,
            end: CancellationToken::new(),
            observer: None,
            forgets: AtomicBool::new(true),
            answers: Answers::default(),
            shared: None,
            #[cfg(feature = "http")]
            room: Room::new(OF_ONE),
            arrivals: Room::new(ARRIVING),
            outputs: Mutex::default(),
            parked: Mutex::default(),
        }
    }

    /// Tells `observer` of each call that has ended, and ends all of them with `end`.
    #[cfg(feature = "http")]
    pub fn observed(mut self, observer: Observer, end: CancellationToken) -> Self {
        self.observer = Some(observer);
        self.end = end;
        self
    }

    /// Lets what is for it wait in this room, and counts what comes of it into that one.
    #[cfg(feature = "http")]
    pub fn within(mut self, room: Room, arrivals: Room) -> Self {
        (self.room, self.arrivals) = (room, arrivals);
        self
    }

    /// Lets it answer so much.
    #[cfg(feature = "http")]
    pub fn answering(mut self, answers: Answers) -> Self {
        self.answers = answers;
        self
    }

    /// Lets other instances go on with what this one asks and keeps.
    #[cfg(feature = "http")]
    pub fn shared(mut self, shared: Option<Arc<Shared>>) -> Self {
        // What is idle here may be used elsewhere.
        self.forgets = AtomicBool::new(shared.is_none());
        self.shared = shared;
        self
    }

    /// Its session is over, wherever it was used.
    #[cfg(feature = "http")]
    pub fn is_over(&self) {
        self.forgets.store(true, Ordering::Relaxed);
        self.end.cancel();
    }

    /// Notes how a call has ended, and its full output, to be listed.
    pub async fn ended(&self, outcome: &Outcome) {
        if let Some(observer) = &self.observer {
            observer(outcome);
        }
        let Some(kept) = outputs::Kept::of(outcome) else { return };
        match &self.shared {
            Some(shared) => {
                let (shared, session) = (Arc::clone(shared), self.session.name().to_owned());
                let note = move || shared.note_output(&session, &kept.written(), outputs::LISTED);
                // What cannot be noted can still be read by its handle.
                let _ = tokio::task::spawn_blocking(note).await;
            }
            None => outputs::add(&mut lock(&self.outputs), kept),
        }
    }

    /// The full outputs that can be read; where everybody has the same session, whoever has a handle can, and none is listed.
    /// Waits for a store that instances share.
    ///
    /// # Errors
    /// When that store cannot be asked.
    pub fn outputs(&self) -> std::result::Result<Value, Refusal> {
        if self.answers == Answers::Single {
            return Ok(outputs::list(&[]));
        }
        let Some(shared) = &self.shared else { return Ok(outputs::list(&lock(&self.outputs))) };
        let kept = shared.outputs(self.session.name());
        let kept = kept.map_err(|_| Refusal::new(INTERNAL_ERROR, SILENT))?;
        let mut kept: Vec<_> = kept.iter().filter_map(|kept| outputs::Kept::read(kept)).collect();
        kept.reverse();
        Ok(outputs::list(&kept))
    }

    /// Keeps a call until its client comes back with the state that this returns.
    ///
    /// # Errors
    /// When there are too many, or no random bytes.
    pub fn park(&self, call: Parked) -> Result<String> {
        let key = Handle::random()?.as_str().to_owned();
        let mut parked = lock(&self.parked);
        if parked.len() >= MAX_PARKED {
            return Err(Error::Approval(format!("{MAX_PARKED} questions of this client wait already")));
        }
        parked.insert(key.clone(), call);
        Ok(key)
    }

    /// Takes out the call that waits under `key`, if it is one of that tool with these arguments.
    pub fn unpark(&self, key: &str, name: &str, arguments: &Value) -> Option<Parked> {
        let mut parked = lock(&self.parked);
        let is_same = |parked: &Parked| parked.name == name && parked.arguments == *arguments;
        if parked.get(key).is_some_and(is_same) { parked.remove(key) } else { None }
    }

    /// Forgets a call that has ended before its client came back.
    pub fn forget(&self, key: &str) {
        lock(&self.parked).remove(key);
    }

    /// Ends the calls that wait, since nobody comes back.
    pub fn end_parked(&self) {
        lock(&self.parked).drain().for_each(|(_, parked)| parked.end.cancel());
    }
}

impl Drop for Client {
    /// Calls hold it, so that nothing of it runs any more.
    fn drop(&mut self) {
        if self.forgets.load(Ordering::Relaxed) {
            self.runtime.forget_session(self.session.name());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
