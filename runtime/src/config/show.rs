//! What holds in effect, for people and programs. Values of the environment are never shown: they may be secret.

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::audit::{Audit, Key, Place};
use super::component::{ComponentConfig, Source};
use super::hooks::HookConfig;
use super::lock::Locked;
use super::rules::DeclaredHints;
use super::server::Server;
use super::settings::Config;
use super::shared::{Shared, show_source};
use crate::limits::{EffectiveLimits, Limit, Limits, Origin};
use crate::policy::{HttpGrant, Rule, SecretSource};

impl Config {
    /// The effective configuration: every limit with its value and where that was set; of the environment only
    /// the names.
    pub fn show(&self) -> Value {
        let components = self.components.iter().map(|component| {
            let shipped = component.source.default_limits();
            let limits = Limits::resolve([&shipped, &self.limits, &component.limits]);
            (component.name.clone(), show_component(component, &limits, &self.limits))
        });
        let mut shown = json!({
            "policy": {
                "default": place(self.default.as_str(), &self.default_origin),
                "call_timeout": place(
                    Limit::Timeout.format(u64::try_from(self.call_timeout.as_nanos()).unwrap_or(u64::MAX - 1)),
                    &self.call_timeout_origin,
                ),
                "activate_group": self.place("policy.activate_group", self.activate_group),
                "inactive_groups": self.place("policy.inactive_groups", self.inactive_groups.clone()),
            },
            "limits": show_limits(&Limits::resolve([&self.limits])),
            "admission": {
                "concurrent_cells": self.place("limits.concurrent_cells", self.admission.concurrent_cells),
                "max_waiting": self.place("limits.max_waiting", self.admission.max_waiting),
                "queue_timeout": self.place(
                    "limits.queue_timeout",
                    humantime::format_duration(self.admission.queue_timeout).to_string(),
                ),
                "batch_calls": self.place("limits.batch_calls", self.admission.batch_calls),
                "batch_bytes": self.place(
                    "limits.batch_bytes",
                    Limit::ResultBytes.format(self.admission.batch_bytes),
                ),
            },
            "output": {
                "max_bytes": self.place("output.max_bytes", self.output.max_bytes),
                "max_lines": self.place("output.max_lines", self.output.max_lines),
            },
            "component": Map::from_iter(components),
        });
        if let (true, Some(object)) = (self.server != Server::default(), shown.as_object_mut()) {
            object.insert("server".to_owned(), self.show_server());
        }
        if let (Some(audit), Some(object)) = (&self.audit, shown.as_object_mut()) {
            object.insert("audit".to_owned(), show_audit(audit));
        }
        if let (false, Some(object)) = (self.rules.is_empty(), shown.as_object_mut()) {
            object.insert("rule".to_owned(), self.rules.iter().map(show_rule).collect());
        }
        if let (false, Some(object)) = (self.hooks.is_empty(), shown.as_object_mut()) {
            object.insert("hook".to_owned(), self.hooks.iter().map(HookConfig::show).collect());
        }
        if let (false, Some(object)) = (self.mcp.is_empty(), shown.as_object_mut()) {
            let servers = self.mcp.iter().map(|server| (server.name.clone(), server.show(&self.limits)));
            object.insert("mcp".to_owned(), Value::Object(servers.collect()));
        }
        if let (Some(file), Some(object)) = (&self.file, shown.as_object_mut()) {
            object.shift_insert(0, "file".to_owned(), file.display().to_string().into());
        }
        shown
    }

    /// Where tokens come from, never what they are.
    fn show_server(&self) -> Value {
        let server = &self.server;
        let tokens = server.tokens.iter().map(|(name, source)| (name.clone(), show_source(source)));
        let time = |time: Duration| Value::from(humantime::format_duration(time).to_string());
        let all: [(&str, Value); 13] = [
            ("hosts", json!(server.hosts)),
            ("origins", json!(server.origins)),
            ("tokens", Value::Object(tokens.collect())),
            ("max_body", server.max_body.into()),
            ("connections", server.connections.into()),
            ("requests", server.requests.into()),
            ("sessions", server.sessions.into()),
            ("session_timeout", time(server.session_timeout)),
            ("header_timeout", time(server.header_timeout)),
            ("body_timeout", time(server.body_timeout)),
            ("write_timeout", time(server.write_timeout)),
            ("drain_timeout", time(server.drain_timeout)),
            ("shared", server.shared.as_ref().map_or(Value::Null, Shared::show)),
        ];
        let all = all.into_iter().filter(|(_, value)| !value.is_null());
        let shown = all.map(|(name, value)| (name.to_owned(), self.place(&format!("server.{name}"), value)));
        Value::Object(Map::from_iter(shown))
    }

