//! One connection: what its client said of itself, what runs for it, and the way of each of its messages.

mod subscriptions;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::approval::Form;
use super::calling::{Calling, Given, Started};
use super::client::{Client, Resumed};
use super::frame::{
    INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Message, Refusal, echo_of, read_aside,
};
use super::lines::{Line, MAX_LINE};
use super::room::Arrival;
use super::shared::About;
use super::speech::Level;
use super::version::{HANDSHAKE, NEWEST_HANDSHAKE, Terms};
use super::writer::Writer;
use super::{answer, lists, outputs};
use crate::call::ToolCall;
use crate::output::Handle;

/// Calls at once; those beyond are refused, or a client could fill memory with what waits.
const MAX_RUNNING: usize = 4096;

/// What tells requests of this process from those of other instances, which a client may answer at any of them.
static OWN: LazyLock<String> = LazyLock::new(|| {
    let random = Handle::random().map(|handle| handle.as_str().chars().skip(2).take(8).collect());
    random.unwrap_or_default()
});

/// Entries of a request's metadata that a tool may see: where the caller's trace goes on.
const PASSED_ON: [&str; 2] = ["traceparent", "tracestate"];

/// One connection: a pair of streams, a session of HTTP, or one request that says everything itself.
pub(super) struct Connection {
    pub client: Arc<Client>,
    state: Mutex<State>,
}

/// What changes.
struct State {
    handshake: Terms,
    is_open: bool,
    /// By the JSON of their identifiers, in which 1 and "1" are two.
    running: HashMap<String, Running>,
    /// Requests of ours that the client has not answered.
    asked: HashMap<String, oneshot::Sender<Option<Value>>>,
    /// The identifiers of subscriptions, each with whether it is to changes of the list of tools.
    subscriptions: Vec<(Value, bool)>,
    /// Where messages may go that belong to no request, the newest last; each message goes to one of them.
    listeners: Vec<Writer>,
    /// Whether there was a change while nobody listened.
    is_behind: bool,
    count: u64,
}

impl State {
    fn is_subscribed(&self, id: &Value) -> bool {
        self.subscriptions.iter().any(|(known, _)| known == id)
    }

    /// The newest that somebody reads: one of before may be left over of a connection that broke.
    fn listener(&self) -> Option<&Writer> {
        self.listeners.iter().rfind(|listener| !listener.is_closed())
    }
}

/// A call that runs.
#[derive(Clone, Default)]
pub(super) struct Running {
    /// Ends it.
    pub end: CancellationToken,
    /// Whether its client wants no answer any more.
    pub is_unwanted: CancellationToken,
}

impl Connection {
    pub fn new(client: Arc<Client>, listener: Option<Writer>) -> Self {
        let state = State {
            handshake: Terms { level: Some(Level::Info), ..Terms::handshake(NEWEST_HANDSHAKE, None) },
            is_open: false,
            running: HashMap::new(),
            asked: HashMap::new(),
            subscriptions: Vec::new(),
            listeners: listener.into_iter().collect(),
            is_behind: false,
            count: 0,
        };
        Self { client, state: Mutex::new(state) }
    }

    /// A session that a handshake began elsewhere, on the terms of that.
    #[cfg(feature = "http")]
    pub fn taken_up(client: Arc<Client>, terms: Terms) -> Self {
        let connection = Self::new(client, None);
        {
            let mut state = connection.state();
            state.handshake = terms;
            state.is_open = true;
        }
        connection
    }

    /// The terms of the handshake.
    #[cfg(feature = "http")]
    pub fn terms(&self) -> Terms {
        self.state().handshake.clone()
    }

    /// Does what a line asks for, and answers it into `writer`. A call that it starts is returned, to be run; everything
    /// else is done when this returns.
    pub async fn take(self: &Arc<Self>, line: Line, writer: &Writer) -> Option<Started> {
        if line.is_blank() {
            return None;
        }
        let mut arrival = Arrival::in_room(&self.client.arrivals);
        let message = match line {
            Line::Whole(line) if !arrival.has_come(line.len()) => {
                let told = "messages of this client that are worked on take up too much; send it again when some are answered";
                Err((echo_of(&line), Refusal::new(INVALID_REQUEST, told)))
            }
            Line::Whole(line) => read_aside(line).await,
            Line::TooLong(echo) => {
                let told = format!("the message is longer than {MAX_LINE} bytes");
                Err((echo, Refusal::new(INVALID_REQUEST, told)))
            }
        };
        match message {
            Ok(message) => Some(self.receive(message, writer).await?.holding(Some(arrival))),
            Err((echo, refusal)) => {
                writer.send_refusal(refusal, &echo).await;
                None
            }
        }
    }

