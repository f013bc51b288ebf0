//! An agent loop: a model says which tools to call, toolcell calls them, until the model is done.
//!
//! ```sh
//! AGENT_API=anthropic AGENT_API_KEY=… AGENT_MODEL=… cargo run --example agent_loop [toolcell.toml]
//! ```
//!
//! Each line of standard input is a message to the agent; an empty one cancels what it is doing. `AGENT_API` is
//! `anthropic` or `openai`, whose Chat Completions many servers speak: name yours by `AGENT_BASE_URL`. Without a
//! configuration the agent has the shipped file tools and may read the folder that it is started in.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example speaks to its user")]

#[path = "agent_loop/provider.rs"]
mod provider;

use std::collections::{BTreeSet, VecDeque};
use std::{env, fmt, io, thread};

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;
use toolcell::format::Strict;
use toolcell::{Access, CancellationToken, Grant, Runtime, ToolCall, ToolComponent};

use provider::{Answer, Stop};
pub use provider::{Provider, Result};

/// Requests to the model that one message of the user may cost.
pub const MAX_ITERATIONS: usize = 10;

/// A model, the tools that it may call, and what was said so far.
pub struct Agent {
    provider: Provider,
    runtime: Runtime,
    system: String,
    /// Whole at any time: whoever drops a turn, cancels it or sees it fail can go on with the next message.
    history: Vec<Value>,
    /// The identifiers of all calls in it.
    ids: BTreeSet<String>,
}

impl Agent {
    /// An agent with nothing said yet. `rules` come first in the system prompt, then what the tools' authors wrote for it.
    pub fn new(provider: Provider, runtime: Runtime, rules: &str) -> Self {
        let instructions = runtime.instructions();
        let tools = instructions.iter().map(|(name, usage)| format!("# The tools of {name}\n\n{usage}"));
        let system = std::iter::once(rules.to_owned()).chain(tools).collect::<Vec<_>>().join("\n\n");
        Self { provider, runtime, system, history: Vec::new(), ids: BTreeSet::new() }
    }

    /// One message of the user, and all that it takes to answer it.
    ///
    /// # Errors
    /// When the provider cannot be reached, or answers with an error.
    pub async fn turn(&mut self, text: &str, cancel: &CancellationToken) -> Result<Ending> {
        self.say(text);
        for _ in 0..MAX_ITERATIONS {
            let answer = tokio::select! {
                answer = self.ask() => answer?,
                () = cancel.cancelled() => return Ok(Ending::Cancelled),
            };
            if answer.calls.is_empty() {
                self.history.extend(answer.message);
                return Ok(Ending::of(answer.stop, answer.text));
            }
            // An answer that was cut off may ask for half of what it meant: its calls are told that they were not run.
            let token = if answer.stop.lets_calls_run() { cancel.clone() } else { cancelled() };
            let results = self.run(answer.calls, token).await;
            // Calls and their results, or neither: a call without a result is refused in every later request.
            self.history.extend(answer.message);
            self.history.extend(results);
            if cancel.is_cancelled() {
                return Ok(Ending::Cancelled);
            }
            if !answer.stop.lets_calls_run() {
                return Ok(Ending::of(answer.stop, answer.text));
            }
        }
        Ok(Ending::TooManyIterations)
    }

    /// The results of calls, in the provider's messages; a result for each call, whatever becomes of it.
    async fn run(&self, calls: Vec<ToolCall>, cancel: CancellationToken) -> Vec<Value> {
        calls.iter().for_each(|call| eprintln!("calls {}", call.name));
        let outcomes = self.runtime.call_batch(calls).cancel(cancel).await;
        match self.provider.format.results(&outcomes) {
            Value::Array(messages) => messages,
            message => vec![message],
        }
    }

    /// Adds what the user says. Some servers refuse two messages of one role in a row, as a cancelled turn leaves them.
    fn say(&mut self, text: &str) {
        match self.history.last_mut() {
            Some(last) if last["role"] == "user" => append(&mut last["content"], text),
            _ => self.history.push(json!({ "role": "user", "content": text })),
        }
    }

