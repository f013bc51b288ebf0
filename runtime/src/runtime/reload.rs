//! A changed configuration in the place of the one before: checked whole, then swapped at once, or not at all.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use super::builder::{Overlay, located};
use super::loading::Loading;
use super::{Loaded, Runtime, Terms};
use crate::config::{ComponentConfig, Config, HookConfig, McpConfig};
use crate::error::{Error, Result};
use crate::hook::HookEntry;
use crate::limits::{CALL_TIMEOUT, Limit, Limits, Origin};
use crate::output::Bounds;
use crate::policy::Rules;
use crate::registry::{Policies, Registry, Replacement};
use crate::tool::{Patience, Remotes, Server, Tool, ToolComponent};

/// What a runtime was made of beside a configuration, which stays when that is replaced.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// What the embedder's own settings make of a configuration.
    pub overlay: Overlay,
    pub components: Vec<ToolComponent>,
    /// Components that were added while the runtime was running.
    pub registered: Vec<ComponentConfig>,
    /// Those of the configuration, to be gone on with where they are the same.
    pub configured_hooks: Vec<(HookConfig, HookEntry)>,
    pub hooks: Vec<HookEntry>,
    pub only: Option<String>,
    /// How long servers of other tools are waited for.
    pub patience: Patience,
    pub has_group_switch: bool,
}

/// What a reload has to tell.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Reloaded {
    /// What was skipped or is unusual, in words.
    pub warnings: Vec<String>,
    /// Settings that have changed and hold only from the next start.
    pub later: Vec<&'static str>,
}

/// A configuration that is loaded, before anybody sees it.
pub(super) struct Fresh {
    pub config: Config,
    pub tools: Vec<Arc<Tool>>,
    pub remotes: Remotes,
    pub configured_hooks: Vec<(HookConfig, HookEntry)>,
    pub policies: Policies,
}

impl Source {
    /// Hooks and rules, those of the configuration around the embedder's own.
    pub fn policies(&self, config: &Config) -> Result<(Policies, Vec<(HookConfig, HookEntry)>)> {
        let mut configured = Vec::new();
        for hook in &config.hooks {
            // One that counts or stores goes on with what it has.
            let known = self.configured_hooks.iter().find(|(known, _)| known.is_same(hook));
            let entry = match known {
                Some((_, entry)) => entry.clone(),
                None => HookEntry::configured(hook)?,
            };
            configured.push((hook.clone(), entry));
        }
        let all = configured.iter().map(|(_, entry)| entry.clone()).chain(self.hooks.iter().cloned());
        let hooks = all.map(HookEntry::placed).collect::<Result<Vec<_>>>()?;
        let rules = Rules::new(config.rules.clone(), config.default)?;
        Ok((Policies { hooks, rules }, configured))
    }
}

impl Terms {
    /// What `config` says of every call.
    pub fn of(config: &Config, loading: Loading) -> Self {
        let to_usize = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        let output = config.output;
        let bounds =
            Bounds::default().max_bytes(to_usize(output.max_bytes)).max_lines(to_usize(output.max_lines));
        Self {
            loading,
            bounds,
            output,
            call_timeout: config.call_timeout,
            call_timeout_origin: call_timeout_origin(config),
            default_origin: config.default_origin.clone(),
        }
    }
}

/// Where the time for a whole call was set; its default has an address as well, for errors to name.
fn call_timeout_origin(config: &Config) -> Origin {
    let origin = config.call_timeout_origin.clone();
    if origin.setting.is_empty() { Origin::setting(CALL_TIMEOUT) } else { origin }
}

impl Runtime {
    /// Takes `config` in the place of the configuration so far: tools, rules, hooks, limits and bounds, all at once. Files of
    /// components are read anew, also where nothing else has changed; servers of other tools whose settings, secrets and programs are the
    /// same go on, and are asked for their tools again. Calls that run finish on what they began with; from
    /// then on nothing that was replaced runs again. What the embedder set on the builder after the configuration, what it
    /// registered, and native tools stay. Blocks while components are read and servers of other tools are asked.
    ///
    /// # Errors
    /// The first thing that is wrong: then everything stays as it was.
    pub fn reload(&self, mut config: Config) -> Result<Reloaded> {
        let mut loaded = self.shared.loaded();
        loaded.source.overlay.apply(&mut config);
        let before = self.shared.terms();
        let loading = Loading {
            limits: config.limits.clone(),
            over: before.loading.over.clone(),
            sandbox: Arc::clone(&before.loading.sandbox),
            stored: before.loading.stored.clone(),
            running: before.loading.running.clone(),
        };
        let mut told =
            Reloaded { later: self.later(&config, &loaded.config, &loading)?, ..Reloaded::default() };
        let fresh = self.load(config, &loading, &loaded, &mut told.warnings)?;
        let Fresh { config, tools, remotes, configured_hooks, policies } = fresh;
        let is_listed = |config: &Config, group: &String| config.inactive_groups.contains(group);
        let (old_config, new_config) = (&loaded.config, &config);
        let groups = |from: &Config, without: &Config| -> Vec<String> {
            from.inactive_groups.iter().filter(|group| !is_listed(without, group)).cloned().collect()
        };
        let replacement = Replacement {
            old: loaded.tools.clone(),
            new: tools.clone(),
            policies,
            on: groups(old_config, new_config),
            off: groups(new_config, old_config),
        };
        {
            let mut terms = self.shared.terms.write().unwrap_or_else(PoisonError::into_inner);
            self.shared.registry.replace(replacement).map_err(|error| located(error, &config))?;
            *terms = Arc::new(Terms::of(&config, loading));
        }
        let (registry, alone) = (&self.shared.registry, self.shared.session_tools.is_none());
        told.warnings.extend(policy_warnings(registry, &config, &loaded.source, alone));
        remotes.settle(&registry.teller(), &self.shared.news.hearing());
        loaded.tools = tools;
        // Those that are left behind end when the last call of them has.
        let is_kept = |old: &Arc<Server>| remotes.servers.iter().any(|server| Arc::ptr_eq(old, server));
        loaded.servers.iter().filter(|old| !is_kept(old)).for_each(|old| old.close_unreached());
        loaded.servers = remotes.servers;
        loaded.source.configured_hooks = configured_hooks;
        loaded.config = config;
        drop(loaded);
        self.await_remotes();
        Ok(told)
    }

