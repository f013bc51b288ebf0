//! Arguments as text: exactly one JSON object, strictly, before anything else looks at it.
//!
//! Duplicate keys are refused at any depth, because two readers would disagree on which one counts; so are
//! numbers beyond a double's range and lone surrogates. `\u0000` in a string is a character like any other.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use super::canonical::RepairMode;
use super::mend::mended;
use super::names::{is_harmless, printable};
use super::validate::type_of;
use crate::call::Repair;

/// serde_json gives up at 128 by itself.
pub(super) const DEEPEST: usize = 120;

/// Values of one text. Each takes some seventy bytes once it is read, however short it is written: a text of nothing but digits and
/// commas would become forty times as large.
const MAX_VALUES: usize = 1 << 20;

/// What the visitor says about depth, told from syntax errors by this text.
const TOO_DEEP: &str = "nested too deeply";

/// What the visitor says before the name of a key that is there twice.
const DUPLICATE: &str = "duplicate key";

/// Why a text cannot be the arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// More bytes than allowed.
    #[error("the arguments have {bytes} bytes, allowed are {max}; pass less, or the name of a file")]
    TooLarge {
        /// Bytes of JSON; at least, where counting stopped early.
        bytes: usize,
        /// Bytes allowed.
        max: usize,
    },
    /// Arrays and objects nest too deeply.
    #[error("the arguments nest deeper than {max} levels; flatten them")]
    TooDeep {
        /// Levels allowed.
        max: usize,
    },
    /// More values than allowed, in arrays and objects of any depth.
    #[error("the arguments have more than {max} values; pass less, or the name of a file")]
    TooMany {
        /// Values allowed.
        max: usize,
    },
    /// Not JSON.
    #[error("the arguments are not valid JSON: {problem} at line {line} column {column}{}", hint_text(*.hint))]
    Syntax {
        /// Line of the text, from 1.
        line: usize,
        /// Column in bytes, from 1.
        column: usize,
        /// What is wrong there.
        problem: String,
        /// What to write instead, where it can be told.
        hint: Option<&'static str>,
    },
    /// JSON, but no object.
    #[error("the arguments must be one JSON object, not {got}")]
    NotAnObject {
        /// The type that was there.
        got: &'static str,
    },
}

fn hint_text(hint: Option<&'static str>) -> String {
    hint.map(|hint| format!("; {hint}")).unwrap_or_default()
}

/// How big arguments may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of JSON text.
    pub bytes: usize,
    /// Levels of arrays and objects, at most 120.
    pub depth: usize,
}

impl Default for Bounds {
    /// 16 MiB, the default of the limit `argument_bytes`, and 100 levels, more than any model writes.
    fn default() -> Self {
        Self { bytes: 16 << 20, depth: 100 }
    }
}

/// Reads the text of a call's arguments as one object, with a note if it had to be repaired.
///
/// Empty text, blank text and `null` stand for `{}`. A string that holds an object (arguments that were encoded
/// twice) is decoded unless `mode` is `Off`; `Json` also mends what [`RepairMode`] says.
///
/// # Errors
/// With line, column and what to change; nothing runs on half an object.
pub fn parse_arguments(
    text: &str,
    bounds: Bounds,
    mode: RepairMode,
) -> Result<(Value, Option<Repair>), ParseError> {
    if text.len() > bounds.bytes {
        return Err(ParseError::TooLarge { bytes: text.len(), max: bounds.bytes });
    }
    if is_blank(text) {
        return Ok((Value::Object(Map::new()), None));
    }
    let (value, broken) = match strict(text, bounds.depth) {
        Ok(value) => (value, None),
        Err(error @ ParseError::Syntax { .. }) => match mended(text, bounds.depth, mode) {
            Some(value) => (value, Some(Repair::new("", "broken JSON text", "object"))),
            None => return Err(error),
        },
        Err(error) => return Err(error),
    };
    let (value, encoded) = arguments_object(value, mode);
    require_object(value, encoded.or(broken))
}

/// Bounds arguments that the caller already parsed, under the same rules as [`parse_arguments`].
///
/// # Errors
/// When they are too big, too deep, or no object.
pub fn accept_arguments(
    value: Value,
    bounds: Bounds,
    mode: RepairMode,
) -> Result<(Value, Option<Repair>), ParseError> {
    check_bounds(&value, bounds)?;
    let (value, repair) = arguments_object(value, mode);
    require_object(value, repair)
}

fn require_object(value: Value, repair: Option<Repair>) -> Result<(Value, Option<Repair>), ParseError> {
    match value {
        Value::Object(_) => Ok((value, repair)),
        other => Err(ParseError::NotAnObject { got: type_of(&other) }),
    }
}

/// The object that a whole set of arguments stands for: `{}` for nothing, and the object that a string holds.
pub(super) fn arguments_object(value: Value, mode: RepairMode) -> (Value, Option<Repair>) {
    match &value {
        Value::Null => (Value::Object(Map::new()), None),
        Value::String(text) if is_blank(text) => (Value::Object(Map::new()), None),
        Value::String(text) if mode != RepairMode::Off => {
            let object = strict(text, DEEPEST).ok().or_else(|| mended(text, DEEPEST, mode));
            match object.filter(Value::is_object) {
                Some(object) => (object, Some(Repair::new("", "string", "object"))),
                None => (value, None),
            }
        }
        _ => (value, None),
    }
}

fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
}

