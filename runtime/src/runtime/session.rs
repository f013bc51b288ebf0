//! Sessions: calls that belong together, with metadata, tools and groups of their own.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use super::{Batch, Call, Explanation, Runtime, path};
use crate::call::ToolCall;
use crate::error::{Error, Result};
use crate::policy::{Grant, Narrowing};
use crate::registry::{Placed, Tools};
use crate::tool::{AnyNativeTool, Tool};

/// Calls that belong together: one conversation, one user, one agent.
///
/// Full outputs and approvals are bound to its name, so a name that others can guess or choose is shared with them.
/// Groups, tools, metadata and narrower grants belong to this value and its clones; a setter makes another value. Calls
/// that run go on with what they began with.
#[derive(Clone)]
pub struct Session {
    pub(super) runtime: Runtime,
    pub(super) state: Arc<SessionState>,
    /// The groups that were switched, in the place of the state's: for calls that were made before others switched them.
    pub(super) pinned: Option<Arc<RwLock<Groups>>>,
}

/// Groups that a session has switched on or off.
pub(super) type Groups = BTreeMap<String, bool>;

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

impl Identity {
    /// Whose it is what calls leave behind: the user's where one is known, else the session's.
    pub(super) fn owner(&self) -> &str {
        self.user.as_deref().unwrap_or(&self.session)
    }
}

/// Makes the tools that a session has beside the runtime's.
pub type SessionTools = dyn Fn(&Identity) -> Vec<AnyNativeTool> + Send + Sync;

/// What all clones of a session share.
#[derive(Default)]
pub(super) struct SessionState {
    pub identity: Identity,
    pub meta: Vec<(String, String)>,
    pub narrowing: Narrowing,
    pub groups: RwLock<Groups>,
    own: RwLock<Own>,
    narrowed: Mutex<BTreeMap<usize, Narrowed>>,
}

/// The tools that a session has beside the runtime's.
#[derive(Default, Clone)]
struct Own {
    /// Those that it was given.
    added: Vec<Arc<Placed>>,
    /// These and those of the factory, once they are made.
    tools: Option<Arc<Tools>>,
    warnings: Vec<String>,
}

/// A tool of the runtime as it is in a session with narrower grants.
struct Narrowed {
    of: Weak<Placed>,
    /// Nothing where nothing was taken from it.
    to: Option<Arc<Placed>>,
}

impl SessionState {
    pub fn named(session: String) -> Self {
        Self { identity: Identity { session, ..Identity::default() }, ..Self::default() }
    }

    /// The session's name, unless the call has none.
    pub fn name(&self) -> Option<&str> {
        Some(self.identity.session.as_str()).filter(|name| !name.is_empty())
    }

    /// Forgets what the factory made for somebody else.
    fn made_anew(&mut self) {
        let own = self.own.get_mut().unwrap_or_else(PoisonError::into_inner);
        own.tools = None;
        own.warnings.clear();
    }
}

impl Clone for SessionState {
    fn clone(&self) -> Self {
        let groups = self.groups.read().unwrap_or_else(PoisonError::into_inner).clone();
        let own = self.own.read().unwrap_or_else(PoisonError::into_inner).clone();
        Self {
            identity: self.identity.clone(),
            meta: self.meta.clone(),
            narrowing: self.narrowing.clone(),
            groups: RwLock::new(groups),
            own: RwLock::new(own),
            narrowed: Mutex::default(),
        }
    }
}

impl Runtime {
    /// Calls that belong together under `name`.
    pub fn session(&self, name: impl Into<String>) -> Session {
        Session { runtime: self.clone(), state: Arc::new(SessionState::named(name.into())), pinned: None }
    }

    /// Calls that belong to nobody in particular.
    pub(super) fn anonymous(&self) -> Session {
        Session { runtime: self.clone(), state: Arc::clone(&self.shared.anonymous), pinned: None }
    }
}

