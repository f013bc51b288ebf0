//! A hook with the calls that it applies to.

use std::sync::Arc;
use std::time::Duration;

use super::{Events, Hook};
use crate::error::{Error, Result};
use crate::policy::{Filters, Known, ToolGlob};
use crate::tool::Tool;

/// How long `pre` and `post` of a hook may take, unless it is said otherwise.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// A hook, where it applies and how long it may take. Any [`Hook`] is one that applies everywhere.
#[derive(Clone)]
pub struct HookEntry {
    pub(crate) hook: Arc<dyn Hook>,
    pub(crate) events: Events,
    pub(crate) timeout: Duration,
    pub(crate) redacts: bool,
    /// Where it was configured.
    at: Option<String>,
    tools: Vec<String>,
    component: Option<String>,
    group: Option<String>,
}

impl HookEntry {
    /// A hook for every call, with 5 seconds for each of `pre` and `post`.
    pub fn new(hook: impl Hook) -> Self {
        Self::shared(Arc::new(hook))
    }

    /// The same for a hook that somebody else keeps as well.
    pub fn shared(hook: Arc<dyn Hook>) -> Self {
        Self {
            events: hook.events(),
            hook,
            timeout: DEFAULT_TIMEOUT,
            redacts: false,
            at: None,
            tools: Vec::new(),
            component: None,
            group: None,
        }
    }

    /// Only for tools that one of these globs matches: by name, by `interface.function` in the component, or by
    /// the function alone, so that a new name takes no tool away from a hook. Case makes no difference.
    #[must_use]
    pub fn tools(mut self, globs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tools = globs.into_iter().map(Into::into).collect();
        self
    }

    /// Only for tools of the components that match this glob.
    #[must_use]
    pub fn component(mut self, glob: impl Into<String>) -> Self {
        self.component = Some(glob.into());
        self
    }

    /// Only for tools of this group.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// Only these of its methods; what it is told of changes stays.
    #[must_use]
    pub fn on(mut self, events: Events) -> Self {
        let own = self.hook.events();
        self.events = Events {
            pre: own.pre && events.pre,
            around: own.around && events.around,
            post: own.post && events.post,
            // It is about other calls than those that the hook is for.
            changed: own.changed,
        };
        self
    }

    /// How long each of `pre` and `post` may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// What its `post` does must be done: if it fails, nothing of the response goes out.
    #[must_use]
    pub fn redacts(mut self) -> Self {
        self.redacts = true;
        self
    }

    /// The entry with the file and line that configured it, for its name.
    pub(super) fn at(mut self, at: Option<&str>) -> Self {
        self.at = at.map(|at| format!("{} at {at}", self.hook.name()));
        self
    }

    /// The hook's name, with its place if a file named it.
    pub(crate) fn name(&self) -> &str {
        self.at.as_deref().unwrap_or_else(|| self.hook.name())
    }

    /// The entry with its globs read.
    ///
    /// # Errors
    /// When one of them is none.
    pub(crate) fn placed(self) -> Result<Placement> {
        let compiled = |pattern: &String| {
            let wrong = |message| Error::Config { at: format!("hook `{}`", self.name()), message };
            ToolGlob::new(pattern).map_err(wrong)
        };
        let tools = self.tools.iter().map(compiled).collect::<Result<_>>()?;
        let component = self.component.as_ref().map(compiled).transpose()?;
        Ok(Placement { entry: Arc::new(self), tools, component })
    }
}

impl<H: Hook> From<H> for HookEntry {
    fn from(hook: H) -> Self {
        Self::new(hook)
    }
}

impl std::fmt::Debug for HookEntry {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("HookEntry")
            .field("hook", &self.hook.name())
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

/// An entry whose globs are read.
#[derive(Debug, Clone)]
pub(crate) struct Placement {
    pub entry: Arc<HookEntry>,
    tools: Vec<ToolGlob>,
    component: Option<ToolGlob>,
}

impl Placement {
    /// What of the tools that it names there is none of.
    pub fn unmatched(&self, known: &Known<'_>) -> Vec<String> {
        let entry = &self.entry;
        let filters = Filters::narrowing(
            (&entry.tools, &self.tools),
            (entry.component.as_deref(), self.component.as_ref()),
            entry.group.as_deref(),
        );
        let unmatched = filters.unmatched(known).into_iter();
        unmatched.map(|what| format!("hook {}: `{}", entry.name(), what.trim_start_matches('.'))).collect()
    }

    pub fn applies_to(&self, tool: &Tool) -> bool {
        let subject = tool.subject();
        (self.tools.is_empty() || self.tools.iter().any(|glob| glob.covers_tool(&subject)))
            && self.component.as_ref().is_none_or(|glob| glob.covers_component(subject.component))
            && self.entry.group.as_deref().is_none_or(|group| subject.group == Some(group))
    }
}
