//! Whether a canonical value fits the types: everything that does not, at once, for a model to repair in one go.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Number, Value};

use super::expected::{expected, words};
use super::names::{excerpt, nearest};
use super::path::Path;
use super::shape::{ChoiceShape, FloatShape, Member, RecordShape, ResultShape, Shape, integer};
use super::signature::Signature;
use crate::call::Violation;
use crate::output::Redactor;

/// Violations that are listed one by one; beyond them the last one counts the rest.
const MAX_VIOLATIONS: usize = 50;

/// Characters of a wrong value that a message repeats.
const MAX_EXCERPT_CHARS: usize = 40;

/// Everything in `arguments` that does not fit, in the order of the value, then what is missing.
///
/// At most fifty violations and one that counts the rest; empty means that [`lower`](super::lower) succeeds.
pub fn validate(signature: &Signature, arguments: &Value) -> Vec<Violation> {
    validate_at(signature, arguments, &Path::ROOT)
}

/// The same, without secrets in what the violations say: no half of one either where they repeat a part of a text.
pub(crate) fn validate_redacted(
    signature: &Signature,
    arguments: &Value,
    redactor: Option<&Redactor>,
) -> Vec<Violation> {
    validate_at(signature, arguments, &Path::redacted_by(redactor))
}

fn validate_at(signature: &Signature, arguments: &Value, root: &Path<'_>) -> Vec<Violation> {
    let mut checker = Checker { violations: Vec::new(), count: 0, listed: MAX_VIOLATIONS };
    match arguments {
        Value::Object(object) => checker.record(&signature.arguments, object, root),
        other => checker.report(|| Violation::new("", "object", got(other, root))),
    }
    let unlisted = checker.count.saturating_sub(MAX_VIOLATIONS);
    if unlisted > 0 {
        let rest = format!("{unlisted} more violations");
        checker.violations.push(Violation::new("", "arguments that match the schema", rest));
    }
    checker.violations
}

/// Whether `value` fits `shape`.
pub(super) fn shape_fits(shape: &Shape, value: &Value) -> bool {
    let mut checker = Checker { violations: Vec::new(), count: 0, listed: 0 };
    checker.value(shape, value, &Path::ROOT);
    checker.count == 0
}

/// Whether `value` may stand for the member.
pub(super) fn member_fits(member: &Member, value: &Value) -> bool {
    shape_fits(&member.shape, value)
}

/// The JSON type of a value in one word.
pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// What was there, for the message: the type, and a short excerpt unless it is secret.
fn got(value: &Value, path: &Path<'_>) -> String {
    match value {
        _ if path.is_secret() => type_of(value).to_owned(),
        Value::String(text) => shown_text(&path.redacted(text)),
        Value::Number(number) => path.redacted(&number.to_string()).into_owned(),
        _ => shown(value),
    }
}

/// A value that is no secret, for a message: its type, and a short excerpt.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => shown_text(text),
        Value::Array(items) => format!("array of {} items", items.len()),
        Value::Null | Value::Object(_) => type_of(value).to_owned(),
    }
}

fn shown_text(text: &str) -> String {
    if text.is_empty() {
        return "an empty string".to_owned();
    }
    let short = excerpt(text, MAX_EXCERPT_CHARS / 2);
    excerpt(&format!("string {short:?}"), MAX_EXCERPT_CHARS).into_owned()
}

struct Checker {
    violations: Vec<Violation>,
    count: usize,
    listed: usize,
}

impl Checker {
    fn report(&mut self, violation: impl FnOnce() -> Violation) {
        self.count += 1;
        if self.count <= self.listed {
            self.violations.push(violation());
        }
    }

