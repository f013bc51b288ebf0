//! The file as written. Nothing here is checked beyond its shape; `validate` turns it into a `Config`.
//!
//! The documentation of each field is its description in the JSON Schema that `toolcell config schema` prints, and
//! that schema is also what `keys` checks a file's keys against: no list of keys is kept twice.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde_json::{Value, json};

use super::amount::Amount;
use super::audit::Detail;
use super::component::RepairMode;
use super::raw_hook::RawHook;
use super::raw_http::RawHttp;
use super::raw_limits::{RawLimits, RawRuntimeLimits};
use super::raw_mcp::RawMcp;
use super::raw_rule::RawRule;
use super::raw_server::RawServer;
use crate::policy::{Access, Action, StateScope};

/// The configuration of toolcell.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "toolcell.toml")]
pub(super) struct RawConfig {
    /// What holds for every call.
    pub(super) policy: RawPolicy,
    /// What every call may consume, and how many run at once.
    pub(super) limits: RawRuntimeLimits,
    /// What a model sees of one call.
    pub(super) output: RawOutput,
    /// What is asked or done before, around and after calls, from the outside in.
    // With their places in the list, which the loss of one that cannot be read would change.
    #[schemars(with = "Vec<RawHook>")]
    pub(super) hook: Vec<(usize, RawHook)>,
    /// The record of every call, in lines that are chained to each other. Without this table there is none; an
    /// empty one keeps it in the user's state folder.
    pub(super) audit: Option<RawAudit>,
    /// Who may reach `toolcell mcp --http`, and how much of it each may take up.
    pub(super) server: RawServer,
    /// What is denied, asked about or allowed. Deny beats ask beats allow, whatever their order.
    // With their places in the list, which the loss of one that cannot be read would change.
    #[schemars(with = "Vec<RawRule>")]
    pub(super) rule: Vec<(usize, RawRule)>,
    /// The components, by the name that settings and the audit know them by.
    pub(super) component: BTreeMap<String, RawComponent>,
    /// Other servers of the Model Context Protocol whose tools are called like those of components, by a name of yours.
    pub(super) mcp: BTreeMap<String, RawMcp>,
}

/// What holds for every call.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table", default)]
pub(super) struct RawPolicy {
    /// What becomes of a call that no rule matches. Default "allow".
    pub(super) default: Option<Action>,
    /// The time for the whole path of a call, waiting included. Default "10m".
    pub(super) call_timeout: Option<Amount>,
    /// Whether there is a tool `activate_group`, by which a model switches a group on for its own session: that of a client, or
    /// the one that `--session` names in commands that make calls and end. Default false.
    pub(super) activate_group: Option<bool>,
    /// The groups of components that are switched off at the beginning. Default none.
    pub(super) inactive_groups: Vec<String>,
}

/// What a model sees of one call.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table", default)]
pub(super) struct RawOutput {
    /// Bytes of content and structured result. Default "40KiB".
    pub(super) max_bytes: Option<Amount>,
    /// Lines of content. Default 2000.
    pub(super) max_lines: Option<Amount>,
}

/// The record of every call.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table", default)]
pub(super) struct RawAudit {
    /// The folder for it, with one file a process. Relative to this file. Default `audit` in the user's state folder.
    pub(super) folder: Option<String>,
    /// One file for it, in place of a folder: one process at a time writes to it. Relative to this file.
    pub(super) file: Option<String>,
    /// What is kept of arguments. Default "hash".
    pub(super) arguments: Option<Detail>,
    /// Whether each line is on the disk before its call returns. Default false.
    pub(super) fsync: Option<bool>,
    /// The key of the chain. Default none: then whoever can write the file can also forge all of it.
    pub(super) key: Option<RawKey>,
}

/// Where a key comes from: one of both.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with `env` or `file`", default)]
pub(super) struct RawKey {
    /// The environment variable of the host that holds it.
    pub(super) env: Option<String>,
    /// The file that holds it. Relative to this file.
    pub(super) file: Option<String>,
}

/// One component, or a folder of them.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with `path`", default)]
#[schemars(extend("required" = ["path"]))]
pub(super) struct RawComponent {
    /// A component's file, a folder of such files, `builtin:NAME`, or a component of a registry as
    /// `oci://HOST/REPOSITORY:TAG`, which is what the lock file beside this one says. Files are relative to this one.
    pub(super) path: Option<String>,
    /// The component's `sha256:` digest; another content is refused.
    pub(super) digest: Option<String>,
    /// The group that its tools are in, which rules name and which is switched on and off as one.
    pub(super) group: Option<String>,
    /// Whether its tools exist. Default true.
    pub(super) enabled: Option<bool>,
    /// Put before each of its tools' names.
    pub(super) prefix: Option<String>,
    /// Other names for its tools, by tool name or `interface.function`.
    pub(super) rename: BTreeMap<String, String>,
    /// The only tools to take from it, by tool name or `interface.function`. Default all.
    pub(super) tools: Option<Vec<String>>,
    /// Rules of usage for the system prompt, in place of the component's own.
    pub(super) instructions: Option<String>,
    /// Values that the component reads through `wasi:config/store`. Not for secrets.
    pub(super) config: BTreeMap<String, String>,
    /// Secrets by name. Each is taken out of all that the component's tools say; the component itself gets it only with
    /// `readable = true`.
    pub(super) secrets: BTreeMap<String, RawSecret>,
    /// What you declare of all its tools.
    pub(super) hints: RawHints,
    /// How much lenient spelling in arguments is mended. Default "decode".
    pub(super) repair: Option<RepairMode>,
    /// Makes time and chance the same in every call. Default those of the host.
    pub(super) deterministic: Option<RawDeterministic>,
    /// What the component may reach. Default nothing.
    pub(super) grant: RawGrant,
    /// What calls of its tools may consume.
    pub(super) limits: RawLimits,
    /// Settings of single tools, by tool name or `interface.function`.
    pub(super) tool: BTreeMap<String, RawTool>,
}