impl Session {
    /// The user on whose behalf it calls.
    #[must_use]
    pub fn user(self, user: impl Into<String>) -> Self {
        self.with(|state| {
            state.identity.user = Some(user.into());
            state.made_anew();
        })
    }

    /// The agent that calls.
    #[must_use]
    pub fn agent(self, agent: impl Into<String>) -> Self {
        self.with(|state| {
            state.identity.agent = Some(agent.into());
            state.made_anew();
        })
    }

    /// Metadata of all its calls; that of a call and that of hooks win over it.
    #[must_use]
    pub fn meta(self, key: impl Into<String>, value: impl Into<String>) -> Self {
        let key = key.into();
        self.with(|state| {
            state.meta.retain(|(known, _)| *known != key);
            state.meta.push((key, value.into()));
        })
    }

    /// Takes something from the grants of every tool that it calls, in addition to what was taken before. Nothing gives
    /// it back.
    ///
    /// # Errors
    /// [`Error::Grant`] for a guest path that is not absolute and plain, a wrong pattern, and an
    /// empty name.
    pub fn narrow(self, narrowing: Narrowing) -> Result<Self> {
        let all = self.state.narrowing.clone().and(narrowing)?;
        Ok(self.with(|state| {
            state.narrowing = all;
            state.narrowed.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        }))
    }

    /// Adds tools that only this session has, all or none. They never take the place of the runtime's.
    ///
    /// # Errors
    /// When a name is taken or cannot be used.
    pub fn tools(&self, tools: impl IntoIterator<Item = impl Into<AnyNativeTool>>) -> Result<()> {
        let placed = tools.into_iter().map(|tool| self.place(tool.into())).collect::<Result<Vec<_>>>()?;
        self.own();
        let mut own = self.state.own.write().unwrap_or_else(PoisonError::into_inner);
        let mut all = own.tools.as_deref().cloned().unwrap_or_default();
        placed.iter().try_for_each(|placed| all.add(Arc::clone(placed)))?;
        own.added.extend(placed);
        own.tools = Some(Arc::new(all));
        Ok(())
    }

    /// What is unusual about its own tools, in words: those of the factory that were left out.
    pub fn warnings(&self) -> Vec<String> {
        self.own();
        self.state.own.read().unwrap_or_else(PoisonError::into_inner).warnings.clone()
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

    /// The tool of that name as this session has it, switched off or not.
    pub fn get(&self, name: &str) -> Option<Arc<Tool>> {
        self.placed(name)?.ok().map(|placed| self.shown(&placed))
    }

    /// What the tool of that name is granted when this session calls it.
    pub fn grant(&self, name: &str) -> Option<Grant> {
        self.get(name).map(|tool| tool.grant())
    }

    /// The tools that it can call, in the order of their names. A tool that switches groups on for a session is none of
    /// those of calls without a session.
    pub fn list(&self) -> Vec<Arc<Tool>> {
        let is_of_nobody = |tool: &Tool| tool.switches_groups() && self.state.name().is_none();
        let active = self
            .all()
            .into_iter()
            .filter(|placed| self.is_active(&placed.tool) && !is_of_nobody(&placed.tool));
        active.filter_map(|placed| self.narrowed(placed).ok()).map(|placed| self.shown(&placed)).collect()
    }

    /// Rules of usage for the system prompt, by component, of the tools that it can call.
    pub fn instructions(&self) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> = Vec::new();
        for tool in self.list() {
            let Some(instructions) = tool.instructions() else { continue };
            if !all.iter().any(|(component, _)| component == tool.component()) {
                all.push((tool.component().to_owned(), instructions.to_owned()));
            }
        }
        all.sort();
        all
    }

    /// The tools that there are for it, switched off or not, in the order of their names.
    pub(super) fn all(&self) -> Vec<Arc<Placed>> {
        let (all, own) = (self.runtime.shared.registry.now(), self.own());
        let beside = own.iter().filter(|placed| all.get(placed.tool.name()).is_none());
        let mut tools: Vec<Arc<Placed>> = all.iter().chain(beside).cloned().collect();
        tools.sort_by(|one, other| one.tool.name().cmp(other.tool.name()));
        tools
    }

