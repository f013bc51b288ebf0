//! Limits as they are written in the file, and what of them there is where.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::amount::Amount;
use crate::limits::{HOOK_MEMORY, Limit, NOT_OF_HOOKS, Unit};

/// The limits of a component or a tool, by the names of [`Limit`].
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct RawLimits(pub(super) BTreeMap<String, Amount>);

/// The limits of a hook's component.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct RawHookLimits(pub(super) BTreeMap<String, Amount>);

/// The limits of every call, and of the runtime as a whole.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct RawRuntimeLimits(pub(super) BTreeMap<String, Amount>);

/// The settings of `[limits]` that hold for the runtime as a whole, with their meaning.
pub(super) const ADMISSION: [(&str, &str); 5] = [
    ("concurrent_cells", "Cells that run at once. Default 32."),
    ("max_waiting", "Calls that may wait for a cell. Default 1024."),
    ("queue_timeout", "How long a call may wait for a cell before it is `busy`. Default \"30s\"."),
    ("batch_calls", "Calls of one batch that are made; those after them are refused. Default 1000."),
    ("batch_bytes", "Bytes of results after which no further call of a batch begins. Default \"64MiB\"."),
];

/// The properties of limits, each with its default here.
fn limit_properties(generator: &mut SchemaGenerator, default: impl Fn(Limit) -> u64) -> Map<String, Value> {
    let amount = generator.subschema_for::<Amount>();
    let mut properties = Map::new();
    for (limit, bounded) in Limit::described() {
        let counted = match limit.unit() {
            Unit::Time => "A duration",
            Unit::Bytes => "A size",
            Unit::Count => "A count",
        };
        let description = format!("{bounded} {counted}. Default \"{}\".", limit.format(default(limit)));
        let mut property = amount.clone();
        property.insert("description".to_owned(), description.into());
        properties.insert(limit.name().to_owned(), property.into());
    }
    properties
}

fn closed_object(properties: Map<String, Value>) -> Schema {
    let mut schema = Schema::default();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}

impl JsonSchema for RawLimits {
    fn schema_name() -> Cow<'static, str> {
        "Limits".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        closed_object(limit_properties(generator, Limit::default_value))
    }
}

impl JsonSchema for RawHookLimits {
    fn schema_name() -> Cow<'static, str> {
        "HookLimits".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let default = |limit: Limit| if limit == Limit::Memory { HOOK_MEMORY } else { limit.default_value() };
        let mut properties = limit_properties(generator, default);
        for limit in NOT_OF_HOOKS {
            properties.insert(limit.name().to_owned(), false.into());
        }
        closed_object(properties)
    }
}

impl JsonSchema for RawRuntimeLimits {
    fn schema_name() -> Cow<'static, str> {
        "RuntimeLimits".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = limit_properties(generator, Limit::default_value);
        let amount = generator.subschema_for::<Amount>();
        for (name, description) in ADMISSION {
            let mut property = amount.clone();
            property.insert("description".to_owned(), description.into());
            properties.insert(name.to_owned(), property.into());
        }
        closed_object(properties)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;
    use crate::config::raw::schema;

    #[test]
    fn a_hooks_limits_are_those_that_its_component_can_have() {
        let schema = schema();
        let limits = "/properties/hook/items/properties/limits/properties";
        let at = |name: &str| schema.pointer(&format!("{limits}/{name}/description"));
        let validator = jsonschema::validator_for(&schema).unwrap();
        for limit in Limit::ALL {
            let is_of_hooks = !NOT_OF_HOOKS.contains(&limit);
            assert_eq!(at(limit.name()).is_some(), is_of_hooks, "{limit}");
            let hook = json!({ "hook": [{ "use": "component", "limits": { limit.name(): 1 } }] });
            assert_eq!(validator.is_valid(&hook), is_of_hooks, "{limit}");
        }
        let memory = at("memory").and_then(Value::as_str).unwrap();
        assert!(memory.ends_with("Default \"64MiB\"."), "{memory}");
    }

    #[test]
    fn every_limit_is_in_the_schema() {
        let schema = schema();
        for limit in Limit::ALL {
            for table in
                ["/properties/limits", "/properties/component/additionalProperties/properties/limits"]
            {
                let pointer = format!("{table}/properties/{}/description", limit.name());
                assert!(schema.pointer(&pointer).is_some(), "{pointer}");
            }
        }
    }
}
