//! Arguments and results that are described by a JSON Schema rather than by types.

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use super::schema_words::Described;
use crate::call::Violation;
use crate::schema::{shown, suggest, type_of, words};

/// A compiled JSON Schema.
pub(crate) struct ArgumentSchema {
    validator: Validator,
    schema: Value,
    got: Got,
}

/// Violations that are told of one call; a model mends a few at a time.
const MAX_VIOLATIONS: usize = 32;

/// How deep the alternatives of alternatives are looked into.
const MAX_DEPTH: usize = 16;

/// What a violation says of the value that is wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Got {
    /// A short excerpt, for whoever sent it.
    Excerpt,
    /// Its type alone.
    Type,
}

impl ArgumentSchema {
    /// Compiles `schema`. Nothing that it refers to is fetched.
    ///
    /// # Errors
    /// When it is no JSON Schema, or refers to something outside of itself.
    pub fn new(schema: &Value) -> Result<Self, String> {
        let validator = jsonschema::draft202012::new(schema).map_err(|error| match error.kind() {
            Kind::Referencing(_) => {
                "it refers to something that is not in it, and nothing is fetched".to_owned()
            }
            _ => error.to_string(),
        })?;
        Ok(Self { validator, schema: schema.clone(), got: Got::Type })
    }

    /// Has violations repeat a little of each wrong value. Only for a schema whose author says which values are secret, by
    /// `writeOnly` or the format `password`: a stranger may leave that out.
    pub fn showing_values(self) -> Self {
        Self { got: Got::Excerpt, ..self }
    }

    /// Whether the value fits.
    pub fn admits(&self, value: &Value) -> bool {
        self.validator.is_valid(value)
    }

    /// What of arguments does not fit; beyond a bound the last one counts the rest.
    pub fn violations(&self, arguments: &Value) -> Vec<Violation> {
        let mut violations = Vec::new();
        for error in self.validator.iter_errors(arguments) {
            self.tell(&error, self.got, MAX_DEPTH, &mut violations);
        }
        let unlisted = violations.len().saturating_sub(MAX_VIOLATIONS);
        if unlisted > 0 {
            violations.truncate(MAX_VIOLATIONS);
            let rest = format!("{unlisted} more violations");
            violations.push(Violation::new("", "arguments that match the schema", rest));
        }
        violations
    }

    /// The first thing of data that does not fit; what is wrong is named by its type, since it may be anybody's secret.
    pub fn misfit(&self, data: &Value) -> Option<Violation> {
        let mut violations = Vec::new();
        self.tell(&self.validator.iter_errors(data).next()?, Got::Type, MAX_DEPTH, &mut violations);
        violations.into_iter().next()
    }

    /// Says one error of the validator in words.
    fn tell(&self, error: &ValidationError<'_>, got: Got, depth: usize, told: &mut Vec<Violation>) {
        let path = error.instance_path().as_str();
        let whole = Described { root: &self.schema, schema: &self.schema };
        // The keyword's own place: what it is a keyword of is around it.
        let keyword = error.schema_path().as_str();
        let around = keyword.rsplit_once('/').and_then(|(around, _)| whole.at(around)).unwrap_or(whole);
        match error.kind() {
            Kind::Required { property: Value::String(name) } => {
                let expected =
                    around.property(name).map_or_else(|| "a value".to_owned(), Described::expected);
                told.push(Violation::new(below(path, name), format!("{expected} (required)"), "nothing"));
            }
            Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
                let names = around.names();
                let expected = match names.is_empty() {
                    true => "no properties".to_owned(),
                    false => format!("only {}", words(names.iter().copied())),
                };
                for name in unexpected {
                    let violation =
                        Violation::new(below(path, name), expected.clone(), "an unknown property");
                    told.push(suggest(violation, name, names.iter().copied()));
                }
            }
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } if depth > 0 => {
                let value = error.instance();
                match meant(around, path, context) {
                    Some(errors) => errors.iter().for_each(|error| self.tell(error, got, depth - 1, told)),
                    None => told.push(of_none(around, path, value, got)),
                }
            }
            Kind::OneOfMultipleValid { .. } => {
                let expected = format!("{}, and only one of them", around.expected());
                told.push(Violation::new(path, expected, "what fits several of them"));
            }
            Kind::PropertyNames { .. } => {
                told.push(Violation::new(path, "only names that the schema allows", "another name"));
            }
            _ => told.push(of_value(around, path, error.instance(), got)),
        }
    }
}

/// A value that is not what the schema around wants.
fn of_value(around: Described<'_>, path: &str, value: &Value, got: Got) -> Violation {
    let is_secret = |key: &str, secret: &Value| around.schema.get(key) == Some(secret);
    let hidden = is_secret("writeOnly", &true.into()) || is_secret("format", &"password".into());
    let got = if hidden { Got::Type } else { got };
    let violation = wrong(path, around.expected(), value, got);
    let choices = around.schema.get("enum").and_then(Value::as_array);
    match (value, choices) {
        (Value::String(word), Some(choices)) if !hidden => {
            suggest(violation, word, choices.iter().filter_map(Value::as_str))
        }
        (Value::String(text), None) if text.trim_start().starts_with(['{', '[']) && !hidden => {
            match around.schema.get("type").is_some_and(|kind| kind != "string") {
                true => violation.hint("pass the value itself, not a string that holds it"),
                false => violation,
            }
        }
        _ => violation,
    }
}

/// A value in the place of what was expected, as far as it may be told.
fn wrong(path: &str, expected: String, value: &Value, got: Got) -> Violation {
    let said = match (got, type_of(value)) {
        (Got::Excerpt, _) => shown(value),
        (Got::Type, kind) if expected.starts_with(kind) => format!("another {kind}"),
        (Got::Type, kind) => kind.to_owned(),
    };
    Violation::new(path, expected, said)
}

/// A value that fits none of the alternatives around.
fn of_none(around: Described<'_>, path: &str, value: &Value, got: Got) -> Violation {
    let Some((tag, choices)) = around.tag().filter(|_| value.is_object()) else {
        return of_value(around, path, value, got);
    };
    let expected = format!("one of {}", words(choices.iter().copied()));
    match value.get(tag) {
        None => Violation::new(below(path, tag), format!("{expected} (required)"), "nothing"),
        Some(word) => {
            let violation = wrong(&below(path, tag), expected, word, got);
            match word.as_str() {
                Some(word) => suggest(violation, word, choices),
                None => violation,
            }
        }
    }
}

/// What is wrong with the value as the one alternative that it must be meant as: the only one of its type and of its tag.
fn meant<'c>(
    around: Described<'_>,
    path: &str,
    context: &'c [Vec<ValidationError<'static>>],
) -> Option<&'c [ValidationError<'static>]> {
    let tag = around.tag().map(|(tag, _)| tag);
    let tag_path = tag.map(|tag| below(path, tag));
    let is_another = |error: &ValidationError<'static>| {
        let at = error.instance_path().as_str();
        match error.kind() {
            Kind::Type { .. } => at == path,
            Kind::Constant { .. } | Kind::Enum { .. } => at == path || Some(at) == tag_path.as_deref(),
            Kind::Required { property } => tag.is_some_and(|tag| property == tag),
            _ => false,
        }
    };
    let mut candidates = context.iter().filter(|errors| !errors.iter().any(is_another));
    let first = candidates.next()?;
    candidates.next().is_none().then_some(first)
}

/// A JSON pointer to what is under `name`.
fn below(path: &str, name: &str) -> String {
    format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"))
}
