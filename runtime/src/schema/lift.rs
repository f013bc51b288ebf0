//! Component values to JSON, within a bound.

use std::fmt::{self, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use wasmtime::component::Val;

use super::float;
use super::names::Named;
use super::shape::{Case, ChoiceShape, MAX_SAFE_INTEGER, RecordShape, Shape};
use super::signature::Signature;

/// Why a result could not become JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LiftError {
    /// More than allowed; counting stopped there.
    #[error("the result has at least {at_least} bytes as JSON")]
    TooLarge {
        /// Bytes when counting stopped.
        at_least: u64,
    },
    /// The value is not of the announced type: an error of the host.
    #[error("the result is not of the function's type")]
    Mismatch,
}

/// How a function that returned ended, as JSON.
#[derive(Debug, Clone, PartialEq)]
pub enum Lifted {
    /// The result; `null` if it carries nothing.
    Ok(Value),
    /// The error that the tool returned; `null` if it carries nothing.
    Err(Value),
}

/// The JSON of what a function returned, its top-level `result` taken apart.
///
/// # Errors
/// As [`lift_bounded`].
pub fn lift_result(signature: &Signature, results: &[Val], max_bytes: u64) -> Result<Lifted, LiftError> {
    let returns = signature.returns();
    let side = |shape: Option<&Shape>, value: Option<&Val>| match (shape, value) {
        (None, None) => Ok(Value::Null),
        (Some(shape), Some(value)) => lift_bounded(shape, value, max_bytes),
        _ => Err(LiftError::Mismatch),
    };
    match results {
        [Val::Result(Ok(value))] if returns.fallible => Ok(Lifted::Ok(side(returns.ok(), value.as_deref())?)),
        [Val::Result(Err(value))] if returns.fallible => {
            Ok(Lifted::Err(side(returns.err(), value.as_deref())?))
        }
        [] | [_] if !returns.fallible => Ok(Lifted::Ok(side(returns.ok(), results.first())?)),
        _ => Err(LiftError::Mismatch),
    }
}

/// The JSON of a component value.
///
/// Integers beyond 2^53 − 1 become decimal strings; what is not a number becomes `"NaN"`, `"Infinity"` or
/// `"-Infinity"`; an `f32` has the shortest digits that mean it. `max_bytes` bounds the compact JSON text, each
/// value counted with at least eight bytes, for that is what small ones cost the host.
///
/// # Errors
/// [`LiftError::TooLarge`] as soon as the bound is passed, before the rest is copied.
pub fn lift_bounded(shape: &Shape, value: &Val, max_bytes: u64) -> Result<Value, LiftError> {
    Lift { used: 0, max: max_bytes }.value(shape, value)
}

/// The JSON of a string that a typed function returned, taken as it is.
///
/// # Errors
/// [`LiftError::TooLarge`], as [`lift_bounded`] counts.
pub fn lift_string(text: String, max_bytes: u64) -> Result<Value, LiftError> {
    let mut lift = Lift { used: 0, max: max_bytes };
    lift.spend(LEAST_COST)?;
    lift.spend_text(&text)?;
    Ok(Value::String(text))
}

/// The JSON of a `list<u8>` that a typed function returned.
///
/// # Errors
/// [`LiftError::TooLarge`], as [`lift_bounded`] counts.
pub fn lift_bytes(bytes: &[u8], max_bytes: u64) -> Result<Value, LiftError> {
    let mut lift = Lift { used: 0, max: max_bytes };
    lift.spend(LEAST_COST)?;
    lift.spend_base64(bytes.len())?;
    Ok(Value::String(STANDARD.encode(bytes)))
}

/// The JSON of a boolean, number or character; `None` for any other value.
pub fn lift_scalar(value: &Val) -> Option<Value> {
    match value {
        Val::Bool(bool) => Some(Value::Bool(*bool)),
        Val::Char(scalar) => Some(Value::String(scalar.to_string())),
        value => lift_int(value).or_else(|| lift_float(value)),
    }
}

/// The least that a value is counted with: a million booleans are more to the host than their text.
const LEAST_COST: usize = 8;

/// Counts what is written.
struct Digits(usize);

impl fmt::Write for Digits {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

struct Lift {
    used: u64,
    max: u64,
}

impl Lift {
    fn spend(&mut self, bytes: usize) -> Result<(), LiftError> {
        self.used = self.used.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        if self.used > self.max { Err(LiftError::TooLarge { at_least: self.used }) } else { Ok(()) }
    }

    fn text(&mut self, text: &str) -> Result<Value, LiftError> {
        self.spend_text(text)?;
        Ok(Value::String(text.to_owned()))
    }

