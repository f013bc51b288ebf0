//! Rules on calls: what is denied, what is asked about, what is allowed.
//!
//! Grants are the boundary; a rule looks at arguments and is a guard rail. Deny beats ask beats allow, whatever the
//! order of the rules, and whatever is uncertain tightens: a deny or ask rule holds if any spelling of an argument
//! matches, an allow rule only if all of them do. A rule on a path says nothing of what a tool does below a folder
//! that it is given: `deny` of a directory grant does.

mod compiled;
mod matcher;
mod names;
mod path;
mod relative;
mod same;
mod set;
mod spec;
#[cfg(test)]
mod tests;
mod unmatched;
mod words;

use serde::{Deserialize, Serialize};

pub use matcher::Matcher;
pub(crate) use names::ToolGlob;
pub use path::{GuestPaths, NoPaths};
pub(crate) use path::{MAX_PATH, lexical, squeezed};
pub use set::{Decision, RuleSource, Rules, Subject, ToolRules};
pub use spec::{Rule, RulePart};
pub(crate) use unmatched::{Filters, Known};

/// What becomes of a call, from the loosest to the strictest.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// It runs.
    #[default]
    Allow,
    /// It runs once somebody has approved it.
    Ask,
    /// It does not run.
    Deny,
}

impl Action {
    /// The action as it is written in a configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}
