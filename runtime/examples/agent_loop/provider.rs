//! One request to a model over HTTP: OpenAI's Chat Completions, or Anthropic's Messages.

use std::collections::BTreeSet;
use std::env;
use std::time::Duration;

use serde_json::{Value, json};
use toolcell::ToolCall;
use toolcell::format::Format;

/// What the model may write in one answer; Anthropic's API has no default for it.
const MAX_TOKENS: u32 = 8192;

/// How long a model may take for one answer.
const PATIENCE: Duration = Duration::from_secs(600);

/// What is read of one answer, in bytes.
const MAX_ANSWER: u64 = 32 << 20;

/// What fails here says why in words.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Why a model stopped writing.
#[derive(Debug, PartialEq, Eq)]
pub enum Stop {
    /// The end of what it had to say.
    End,
    /// It waits for the results of calls.
    ToolUse,
    /// Its answer, or all that was said, became too long.
    MaxTokens,
    /// It wrote a sequence at which it was to stop.
    Sequence,
    /// Its provider did not let it go on.
    Refused(String),
    /// A reason that is not known here.
    Unknown(String),
}

impl Stop {
    fn parse(reason: &str) -> Self {
        match reason {
            "end_turn" | "stop" => Self::End,
            "tool_use" | "tool_calls" => Self::ToolUse,
            "max_tokens" | "model_context_window_exceeded" | "length" => Self::MaxTokens,
            "stop_sequence" => Self::Sequence,
            "refusal" | "content_filter" => Self::Refused(reason.to_owned()),
            _ => Self::Unknown(reason.to_owned()),
        }
    }

    /// Whether the calls in such an answer are whole. Servers name other reasons than `tool_calls` beside whole calls.
    pub fn lets_calls_run(&self) -> bool {
        !matches!(self, Self::MaxTokens | Self::Refused(_))
    }
}

/// What a model answered.
pub struct Answer {
    /// The message for the history; an empty one would be refused there.
    pub message: Option<Value>,
    /// The tools that it asks for.
    pub calls: Vec<ToolCall>,
    /// What it says to the user.
    pub text: String,
    /// Why it ends there.
    pub stop: Stop,
}

/// Where the model is, and how one speaks to it.
#[derive(Clone)]
pub struct Provider {
    /// The format of its messages.
    pub format: Format,
    base_url: String,
    key: String,
    model: String,
}

impl Provider {
    /// A provider at an address, as its own clients take it: with `/v1` for OpenAI's format, without for Anthropic's.
    pub fn new(format: Format, base_url: &str, key: &str, model: &str) -> Self {
        let base_url = base_url.trim_end_matches('/').to_owned();
        Self { format, base_url, key: key.to_owned(), model: model.to_owned() }
    }

    /// The provider that the environment names.
    ///
    /// # Errors
    /// Which variable is to be set.
    pub fn from_env() -> Result<Self> {
        let (format, base_url) = match env::var("AGENT_API").as_deref() {
            Ok("anthropic") => (Format::Anthropic, "https://api.anthropic.com"),
            Ok("openai") => (Format::OpenAi, "https://api.openai.com/v1"),
            _ => return Err("set AGENT_API to anthropic or openai".into()),
        };
        let base_url = env::var("AGENT_BASE_URL").unwrap_or_else(|_| base_url.to_owned());
        let key = env::var("AGENT_API_KEY").unwrap_or_default();
        let model = env::var("AGENT_MODEL").map_err(|_| "set AGENT_MODEL to a model's name")?;
        Ok(Self::new(format, &base_url, &key, &model))
    }

    /// The request with all that was said.
    pub fn body(&self, system: &str, tools: &Value, history: &[Value]) -> Value {
        let mut body = json!({ "model": self.model });
        if self.format == Format::Anthropic {
            body["max_tokens"] = MAX_TOKENS.into();
            body["system"] = system.into();
            body["messages"] = history.into();
        } else {
            let first = json!({ "role": "system", "content": system });
            body["messages"] = std::iter::once(&first).chain(history).cloned().collect();
        }
        if tools.as_array().is_some_and(|tools| !tools.is_empty()) {
            body["tools"] = tools.clone();
        }
        body
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// When there is none, or it tells of an error.
    pub fn post(&self, body: &Value) -> Result<Value> {
        // A redirect would carry the key to another host.
        let config = ureq::Agent::config_builder().max_redirects(0).http_status_as_error(false);
        let http = ureq::Agent::from(config.timeout_global(Some(PATIENCE)).build());
        let request = match self.format {
            Format::Anthropic => http
                .post(format!("{}/v1/messages", self.base_url))
                .header("x-api-key", &self.key)
                .header("anthropic-version", "2023-06-01"),
            _ => http
                .post(format!("{}/chat/completions", self.base_url))
                .header("authorization", format!("Bearer {}", self.key)),
        };
        let mut response = request.header("content-type", "application/json").send(body.to_string())?;
        let text = response.body_mut().with_config().limit(MAX_ANSWER).read_to_string()?;
        let answer: Value = serde_json::from_str(&text).unwrap_or_default();
        // Some servers report an error with the status of a success.
        match answer.get("error").filter(|error| !error.is_null()) {
            Some(error) => {
                let message = error.get("message").and_then(Value::as_str).unwrap_or("no message");
                Err(format!("the provider answered {}: {message}", response.status()).into())
            }
            None if !response.status().is_success() || !answer.is_object() => {
                Err(format!("the provider answered {}, without a message", response.status()).into())
            }
            None => Ok(answer),
        }
    }

    /// The parts of an answer that a loop works with. `ids` are those of all calls so far: what a server gives no id of
    /// its own gets one, in the message too, since it goes back there and every call in it needs its result.
    ///
    /// # Errors
    /// When it is no message of the format.
    pub fn read(&self, mut answer: Value, ids: &mut BTreeSet<String>) -> Result<Answer> {
        self.format.give_ids(&mut answer, ids);
        let calls = self.format.parse_calls(&answer)?;
        let (message, reason) = match self.format {
            Format::Anthropic => {
                (json!({ "role": "assistant", "content": answer["content"] }), &answer["stop_reason"])
            }
            _ => (answer["choices"][0]["message"].clone(), &answer["choices"][0]["finish_reason"]),
        };
        let text = text_of(&message["content"]);
        let is_empty = text.trim().is_empty() && calls.is_empty();
        let stop = Stop::parse(reason.as_str().unwrap_or("no reason"));
        Ok(Answer { message: Some(message).filter(|_| !is_empty), calls, text, stop })
    }
}

/// The text in a message's content: a string, or blocks of which some are text.
fn text_of(content: &Value) -> String {
    let of_block = |block: &Value| block.get("text").and_then(Value::as_str).map(str::to_owned);
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(of_block).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}