    fn spend_text(&mut self, text: &str) -> Result<(), LiftError> {
        self.spend(text.len())?;
        let escapes = text.bytes().map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 1,
            0..0x20 => 5,
            _ => 0,
        });
        self.spend(escapes.sum())
    }

    fn spend_base64(&mut self, bytes: usize) -> Result<(), LiftError> {
        self.spend(bytes.div_ceil(3).saturating_mul(4))
    }

    fn number(&mut self, value: Value) -> Result<Value, LiftError> {
        let mut digits = Digits(0);
        // Counting cannot fail.
        let _ = write!(digits, "{value}");
        self.spend(digits.0)?;
        Ok(value)
    }

    fn value(&mut self, shape: &Shape, value: &Val) -> Result<Value, LiftError> {
        self.spend(LEAST_COST)?;
        match (shape, value) {
            (Shape::Bool, Val::Bool(bool)) => Ok(Value::Bool(*bool)),
            (Shape::Int(_), value) => self.number(lift_int(value).ok_or(LiftError::Mismatch)?),
            (Shape::Float(_), value) => self.number(lift_float(value).ok_or(LiftError::Mismatch)?),
            (Shape::Char, Val::Char(scalar)) => self.text(scalar.encode_utf8(&mut [0; 4])),
            (Shape::String(_), Val::String(text)) => self.text(text),
            (Shape::Bytes, Val::List(items)) => self.bytes(items),
            (Shape::List(item), Val::List(items)) => self.items(items, std::iter::repeat(&**item)),
            (Shape::Tuple(shapes), Val::Tuple(items)) if shapes.len() == items.len() => {
                self.items(items, shapes.iter())
            }
            (Shape::Record(record), Val::Record(fields)) => self.record(record, fields),
            (Shape::Variant(variant), Val::Variant(word, payload)) => {
                self.variant(find(variant, word)?, payload.as_deref())
            }
            (Shape::Enum(words), Val::Enum(word)) => self.text(&find(words, word)?.json),
            (Shape::Flags(flags), Val::Flags(words)) => {
                self.spend(words.len().saturating_mul(r#""","#.len()))?;
                words.iter().map(|word| self.text(&find(flags, word)?.json)).collect()
            }
            (Shape::Option(_), Val::Option(None)) => Ok(Value::Null),
            (Shape::Option(inner), Val::Option(Some(value))) => match &**inner {
                Shape::Option(_) => self.wrapped("some", Some(inner), Some(value)),
                inner => self.value(inner, value),
            },
            (Shape::Result(result), Val::Result(Ok(value))) => {
                self.wrapped("ok", result.ok.as_ref(), value.as_deref())
            }
            (Shape::Result(result), Val::Result(Err(value))) => {
                self.wrapped("err", result.err.as_ref(), value.as_deref())
            }
            _ => Err(LiftError::Mismatch),
        }
    }

    fn items<'s>(
        &mut self,
        items: &[Val],
        shapes: impl Iterator<Item = &'s Shape>,
    ) -> Result<Value, LiftError> {
        // The list's length is the guest's: it is paid for before it is allocated.
        self.spend(items.len())?;
        items.iter().zip(shapes).map(|(value, shape)| self.value(shape, value)).collect()
    }

    fn bytes(&mut self, items: &[Val]) -> Result<Value, LiftError> {
        self.spend_base64(items.len())?;
        let byte = |item: &Val| match item {
            Val::U8(byte) => Ok(*byte),
            _ => Err(LiftError::Mismatch),
        };
        let bytes: Vec<u8> = items.iter().map(byte).collect::<Result<_, _>>()?;
        Ok(Value::String(STANDARD.encode(bytes)))
    }

    fn record(&mut self, record: &RecordShape, fields: &[(String, Val)]) -> Result<Value, LiftError> {
        if record.members().len() != fields.len() {
            return Err(LiftError::Mismatch);
        }
        let mut object = Map::new();
        for (member, (name, value)) in record.members().iter().zip(fields) {
            if member.wit() != name {
                return Err(LiftError::Mismatch);
            }
            self.spend(member.json.len() + 4)?;
            object.insert(member.json.to_string(), self.value(&member.shape, value)?);
        }
        Ok(Value::Object(object))
    }

    fn variant(&mut self, case: &Case, payload: Option<&Val>) -> Result<Value, LiftError> {
        self.spend(r#"{"tag":,"val":}"#.len())?;
        let mut object = Map::new();
        object.insert("tag".to_owned(), self.text(&case.json)?);
        match (&case.payload, payload) {
            (None, None) => {}
            (Some(shape), Some(value)) => {
                object.insert("val".to_owned(), self.value(shape, value)?);
            }
            _ => return Err(LiftError::Mismatch),
        }
        Ok(Value::Object(object))
    }

    fn wrapped(&mut self, key: &str, shape: Option<&Shape>, value: Option<&Val>) -> Result<Value, LiftError> {
        self.spend(key.len() + 4)?;
        let value = match (shape, value) {
            (Some(shape), Some(value)) => self.value(shape, value)?,
            (None, None) => Value::Null,
            _ => return Err(LiftError::Mismatch),
        };
        let mut object = Map::new();
        object.insert(key.to_owned(), value);
        Ok(Value::Object(object))
    }
}

fn find<'s>(choice: &'s ChoiceShape, wit: &str) -> Result<&'s Case, LiftError> {
    choice.cases.find(wit).filter(|case| case.wit() == wit).ok_or(LiftError::Mismatch)
}

fn lift_int(value: &Val) -> Option<Value> {
    Some(match value {
        Val::S8(int) => (*int).into(),
        Val::U8(int) => (*int).into(),
        Val::S16(int) => (*int).into(),
        Val::U16(int) => (*int).into(),
        Val::S32(int) => (*int).into(),
        Val::U32(int) => (*int).into(),
        Val::S64(int) if i128::from(*int).abs() > MAX_SAFE_INTEGER => int.to_string().into(),
        Val::U64(int) if i128::from(*int) > MAX_SAFE_INTEGER => int.to_string().into(),
        Val::S64(int) => (*int).into(),
        Val::U64(int) => (*int).into(),
        _ => return None,
    })
}

fn lift_float(value: &Val) -> Option<Value> {
    match value {
        Val::Float32(float) => Some(float::of_f32(*float)),
        Val::Float64(float) => Some(float::of_f64(*float)),
        _ => None,
    }
}
