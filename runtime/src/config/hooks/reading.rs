//! Hooks as they are written, to what the runtime makes them of.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use toml::de::{DeTable, DeValue};

use super::{HookConfig, HookKind};
use crate::config::amount::Amount;
use crate::config::document::{Address, Document};
use crate::config::names::component_name_fits;
use crate::config::problem::Problems;
use crate::config::program::Program;
use crate::config::raw_hook::{RawCacheScope, RawCounted, RawEvent, RawHook, RawHookKind};
use crate::config::validate::{Validator, count, reason};
use crate::limits::{Limit, Limits, NOT_OF_HOOKS};

/// Every kind's own keys; those that say which calls a hook applies to have all of them.
const OWN_KEYS: [(RawHookKind, &[&str]); 5] = [
    (RawHookKind::Command, &["on", "timeout", "redacts", "command", "env"]),
    (RawHookKind::Component, &["on", "timeout", "redacts", "path", "config", "limits"]),
    (RawHookKind::Retry, &["attempts", "delay", "max_delay"]),
    (RawHookKind::Cache, &["ttl", "entries", "bytes", "scope"]),
    (RawHookKind::RateLimit, &["calls", "per", "by"]),
];

/// Reads each hook by itself. Those that could not be read are left out: the file is refused as a whole.
pub(in crate::config) fn read<'t>(
    table: &mut DeTable<'t>,
    document: &Document<'t>,
    problems: &mut Problems,
) -> Vec<(usize, RawHook)> {
    let address = Address::of(&["hook"]);
    let Some(value) = table.remove("hook") else { return Vec::new() };
    let DeValue::Array(hooks) = value.into_inner() else {
        problems.add(document.line_of(&address), "`hook`: write a table for each, `[[hook]]`");
        return Vec::new();
    };
    let mut read = Vec::new();
    for (index, hook) in hooks.into_iter().enumerate() {
        let before = problems.count();
        let hook = document.read(hook, &address.item(index), problems);
        if problems.count() == before {
            read.push((index, hook));
        }
    }
    read
}

impl Validator<'_, '_> {
    pub(in crate::config) fn hooks(&mut self, raw: Vec<(usize, RawHook)>) -> Vec<HookConfig> {
        raw.into_iter().filter_map(|(index, raw)| self.hook(index, raw)).collect()
    }

    fn hook(&mut self, index: usize, raw: RawHook) -> Option<HookConfig> {
        let address = Address::of(&["hook"]).item(index);
        let Some(kind) = raw.kind else {
            let message = "has no `use`; write `use = \"command\"`, `\"component\"`, `\"retry\"`, `\"cache\"` or `\"rate_limit\"`";
            self.problem(&address, message);
            return None;
        };
        self.misplaced_keys(&address, kind);
        if raw.tools.as_ref().is_some_and(Vec::is_empty) {
            self.problem(&address.key("tools"), "names no tool; take it out for every tool");
        }
        for (index, glob) in raw.tools.iter().flatten().enumerate() {
            self.glob(&address.key("tools").item(index), glob);
        }
        if let Some(glob) = &raw.component {
            self.glob(&address.key("component"), glob);
        }
        if let Some(group) = &raw.group {
            let fits = component_name_fits(group);
            self.checked(
                &address.key("group"),
                fits.map_err(|why| why.replace("a component's", "a group's")),
            );
        }
        let (pre, post) = self.events(&address, raw.on.as_deref(), raw.redacts);
        let hook = HookConfig {
            tools: raw.tools.clone().unwrap_or_default(),
            component: raw.component.clone(),
            group: raw.group.clone(),
            pre,
            post,
            timeout: self.time(&address.key("timeout"), raw.timeout.as_ref()),
            redacts: raw.redacts.unwrap_or_default(),
            origin: self.document.origin(&address),
            kind: self.hook_kind(&address, kind, raw)?,
        };
        Some(hook)
    }

    /// A key that does nothing here would be one that its writer believes in.
    fn misplaced_keys(&mut self, address: &Address, kind: RawHookKind) {
        let own = OWN_KEYS.iter().filter(|(other, _)| *other == kind).flat_map(|(_, keys)| keys.iter());
        let own: Vec<&str> = own.copied().collect();
        let mut others: Vec<&str> = OWN_KEYS
            .iter()
            .flat_map(|(_, keys)| keys.iter().copied())
            .filter(|key| !own.contains(key))
            .collect();
        others.sort_unstable();
        others.dedup();
        for key in others {
            let here = address.key(key);
            if self.document.has(&here) {
                let own: Vec<String> = own.iter().map(|key| format!("`{key}`")).collect();
                let message =
                    format!("means nothing for this kind of hook, whose own keys are {}", own.join(", "));
                self.problem(&here, message);
            }
        }
    }

