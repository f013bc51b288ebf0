//! One line to a request, or what is wrong with it.

use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::id::Id;
use super::reply::{Refusal, Reply};
use super::request::{BatchCall, Request};
use crate::call::ToolCall;
use crate::output::clean;
use crate::schema::{
    Bounds, ParseError, RepairMode, is_harmless, nearest, only_member, outline, parse_arguments, type_of,
    without_key,
};

/// Levels of a line: those of arguments, and of a batch around them.
const DEPTH: usize = 104;

/// Characters of a message.
const MAX_MESSAGE: usize = 600;

/// Fields that other lines have, which are no secrets though they are as long.
const ELSEWHERE: [&str; 7] =
    ["activate", "approval", "arguments", "deactivate", "outcomes", "protocol", "question"];

/// Bytes of a name that may be one of those that are known, with a letter wrong.
const MAX_NAME: usize = 64;

/// Why a line is no request.
#[derive(Debug)]
pub(super) struct Refused {
    /// The line's own id, if it can be read.
    pub id: Option<Id>,
    pub kind: Refusal,
    pub message: String,
}

impl From<Refused> for Reply {
    fn from(refused: Refused) -> Self {
        Self::Error { id: refused.id, kind: refused.kind, message: bounded(&refused.message) }
    }
}

fn bounded(message: &str) -> String {
    clean(message).chars().take(MAX_MESSAGE).collect()
}

/// A longer line is read on a thread that may take its time: meanwhile others go on.
const LONG: usize = 64 << 10;

/// Reads a request as [`request`] does, without keeping others waiting.
pub(super) async fn request_aside(line: Vec<u8>) -> Result<Request, Refused> {
    if line.len() <= LONG {
        return request(line);
    }
    let failed = |_| Refused {
        id: None,
        kind: Refusal::Unreadable,
        message: "toolcell itself failed, which is a fault to be reported".to_owned(),
    };
    tokio::task::spawn_blocking(move || request(line)).await.unwrap_or_else(|error| Err(failed(error)))
}

/// Reads the request that `line` is.
pub(super) fn request(line: Vec<u8>) -> Result<Request, Refused> {
    let unreadable = |message: String| Refused { id: None, kind: Refusal::Unreadable, message };
    let text = String::from_utf8(line).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        unreadable(format!("the line is not UTF-8 from byte {place} on"))
    })?;
    let object = object(&text).map_err(|message| Refused { id: id_around(&text), ..unreadable(message) })?;
    let written = object.get("id").ok_or("the request has no `id`; give it a string or a whole number");
    let id = written
        .map_err(str::to_owned)
        .and_then(|id| Id::deserialize(id).map_err(|error| format!("`id`: {error}")));
    let id = id.map_err(|message| Refused { id: None, kind: Refusal::Invalid, message })?;
    let object = Value::Object(object);
    Request::deserialize(&object).map_err(|error| {
        let message = explained(field(&object), &error.to_string());
        Refused { id: Some(id), kind: Refusal::Invalid, message }
    })
}

/// The call at a place of a batch. What is none becomes one that ends as `invalid_arguments`, so that the others run.
pub(super) fn call_of_batch(at: usize, call: &Value) -> ToolCall {
    let problem = match (call, BatchCall::deserialize(call)) {
        (_, Ok(call)) => return call.into(),
        (Value::Object(_), Err(error)) => explained(field_of_call(call), &error.to_string()),
        (other, Err(_)) => format!("a call is an object with `id` and `name`, not {}", type_of(other)),
    };
    let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
    let id = call.get("id").and_then(|id| Id::deserialize(id).ok()).map(|id| id.value().clone());
    let problem = bounded(&format!("the call cannot be read: `calls[{at}]`: {problem}"));
    ToolCall::unreadable(name, problem).id(id.unwrap_or_default())
}

/// The one JSON object that a line is to be, read strictly: of a key that is there twice, two readers would take
/// different ones.
fn object(text: &str) -> Result<Map<String, Value>, String> {
    let text = text.trim_matches([' ', '\t', '\r']);
    if text.is_empty() {
        return Err("the line is empty; write one JSON object a line".to_owned());
    }
    let bounds = Bounds { bytes: text.len(), depth: DEPTH };
    let read = parse_arguments(text, bounds, RepairMode::Off);
    if let Err(ParseError::TooMany { max }) = read {
        return Err(format!("the line has more than {max} values"));
    }
    if let (Err(_), Some(batch)) = (&read, batch(text)) {
        return Ok(batch);
    }
    match read {
        Ok((Value::Object(object), _)) if text != "null" => Ok(object),
        Err(ParseError::Syntax { column, problem, hint, .. }) => {
            let problem = without_key(&problem);
            let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            Err(format!("the line is not valid JSON: {problem} at column {column}{hint}"))
        }
        Err(ParseError::TooDeep { max }) => Err(format!("the line nests deeper than {max} levels")),
        Err(ParseError::NotAnObject { got }) => {
            Err(format!("a request is one JSON object a line, not {got}"))
        }
        _ => Err("a request is one JSON object a line".to_owned()),
    }
}

/// The id of a line whose other parts cannot be read.
fn id_around(text: &str) -> Option<Id> {
    Id::deserialize(only_member(text, "id")?).ok()
}

/// A batch in which only calls cannot be read: these are refused in their places, and the others run.
fn batch(text: &str) -> Option<Map<String, Value>> {
    match outline(text, "arguments").ok().filter(|line| !line.is_patchy)?.value {
        Value::Object(line) if line.get("type").is_some_and(|kind| kind == "batch") => Some(line),
        _ => None,
    }
}

