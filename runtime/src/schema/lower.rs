//! Canonical JSON to component values.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Number, Value};
use wasmtime::component::Val;

use super::shape::{ChoiceShape, FloatKind, IntKind, IntShape, RecordShape, ResultShape, Shape, integer};
use super::signature::Signature;
use super::validate::validate;
use crate::call::Violation;

/// The component values of canonical, validated arguments, one a parameter.
///
/// Absent properties are their default or none. Only [`validate`] looks at the author's constraints.
///
/// # Errors
/// What [`validate`] says, if the arguments do not fit after all.
pub fn lower(signature: &Signature, arguments: &Value) -> Result<Vec<Val>, Vec<Violation>> {
    let lowered = arguments.as_object().and_then(|object| {
        let fields = record_fields(&signature.arguments, object)?;
        Some(if signature.flattened {
            vec![Val::Record(fields)]
        } else {
            fields.into_iter().map(|(_, value)| value).collect()
        })
    });
    lowered.ok_or_else(|| {
        let violations = validate(signature, arguments);
        if violations.is_empty() {
            return vec![Violation::new("", "arguments that match the schema", "a value that does not")];
        }
        violations
    })
}

/// The bytes of a canonical `list<u8>`, for functions that take them as they are.
pub fn lower_bytes(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

fn record_fields(record: &RecordShape, object: &Map<String, Value>) -> Option<Vec<(String, Val)>> {
    let mut known = 0;
    let mut fields = Vec::with_capacity(record.members().len());
    for member in record.members() {
        let value = match object.get(&*member.json) {
            Some(value) => {
                known += 1;
                lower_value(&member.shape, value)?
            }
            None => match &member.default {
                Some(default) => lower_value(&member.shape, default)?,
                None => matches!(member.shape, Shape::Option(_)).then_some(Val::Option(None))?,
            },
        };
        fields.push((member.wit.to_string(), value));
    }
    (known == object.len()).then_some(fields)
}

fn lower_value(shape: &Shape, value: &Value) -> Option<Val> {
    Some(match (shape, value) {
        (Shape::Bool, Value::Bool(bool)) => Val::Bool(*bool),
        (Shape::Int(int), Value::Number(number)) => lower_int(int, number)?,
        (Shape::Float(float), value) => {
            let number = match value {
                Value::Number(number) => number.as_f64()?,
                Value::String(text) if float.admits_text(text) => non_finite(text)?,
                _ => return None,
            };
            match float.kind {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "rounds, as the type says; range is validated"
                )]
                FloatKind::F32 => Val::Float32(number as f32),
                FloatKind::F64 => Val::Float64(number),
            }
        }
        (Shape::Char, Value::String(text)) => {
            let mut scalars = text.chars();
            let scalar = scalars.next()?;
            scalars.next().is_none().then_some(Val::Char(scalar))?
        }
        (Shape::String(_), Value::String(text)) => Val::String(text.clone()),
        (Shape::Bytes, Value::String(text)) => {
            Val::List(lower_bytes(text)?.into_iter().map(Val::U8).collect())
        }
        (Shape::List(item), Value::Array(items)) => {
            Val::List(items.iter().map(|value| lower_value(item, value)).collect::<Option<_>>()?)
        }
        (Shape::Tuple(shapes), Value::Array(items)) if shapes.len() == items.len() => Val::Tuple(
            shapes
                .iter()
                .zip(items)
                .map(|(shape, value)| lower_value(shape, value))
                .collect::<Option<_>>()?,
        ),
        (Shape::Record(record), Value::Object(object)) => Val::Record(record_fields(record, object)?),
        (Shape::Variant(variant), Value::Object(object)) => lower_variant(variant, object)?,
        (Shape::Enum(words), Value::String(word)) => Val::Enum(words.cases.by_json(word)?.wit.to_string()),
        (Shape::Flags(flags), Value::Array(items)) => {
            let word = |item: &Value| Some(flags.cases.by_json(item.as_str()?)?.wit.to_string());
            Val::Flags(items.iter().map(word).collect::<Option<_>>()?)
        }
        (Shape::Option(_), Value::Null) => Val::Option(None),
        (Shape::Option(inner), value) => {
            let value = match &**inner {
                Shape::Option(_) => value.as_object()?.get("some")?,
                _ => value,
            };
            Val::Option(Some(Box::new(lower_value(inner, value)?)))
        }
        (Shape::Result(result), Value::Object(object)) => lower_result(result, object)?,
        _ => return None,
    })
}

fn lower_int(int: &IntShape, number: &Number) -> Option<Val> {
    let integer = integer(number)?;
    Some(match int.kind {
        IntKind::S8 => Val::S8(integer.try_into().ok()?),
        IntKind::U8 => Val::U8(integer.try_into().ok()?),
        IntKind::S16 => Val::S16(integer.try_into().ok()?),
        IntKind::U16 => Val::U16(integer.try_into().ok()?),
        IntKind::S32 => Val::S32(integer.try_into().ok()?),
        IntKind::U32 => Val::U32(integer.try_into().ok()?),
        IntKind::S64 => Val::S64(integer.try_into().ok()?),
        IntKind::U64 => Val::U64(integer.try_into().ok()?),
    })
}

fn non_finite(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

fn lower_variant(variant: &ChoiceShape, object: &Map<String, Value>) -> Option<Val> {
    let case = variant.cases.by_json(object.get("tag")?.as_str()?)?;
    let payload = match (&case.payload, object.get("val")) {
        (None, None) => None,
        (Some(payload), Some(value)) => Some(Box::new(lower_value(payload, value)?)),
        (Some(Shape::Option(_)), None) => Some(Box::new(Val::Option(None))),
        _ => return None,
    };
    Some(Val::Variant(case.wit.to_string(), payload))
}

fn lower_result(result: &ResultShape, object: &Map<String, Value>) -> Option<Val> {
    let side = |shape: &Option<Shape>, value: &Value| match shape {
        Some(shape) => Some(Some(Box::new(lower_value(shape, value)?))),
        None => value.is_null().then_some(None),
    };
    match (object.get("ok"), object.get("err")) {
        (Some(value), None) => Some(Val::Result(Ok(side(&result.ok, value)?))),
        (None, Some(value)) => Some(Val::Result(Err(side(&result.err, value)?))),
        _ => None,
    }
}
