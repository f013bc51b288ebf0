//! Messages of JSON-RPC, as the one who asks sends and reads them.

use serde_json::{Value, json};

use super::kept::{Part, kept};

/// The code for a method that is not there: what a server asks of us is none of ours.
const METHOD_NOT_FOUND: i32 = -32601;

/// Bytes of a message that is short. Of a longer one only an answer is looked into.
pub(super) const SHORT: usize = 64 << 10;

/// Bytes of memory that the values of a result may take beside their texts: a result whose values are numbers may have well
/// over a million. The text alone is bounded elsewhere, and says nothing of that.
pub(super) const MAX_VALUES: usize = 128 << 20;

/// The same of what an error has beside its words, of which little is of use here.
const MAX_DATA: usize = 64 << 10;

/// Bytes of a request's identifier, which goes back in its answer; those of servers are numbers.
const MAX_ID: usize = 256;

/// What tells how far a call has come.
const PROGRESS: &str = "notifications/progress";

type Members = &'static [(&'static str, Part)];

/// What tells what a message is.
const HEAD: Members = &[
    ("jsonrpc", Part::Presence),
    ("id", Part::Plain),
    ("method", Part::Plain),
    ("result", Part::Presence),
    ("error", Part::Presence),
];

const RESULT: Members = &[("result", Part::Whole(MAX_VALUES))];

const ERROR: Members = &[(
    "error",
    Part::Members(&[("code", Part::Plain), ("message", Part::Plain), ("data", Part::Whole(MAX_DATA))]),
)];

const PARAMS: Members = &[(
    "params",
    Part::Members(&[
        ("progressToken", Part::Plain),
        ("progress", Part::Plain),
        ("total", Part::Plain),
        ("message", Part::Plain),
    ]),
)];

