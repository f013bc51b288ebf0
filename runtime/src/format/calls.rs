//! The calls in what a model answered.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::Format;
use crate::call::{Arguments, ToolCall};
use crate::schema::outline;

/// Characters of a provider's error that are told.
const MAX_ERROR: usize = 300;

/// Why no calls can be read from a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is no message in the format {format}: {problem}")]
pub struct Unreadable {
    format: Format,
    problem: String,
}

impl Format {
    /// The tool calls of a model's message, in its order, each with its id as it is.
    ///
    /// `message` is the whole response, its message, or the list inside it. What is no tool call is passed over, so a
    /// message that only says something has no calls. Arguments that the format has as text stay text; nothing is
    /// checked before the call. Where the format has no ids (Gemini's REST, `tools/call` without its request), the
    /// position stands for one: a number, and in MCP `"#0"`, `"#1"` and so on. See [`give_ids`](Self::give_ids) for
    /// messages of the others whose ids are missing or there twice.
    ///
    /// A call that the format does not write so (it has no name, say) is among them with its
    /// [`problem`](ToolCall::problem) and ends as `invalid_arguments`, so that the others run and it is answered, too.
    /// An id that JSON's readers may round, which is any number but a whole one of 64 bits, is such a problem, and is
    /// taken for none.
    ///
    /// # Errors
    /// When the value has not the format's outline, or seems to have another's: calls that are written otherwise would be
    /// passed over.
    pub fn parse_calls(self, message: &Value) -> Result<Vec<ToolCall>, Unreadable> {
        if let Some(problem) = failure(message) {
            return Err(Unreadable { format: self, problem });
        }
        let calls = match self {
            Self::OpenAi => open_ai(message),
            Self::OpenAiResponses => responses(message),
            Self::Anthropic => anthropic(message),
            Self::Gemini => gemini(message),
            Self::Mcp => mcp(message),
            Self::Toolcell => own(message),
        };
        let seen = Self::seen_in(message).filter(|seen| *seen != self);
        let calls = match (calls, seen) {
            (Ok(calls), Some(seen)) if self.tells_little(&calls) => {
                Err(format!("it seems to be one in the format {seen}"))
            }
            (Ok(calls), _) if calls.is_empty() => refuse_no_objects(message).map(|()| calls),
            (Err(problem), Some(seen)) => Err(format!("{problem}; it seems to be one in the format {seen}")),
            (calls, _) => calls,
        };
        calls.map_err(|problem| Unreadable { format: self, problem })
    }

    /// The same of a message as its text, in which a call whose arguments cannot be read spoils no other: those of a key that
    /// is there twice, of half a surrogate, of a number that is none or of too many levels. It is among the calls and ends
    /// as `invalid_arguments`, where [`parse_calls`](Self::parse_calls) depends on what whoever read the value made of it.
    ///
    /// # Errors
    /// As `parse_calls`, and when the text is no document of JSON, or a key is there twice outside of the calls.
    pub fn read_calls(self, message: &str) -> Result<Vec<ToolCall>, Unreadable> {
        let document =
            outline(message, self.arguments_key()).map_err(|problem| Unreadable { format: self, problem })?;
        self.parse_calls(&document.value)
    }

    /// The member in which a call has its arguments.
    fn arguments_key(self) -> &'static str {
        match self {
            Self::OpenAi | Self::OpenAiResponses | Self::Mcp | Self::Toolcell => "arguments",
            Self::Anthropic => "input",
            Self::Gemini => "args",
        }
    }

    /// Whether what was read says nothing of the message's format: no call at all, or such as are told by a name alone.
    fn tells_little(self, calls: &[ToolCall]) -> bool {
        matches!(self, Self::Mcp | Self::Toolcell) || calls.iter().all(|call| call.problem().is_some())
    }
}

/// What a provider says in the place of a message.
fn failure(message: &Value) -> Option<String> {
    let error = message.get("error").filter(|error| !error.is_null())?;
    let text = error.as_str().or_else(|| error.get("message")?.as_str()).unwrap_or("it does not say of what");
    let text: String = text.chars().take(MAX_ERROR).collect();
    Some(format!("it is an error of the provider: {text}"))
}