    pub(in crate::config) fn glob(&mut self, address: &Address, glob: &str) {
        if glob.is_empty() {
            self.problem(address, "must not be empty; `*` matches all");
        }
        self.checked(address, globset::Glob::new(glob).map_err(|error| error.to_string()));
    }

    fn events(&mut self, address: &Address, on: Option<&[RawEvent]>, redacts: Option<bool>) -> (bool, bool) {
        let Some(on) = on else { return (true, true) };
        if on.is_empty() {
            self.problem(&address.key("on"), "names no event; take it out for both");
        }
        let (pre, post) = (on.contains(&RawEvent::Pre), on.contains(&RawEvent::Post));
        if redacts == Some(true) && !post {
            self.problem(
                &address.key("redacts"),
                "is about what it does after calls, and `on` has no \"post\"",
            );
        }
        (pre, post)
    }

    fn hook_kind(&mut self, address: &Address, kind: RawHookKind, raw: RawHook) -> Option<HookKind> {
        match kind {
            RawHookKind::Command => self.command(address, raw.command, raw.env.unwrap_or_default()),
            RawHookKind::Component => {
                let Some(written) = raw.path else {
                    self.problem(address, "has no `path`; write the file of the hook's component");
                    return None;
                };
                let path = self.hook_file(&address.key("path"), &written);
                let config = self.strings(&address.key("config"), raw.config.unwrap_or_default());
                let limits = self.hook_limits(&address.key("limits"), raw.limits.unwrap_or_default().0);
                Some(HookKind::Component { path: path?, config, limits })
            }
            RawHookKind::Retry => Some(HookKind::Retry {
                attempts: self.number(&address.key("attempts"), raw.attempts.as_ref(), 1, 10),
                delay: self.time(&address.key("delay"), raw.delay.as_ref()),
                max_delay: self.time(&address.key("max_delay"), raw.max_delay.as_ref()),
            }),
            RawHookKind::Cache => Some(HookKind::Cache {
                ttl: self.time(&address.key("ttl"), raw.ttl.as_ref()),
                entries: self.number(&address.key("entries"), raw.entries.as_ref(), 1, 1_000_000),
                bytes: raw
                    .bytes
                    .and_then(|bytes| self.checked(&address.key("bytes"), Limit::HostBytes.parse(&bytes.0))),
                shared: raw.scope == Some(RawCacheScope::All),
            }),
            RawHookKind::RateLimit => {
                let missing = raw.calls.is_none() || raw.per.is_none();
                if missing {
                    self.problem(
                        address,
                        "needs both `calls` and `per`; write for example `calls = 60` and `per = \"1m\"`",
                    );
                }
                let calls = self.number(&address.key("calls"), raw.calls.as_ref(), 1, 1_000_000);
                let per = self.time(&address.key("per"), raw.per.as_ref());
                let counts = |what| raw.by.as_ref().is_none_or(|by| by.contains(&what));
                let by = [RawCounted::Tool, RawCounted::Session, RawCounted::User].map(counts);
                Some(HookKind::RateLimit { calls: calls?, per: per?, by })
            }
        }
    }

    fn command(
        &mut self,
        address: &Address,
        command: Option<Vec<String>>,
        env: BTreeMap<String, String>,
    ) -> Option<HookKind> {
        let env = self.strings(&address.key("env"), env);
        let path = env.get("PATH").map(String::as_str);
        let Program { command, files, .. } =
            self.program(address, command.unwrap_or_default(), path, "./check.sh")?;
        Some(HookKind::Command { command, folder: self.folder.clone(), env, files })
    }

    fn hook_file(&mut self, address: &Address, written: &str) -> Option<PathBuf> {
        let path = self.host_path(written);
        let path = self.checked(address, path)?;
        match std::fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => Some(path),
            Ok(_) => {
                self.problem(address, format!("`{written}` is no file"));
                None
            }
            Err(error) => {
                self.problem(address, format!("cannot find the component `{written}`: {}", reason(&error)));
                None
            }
        }
    }

    /// Limits of a hook's cells. Its time is that of the hook, and what the engines are made for is one for all.
    fn hook_limits(&mut self, table: &Address, raw: BTreeMap<String, Amount>) -> Limits {
        for limit in NOT_OF_HOOKS {
            if raw.contains_key(limit.name()) {
                let message = match limit {
                    Limit::Timeout => "is the hook's own `timeout`; set that",
                    _ => "cannot be set for a hook",
                };
                self.problem(&table.key(limit.name()), message);
            }
        }
        self.limits(table, raw)
    }

    pub(in crate::config) fn time(&mut self, address: &Address, amount: Option<&Amount>) -> Option<Duration> {
        let nanos = self.checked(address, Limit::Timeout.parse(&amount?.0))?;
        Some(Duration::from_nanos(nanos))
    }

    fn number(&mut self, address: &Address, amount: Option<&Amount>, least: u64, most: u64) -> Option<u32> {
        self.checked(address, count(&amount?.0, least, most))
    }
}
