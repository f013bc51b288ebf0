//! A rule in words: what approvals by rule are shown and bound by, and what `explain` prints.

use super::Action;
use super::matcher::Matcher;
use super::path::ends_in_name;
use super::spec::Rule;

/// What the rule matches, all of it and nothing else: two rules with the same words match the same calls.
pub(super) fn words(rule: &Rule) -> String {
    let mut words = match rule.tools.as_slice() {
        [] => "any tool".to_owned(),
        tools => either(tools.iter().map(|tool| format!("`{tool}`"))),
    };
    for (is, yes, no) in [
        (rule.read_only, "that only reads", "that does more than read"),
        (rule.destructive, "that may destroy something", "that destroys nothing"),
    ] {
        if let Some(is) = is {
            words.push_str(", ");
            words.push_str(if is { yes } else { no });
        }
    }
    if let Some(component) = &rule.component {
        words.push_str(&format!(", of component `{component}`"));
    }
    if let Some(group) = &rule.group {
        words.push_str(&format!(", of group `{group}`"));
    }
    let is_wide = rule.action != Action::Allow;
    for (index, (name, matcher)) in rule.arguments.iter().enumerate() {
        let joint = if index == 0 { ", where" } else { " and" };
        words.push_str(&format!("{joint} `{name}` {}", of_matcher(matcher, is_wide)));
    }
    words
}

fn of_matcher(matcher: &Matcher, is_wide: bool) -> String {
    match matcher {
        Matcher::Path(pattern) if is_wide && ends_in_name(pattern) => {
            format!("is the path `{pattern}` or beneath it")
        }
        Matcher::Path(pattern) => format!("is the path `{pattern}`"),
        Matcher::Relative(pattern) if is_wide && ends_in_name(pattern) => {
            format!("is like `{pattern}`, or a path that ends so, or beneath it")
        }
        Matcher::Relative(pattern) => format!("is like `{pattern}`, or a path that ends so"),
        Matcher::Glob(pattern) => format!("is like `{pattern}`"),
        Matcher::Regex(pattern) => format!("matches the expression `{pattern}`"),
        Matcher::Equals(value) => format!("is {value}"),
        Matcher::Any(matchers) => either(matchers.iter().map(|matcher| of_matcher(matcher, is_wide))),
    }
}

fn either(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(" or ")
}
