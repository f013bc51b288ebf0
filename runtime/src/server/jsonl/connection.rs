//! One client: its lines in order, its calls side by side. A call has the groups of its line, whatever lines after it
//! switch before it has begun.

use std::collections::HashMap;
use std::io;
use std::pin::pin;
use std::sync::Arc;

use tokio::io::AsyncRead;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::answers::{self, Answered, Problem};
use super::approver::{NotTaken, Questions};
use super::flight::Flight;
use super::flights::Flights;
use super::id::Id;
use super::lines::{Line, Lines};
use super::outbox::Outbox;
use super::read::{self, Refused};
use super::reply::{Refusal, Reply};
use super::request::{ClientAnswer, Request, SessionName, Time, tool_call};
use super::{MAX_BYTES_IN_FLIGHT, MAX_CALLS, MAX_LINE_BYTES, MAX_SESSIONS, SessionOf};
use crate::format::{Format, Strict};
use crate::runtime::{Batch, Call, Session};

/// What one client has.
pub(super) struct Connection {
    make: Arc<SessionOf>,
    /// By name; the empty name is that of calls without a session.
    sessions: HashMap<String, Session>,
    outbox: Outbox,
    flights: Flights,
    questions: Questions,
    tasks: JoinSet<()>,
    stop: CancellationToken,
    /// What calls in flight leave of the bytes of their lines.
    room: Arc<Semaphore>,
    /// Bytes of the line that is read.
    line_bytes: usize,
}

impl Connection {
    pub fn new(make: Arc<SessionOf>, stop: CancellationToken, outbox: Outbox) -> Self {
        Self {
            make,
            sessions: HashMap::new(),
            outbox,
            flights: Flights::default(),
            questions: Questions::default(),
            tasks: JoinSet::new(),
            stop,
            room: Arc::new(Semaphore::new(MAX_BYTES_IN_FLIGHT)),
            line_bytes: 0,
        }
    }

