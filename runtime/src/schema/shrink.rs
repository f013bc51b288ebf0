//! What of a result may be shortened without breaking the announced schema.

use super::shape::Shape;
use super::signature::Returns;
use crate::output::Shrink;

impl Returns {
    /// What may be shortened in the value of a success.
    pub fn shrink(&self) -> Shrink {
        self.ok().map_or(Shrink::Fixed, shrink)
    }
}

fn shrink(shape: &Shape) -> Shrink {
    match shape {
        Shape::String(string) if string.pattern.is_none() => Shrink::Text,
        Shape::Bytes => Shrink::Base64,
        Shape::List(item) => Shrink::List(Box::new(shrink(item))),
        Shape::Tuple(items) => Shrink::Tuple(items.iter().map(shrink).collect()),
        Shape::Record(record) => {
            let member = |member: &super::Member| (member.name().to_owned(), shrink(member.shape()));
            Shrink::Object(record.members().iter().map(member).collect())
        }
        Shape::Variant(variant) => {
            let cases = variant.cases.items().iter();
            let payload = |case: &super::Case| {
                case.payload.as_ref().map(|payload| (case.json.to_string(), shrink(payload)))
            };
            Shrink::Tagged(cases.filter_map(payload).collect())
        }
        Shape::Option(inner) => match &**inner {
            Shape::Option(_) => Shrink::Object(vec![("some".to_owned(), shrink(inner))]),
            inner => shrink(inner),
        },
        Shape::Result(result) => {
            let side = |name: &str, shape: &Option<Shape>| {
                shape.as_ref().map(|shape| (name.to_owned(), shrink(shape)))
            };
            Shrink::Object(side("ok", &result.ok).into_iter().chain(side("err", &result.err)).collect())
        }
        Shape::String(_)
        | Shape::Bool
        | Shape::Int(_)
        | Shape::Float(_)
        | Shape::Char
        | Shape::Enum(_)
        | Shape::Flags(_) => Shrink::Fixed,
    }
}
