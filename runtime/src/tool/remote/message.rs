//! Messages of JSON-RPC, as the one who asks sends and reads them.

use serde_json::{Value, json};

/// The code for a method that is not there: what a server asks of us is none of ours.
const METHOD_NOT_FOUND: i32 = -32601;

/// What a server says.
#[derive(Debug)]
pub(super) enum Incoming {
    /// The answer to a request of ours.
    Answer { id: u64, end: Result<Value, RpcError> },
    /// A request, which nobody here does.
    Request { id: Value, method: String },
    /// Something to know.
    Notification { method: String, params: Value },
}

/// An error that a server answers with.
#[derive(Debug, Clone)]
pub(super) struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Value,
}

/// Why a request has no result.
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "some of it is what goes wrong over HTTP"))]
#[derive(Debug, Clone)]
pub(super) enum Failure {
    /// The server answered with an error.
    Refused(RpcError),
    /// There is no connection, or none any more.
    Gone(String),
    /// The answer is longer than it may be.
    TooLong,
    /// The answer cannot be read.
    Unreadable,
    /// The session is over, and the request was not taken.
    Expired,
    /// Over HTTP, a status that is no answer.
    Status(u16),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(error) => {
                write!(formatter, "it answers with the error {}: {}", error.code, error.message)
            }
            Self::Gone(why) => formatter.write_str(why),
            Self::TooLong => formatter.write_str("it sent a message that is longer than it may be"),
            Self::Unreadable => formatter.write_str("it sent a message that cannot be read"),
            Self::Expired => formatter.write_str("its session is over"),
            Self::Status(status @ (401 | 403)) => {
                write!(
                    formatter,
                    "it answers with status {status}; `headers` have to say who asks, from `secrets`"
                )
            }
            Self::Status(status @ 300..=399) => {
                write!(
                    formatter,
                    "it answers with status {status}; write the address that it leads to as `url`"
                )
            }
            Self::Status(status) => write!(formatter, "it answers with status {status}"),
        }
    }
}

/// Reads one message; nothing if it is none.
pub(super) fn read(bytes: &[u8]) -> Option<Incoming> {
    let Value::Object(mut members) = serde_json::from_slice(bytes).ok()? else { return None };
    let id = members.remove("id").filter(|id| !id.is_null());
    if let Some(Value::String(method)) = members.remove("method") {
        let params = members.remove("params").unwrap_or_default();
        return Some(match id {
            Some(id) => Incoming::Request { id, method },
            None => Incoming::Notification { method, params },
        });
    }
    let id = id?.as_u64()?;
    let end = match (members.remove("result"), members.remove("error")) {
        (_, Some(error)) => Err(RpcError::of(&error)?),
        (Some(result), None) => Ok(result),
        _ => return None,
    };
    Some(Incoming::Answer { id, end })
}

/// Reads an error of whatever request, where there is but one that it can be of.
#[cfg(feature = "http")]
pub(super) fn read_error(bytes: &[u8]) -> Option<RpcError> {
    let message: Value = serde_json::from_slice(bytes).ok()?;
    RpcError::of(message.get("error")?)
}

impl RpcError {
    fn of(error: &Value) -> Option<Self> {
        let error = error.as_object()?;
        Some(Self {
            code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
            message: error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
            data: error.get("data").cloned().unwrap_or_default(),
        })
    }
}

/// A request as a line without its end.
pub(super) fn request(id: u64, method: &str, params: Value) -> Vec<u8> {
    bytes(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

/// A notification.
pub(super) fn notification(method: &str, params: Option<Value>) -> Vec<u8> {
    let mut message = json!({ "jsonrpc": "2.0", "method": method });
    if let (Some(params), Value::Object(members)) = (params, &mut message) {
        members.insert("params".to_owned(), params);
    }
    bytes(&message)
}

/// The answer to a request of a server's: only whether we are there is told.
pub(super) fn answer(id: &Value, method: &str) -> Vec<u8> {
    if method == "ping" {
        return bytes(&json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
    }
    let told = "this client gives servers nothing: no sampling, no roots, no questions to its user";
    bytes(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": METHOD_NOT_FOUND, "message": told } }))
}

fn bytes(message: &Value) -> Vec<u8> {
    message.to_string().into_bytes()
}
