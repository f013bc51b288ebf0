//! A configuration that was only found and that nobody trusted: it may arrange tools and let them read its own
//! folder, and nothing else, for its author may be whoever wrote the project that was just cloned.
//!
//! Component files in its folder are loaded, since code in a cell reaches only what is granted; those outside are
//! not, since reading there is beyond its folder. What was taken from registries is loaded as well: the user took it, if not
//! for this file. Limits and output bounds may narrow, not widen. Values for
//! `wasi:config/store`, titles, descriptions and instructions stay: they are text of the same author as the folder.
//! So do rules and `policy.default`: without them everything that is left would be allowed; and in place of a hook that
//! might have denied stands a rule that does.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::component::ComponentConfig;
use super::discovery::{How, Location};
use super::hooks::{HookConfig, HookKind};
use super::mcp::McpConfig;
use super::server::Server;
use super::settings::{Config, OutputBounds};
use crate::error::Result;
use crate::limits::{Admission, Limit, Limits, Origin};
use crate::policy::{Access, Action, Digest, Rule, StateScope, TrustStore};

/// One setting that does not hold since its file is not trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inert {
    /// The setting's address.
    pub setting: String,
    /// File and line.
    pub at: Option<String>,
    /// What happens instead.
    pub effect: String,
}

impl Inert {
    fn new(origin: &Origin, effect: impl Into<String>) -> Self {
        Self {
            setting: origin.setting.to_string(),
            at: origin.at.as_ref().map(ToString::to_string),
            effect: effect.into(),
        }
    }
}

impl fmt::Display for Inert {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(at) = &self.at {
            write!(formatter, "{at}: ")?;
        }
        let Self { setting, effect, .. } = self;
        write!(formatter, "`{setting}`: {effect}, since this file was found and is not trusted; ")?;
        formatter.write_str("look at it and run `toolcell trust`")
    }
}

impl Location {
    /// Whether the configuration may say more than reading its own folder: it was named, is the user's own, or is
    /// trusted with the content that was loaded.
    ///
    /// # Errors
    /// When the store is damaged: a warning, by which the configuration is not trusted.
    pub fn is_trusted(&self, config: &Config, store: &TrustStore) -> Result<bool> {
        match (self.how, config.content()) {
            (How::Named | How::Variable | How::User, _) => Ok(true),
            (How::Found, None) => Ok(false),
            (How::Found, Some(digest)) => store.is_trusted(&self.path, digest),
        }
    }
}

impl Config {
    /// The digest of what is trusted: the bytes that were read from the configuration and from its lock file and, as they
    /// are now, the files that decide what its hooks do, and the programs of its servers. None for a configuration without a file.
    pub fn content(&self) -> Option<Digest> {
        let files: Vec<&PathBuf> = self
            .hooks
            .iter()
            .flat_map(HookConfig::files)
            .chain(self.mcp.iter().flat_map(McpConfig::code))
            .collect();
        let own = self.digest?;
        if files.is_empty() && self.lock.is_none() {
            return Some(own);
        }
        let mut all = own.to_string();
        all.extend(self.lock.map(|lock| format!("\nlock {lock}")));
        for file in files {
            // One that cannot be read is not what was trusted.
            let digest = std::fs::read(file).ok().map(|bytes| Digest::of(&bytes).to_string());
            all.push_str(&format!("\n{:?} {}", file, digest.unwrap_or_default()));
        }
        Some(Digest::of(all.as_bytes()))
    }

