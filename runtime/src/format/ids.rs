//! Identifiers of calls, where a model's message gives none by which a result can be told from another.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::Format;

impl Format {
    /// Gives each call of a model's message an id that its provider takes back, where it has none of its own: nothing, no
    /// text, an empty text, or one in `known`, which gets the ids of the message.
    ///
    /// Providers refuse a whole request for one call without a result of the same id, and some servers that speak their
    /// formats leave ids out or give one twice. So that every call can run and be answered, pass each message through
    /// here before its calls are read and before it goes into the history, with one `known` for the whole talk. In
    /// Gemini's format, which needs no id, one that cannot be used is taken out instead. Nothing is changed in the formats
    /// `mcp` and `toolcell`, where the position stands for an id or the caller writes the message.
    pub fn give_ids(self, message: &mut Value, known: &mut BTreeSet<String>) {
        let key = if self == Self::OpenAiResponses { "call_id" } else { "id" };
        for call in self.calls_in(message) {
            let own = call.get(key).and_then(Value::as_str).filter(|id| !id.is_empty());
            if own.is_some_and(|id| known.insert(id.to_owned())) {
                continue;
            }
            if self == Self::Gemini {
                call.shift_remove(key);
            } else {
                call.insert(key.to_owned(), fresh(known).into());
            }
        }
    }

    /// The objects of a message that are calls.
    fn calls_in(self, message: &mut Value) -> Vec<&mut Map<String, Value>> {
        match self {
            Self::OpenAi => objects(inner(message, "/choices/0/message", "tool_calls")).collect(),
            Self::OpenAiResponses => typed(inner(message, "", "output"), "function_call"),
            Self::Anthropic => typed(inner(message, "", "content"), "tool_use"),
            Self::Gemini => objects(inner(message, "/candidates/0/content", "parts"))
                .filter_map(|part| {
                    let key =
                        ["functionCall", "function_call"].into_iter().find(|key| part.contains_key(*key))?;
                    part.get_mut(key)?.as_object_mut()
                })
                .collect(),
            Self::Mcp | Self::Toolcell => Vec::new(),
        }
    }
}

/// The list in a response, in its message, or the message itself if it is the list.
fn inner<'m>(message: &'m mut Value, pointer: &str, list: &str) -> &'m mut [Value] {
    let message = match message.pointer(pointer) {
        Some(_) => message.pointer_mut(pointer),
        None => Some(message),
    };
    let items = match message {
        Some(Value::Array(items)) => Some(items),
        Some(Value::Object(message)) => message.get_mut(list).and_then(Value::as_array_mut),
        _ => None,
    };
    items.map(Vec::as_mut_slice).unwrap_or_default()
}

fn objects(items: &mut [Value]) -> impl Iterator<Item = &mut Map<String, Value>> {
    items.iter_mut().filter_map(Value::as_object_mut)
}

fn typed<'m>(items: &'m mut [Value], kind: &str) -> Vec<&'m mut Map<String, Value>> {
    objects(items).filter(|item| item.get("type").is_some_and(|it| it == kind)).collect()
}

/// An id that is not known yet, in the letters that every provider takes.
fn fresh(known: &mut BTreeSet<String>) -> String {
    let mut at = known.len();
    loop {
        let id = format!("call_{at}");
        if known.insert(id.clone()) {
            return id;
        }
        at += 1;
    }
}
