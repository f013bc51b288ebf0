//! The protocol as a JSON Schema, from the types that read and write it.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::PROTOCOL;
use super::reply::Reply;
use super::request::Request;

/// The JSON Schema (2020-12) of a line in either direction: `$defs/Request` is one of the client, `$defs/Reply` one of the
/// server.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12();
    let mut definitions = made::<Request>(settings.clone().for_deserialize());
    definitions.extend(made::<Reply>(settings.for_serialize()));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("JSON lines of toolcell, version {PROTOCOL}"),
        "anyOf": [{ "$ref": "#/$defs/Request" }, { "$ref": "#/$defs/Reply" }],
        "$defs": definitions,
    })
}

/// The definition of a type, and of all that it is made of.
fn made<T: JsonSchema>(settings: SchemaSettings) -> Map<String, Value> {
    let mut generator = settings.into_generator();
    generator.subschema_for::<T>();
    generator.take_definitions(true)
}
