//! Arguments and results that are described by a JSON Schema rather than by types.

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use serde_json::Value;

use super::schema_words::Described;
use super::schema_work::Work;
use crate::call::Violation;
use crate::schema::{MAX_FOREIGN_BYTES, RepairMode, Repairs, decoded_text, shown, suggest, type_of, words};

/// A compiled JSON Schema.
pub(crate) struct ArgumentSchema {
    validator: Validator,
    work: Work,
    schema: Value,
    got: Got,
}

/// Steps of a check that may be made where others wait meanwhile: about half a millisecond.
const QUICK: u64 = 1 << 15;

/// Bytes of texts that hold few values, whatever they are.
const SHORT: usize = 256;

/// Steps of a check that nobody else's thread is looked for: some hundredths of a second.
const INLINE: u64 = 1 << 21;

/// Steps of the longest check: it goes on for seconds once its caller has left.
const MOST: u64 = 1 << 27;

/// Values that are copied to say what is wrong, texts in pieces of 64 bytes.
const COPIES: u64 = 1 << 20;

/// Bytes of what a pattern keeps to be fast.
const PATTERN_CACHE: usize = 128 << 10;

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
    /// When it is no JSON Schema, refers to something outside of itself, or could keep a check busy without end.
    pub fn new(schema: &Value) -> Result<Self, String> {
        let work = Work::of(schema)?;
        let patterns = PatternOptions::regex().size_limit(MAX_FOREIGN_BYTES).dfa_size_limit(PATTERN_CACHE);
        let options = jsonschema::options().with_draft(Draft::Draft202012).with_pattern_options(patterns);
        let validator = options.build(schema).map_err(|error| match error.kind() {
            Kind::Referencing(_) => {
                "it refers to something that is not in it, and nothing is fetched".to_owned()
            }
            Kind::Format { format } if format == "regex" => {
                "a pattern of it is no regular expression without look-around and back-references".to_owned()
            }
            _ => error.to_string(),
        })?;
        Ok(Self { validator, work, schema: schema.clone(), got: Got::Type })
    }

    /// Whether a check of `value` takes no longer than others may be kept waiting.
    pub fn is_quick(&self, value: &Value) -> bool {
        self.work.steps(value, QUICK).is_ok()
    }

    /// The same of arguments, whose texts may hold much more than they are.
    pub fn takes_quickly(&self, arguments: &Value) -> bool {
        self.is_quick(arguments) && held(arguments) <= SHORT
    }

    /// Has violations repeat a little of each wrong value. Only for a schema whose author says which values are secret, by
    /// `writeOnly` or the format `password`: a stranger may leave that out.
    pub fn showing_values(self) -> Self {
        Self { got: Got::Excerpt, ..self }
    }

    /// Whether the value fits. One that takes long to check does not.
    pub fn admits(&self, value: &Value) -> bool {
        self.work.steps(value, INLINE).is_ok() && self.validator.is_valid(value)
    }

    /// What of arguments does not fit; beyond a bound the last one counts the rest.
    pub fn violations(&self, arguments: &Value) -> Vec<Violation> {
        if let Some(coarse) = self.checked(arguments) {
            return coarse.into_iter().collect();
        }
        let (mut violations, mut unlisted) = (Vec::new(), 0_usize);
        for error in self.validator.iter_errors(arguments) {
            match violations.len() > MAX_VIOLATIONS {
                true => unlisted += 1,
                false => self.tell(&error, self.got, MAX_DEPTH, &mut violations),
            }
        }
        unlisted += violations.len().saturating_sub(MAX_VIOLATIONS);
        if unlisted > 0 {
            violations.truncate(MAX_VIOLATIONS);
            let rest = format!("{unlisted} more violations");
            violations.push(Violation::new("", "arguments that match the schema", rest));
        }
        violations
    }

    /// The arguments with the values that texts of it hold, where the schema takes no text and what it takes is what they
    /// hold: models write an object as text, and some providers' schemas have no other way to say one. `None` unless all
    /// of it fits then.
    pub fn with_decoded_texts(
        &self,
        arguments: &Value,
        mode: RepairMode,
        repairs: &mut Repairs,
    ) -> Option<Value> {
        if mode == RepairMode::Off || !self.work.copies_at_most(arguments, MOST, COPIES) {
            return None;
        }
        let mut paths = Vec::new();
        for error in self.validator.iter_errors(arguments) {
            self.refused_texts(&error, MAX_DEPTH, &mut paths);
        }
        paths.sort_unstable();
        paths.dedup();
        let mut decoded = arguments.clone();
        for path in &paths {
            let place = decoded.pointer_mut(path)?;
            let text = place.as_str()?;
            let value = decoded_text(text, mode)?;
            if has_lost_digits(text) {
                return None;
            }
            repairs.note(path, "string", type_of(&value));
            *place = value;
        }
        (!paths.is_empty() && self.work.steps(&decoded, MOST).is_ok() && self.validator.is_valid(&decoded))
            .then_some(decoded)
    }

    /// Adds the paths of the texts in whose places the schema takes something but not these. Whether that is all of the error.
    fn refused_texts(&self, error: &ValidationError<'_>, depth: usize, paths: &mut Vec<String>) -> bool {
        let path = error.instance_path().as_str();
        if error.instance().is_string() {
            let refused = refuses_text(error, path, depth);
            paths.extend(refused.then(|| path.to_owned()));
            return refused;
        }
        match error.kind() {
            // The first that it may be meant as.
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } if depth > 0 => {
                let meant = context.iter().find_map(|errors| {
                    let mut inner = Vec::new();
                    let are_all = errors.iter().all(|error| self.refused_texts(error, depth - 1, &mut inner));
                    are_all.then_some(inner)
                });
                let is_all = meant.is_some();
                paths.extend(meant.unwrap_or_default());
                is_all
            }
            _ => false,
        }
    }

    /// Gives whole numbers of arguments that fit the one form that they have where the schema says integer.
    pub fn write_integers(&self, arguments: &mut Value, repairs: &mut Repairs) {
        self.work.write_integers(arguments, repairs);
    }

    /// The first thing of data that does not fit; what is wrong is named by its type, since it may be anybody's secret.
    pub fn misfit(&self, data: &Value) -> Option<Violation> {
        if let Some(coarse) = self.checked(data) {
            return coarse;
        }
        let mut violations = Vec::new();
        self.tell(&self.validator.iter_errors(data).next()?, Got::Type, MAX_DEPTH, &mut violations);
        violations.into_iter().next()
    }

    /// Whether a value fits, where that is all that can be said of it; none where more can.
    fn checked(&self, value: &Value) -> Option<Option<Violation>> {
        if self.work.steps(value, MOST).is_err() {
            let expected = "what can be checked against the schema within seconds";
            return Some(Some(Violation::new("", expected, "more, or nested deeper, than that")));
        }
        if self.validator.is_valid(value) {
            return Some(None);
        }
        if self.work.copies_at_most(value, MOST, COPIES) {
            return None;
        }
        let got = "what does not, and is too large to say where";
        Some(Some(Violation::new("", "what matches the schema", got)))
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

/// Whether a text of JSON has an integer of more digits than any number here holds: it would be read as another one.
fn has_lost_digits(text: &str) -> bool {
    let (mut is_string, mut is_escaped, mut digits) = (false, false, String::new());
    let is_lost =
        |digits: &str| digits.len() > 18 && digits.parse::<i64>().is_err() && digits.parse::<u64>().is_err();
    for letter in text.chars().chain([' ']) {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = is_string,
            '"' => is_string = !is_string,
            '0'..='9' | '-' | '+' | '.' | 'e' | 'E' if !is_string => digits.push(letter),
            _ => {
                // With a fraction or an exponent nobody expects every digit.
                if !digits.contains(['.', 'e', 'E']) && is_lost(&digits) {
                    return true;
                }
                digits.clear();
            }
        }
    }
    false
}

/// Bytes of all texts that may be the JSON of many values.
fn held(value: &Value) -> usize {
    match value {
        Value::String(text) if text.trim_start().starts_with(['{', '[']) => text.len(),
        Value::Array(items) => items.iter().map(held).sum(),
        Value::Object(members) => members.values().map(held).sum(),
        _ => 0,
    }
}

/// Whether an error says of a text that it is not taken in its place, whatever its letters say.
fn refuses_text(error: &ValidationError<'_>, path: &str, depth: usize) -> bool {
    if error.instance_path().as_str() != path {
        return false;
    }
    match error.kind() {
        // Of several words it is none.
        Kind::Type { .. } | Kind::Enum { .. } | Kind::Constant { .. } => true,
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } if depth > 0 => {
            context.iter().all(|errors| errors.iter().any(|error| refuses_text(error, path, depth - 1)))
        }
        _ => false,
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
