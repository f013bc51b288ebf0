//! From settings and components to a runtime: everything that can be wrong is wrong here, not at the first call.

mod assembly;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::reload::Source;
use super::{Identity, SessionTools};
use crate::config::{Audit, Config, Environment, Folders};
use crate::error::Result;
use crate::hook::HookEntry;
use crate::limits::{Admission, CALL_TIMEOUT, Limits, Origin};
use crate::output::OutputStore;
use crate::policy::{Action, Approvals, Approver, Pins, Rule};
use crate::sandbox::{Allocation, Compiler, Resolving};
use crate::tool::{AnyNativeTool, ToolComponent};
pub(super) use assembly::located;

/// Collects what a runtime is made of.
#[derive(Debug, Default)]
#[must_use = "a builder does nothing until it is built"]
pub struct RuntimeBuilder {
    config: Config,
    source: Source,
    over: Limits,
    allocation: Allocation,
    compiler: Compiler,
    cache: Option<PathBuf>,
    outputs: Option<OutputStore>,
    folders: Option<Folders>,
    natives: Vec<AnyNativeTool>,
    approver: Asked,
    approvals: Option<Approvals>,
    pins: Option<Pins>,
    session_tools: SessionFactory,
    inactive: BTreeSet<String>,
    resolver: Names,
}

/// Who finds the addresses of names, if not the operating system.
#[derive(Default)]
struct Names(Option<Resolving>);

impl std::fmt::Debug for Names {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(if self.0.is_some() { "a resolver" } else { "the operating system" })
    }
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

/// Settings of an embedder, in order: they hold over those of whatever configuration comes later too.
#[derive(Default)]
pub(super) struct Overlay(Vec<Setting>);

type Setting = Box<dyn Fn(&mut Config) + Send + Sync>;

impl Overlay {
    /// Puts the settings over those of `config`.
    pub fn apply(&self, config: &mut Config) {
        self.0.iter().for_each(|set| set(config));
    }
}

impl std::fmt::Debug for Overlay {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} settings", self.0.len())
    }
}

impl RuntimeBuilder {
    fn set(mut self, set: impl Fn(&mut Config) + Send + Sync + 'static) -> Self {
        set(&mut self.config);
        self.source.overlay.0.push(Box::new(set));
        self
    }

    /// Adds a component.
    pub fn component(mut self, component: ToolComponent) -> Self {
        self.source.components.push(component);
        self
    }

    /// Adds a native tool: a function of this program.
    pub fn native(mut self, tool: impl Into<AnyNativeTool>) -> Self {
        self.natives.push(tool.into());
        self
    }

    /// Adds a hook. The first is outermost, but for those of the configuration, which are around all of these.
    pub fn hook(mut self, hook: impl Into<HookEntry>) -> Self {
        self.source.hooks.push(hook.into());
        self
    }

    /// Adds a rule. Deny beats ask beats allow, whatever their order.
    pub fn rule(self, rule: Rule) -> Self {
        self.set(move |config| config.rules.push(rule.clone()))
    }

    /// What becomes of calls that no rule matches. The default is to allow them: grants are the boundary.
    pub fn policy_default(self, action: Action) -> Self {
        self.set(move |config| {
            config.default = action;
            config.default_origin = Origin::setting("policy.default");
        })
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

    /// Where it is kept what tools of other servers were when they were approved. The default is this runtime's memory.
    pub fn pins(mut self, pins: Pins) -> Self {
        self.pins = Some(pins);
        self
    }

    /// Records every call. The default is what the configuration says: without one, nothing is recorded.
    pub fn audit(self, audit: Audit) -> Self {
        self.set(move |config| config.audit = Some(audit.clone()))
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
        self.source.has_group_switch = true;
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
        self.source.only = Some(component.into());
        self
    }

    /// Waits for the tools of other servers for this long, all of them together, now and at each reload. The tools of those that take
    /// longer come later, as [`Runtime::changes`](super::Runtime::changes) tells. The default is to wait for each as long as its own
    /// `start_timeout`.
    pub fn await_servers(mut self, within: Duration) -> Self {
        self.source.patience.within = Some(within);
        self
    }

    /// Waits for other servers only until one of them has the tool of this name, and starts none where it is there without.
    /// For a process that makes one call.
    pub fn await_tool(mut self, name: impl Into<String>) -> Self {
        self.source.patience.until = Some(name.into());
        self
    }

    /// Takes everything from a validated configuration; what was set before on this builder is replaced, components
    /// that were added stay.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self.source.overlay = Overlay::default();
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
    pub fn limits(self, limits: Limits) -> Self {
        self.set(move |config| config.limits.clone_from(&limits))
    }

    /// Limits above all others, as an operator's flags for one run are.
    pub fn override_limits(mut self, limits: Limits) -> Self {
        self.over = limits;
        self
    }

    /// How many cells run and wait at once.
    pub fn admission(self, admission: Admission) -> Self {
        self.set(move |config| config.admission = admission)
    }

    /// What a model sees of one call, in bytes and lines. Default 40 KiB and 2,000.
    pub fn output(self, max_bytes: u64, max_lines: u64) -> Self {
        self.set(move |config| {
            config.output.max_bytes = max_bytes;
            config.output.max_lines = max_lines;
        })
    }

    /// The time for the whole path of a call, waiting included. Default 10 minutes.
    pub fn call_timeout(self, timeout: Duration) -> Self {
        self.set(move |config| {
            config.call_timeout = timeout;
            config.call_timeout_origin = Origin::setting(CALL_TIMEOUT);
        })
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

    /// Who finds the addresses of names to which tools send requests. The default is the operating system. Whatever it
    /// says is judged, and the connection is made to what was judged.
    #[cfg(feature = "http")]
    pub fn resolver(mut self, resolver: impl crate::net::Resolver + 'static) -> Self {
        self.resolver = Names(Some(Arc::new(resolver)));
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
}