    /// Narrows an untrusted configuration to reading its own folder; says of every setting that no longer holds
    /// what happens instead.
    pub fn restrict_untrusted(&mut self) -> Vec<Inert> {
        let mut inert = Vec::new();
        let folder =
            self.file.as_deref().and_then(Path::parent).and_then(|folder| folder.canonicalize().ok());
        self.components.retain(|component| keep(component, folder.as_deref(), &mut inert));
        let rules = &mut self.rules;
        self.hooks.retain(|hook| keep_hook(hook, rules, &mut inert));
        for component in &mut self.components {
            restrict_dirs(component, folder.as_deref(), &mut inert);
            restrict_http(component, &mut inert);
            restrict_env(component, &self.origins, &mut inert);
            restrict_secrets(component, &mut inert);
            restrict_state(component, &mut inert);
            restrict_hints(component, &mut inert);
            component.limits = narrowed(&component.limits, &mut inert);
            for settings in component.tool_settings.values_mut() {
                settings.limits = narrowed(&settings.limits, &mut inert);
            }
        }
        self.limits = narrowed(&self.limits, &mut inert);
        for server in std::mem::take(&mut self.mcp).into_iter().filter(|server| server.enabled) {
            // It would run a program of the file's choice, or hand the user's data and secrets to an address.
            inert.push(Inert::new(&server.origin, "is not started, and has no tools"));
        }
        if let Some(audit) = self.audit.take() {
            // It would write where the file says, and name a variable or a file of the user's as its key.
            let unknown = || Origin::setting("audit");
            let origin = audit.origins.get("audit").cloned().unwrap_or_else(unknown);
            inert.push(Inert::new(&origin, "no audit is kept"));
        }
        if self.server != Server::default() {
            // It would let in whom the file's author names, by tokens that are secrets of the user's.
            self.server = Server::default();
            inert.push(Inert::new(&self.origin("server"), "does not hold"));
        }
        self.restrict_runtime(&mut inert);
        inert
    }

    fn restrict_runtime(&mut self, inert: &mut Vec<Inert>) {
        let default = Self::default();
        if self.call_timeout > default.call_timeout {
            self.call_timeout = default.call_timeout;
            inert.push(Inert::new(&self.call_timeout_origin, "is above its default and does not hold"));
        }
        let origins = &self.origins;
        let mut cap = |setting: &str, value: u64, most: u64| {
            if value > most {
                let unknown = || Origin::setting(setting);
                let origin = origins.get(setting).cloned().unwrap_or_else(unknown);
                inert.push(Inert::new(&origin, "is above its default and does not hold"));
            }
            value.min(most)
        };
        let (output, most) = (&mut self.output, OutputBounds::default());
        output.max_bytes = cap("output.max_bytes", output.max_bytes, most.max_bytes);
        output.max_lines = cap("output.max_lines", output.max_lines, most.max_lines);
        let (admission, most) = (&mut self.admission, Admission::default());
        let mut cap_count = |name: &str, value: u32, most: u32| {
            u32::try_from(cap(name, value.into(), most.into())).unwrap_or(most)
        };
        admission.concurrent_cells =
            cap_count("limits.concurrent_cells", admission.concurrent_cells, most.concurrent_cells);
        admission.max_waiting = cap_count("limits.max_waiting", admission.max_waiting, most.max_waiting);
        admission.batch_calls = cap_count("limits.batch_calls", admission.batch_calls, most.batch_calls);
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let time = cap("limits.queue_timeout", nanos(admission.queue_timeout), nanos(most.queue_timeout));
        admission.queue_timeout = Duration::from_nanos(time);
        admission.batch_bytes = cap("limits.batch_bytes", admission.batch_bytes, most.batch_bytes);
    }
}

fn keep(component: &ComponentConfig, folder: Option<&Path>, inert: &mut Vec<Inert>) -> bool {
    let Some(path) = component.source.path() else { return true };
    let kept = !component.enabled || lies_in(path, folder);
    if !kept {
        inert.push(Inert::new(&component.origin, "is not loaded from outside the file's folder"));
    }
    kept
}

/// Hooks run commands, change calls and results, and repeat calls; one that only bounds how often tools run stays.
/// What a program or a component would have refused or withheld is not known, so the tools that it covers are refused.
fn keep_hook(hook: &HookConfig, rules: &mut Vec<Rule>, inert: &mut Vec<Inert>) -> bool {
    let effect = match hook.kind {
        HookKind::RateLimit { .. } => return true,
        HookKind::Retry { .. } | HookKind::Cache { .. } => "is not run",
        HookKind::Command { .. } | HookKind::Component { .. } => {
            rules.push(in_place_of(hook));
            "is not run, and the tools that it covers are refused"
        }
    };
    inert.push(Inert::new(&hook.origin, effect));
    false
}