/// What is wrong with an object, with the field that it is about and the name that was probably meant.
fn explained(field: Option<(String, String)>, problem: &str) -> String {
    match field {
        Some((field, problem)) => format!("`{field}`: {}", unrepeated(&problem)),
        None => unrepeated(problem),
    }
}

/// The words of the parser without what was written in the line, for nobody knows yet whose secrets may be in it. A name is
/// repeated if it is too short to be one, or nearly one of those that are known.
fn unrepeated(problem: &str) -> String {
    for what in ["invalid type: ", "invalid value: "] {
        let parts = problem.strip_prefix(what).and_then(|rest| rest.rsplit_once(", expected "));
        if let Some((got, expected)) = parts {
            let (kind, value) = got.split_at(got.find(['`', '"']).unwrap_or(got.len()));
            let is_short = is_harmless(value.trim_matches(['`', '"']));
            let got = if is_short { got } else { kind.trim_end() };
            return format!("{what}{got}, expected {expected}");
        }
    }
    let written = problem.split_once(" `").filter(|(what, _)| what.starts_with("unknown "));
    let Some((what, rest)) = written else { return problem.to_owned() };
    let Some((name, known)) = rest.rsplit_once("`, expected ") else { return what.to_owned() };
    let names = known.split('`').skip(1).step_by(2);
    let near = if name.len() <= MAX_NAME { nearest(name, names) } else { Vec::new() };
    match near.first() {
        Some(near) => format!("{problem}; did you mean `{near}`?"),
        None if is_harmless(name) || ELSEWHERE.contains(&name) => problem.to_owned(),
        None => format!("{what}, expected {known}"),
    }
}

/// The field whose value is wrong, and how: the one that is wrong without the others, too.
fn field(object: &Value) -> Option<(String, String)> {
    let fields = object.as_object()?;
    let (kind, id) = (fields.get("type")?, fields.get("id")?);
    let problem = |more: Option<(&str, Value)>| {
        let mut alone = Map::from_iter([("type".to_owned(), kind.clone()), ("id".to_owned(), id.clone())]);
        alone.extend(more.map(|(name, value)| (name.to_owned(), value)));
        Request::deserialize(&Value::Object(alone)).err().map(|error| error.to_string())
    };
    if problem(None).is_some_and(|problem| problem.starts_with("unknown")) {
        return None;
    }
    for (name, value) in fields.iter().filter(|(name, _)| !matches!(name.as_str(), "type" | "id")) {
        let unknown = format!("unknown field `{name}`");
        let wrong =
            |value: Value| problem(Some((name, value))).filter(|problem| !problem.starts_with(&unknown));
        let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
        let of_item = |(at, item): (usize, &Value)| Some((at, wrong(Value::Array(vec![item.clone()]))?));
        // A list that is wrong when it is empty is so as a whole.
        let whole = if value.is_array() { Value::Array(Vec::new()) } else { value.clone() };
        if let Some(problem) = wrong(whole).filter(|problem| !problem.starts_with("missing")) {
            return Some((name.clone(), problem));
        }
        if let Some((at, problem)) = items.iter().enumerate().find_map(of_item) {
            return Some((format!("{name}[{at}]"), problem));
        }
    }
    None
}

/// The same of a call in a batch.
fn field_of_call(call: &Value) -> Option<(String, String)> {
    let sound = Map::from_iter([("id".to_owned(), 0.into()), ("name".to_owned(), "".into())]);
    let wrong = |(name, value): (&String, &Value)| {
        let mut alone = sound.clone();
        alone.insert(name.clone(), value.clone());
        let problem = BatchCall::deserialize(&Value::Object(alone)).err()?.to_string();
        (!problem.starts_with("unknown field")).then(|| (name.clone(), problem))
    };
    call.as_object()?.iter().find_map(wrong)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_wrong_with_a_line_repeats_nothing_that_might_be_a_secret() {
        let secret = "sk-live_AbCd1234-wxyz9876";
        let call = |more: Value| {
            let mut line = json!({ "type": "call", "id": 1, "name": "add" });
            line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            line.to_string()
        };
        for (line, told) in [
            (format!(r#"{{"type":"hello","id":1,"{secret}":1,"{secret}":2}}"#), "duplicate key at column"),
            (call(json!({ secret: 1 })), "unknown field, expected one of"),
            (call(json!({ "meta": { "key": 73_000_007 } })), "invalid type: integer, expected"),
            (call(json!({ "meta": secret })), "invalid type: string, expected"),
            (json!({ "type": secret, "id": 1 }).to_string(), "unknown variant, expected one of"),
            (
                json!({ "type": "approve", "id": 1, "approval": "a", "answer": secret }).to_string(),
                "`answer`: unknown variant, expected",
            ),
        ] {
            let refused = request(line.clone().into_bytes()).unwrap_err().message;
            assert!(refused.contains(told), "{line}: {refused}");
            assert!(!refused.contains("sk-live") && !refused.contains("73000007"), "{line}: {refused}");
        }
        let of_batch = call_of_batch(0, &json!(secret)).problem().unwrap_or_default().to_owned();
        assert!(of_batch.contains("not string") && !of_batch.contains("sk-live"), "{of_batch}");
        let typo = request(call(json!({ "argumens": {} })).into_bytes()).unwrap_err().message;
        assert!(
            typo.contains("unknown field `argumens`") && typo.contains("did you mean `arguments`?"),
            "{typo}"
        );
    }
}
