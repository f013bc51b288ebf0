//! The fields of a span.

use std::fmt::Debug;

use tracing::field::{Field, Visit};

use crate::ids::Parent;

/// The most bytes of one text. Fields are names and kinds, but a model writes the name of a tool.
const MAX_TEXT: usize = 1024;

/// The field of a call that is its parent.
const TRACEPARENT: &str = "traceparent";

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
}

/// Fields by name, as they were recorded.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    pub values: Vec<(&'static str, Value)>,
    /// What the caller said is above this span.
    pub parent: Option<Parent>,
}

impl Fields {
    /// The text of a field.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.values.iter().find_map(|(field, value)| match value {
            Value::Text(text) if *field == name => Some(text.as_str()),
            _ => None,
        })
    }

    /// A field that is recorded again has its last value.
    fn set(&mut self, field: &Field, value: Value) {
        let name = field.name();
        match self.values.iter_mut().find(|(other, _)| *other == name) {
            Some((_, old)) => *old = value,
            None => self.values.push((name, value)),
        }
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == TRACEPARENT {
            self.parent = Parent::parse(value);
            return;
        }
        let end = value.floor_char_boundary(MAX_TEXT.min(value.len()));
        self.set(field, Value::Text(value.get(..end).unwrap_or_default().to_owned()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, Value::Integer(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, Value::Integer(i64::try_from(value).unwrap_or(i64::MAX)));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field, Value::Float(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, Value::Boolean(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}
