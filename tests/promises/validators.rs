//! Two validators of JSON Schema that share no code, as one: a schema that one of them reads otherwise is a fault.

use boon::{Compiler, Draft, SchemaIndex, Schemas};
use serde_json::Value;

/// A schema in both validators.
pub struct Validators {
    schema: Value,
    one: jsonschema::Validator,
    other: (Schemas, SchemaIndex),
}

#[expect(clippy::panic, reason = "a schema that is none fails the test")]
impl Validators {
    /// Reads a schema, which both hold against the meta-schema of 2020-12.
    pub fn new(schema: &Value) -> Self {
        jsonschema::draft202012::meta::validate(schema).unwrap_or_else(|error| panic!("{error} in {schema}"));
        let one = jsonschema::draft202012::new(schema).unwrap_or_else(|error| panic!("{error} in {schema}"));
        Self { schema: schema.clone(), one, other: compiled(schema) }
    }

    /// Whether the value fits, on which both must agree.
    pub fn is_valid(&self, value: &Value) -> bool {
        let (schemas, index) = &self.other;
        let (one, other) = (self.one.is_valid(value), schemas.validate(value, *index).is_ok());
        assert_eq!(one, other, "the validators disagree on {value} for {}", self.schema);
        one
    }

    /// What does not fit, in words; empty where everything does.
    pub fn violations(&self, value: &Value) -> Vec<String> {
        let is_valid = self.is_valid(value);
        let violations: Vec<String> = self.one.iter_errors(value).map(|error| error.to_string()).collect();
        assert_eq!(is_valid, violations.is_empty());
        violations
    }
}

#[expect(clippy::panic, reason = "a schema that is none fails the test")]
fn compiled(schema: &Value) -> (Schemas, SchemaIndex) {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.set_default_draft(Draft::V2020_12);
    let name = "mem:///schema.json";
    let index = compiler
        .add_resource(name, schema.clone())
        .map_err(|error| error.to_string())
        .and_then(|()| compiler.compile(name, &mut schemas).map_err(|error| error.to_string()))
        .unwrap_or_else(|error| panic!("{error} in {schema}"));
    (schemas, index)
}