    fn load(
        &self,
        mut config: Config,
        loading: &Loading,
        loaded: &Loaded,
        warnings: &mut Vec<String>,
    ) -> Result<Fresh> {
        let source = &loaded.source;
        let components = components(&config, source);
        let written = config.clone();
        config.components = components.iter().map(|component| component.config.clone()).collect();
        config.components.extend(source.registered.iter().cloned());
        config.check_write_grants(&self.shared.folders)?;
        config.check_shared_state()?;
        let (policies, configured_hooks) = source.policies(&written)?;
        let before = loaded.tools.iter().map(|tool| tool.component()).collect();
        let mut tools = load_components(components, source, loading, &before, warnings)?;
        if source.has_group_switch || config.activate_group {
            tools.push(Arc::new(loading.group_switch()?));
        }
        let now = self.shared.registry.now();
        let is_old = |tool: &Arc<Tool>| loaded.tools.iter().any(|old| Arc::ptr_eq(old, tool));
        let kept: Vec<String> = now
            .iter()
            .filter(|placed| !is_old(&placed.tool))
            .map(|placed| placed.tool.name().to_owned())
            .collect();
        let wanted = servers(&config, source);
        let mut remotes =
            loading.remotes((&wanted, &loaded.servers), &self.shared.pins, &source.patience, warnings)?;
        let taken = tools.iter().map(|tool| tool.name()).chain(kept.iter().map(String::as_str));
        remotes.without_clashes(taken, warnings);
        tools.append(&mut remotes.tools);
        Ok(Fresh { config, tools, remotes, configured_hooks, policies })
    }

    /// Which changed settings hold only from the next start.
    ///
    /// # Errors
    /// When tools want more than the engines were made for.
    fn later(&self, new: &Config, old: &Config, loading: &Loading) -> Result<Vec<&'static str>> {
        let resolved = |config: &Config| Limits::resolve([&config.limits, &loading.over]);
        let (limits, before) = (resolved(new), resolved(old));
        for limit in [Limit::TableElements, Limit::Instances] {
            if limits.get(limit) > before.get(limit) {
                return Err(Error::Limit {
                    setting: format!("limits.{}", limit.name()),
                    message: "cannot be raised while the runtime is running; start it again".to_owned(),
                });
            }
        }
        let mut later = Vec::new();
        if limits.get(Limit::Stack) != before.get(Limit::Stack) {
            later.push("limits.stack");
        }
        if new.admission != old.admission {
            later.push("limits.concurrent_cells, max_waiting, queue_timeout, batch_calls or batch_bytes");
        }
        if new.audit != old.audit {
            later.push("audit");
        }
        Ok(later)
    }
}

/// What rules and hooks say that nothing can match. `is_alone` says that sessions have no tools of their own.
pub(super) fn policy_warnings(
    registry: &Registry,
    config: &Config,
    source: &Source,
    is_alone: bool,
) -> Vec<String> {
    let mut warnings = registry.without_paths();
    // What a server offers may be there tomorrow.
    let knows_all =
        is_alone && config.mcp.is_empty() && config.components.iter().all(|component| component.enabled);
    // A command that calls one component has loaded no other.
    if source.only.is_none() {
        warnings.extend(registry.unmatched(knows_all));
    }
    warnings
}

/// The components of a configuration, then those that the builder was given.
pub(super) fn components(config: &Config, source: &Source) -> Vec<ToolComponent> {
    let configured = config.components.iter().cloned().map(ToolComponent::from);
    configured.chain(source.components.iter().cloned()).collect()
}

/// The tools of those components that are wanted.
pub(super) fn load_components(
    components: Vec<ToolComponent>,
    source: &Source,
    loading: &Loading,
    before: &BTreeSet<&str>,
    warnings: &mut Vec<String>,
) -> Result<Vec<Arc<Tool>>> {
    let is_wanted = |component: &ToolComponent| {
        component.config.enabled && source.only.as_ref().is_none_or(|only| *only == component.config.name)
    };
    let mut tools = Vec::new();
    for component in components.into_iter().filter(is_wanted) {
        tools.append(&mut loading.component(component, before, warnings)?);
    }
    Ok(tools)
}

/// The servers that are wanted.
pub(super) fn servers<'a>(config: &'a Config, source: &Source) -> Vec<&'a McpConfig> {
    let is_wanted = |server: &&McpConfig| {
        server.enabled && source.only.as_ref().is_none_or(|only| *only == server.component())
    };
    config.mcp.iter().filter(is_wanted).collect()
}
