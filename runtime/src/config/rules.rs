//! Rules and what operators declare of tools, from what is written to what the runtime takes.

use serde::{Deserialize, Serialize};
use toml::de::{DeTable, DeValue};

use super::document::{Address, Document};
use super::names::component_name_fits;
use super::problem::Problems;
use super::raw::RawHints;
use super::raw_rule::{RawRule, has_date};
use super::validate::Validator;
use crate::policy::{Rule, RulePart};

/// What an operator declares of a tool, whatever its author claims. It drives reruns and parallel runs, and loosens
/// nothing that is enforced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeclaredHints {
    /// Whether a call may be made again after it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// Whether calls may run at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency_safe: Option<bool>,
}

impl DeclaredHints {
    /// These, and where they say nothing, `outer`.
    #[must_use]
    pub fn or(self, outer: Self) -> Self {
        Self {
            idempotent: self.idempotent.or(outer.idempotent),
            concurrency_safe: self.concurrency_safe.or(outer.concurrency_safe),
        }
    }
}

impl From<RawHints> for DeclaredHints {
    fn from(raw: RawHints) -> Self {
        Self { idempotent: raw.idempotent, concurrency_safe: raw.concurrency_safe }
    }
}

/// Reads each rule by itself. Those that could not be read are left out: what is refused as a whole needs no rest.
pub(super) fn read<'t>(
    table: &mut DeTable<'t>,
    document: &Document<'t>,
    problems: &mut Problems,
) -> Vec<(usize, RawRule)> {
    let address = Address::of(&["rule"]);
    let Some(value) = table.remove("rule") else { return Vec::new() };
    let DeValue::Array(rules) = value.into_inner() else {
        problems.add(document.line_of(&address), "`rule`: write a table for each, `[[rule]]`");
        return Vec::new();
    };
    let mut read = Vec::new();
    for (index, rule) in rules.into_iter().enumerate() {
        let before = problems.count();
        let rule = document.read(rule, &address.item(index), problems);
        if problems.count() == before {
            read.push((index, rule));
        }
    }
    read
}

impl Validator<'_, '_> {
    pub(super) fn rules(&mut self, raw: Vec<(usize, RawRule)>) -> Vec<Rule> {
        raw.into_iter().filter_map(|(index, raw)| self.rule(index, raw)).collect()
    }

    fn rule(&mut self, index: usize, raw: RawRule) -> Option<Rule> {
        let address = Address::of(&["rule"]).item(index);
        let Some(action) = raw.action else {
            self.problem(&address, "has no `action`; write `action = \"deny\"`, `\"ask\"` or `\"allow\"`");
            return None;
        };
        if raw.tools.as_ref().is_some_and(Vec::is_empty) {
            self.problem(&address.key("tools"), "names no tool; take it out for every tool");
        }
        if let Some(group) = &raw.group {
            self.checked(&address.key("group"), group_fits(group));
        }
        let mut rule = Rule::new(action).tools(raw.tools.unwrap_or_default());
        rule.component = raw.component;
        rule.group = raw.group;
        rule.read_only = raw.read_only;
        rule.destructive = raw.destructive;
        rule.arguments = raw.arguments.into_iter().map(|(name, matcher)| (name, matcher.0)).collect();
        rule.reason = raw.reason;
        rule.matches = raw.matches.into_iter().map(Into::into).collect();
        rule.no_match = raw.no_match.into_iter().map(Into::into).collect();
        for (key, examples) in [("match", &rule.matches), ("no_match", &rule.no_match)] {
            for (index, _) in examples.iter().enumerate().filter(|(_, example)| has_date(example)) {
                let message = "arguments are JSON, in which a date is a text; write it in quotes";
                self.problem(&address.key(key).item(index), message);
            }
        }
        rule.origin = self.document.origin(&address);
        for (part, problem) in rule.problems() {
            self.problem(&place(&address, &part), problem);
        }
        Some(rule)
    }
}

/// The address of a part of a rule.
fn place(rule: &Address, part: &RulePart) -> Address {
    match part {
        RulePart::Key(key) => rule.key(key),
        RulePart::Item(key, index) => rule.key(key).item(*index),
        RulePart::Argument(name) => rule.key("arguments").key(name),
    }
}