    /// Does what a message asks for, as [`take`](Self::take) does.
    pub async fn receive(self: &Arc<Self>, message: Message, writer: &Writer) -> Option<Started> {
        match message {
            Message::Request { id, method, params } => self.request(id, &method, params, writer).await,
            Message::Notification { method, params } => {
                self.notification(&method, &params);
                None
            }
            Message::Response { id, result } => {
                self.response(&id, result);
                None
            }
        }
    }

    async fn request(
        self: &Arc<Self>,
        id: Value,
        method: &str,
        params: Map<String, Value>,
        writer: &Writer,
    ) -> Option<Started> {
        let handshake = self.state().handshake.clone();
        // Held until the answer waits to be written.
        let mut making = None;
        let answered = match Terms::of(method, &params, &handshake) {
            Err(refusal) => Err(refusal),
            Ok(terms) => match method {
                "tools/call" => match self.call(&id, params, &terms, writer) {
                    Ok(started) => return started,
                    Err(refusal) => Err(refusal),
                },
                "subscriptions/listen" if terms.is_current() => match self.subscribe(&id, &params) {
                    Ok(acknowledged) => {
                        writer.send(&acknowledged).await;
                        return None;
                    }
                    Err(refusal) => Err(refusal),
                },
                // Full outputs are in files, or on another machine, and may be large.
                "resources/list" | "resources/read" => {
                    making = Some(writer.make().await?);
                    let (this, method) = (Arc::clone(self), method.to_owned());
                    let reading = move || this.answer(&method, &params, &terms);
                    tokio::task::spawn_blocking(reading).await.unwrap_or_else(|_| Err(Refusal::internal()))
                }
                _ => self.answer(method, &params, &terms),
            },
        };
        let message = match answered {
            Ok(result) => answer::message(&id, result),
            Err(refusal) => refusal.message(&id),
        };
        writer.send(&message).await;
        drop(making);
        None
    }

    /// What is answered at once.
    fn answer(&self, method: &str, params: &Map<String, Value>, terms: &Terms) -> Result<Value, Refusal> {
        let is_current = terms.is_current();
        match method {
            "initialize" if !is_current => self.initialize(params),
            "server/discover" => Ok(lists::discovered(&self.client.runtime)),
            "ping" if !is_current => Ok(json!({})),
            "logging/setLevel" if !is_current => self.set_level(params),
            "tools/list" => lists::tools(&self.client.session, params, terms),
            "resources/list" => self.client.outputs().map(|listed| answer::listed(listed, terms)),
            "resources/templates/list" => Ok(answer::listed(outputs::templates(), terms)),
            "resources/read" => outputs::read(&self.client.session, &self.client.runtime, params, terms),
            _ => Err(Refusal::new(METHOD_NOT_FOUND, format!("there is no method `{}`", printable(method)))),
        }
    }

    fn initialize(&self, params: &Map<String, Value>) -> Result<Value, Refusal> {
        let wanted = params.get("protocolVersion").and_then(Value::as_str);
        let wanted =
            wanted.ok_or_else(|| Refusal::new(INVALID_PARAMS, "`protocolVersion` must be a string"))?;
        let version = HANDSHAKE.into_iter().find(|known| *known == wanted).unwrap_or(NEWEST_HANDSHAKE);
        let mut state = self.state();
        state.handshake = Terms::handshake(version, params.get("capabilities"));
        state.is_open = true;
        Ok(lists::initialized(&self.client.runtime, version))
    }

    fn set_level(&self, params: &Map<String, Value>) -> Result<Value, Refusal> {
        let level = params.get("level").and_then(Value::as_str).and_then(Level::named);
        let level = level.ok_or_else(|| Refusal::new(INVALID_PARAMS, "there is no such `level`"))?;
        self.state().handshake.level = Some(level);
        Ok(json!({}))
    }