    /// The tool of that name with what is left of its grants. An error is one of narrowing them.
    pub(super) fn placed(&self, name: &str) -> Option<Result<Arc<Placed>>> {
        let found = self.runtime.shared.registry.now().get(name).cloned();
        // A session's own was placed before a reload, maybe.
        let own = || self.own().get(name).map(|placed| self.runtime.shared.registry.placed_now(placed));
        let found = found.or_else(own)?;
        Some(self.narrowed(found))
    }

    /// The names that somebody who wrote `name` may have meant.
    pub(super) fn nearest(&self, name: &str) -> Vec<String> {
        let tools = self.list();
        let near = crate::schema::nearest(name, tools.iter().map(|tool| tool.name()));
        near.into_iter().map(str::to_owned).collect()
    }

    /// The tool as its model is told of it.
    fn shown(&self, placed: &Placed) -> Arc<Tool> {
        if placed.tool.switches_groups() {
            return Arc::new(placed.tool.described(self.described_groups(&placed.tool)));
        }
        Arc::clone(&placed.tool)
    }

    /// The tool with what the session leaves of its grants, made when it is first asked for.
    fn narrowed(&self, placed: Arc<Placed>) -> Result<Arc<Placed>> {
        if self.state.narrowing.is_none() {
            return Ok(placed);
        }
        let mut narrowed = self.state.narrowed.lock().unwrap_or_else(PoisonError::into_inner);
        let address = Arc::as_ptr(&placed).addr();
        if let Some(known) = narrowed.get(&address).filter(|known| known.of.strong_count() > 0) {
            return Ok(known.to.clone().unwrap_or(placed));
        }
        let registry = &self.runtime.shared.registry;
        let tool = placed.tool.narrowed(&self.state.narrowing)?;
        let to = tool.map(|tool| registry.placed(Arc::new(tool)));
        narrowed.retain(|_, known| known.of.strong_count() > 0);
        narrowed.insert(address, Narrowed { of: Arc::downgrade(&placed), to: to.clone() });
        Ok(to.unwrap_or(placed))
    }

    /// The session's own tools, made by the runtime's factory when first asked for.
    pub(super) fn own(&self) -> Arc<Tools> {
        let known = self.state.own.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(tools) = &known.tools {
            return Arc::clone(tools);
        }
        let added = known.added.clone();
        drop(known);
        let mut all = Tools::default();
        let mut warnings = Vec::new();
        let made = added.into_iter().map(Ok).chain(self.made());
        for placed in made {
            if let Err(error) = placed.and_then(|placed| all.add(placed)) {
                warnings.push(format!("a tool of the session is left out: {error}"));
            }
        }
        let mut own = self.state.own.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been first; its tools are in use.
        if own.tools.is_none() {
            own.warnings = warnings;
        }
        Arc::clone(own.tools.get_or_insert(Arc::new(all)))
    }

    /// What the factory makes for this session; nothing if it panics.
    fn made(&self) -> Vec<Result<Arc<Placed>>> {
        let Some(factory) = &self.runtime.shared.session_tools else { return Vec::new() };
        let made = catch_unwind(AssertUnwindSafe(|| factory(&self.state.identity)));
        let failed = || vec![Err(Error::component("session tools", "their factory panicked"))];
        made.map_or_else(|_| failed(), |tools| tools.into_iter().map(|tool| self.place(tool)).collect())
    }

    fn place(&self, tool: AnyNativeTool) -> Result<Arc<Placed>> {
        let shared = &self.runtime.shared;
        let tool = Arc::new(shared.terms().loading.native(tool)?);
        shared.registry.now().refuse_taken(&tool)?;
        Ok(shared.registry.placed(tool))
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