    fn value(&mut self, shape: &Shape, value: &Value, path: &Path<'_>) {
        let fits = match (shape, value) {
            (Shape::Bool, Value::Bool(_)) => true,
            (Shape::Int(int), Value::Number(number)) => {
                integer(number).is_some_and(|integer| (int.min..=int.max).contains(&integer))
            }
            (Shape::Float(float), Value::Number(number)) => float_fits(float, number),
            (Shape::Float(float), Value::String(text)) => float.admits_text(text),
            (Shape::Char, Value::String(text)) => {
                let mut scalars = text.chars();
                scalars.next().is_some() && scalars.next().is_none()
            }
            (Shape::String(string), Value::String(text)) => {
                string.pattern.as_ref().is_none_or(|pattern| pattern.is_match(text))
            }
            (Shape::Bytes, Value::String(text)) => is_base64(text),
            (Shape::Enum(choice), Value::String(word)) => return self.word(choice, word, path),
            (Shape::Option(_), Value::Null) => true,
            (Shape::Option(inner), _) if matches!(**inner, Shape::Option(_)) => {
                return self.some(inner, value, path);
            }
            (Shape::Option(inner), _) => return self.value(inner, value, path),
            (Shape::List(item), Value::Array(items)) => {
                for (index, value) in items.iter().enumerate() {
                    self.value(item, value, &path.index(index));
                }
                return;
            }
            (Shape::Tuple(shapes), Value::Array(items)) if shapes.len() == items.len() => {
                for (index, (shape, value)) in shapes.iter().zip(items).enumerate() {
                    self.value(shape, value, &path.index(index));
                }
                return;
            }
            (Shape::Record(record), Value::Object(object)) => return self.record(record, object, path),
            (Shape::Variant(variant), Value::Object(object)) => return self.variant(variant, object, path),
            (Shape::Result(result), Value::Object(object)) => return self.result(result, object, path),
            (Shape::Flags(flags), Value::Array(items)) => return self.flags(flags, items, path),
            _ => false,
        };
        if !fits {
            self.mismatch(shape, value, path);
        }
    }

    fn mismatch(&mut self, shape: &Shape, value: &Value, path: &Path<'_>) {
        self.report(|| {
            let violation = Violation::new(path.to_string(), expected(shape), got(value, path));
            match value {
                Value::String(text) if !shape.is_text() && text.trim_start().starts_with(['{', '[']) => {
                    violation.hint("pass the value itself, not a string that holds it")
                }
                _ => violation,
            }
        });
    }

    fn record(&mut self, record: &RecordShape, object: &Map<String, Value>, path: &Path<'_>) {
        for (key, value) in object {
            match record.members.by_json(key) {
                Some(member) => self.value(&member.shape, value, &path.key(key).hide_if(member.secret)),
                None => self.unknown(record.members.names(), key, path),
            }
        }
        for member in record.members().iter().filter(|member| member.is_required()) {
            if !object.contains_key(&*member.json) {
                self.missing(&member.json, &member.shape, path);
            }
        }
    }

    fn missing(&mut self, key: &str, shape: &Shape, path: &Path<'_>) {
        self.report(|| {
            let expected = format!("{} (required)", expected(shape));
            Violation::new(path.key(key).to_string(), expected, "nothing")
        });
    }

