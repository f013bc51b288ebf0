//! From settings and components to a runtime: everything that can be wrong is wrong here, not at the first call.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::admission::Door;
use super::loading::Loading;
use super::{Identity, Runtime, SessionTools, Shared};
use crate::config::{Audit, ComponentConfig, Config, Environment, Folders};
use crate::error::{Error, Result};
use crate::hook::HookEntry;
use crate::limits::{Admission, CALL_TIMEOUT, Limit, Limits, Origin};
use crate::output::{Bounds, OutputStore};
use crate::policy::{Action, Approvals, Approver, Rule, Rules};
use crate::registry::Registry;
use crate::sandbox::{Allocation, CompileCache, Compiler, EngineSettings, Sandbox};
use crate::tool::{AnyNativeTool, ToolComponent};

/// Collects what a runtime is made of.
#[derive(Debug, Default)]
#[must_use = "a builder does nothing until it is built"]
pub struct RuntimeBuilder {
    config: Config,
    components: Vec<ToolComponent>,
    only: Option<String>,
    over: Limits,
    allocation: Allocation,
    compiler: Compiler,
    cache: Option<PathBuf>,
    outputs: Option<OutputStore>,
    folders: Option<Folders>,
    natives: Vec<AnyNativeTool>,
    hooks: Vec<HookEntry>,
    approver: Asked,
    approvals: Option<Approvals>,
    session_tools: SessionFactory,
    has_group_switch: bool,
    inactive: BTreeSet<String>,
}

/// Who is asked, if anybody is.
#[derive(Default)]
struct Asked(Option<Arc<dyn Approver>>);

impl std::fmt::Debug for Asked {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(if self.0.is_some() { "an approver" } else { "nobody" })
    }
}

/// The factory of session tools, if there is one.
#[derive(Default)]
struct SessionFactory(Option<Box<SessionTools>>);

impl std::fmt::Debug for SessionFactory {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(if self.0.is_some() { "a factory" } else { "none" })
    }
}

impl RuntimeBuilder {
    /// Adds a component.
    pub fn component(mut self, component: ToolComponent) -> Self {
        self.components.push(component);
        self
    }

    /// Adds a native tool: a function of this program.
    pub fn native(mut self, tool: impl Into<AnyNativeTool>) -> Self {
        self.natives.push(tool.into());
        self
    }

    /// Adds a hook. The first is outermost, but for those of the configuration, which are around all of these.
    pub fn hook(mut self, hook: impl Into<HookEntry>) -> Self {
        self.hooks.push(hook.into());
        self
    }

    /// Adds a rule. Deny beats ask beats allow, whatever their order.
    pub fn rule(mut self, rule: Rule) -> Self {
        self.config.rules.push(rule);
        self
    }

    /// What becomes of calls that no rule matches. The default is to allow them: grants are the boundary.
    pub fn policy_default(mut self, action: Action) -> Self {
        self.config.default = action;
        self.config.default_origin = Origin::setting("policy.default");
        self
    }

    /// Who is asked about calls. The default is nobody: a question then waits in the store of approvals.
    pub fn approver(self, approver: impl Approver + 'static) -> Self {
        self.shared_approver(Arc::new(approver))
    }

