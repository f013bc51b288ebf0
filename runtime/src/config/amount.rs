//! A number with a unit as a person writes it: `1000`, `"64MiB"`, `"30s"`.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, Visitor};

/// A whole number or a text; what it means depends on the setting that it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Amount(pub(super) String);

struct AmountVisitor;

impl Visitor<'_> for AmountVisitor {
    type Value = Amount;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a whole number or a text such as \"64MiB\" or \"30s\"")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Amount, E> {
        Ok(Amount(number.to_string()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Amount, E> {
        Ok(Amount(number.to_string()))
    }

    // Integers beyond 64 bits arrive so; the setting that they are for refuses them by its own range.
    fn visit_i128<E: Error>(self, number: i128) -> Result<Amount, E> {
        Ok(Amount(number.to_string()))
    }

    fn visit_u128<E: Error>(self, number: u128) -> Result<Amount, E> {
        Ok(Amount(number.to_string()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Amount, E> {
        Ok(Amount(text.to_owned()))
    }
}

impl<'de> serde::Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AmountVisitor)
    }
}

impl JsonSchema for Amount {
    fn schema_name() -> Cow<'static, str> {
        "Amount".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["integer", "string"] })
    }
}
