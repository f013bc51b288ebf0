//! From what an operator names to tools, when a runtime is built and while it runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Runtime, Shared};
use crate::config::{McpConfig, StoredComponents};
use crate::error::Result;
use crate::limits::Limits;
use crate::policy::Pins;
use crate::sandbox::Sandbox;
use crate::tool::{
    AnyNativeTool, Patience, Remotes, Running, Server, Tool, ToolComponent, Under, group_switch, load,
    load_remotes,
};

/// What every tool is loaded under.
#[derive(Clone)]
pub(super) struct Loading {
    pub limits: Limits,
    pub over: Limits,
    pub sandbox: Arc<Sandbox>,
    /// What was taken from registries.
    pub stored: StoredComponents,
    /// The servers of this runtime, for its end.
    pub running: Running,
}

impl Loading {
    /// The tools of a component.
    ///
    /// # Errors
    /// When it cannot be loaded as it is configured.
    pub fn component(
        &self,
        component: ToolComponent,
        before: &BTreeSet<&str>,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<Arc<Tool>>> {
        let own = component.config.limits.clone();
        let (scopes, from) = ([&self.limits, &own], (&self.sandbox, &self.stored));
        let loaded = load(component, scopes, &self.over, from, before, warnings)?;
        Ok(loaded.into_iter().flat_map(|(_, tools)| tools).collect())
    }

    /// A native tool.
    ///
    /// # Errors
    /// When its name or a schema of it cannot be used.
    pub fn native(&self, native: AnyNativeTool) -> Result<Tool> {
        let limits = Limits::resolve([&self.limits, &native.limits, &self.over]);
        native.tool(limits)
    }

    /// The tools of other servers, which are started for that where they are not among those that run `before`.
    ///
    /// # Errors
    /// When a secret of one cannot be read.
    pub fn remotes(
        &self,
        (servers, before): (&[&McpConfig], &[Arc<Server>]),
        pins: &Pins,
        patience: &Patience,
        warnings: &mut Vec<String>,
    ) -> Result<Remotes> {
        if servers.is_empty() {
            return Ok(Remotes::default());
        }
        let scopes = [&self.limits, &self.over];
        let under = Under { scopes, sandbox: &self.sandbox, running: &self.running, pins, patience };
        load_remotes(servers, before, &under, warnings)
    }

    /// The tool that switches groups on.
    ///
    /// # Errors
    /// None that depend on an operator.
    pub fn group_switch(&self) -> Result<Tool> {
        group_switch(Limits::resolve([&self.limits, &self.over]))
    }
}

/// Tools that were added to a running runtime; dropping it removes them. Calls that run go on with what they began
/// with.
#[must_use = "the tools are removed when this is dropped; `detach` keeps them"]
pub struct Registration {
    shared: Arc<Shared>,
    tools: Vec<Arc<Tool>>,
}

impl Registration {
    /// Keeps the tools for as long as there is a runtime.
    pub fn detach(mut self) {
        self.tools.clear();
    }

    /// The tools.
    pub fn tools(&self) -> &[Arc<Tool>] {
        &self.tools
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if !self.tools.is_empty() {
            self.shared.registry.remove(&self.tools);
        }
    }
}

impl std::fmt::Debug for Registration {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Registration").field(&self.tools).finish()
    }
}

impl Runtime {
    /// Adds a component's tools while calls run. Reads files, so it blocks for a moment. What was unusual is in the
    /// second part.
    ///
    /// # Errors
    /// When the component cannot be loaded, a name is taken, or a write grant reaches what toolcell itself uses.
    pub fn register(&self, component: ToolComponent) -> Result<(Registration, Vec<String>)> {
        let mut warnings = Vec::new();
        let mut loaded = self.shared.loaded();
        let mut with_it = loaded.config.clone();
        let added = component.config.clone();
        with_it.components.push(added.clone());
        with_it.check_write_grants(&self.shared.folders)?;
        with_it.check_shared_state()?;
        let tools = self.shared.terms().loading.component(component, &BTreeSet::new(), &mut warnings)?;
        let registration = self.registered(tools)?;
        loaded.config = with_it;
        loaded.source.registered.push(added);
        Ok((registration, warnings))
    }

    /// Adds a native tool while calls run.
    ///
    /// # Errors
    /// When its name is taken or cannot be used.
    pub fn register_native(&self, native: impl Into<AnyNativeTool>) -> Result<Registration> {
        let tool = self.shared.terms().loading.native(native.into())?;
        self.registered(vec![Arc::new(tool)])
    }

    fn registered(&self, tools: Vec<Arc<Tool>>) -> Result<Registration> {
        self.shared.registry.add(tools.clone())?;
        Ok(Registration { shared: Arc::clone(&self.shared), tools })
    }
}
