//! The tools that there are, by name, with the hooks that apply to each. A call takes the tools as they are when it
//! begins, and finishes with what it took. Load order never matters: a name is taken once, or it is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::watch;

use crate::error::{Error, Result};
use crate::hook::{HookEntry, Placement};
use crate::policy::{Action, Known, Rules, ToolRules};
use crate::schema::{nearest, spellings};
use crate::tool::Tool;

/// A tool with what is known of its calls before the first of them.
#[derive(Debug)]
pub(crate) struct Placed {
    pub tool: Arc<Tool>,
    pub hooks: ToolHooks,
    pub rules: ToolRules,
    /// Which hooks and rules these are of.
    of: Arc<Policies>,
}

/// The hooks and rules that tools are placed under.
#[derive(Debug)]
pub(crate) struct Policies {
    pub hooks: Vec<Placement>,
    pub rules: Rules,
}

impl Policies {
    fn are_watching(&self) -> bool {
        self.hooks.iter().any(|hook| hook.entry.events.changed)
    }

    fn placed(self: &Arc<Self>, tool: Arc<Tool>) -> Arc<Placed> {
        let hooks = ToolHooks::of(&tool, &self.hooks);
        let rules = match tool.signature() {
            Some(signature) => {
                self.rules.for_types(&tool.subject(), &|name, value| spellings(signature, name, value))
            }
            None => self.rules.for_tool(&tool.subject()),
        };
        Arc::new(Placed { tool, hooks, rules, of: Arc::clone(self) })
    }
}

impl Placed {
    /// Whether every call of the tool may run, whatever its arguments, with nothing to be done before or after it.
    pub fn is_free(&self) -> bool {
        self.hooks.is_empty() && self.rules.is_always() == Some(Action::Allow)
    }
}

/// The hooks that apply to one tool, by what they do, each in the order of registration.
#[derive(Debug, Default)]
pub(crate) struct ToolHooks {
    pub pre: Vec<Arc<HookEntry>>,
    pub around: Vec<Arc<HookEntry>>,
    pub post: Vec<Arc<HookEntry>>,
}

impl ToolHooks {
    fn of(tool: &Tool, placements: &[Placement]) -> Self {
        let mut hooks = Self::default();
        for placement in placements.iter().filter(|placement| placement.applies_to(tool)) {
            let entry = &placement.entry;
            let lists = [
                (entry.events.pre, &mut hooks.pre),
                (entry.events.around, &mut hooks.around),
                (entry.events.post, &mut hooks.post),
            ];
            for (wanted, list) in lists {
                if wanted {
                    list.push(Arc::clone(entry));
                }
            }
        }
        hooks
    }

    /// Their names with what they are set to, in the order of registration as far as they have the same part in a call.
    pub fn named(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for entry in self.pre.iter().chain(&self.around).chain(&self.post) {
            let terms = entry.hook.terms().map(|terms| format!(": {terms}")).unwrap_or_default();
            let named = format!("{}{terms}", entry.name());
            if !all.contains(&named) {
                all.push(named);
            }
        }
        all
    }

    /// Whether these are the same hooks.
    pub fn are(&self, others: &Self) -> bool {
        let are = |ours: &[Arc<HookEntry>], others: &[Arc<HookEntry>]| {
            let is_same =
                |(one, other): (&Arc<HookEntry>, &Arc<HookEntry>)| Arc::ptr_eq(&one.hook, &other.hook);
            ours.len() == others.len() && ours.iter().zip(others).all(is_same)
        };
        are(&self.pre, &others.pre) && are(&self.around, &others.around) && are(&self.post, &others.post)
    }

    pub fn is_empty(&self) -> bool {
        self.pre.is_empty() && self.around.is_empty() && self.post.is_empty()
    }
}

/// Tools by name, at one moment.
#[derive(Debug, Default, Clone)]
pub(crate) struct Tools {
    placed: BTreeMap<String, Arc<Placed>>,
    inactive: BTreeSet<String>,
}

/// What a reload puts in the place of what was there.
pub(crate) struct Replacement {
    pub old: Vec<Arc<Tool>>,
    pub new: Vec<Arc<Tool>>,
    pub policies: Policies,
    /// Groups that are to be switched on and off.
    pub on: Vec<String>,
    pub off: Vec<String>,
}

impl Tools {
    pub fn get(&self, name: &str) -> Option<&Arc<Placed>> {
        self.placed.get(name)
    }

    /// All tools in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Placed>> {
        self.placed.values()
    }

    /// Whether the group is switched on, as far as all sessions are concerned.
    pub fn is_active(&self, group: Option<&str>) -> bool {
        group.is_none_or(|group| !self.inactive.contains(group))
    }

    /// An error if the tool's name is taken, naming both places and the settings that help.
    pub fn refuse_taken(&self, tool: &Tool) -> Result<()> {
        let Some(other) = self.placed.get(tool.name()) else { return Ok(()) };
        let place = |tool: &Tool| format!("`{}` of component `{}`", tool.origin(), tool.component());
        Err(Error::DuplicateTool {
            name: tool.name().to_owned(),
            first: place(&other.tool),
            second: place(tool),
        })
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// When its name is taken.
    pub fn add(&mut self, placed: Arc<Placed>) -> Result<()> {
        self.refuse_taken(&placed.tool)?;
        self.placed.insert(placed.tool.name().to_owned(), placed);
        Ok(())
    }
}

/// Tools that come and go.
#[derive(Debug)]
pub(crate) struct Registry {
    tools: RwLock<Arc<Tools>>,
    /// Replaced only while `tools` is locked.
    policies: RwLock<Arc<Policies>>,
    /// Whether a hook wants to know of changes: asked by every call.
    is_watched: AtomicBool,
    changed: watch::Sender<u64>,
}