    /// A value of the whole runtime with where it was set.
    fn place(&self, setting: &str, value: impl Into<Value>) -> Value {
        place(value, self.origins.get(setting).unwrap_or(&Origin::default()))
    }

    /// [`Config::show`] as TOML text.
    pub fn show_text(&self) -> String {
        toml::to_string_pretty(&self.show())
            .unwrap_or_else(|error| format!("# cannot be shown as TOML: {error}\n"))
    }
}

/// A value with where it was set.
fn place(value: impl Into<Value>, origin: &Origin) -> Value {
    let at = origin.at.as_deref().or(Some(&*origin.setting).filter(|setting| !setting.is_empty()));
    json!({ "value": value.into(), "from": at.unwrap_or("default") })
}

fn show_audit(audit: &Audit) -> Value {
    let shown = |setting: &str, value: Value| {
        let origin = audit.origins.get(&format!("audit.{setting}"));
        (setting.to_owned(), place(value, origin.unwrap_or(&Origin::default())))
    };
    let path = |path: &Path| Value::from(path.display().to_string());
    let mut members = Map::new();
    members.extend(match &audit.place {
        Place::Default => [shown("folder", "audit in the user's state folder".into())],
        Place::Folder(folder) => [shown("folder", path(folder))],
        Place::File(file) => [shown("file", path(file))],
    });
    members.extend([
        shown("arguments", json!(audit.arguments)),
        shown("fsync", audit.fsync.into()),
        shown(
            "key",
            match &audit.key {
                None => "none".into(),
                Some(Key::Env(name)) => json!({ "env": name }),
                Some(Key::File(file)) => json!({ "file": path(file) }),
                Some(Key::Bytes(_)) => "set by the program".into(),
            },
        ),
    ]);
    Value::Object(members)
}

fn show_limits(limits: &EffectiveLimits) -> Value {
    let shown = Limit::ALL
        .map(|limit| (limit.name().to_owned(), place(limit.format(limits.get(limit)), limits.origin(limit))));
    Value::Object(Map::from_iter(shown))
}

/// A rule in words; as it is written it is in the file.
fn show_rule(rule: &Rule) -> Value {
    let mut shown = json!({ "action": rule.action, "for": rule.words() });
    if let Some(object) = shown.as_object_mut() {
        object.extend(rule.reason.iter().map(|reason| ("reason".to_owned(), json!(reason))));
        let from = rule.origin.at.as_deref().unwrap_or(&rule.origin.setting);
        object.insert("from".to_owned(), from.into());
    }
    shown
}

/// Where secrets come from, never what they are.
fn show_secrets(component: &ComponentConfig) -> Value {
    let shown = component.grant.secrets.iter().map(|(name, secret)| {
        let source = match &secret.source {
            SecretSource::Env(name) => json!({ "env": name, "readable": secret.readable }),
            SecretSource::File(path) => {
                json!({ "file": path.display().to_string(), "readable": secret.readable })
            }
            SecretSource::Value(_) => json!({ "set": "by the program", "readable": secret.readable }),
        };
        (name.clone(), place(source, &component.origin_of(&format!("secrets.{name}"))))
    });
    Value::Object(shown.collect())
}