    fn unknown<'n>(&mut self, names: impl Iterator<Item = &'n str>, key: &str, path: &Path<'_>) {
        self.report(|| {
            let names: Vec<&str> = names.collect();
            let expected = if names.is_empty() {
                "no properties".to_owned()
            } else {
                format!("only {}", words(names.iter().copied()))
            };
            if path.is_secret() {
                return Violation::new(path.to_string(), expected, "an unknown property");
            }
            let violation = Violation::new(path.key(key).to_string(), expected, "an unknown property");
            suggest(violation, key, names)
        });
    }

    fn word(&mut self, choice: &ChoiceShape, word: &str, path: &Path<'_>) {
        if choice.cases.by_json(word).is_some() {
            return;
        }
        self.report(|| {
            let expected = format!("one of {}", words(choice.cases.names()));
            let got = if path.is_secret() { "string".to_owned() } else { shown_text(&path.redacted(word)) };
            let violation = Violation::new(path.to_string(), expected, got);
            if path.is_secret() { violation } else { suggest(violation, word, choice.cases.names()) }
        });
    }

    fn flags(&mut self, flags: &ChoiceShape, items: &[Value], path: &Path<'_>) {
        let mut is_set = vec![false; flags.cases.items().len()];
        for (index, item) in items.iter().enumerate() {
            let path = path.index(index);
            let Value::String(word) = item else {
                self.report(|| {
                    let expected = format!("one of {}", words(flags.cases.names()));
                    Violation::new(path.to_string(), expected, got(item, &path))
                });
                continue;
            };
            self.word(flags, word, &path);
            let known = flags.cases.by_json(word).and_then(|_| flags.cases.position(word));
            if let Some(is_set) = known.and_then(|position| is_set.get_mut(position))
                && std::mem::replace(is_set, true)
            {
                self.report(|| Violation::new(path.to_string(), "each word once", "a word again"));
            }
        }
    }

    fn variant(&mut self, variant: &ChoiceShape, object: &Map<String, Value>, path: &Path<'_>) {
        for key in object.keys().filter(|key| !matches!(key.as_str(), "tag" | "val")) {
            self.unknown(["tag", "val"].into_iter(), key, path);
        }
        let tag = match object.get("tag") {
            Some(Value::String(tag)) => tag,
            other => {
                self.report(|| {
                    let expected = format!("one of {}", words(variant.cases.names()));
                    let got = other.map_or_else(|| "nothing".to_owned(), |tag| got(tag, path));
                    Violation::new(path.key("tag").to_string(), expected, got)
                });
                return;
            }
        };
        let Some(case) = variant.cases.by_json(tag) else {
            return self.word(variant, tag, &path.key("tag"));
        };
        match (&case.payload, object.get("val")) {
            (Some(payload), Some(value)) => {
                self.value(payload, value, &path.key("val").hide_if(case.secret));
            }
            (Some(payload), None) if case.requires_val() => self.missing("val", payload, path),
            (None, Some(_)) => self.report(|| {
                let expected = format!("no `val` beside the tag `{}`", case.json);
                Violation::new(path.key("val").to_string(), expected, "a value")
            }),
            (_, None) => {}
        }
    }

    fn some(&mut self, inner: &Shape, value: &Value, path: &Path<'_>) {
        match value {
            Value::Object(object) if object.len() == 1 && object.contains_key("some") => {
                if let Some(value) = object.get("some") {
                    self.value(inner, value, &path.key("some"));
                }
            }
            other => self
                .report(|| Violation::new(path.to_string(), "{\"some\": value} or null", got(other, path))),
        }
    }

    fn result(&mut self, result: &ResultShape, object: &Map<String, Value>, path: &Path<'_>) {
        let mut members = object.iter();
        let (shape, key, value) = match (members.next(), members.next()) {
            (Some((key, value)), None) if key == "ok" => (&result.ok, key, value),
            (Some((key, value)), None) if key == "err" => (&result.err, key, value),
            _ => {
                return self.report(|| {
                    Violation::new(
                        path.to_string(),
                        "{\"ok\": value} or {\"err\": value}",
                        "an object without one of them alone",
                    )
                });
            }
        };
        match shape {
            Some(shape) => self.value(shape, value, &path.key(key)),
            None if value.is_null() => {}
            None => {
                self.report(|| Violation::new(path.key(key).to_string(), "null", got(value, &path.key(key))))
            }
        }
    }
}

/// The violation with the name that is nearest to a word which is none of them.
pub(crate) fn suggest<'n>(
    violation: Violation,
    word: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> Violation {
    match nearest(word, names).first() {
        Some(name) => violation.hint(format!("did you mean `{name}`?")),
        None => violation,
    }
}

fn float_fits(float: &FloatShape, number: &Number) -> bool {
    number.as_f64().is_some_and(|number| {
        float.lowest().is_none_or(|lowest| lowest <= number)
            && float.highest().is_none_or(|highest| number <= highest)
    })
}

/// Standard alphabet, padded, unused bits zero: one text for each list of bytes.
fn is_base64(text: &str) -> bool {
    // A block at a time: validation allocates nothing of the argument's size.
    let blocks = text.as_bytes().chunks(4096);
    let last = blocks.len().saturating_sub(1);
    blocks.enumerate().all(|(index, block)| {
        let mut bytes = [0; 3 * 1024];
        STANDARD.decode_slice(block, &mut bytes).is_ok_and(|length| index == last || length == bytes.len())
    })
}