fn refuse_no_objects(message: &Value) -> Result<(), String> {
    let items = message.as_array().map(Vec::as_slice).unwrap_or_default();
    match items.iter().position(|item| !item.is_object()) {
        Some(at) => Err(format!("[{at}] is no object")),
        None => Ok(()),
    }
}

type Calls = Result<Vec<ToolCall>, String>;

fn open_ai(message: &Value) -> Calls {
    let message = match message.get("choices") {
        Some(choices) => choices.pointer("/0/message").ok_or("`choices` has no message")?,
        None => message,
    };
    if message.get("function_call").is_some_and(|call| !call.is_null()) {
        return Err("`function_call` is how calls were written before `tool_calls`; send the model `tools`"
            .to_owned());
    }
    let calls = match (message, message.get("tool_calls")) {
        (Value::Array(calls), _) => calls.as_slice(),
        (_, Some(Value::Array(calls))) => calls.as_slice(),
        (_, Some(Value::Null)) => &[],
        (Value::Object(members), None) if members.contains_key("role") || members.contains_key("content") => {
            &[]
        }
        _ => return Err("`tool_calls` is not there, or no list".to_owned()),
    };
    let call = |(at, call): (usize, &Value)| {
        let place = format!("tool_calls[{at}]");
        let id = call.get("id");
        match (call.get("function"), call.get("custom")) {
            (Some(function), _) => tool_call(id, function, "arguments", &place),
            (None, Some(custom)) => broken(id, custom, self::custom(&place)),
            (None, None) => broken(id, &Value::Null, format!("{place} has no `function`")),
        }
    };
    Ok(calls.iter().enumerate().map(call).collect())
}

fn custom(place: &str) -> String {
    format!("{place} is a custom tool call, and the tools here are functions")
}

fn responses(message: &Value) -> Calls {
    let items = match (message, message.get("output")) {
        (Value::Array(items), _) | (_, Some(Value::Array(items))) => items.as_slice(),
        (Value::Object(item), None) if item.contains_key("type") => std::slice::from_ref(message),
        _ => return Err("`output` is not there, or no list".to_owned()),
    };
    let call = |(at, item): (usize, &Value)| {
        let (id, place) = (item.get("call_id"), format!("output[{at}]"));
        match item.get("type").and_then(Value::as_str) {
            Some("function_call") => Some(tool_call(id, item, "arguments", &place)),
            Some("custom_tool_call") => Some(broken(id, item, custom(&place))),
            _ => None,
        }
    };
    Ok(items.iter().enumerate().filter_map(call).collect())
}

fn anthropic(message: &Value) -> Calls {
    let blocks = match (message, message.get("content")) {
        (Value::Array(blocks), _) | (_, Some(Value::Array(blocks))) => blocks.as_slice(),
        (_, Some(Value::String(_))) => &[],
        _ => return Err("`content` is not there, or no list".to_owned()),
    };
    let call =
        |(at, block): (usize, &Value)| tool_call(block.get("id"), block, "input", &format!("content[{at}]"));
    Ok(of_type(blocks, "tool_use").map(call).collect())
}

fn gemini(message: &Value) -> Calls {
    let content = match message.get("candidates") {
        Some(candidates) => candidates.pointer("/0/content").ok_or("`candidates` has no content")?,
        None => message,
    };
    let parts = match (content, content.get("parts")) {
        (Value::Array(parts), _) | (_, Some(Value::Array(parts))) => parts.as_slice(),
        // A turn that ended early has a role alone.
        (Value::Object(content), None) if content.contains_key("role") => &[],
        (_, Some(Value::Null)) => &[],
        _ => return Err("`parts` is not there, or no list".to_owned()),
    };
    let mut calls = Vec::new();
    let mut places = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        // Its clients for Python dump the second spelling.
        let spellings = ["functionCall", "function_call"].into_iter().filter_map(|key| part.get(key));
        let spelt: Vec<&Value> = spellings.filter(|call| !call.is_null()).collect();
        let Some(call) = spelt.first() else { continue };
        let id = call.get("id").filter(|id| is_usable(id));
        if id.is_none() {
            places.push(calls.len());
        }
        let place = format!("parts[{at}]");
        calls.push(match spelt.as_slice() {
            [call] => tool_call(id, call, "args", &place),
            // Two readers would run different ones.
            _ => {
                broken(id, call, format!("{place} has `functionCall` and `function_call`; send one of them"))
            }
        });
    }
    let mut taken: BTreeSet<u64> = calls.iter().filter_map(|call| call.id.as_u64()).collect();
    for place in places {
        let call = calls.get_mut(place).filter(|call| call.id.is_null());
        let first = u64::try_from(place).unwrap_or_default();
        let position = (first..).find(|position| taken.insert(*position));
        if let (Some(call), Some(position)) = (call, position) {
            call.id = position.into();
        }
    }
    Ok(calls)
}

