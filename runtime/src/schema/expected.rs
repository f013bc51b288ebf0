//! Types in words, for messages to the model.

use super::shape::{FloatShape, IntShape, Shape};

/// Names that a message lists before it counts the rest.
const MAX_WORDS: usize = 50;

/// What a value of this type looks like in JSON, in a few words.
pub(super) fn expected(shape: &Shape) -> String {
    match shape {
        Shape::Bool => "boolean".to_owned(),
        Shape::Int(IntShape { min, max, .. }) => format!("integer from {min} to {max}"),
        Shape::Float(float) => float_expected(float),
        Shape::Char => "string of exactly one character".to_owned(),
        Shape::String(string) => match &string.pattern {
            Some(pattern) => format!("string that matches `{}`", pattern.source()),
            None => "string".to_owned(),
        },
        Shape::Bytes => "base64 string (standard alphabet, padded)".to_owned(),
        Shape::List(_) => "array".to_owned(),
        Shape::Tuple(shapes) => format!("array of {} items", shapes.len()),
        Shape::Record(_) => "object".to_owned(),
        Shape::Variant(variant) => format!("object with `tag` one of {}", words(variant.cases.names())),
        Shape::Enum(choice) => format!("one of {}", words(choice.cases.names())),
        Shape::Flags(flags) => format!("array of {}", words(flags.cases.names())),
        Shape::Option(inner) => match &**inner {
            Shape::Option(_) => "{\"some\": value} or null".to_owned(),
            inner => format!("{} or null", expected(inner)),
        },
        Shape::Result(_) => "{\"ok\": value} or {\"err\": value}".to_owned(),
    }
}

fn float_expected(float: &FloatShape) -> String {
    match (float.min, float.max) {
        (None, None) => "number".to_owned(),
        (Some(min), None) => format!("number of at least {min}"),
        (None, Some(max)) => format!("number of at most {max}"),
        (Some(min), Some(max)) => format!("number from {min} to {max}"),
    }
}

/// The names in backquotes, as many as a reader can use.
pub(crate) fn words<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut text = String::new();
    let mut unlisted = 0_usize;
    for (position, name) in names.enumerate() {
        if position >= MAX_WORDS {
            unlisted += 1;
            continue;
        }
        if position > 0 {
            text.push_str(", ");
        }
        text.push('`');
        text.push_str(name);
        text.push('`');
    }
    if unlisted > 0 {
        text.push_str(&format!(" and {unlisted} more"));
    }
    text
}