fn in_place_of(hook: &HookConfig) -> Rule {
    let mut rule = Rule::new(Action::Deny).tools(&hook.tools).reason(
        "a check of this tool does not run, since its configuration is not trusted; the operator has to look at it and run `toolcell trust`",
    );
    rule.component.clone_from(&hook.component);
    rule.group.clone_from(&hook.group);
    rule.origin = hook.origin.clone();
    rule
}

fn lies_in(path: &Path, folder: Option<&Path>) -> bool {
    let Some(folder) = folder else { return false };
    path.canonicalize().is_ok_and(|path| path.starts_with(folder))
}

fn restrict_dirs(component: &mut ComponentConfig, folder: Option<&Path>, inert: &mut Vec<Inert>) {
    let dirs: Vec<_> = component.dirs().map(|(dir, origin)| (dir.clone(), origin)).collect();
    component.grant.dirs.clear();
    component.dir_origins.clear();
    for (mut dir, origin) in dirs {
        if !lies_in(&dir.host, folder) {
            inert.push(Inert::new(&origin, "is not granted outside the file's folder"));
            continue;
        }
        if dir.access != Access::Read {
            inert.push(Inert::new(&origin, "is granted for reading only"));
            dir.access = Access::Read;
        }
        component.grant.dirs.push(dir);
        component.dir_origins.push(origin);
    }
}

/// A request carries out whatever the tool read.
fn restrict_http(component: &mut ComponentConfig, inert: &mut Vec<Inert>) {
    let origins: Vec<Origin> = component.http().map(|(_, origin)| origin).collect();
    component.grant.http.clear();
    component.http_origins.clear();
    inert.extend(origins.iter().map(|origin| Inert::new(origin, "is not reached")));
}

fn restrict_env(component: &mut ComponentConfig, origins: &BTreeMap<String, Origin>, inert: &mut Vec<Inert>) {
    if component.grant.env.is_empty() {
        return;
    }
    component.grant.env.clear();
    let setting = format!("component.{}.grant.env", component.name);
    let origin = origins.get(&setting).cloned().unwrap_or_else(|| Origin::setting(setting));
    inert.push(Inert::new(&origin, "is not granted"));
}

/// It would name a variable or a file of the user's.
fn restrict_secrets(component: &mut ComponentConfig, inert: &mut Vec<Inert>) {
    for name in std::mem::take(&mut component.grant.secrets).into_keys() {
        inert.push(Inert::new(&component.origin_of(&format!("secrets.{name}")), "is not read"));
    }
}

/// The values of a component belong to its name, which another configuration may have given to another one.
fn restrict_state(component: &mut ComponentConfig, inert: &mut Vec<Inert>) {
    if matches!(component.grant.state, StateScope::Session | StateScope::Persistent) {
        component.grant.state = StateScope::Call;
        inert.push(Inert::new(&component.origin_of("grant.state"), "keeps nothing between calls"));
    }
}

/// What is declared of tools makes calls run again and at the same time; only what takes that back stays.
fn restrict_hints(component: &mut ComponentConfig, inert: &mut Vec<Inert>) {
    let of_tools = component.tool_settings.values_mut();
    let of_tools = of_tools.map(|settings| (&mut settings.hints, &settings.origin));
    for (hints, origin) in std::iter::once((&mut component.hints, &component.origin)).chain(of_tools) {
        let given = *hints;
        hints.idempotent = given.idempotent.filter(|idempotent| !idempotent);
        hints.concurrency_safe = given.concurrency_safe.filter(|safe| !safe);
        if *hints != given {
            let origin =
                Origin { setting: format!("{}.hints", origin.setting).into(), at: origin.at.clone() };
            inert.push(Inert::new(&origin, "does not hold where it declares something to be safe"));
        }
    }
}

/// The limits without those that are above their defaults.
fn narrowed(limits: &Limits, inert: &mut Vec<Inert>) -> Limits {
    let mut kept = Limits::new();
    for (limit, value, origin) in limits.iter() {
        if value <= Limit::default_value(limit) {
            kept = kept.with_origin(limit, value, origin.clone());
        } else {
            inert.push(Inert::new(origin, "is above its default and does not hold"));
        }
    }
    kept
}

#[cfg(test)]
#[path = "untrusted/tests.rs"]
mod tests;
