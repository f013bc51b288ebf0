//! The rules of a runtime, checked and compiled; which of them concern a tool; what they decide about a call.

use std::sync::Arc;

use serde_json::Value;

use super::Action;
use super::compiled::CompiledRule;
use super::path::{GuestPaths, Remembered};
use super::spec::{Rule, RulePart};
use crate::error::{Error, Result};

/// A tool, as far as rules look at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subject<'a> {
    /// The name that models call it by.
    pub tool: &'a str,
    /// Where it is in its component: `interface.function` or `function`.
    pub origin: &'a str,
    /// The name of its component.
    pub component: &'a str,
    /// The group of its component.
    pub group: Option<&'a str>,
    /// Whether it is held to reading.
    pub read_only: bool,
    /// Whether it may destroy something.
    pub destructive: bool,
}

/// What the types of a tool make of a value that a rule names for an argument.
pub(crate) type Spellings<'a> = dyn Fn(&str, &Value) -> Vec<Value> + 'a;

/// Where a decision comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleSource {
    /// The rule's address: `rule[2]`, counting from 0.
    pub setting: String,
    /// What it matches, in words; equal for rules that match the same.
    pub words: String,
    /// Its reason.
    pub reason: Option<String>,
    /// File and line, if it comes from a file.
    pub at: Option<Arc<str>>,
}

/// What rules say about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// What becomes of it.
    pub action: Action,
    /// The first rule that says so; none if the default does.
    pub deciding: Option<Arc<RuleSource>>,
    /// Every rule that asks, where the action is to ask; empty if the default asks.
    pub asks: Vec<Arc<RuleSource>>,
}

/// Checked rules with the action where none matches.
#[derive(Debug, Clone)]
pub struct Rules {
    rules: Vec<Arc<CompiledRule>>,
    default: Action,
}

impl Rules {
    /// Checks and compiles rules: their patterns, and that their examples match or do not.
    ///
    /// # Errors
    /// [`Error::Config`] for the first that is wrong, with its file and line if it has one.
    pub fn new(rules: Vec<Rule>, default: Action) -> Result<Self> {
        let compile = |(index, rule): (usize, Rule)| {
            let setting = match &*rule.origin.setting {
                "" => format!("rule[{index}]"),
                setting => setting.to_owned(),
            };
            let at = rule.origin.at.clone();
            CompiledRule::new(rule, &setting).map(Arc::new).map_err(|problems| {
                let (part, problem) = problems
                    .into_iter()
                    .next()
                    .unwrap_or_else(|| (RulePart::Key("action"), "cannot be used".to_owned()));
                let message = format!("`{setting}.{part}`: {problem}");
                Error::Config { at: at.map_or(setting, |at| at.to_string()), message }
            })
        };
        let rules = rules.into_iter().enumerate().map(compile).collect::<Result<_>>()?;
        Ok(Self { rules, default })
    }

    /// Every rule, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &CompiledRule> {
        self.rules.iter().map(|rule| &**rule)
    }

    /// Those that concern a tool.
    pub fn for_tool(&self, subject: &Subject<'_>) -> ToolRules {
        self.for_types(subject, &|_, _| Vec::new())
    }

    /// The same for a tool whose arguments have types: what the rules name is compared as these spell it, too.
    pub(crate) fn for_types(&self, subject: &Subject<'_>, spellings: &Spellings<'_>) -> ToolRules {
        let mut concerning =
            ToolRules { deny: Vec::new(), ask: Vec::new(), allow: Vec::new(), default: self.default };
        for rule in self.rules.iter().filter(|rule| rule.concerns(subject)) {
            let spelt = rule.spelt(spellings).map_or_else(|| Arc::clone(rule), Arc::new);
            concerning.of_mut(rule.rule.action).push(spelt);
        }
        concerning
    }
}

/// The rules that concern one tool.
#[derive(Debug, Clone)]
pub struct ToolRules {
    deny: Vec<Arc<CompiledRule>>,
    ask: Vec<Arc<CompiledRule>>,
    allow: Vec<Arc<CompiledRule>>,
    default: Action,
}

impl ToolRules {
    fn of_mut(&mut self, action: Action) -> &mut Vec<Arc<CompiledRule>> {
        match action {
            Action::Deny => &mut self.deny,
            Action::Ask => &mut self.ask,
            Action::Allow => &mut self.allow,
        }
    }

    /// Whether a decision asks where paths lead, which may block.
    pub fn needs_paths(&self) -> bool {
        let mut rules = self.deny.iter().chain(&self.ask).chain(&self.allow);
        rules.any(|rule| rule.needs_paths())
    }

    /// What becomes of every call of the tool, if that does not depend on arguments.
    pub fn is_always(&self) -> Option<Action> {
        let is_plain = |rule: &Arc<CompiledRule>| rule.rule.arguments.is_empty();
        let strictest = [(&self.deny, Action::Deny), (&self.ask, Action::Ask), (&self.allow, Action::Allow)];
        for (rules, action) in strictest {
            if rules.iter().any(is_plain) {
                return Some(action);
            }
            if !rules.is_empty() {
                return None;
            }
        }
        Some(self.default)
    }

    /// Decides about a call: deny rules by the arguments as they came and by the last ones, the others by the last.
    /// Blocks on the file system if [`needs_paths`](Self::needs_paths).
    pub fn decide(&self, original: &Value, last: &Value, paths: &dyn GuestPaths) -> Decision {
        let paths = Remembered::new(paths);
        let denies = |rule: &&Arc<CompiledRule>| rule.matches(last, &paths) || rule.matches(original, &paths);
        if let Some(rule) = self.deny.iter().find(denies) {
            return Decision::of(Action::Deny, Some(&rule.source));
        }
        let asks = self.ask.iter().filter(|rule| rule.matches(last, &paths));
        let asks: Vec<Arc<RuleSource>> = asks.map(|rule| Arc::clone(&rule.source)).collect();
        if let Some(first) = asks.first() {
            return Decision { asks: asks.clone(), ..Decision::of(Action::Ask, Some(first)) };
        }
        match self.allow.iter().find(|rule| rule.matches(last, &paths)) {
            Some(rule) => Decision::of(Action::Allow, Some(&rule.source)),
            None => Decision::of(self.default, None),
        }
    }
}

impl Decision {
    fn of(action: Action, deciding: Option<&Arc<RuleSource>>) -> Self {
        Self { action, deciding: deciding.cloned(), asks: Vec::new() }
    }
}
