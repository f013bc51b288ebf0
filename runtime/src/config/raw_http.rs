//! An entry of `grant.http` as it is written in the file: an origin, or a table with one.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

/// An entry, in its long form.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with `origin`", default)]
#[schemars(extend("required" = ["origin"]))]
pub(super) struct RawHttpTable {
    /// Scheme, host and port: `https://api.example.org`, `https://*.example.org:8443` (one label), or `https://*` for
    /// every name that has a public address.
    pub(super) origin: Option<String>,
    /// The only methods. Default all but CONNECT, TRACE and TRACK, which are never sent.
    pub(super) methods: Option<Vec<String>>,
    /// The only paths, and what is below them. Default all.
    pub(super) paths: Option<Vec<String>>,
    /// Headers that the host adds, from the component's secrets. The component neither sees nor sets them.
    pub(super) headers: BTreeMap<String, RawCredential>,
    /// Whether the names may lead to loopback and private addresses too. Default false.
    pub(super) private: Option<bool>,
    /// Whether these requests only read, so that functions that claim to be read-only may send them. Default false.
    pub(super) read_only: Option<bool>,
    /// A file with further root certificates (PEM) for these servers. Relative to this file.
    pub(super) ca: Option<String>,
}

/// A header's value.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with `secret`", default)]
#[schemars(extend("required" = ["secret"]))]
pub(super) struct RawCredential {
    /// The name of one of the component's secrets.
    pub(super) secret: Option<String>,
    /// What stands before its value, as `"Bearer "`. Default nothing.
    pub(super) prefix: String,
}

/// An entry: an origin as text, or a table.
#[derive(Debug)]
pub(super) struct RawHttp(pub(super) RawHttpTable);

struct HttpVisitor;

impl<'de> Visitor<'de> for HttpVisitor {
    type Value = RawHttp;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an origin such as \"https://api.example.org\", or a table with `origin`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<RawHttp, E> {
        Ok(RawHttp(RawHttpTable { origin: Some(text.to_owned()), ..RawHttpTable::default() }))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<RawHttp, A::Error> {
        RawHttpTable::deserialize(MapAccessDeserializer::new(entries)).map(RawHttp)
    }
}

impl<'de> Deserialize<'de> for RawHttp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(HttpVisitor)
    }
}

impl JsonSchema for RawHttp {
    fn schema_name() -> Cow<'static, str> {
        "Http".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<RawHttpTable>();
        json_schema!({ "anyOf": [{ "type": "string" }, table] })
    }
}
