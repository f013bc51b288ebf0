//! Servers whose tools are called like all others, from what is written to what the runtime reaches them by.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::document::Address;
use super::mcp_transport::{McpText, McpTransport, RawWay};
use super::names::{component_name_fits, tool_name_fits};
use super::raw_mcp::{RawMcp, RawMcpHints, RawMcpTool};
use super::rules::group_fits;
use super::validate::{Validator, count};
use crate::limits::{Limit, Limits, Origin};
use crate::policy::{Secret, SecretSource};
use crate::schema::RepairMode;

/// The limits that bound calls of tools which run elsewhere.
const LIMITS: [&str; 3] = ["timeout", "argument_bytes", "result_bytes"];

/// What an operator says of one server.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct McpConfig {
    /// Its name: `[a-z][a-z0-9-_]*`, at most 64 bytes. Rules and records know its tools' component as `mcp.NAME`.
    pub name: String,
    /// How it is reached.
    pub transport: McpTransport,
    /// Whether its tools exist.
    pub enabled: bool,
    /// Globs of the tools to take from it; none is all.
    pub tools: Option<Vec<String>>,
    /// Put before each of its tools' names.
    pub prefix: String,
    /// The group that its tools are in.
    pub group: Option<String>,
    /// Rules of usage for the system prompt.
    pub instructions: Option<String>,
    /// Secrets of which nothing is read yet.
    pub secrets: BTreeMap<String, Secret>,
    /// What is declared of all its tools.
    pub hints: McpHints,
    /// How much lenient spelling in arguments is mended.
    pub repair: RepairMode,
    /// Settings of single tools, by the names that the server gives them.
    pub tool_settings: BTreeMap<String, McpToolSettings>,
    /// What calls of its tools may consume.
    pub limits: Limits,
    /// Calls that run there at once.
    pub concurrent_calls: u32,
    /// How long it may take until it is ready.
    pub start_timeout: Duration,
    /// Where its table is.
    pub origin: Origin,
}

/// What is declared of tools that run elsewhere. It is believed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct McpHints {
    /// Whether it changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// Whether it may destroy what was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// Whether a call may be made again after it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// Whether calls may run at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency_safe: Option<bool>,
}

/// What an operator says of one tool of a server.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct McpToolSettings {
    /// A title in place of the server's own.
    pub title: Option<String>,
    /// A description in place of the server's own.
    pub description: Option<String>,
    /// What is declared of it.
    pub hints: McpHints,
    /// What calls of it may consume.
    pub limits: Limits,
    /// Where its table is.
    pub origin: Origin,
}

impl McpHints {
    /// These, and where they say nothing, `outer`.
    #[must_use]
    pub fn or(self, outer: Self) -> Self {
        Self {
            read_only: self.read_only.or(outer.read_only),
            destructive: self.destructive.or(outer.destructive),
            idempotent: self.idempotent.or(outer.idempotent),
            concurrency_safe: self.concurrency_safe.or(outer.concurrency_safe),
        }
    }
}

impl From<RawMcpHints> for McpHints {
    fn from(raw: RawMcpHints) -> Self {
        Self {
            read_only: raw.read_only,
            destructive: raw.destructive,
            idempotent: raw.idempotent,
            concurrency_safe: raw.concurrency_safe,
        }
    }
}

impl McpConfig {
    /// The component that its tools belong to, where rules and records name one; also the address of its settings.
    pub fn component(&self) -> String {
        format!("mcp.{}", self.name)
    }

    /// Files that are its program: when one of them changes, it is another server.
    pub fn code(&self) -> &[PathBuf] {
        match &self.transport {
            McpTransport::Command { code, .. } => code,
            McpTransport::Url { ca, .. } => ca.as_slice(),
        }
    }

    /// Files that may decide what it does, which no tool may write.
    pub(super) fn files(&self) -> &[PathBuf] {
        match &self.transport {
            McpTransport::Command { files, .. } => files,
            McpTransport::Url { ca, .. } => ca.as_slice(),
        }
    }