    /// Starts a call, or goes on with one that waits for an answer.
    fn call(
        self: &Arc<Self>,
        id: &Value,
        mut params: Map<String, Value>,
        terms: &Terms,
        writer: &Writer,
    ) -> Result<Option<Started>, Refusal> {
        let Some(Value::String(name)) = params.shift_remove("name") else {
            return Err(Refusal::new(INVALID_PARAMS, "`name` must be the name of a tool"));
        };
        let arguments = params.shift_remove("arguments").unwrap_or_default();
        let mut given = None;
        if let Some(state) = params.get("requestState").filter(|_| terms.is_current()) {
            let key = state.as_str().unwrap_or_default();
            let answer = params.get("inputResponses").and_then(|answers| answers.get(Form::KEY)).cloned();
            let Some(shared) = &self.client.shared else {
                return self.resume((id, terms), (key, &name, &arguments), answer, writer).map(|()| None);
            };
            let about = About { tool: &name, arguments: &arguments, session: self.client.session.name() };
            let unsealed = shared.unseal(key, &about).ok_or_else(not_waiting)?;
            given = Some(Given { unsealed, answer });
        }
        let running = self.begin(id)?;
        let mut call = ToolCall::new(&name, arguments.clone()).id(id.clone());
        for key in PASSED_ON {
            if let Some(text) = params.get("_meta").and_then(|meta| meta.get(key)).and_then(Value::as_str) {
                call = call.meta(key, text);
            }
        }
        let calling = Calling {
            connection: Arc::clone(self),
            writer: writer.clone(),
            terms: terms.clone(),
            name,
            arguments: if terms.elicits && terms.is_current() { arguments } else { Value::Null },
            id: id.clone(),
            running,
            given,
            put_off: None,
        };
        Ok(Some(Started { calling, call, arrival: None }))
    }

    /// Notes that a call runs. Of two with one identifier, the answers could not be told apart.
    fn begin(&self, id: &Value) -> Result<Running, Refusal> {
        let mut state = self.state();
        let is_subscribed = state.is_subscribed(id);
        if state.running.contains_key(&id.to_string()) || is_subscribed {
            return Err(Refusal::new(INVALID_REQUEST, "a request with this `id` is still running"));
        }
        if state.running.len() >= MAX_RUNNING {
            return Err(Refusal::new(INVALID_REQUEST, format!("{MAX_RUNNING} calls are running already")));
        }
        let running = Running { end: self.client.end.child_token(), ..Running::default() };
        state.running.insert(id.to_string(), running.clone());
        Ok(running)
    }

    /// Notes that a call has ended.
    pub fn ended(&self, id: &Value) {
        self.state().running.remove(&id.to_string());
    }

    fn resume(
        self: &Arc<Self>,
        (id, terms): (&Value, &Terms),
        (key, name, arguments): (&str, &str, &Value),
        answer: Option<Value>,
        writer: &Writer,
    ) -> Result<(), Refusal> {
        let running = self.begin(id)?;
        if let Some(parked) = self.client.unpark(key, name, arguments) {
            let running = Running { end: parked.end.clone(), ..running };
            if let Some(known) = self.state().running.get_mut(&id.to_string()) {
                *known = running.clone();
            }
            let (connection, writer) = (Arc::clone(self), writer.clone());
            let resumed =
                Resumed { id: id.clone(), terms: terms.clone(), running, writer, connection, answer };
            if parked.resume.try_send(resumed).is_ok() {
                return Ok(());
            }
        }
        self.ended(id);
        Err(not_waiting())
    }

    /// Notes a request of ours; its answer is nothing if the client refuses, or the connection ends.
    pub fn ask(&self) -> (Value, oneshot::Receiver<Option<Value>>) {
        let (answered, answer) = oneshot::channel();
        let mut state = self.state();
        state.count += 1;
        let id = Value::from(format!("toolcell-{}-{}", *OWN, state.count));
        state.asked.insert(id.to_string(), answered);
        (id, answer)
    }

    /// Forgets a request whose answer nobody waits for any more.
    pub fn unask(&self, id: &Value) {
        self.state().asked.remove(&id.to_string());
    }

    fn response(&self, id: &Value, result: Option<Value>) {
        if let Some(answered) = self.state().asked.remove(&id.to_string()) {
            let _ = answered.send(result);
        }
    }

    fn notification(&self, method: &str, params: &Map<String, Value>) {
        let id = params.get("requestId");
        let (Some(id), "notifications/cancelled") = (id, method) else { return };
        let mut state = self.state();
        state.subscriptions.retain(|(known, _)| known != id);
        if let Some(running) = state.running.get(&id.to_string()) {
            running.is_unwanted.cancel();
            running.end.cancel();
        }
    }

    /// Whether there was a handshake.
    #[cfg(feature = "http")]
    pub fn is_open(&self) -> bool {
        self.state().is_open
    }

    /// Nobody answers any more.
    pub fn close_questions(&self) {
        self.state().asked.clear();
    }

    /// Ends everything that runs.
    pub fn cancel_all(&self) {
        self.state().running.values().for_each(|running| running.end.cancel());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn not_waiting() -> Refusal {
    let told = "`requestState` is of no call of this tool with these arguments that waits for an answer at this instance; \
                make the call again without it";
    Refusal::new(INVALID_PARAMS, told)
}

/// What somebody wrote, short and on one line.
fn printable(text: &str) -> String {
    crate::output::clean(text).chars().take(100).collect::<String>().replace(['\n', '\t'], " ")
}
