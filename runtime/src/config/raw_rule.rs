//! A rule as it is written in the file.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::policy::{Action, Matcher};

/// A rule: what becomes of the calls that it matches. All that it says of a call must hold.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with `action`", default)]
#[schemars(extend("required" = ["action"]))]
pub(super) struct RawRule {
    /// What becomes of the call: deny beats ask beats allow.
    pub(super) action: Option<Action>,
    /// Globs of tools, by name or `interface.function`; one must match. Default every tool.
    pub(super) tools: Option<Vec<String>>,
    /// A glob of the component's name.
    pub(super) component: Option<String>,
    /// The component's group.
    pub(super) group: Option<String>,
    /// Whether the tool is held to reading.
    pub(super) read_only: Option<bool>,
    /// Whether the tool may destroy something.
    pub(super) destructive: Option<bool>,
    /// What arguments must be, by name (`edits.path` is inside). A text that begins with `/` is a glob of paths, any
    /// other a glob of texts; with `/` in it, as `secrets/**`, a deny or ask rule also holds for paths that end so, from
    /// any folder on. Numbers and booleans are themselves; a list is one of these.
    pub(super) arguments: BTreeMap<String, RawMatcher>,
    /// Why, for the model and for whoever is asked.
    pub(super) reason: Option<String>,
    /// Example arguments that the rule must match, checked when the file is loaded.
    #[serde(rename = "match")]
    pub(super) matches: Vec<Map<String, Value>>,
    /// Example arguments that it must not match.
    pub(super) no_match: Vec<Map<String, Value>>,
}

/// What an argument must be.
#[derive(Debug)]
pub(super) struct RawMatcher(pub(super) Matcher);

/// The ways to say outright how an argument is matched.
const OUTRIGHT: [&str; 4] = ["path", "glob", "regex", "equals"];

/// What the reader of TOML calls the one entry of a date.
const DATE: &str = "$__toml_private_datetime";

/// Whether a date is in `value`: arguments are JSON, and a date in them is a text.
pub(super) fn has_date(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.contains_key(DATE) || members.values().any(has_date),
        Value::Array(items) => items.iter().any(has_date),
        _ => false,
    }
}

struct MatcherVisitor;

impl<'de> Visitor<'de> for MatcherVisitor {
    type Value = RawMatcher;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(
            "a text, a number, a boolean, a table with one of `path`, `glob`, `regex` and `equals`, or a list of these",
        )
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<RawMatcher, E> {
        Ok(RawMatcher(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<RawMatcher, E> {
        Ok(RawMatcher(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<RawMatcher, E> {
        Ok(RawMatcher(Matcher::Equals(value.into())))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<RawMatcher, E> {
        match serde_json::Number::from_f64(value) {
            Some(number) => Ok(RawMatcher(Matcher::Equals(number.into()))),
            None => Err(E::custom("arguments are JSON, which has no such number")),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<RawMatcher, E> {
        Ok(RawMatcher(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<RawMatcher, A::Error> {
        let items = Vec::<RawMatcher>::deserialize(SeqAccessDeserializer::new(items))?;
        Ok(RawMatcher(Matcher::Any(items.into_iter().map(|item| item.0).collect())))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<RawMatcher, A::Error> {
        let date = || A::Error::custom("arguments are JSON, in which a date is a text; write it in quotes");
        let Some(key) = entries.next_key::<String>()? else {
            return Err(A::Error::custom(
                "an empty table matches nothing; write one of `path`, `glob`, `regex` and `equals`",
            ));
        };
        let matcher = match key.as_str() {
            "path" => Matcher::Path(entries.next_value()?),
            "glob" => Matcher::Glob(entries.next_value()?),
            "regex" => Matcher::Regex(entries.next_value()?),
            "equals" => Matcher::Equals(entries.next_value()?),
            DATE => return Err(date()),
            other => return Err(A::Error::unknown_field(other, &OUTRIGHT)),
        };
        if matches!(&matcher, Matcher::Equals(value) if has_date(value)) {
            return Err(date());
        }
        match entries.next_key::<String>()? {
            None => Ok(RawMatcher(matcher)),
            Some(_) => Err(A::Error::custom(
                "says more than one thing; write a list of tables, of which one must match",
            )),
        }
    }
}

impl<'de> Deserialize<'de> for RawMatcher {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MatcherVisitor)
    }
}

impl JsonSchema for RawMatcher {
    fn schema_name() -> Cow<'static, str> {
        "Matcher".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = json_schema!({ "anyOf": [
            { "type": ["string", "number", "boolean"] },
            {
                "type": "object",
                "properties": {
                    "path": { "type": "string", "description": "A glob of guest paths, from `/` on." },
                    "glob": { "type": "string", "description": "A glob of the whole text, which is no path." },
                    "regex": { "type": "string", "description": "A regular expression, which is searched for." },
                    "equals": { "description": "Exactly this value." },
                },
                "additionalProperties": false,
                "minProperties": 1,
                "maxProperties": 1,
            },
        ] });
        json_schema!({ "anyOf": [one.clone(), { "type": "array", "items": one, "minItems": 1 }] })
    }
}