    /// The server as `config show` has it; of the environment and the headers only the names.
    pub(super) fn show(&self, outer: &Limits) -> Value {
        let mut shown = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            shown.extend(value.map(|value| (key.to_owned(), value)));
        };
        let names = |texts: &BTreeMap<String, McpText>| {
            Some(json!(texts.keys().collect::<Vec<_>>())).filter(|_| !texts.is_empty())
        };
        match &self.transport {
            McpTransport::Command { command, env, .. } => {
                put("command", Some(json!(command)));
                put("env", names(env));
            }
            McpTransport::Url { url, headers, private, ca } => {
                put("url", Some(url.as_str().into()));
                put("headers", names(headers));
                put("private", Some((*private).into()).filter(|_| *private));
                put("ca", ca.as_ref().map(|file| file.display().to_string().into()));
            }
        }
        put("enabled", Some(self.enabled.into()));
        put("tools", self.tools.as_ref().map(|tools| json!(tools)));
        put("prefix", Some(json!(self.prefix)).filter(|_| !self.prefix.is_empty()));
        put("group", self.group.as_deref().map(Value::from));
        put("instructions", self.instructions.as_deref().map(Value::from));
        put("hints", Some(json!(self.hints)).filter(|_| self.hints != McpHints::default()));
        let secrets = self.secrets.iter().map(|(name, secret)| (name.clone(), source(secret)));
        put("secrets", Some(Value::Object(secrets.collect())).filter(|_| !self.secrets.is_empty()));
        put("repair", Some(json!(self.repair)));
        put("concurrent_calls", Some(self.concurrent_calls.into()));
        put("start_timeout", Some(humantime::format_duration(self.start_timeout).to_string().into()));
        put("limits", Some(show_limits(&[outer, &self.limits])));
        let tools = self.tool_settings.iter().map(|(name, settings)| {
            let limits = show_limits(&[outer, &self.limits, &settings.limits]);
            (name.clone(), json!({ "limits": limits, "hints": settings.hints.or(self.hints) }))
        });
        put("tool", Some(Value::Object(tools.collect())).filter(|_| !self.tool_settings.is_empty()));
        put("from", Some(self.origin.at.as_deref().unwrap_or(&self.origin.setting).into()));
        Value::Object(shown)
    }
}

/// Where a secret comes from, never what it is.
fn source(secret: &Secret) -> Value {
    match &secret.source {
        SecretSource::Env(name) => json!({ "env": name }),
        SecretSource::File(path) => json!({ "file": path.display().to_string() }),
        SecretSource::Value(_) => json!({ "set": "by the program" }),
    }
}

fn show_limits(scopes: &[&Limits]) -> Value {
    let limits = Limits::resolve(scopes.iter().copied());
    let shown = LIMITS.into_iter().filter_map(Limit::from_name);
    Value::Object(
        shown.map(|limit| (limit.name().to_owned(), limit.format(limits.get(limit)).into())).collect(),
    )
}

impl Validator<'_, '_> {
    /// The server of that name, unless it is wrong beyond use.
    pub(super) fn mcp(&mut self, name: String, raw: RawMcp) -> Option<McpConfig> {
        let address = Address::of(&["mcp", &name]);
        self.checked(&address, component_name_fits(&name))?;
        let enabled = raw.enabled.unwrap_or(true);
        for (name, _) in raw.secrets.iter().filter(|(_, secret)| secret.readable.is_some()) {
            let message = "is about components; a server gets what `env` and `headers` give it";
            self.problem(&address.key("secrets").key(name).key("readable"), message);
        }
        let secrets = self.secrets(&address.key("secrets"), raw.secrets, &BTreeMap::new());
        let way = RawWay {
            command: raw.command,
            env: raw.env,
            url: raw.url,
            headers: raw.headers,
            private: raw.private,
            ca: raw.ca,
        };
        let transport = self.transport(&address, way, &secrets, enabled);
        if let Some(group) = &raw.group {
            self.checked(&address.key("group"), group_fits(group));
        }
        let prefix = raw.prefix.unwrap_or_default();
        if !prefix.is_empty() {
            self.checked(&address.key("prefix"), tool_name_fits(&prefix));
        }
        if raw.tools.as_ref().is_some_and(Vec::is_empty) {
            let message = "names no tool; take it out for all of them, or set `enabled = false`";
            self.problem(&address.key("tools"), message);
        }
        for (index, glob) in raw.tools.iter().flatten().enumerate() {
            self.glob(&address.key("tools").item(index), glob);
        }
        let concurrent_calls = raw.concurrent_calls.as_ref().map(|amount| count(&amount.0, 1, 1024));
        let concurrent_calls =
            concurrent_calls.and_then(|calls| self.checked(&address.key("concurrent_calls"), calls));
        let start_timeout = self.time(&address.key("start_timeout"), raw.start_timeout.as_ref());
        let limits = self.limits_elsewhere(&address.key("limits"), raw.limits.0);
        let tool_settings = self.mcp_tools(&address.key("tool"), raw.tool);
        Some(McpConfig {
            transport: transport?,
            enabled,
            tools: raw.tools,
            prefix,
            group: raw.group,
            instructions: raw.instructions,
            secrets,
            hints: raw.hints.into(),
            tool_settings,
            limits,
            repair: raw.repair.unwrap_or_default(),
            concurrent_calls: concurrent_calls.unwrap_or(8),
            start_timeout: start_timeout.unwrap_or(Duration::from_secs(10)),
            origin: self.document.origin(&address),
            name,
        })
    }

