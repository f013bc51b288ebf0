//! A rule as it is written, before its patterns are compiled.

use std::fmt;

use serde_json::Value;

use super::Action;
use super::matcher::Matcher;
use crate::limits::Origin;

/// One rule. All that it says of a call must hold for it to match; one that says nothing matches every call.
///
/// ```
/// use toolcell::policy::Rule;
/// let rule = Rule::deny("write_*").argument("path", "/work/secrets/**").reason("secrets are not for agents");
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Rule {
    /// What becomes of a call that it matches.
    pub action: Action,
    /// Globs of tools, of which one must match; none is every tool. A tool is known by its name and by
    /// `interface.function` of its component.
    pub tools: Vec<String>,
    /// A glob of the component's name.
    pub component: Option<String>,
    /// The component's group.
    pub group: Option<String>,
    /// Whether the tool is held to reading.
    pub read_only: Option<bool>,
    /// Whether the tool may destroy something.
    pub destructive: Option<bool>,
    /// Arguments by name (`edits.path` is inside, also of each item of a list), each with what it must be. An
    /// argument that is not there matches nothing but null.
    pub arguments: Vec<(String, Matcher)>,
    /// Why, for the model and for whoever is asked.
    pub reason: Option<String>,
    /// Example arguments that the rule must match, checked when it is loaded.
    pub matches: Vec<Value>,
    /// Example arguments that it must not match.
    pub no_match: Vec<Value>,
    /// Where it was written.
    pub origin: Origin,
}

/// A part of a rule, by which a mistake is placed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RulePart {
    /// A key.
    Key(&'static str),
    /// An item of a key's list, from 0.
    Item(&'static str, usize),
    /// An argument.
    Argument(String),
}

impl Rule {
    /// A rule for every tool.
    pub fn new(action: Action) -> Self {
        Self {
            action,
            tools: Vec::new(),
            component: None,
            group: None,
            read_only: None,
            destructive: None,
            arguments: Vec::new(),
            reason: None,
            matches: Vec::new(),
            no_match: Vec::new(),
            origin: Origin::default(),
        }
    }

    /// Allows calls of the tools that a glob matches.
    pub fn allow(tools: impl Into<String>) -> Self {
        Self::new(Action::Allow).tools([tools])
    }

    /// Asks about calls of the tools that a glob matches.
    pub fn ask(tools: impl Into<String>) -> Self {
        Self::new(Action::Ask).tools([tools])
    }

    /// Denies calls of the tools that a glob matches.
    pub fn deny(tools: impl Into<String>) -> Self {
        Self::new(Action::Deny).tools([tools])
    }

    /// Adds globs of tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tools.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Only tools of the components that a glob matches.
    #[must_use]
    pub fn component(mut self, component: impl Into<String>) -> Self {
        self.component = Some(component.into());
        self
    }

    /// Only tools of a group.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// Only tools that are held to reading, or only those that are not.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = Some(read_only);
        self
    }

    /// Only tools that may destroy something, or only those that do not.
    #[must_use]
    pub fn destructive(mut self, destructive: bool) -> Self {
        self.destructive = Some(destructive);
        self
    }

    /// Only calls with an argument that matches.
    #[must_use]
    pub fn argument(mut self, name: impl Into<String>, matcher: impl Into<Matcher>) -> Self {
        self.arguments.push((name.into(), matcher.into()));
        self
    }

    /// Says why.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Adds example arguments that it must match.
    #[must_use]
    pub fn matches(mut self, arguments: Value) -> Self {
        self.matches.push(arguments);
        self
    }

    /// Adds example arguments that it must not match.
    #[must_use]
    pub fn no_match(mut self, arguments: Value) -> Self {
        self.no_match.push(arguments);
        self
    }
}

impl fmt::Display for RulePart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => formatter.write_str(key),
            Self::Item(key, index) => write!(formatter, "{key}[{index}]"),
            Self::Argument(name) => write!(formatter, "arguments.{name}"),
        }
    }
}
