//! One line as one message of JSON-RPC, or the error that it is answered with.

use serde_json::{Map, Value, json};

use super::id::{Echo, IdScan, is_id};
use super::lines::MAX_LINE;
use crate::schema::{Bounds, ParseError, RepairMode, parse_arguments, without_key};

/// Levels of a message: those of arguments, and the two around them.
const DEPTH: usize = 110;

pub(super) const PARSE_ERROR: i32 = -32700;
pub(super) const INVALID_REQUEST: i32 = -32600;
pub(super) const METHOD_NOT_FOUND: i32 = -32601;
pub(super) const INVALID_PARAMS: i32 = -32602;
pub(super) const INTERNAL_ERROR: i32 = -32603;
/// Of the protocol: a resource that is not there, before 2026-07-28.
pub(super) const RESOURCE_NOT_FOUND: i32 = -32002;
/// Of the protocol: a revision that is not served.
pub(super) const UNSUPPORTED_VERSION: i32 = -32022;

/// A message of the client's.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    Request {
        id: Value,
        method: String,
        params: Map<String, Value>,
    },
    Notification {
        method: String,
        params: Map<String, Value>,
    },
    /// The answer to a request of ours; nothing if it is an error.
    Response {
        id: Value,
        result: Option<Value>,
    },
}

/// An error of the protocol.
#[derive(Debug, PartialEq)]
pub(super) struct Refusal {
    pub code: i32,
    pub message: String,
    pub data: Option<Value>,
}

impl Refusal {
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// What must not happen.
    pub fn internal() -> Self {
        Self::new(INTERNAL_ERROR, "toolcell itself failed, which is a fault to be reported")
    }

    pub fn data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// The message that tells the sender of `id`.
    pub fn message(self, id: &Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": id, "error": self.error() })
    }

    /// The same for a message that could not be read, as JSON.
    pub fn unread(self, echo: &Echo) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{echo},"error":{}}}"#, self.error())
    }

    fn error(self) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let (Some(data), Value::Object(error)) = (self.data, &mut error) {
            error.insert("data".to_owned(), data);
        }
        error
    }
}

/// A longer message is read on a thread that may take its time: meanwhile others go on.
const LONG: usize = 64 << 10;

/// Reads a message as [`read`] does, without keeping others waiting.
///
/// # Errors
/// As [`read`].
pub(super) async fn read_aside(line: impl AsRef<[u8]> + Send + 'static) -> Result<Message, (Echo, Refusal)> {
    if line.as_ref().len() <= LONG {
        return read(line.as_ref());
    }
    let reading = tokio::task::spawn_blocking(move || read(line.as_ref()));
    reading.await.unwrap_or_else(|_| Err((Echo::default(), Refusal::internal())))
}

/// The identifier of a message that is not read.
pub(super) fn echo_of(line: &[u8]) -> Echo {
    let mut scan = IdScan::default();
    scan.feed(line);
    scan.echo()
}

/// Reads a line, strictly: a key that is there twice would be read in two ways.
///
/// # Errors
/// With the id, as far as one could be read.
pub(super) fn read(line: &[u8]) -> Result<Message, (Echo, Refusal)> {
    let found = || echo_of(line);
    let text = std::str::from_utf8(line)
        .map_err(|_| (found(), Refusal::new(PARSE_ERROR, "the message is not valid UTF-8")))?;
    if text.trim().is_empty() {
        return Err((Echo::default(), Refusal::new(PARSE_ERROR, "the message is empty")));
    }
    match parse_arguments(text, Bounds { bytes: MAX_LINE, depth: DEPTH }, RepairMode::Off) {
        Ok((Value::Object(members), _)) => message(members).map_err(|refusal| (found(), refusal)),
        Ok(_) => Err((Echo::default(), not_a_message())),
        Err(ParseError::Syntax { problem, column, .. }) => {
            let problem = without_key(&problem);
            let told = format!("the message is not valid JSON: {problem} at column {column}");
            Err((found(), Refusal::new(PARSE_ERROR, told)))
        }
        Err(ParseError::TooMany { max }) => {
            let told = format!("the message has more than {max} values");
            Err((found(), Refusal::new(INVALID_REQUEST, told)))
        }
        Err(ParseError::TooDeep { max }) => {
            let told = format!("the message nests deeper than {max} levels");
            Err((found(), Refusal::new(INVALID_REQUEST, told)))
        }
        Err(_) => Err((Echo::default(), not_a_message())),
    }
}

