//! Arguments as they may be shown: in questions, audit lines and logs.

use serde_json::{Map, Value};

use super::shape::{RecordShape, Shape};
use super::signature::Signature;

/// What stands where a secret was.
const HIDDEN: &str = "[secret]";

/// A copy of `arguments` in which every value that the author marked secret is `"[secret]"`.
///
/// Arguments need not be canonical or valid: a value of the wrong type is hidden whole where a secret could be
/// inside, and so is anything that is no object if any property is secret. Unknown properties stay.
pub fn without_secrets(signature: &Signature, arguments: &Value) -> Value {
    match arguments {
        Value::Object(object) => Value::Object(shown(&signature.arguments, object)),
        Value::Null => Value::Null,
        _ if has_secret(&signature.arguments) => Value::from(HIDDEN),
        other => other.clone(),
    }
}

fn shown(record: &RecordShape, object: &Map<String, Value>) -> Map<String, Value> {
    let show = |key: &String, value: &Value| match record.members.find(key) {
        Some(member) if member.secret => Value::from(HIDDEN),
        Some(member) => shown_value(&member.shape, value),
        None => value.clone(),
    };
    object.iter().map(|(key, value)| (key.clone(), show(key, value))).collect()
}

fn shown_value(shape: &Shape, value: &Value) -> Value {
    match (shape, value) {
        (_, Value::Null) => Value::Null,
        (shape, value) if !holds_secret(shape) => value.clone(),
        (Shape::Record(record), Value::Object(object)) => Value::Object(shown(record, object)),
        (Shape::List(item), Value::Array(items)) => {
            items.iter().map(|value| shown_value(item, value)).collect()
        }
        (Shape::Tuple(shapes), Value::Array(items)) if shapes.len() == items.len() => {
            shapes.iter().zip(items).map(|(shape, value)| shown_value(shape, value)).collect()
        }
        (Shape::Option(inner), Value::Object(object)) if matches!(**inner, Shape::Option(_)) => {
            members(object, |key| (key == "some").then_some(&**inner))
        }
        (Shape::Option(inner), value) => shown_value(inner, value),
        (Shape::Result(result), Value::Object(object)) => members(object, |key| match key {
            "ok" => result.ok.as_ref(),
            "err" => result.err.as_ref(),
            _ => None,
        }),
        (Shape::Variant(variant), Value::Object(object)) => {
            let case = object.get("tag").and_then(Value::as_str).and_then(|tag| variant.cases.find(tag));
            let payload = case.filter(|case| !case.secret).and_then(|case| case.payload.as_ref());
            let mut members = members(object, |key| payload.filter(|_| key == "val"));
            if let (Some(tag), Value::Object(members)) =
                (object.get("tag").filter(|_| case.is_some()), &mut members)
            {
                members.insert("tag".to_owned(), tag.clone());
            }
            members
        }
        _ => Value::from(HIDDEN),
    }
}

/// The object with each member shown by its shape; what has none is hidden.
fn members<'s>(object: &Map<String, Value>, shape: impl Fn(&str) -> Option<&'s Shape>) -> Value {
    let show = |key: &String, value: &Value| match shape(key) {
        Some(shape) => shown_value(shape, value),
        None => Value::from(HIDDEN),
    };
    Value::Object(object.iter().map(|(key, value)| (key.clone(), show(key, value))).collect())
}

fn has_secret(record: &RecordShape) -> bool {
    record.members().iter().any(|member| member.secret || holds_secret(&member.shape))
}

fn holds_secret(shape: &Shape) -> bool {
    match shape {
        Shape::List(inner) | Shape::Option(inner) => holds_secret(inner),
        Shape::Tuple(shapes) => shapes.iter().any(holds_secret),
        Shape::Record(record) => has_secret(record),
        Shape::Variant(variant) => variant
            .cases
            .items()
            .iter()
            .any(|case| case.secret || case.payload.as_ref().is_some_and(holds_secret)),
        Shape::Result(result) => result.ok.iter().chain(&result.err).any(holds_secret),
        _ => false,
    }
}