/// What a server says.
#[derive(Debug)]
pub(super) enum Incoming {
    /// The answer to a request that is awaited.
    Answer { id: u64, end: Result<Value, Failure> },
    /// A request, which nobody here does.
    Request { id: Value, method: String },
    /// Something to know; with parameters where it is how far a call has come.
    Notification { method: String, params: Value },
    /// An error that does not say of which request it is.
    Error(RpcError),
    /// What was meant as a message and is none that can be read.
    Unreadable,
    /// What says nothing to us: an answer that nobody waits for, or no message at all.
    Nothing,
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
    /// The values of the answer take more memory than they may.
    TooMuch,
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
            Self::TooMuch => {
                write!(formatter, "it sent a message whose values take more than {} MiB", MAX_VALUES >> 20)
            }
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

/// Reads one message. Whoever writes the program of a server prints other things too, so that only what has a member
/// `jsonrpc`, or the identifier of a request that `is_awaited`, is taken as one.
pub(super) fn read(message: &[u8], is_awaited: impl Fn(u64) -> bool) -> Incoming {
    let Ok(Some(head)) = kept(message, HEAD) else {
        return if looks_meant(message) { Incoming::Unreadable } else { Incoming::Nothing };
    };
    let mut head = head.members;
    let id = head.remove("id").filter(|id| !id.is_null());
    if let Some(Value::String(method)) = head.remove("method") {
        return match id {
            Some(Value::String(id)) if id.len() > MAX_ID => Incoming::Nothing,
            Some(id) => Incoming::Request { id, method },
            None => Incoming::Notification { params: params(message, &method), method },
        };
    }
    let (has_result, has_error) = (head.contains_key("result"), head.contains_key("error"));
    match id.as_ref().map(Value::as_u64) {
        Some(Some(id)) if is_awaited(id) => Incoming::Answer { id, end: end(message) },
        Some(Some(_)) if has_result || has_error => Incoming::Nothing,
        _ if !head.contains_key("jsonrpc") => Incoming::Nothing,
        None if has_error => read_error(message).map_or(Incoming::Unreadable, Incoming::Error),
        _ => Incoming::Unreadable,
    }
}

/// Whether something that is not JSON, or a list, was to be a message.
fn looks_meant(text: &[u8]) -> bool {
    const MARK: &[u8] = b"\"jsonrpc\"";
    let begins = matches!(text.trim_ascii_start().first(), Some(b'{' | b'['));
    begins && text.windows(MARK.len()).any(|part| part == MARK)
}

/// How far a call has come, if it says that.
fn params(message: &[u8], method: &str) -> Value {
    if method != PROGRESS || message.len() > SHORT {
        return Value::Null;
    }
    let kept = kept(message, PARAMS).ok().flatten();
    kept.and_then(|mut kept| kept.members.remove("params")).unwrap_or_default()
}

/// What an answer says, an error before a result.
fn end(message: &[u8]) -> Result<Value, Failure> {
    if let Some(error) = read_error(message) {
        return Err(Failure::Refused(error));
    }
    let Ok(Some(mut kept)) = kept(message, RESULT) else { return Err(Failure::Unreadable) };
    match kept.members.remove("result") {
        Some(_) if kept.is_cut => Err(Failure::TooMuch),
        Some(result) => Ok(result),
        None => Err(Failure::Unreadable),
    }
}

/// Reads an error of whatever request.
pub(super) fn read_error(message: &[u8]) -> Option<RpcError> {
    let mut kept = kept(message, ERROR).ok().flatten()?;
    let Value::Object(mut error) = kept.members.remove("error")? else { return None };
    Some(RpcError {
        code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
        message: error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
        data: error.remove("data").unwrap_or_default(),
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What a line is, where request 7 is awaited.
    fn told(line: &str) -> String {
        match read(line.as_bytes(), |id| id == 7) {
            Incoming::Answer { id, end: Ok(result) } => format!("{id}: {result}"),
            Incoming::Answer { id, end: Err(failure) } => format!("{id}: {failure}"),
            Incoming::Request { id, method } => format!("request {id} {method}"),
            Incoming::Notification { method, params } => format!("{method} {params}"),
            Incoming::Error(error) => format!("error {}", error.message),
            Incoming::Unreadable => "unreadable".to_owned(),
            Incoming::Nothing => "nothing".to_owned(),
        }
    }

    #[test]
    fn every_message_is_what_it_says_and_no_other_line_is_one() {
        let long = "x".repeat(300);
        for (line, is) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"a":[1]}}"#, r#"7: {"a":[1]}"#),
            (r#"{"result":{},"jsonrpc":"2.0","id":7}"#, "7: {}"),
            (r#"{"id":7,"result":{}}"#, "7: {}"),
            (r#"{"jsonrpc":"2.0","id":7,"result":{},"error":null}"#, "7: {}"),
            (r#"{"jsonrpc":"2.0","id":7,"result":null}"#, "7: null"),
            (
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":3,"message":"no"},"result":{}}"#,
                "7: it answers with the error 3: no",
            ),
            (r#"{"jsonrpc":"2.0","id":7,"error":"no"}"#, "7: it sent a message that cannot be read"),
            (r#"{"id":7,"msg":"done"}"#, "7: it sent a message that cannot be read"),
            (r#"{"jsonrpc":"2.0","id":8,"result":{}}"#, "nothing"),
            (r#"{"jsonrpc":"2.0","id":"7","result":{}}"#, "unreadable"),
            (r#"{"jsonrpc":"2.0","id":null,"error":{"message":"parse error"}}"#, "error parse error"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "request 1 ping"),
            (r#"{"jsonrpc":"2.0","id":"a","method":"x","params":{"a":1}}"#, "request \"a\" x"),
            (&format!(r#"{{"jsonrpc":"2.0","id":"{long}","method":"ping"}}"#), "nothing"),
            (r#"{"method":"notifications/message","params":{"data":[1]}}"#, "notifications/message null"),
            (
                r#"{"method":"notifications/progress","params":{"progressToken":7,"progress":1,"x":[1]}}"#,
                r#"notifications/progress {"progressToken":7,"progress":1}"#,
            ),
            // What loggers write.
            (r#"{"level":30,"msg":"handling"}"#, "nothing"),
            (r#"{"level":50,"error":{"message":"no"},"id":3}"#, "nothing"),
            (r#"{"level":30,"msg":"got {\"jsonrpc\":\"2.0\"}"}"#, "nothing"),
            ("{", "nothing"),
            ("{'jsonrpc': '2.0', 'id': 7}", "nothing"),
            ("Server is running", "nothing"),
            ("[1]", "nothing"),
            // What was meant.
            (r#"{"jsonrpc":"2.0","id":7,"resu"#, "unreadable"),
            (r#"{"jsonrpc":"2.0","id":7,"result":{"a":NaN}}"#, "unreadable"),
            (r#"[{"jsonrpc":"2.0","id":7,"result":{}}]"#, "unreadable"),
            (r#"{"jsonrpc":"2.0"}"#, "unreadable"),
        ] {
            assert_eq!(told(line), is, "{line}");
        }
    }

    #[test]
    fn a_long_message_takes_no_more_than_it_may() {
        let ones = format!("[{}1]", "1,".repeat(3 << 20));
        let result = told(&format!(r#"{{"jsonrpc":"2.0","id":7,"result":{ones}}}"#));
        assert_eq!(result, "7: it sent a message whose values take more than 128 MiB");
        let error = format!(r#"{{"id":7,"error":{{"data":{ones},"code":-1,"message":"no"}}}}"#);
        assert_eq!(told(&error), "7: it answers with the error -1: no");
        let kept = read_error(error.as_bytes()).map_or(0, |error| error.data.to_string().len());
        assert!(kept < MAX_DATA, "{kept}");
        let told = told(&format!(
            r#"{{"method":"notifications/progress","params":{{"progressToken":7,"progress":1,"x":{ones}}}}}"#
        ));
        assert_eq!(told, "notifications/progress null");
    }
}