/// Whether an id of Gemini's tells its call from others. It is text there; an empty one is how some of its clients write
/// that there is none.
fn is_usable(id: &Value) -> bool {
    id.is_i64() || id.is_u64() || id.as_str().is_some_and(|id| !id.is_empty())
}

fn mcp(message: &Value) -> Calls {
    let requests = list(message, "method", "name")?;
    let mut calls = Vec::new();
    for (at, request) in requests.iter().enumerate() {
        let place = format!("[{at}]");
        let call = match request.get("method") {
            Some(method) if method == "tools/call" => match request.get("params") {
                Some(params) => tool_call(request.get("id"), params, "arguments", &place),
                None => broken(request.get("id"), &Value::Null, format!("{place} has no `params`")),
            },
            Some(_) => continue,
            None => tool_call(Some(&format!("#{at}").into()), request, "arguments", &place),
        };
        calls.push(call);
    }
    Ok(calls)
}

fn own(message: &Value) -> Calls {
    let calls = message.get("calls").unwrap_or(message);
    let calls = list(calls, "name", "name")?;
    let call = |(at, call): (usize, &Value)| tool_call(call.get("id"), call, "arguments", &format!("[{at}]"));
    Ok(calls.iter().enumerate().map(call).collect())
}

/// The list, or the one thing, an object that has one of these keys, as a list.
fn list<'a>(value: &'a Value, key: &str, other: &str) -> Result<&'a [Value], String> {
    match value {
        Value::Array(items) => Ok(items),
        Value::Object(one) if one.contains_key(key) || one.contains_key(other) => {
            Ok(std::slice::from_ref(value))
        }
        _ => Err("it is no list of calls".to_owned()),
    }
}

fn of_type<'a>(items: &'a [Value], kind: &'a str) -> impl Iterator<Item = (usize, &'a Value)> {
    items.iter().enumerate().filter(move |(_, item)| item.get("type").is_some_and(|it| it == kind))
}

/// One call: `call` has its name and, under `arguments`, what it is called with; nothing there is no arguments.
fn tool_call(id: Option<&Value>, call: &Value, arguments: &str, place: &str) -> ToolCall {
    let Some(name) = call.get("name").and_then(Value::as_str) else {
        return broken(id, call, format!("{place} has no `name`"));
    };
    // Its digits are gone; two of them could look the same.
    if id.is_some_and(Value::is_f64) {
        let problem = "has an id that is no whole number of 64 bits, and would not come back as it is";
        return broken(None, call, format!("{place} {problem}; write ids as text"));
    }
    let arguments: Arguments = match call.get(arguments) {
        Some(Value::String(text)) => text.as_str().into(),
        Some(Value::Null) | None => Value::Object(Map::new()).into(),
        Some(value) => value.clone().into(),
    };
    ToolCall::new(name, arguments).id(id.cloned().unwrap_or_default())
}

/// What should be a call, with its name where `call` has one.
fn broken(id: Option<&Value>, call: &Value, problem: String) -> ToolCall {
    let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
    let id = id.filter(|id| !id.is_f64()).cloned().unwrap_or_default();
    ToolCall::unreadable(name, format!("the call cannot be read: {problem}")).id(id)
}
