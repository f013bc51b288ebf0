//! One message in, and what comes of it: nothing, one message, or a stream of them.

use std::sync::Arc;

use http::{Response, StatusCode};
use hyper::body::Bytes;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

use super::body::{Events, QUIET, Reply};
use super::caller::Caller;
use super::listen::Server;
use super::sessions::{InUse, Opened, Sessions};
use super::{era, reply};
use crate::server::mcp::changes;
use crate::server::mcp::connection::Connection;
use crate::server::mcp::frame::Message;
use crate::server::mcp::room::Arrival;
use crate::server::mcp::writer::{Outgoing, Writer};

/// What a request takes up until its answer is sent.
#[derive(Default)]
pub(super) struct Hold {
    /// Its place among those of its principal.
    pub _place: Option<OwnedSemaphorePermit>,
    pub session: Option<InUse>,
    /// Whether it is a request that only listens.
    pub listens: bool,
    /// What its message takes up; a call has it for as long as it goes on.
    pub arrival: Option<Arrival>,
}

impl Server {
    /// A message that says everything itself.
    pub(super) async fn alone(
        self: &Arc<Self>,
        headers: &http::HeaderMap,
        caller: &Caller,
        message: Message,
        mut hold: Hold,
    ) -> Response<Reply> {
        let (id, method) = match &message {
            Message::Request { id, method, params } => {
                let name = params.get("name").and_then(serde_json::Value::as_str).unwrap_or_default();
                let tool = (method == "tools/call").then(|| caller.client.session.get(name)).flatten();
                let mirrored = tool.as_ref().map(|tool| tool.mirrored()).unwrap_or_default();
                if let Err(refusal) = era::check(headers, method, params, mirrored) {
                    return reply::refused(StatusCode::BAD_REQUEST, refusal, id);
                }
                (id.clone(), method.clone())
            }
            // There is nothing that such a message could be about: a call ends with its connection.
            Message::Notification { .. } => return reply::empty(StatusCode::ACCEPTED),
            Message::Response { .. } => {
                return reply::refuse(StatusCode::BAD_REQUEST, "this server has asked nothing in this era");
            }
        };
        let (writer, outgoing) = Writer::channel(&caller.client.room);
        let listener = (method == "subscriptions/listen").then(|| writer.clone());
        let connection = Arc::new(Connection::new(Arc::clone(&caller.client), listener.clone()));
        // Whoever has heard that it is told misses nothing from then on.
        let watching = listener.as_ref().map(|_| changes::watch(Arc::clone(&connection)));
        self.start(&connection, message, &writer, hold.arrival.take()).await;
        if let Some(watching) = watching.filter(|_| connection.is_subscribed(&id)) {
            self.spawn(subscription(watching, Arc::clone(&connection), writer.clone(), Arc::clone(self)));
        }
        drop((writer, listener, connection));
        first(outgoing, hold, true).await
    }

    /// A handshake, which begins a session if it succeeds.
    pub(super) async fn handshake(
        self: &Arc<Self>,
        caller: &Caller,
        message: Message,
        mut hold: Hold,
    ) -> Response<Reply> {
        let Ok(id) = Sessions::handle() else {
            return reply::refuse(
                StatusCode::INTERNAL_SERVER_ERROR,
                "there are no random bytes for a session",
            );
        };
        let owner = caller.principal.as_deref();
        let connection = Arc::new(Connection::new(Arc::new(self.client(&id, caller)), None));
        let (writer, outgoing) = Writer::channel(&connection.client.room);
        self.start(&connection, message, &writer, hold.arrival.take()).await;
        drop(writer);
        if !connection.is_open() {
            return first(outgoing, hold, false).await;
        }
        let terms = connection.terms();
        let Some(session) = self.sessions.open(Opened { id: &id, connection, owner }) else {
            return reply::too_many("too many sessions of this principal are in use");
        };
        if let Some(instances) = &self.instances
            && instances.keep(&id, owner, &terms).await.is_err()
        {
            drop(session);
            self.sessions.end(&id, owner);
            return reply::unshared();
        }
        let id = http::HeaderValue::from_str(&session.id);
        hold.session = Some(session);
        let mut response = first(outgoing, hold, false).await;
        if let Ok(id) = id {
            response.headers_mut().insert(reply::SESSION, id);
        }
        response
    }

    /// A message of a session.
    pub(super) async fn in_session(
        self: &Arc<Self>,
        session: InUse,
        (message, bytes): (Message, Bytes),
        mut hold: Hold,
    ) -> Response<Reply> {
        let connection = Arc::clone(&session.connection);
        let method = match &message {
            Message::Request { method, .. } => Some(method.clone()),
            _ => None,
        };
        let (writer, outgoing) = Writer::channel(&connection.client.room);
        self.start(&connection, message, &writer, hold.arrival.take()).await;
        drop(writer);
        if let Some(instances) = &self.instances {
            match method.as_deref() {
                // It may be about a call or a question of another's.
                None => instances.tell(&session.id, &bytes).await,
                Some("logging/setLevel") => {
                    let owner = session.owner.as_deref();
                    // Where the store cannot be reached, the others know the level of before.
                    let _ = instances.keep(&session.id, owner, &connection.terms()).await;
                }
                Some(_) => {}
            }
        }
        if method.is_none() {
            return reply::empty(StatusCode::ACCEPTED);
        }
        hold.session = Some(session);
        first(outgoing, hold, false).await
    }

    /// The stream of what belongs to no request.
    pub(super) async fn stream(&self, session: InUse) -> Response<Reply> {
        let (writer, outgoing) = Writer::channel(&session.connection.client.room);
        session.connection.listen(writer).await;
        let hold = Hold { session: Some(session), listens: true, ..Hold::default() };
        reply::events(Events::new(None, outgoing, hold))
    }

    async fn start(
        &self,
        connection: &Arc<Connection>,
        message: Message,
        writer: &Writer,
        arrival: Option<Arrival>,
    ) {
        if let Some(call) = connection.receive(message, writer).await
            && let Some(rest) = self.in_place.run(call.holding(arrival).run()).await
        {
            self.spawn(rest);
        }
    }
}

/// Tells of changes until nobody listens or the server ends.
async fn subscription(
    watching: impl Future<Output = ()>,
    connection: Arc<Connection>,
    writer: Writer,
    server: Arc<Server>,
) {
    tokio::select! {
        () = watching => {}
        () = writer.closed() => return,
        () = server.stop.cancelled() => {}
        // Its principal is let in no more.
        () = connection.client.end.cancelled() => {}
    }
    connection.end_subscriptions().await;
}

/// Waits for the first message. One that answers is sent as it is; before others, or when it takes long, a stream begins.
async fn first(mut outgoing: Receiver<Outgoing>, hold: Hold, is_current: bool) -> Response<Reply> {
    match timeout(QUIET, outgoing.recv()).await {
        Ok(Some(answer)) if answer.is_answer => reply::answer(answer, is_current),
        Ok(Some(message)) => reply::events(Events::new(Some(message), outgoing, hold)),
        // It takes long, or its client has taken it back.
        Ok(None) | Err(_) => reply::events(Events::new(None, outgoing, hold)),
    }
}