    /// Answers lines until there are no more, then waits for what runs. `unread` is ready once a client that has left, or is
    /// left, reads no replies.
    pub async fn serve(
        mut self,
        mut lines: Lines<impl AsyncRead + Unpin>,
        unread: impl Future<Output = ()>,
    ) -> io::Result<()> {
        let (outbox, stop) = (self.outbox.clone(), self.stop.clone());
        let mut unread = pin!(unread);
        let read = loop {
            let line = tokio::select! {
                line = lines.next() => line,
                () = self.stop.cancelled() => break Ok(()),
                () = outbox.closed() => break Ok(()),
            };
            let line = match line {
                Ok(Some(line)) => line,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            tokio::select! {
                () = self.line(line) => {}
                () = stop.cancelled() => break Ok(()),
                () = &mut unread => {
                    self.tasks.abort_all();
                    return Ok(());
                }
            }
        };
        self.questions.close();
        let mut is_stopped = false;
        loop {
            tokio::select! {
                ended = self.tasks.join_next() => {
                    if ended.is_none() {
                        break;
                    }
                }
                () = self.stop.cancelled(), if !is_stopped => {
                    is_stopped = true;
                    self.flights.cancel_all();
                }
                () = outbox.closed() => {
                    self.tasks.shutdown().await;
                    break;
                }
                () = &mut unread => {
                    self.tasks.abort_all();
                    break;
                }
            }
        }
        read
    }

    async fn line(&mut self, line: Line) {
        self.line_bytes = if let Line::Whole(line) = &line { line.len() } else { 0 };
        let request = match line {
            Line::Whole(line) => read::request_aside(line).await,
            Line::TooLong => Err(Refused {
                id: None,
                kind: Refusal::Unreadable,
                message: format!(
                    "the line has more than {MAX_LINE_BYTES} bytes; pass less, or the name of a file"
                ),
            }),
        };
        match request {
            Ok(request) if self.flights.has(request.id()) => self.refuse_id(request.id()).await,
            Ok(request) => self.request(request).await,
            Err(refused) => self.refuse(refused).await,
        }
    }

    /// An id of a call that runs is left out: an error under it would be read as the end of that call.
    async fn refuse(&self, refused: Refused) {
        let id = refused.id.filter(|id| !self.flights.has(id));
        self.outbox.send(&Refused { id, ..refused }.into()).await;
    }

    /// The reply carries no id: that one belongs to the call that runs, which has not ended.
    async fn refuse_id(&self, id: &Id) {
        let message = format!("a call with the id {id} is in flight; give each request an id of its own");
        self.outbox.send(&Refused { id: None, kind: Refusal::IdInUse, message }.into()).await;
    }

    async fn request(&mut self, request: Request) {
        let id = request.id().clone();
        let answered = match request {
            Request::Hello { id } => Ok(answers::hello(id)),
            Request::List { id, session } => self
                .session(session)
                .map(|session| answers::tools(id, &session, Format::Toolcell, Strict::Off)),
            Request::Export { id, format, strict, session } => {
                let strict = if strict { Strict::On } else { Strict::Off };
                self.session(session).map(|session| answers::tools(id, &session, format.0, strict))
            }
            Request::Cancel { id, call } => self.cancel(id, &call),
            Request::Approve { id, approval, answer, reason } => self.approve(id, &approval, answer, reason),
            Request::Groups { id, session, activate, deactivate } => self
                .session(session)
                .and_then(|session| answers::groups(id, &session, &activate, &deactivate)),
            Request::Call { id, name, arguments, session, meta, timeout } => {
                let call = tool_call(&id, name, arguments, meta);
                self.session(session).and_then(|session| self.call(id, session.as_now().call(call), timeout))
            }
            Request::Batch { id, calls, session, timeout } => {
                let calls =
                    calls.iter().enumerate().map(|(at, call)| read::call_of_batch(at, call)).collect();
                self.session(session)
                    .and_then(|session| self.batch(id, session.as_now().call_batch(calls), timeout))
            }
        };
        match answered {
            Ok(Some(reply)) => self.outbox.send(&reply).await,
            Ok(None) => {}
            Err((kind, message)) => self.outbox.send(&Refused { id: Some(id), kind, message }.into()).await,
        }
    }

    /// The session of that name, the same one for every line that names it.
    fn session(&mut self, name: Option<SessionName>) -> Result<Session, Problem> {
        let name = name.map(|name| name.0).unwrap_or_default();
        if let Some(session) = self.sessions.get(&name) {
            return Ok(session.clone());
        }
        if self.sessions.len() > MAX_SESSIONS {
            return Err((
                Refusal::TooMany,
                format!(
                    "a connection may use {MAX_SESSIONS} sessions; use one of them, or open another connection"
                ),
            ));
        }
        let session = (self.make)(&name);
        self.sessions.insert(name, session.clone());
        Ok(session)
    }

    fn cancel(&self, id: Id, call: &Id) -> Answered {
        if self.flights.cancel(call) {
            return Ok(Some(Reply::done(id)));
        }
        Err((Refusal::NotFound, format!("no call with the id {call} is in flight; it may have ended")))
    }

    fn approve(&self, id: Id, approval: &str, answer: ClientAnswer, reason: Option<String>) -> Answered {
        match self.questions.answer(approval, answer, reason) {
            Ok(()) => Ok(Some(Reply::done(id))),
            Err(NotTaken::NoQuestion) => Err((
                Refusal::NotFound,
                format!("no question `{approval}` waits for an answer; its call may have ended"),
            )),
            Err(NotTaken::NotOffered) => Err((
                Refusal::Invalid,
                format!(
                    "`answer`: the question `{approval}` does not offer it, and still waits; see its `answers`"
                ),
            )),
        }
    }

    fn call(&mut self, id: Id, call: Call, timeout: Option<Time>) -> Answered {
        let flight = self.flight(id)?;
        let call = timeout.into_iter().fold(call, |call, timeout| call.timeout(timeout.0));
        self.tasks.spawn(async move { flight.call(call).await });
        Ok(None)
    }

    fn batch(&mut self, id: Id, batch: Batch, timeout: Option<Time>) -> Answered {
        let flight = self.flight(id)?;
        let batch = timeout.into_iter().fold(batch, |batch, timeout| batch.timeout(timeout.0));
        self.tasks.spawn(async move { flight.batch(batch).await });
        Ok(None)
    }

    /// Room for a call more.
    fn flight(&mut self, id: Id) -> Result<Flight, Problem> {
        // Those that ended are counted until here: their results may still wait for a client that does not read.
        while self.tasks.try_join_next().is_some() {}
        if self.tasks.len() >= MAX_CALLS {
            return Err((
                Refusal::TooMany,
                format!("{MAX_CALLS} calls are in flight; send more when some have ended"),
            ));
        }
        let bytes = u32::try_from(self.line_bytes).unwrap_or(u32::MAX);
        let Ok(room) = Arc::clone(&self.room).try_acquire_many_owned(bytes) else {
            return Err((
                Refusal::TooMany,
                format!(
                    "the calls in flight have more than {MAX_BYTES_IN_FLIGHT} bytes together; send more when some have ended"
                ),
            ));
        };
        let cancel = self.flights.begin(&id);
        let (outbox, questions, flights) =
            (self.outbox.clone(), self.questions.clone(), self.flights.clone());
        Ok(Flight { id, cancel, outbox, questions, flights, _room: room })
    }
}
