//! One client: what it said of itself, what runs for it, and the way of each of its messages.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::approval::Form;
use super::calling::Calling;
use super::frame::{INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Message, Refusal, read};
use super::lines::{Line, MAX_LINE};
use super::speech::Level;
use super::version::{HANDSHAKE, NEWEST_HANDSHAKE, Terms};
use super::writer::Writer;
use super::{answer, changes, lists, outputs};
use crate::call::ToolCall;
use crate::error::Result;
use crate::output::Handle;
use crate::runtime::{Runtime, Session};

/// Calls at once; those beyond are refused, or a client could fill memory with what waits.
const MAX_RUNNING: usize = 4096;

/// Entries of a request's metadata that a tool may see: where the caller's trace goes on.
const PASSED_ON: [&str; 2] = ["traceparent", "tracestate"];

/// One client.
pub(super) struct Connection {
    pub runtime: Runtime,
    pub session: Session,
    pub writer: Writer,
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
    /// Calls that wait for their client to come back with an answer, by the state that it was given.
    parked: HashMap<String, Parked>,
    /// The identifiers of subscriptions to changes of the list of tools.
    subscriptions: Vec<Value>,
    outputs: Vec<outputs::Kept>,
    count: u64,
}

/// A call that runs.
#[derive(Clone, Default)]
pub(super) struct Running {
    /// Ends it.
    pub end: CancellationToken,
    /// Whether its client wants no answer any more.
    pub is_unwanted: CancellationToken,
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
    pub running: Running,
    pub answer: Option<Value>,
}

impl Connection {
    pub fn new(runtime: Runtime, writer: Writer) -> Result<Self> {
        // As unguessable as a handle, and made the same way.
        let name = format!("mcp-{}", Handle::random()?.as_str().trim_start_matches("o-"));
        let session = runtime.session(name);
        outputs::add_tool(&runtime, &session);
        let state = State {
            handshake: Terms { level: Some(Level::Info), ..Terms::handshake(NEWEST_HANDSHAKE, None) },
            is_open: false,
            running: HashMap::new(),
            asked: HashMap::new(),
            parked: HashMap::new(),
            subscriptions: Vec::new(),
            outputs: Vec::new(),
            count: 0,
        };
        Ok(Self { runtime, session, writer, state: Mutex::new(state) })
    }

    /// Does what a line asks for. Calls go into `calls`; everything else is done when this returns.
    pub async fn take(self: &Arc<Self>, line: Line, calls: &mut JoinSet<()>) {
        if line.is_blank() {
            return;
        }
        let message = match line {
            Line::Whole(line) => read(&line),
            Line::TooLong(id) => {
                let told = format!("the message is longer than {MAX_LINE} bytes");
                Err((id.unwrap_or_default(), Refusal::new(INVALID_REQUEST, told)))
            }
        };
        match message {
            Ok(Message::Request { id, method, params }) => self.request(id, &method, params, calls).await,
            Ok(Message::Notification { method, params }) => self.notification(&method, &params),
            Ok(Message::Response { id, result }) => self.response(&id, result),
            Err((id, refusal)) => self.writer.send(&refusal.message(&id)).await,
        }
    }

    async fn request(
        self: &Arc<Self>,
        id: Value,
        method: &str,
        params: Map<String, Value>,
        calls: &mut JoinSet<()>,
    ) {
        let handshake = self.state().handshake.clone();
        let terms = match Terms::of(method, &params, &handshake) {
            Ok(terms) => terms,
            Err(refusal) => return self.writer.send(&refusal.message(&id)).await,
        };
        let answered = match method {
            "tools/call" => match self.call(&id, params, &terms, calls) {
                Ok(()) => return,
                Err(refusal) => Err(refusal),
            },
            "subscriptions/listen" if terms.is_current() => match self.subscribe(&id, &params) {
                Ok(acknowledged) => return self.writer.send(&acknowledged).await,
                Err(refusal) => Err(refusal),
            },
            _ => self.answer(method, &params, &terms),
        };
        let message = match answered {
            Ok(result) => answer::message(&id, result),
            Err(refusal) => refusal.message(&id),
        };
        self.writer.send(&message).await;
    }