    /// The same for one that somebody else keeps as well.
    pub fn shared_approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Asked(Some(approver));
        self
    }

    /// Where approvals are kept. The default is this runtime's memory.
    pub fn approvals(mut self, approvals: Approvals) -> Self {
        self.approvals = Some(approvals);
        self
    }

    /// Records every call. The default is what the configuration says: without one, nothing is recorded.
    pub fn audit(mut self, audit: Audit) -> Self {
        self.config.audit = Some(audit);
        self
    }

    /// Makes the tools that each session has beside the runtime's, when the session is first used.
    pub fn session_tools(
        mut self,
        factory: impl Fn(&Identity) -> Vec<AnyNativeTool> + Send + Sync + 'static,
    ) -> Self {
        self.session_tools = SessionFactory(Some(Box::new(factory)));
        self
    }

    /// Adds the tool `activate_group`, by which a model switches a group on for the session that calls it. Its description
    /// lists the groups that are off there. The default is what the configuration says: without one, there is none.
    pub fn activate_group_tool(mut self) -> Self {
        self.has_group_switch = true;
        self
    }

    /// Starts with the tools of this group switched off. There need be none of it yet.
    pub fn inactive_group(mut self, group: impl Into<String>) -> Self {
        self.inactive.insert(group.into());
        self
    }

    /// Loads the component of that name alone; the others still count where write grants are checked. For a process
    /// that makes one call and knows where its tool is.
    pub fn only(mut self, component: impl Into<String>) -> Self {
        self.only = Some(component.into());
        self
    }

    /// Takes everything from a validated configuration; what was set before on this builder is replaced, components
    /// that were added stay.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Takes everything from a configuration file.
    ///
    /// # Errors
    /// When the file is wrong.
    pub fn config_file(self, path: impl AsRef<Path>) -> Result<Self> {
        let environment = Environment::of_process()?;
        match environment.locate(Some(path.as_ref()))? {
            Some(location) => Ok(self.config(Config::load(&location, &environment)?)),
            None => Ok(self),
        }
    }

    /// The limits of every call, where neither its component nor its tool sets others.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.config.limits = limits;
        self
    }

    /// Limits above all others, as an operator's flags for one run are.
    pub fn override_limits(mut self, limits: Limits) -> Self {
        self.over = limits;
        self
    }

    /// How many cells run and wait at once.
    pub fn admission(mut self, admission: Admission) -> Self {
        self.config.admission = admission;
        self
    }

    /// What a model sees of one call, in bytes and lines. Default 40 KiB and 2,000.
    pub fn output(mut self, max_bytes: u64, max_lines: u64) -> Self {
        self.config.output.max_bytes = max_bytes;
        self.config.output.max_lines = max_lines;
        self
    }

    /// The time for the whole path of a call, waiting included. Default 10 minutes.
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.config.call_timeout = timeout;
        self.config.call_timeout_origin = Origin::setting(CALL_TIMEOUT);
        self
    }

    /// Where instances live. The default is a pool.
    pub fn allocation(mut self, allocation: Allocation) -> Self {
        self.allocation = allocation;
        self
    }

    /// Who compiles components that are not in the cache. The default is this process.
    pub fn compiler(mut self, compiler: Compiler) -> Self {
        self.compiler = compiler;
        self
    }

    /// The folder of compiled components. The default is none: components are compiled by every process.
    pub fn cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache = Some(folder.into());
        self
    }

    /// The store of full outputs. The default is in memory.
    pub fn outputs(mut self, outputs: OutputStore) -> Self {
        self.outputs = Some(outputs);
        self
    }

    /// The folders that are this user's own, which no write grant may reach. The default is the usual ones.
    pub fn folders(mut self, folders: Folders) -> Self {
        self.folders = Some(folders);
        self
    }

    /// The same builder without anything that is called or that watches calls.
    pub(super) fn emptied(self) -> Self {
        let Self { allocation, compiler, cache, folders, .. } = self;
        Self { allocation, compiler, cache, folders, ..Self::default() }
    }

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
        let sandbox = Arc::new(sandbox.keeping_in(folders.kept()));
        let mut components: Vec<ToolComponent> =
            self.config.components.iter().cloned().map(ToolComponent::from).collect();
        components.append(&mut self.components);
        let mut all = self.config.clone();
        all.components = components.iter().map(|component| component.config.clone()).collect();
        all.check_write_grants(&folders)?;
        let mut hooks = self.config.hooks.iter().map(HookEntry::configured).collect::<Result<Vec<_>>>()?;
        hooks.append(&mut self.hooks);
        let rules = Rules::new(self.config.rules.clone(), self.config.default)?;
        let audit = self.config.audit.as_ref().map(|audit| audit.open(&folders)).transpose()?;
        let hooks = hooks.into_iter().map(HookEntry::placed).collect::<Result<Vec<_>>>()?;
        self.inactive.extend(self.config.inactive_groups.iter().cloned());
        let registry = Registry::new(hooks, rules, std::mem::take(&mut self.inactive));
        let loading = Loading {
            limits: self.config.limits.clone(),
            over: self.over.clone(),
            sandbox: Arc::clone(&sandbox),
        };
        let mut tools = Vec::new();
        let is_wanted = |component: &ToolComponent| {
            component.config.enabled && self.only.as_ref().is_none_or(|only| *only == component.config.name)
        };
        for component in components.into_iter().filter(is_wanted) {
            tools.append(&mut loading.component(component, &mut warnings)?);
        }
        for native in std::mem::take(&mut self.natives) {
            tools.push(Arc::new(loading.native(native)?));
        }
        if self.has_group_switch || self.config.activate_group {
            tools.push(Arc::new(loading.group_switch()?));
        }
        registry.add(tools).map_err(|error| located(error, &all))?;
        let knows_all = self.only.is_none()
            && self.session_tools.0.is_none()
            && all.components.iter().all(|component| component.enabled);
        if knows_all {
            warnings.extend(registry.unmatched());
        }
        let output = self.config.output;
        let to_usize = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        let bounds =
            Bounds::default().max_bytes(to_usize(output.max_bytes)).max_lines(to_usize(output.max_lines));
        Ok(Runtime {
            shared: Arc::new(Shared {
                registry,
                loading,
                config: Mutex::new(all),
                folders,
                default_origin: self.config.default_origin.clone(),
                approver: self.approver.0,
                approvals: self.approvals.unwrap_or_else(Approvals::in_memory),
                audit,
                session_tools: self.session_tools.0,
                anonymous: Arc::default(),
                warnings,
                cache_problem,
                door: Door::new(self.config.admission),
                bounds,
                output,
                outputs: self.outputs.unwrap_or_else(OutputStore::in_memory),
                call_timeout: self.config.call_timeout,
                call_timeout_origin: call_timeout_origin(&self.config),
                sandbox,
            }),
        })
    }

    /// What is fixed when an engine is made: the largest value that any scope sets, except for the stack, which is
    /// one for all.
    fn engine_settings(&self) -> EngineSettings {
        let mut largest = Limits::resolve([&self.config.limits, &self.over]);
        for component in self.config.components.iter().chain(self.components.iter().map(|c| &c.config)) {
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
fn located(error: Error, config: &Config) -> Error {
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

/// Where the time for a whole call was set; its default has an address as well, for errors to name.
fn call_timeout_origin(config: &Config) -> Origin {
    let origin = config.call_timeout_origin.clone();
    if origin.setting.is_empty() { Origin::setting(CALL_TIMEOUT) } else { origin }
}
