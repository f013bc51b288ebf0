//! Sessions: calls that belong together, with metadata, tools and groups of their own.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::{Batch, Call, Explanation, Runtime, path};
use crate::call::ToolCall;
use crate::error::Result;
use crate::registry::{Placed, Tools};
use crate::tool::{AnyNativeTool, Tool};

/// Calls that belong together: one conversation, one user, one agent.
///
/// Full outputs and approvals are bound to its name, so a name that others can guess or choose is shared with them.
/// Groups, tools and metadata belong to this value and its clones.
#[derive(Clone)]
pub struct Session {
    pub(super) runtime: Runtime,
    pub(super) state: Arc<SessionState>,
}

/// Who calls, for the factory of session tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity {
    /// The session's name; empty for calls without one.
    pub session: String,
    /// The user on whose behalf it calls.
    pub user: Option<String>,
    /// The agent that calls.
    pub agent: Option<String>,
}

/// Makes the tools that a session has beside the runtime's.
pub type SessionTools = dyn Fn(&Identity) -> Vec<AnyNativeTool> + Send + Sync;

/// What all clones of a session share.
#[derive(Default)]
pub(super) struct SessionState {
    pub identity: Identity,
    pub meta: Vec<(String, String)>,
    groups: RwLock<BTreeMap<String, bool>>,
    tools: RwLock<Option<Arc<Tools>>>,
}

impl SessionState {
    pub fn named(session: String) -> Self {
        Self { identity: Identity { session, ..Identity::default() }, ..Self::default() }
    }

    /// The session's name, unless the call has none.
    pub fn name(&self) -> Option<&str> {
        Some(self.identity.session.as_str()).filter(|name| !name.is_empty())
    }

    fn switched(&self, group: &str) -> Option<bool> {
        self.groups.read().unwrap_or_else(PoisonError::into_inner).get(group).copied()
    }
}

impl Clone for SessionState {
    fn clone(&self) -> Self {
        let groups = self.groups.read().unwrap_or_else(PoisonError::into_inner).clone();
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner).clone();
        Self {
            identity: self.identity.clone(),
            meta: self.meta.clone(),
            groups: RwLock::new(groups),
            tools: RwLock::new(tools),
        }
    }
}

impl Runtime {
    /// Calls that belong together under `name`.
    pub fn session(&self, name: impl Into<String>) -> Session {
        Session { runtime: self.clone(), state: Arc::new(SessionState::named(name.into())) }
    }

    /// Calls that belong to nobody in particular.
    pub(super) fn anonymous(&self) -> Session {
        Session { runtime: self.clone(), state: Arc::clone(&self.shared.anonymous) }
    }
}

impl Session {
    /// The user on whose behalf it calls.
    #[must_use]
    pub fn user(self, user: impl Into<String>) -> Self {
        self.with(|state| state.identity.user = Some(user.into()))
    }

    /// The agent that calls.
    #[must_use]
    pub fn agent(self, agent: impl Into<String>) -> Self {
        self.with(|state| state.identity.agent = Some(agent.into()))
    }

    /// Metadata of all its calls; that of a call and that of hooks win over it.
    #[must_use]
    pub fn meta(self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.with(|state| state.meta.push((key.into(), value.into())))
    }

    /// Adds tools that only this session has. They never take the place of the runtime's.
    ///
    /// # Errors
    /// When a name is taken or cannot be used.
    pub fn tools(&self, tools: impl IntoIterator<Item = impl Into<AnyNativeTool>>) -> Result<()> {
        let shared = &self.runtime.shared;
        let mut all = self.own()?.as_ref().clone();
        for tool in tools {
            let tool = Arc::new(shared.loading.native(tool.into())?);
            shared.registry.now().refuse_taken(&tool)?;
            all.add(shared.registry.placed(tool))?;
        }
        *self.state.tools.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(all));
        Ok(())
    }

    /// Switches a group on or off for this session alone. Returns whether there is such a group.
    pub fn switch(&self, group: &str, on: bool) -> bool {
        let is_of = |placed: &Arc<Placed>| placed.tool.group() == Some(group);
        let exists = self.runtime.shared.registry.now().iter().any(is_of)
            || self.own().is_ok_and(|tools| tools.iter().any(is_of));
        if exists {
            let mut groups = self.state.groups.write().unwrap_or_else(PoisonError::into_inner);
            groups.insert(group.to_owned(), on);
        }
        exists
    }

    /// The session's name; empty for calls that belong to nobody in particular.
    pub fn name(&self) -> &str {
        &self.state.identity.session
    }

    /// Calls a tool, as [`Runtime::call`] does.
    pub fn call(&self, call: ToolCall) -> Call {
        Call::new(self.clone(), call)
    }

    /// Calls several tools, as [`Runtime::call_batch`] does.
    pub fn call_batch(&self, calls: Vec<ToolCall>) -> Batch {
        Batch::new(self.clone(), calls)
    }

    /// Takes a call as far as its cell, as [`Runtime::explain`] does.
    pub fn explain(&self, call: ToolCall) -> Explanation {
        path::explain(self, call)
    }

    /// The tool of that name, switched off or not.
    pub fn get(&self, name: &str) -> Option<Arc<Tool>> {
        self.placed(name).map(|placed| Arc::clone(&placed.tool))
    }

    /// The tools that it can call, in the order of their names.
    pub fn list(&self) -> Vec<Arc<Tool>> {
        let own = self.own().unwrap_or_default();
        let all = self.runtime.shared.registry.now();
        let mut tools: Vec<Arc<Tool>> = all
            .iter()
            .chain(own.iter().filter(|placed| all.get(placed.tool.name()).is_none()))
            .map(|placed| Arc::clone(&placed.tool))
            .filter(|tool| self.is_active(tool))
            .collect();
        tools.sort_by(|one, other| one.name().cmp(other.name()));
        tools
    }

    /// Whether a tool's group is switched on: as the session says, else as the runtime does.
    pub(super) fn is_active(&self, tool: &Tool) -> bool {
        let Some(group) = tool.group() else { return true };
        self.state
            .switched(group)
            .unwrap_or_else(|| self.runtime.shared.registry.now().is_active(Some(group)))
    }

    pub(super) fn placed(&self, name: &str) -> Option<Arc<Placed>> {
        let found = self.runtime.shared.registry.now().get(name).cloned();
        found.or_else(|| self.own().ok()?.get(name).cloned())
    }

    /// The names that somebody who wrote `name` may have meant.
    pub(super) fn nearest(&self, name: &str) -> Vec<String> {
        let tools = self.list();
        let near = crate::schema::nearest(name, tools.iter().map(|tool| tool.name()));
        near.into_iter().map(str::to_owned).collect()
    }

    /// The session's own tools, made by the runtime's factory when first asked for.
    fn own(&self) -> Result<Arc<Tools>> {
        if let Some(tools) = &*self.state.tools.read().unwrap_or_else(PoisonError::into_inner) {
            return Ok(Arc::clone(tools));
        }
        let shared = &self.runtime.shared;
        let mut all = Tools::default();
        if let Some(factory) = &shared.session_tools {
            for tool in factory(&self.state.identity) {
                let tool = Arc::new(shared.loading.native(tool)?);
                shared.registry.now().refuse_taken(&tool)?;
                all.add(shared.registry.placed(tool))?;
            }
        }
        let all = Arc::new(all);
        let mut made = self.state.tools.write().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(made.get_or_insert(all)))
    }

    fn with(mut self, change: impl FnOnce(&mut SessionState)) -> Self {
        change(Arc::make_mut(&mut self.state));
        self
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Session").field(&self.state.identity).finish()
    }
}