    /// What is answered at once.
    fn answer(&self, method: &str, params: &Map<String, Value>, terms: &Terms) -> Result<Value, Refusal> {
        let is_current = terms.is_current();
        match method {
            "initialize" => self.initialize(params),
            "server/discover" => Ok(lists::discovered(&self.runtime)),
            "ping" if !is_current => Ok(json!({})),
            "logging/setLevel" if !is_current => self.set_level(params),
            "tools/list" => lists::tools(&self.session, params, terms),
            "resources/list" => Ok(answer::listed(outputs::list(&self.state().outputs), terms)),
            "resources/templates/list" => Ok(answer::listed(outputs::templates(), terms)),
            "resources/read" => outputs::read(&self.session, &self.runtime, params, terms),
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
        Ok(lists::initialized(&self.runtime, version))
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
        calls: &mut JoinSet<()>,
    ) -> Result<(), Refusal> {
        let Some(Value::String(name)) = params.shift_remove("name") else {
            return Err(Refusal::new(INVALID_PARAMS, "`name` must be the name of a tool"));
        };
        let arguments = params.shift_remove("arguments").unwrap_or_default();
        if let Some(state) = params.get("requestState").filter(|_| terms.is_current()) {
            return self.resume(id, state, &name, &arguments, params.get("inputResponses"));
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
            terms: terms.clone(),
            name,
            arguments: if terms.elicits && terms.is_current() { arguments } else { Value::Null },
            id: id.clone(),
            running,
        };
        calls.spawn(calling.run(call));
        Ok(())
    }

    /// Notes that a call runs. Of two with one identifier, the answers could not be told apart.
    fn begin(&self, id: &Value) -> Result<Running, Refusal> {
        let mut state = self.state();
        if state.running.contains_key(&id.to_string()) || state.subscriptions.contains(id) {
            return Err(Refusal::new(INVALID_REQUEST, "a request with this `id` is still running"));
        }
        if state.running.len() >= MAX_RUNNING {
            return Err(Refusal::new(INVALID_REQUEST, format!("{MAX_RUNNING} calls are running already")));
        }
        let running = Running::default();
        state.running.insert(id.to_string(), running.clone());
        Ok(running)
    }

    /// Notes that a call has ended.
    pub fn ended(&self, id: &Value) {
        self.state().running.remove(&id.to_string());
    }

    fn resume(
        &self,
        id: &Value,
        given: &Value,
        name: &str,
        arguments: &Value,
        answers: Option<&Value>,
    ) -> Result<(), Refusal> {
        let key = given.as_str().unwrap_or_default();
        let running = self.begin(id)?;
        let mut state = self.state();
        let is_same = |parked: &Parked| parked.name == name && parked.arguments == *arguments;
        let parked = if state.parked.get(key).is_some_and(is_same) { state.parked.remove(key) } else { None };
        let answer = answers.and_then(|answers| answers.get(Form::KEY)).cloned();
        let running = Running { end: parked.as_ref().map(|p| p.end.clone()).unwrap_or_default(), ..running };
        if let Some(known) = state.running.get_mut(&id.to_string()) {
            *known = running.clone();
        }
        drop(state);
        let resumed = Resumed { id: id.clone(), running, answer };
        if parked.is_some_and(|parked| parked.resume.try_send(resumed).is_ok()) {
            return Ok(());
        }
        self.ended(id);
        let told = "`requestState` is of no call of this tool with these arguments that waits for an answer; \
                    make the call again without it";
        Err(Refusal::new(INVALID_PARAMS, told))
    }

    /// Keeps a call until its client comes back with the state that this returns.
    pub fn park(&self, id: &Value, parked: Parked) -> Result<String> {
        let key = Handle::random()?.as_str().to_owned();
        let mut state = self.state();
        state.running.remove(&id.to_string());
        state.parked.insert(key.clone(), parked);
        Ok(key)
    }

    /// Forgets a call that has ended before its client came back.
    pub fn unpark(&self, key: &str) {
        self.state().parked.remove(key);
    }

    /// Notes a request of ours; its answer is nothing if the client refuses, or the connection ends.
    pub fn ask(&self) -> (Value, oneshot::Receiver<Option<Value>>) {
        let (answered, answer) = oneshot::channel();
        let mut state = self.state();
        state.count += 1;
        let id = Value::from(format!("toolcell-{}", state.count));
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
        state.subscriptions.retain(|known| known != id);
        if let Some(running) = state.running.get(&id.to_string()) {
            running.is_unwanted.cancel();
            running.end.cancel();
        }
    }

    /// Opens a subscription; what it is answered with.
    fn subscribe(&self, id: &Value, params: &Map<String, Value>) -> Result<Value, Refusal> {
        let wanted = params.get("notifications").and_then(Value::as_object);
        let wanted =
            wanted.ok_or_else(|| Refusal::new(INVALID_PARAMS, "`notifications` must be an object"))?;
        self.begin(id)?;
        self.ended(id);
        let wants_tools = wanted.get("toolsListChanged") == Some(&Value::Bool(true));
        let mut state = self.state();
        if state.subscriptions.len() >= MAX_RUNNING {
            return Err(Refusal::new(INVALID_REQUEST, "there are too many subscriptions"));
        }
        state.subscriptions.push(id.clone());
        Ok(changes::acknowledgement(id, wants_tools))
    }

    /// Notifications that the tools have changed, for everybody who wants to know.
    pub async fn tell_change(&self) {
        let messages: Vec<Value> = {
            let state = self.state();
            let plain = state.is_open.then(changes::plain);
            plain.into_iter().chain(state.subscriptions.iter().map(changes::subscribed)).collect()
        };
        for message in &messages {
            self.writer.send(message).await;
        }
    }

    /// Notes a full output, to be listed.
    pub fn keep(&self, kept: outputs::Kept) {
        outputs::add(&mut self.state().outputs, kept);
    }

    /// Nobody answers any more.
    pub fn close_questions(&self) {
        let mut state = self.state();
        state.asked.clear();
        state.parked.drain().for_each(|(_, parked)| parked.end.cancel());
    }

    /// Ends everything that runs.
    pub fn cancel_all(&self) {
        self.state().running.values().for_each(|running| running.end.cancel());
    }

    /// Says that there will be no more notifications.
    pub async fn end_subscriptions(&self) {
        let subscriptions = std::mem::take(&mut self.state().subscriptions);
        for id in subscriptions {
            self.writer.send(&changes::ended(&id)).await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What somebody wrote, short and on one line.
fn printable(text: &str) -> String {
    crate::output::clean(text).chars().take(100).collect::<String>().replace(['\n', '\t'], " ")
}
