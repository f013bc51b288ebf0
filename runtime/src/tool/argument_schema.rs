//! Arguments and results that are described by a JSON Schema rather than by types.

use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use crate::call::Violation;

/// A compiled JSON Schema.
pub(crate) struct ArgumentSchema(Validator);

/// Violations that are told of one call; a model mends a few at a time.
const MAX_VIOLATIONS: usize = 32;

/// Bytes of what was expected, in words.
const MAX_EXPECTED_BYTES: usize = 256;

impl ArgumentSchema {
    /// Compiles `schema`. Nothing that it refers to is fetched.
    ///
    /// # Errors
    /// When it is no JSON Schema, or refers to something outside of itself.
    pub fn new(schema: &Value) -> Result<Self, String> {
        jsonschema::draft202012::new(schema).map(Self).map_err(|error| match error.kind() {
            ValidationErrorKind::Referencing(_) => {
                "it refers to something that is not in it, and nothing is fetched".to_owned()
            }
            _ => error.to_string(),
        })
    }

    /// Whether the value fits.
    pub fn admits(&self, value: &Value) -> bool {
        self.0.is_valid(value)
    }

    /// What of the value does not fit.
    pub fn violations(&self, value: &Value) -> Vec<Violation> {
        let violation = |error: jsonschema::ValidationError<'_>| {
            let path = error.instance_path().to_string();
            let kind = kind_of(error.instance());
            // The value may be long, or a secret: it is named by its kind.
            let expected = error.masked_with(kind).to_string();
            let end = expected.floor_char_boundary(MAX_EXPECTED_BYTES);
            Violation::new(path, expected.get(..end).unwrap_or_default(), kind)
        };
        self.0.iter_errors(value).take(MAX_VIOLATIONS).map(violation).collect()
    }
}

/// The type of a value, in a word.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