fn show_component(component: &ComponentConfig, limits: &EffectiveLimits, outer: &Limits) -> Value {
    let mut shown = Map::new();
    let path = match &component.source {
        Source::Builtin(name) => format!("builtin:{name}"),
        Source::File(path) | Source::Folder(path) => path.display().to_string(),
        Source::Registry { reference, .. } => reference.to_string(),
    };
    shown.insert("path".to_owned(), path.into());
    if let Some(digest) = component.digest {
        shown.insert("digest".to_owned(), digest.to_string().into());
    }
    if let Source::Registry { locked: Some(locked), .. } = &component.source {
        let Locked { manifest, digest, .. } = &**locked;
        shown.insert(
            "locked".to_owned(),
            json!({ "manifest": manifest.to_string(), "digest": digest.to_string() }),
        );
    }
    shown.insert("enabled".to_owned(), component.enabled.into());
    shown.insert("repair".to_owned(), json!(component.repair));
    let optional = [
        ("prefix", Some(json!(component.prefix)).filter(|_| !component.prefix.is_empty())),
        ("rename", Some(json!(component.rename)).filter(|_| !component.rename.is_empty())),
        ("group", component.group.as_ref().map(|group| json!(group))),
        ("hints", Some(json!(component.hints)).filter(|_| component.hints != DeclaredHints::default())),
        ("tools", component.tools.as_ref().map(|tools| json!(tools))),
        ("instructions", component.instructions.as_ref().map(|text| json!(text))),
        ("config", Some(json!(component.grant.config)).filter(|_| !component.grant.config.is_empty())),
        ("deterministic", component.deterministic.map(|it| json!(it.to_string()))),
        ("secrets", Some(show_secrets(component)).filter(|_| !component.grant.secrets.is_empty())),
    ];
    for (name, value) in optional {
        shown.extend(value.map(|value| (name.to_owned(), value)));
    }
    let dirs: Vec<Value> = component
        .dirs()
        .map(|(dir, origin)| {
            json!({
                "host": dir.host.display().to_string(), "guest": dir.guest, "access": dir.access,
                "deny": dir.deny, "from": origin.at.as_deref().unwrap_or(&origin.setting),
            })
        })
        .collect();
    let http: Vec<Value> = component.http().map(|(entry, origin)| show_http(entry, &origin)).collect();
    let env: Vec<&String> = component.grant.env.keys().collect();
    let grant = json!({ "dirs": dirs, "http": http, "env": env, "state": component.grant.state });
    shown.insert("grant".to_owned(), grant);
    shown.insert("limits".to_owned(), show_limits(limits));
    let tools = component.tool_settings.iter().map(|(name, settings)| {
        let shipped = component.source.default_limits();
        let limits = Limits::resolve([&shipped, outer, &component.limits, &settings.limits]);
        let mut tool = json!({ "limits": show_limits(&limits) });
        if let Some(object) = tool.as_object_mut() {
            let hints = component.hints_of(&[name]);
            let hints = Some(json!(hints)).filter(|_| hints != DeclaredHints::default());
            object.extend(hints.map(|hints| ("hints".to_owned(), hints)));
            object.extend(settings.title.iter().map(|title| ("title".to_owned(), json!(title))));
            object.extend(settings.description.iter().map(|text| ("description".to_owned(), json!(text))));
        }
        (name.clone(), tool)
    });
    let tools = Map::from_iter(tools);
    if !tools.is_empty() {
        shown.insert("tool".to_owned(), Value::Object(tools));
    }
    Value::Object(shown)
}

/// A place for requests; of the headers that are added only the names of their secrets.
fn show_http(entry: &HttpGrant, origin: &Origin) -> Value {
    let headers = entry
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), json!({ "secret": value.secret, "prefix": value.prefix })));
    json!({
        "origin": entry.origin.to_string(), "methods": entry.methods, "paths": entry.paths,
        "headers": Value::Object(headers.collect()), "private": entry.private, "read_only": entry.read_only,
        "ca": entry.ca, "from": origin.at.as_deref().unwrap_or(&origin.setting),
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    #[test]
    fn origins_are_shown_and_values_of_the_environment_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let text = "[limits]\ntimeout = \"5s\"\n[component.a]\npath = \"builtin:files\"\n\
                    [component.a.grant]\nenv = { TOKEN = \"abc123\" }\ndirs = [{ host = \".\", guest = \"/w\" }]\n\
                    [component.a.tool.grep]\ntitle = \"Search\"\nlimits.memory = \"1MiB\"\nhints.idempotent = true\n\
                    [policy]\ndefault = \"ask\"\n[[rule]]\naction = \"deny\"\narguments = { path = \"/w/x\" }\n";
        let config =
            Config::parse(text, &folder.path().join("toolcell.toml"), "toolcell.toml", None).unwrap();
        let shown = config.show();
        let at = |pointer: &str| shown.pointer(pointer).cloned();
        assert_eq!(
            at("/component/a/limits/timeout"),
            Some(json!({ "value": "5s", "from": "toolcell.toml:2" }))
        );
        assert_eq!(
            at("/component/a/tool/grep/limits/memory"),
            Some(json!({ "value": "1MiB", "from": "toolcell.toml:10" }))
        );
        assert_eq!(at("/limits/memory"), Some(json!({ "value": "256MiB", "from": "default" })));
        assert_eq!(at("/output/max_lines"), Some(json!({ "value": 2000, "from": "default" })));
        assert_eq!(at("/policy/default"), Some(json!({ "value": "ask", "from": "toolcell.toml:13" })));
        let rule = json!({ "action": "deny", "for": "any tool, where `path` is the path `/w/x` or beneath it", "from": "toolcell.toml:14" });
        assert_eq!(at("/rule/0"), Some(rule));
        assert_eq!(at("/component/a/tool/grep/hints"), Some(json!({ "idempotent": true })));
        assert_eq!(at("/component/a/grant/env"), Some(json!(["TOKEN"])));
        assert_eq!(at("/component/a/grant/dirs/0/from"), Some(json!("toolcell.toml:7")));
        let text = config.show_text();
        assert!(!text.contains("abc123") && !shown.to_string().contains("abc123"));
        let back: Value = toml::from_str(&text).unwrap();
        assert_eq!(back, shown);
        assert!(toml::from_str::<Value>(&Config::default().show_text()).is_ok());
    }
}