    fn mcp_tools(
        &mut self,
        table: &Address,
        raw: BTreeMap<String, RawMcpTool>,
    ) -> BTreeMap<String, McpToolSettings> {
        let settings = |validator: &mut Self, name: &str, raw: RawMcpTool| {
            let address = table.key(name);
            McpToolSettings {
                title: raw.title,
                description: raw.description,
                hints: raw.hints.into(),
                limits: validator.limits_elsewhere(&address.key("limits"), raw.limits.0),
                origin: validator.document.origin(&address),
            }
        };
        raw.into_iter().map(|(name, raw)| (name.clone(), settings(self, &name, raw))).collect()
    }

    /// Limits of what runs elsewhere: no cell is there to bound its memory.
    fn limits_elsewhere(&mut self, table: &Address, raw: BTreeMap<String, super::amount::Amount>) -> Limits {
        for name in raw.keys().filter(|name| !LIMITS.contains(&name.as_str())) {
            let message = format!("means nothing for tools of another server, whose limits are {}", listed());
            self.problem(&table.key(name), message);
        }
        let known = raw.into_iter().filter(|(name, _)| LIMITS.contains(&name.as_str()));
        self.limits(table, known.collect())
    }
}

fn listed() -> String {
    LIMITS.map(|name| format!("`{name}`")).join(", ")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::super::settings::Config;

    fn parse(text: &str) -> Result<Config, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("server.py"), "").unwrap();
        let file = folder.path().join("toolcell.toml");
        Config::parse(text, &file, "toolcell.toml", None).map_err(|error| error.to_string())
    }

    #[test]
    fn wrong_servers_are_refused_with_their_line() {
        let wrong = r#"
[mcp.neither]
[mcp.both]
command = ["sh"]
url = "http://localhost:1/mcp"
[mcp.gone]
command = ["no-such-program-at-all"]
[mcp.odd]
url = "ftp://example.org"
headers = { "mcp-session-id" = "x", authorization = { secret = "none" } }
[mcp.open]
url = "http://mcp.example.org/mcp"
headers = { Authorization = { secret = "key" }, authorization = "x", "Mcp-Param-a" = "b", "a b" = "c" }
secrets = { key = { env = "KEY" } }
ca = "root.pem"
[mcp.user]
url = "https://me:pw@example.org/mcp"
tools = []
limits = { memory = "1MiB", timeout = "soon" }
[mcp.env]
command = ["sh"]
env = { A = { secret = "key", before = "x" } }
[mcp.idle]
command = ["sh"]
secrets = { key = { env = "KEY" } }
headers = { a = "b" }
private = true
concurrent_calls = 0
[mcp.idle.tool.x]
hints = { readonly = true }
"#;
        insta::assert_snapshot!(parse(wrong).unwrap_err());
    }

    #[test]
    fn a_server_is_shown_without_its_values() {
        let text = r#"
[limits]
timeout = "5s"
[mcp.github]
command = ["sh", "server.py"]
env = { LANG = "C.UTF-8", TOKEN = { secret = "token" } }
secrets = { token = { env = "GITHUB_TOKEN" } }
tools = ["get_*"]
prefix = "gh_"
group = "github"
start_timeout = "3s"
limits = { result_bytes = "1MiB" }
[mcp.github.tool.get_issue]
hints = { read_only = true }
[mcp.far]
url = "https://mcp.example.org/mcp"
headers = { authorization = { secret = "key", prefix = "Bearer " } }
secrets = { key = { env = "KEY" } }
enabled = false
"#;
        let config = parse(text).unwrap();
        let shown = config.show();
        assert_eq!(shown.pointer("/mcp/github/env"), Some(&serde_json::json!(["LANG", "TOKEN"])));
        assert_eq!(shown.pointer("/mcp/github/limits/timeout"), Some(&serde_json::json!("5s")));
        assert!(!shown.to_string().contains("Bearer") && !shown.to_string().contains("UTF-8"), "{shown}");
        let schema = jsonschema::validator_for(&crate::config::schema()).unwrap();
        let value: serde_json::Value = toml::from_str(text).unwrap();
        assert!(schema.is_valid(&value), "{:?}", schema.iter_errors(&value).collect::<Vec<_>>());
    }
}