impl Registry {
    pub fn new(policies: Policies, inactive: BTreeSet<String>) -> Self {
        let policies = Arc::new(policies);
        let tools = Tools { inactive, ..Tools::default() };
        Self {
            tools: RwLock::new(Arc::new(tools)),
            is_watched: AtomicBool::new(policies.are_watching()),
            policies: RwLock::new(policies),
            changed: watch::Sender::new(0),
        }
    }

    /// The tools as they are now.
    pub fn now(&self) -> Arc<Tools> {
        Arc::clone(&self.tools.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// All hooks, whatever tools there are for them.
    pub fn hooks(&self) -> Vec<Arc<HookEntry>> {
        self.policies().hooks.iter().map(|placement| Arc::clone(&placement.entry)).collect()
    }

    /// Whether some hook is told of what runs may have changed.
    pub fn is_watched(&self) -> bool {
        self.is_watched.load(Ordering::Acquire)
    }

    /// Tells all hooks that want to know that a run of `tool` may have changed something, whatever tools they are for.
    pub fn tell_changed(&self, tool: &Tool) {
        let policies = self.policies();
        let watching = policies.hooks.iter().map(|hook| &hook.entry).filter(|entry| entry.events.changed);
        watching.for_each(|entry| entry.hook.changed(tool));
    }

    fn policies(&self) -> Arc<Policies> {
        Arc::clone(&self.policies.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// A number that changes whenever the tools or the groups do.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// By which others tell that something about the tools has changed.
    pub fn teller(&self) -> watch::Sender<u64> {
        self.changed.clone()
    }

    /// Tells that a session has switched a group.
    pub fn switched_by_session(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    /// The tool with what applies to its calls.
    pub fn placed(&self, tool: Arc<Tool>) -> Arc<Placed> {
        self.policies().placed(tool)
    }

    /// The same tool with what applies to its calls now.
    pub fn placed_now(&self, placed: &Arc<Placed>) -> Arc<Placed> {
        let policies = self.policies();
        if Arc::ptr_eq(&policies, &placed.of) {
            return Arc::clone(placed);
        }
        policies.placed(Arc::clone(&placed.tool))
    }

    /// Puts tools, hooks and rules in the place of others, all at once or not at all. What else there is stays, under the
    /// new hooks and rules.
    ///
    /// # Errors
    /// When a name is taken, naming both places and the settings that help.
    pub fn replace(&self, replacement: Replacement) -> Result<()> {
        self.change(|all| {
            let policies = Arc::new(replacement.policies);
            let is_old = |tool: &Arc<Tool>| replacement.old.iter().any(|old| Arc::ptr_eq(old, tool));
            let before = std::mem::take(&mut all.placed);
            let kept =
                before.into_values().map(|placed| Arc::clone(&placed.tool)).filter(|tool| !is_old(tool));
            for tool in kept.chain(replacement.new) {
                all.add(policies.placed(tool))?;
            }
            all.inactive.retain(|group| !replacement.on.contains(group));
            all.inactive.extend(replacement.off);
            self.is_watched.store(policies.are_watching(), Ordering::Release);
            *self.policies.write().unwrap_or_else(PoisonError::into_inner) = policies;
            Ok(true)
        })
    }

    /// Adds tools, all or none.
    ///
    /// # Errors
    /// When a name is taken, naming both places and the settings that help.
    pub fn add(&self, tools: Vec<Arc<Tool>>) -> Result<()> {
        self.change(|all| {
            let are_new = !tools.is_empty();
            tools.into_iter().try_for_each(|tool| all.add(self.placed(tool)))?;
            Ok(are_new)
        })
    }

    /// What rules say of paths that no path is.
    pub fn without_paths(&self) -> Vec<String> {
        self.policies().rules.without_paths()
    }

    /// What rules and hooks say of tools that there are none of; where these are not all, what rules say of those that there are.
    pub fn unmatched(&self, is_all: bool) -> Vec<String> {
        let tools = self.now();
        let known = Known {
            tools: tools.iter().map(|placed| (placed.tool.subject(), placed.tool.input_schema())).collect(),
            is_all,
            nearest: |written, names| nearest(written, names).into_iter().map(str::to_owned).collect(),
        };
        let policies = self.policies();
        let mut unmatched = policies.rules.unmatched(&known);
        if is_all {
            unmatched.extend(policies.hooks.iter().flat_map(|hook| hook.unmatched(&known)));
        }
        unmatched
    }

    /// Removes these tools; one of the same name that took the place of one of them stays.
    pub fn remove(&self, tools: &[Arc<Tool>]) {
        let _ = self.change(|all| {
            let before = all.placed.len();
            all.placed.retain(|_, placed| !tools.iter().any(|tool| Arc::ptr_eq(tool, &placed.tool)));
            Ok(all.placed.len() != before)
        });
    }

    /// Switches a group on or off. Returns whether there is such a group.
    pub fn switch(&self, group: &str, on: bool) -> bool {
        let mut exists = false;
        let _ = self.change(|all| {
            exists = all.placed.values().any(|placed| placed.tool.group() == Some(group));
            Ok(if on { all.inactive.remove(group) } else { exists && all.inactive.insert(group.to_owned()) })
        });
        exists
    }

    /// Does `change`, which says whether it changed anything.
    fn change(&self, change: impl FnOnce(&mut Tools) -> Result<bool>) -> Result<()> {
        let mut current = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        let mut all = Tools::clone(&current);
        if change(&mut all)? {
            *current = Arc::new(all);
            drop(current);
            self.changed.send_modify(|count| *count += 1);
        }
        Ok(())
    }
}