/// Whether `name` can be a group's.
pub(super) fn group_fits(name: &str) -> Result<(), String> {
    component_name_fits(name).map_err(|message| message.replace("a component's", "a group's"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::fmt::Write as _;
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::config::{Config, schema};
    use crate::error::Result;
    use crate::policy::{Action, Matcher};

    fn parse(text: &str) -> Result<Config> {
        Config::parse(text, Path::new("/nowhere/toolcell.toml"), "toolcell.toml", None)
    }

    const FULL: &str = r#"
[policy]
default = "ask"

[component.files]
path = "builtin:files"
group = "disk"
hints = { idempotent = true }
tool.write_file.hints = { idempotent = false, concurrency_safe = true }

[[rule]]
tools = ["write_*"]
component = "files"
group = "disk"
read_only = false
destructive = true
arguments = { path = "/work/secrets/**", count = 3, force = true, ratio = 1.5, text = "rm *" }
action = "deny"
reason = "secrets are not for agents"
match = [{ path = "/work/secrets/k", count = 3, force = true, ratio = 1.5, text = "rm x" }]
no_match = [{ path = "/work/x" }]

[[rule]]
action = "allow"
[rule.arguments]
path = ["/a/**", { glob = "/b" }]
"edits.text" = { regex = "^a" }
url = { path = "/x" }
value = { equals = { a = [1, "b"] } }
"#;

    #[test]
    fn a_rule_is_read_with_its_place() {
        let config = parse(FULL).unwrap();
        assert_eq!(
            (config.default, config.default_origin.at.as_deref()),
            (Action::Ask, Some("toolcell.toml:3"))
        );
        let [deny, allow] = config.rules.as_slice() else { unreachable!() };
        let mut expected = Rule::deny("write_*")
            .component("files")
            .group("disk")
            .read_only(false)
            .destructive(true)
            .argument("count", 3)
            .argument("force", true)
            .argument("path", "/work/secrets/**")
            .argument("ratio", Matcher::Equals(json!(1.5)))
            .argument("text", "rm *")
            .reason("secrets are not for agents")
            .matches(
                json!({ "path": "/work/secrets/k", "count": 3, "force": true, "ratio": 1.5, "text": "rm x" }),
            )
            .no_match(json!({ "path": "/work/x" }));
        expected.origin = deny.origin.clone();
        assert_eq!(*deny, expected);
        assert_eq!((&*deny.origin.setting, deny.origin.at.as_deref()), ("rule[0]", Some("toolcell.toml:11")));
        let expected = [
            ("edits.text", Matcher::Regex("^a".to_owned())),
            ("path", Matcher::Any(vec!["/a/**".into(), Matcher::Glob("/b".to_owned())])),
            ("url", Matcher::Path("/x".to_owned())),
            ("value", Matcher::Equals(json!({ "a": [1, "b"] }))),
        ];
        assert_eq!(allow.arguments, expected.map(|(name, matcher)| (name.to_owned(), matcher)));
        assert_eq!(allow.origin.at.as_deref(), Some("toolcell.toml:23"));

        let files = config.components.first().unwrap();
        assert_eq!(files.group.as_deref(), Some("disk"));
        let declared = |idempotent, concurrency_safe| DeclaredHints { idempotent, concurrency_safe };
        assert_eq!(files.hints_of(&["read_file"]), declared(Some(true), None));
        assert_eq!(files.hints_of(&["x", "write_file"]), declared(Some(false), Some(true)));
    }

    #[test]
    fn the_schema_accepts_what_is_read_and_refuses_what_is_not() {
        let validator = jsonschema::validator_for(&schema()).unwrap();
        let value = |text: &str| toml::from_str::<serde_json::Value>(text).unwrap();
        let errors: Vec<_> = validator.iter_errors(&value(FULL)).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
        for wrong in [
            "[[rule]]\ntools = [\"a\"]",
            "[[rule]]\naction = \"forbid\"",
            "[[rule]]\naction = \"deny\"\narguments = { a = { like = \"x\" } }",
            "[[rule]]\naction = \"deny\"\narguments = { a = [] }",
            "[policy]\ndefault = \"no\"",
            "[component.a]\npath = \"x\"\nhints = { read_only = true }",
        ] {
            assert!(!validator.is_valid(&value(wrong)), "{wrong}");
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn wrong_rules_are_refused_with_their_line() {
        let mut shown = String::new();
        for case in [
            "[policy]\ndefault = \"alow\"",
            "rule = 3",
            "[rule]\naction = \"deny\"",
            "[[rule]]\ntools = [\"a\"]",
            "[[rule]]\naction = \"forbid\"",
            "[[rule]]\naction = \"deny\"\ntool = [\"a\"]\narguements = {}",
            "[[rule]]\naction = \"deny\"\ntools = []\ngroup = \"A b\"",
            "[[rule]]\naction = \"deny\"\ntools = \"a\"",
            "[[rule]]\naction = \"deny\"\ntools = [\"ok\",\n\"a[\"]\ncomponent = \"\"",
            "[[rule]]\naction = \"deny\"\n[rule.arguments]\na = \"/x/../y\"\nb = { regex = \"(\" }\nc = []",
            "[[rule]]\naction = \"deny\"\narguments = { a = { like = \"x\" } }",
            "[[rule]]\naction = \"deny\"\narguments = { a = { path = \"/x\", glob = \"y\" } }",
            "[[rule]]\naction = \"deny\"\narguments = { a = nan }",
            "[[rule]]\naction = \"deny\"\narguments = { a = 2026-01-01 }",
            "[[rule]]\naction = \"deny\"\narguments = { a = { equals = [{ b = 2026-01-01 }] } }",
            "[[rule]]\naction = \"deny\"\narguments = { a = {} }",
            "[[rule]]\naction = \"deny\"\nno_match = [{ a = 2026-01-01 }]",
            "[[rule]]\naction = \"deny\"\narguments = { path = \"/a/**\" }\nmatch = [{ path = \"/a/x\" },\n{ path = \"/b\" }]\nno_match = [{ path = \"/A\" }, 3]",
            "[[rule]]\naction = \"deny\"\narguments = { path = \"/a/**\" }\nmatch = [{ path = \"/b\" }]\nno_match = [{ path = \"/A\" }]",
            "[component.a]\npath = \"builtin:files\"\ngroup = \"\"\nhints = { read_only = true }",
        ] {
            let told = parse(case).map_or_else(|error| error.to_string(), |_| "ACCEPTED".to_owned());
            writeln!(shown, "{case}\n  → {}\n", told.replace('\n', "\n  → ")).unwrap();
        }
        assert!(!shown.contains("ACCEPTED"), "{shown}");
        insta::assert_snapshot!(shown);
    }
}
