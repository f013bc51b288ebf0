//! One rule with its patterns compiled, and when it matches.

use std::sync::Arc;

use serde_json::Value;

use super::Action;
use super::matcher::{Compiled, Reading};
use super::names::ToolGlob;
use super::path::{NoPaths, Remembered};
use super::set::{RuleSource, Spellings, Subject};
use super::spec::{Rule, RulePart};
use super::words::words;
use crate::output::clean;

/// A rule with its patterns compiled.
#[derive(Debug)]
pub(super) struct CompiledRule {
    pub(super) rule: Rule,
    pub(super) source: Arc<RuleSource>,
    tools: Vec<ToolGlob>,
    component: Option<ToolGlob>,
    arguments: Vec<(String, Compiled)>,
}

impl Rule {
    /// Everything that is wrong with it, each with its part; nothing if it can be used.
    pub fn problems(&self) -> Vec<(RulePart, String)> {
        CompiledRule::new(self.clone(), "").err().unwrap_or_default()
    }

    /// What it matches, in words.
    pub fn words(&self) -> String {
        clean(&words(self)).into_owned()
    }

    pub(super) fn reading(&self) -> Reading {
        if self.action == Action::Allow { Reading::Narrow } else { Reading::Wide }
    }
}

impl CompiledRule {
    /// Compiles a rule; `setting` is its address.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its part.
    pub(super) fn new(rule: Rule, setting: &str) -> Result<Self, Vec<(RulePart, String)>> {
        let mut problems = Vec::new();
        let tools = rule.tools.iter().enumerate().filter_map(|(index, pattern)| {
            ToolGlob::new(pattern)
                .map_err(|message| problems.push((RulePart::Item("tools", index), message)))
                .ok()
        });
        let tools: Vec<ToolGlob> = tools.collect();
        let component = rule.component.as_deref().and_then(|pattern| {
            ToolGlob::new(pattern)
                .map_err(|message| problems.push((RulePart::Key("component"), message)))
                .ok()
        });
        let arguments = rule.arguments.iter().filter_map(|(name, matcher)| match Compiled::new(matcher) {
            Ok(compiled) => Some((name.clone(), compiled)),
            Err(message) => {
                problems.push((RulePart::Argument(name.clone()), message));
                None
            }
        });
        let arguments: Vec<(String, Compiled)> = arguments.collect();
        if !problems.is_empty() {
            return Err(problems);
        }
        let source = RuleSource {
            setting: setting.to_owned(),
            words: rule.words(),
            reason: rule.reason.as_deref().map(|reason| clean(reason).into_owned()),
            at: rule.origin.at.clone(),
        };
        let compiled = Self { rule, source: Arc::new(source), tools, component, arguments };
        let wrong = compiled.wrong_examples();
        if wrong.is_empty() { Ok(compiled) } else { Err(wrong) }
    }

    fn wrong_examples(&self) -> Vec<(RulePart, String)> {
        let lists = [("match", &self.rule.matches, true), ("no_match", &self.rule.no_match, false)];
        let examples = lists.into_iter().flat_map(|(key, examples, expected)| {
            examples.iter().enumerate().map(move |(index, example)| (key, index, example, expected))
        });
        let paths = Remembered::new(&NoPaths);
        let wrong = examples.filter_map(|(key, index, example, expected)| {
            let message = if !example.is_object() {
                "an example is the arguments of a call: a table".to_owned()
            } else if self.matches(example, &paths) == expected {
                return None;
            } else if expected {
                format!("the rule does not match this example: it is for {}", self.source.words)
            } else {
                format!("the rule matches this example, which it should not: it is for {}", self.source.words)
            };
            Some((RulePart::Item(key, index), message))
        });
        wrong.collect()
    }

    /// Whether all that the rule says of the tool holds.
    pub(super) fn concerns(&self, subject: &Subject<'_>) -> bool {
        let Rule { group, read_only, destructive, .. } = &self.rule;
        let reading = self.rule.reading();
        (self.tools.is_empty() || self.tools.iter().any(|glob| glob.matches_tool(subject, reading)))
            && self.component.as_ref().is_none_or(|glob| glob.matches(subject.component, reading))
            && group.as_deref().is_none_or(|group| subject.group == Some(group))
            && read_only.is_none_or(|read_only| subject.read_only == read_only)
            && destructive.is_none_or(|destructive| subject.destructive == destructive)
    }

    /// The same rule where the types of a tool spell something that it names in another way.
    pub(super) fn spelt(&self, spellings: &Spellings<'_>) -> Option<Self> {
        let reading = self.rule.reading();
        let mut is_spelt = false;
        let arguments = self.arguments.iter().map(|(name, matcher)| {
            let spelt = matcher.spelt(reading, &|value| spellings(name, value));
            is_spelt |= spelt.is_some();
            (name.clone(), spelt.unwrap_or_else(|| matcher.clone()))
        });
        let arguments = arguments.collect();
        is_spelt.then(|| Self {
            rule: self.rule.clone(),
            source: Arc::clone(&self.source),
            tools: self.tools.clone(),
            component: self.component.clone(),
            arguments,
        })
    }

    /// Its patterns of tools, in the order of the rule.
    pub(super) fn tools(&self) -> &[ToolGlob] {
        &self.tools
    }

    /// Its pattern of components.
    pub(super) fn component(&self) -> Option<&ToolGlob> {
        self.component.as_ref()
    }

    /// Whether it asks where paths lead.
    pub(super) fn needs_paths(&self) -> bool {
        self.arguments.iter().any(|(_, matcher)| matcher.needs_paths())
    }

    /// Whether the arguments are as the rule has them; the tool is known to be.
    pub(super) fn matches(&self, arguments: &Value, paths: &Remembered<'_>) -> bool {
        let reading = self.rule.reading();
        self.arguments.iter().all(|(name, matcher)| {
            let mut found = Vec::new();
            let complete = find(arguments, name, &mut found);
            if found.is_empty() {
                return matcher.matches(&Value::Null, reading, paths);
            }
            let mut found = found.into_iter();
            let is_null = || matcher.matches(&Value::Null, reading, paths);
            match reading {
                Reading::Wide => {
                    found.any(|value| matcher.matches(value, reading, paths)) || (!complete && is_null())
                }
                Reading::Narrow => {
                    found.all(|value| matcher.matches(value, reading, paths)) && (complete || is_null())
                }
            }
        })
    }
}

/// Adds what `name` can mean in `value`: a member of that name and, since names may have dots in them, members of
/// members, also of each item of a list. Says whether every item of every list had one.
fn find<'v>(value: &'v Value, name: &str, found: &mut Vec<&'v Value>) -> bool {
    match value {
        Value::Object(members) => {
            let before = found.len();
            found.extend(members.get(name));
            let mut complete = true;
            for (dot, _) in name.match_indices('.') {
                let (outer, inner) = (name.get(..dot), name.get(dot + 1..));
                if let (Some(value), Some(inner)) = (outer.and_then(|outer| members.get(outer)), inner) {
                    complete &= find(value, inner, found);
                }
            }
            complete && found.len() > before
        }
        Value::Array(items) => {
            let mut complete = true;
            for item in items {
                complete &= find(item, name, found);
            }
            complete
        }
        _ => false,
    }
}
