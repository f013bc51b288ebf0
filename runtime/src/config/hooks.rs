//! Hooks that a configuration names.

mod reading;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::limits::{Limit, Limits, Origin};
pub(super) use reading::read;

/// What an operator says of one hook.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HookConfig {
    /// What it is.
    pub kind: HookKind,
    /// Globs of tools; empty is every tool.
    pub tools: Vec<String>,
    /// A glob of the component's name.
    pub component: Option<String>,
    /// The component's group.
    pub group: Option<String>,
    /// Whether it is asked before calls. Only commands and components can be kept from it.
    pub pre: bool,
    /// Whether it is asked after calls.
    pub post: bool,
    /// How long it may take each time.
    pub timeout: Option<Duration>,
    /// Whether a result is withheld if it fails.
    pub redacts: bool,
    /// Where it is.
    pub origin: Origin,
}

impl HookConfig {
    /// Whether both are the same hook, wherever in their files they are.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        *self == Self { origin: self.origin.clone(), ..other.clone() }
    }
}

/// What a hook is.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum HookKind {
    /// A program.
    Command {
        /// The program, absolute, and its arguments.
        command: Vec<String>,
        /// The working directory.
        folder: PathBuf,
        /// The environment.
        env: BTreeMap<String, String>,
        /// Files that decide what it does: the program, and those that its arguments name.
        files: Vec<PathBuf>,
    },
    /// A component.
    Component {
        /// Its file, absolute.
        path: PathBuf,
        /// Values of `wasi:config/store`.
        config: BTreeMap<String, String>,
        /// What each time may consume.
        limits: Limits,
    },
    /// Runs calls again.
    Retry {
        /// How often a call runs at most.
        attempts: Option<u32>,
        /// The first pause.
        delay: Option<Duration>,
        /// The longest pause.
        max_delay: Option<Duration>,
    },
    /// Stores results.
    Cache {
        /// How long a result stands.
        ttl: Option<Duration>,
        /// How many are kept.
        entries: Option<u32>,
        /// How many bytes they may take.
        bytes: Option<u64>,
        /// Whether sessions see results of each other.
        shared: bool,
    },
    /// Bounds how often tools run.
    RateLimit {
        /// How many calls.
        calls: u32,
        /// Within which time.
        per: Duration,
        /// Whether each tool, session and user is counted apart.
        by: [bool; 3],
    },
}

impl HookConfig {
    /// Files that decide what it does, which no tool may write: what it looks its answers up in is a part of it.
    pub fn files(&self) -> &[PathBuf] {
        match &self.kind {
            HookKind::Command { files, .. } => files,
            HookKind::Component { path, .. } => std::slice::from_ref(path),
            _ => &[],
        }
    }

    /// The hook as `config show` has it; of the environment only the names.
    pub(super) fn show(&self) -> Value {
        let time = |time: &Duration| json!(humantime::format_duration(*time).to_string());
        let mut shown = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            shown.extend(value.map(|value| (key.to_owned(), value)));
        };
        put("use", Some(self.kind.name().into()));
        put("tools", Some(json!(self.tools)).filter(|_| !self.tools.is_empty()));
        put("component", self.component.as_deref().map(Value::from));
        put("group", self.group.as_deref().map(Value::from));
        match &self.kind {
            HookKind::Command { command, env, .. } => {
                put("command", Some(json!(command)));
                put("env", Some(json!(env.keys().collect::<Vec<_>>())).filter(|_| !env.is_empty()));
            }
            HookKind::Component { path, config, limits } => {
                put("path", Some(path.display().to_string().into()));
                put("config", Some(json!(config)).filter(|_| !config.is_empty()));
                let limits: Map<String, Value> = limits
                    .iter()
                    .map(|(limit, value, _)| (limit.name().to_owned(), limit.format(value).into()))
                    .collect();
                put("limits", Some(Value::Object(limits.clone())).filter(|_| !limits.is_empty()));
            }
            HookKind::Retry { attempts, delay, max_delay } => {
                put("attempts", attempts.map(Value::from));
                put("delay", delay.as_ref().map(time));
                put("max_delay", max_delay.as_ref().map(time));
            }
            HookKind::Cache { ttl, entries, bytes, shared } => {
                put("ttl", ttl.as_ref().map(time));
                put("entries", entries.map(Value::from));
                put("bytes", bytes.map(|bytes| Limit::HostBytes.format(bytes).into()));
                put("scope", Some(if *shared { "all" } else { "session" }.into()));
            }
            HookKind::RateLimit { calls, per, by } => {
                put("calls", Some((*calls).into()));
                put("per", Some(time(per)));
                let names = ["tool", "session", "user"];
                let by: Vec<&str> =
                    names.into_iter().zip(by).filter_map(|(name, apart)| apart.then_some(name)).collect();
                put("by", Some(json!(by)));
            }
        }
        if matches!(self.kind, HookKind::Command { .. } | HookKind::Component { .. }) {
            let on: Vec<&str> = [("pre", self.pre), ("post", self.post)]
                .iter()
                .filter_map(|on| on.1.then_some(on.0))
                .collect();
            put("on", Some(json!(on)));
            put("timeout", self.timeout.as_ref().map(time));
            put("redacts", Some(json!(true)).filter(|_| self.redacts));
        }
        put("from", Some(self.origin.at.as_deref().unwrap_or(&self.origin.setting).into()));
        Value::Object(shown)
    }
}

impl HookKind {
    /// Its name in files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Command { .. } => "command",
            Self::Component { .. } => "component",
            Self::Retry { .. } => "retry",
            Self::Cache { .. } => "cache",
            Self::RateLimit { .. } => "rate_limit",
        }
    }
}

#[cfg(test)]
#[path = "hooks/tests.rs"]
mod tests;