/// Time and chance that are the same in every call: each call begins at the same moment, and time passes only while a
/// tool looks at it or waits. What is random comes from the seed, and is no secret.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with `clock` and `seed`", default)]
pub(super) struct RawDeterministic {
    /// The moment at which each call begins. Default "2000-01-01T00:00:00Z".
    pub(super) clock: Option<String>,
    /// What randomness is made from. Default 0.
    pub(super) seed: Option<u64>,
}

/// A secret: where its value comes from, one of `env` and `file`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with `env` or `file`", default)]
pub(super) struct RawSecret {
    /// The environment variable of the host that holds it.
    pub(super) env: Option<String>,
    /// The file that holds it, which only its owner may read. Relative to this file.
    pub(super) file: Option<String>,
    /// Whether the component may read it, through `wasi:config/store` under this name. Default false.
    pub(super) readable: Option<bool>,
}

/// What a component may reach.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table", default)]
pub(super) struct RawGrant {
    /// Host folders that the component sees.
    pub(super) dirs: Vec<RawDir>,
    /// Where the component may send requests over HTTP. Of several entries that fit, the first one counts.
    pub(super) http: Vec<RawHttp>,
    /// Environment variables with their values; the host's own are never seen.
    pub(super) env: BTreeMap<String, String>,
    /// For how long values are kept that the component sets through `wasi:keyvalue`. Default "none".
    pub(super) state: Option<StateScope>,
}

/// A host folder that a component sees.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with `host` and `guest`")]
pub(super) struct RawDir {
    /// The folder on the host. Relative to this file; `~/` is the user's home.
    pub(super) host: String,
    /// Where the component sees it: an absolute path.
    pub(super) guest: String,
    /// How far the grant goes. Default "read".
    #[serde(default)]
    pub(super) access: Option<Access>,
    /// Globs, relative to the folder, of what is withheld from it.
    #[serde(default)]
    pub(super) deny: Vec<String>,
}

/// Settings of one tool.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table", default)]
pub(super) struct RawTool {
    /// A title in place of the component's own.
    pub(super) title: Option<String>,
    /// A description in place of the component's own.
    pub(super) description: Option<String>,
    /// What you declare of this tool, in place of what you declare of all.
    pub(super) hints: RawHints,
    /// What calls of this tool may consume.
    pub(super) limits: RawLimits,
}

/// What an operator declares of tools, whatever their authors claim. Whether a tool only reads is not declared but
/// enforced.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table", default)]
pub(super) struct RawHints {
    /// Whether a call may be made again after it failed. Default false, but for tools that only read.
    pub(super) idempotent: Option<bool>,
    /// Whether calls may run at the same time. Default false, but for tools that only read.
    pub(super) concurrency_safe: Option<bool>,
}

/// The JSON Schema (2020-12) of `toolcell.toml`, without references.
pub fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema: Value = generator.into_generator().into_root_schema_for::<RawConfig>().into();
    tidy(&mut schema);
    schema
}

/// TOML has no null, and the defaults of Rust's types say nothing to a person: both are taken out.
fn tidy(node: &mut Value) {
    match node {
        Value::Object(object) => {
            object.remove("default");
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|name| name != "null");
                if let [single] = types.as_slice() {
                    let single = single.clone();
                    object.insert("type".to_owned(), single);
                }
            }
            if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
                choices.retain(|choice| choice.get("type") != Some(&json!("null")));
                if let [Value::Object(single)] = choices.as_slice() {
                    let single = single.clone();
                    object.remove("anyOf");
                    for (key, value) in single {
                        object.entry(key).or_insert(value);
                    }
                }
            }
            for (key, value) in object {
                match value {
                    // Its keys are settings' names, of which one may be `default`.
                    Value::Object(properties) if key == "properties" => {
                        properties.values_mut().for_each(tidy);
                    }
                    value => tidy(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    /// Every object either lists its keys or has keys that people choose; then `keys` can check all of them.
    #[test]
    fn the_schema_is_closed_everywhere() {
        fn check(node: &Value, path: &str) {
            match node {
                Value::Object(object) => {
                    assert!(!object.contains_key("$ref"), "{path} has a reference");
                    if object.get("type") == Some(&json!("object")) {
                        assert!(object.contains_key("additionalProperties"), "{path} is open");
                    }
                    for (key, value) in object {
                        check(value, &format!("{path}/{key}"));
                    }
                }
                Value::Array(items) => items.iter().for_each(|item| check(item, path)),
                Value::Null => unreachable!("{path} is null, which TOML has not"),
                _ => {}
            }
        }
        check(&schema(), "");
    }

    #[test]
    fn the_schema_accepts_the_examples_and_refuses_what_is_wrong() {
        let validator = jsonschema::validator_for(&schema()).unwrap();
        for text in [include_str!("../../../toolcell.toml"), include_str!("starting.toml"), ""] {
            let value: Value = toml::from_str(text).unwrap();
            assert!(validator.is_valid(&value), "{:?}", validator.iter_errors(&value).collect::<Vec<_>>());
        }
        for text in [
            "a = 1",
            "[component.a]",
            "[limits]\nmemory = true",
            "[component.a]\npath = \"x\"\nrepair = \"x\"",
        ] {
            let value: Value = toml::from_str(text).unwrap();
            assert!(!validator.is_valid(&value), "{text}");
        }
    }
}
