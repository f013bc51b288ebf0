//! What a client calls a request by.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde_json::Value;

/// Characters of an id; each event of a call repeats it.
const MAX_CHARACTERS: usize = 4096;

/// A string or a whole number, given back as it came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(super) struct Id(Value);

impl Id {
    pub fn value(&self) -> &Value {
        &self.0
    }
}

/// Its JSON, in which 1 and "1" are two ids.
impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Whole)
    }
}

struct Whole;

impl Visitor<'_> for Whole {
    type Value = Id;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a string of 1 to {MAX_CHARACTERS} characters or a whole number of 64 bits")
    }

    fn visit_i64<E>(self, number: i64) -> Result<Id, E> {
        Ok(Id(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Id, E> {
        Ok(Id(number.into()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Id, E> {
        if text.is_empty() || text.chars().nth(MAX_CHARACTERS).is_some() {
            return Err(E::invalid_length(text.chars().count(), &self));
        }
        Ok(Id(text.into()))
    }
}

impl JsonSchema for Id {
    fn schema_name() -> Cow<'static, str> {
        "Id".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "What the client calls the request by; given back as it came.",
            "type": ["string", "integer"],
            "minLength": 1,
            "maxLength": MAX_CHARACTERS,
            "minimum": i64::MIN,
            "maximum": u64::MAX,
        })
    }
}
