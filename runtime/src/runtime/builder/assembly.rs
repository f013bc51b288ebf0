//! From the settings of a builder to a runtime.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, RwLock};

use super::super::admission::Door;
use super::super::forgetting::Forgetting;
use super::super::loading::Loading;
use super::super::reload::{Source, components, load_components, policy_warnings, servers};
use super::super::remotes::News;
use super::super::{Loaded, Runtime, Shared, Terms};
use super::RuntimeBuilder;
use crate::config::{ComponentConfig, Config, Environment, StoredComponents};
use crate::error::{Error, Result};
use crate::limits::{Limit, Limits};
use crate::output::OutputStore;
use crate::policy::{Approvals, Pins};
use crate::registry::Registry;
use crate::sandbox::{CompileCache, EngineSettings, Sandbox};
use crate::tool::Running;

impl RuntimeBuilder {
    /// Loads every component and makes the runtime. Nothing is compiled yet, and no guest code runs.
    ///
    /// # Errors
    /// The first thing that is wrong, with the setting that is to be changed.
    pub async fn build(self) -> Result<Runtime> {
        self.build_blocking()
    }

    /// [`Self::build`] where there is nothing to await with.
    ///
    /// # Errors
    /// As [`Self::build`].
    pub fn build_blocking(mut self) -> Result<Runtime> {
        let mut warnings = Vec::new();
        let (cache, cache_problem) = match self.cache.take().map(CompileCache::open) {
            None => (None, None),
            Some(Ok(cache)) => (Some(cache), None),
            Some(Err(why)) => (None, Some(why)),
        };
        warnings.extend(cache_problem.clone());
        let settings = self.engine_settings();
        let folders = match self.folders.take() {
            Some(folders) => folders,
            None => Environment::of_process()?.folders,
        };
        let sandbox = Sandbox::new(settings, std::mem::take(&mut self.compiler), cache)?;
        let sandbox = Arc::new(sandbox.keeping_in(folders.kept()).resolving_by(self.resolver.0.take()));
        let components = components(&self.config, &self.source);
        let mut all = self.config.clone();
        all.components = components.iter().map(|component| component.config.clone()).collect();
        all.check_write_grants(&folders)?;
        all.check_shared_state()?;
        let (policies, configured_hooks) = self.source.policies(&self.config)?;
        let audit = self.config.audit.as_ref().map(|audit| audit.open(&folders)).transpose()?;
        self.inactive.extend(self.config.inactive_groups.iter().cloned());
        let registry = Registry::new(policies, std::mem::take(&mut self.inactive));
        let loading = Loading {
            limits: self.config.limits.clone(),
            over: self.over.clone(),
            sandbox: Arc::clone(&sandbox),
            stored: StoredComponents::at(folders.components()),
            running: Running::default(),
        };
        let mut tools = load_components(components, &self.source, &loading, &BTreeSet::new(), &mut warnings)?;
        let mut natives = Vec::new();
        for native in std::mem::take(&mut self.natives) {
            natives.push(Arc::new(loading.native(native)?));
        }
        if self.source.has_group_switch || self.config.activate_group {
            tools.push(Arc::new(loading.group_switch()?));
        }
        let pins = self.pins.take().unwrap_or_else(Pins::in_memory);
        let is_there = |name: &String| tools.iter().chain(&natives).any(|tool| tool.name() == name);
        let wanted = match &self.source.patience.until {
            // No server's tool takes its name from it.
            Some(name) if is_there(name) => Vec::new(),
            _ => servers(&self.config, &self.source),
        };
        let mut remotes = loading.remotes((&wanted, &[]), &pins, &self.source.patience, &mut warnings)?;
        remotes.without_clashes(tools.iter().chain(&natives).map(|tool| tool.name()), &mut warnings);
        tools.append(&mut remotes.tools);
        let added = registry.add(tools.iter().cloned().chain(natives).collect());
        added.map_err(|error| located(error, &all))?;
        let news: Arc<News> = Arc::default();
        remotes.settle(&registry.teller(), &news.hearing());
        let policy_warnings = policy_warnings(&registry, &all, &self.source, self.session_tools.0.is_none());
        warnings.extend(policy_warnings.iter().cloned());
        let runtime = Runtime {
            shared: Arc::new(Shared {
                registry,
                terms: RwLock::new(Arc::new(Terms::of(&self.config, loading))),
                loaded: Mutex::new(Loaded {
                    config: all,
                    tools,
                    servers: remotes.servers,
                    source: Source { configured_hooks, ..self.source },
                }),
                folders,
                approver: self.approver.0,
                approvals: self.approvals.unwrap_or_else(Approvals::in_memory),
                audit,
                session_tools: self.session_tools.0,
                anonymous: Arc::default(),
                pins,
                warnings,
                news,
                policy_warnings,
                cache_problem,
                door: Door::new(&self.config),
                outputs: self.outputs.unwrap_or_else(OutputStore::in_memory),
                forgetting: Forgetting::default(),
                sandbox,
            }),
        };
        runtime.await_remotes();
        Ok(runtime)
    }

    /// What is fixed when an engine is made: the largest value that any scope sets, except for the stack, which is
    /// one for all.
    fn engine_settings(&self) -> EngineSettings {
        let mut largest = Limits::resolve([&self.config.limits, &self.over]);
        for component in self.config.components.iter().chain(self.source.components.iter().map(|c| &c.config))
        {
            for scope in
                std::iter::once(&component.limits).chain(component.tool_settings.values().map(|t| &t.limits))
            {
                for limit in [Limit::TableElements, Limit::Instances] {
                    let wanted = Limits::resolve([scope]).get(limit);
                    if wanted > largest.get(limit) {
                        largest.apply(&Limits::new().with(limit, wanted));
                    }
                }
            }
        }
        EngineSettings {
            allocation: self.allocation,
            cells: self.config.admission.concurrent_cells,
            stack: Limits::resolve([&self.config.limits, &self.over]).get(Limit::Stack),
            table_elements: largest.get(Limit::TableElements),
            instances: largest.get(Limit::Instances),
        }
    }
}

/// The error with the lines of the components that it names.
pub(in crate::runtime) fn located(error: Error, config: &Config) -> Error {
    let Error::DuplicateTool { name, first, second } = error else { return error };
    let at = |place: String| {
        let named = |component: &&ComponentConfig| place.ends_with(&format!("`{}`", component.name));
        let origin = config.components.iter().find(named).map(|component| component.origin_of("path"));
        match origin.and_then(|origin| origin.at) {
            Some(at) => format!("{place} ({at})"),
            None => place,
        }
    };
    Error::DuplicateTool { name, first: at(first), second: at(second) }
}
