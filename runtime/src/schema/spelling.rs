//! How the types of a function spell what an operator wrote of one of its arguments.

use serde_json::Value;

use super::canonical::{Canonical, RepairMode};
use super::path::Path;
use super::shape::{ChoiceShape, RecordShape, Shape};
use super::signature::Signature;
use super::validate::shape_fits;

/// A type that an argument, or an item of it, may be of.
enum Place<'s> {
    Shape(&'s Shape),
    /// One of these words: a flag, or the tag of a variant.
    Word(&'s ChoiceShape),
}

/// The canonical forms of `value` as the argument `name` (`edits.path` is inside, also of each item of a list), or as an
/// item of it; none for a name or a value that the types do not have. `value` itself is not among them.
pub(crate) fn spellings(signature: &Signature, name: &str, value: &Value) -> Vec<Value> {
    let parts: Vec<&str> = name.split('.').collect();
    let mut places = Vec::new();
    in_record(&signature.arguments, &parts, &mut places);
    let mut spellings = Vec::new();
    for spelling in places.iter().filter_map(|place| spelt(place, value)) {
        if spelling != *value && !spellings.contains(&spelling) {
            spellings.push(spelling);
        }
    }
    spellings
}

fn spelt(place: &Place<'_>, value: &Value) -> Option<Value> {
    let mut value = value.clone();
    let mut canonical = Canonical::new(RepairMode::Decode);
    match place {
        Place::Shape(shape) => {
            canonical.value(shape, &mut value, &Path::ROOT);
            shape_fits(shape, &value).then_some(value)
        }
        Place::Word(words) => {
            canonical.word(words, &mut value, &Path::ROOT);
            words.cases.by_json(value.as_str()?).is_some().then_some(value)
        }
    }
}

fn in_record<'s>(record: &'s RecordShape, parts: &[&str], places: &mut Vec<Place<'s>>) {
    let Some((part, rest)) = parts.split_first() else { return };
    if let Some(member) = record.member(part) {
        inside(&member.shape, rest, places);
    }
}

/// Adds what `parts` lead to, as rules find it: items of lists need no name.
fn inside<'s>(shape: &'s Shape, parts: &[&str], places: &mut Vec<Place<'s>>) {
    if parts.is_empty() {
        places.push(Place::Shape(shape));
    }
    let (part, rest) = parts.split_first().map_or((None, parts), |(part, rest)| (Some(*part), rest));
    match (shape, part) {
        (Shape::List(item), _) => inside(item, parts, places),
        (Shape::Tuple(items), _) => items.iter().for_each(|item| inside(item, parts, places)),
        (Shape::Option(inner), _) if !matches!(**inner, Shape::Option(_)) => inside(inner, parts, places),
        (Shape::Option(inner), Some("some")) => inside(inner, rest, places),
        (Shape::Record(record), Some(_)) => in_record(record, parts, places),
        (Shape::Flags(flags), None) => places.push(Place::Word(flags)),
        (Shape::Variant(variant), Some("tag")) if rest.is_empty() => places.push(Place::Word(variant)),
        (Shape::Variant(variant), Some("val")) => {
            let payloads = variant.cases.items().iter().filter_map(|case| case.payload.as_ref());
            payloads.for_each(|payload| inside(payload, rest, places));
        }
        (Shape::Result(result), Some(side @ ("ok" | "err"))) => {
            let shape = if side == "ok" { &result.ok } else { &result.err };
            shape.iter().for_each(|shape| inside(shape, rest, places));
        }
        _ => {}
    }
}