fn not_a_message() -> Refusal {
    Refusal::new(
        INVALID_REQUEST,
        "a line must be one JSON object, one message; lists of messages are not taken",
    )
}

fn message(mut members: Map<String, Value>) -> Result<Message, Refusal> {
    let id = members.shift_remove("id");
    let invalid = |told: &str| Refusal::new(INVALID_REQUEST, told);
    if members.get("jsonrpc").is_none_or(|version| version != "2.0") {
        return Err(invalid("`jsonrpc` must be \"2.0\""));
    }
    if id.as_ref().is_some_and(|id| !is_id(id)) {
        return Err(invalid(
            "`id` must be a string, or an integer of at most 64 bits written without a fraction",
        ));
    }
    let method = match members.shift_remove("method") {
        Some(Value::String(method)) => method,
        Some(_) => return Err(invalid("`method` must be a string")),
        None => {
            return match (id, members.shift_remove("result")) {
                (Some(id), Some(result)) => Ok(Message::Response { id, result: Some(result) }),
                (Some(id), None) if members.contains_key("error") => {
                    Ok(Message::Response { id, result: None })
                }
                // Somebody could not read a message of ours; there is nothing to be done about it.
                (None, None) if members.contains_key("error") => {
                    Ok(Message::Response { id: Value::Null, result: None })
                }
                _ => Err(invalid("a message must have a `method`")),
            };
        }
    };
    let params = match members.shift_remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => {
            return Err(Refusal::new(INVALID_PARAMS, "`params` must be an object, or be left out"));
        }
    };
    Ok(match id {
        Some(id) => Message::Request { id, method, params },
        None => Message::Notification { method, params },
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SEEDS: [&str; 5] = [
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":[2,"é"]}}}"#,
        r#"{"jsonrpc":"2.0","id":"seven","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"\ud83d\ude00"}}"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{"action":"accept"}}"#,
        r#"[{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}]"#,
    ];

    /// What changes a frame: where, how many bytes go, and what comes in their place.
    fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, usize, Vec<u8>)>> {
        let one = (any::<prop::sample::Index>(), 0_usize..4, proptest::collection::vec(any::<u8>(), 0..4));
        proptest::collection::vec(one, 0..4)
    }

    #[test]
    fn a_key_that_is_there_twice_is_named_only_if_it_is_short() {
        let told = |key: &str| {
            let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"{key}":1,"{key}":2}}"#);
            read(frame.as_bytes()).err().map(|(_, refusal)| refusal.message).unwrap_or_default()
        };
        assert!(told("method").contains("duplicate key `method` at column"), "{}", told("method"));
        let told = told("sk-live_AbCd1234-wxyz9876");
        assert!(told.contains("duplicate key at column") && !told.contains("sk-live"), "{told}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        #[test]
        fn whatever_comes_is_a_message_or_refused_with_an_id_that_is_one(seed in 0..SEEDS.len(), changes in changes()) {
            let mut frame = SEEDS.get(seed).map(|seed| seed.as_bytes().to_vec()).unwrap_or_default();
            for (at, gone, come) in changes {
                let start = at.index(frame.len() + 1);
                let end = (start + gone).min(frame.len());
                frame.splice(start..end, come);
            }
            match read(&frame) {
                Ok(Message::Request { id, .. }) => prop_assert!(is_id(&id), "{id}"),
                Ok(Message::Notification { .. } | Message::Response { .. }) => {}
                Err((echo, refusal)) => {
                    let told = refusal.unread(&echo);
                    prop_assert!(!told.contains('\n'), "{told}");
                    // A number may be one that nothing here can hold.
                    let shown = told.replacen(&format!("\"id\":{echo}"), "\"id\":null", 1);
                    let read: Value = serde_json::from_str(&shown).unwrap_or_default();
                    prop_assert!(read["error"].is_object(), "{told}");
                }
            }
        }
    }
}