    async fn ask(&mut self) -> Result<Answer> {
        let tools = self.provider.format.export(&self.runtime.list(), Strict::Off).tools;
        let body = self.provider.body(&self.system, &tools, &self.history);
        let provider = self.provider.clone();
        let (sender, answer) = oneshot::channel();
        // A thread of its own, for which nobody waits: a request goes on after its turn was cancelled.
        thread::spawn(move || sender.send(provider.post(&body)));
        self.provider.read(answer.await??, &mut self.ids)
    }
}

fn append(content: &mut Value, text: &str) {
    match content {
        Value::Array(blocks) => blocks.push(json!({ "type": "text", "text": text })),
        Value::String(said) => *said = format!("{said}\n\n{text}"),
        other => *other = text.into(),
    }
}

fn cancelled() -> CancellationToken {
    let token = CancellationToken::new();
    token.cancel();
    token
}

/// How a turn ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    /// The model has said what it had to say.
    Done(String),
    /// The model ran into its maximum of tokens; what it had said.
    MaxTokens(String),
    /// The model wrote a stop sequence; what it had said before.
    StopSequence(String),
    /// The provider stopped the model, for this reason; what it had said.
    Stopped(String, String),
    /// The model still wanted tools after as many rounds as there may be.
    TooManyIterations,
    /// Cancelled, while the model wrote or while tools ran.
    Cancelled,
}

impl Ending {
    fn of(stop: Stop, text: String) -> Self {
        match stop {
            Stop::End | Stop::ToolUse => Self::Done(text),
            Stop::MaxTokens => Self::MaxTokens(text),
            Stop::Sequence => Self::StopSequence(text),
            Stop::Refused(reason) | Stop::Unknown(reason) => Self::Stopped(reason, text),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done(text) | Self::StopSequence(text) => formatter.write_str(text),
            Self::MaxTokens(text) => write!(formatter, "{text}\n[cut off at the maximum of tokens]"),
            Self::Stopped(reason, text) => write!(formatter, "{text}\n[the provider stopped: {reason}]"),
            Self::TooManyIterations => write!(
                formatter,
                "[stopped after {MAX_ITERATIONS} rounds of tool calls; say \"go on\" to let it continue]"
            ),
            Self::Cancelled => formatter.write_str("[cancelled]"),
        }
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let provider = Provider::from_env()?;
    let runtime = match env::args().nth(1) {
        Some(config) => Runtime::from_config(config).await?,
        None => {
            let here = Grant::none().dir(".", "/work", Access::Read);
            Runtime::builder().component(ToolComponent::builtin("files").grant(here)).build().await?
        }
    };
    let agent = Agent::new(provider, runtime, "Answer briefly. Look things up with the tools.");
    let (sender, lines) = unbounded_channel();
    thread::spawn(move || {
        io::stdin().lines().map_while(io::Result::ok).try_for_each(|line| sender.send(line))
    });
    talk(agent, lines).await;
    Ok(())
}

/// A turn for each line; the lines that come meanwhile wait, and an empty one cancels.
async fn talk(mut agent: Agent, mut lines: UnboundedReceiver<String>) {
    let mut waiting = VecDeque::new();
    loop {
        let next = match waiting.pop_front() {
            Some(line) => Some(line),
            None => lines.recv().await,
        };
        let Some(line) = next else { return };
        if line.trim().is_empty() {
            continue;
        }
        let cancel = CancellationToken::new();
        let turn = agent.turn(&line, &cancel);
        tokio::pin!(turn);
        let ending = loop {
            tokio::select! {
                ending = &mut turn => break ending,
                Some(line) = lines.recv() => match line.trim() {
                    "" => cancel.cancel(),
                    _ => waiting.push_back(line),
                },
            }
        };
        match ending {
            Ok(ending) => println!("{ending}"),
            Err(error) => eprintln!("error: {error}"),
        }
    }
}