/// Counts the JSON of `value` and its levels without recursion, up to the bounds.
fn check_bounds(value: &Value, bounds: Bounds) -> Result<(), ParseError> {
    let mut bytes = 0_usize;
    let mut open = vec![(value, 1_usize)];
    while let Some((value, depth)) = open.pop() {
        let (own, is_container) = match value {
            Value::String(text) => (text.len() + 2, false),
            Value::Array(items) => {
                open.extend(items.iter().map(|item| (item, depth + 1)));
                (items.len() + 2, true)
            }
            Value::Object(members) => {
                open.extend(members.values().map(|member| (member, depth + 1)));
                (members.keys().map(|key| key.len() + 4).sum::<usize>() + 2, true)
            }
            _ => (1, false),
        };
        bytes = bytes.saturating_add(own);
        if bytes > bounds.bytes {
            return Err(ParseError::TooLarge { bytes, max: bounds.bytes });
        }
        if is_container && depth > bounds.depth {
            return Err(ParseError::TooDeep { max: bounds.depth });
        }
    }
    Ok(())
}

/// One JSON value of which every reader reads the same: no key is there twice.
///
/// # Errors
/// What is wrong with it, and where.
pub(crate) fn read_strictly(text: &str) -> Result<Value, String> {
    strict(text, DEEPEST).map_err(|error| match error {
        ParseError::Syntax { line, column, problem, .. } => {
            format!("{problem} at line {line} column {column}")
        }
        ParseError::TooMany { .. } => "it has too many values".to_owned(),
        _ => TOO_DEEP.to_owned(),
    })
}

/// What is wrong with a text, for who reads it before it is known whose secrets may be in it: without a key that might be one.
pub(crate) fn without_key(problem: &str) -> &str {
    let key = problem.strip_prefix(DUPLICATE).map(|key| key.trim_matches([' ', '`']));
    if key.is_none_or(is_harmless) { problem } else { DUPLICATE }
}

/// One JSON value and nothing after it.
pub(super) fn strict(text: &str, max_depth: usize) -> Result<Value, ParseError> {
    let max = max_depth.min(DEEPEST);
    if has_more_values(text, MAX_VALUES) {
        return Err(ParseError::TooMany { max: MAX_VALUES });
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    StrictValue { depth: max }
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|error| explain(text, max, &error))
}

/// Whether a text of JSON has more values than `max`, members and items counted.
pub(crate) fn has_more_values(text: &str, max: usize) -> bool {
    // Also those in strings, which is more than there are and found many times faster.
    memchr::memchr3_iter(b',', b'[', b'{', text.as_bytes()).nth(max).is_some() && counted(text) > max
}

/// The commas and openings outside of strings.
fn counted(text: &str) -> usize {
    let (mut count, mut is_string, mut is_escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_string,
            b'"' => is_string = !is_string,
            b',' | b'[' | b'{' if !is_string => count += 1,
            _ => {}
        }
    }
    count
}

fn explain(text: &str, max: usize, error: &serde_json::Error) -> ParseError {
    let message = error.to_string();
    if message.starts_with(TOO_DEEP) {
        return ParseError::TooDeep { max };
    }
    let position = format!(" at line {} column {}", error.line(), error.column());
    let problem = message.strip_suffix(&position).unwrap_or(&message).to_owned();
    ParseError::Syntax {
        line: error.line(),
        column: error.column(),
        hint: hint(text, error, &problem),
        problem,
    }
}

fn hint(text: &str, error: &serde_json::Error, problem: &str) -> Option<&'static str> {
    let line = text.split('\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
    let at = line.get(error.column().saturating_sub(1)..).unwrap_or_default();
    let is_surrogate = problem.contains("surrogate") || problem.contains("hex escape");
    Some(match at.bytes().next() {
        _ if is_surrogate => "write the character itself, or both halves of its escape",
        _ if problem.contains("duplicate") => "give each key once",
        _ if problem.contains("out of range") => "write a number that a double can hold",
        _ if text.trim_start().starts_with("```") => "send the object without a code fence",
        _ if error.classify() == Category::Eof => "the text ends early; send the whole object",
        Some(b'\'') => "use double quotes",
        Some(b'/' | b'#') => "leave out comments",
        Some(b'N' | b'I') => "JSON has no such number; where a float is expected, write it as a string",
        Some(b'}' | b']') if problem.contains("trailing comma") => "remove the comma",
        _ if problem.contains("trailing characters") => "send exactly one object",
        _ => return None,
    })
}

/// A JSON value, with `depth` levels left.
struct StrictValue {
    depth: usize,
}

impl StrictValue {
    fn deeper<E: serde::de::Error>(&self) -> Result<usize, E> {
        self.depth.checked_sub(1).ok_or_else(|| E::custom(TOO_DEEP))
    }
}

impl<'de> DeserializeSeed<'de> for StrictValue {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictValue {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let depth = self.deeper()?;
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(StrictValue { depth })? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let depth = self.deeper()?;
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            match object.entry(key) {
                Entry::Occupied(entry) => {
                    return Err(A::Error::custom(format_args!(
                        "{DUPLICATE} `{}`",
                        // As JSON has it, for whoever looks for a secret in it.
                        printable(Value::String(entry.key().clone()).to_string().trim_matches('"'), 40)
                    )));
                }
                Entry::Vacant(entry) => {
                    entry.insert(members.next_value_seed(StrictValue { depth })?);
                }
            }
        }
        Ok(Value::Object(object))
    }
}
