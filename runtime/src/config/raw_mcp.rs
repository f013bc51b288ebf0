//! Another server's tools as they are written in the file.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::amount::Amount;
use super::raw::RawSecret;
use super::raw_limits::RawLimits;
use crate::schema::RepairMode;

/// A server of the Model Context Protocol whose tools are called like all others: a program, or an address.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with `command` or `url`", default)]
pub(super) struct RawMcp {
    /// The program with its arguments, which speaks over its standard input and output. With a `/` in its name it is
    /// relative to this file, without it is searched for in /usr/local/bin, /usr/bin and /bin.
    pub(super) command: Option<Vec<String>>,
    /// Of a program: its environment; the host's own is never seen. `PATH` is set unless it is here.
    pub(super) env: BTreeMap<String, RawText>,
    /// The address of a server that is reached over HTTP, as in `"https://mcp.example.org/mcp"`.
    pub(super) url: Option<String>,
    /// Of an address: headers of every request.
    pub(super) headers: BTreeMap<String, RawText>,
    /// Of an address: whether its name may lead to loopback and private addresses. Default false; `localhost` and
    /// addresses that are written as such are reached without.
    pub(super) private: Option<bool>,
    /// Of an address with TLS: a PEM file with root certificates that are trusted as well.
    pub(super) ca: Option<String>,
    /// Secrets by name, for `env` and `headers`. Each is taken out of all that the server's tools say.
    pub(super) secrets: BTreeMap<String, RawSecret>,
    /// Whether its tools exist. Default true.
    pub(super) enabled: Option<bool>,
    /// Globs of the tools to take from it, by the names that it gives them. Default all.
    pub(super) tools: Option<Vec<String>>,
    /// Put before each of its tools' names.
    pub(super) prefix: Option<String>,
    /// The group that its tools are in, which rules name and which is switched on and off as one.
    pub(super) group: Option<String>,
    /// Rules of usage for the system prompt. What the server itself says there is not passed on.
    pub(super) instructions: Option<String>,
    /// What you declare of all its tools. What the server claims of them counts for nothing.
    pub(super) hints: RawMcpHints,
    /// How much lenient spelling in arguments is mended: by `"decode"`, the default, a text is what it holds where the tool takes
    /// no text.
    pub(super) repair: Option<RepairMode>,
    /// What calls of its tools may consume: `timeout`, `argument_bytes`, `result_bytes`.
    pub(super) limits: RawLimits,
    /// Calls that run there at once. Default 8.
    pub(super) concurrent_calls: Option<Amount>,
    /// How long it may take until it is ready and has named its tools. Default "10s".
    pub(super) start_timeout: Option<Amount>,
    /// Settings of single tools, by the names that the server gives them.
    pub(super) tool: BTreeMap<String, RawMcpTool>,
}

/// Settings of one tool of a server.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table", default)]
pub(super) struct RawMcpTool {
    /// A title in place of the server's own.
    pub(super) title: Option<String>,
    /// A description in place of the server's own.
    pub(super) description: Option<String>,
    /// What you declare of this tool, in place of what you declare of all.
    pub(super) hints: RawMcpHints,
    /// What calls of this tool may consume.
    pub(super) limits: RawLimits,
}

/// What an operator declares of a server's tools. Nothing of it can be enforced: it is believed.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table", default)]
pub(super) struct RawMcpHints {
    /// Whether it changes nothing. Default false.
    pub(super) read_only: Option<bool>,
    /// Whether it may destroy what was there.
    pub(super) destructive: Option<bool>,
    /// Whether a call may be made again after it failed. Default false, but for tools that only read.
    pub(super) idempotent: Option<bool>,
    /// Whether calls may run at the same time. Default false, but for tools that only read.
    pub(super) concurrency_safe: Option<bool>,
}

/// A text, or a secret with what stands before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RawText {
    /// The text itself.
    Plain(String),
    /// The value of one of `secrets`.
    Secret(RawSecretText),
}

/// A secret as a part of a text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a text, or a table with `secret`")]
pub(super) struct RawSecretText {
    /// Its name among `secrets`.
    pub(super) secret: String,
    /// What is written before it, as `"Bearer "`. Default nothing.
    #[serde(default)]
    pub(super) prefix: String,
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = RawText;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text, or a table with `secret`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<RawText, E> {
        Ok(RawText::Plain(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<RawText, A::Error> {
        RawSecretText::deserialize(MapAccessDeserializer::new(entries)).map(RawText::Secret)
    }
}

impl<'de> Deserialize<'de> for RawText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

impl JsonSchema for RawText {
    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let secret = generator.subschema_for::<RawSecretText>();
        json_schema!({ "anyOf": [{ "type": "string" }, secret] })
    }
}
