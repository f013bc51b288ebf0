//! What rules and hooks say of calls that no tool can fulfil: a slip of the pen that would protect nothing.

use serde_json::Value;

use super::compiled::CompiledRule;
use super::matcher::{Matcher, Reading};
use super::names::ToolGlob;
use super::set::{Rules, Subject};

/// A tool that there is, with the schema of its arguments.
pub(crate) type KnownTool<'a> = (Subject<'a>, &'a Value);

/// What there is to be matched.
pub(crate) struct Known<'a> {
    pub tools: Vec<KnownTool<'a>>,
    /// Whether there is nothing else; what another server has may come later.
    pub is_all: bool,
    /// Finds the names that a written one may have meant, best first.
    pub nearest: fn(&str, Vec<&str>) -> Vec<String>,
}

impl Known<'_> {
    fn subjects(&self) -> impl Iterator<Item = &Subject<'_>> {
        self.tools.iter().map(|(subject, _)| subject)
    }

    fn meant<'n>(&self, written: &str, names: impl Iterator<Item = &'n str>) -> String {
        let near = (self.nearest)(written, names.collect());
        near.first().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
    }
}

/// What of a rule or hook narrows it to tools, as it was written and as it was read.
pub(crate) struct Filters<'a> {
    pub tools: &'a [String],
    pub globs: &'a [ToolGlob],
    pub component: Option<&'a str>,
    pub component_glob: Option<&'a ToolGlob>,
    pub group: Option<&'a str>,
    reading: Reading,
}

impl<'a> Filters<'a> {
    /// Those of something that narrows calls.
    pub(crate) fn narrowing(
        (tools, globs): (&'a [String], &'a [ToolGlob]),
        (component, component_glob): (Option<&'a str>, Option<&'a ToolGlob>),
        group: Option<&'a str>,
    ) -> Self {
        Self { tools, globs, component, component_glob, group, reading: Reading::Wide }
    }

    /// What of them no tool fulfils, each to be read after the address of the rule or hook.
    pub(crate) fn unmatched(&self, known: &Known<'_>) -> Vec<String> {
        let mut found = Vec::new();
        for (index, (written, glob)) in self.tools.iter().zip(self.globs).enumerate() {
            if !known.subjects().any(|subject| glob.matches_tool(subject, self.reading)) {
                let names = known.subjects().flat_map(|subject| [subject.tool, subject.origin]);
                found.push(format!(
                    ".tools[{index}]`: no tool matches `{written}`{}",
                    known.meant(written, names)
                ));
            }
        }
        if let (Some(written), Some(glob)) = (self.component, self.component_glob)
            && !known.subjects().any(|subject| glob.matches(subject.component, self.reading))
        {
            let meant = known.meant(written, known.subjects().map(|subject| subject.component));
            found.push(format!(".component`: no component with tools matches `{written}`{meant}"));
        }
        if let Some(group) =
            self.group.filter(|group| !known.subjects().any(|subject| subject.group == Some(group)))
        {
            let meant = known.meant(group, known.subjects().filter_map(|subject| subject.group));
            found.push(format!(".group`: no tool is in a group `{group}`{meant}"));
        }
        found
    }
}

impl Rules {
    /// What of the rules no call of these tools can match, each with its place.
    pub(crate) fn unmatched(&self, known: &Known<'_>) -> Vec<String> {
        let of_rule = |rule: &CompiledRule| {
            let at = rule.source.at.as_deref().map(|at| format!("{at}: ")).unwrap_or_default();
            let unmatched = match known.is_all || rule.is_of_known(known) {
                true => rule.unmatched(known),
                false => Vec::new(),
            };
            let unmatched = unmatched.into_iter();
            unmatched.map(|what| format!("{at}`{}{what}", rule.source.setting)).collect::<Vec<_>>()
        };
        self.iter().flat_map(of_rule).collect()
    }
}

impl Rules {
    /// Arguments' patterns that look like paths and that no path matches, each with its place: they are held against
    /// texts alone.
    pub(crate) fn without_paths(&self) -> Vec<String> {
        self.iter().flat_map(CompiledRule::without_paths).collect()
    }
}

impl CompiledRule {
    fn without_paths(&self) -> Vec<String> {
        let at = self.source.at.as_deref().map(|at| format!("{at}: ")).unwrap_or_default();
        let of_argument = |(name, matcher): &(String, Matcher)| {
            let told = |(pattern, why): (&str, &str)| {
                format!(
                    "{at}`{}.arguments.{name}`: `{pattern}` matches no path, since {why}; write the path from `/` on, as in \
                     `/work/secrets/**`, or `{{ glob = … }}` if a text is meant",
                    self.source.setting
                )
            };
            matcher.without_paths().into_iter().map(told).collect::<Vec<_>>()
        };
        self.rule.arguments.iter().flat_map(of_argument).collect()
    }

    /// Whether every tool that it names is there.
    fn is_of_known(&self, known: &Known<'_>) -> bool {
        let is_there =
            |name: &String| known.subjects().any(|subject| subject.tool == name || subject.origin == name);
        !self.rule.tools.is_empty() && self.rule.tools.iter().all(is_there)
    }

    fn unmatched(&self, known: &Known<'_>) -> Vec<String> {
        let found = self.filters().unmatched(known);
        if !found.is_empty() {
            return found;
        }
        let concerned: Vec<&Value> = known
            .tools
            .iter()
            .filter(|(subject, _)| self.concerns(subject))
            .map(|(_, schema)| *schema)
            .collect();
        if concerned.is_empty() {
            return vec!["`: no tool is all that it says of tools".to_owned()];
        }
        let mut found = Vec::new();
        for (name, _) in &self.rule.arguments {
            if concerned.iter().all(|schema| lacks(schema, name)) {
                let names: Vec<String> =
                    concerned.iter().flat_map(|schema| names_beside(schema, name)).collect();
                let meant = known.meant(name, names.iter().map(String::as_str));
                found.push(format!(".arguments.{name}`: no tool that it is for has such an argument{meant}"));
            }
        }
        found
    }

    fn filters(&self) -> Filters<'_> {
        Filters {
            tools: &self.rule.tools,
            globs: self.tools(),
            component: self.rule.component.as_deref(),
            component_glob: self.component(),
            group: self.rule.group.as_deref(),
            reading: self.rule.reading(),
        }
    }
}

/// Whether the schema says that there is no argument of this name, nor members of members of such names. A null that is
/// asked for is also an argument that is not there, but one that can never be there is a slip all the same.
fn lacks(schema: &Value, name: &str) -> bool {
    let has_none = |keyword: &str, part: &dyn Fn(&Value) -> bool| {
        schema.get(keyword).and_then(Value::as_array).is_some_and(|parts| parts.iter().all(part))
    };
    let is_lacking = |part: &Value| lacks(part, name);
    if has_none("anyOf", &is_lacking) || has_none("oneOf", &is_lacking) {
        return true;
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => {
            let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false))
                && schema.get("patternProperties").is_none();
            let has = |known: &str, property: &Value| {
                let inner = name.strip_prefix(known).and_then(|rest| rest.strip_prefix('.'));
                known == name || inner.is_some_and(|inner| !lacks(property, inner))
            };
            is_closed && !properties(schema).any(|(known, property)| has(known, property))
        }
        Some("array") => {
            let items = schema.get("items").filter(|items| items.is_object());
            items.is_some_and(is_lacking)
                && schema.get("prefixItems").is_none_or(|_| has_none("prefixItems", &is_lacking))
        }
        Some(_) => true,
        None => false,
    }
}

/// The names that there are where the one that `name` has is not.
fn names_beside<'s>(schema: &'s Value, name: &str) -> Vec<String> {
    let choices =
        ["anyOf", "oneOf"].into_iter().filter_map(|keyword| schema.get(keyword)?.as_array()).flatten();
    let parts: Vec<&'s Value> = choices.chain(schema.get("items")).collect();
    let outer = properties(schema).find_map(|(known, property)| {
        let inner = name.strip_prefix(known)?.strip_prefix('.')?;
        Some(
            names_beside(property, inner)
                .into_iter()
                .map(|name| format!("{known}.{name}"))
                .collect::<Vec<_>>(),
        )
    });
    let own = || properties(schema).map(|(known, _)| known.to_owned()).collect();
    let mut found = outer.unwrap_or_else(own);
    found.extend(parts.into_iter().flat_map(|part| names_beside(part, name)));
    found
}

fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties.map(|(name, property)| (name.as_str(), property))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_slip_in_a_name_is_seen_at_any_depth_where_nothing_else_can_be_there() {
        let closed = |properties: Value| json!({ "type": "object", "properties": properties, "additionalProperties": false });
        let town = closed(json!({ "home-town": { "type": "string" }, "a.b": { "type": "string" } }));
        let schema = closed(json!({
            "value": town,
            "maybe": { "anyOf": [town, { "type": "null" }] },
            "list": { "type": "array", "items": town },
            "pair": { "type": "array", "prefixItems": [{ "type": "string" }, town], "items": false },
            "open": { "type": "object", "properties": { "x": { "type": "string" } } },
            "any": {},
            "referred": { "$ref": "#/$defs/t" },
        }));
        for (name, is_lacking) in [
            ("value", false),
            ("value.home-town", false),
            ("value.a.b", false),
            ("value.home_town", true),
            ("value.home-town.x", true),
            ("maybe.home-town", false),
            ("maybe.town", true),
            ("list.home-town", false),
            ("list.town", true),
            ("pair.home-town", false),
            ("open.anything", false),
            ("any.thing", false),
            ("referred.x", false),
            ("valu.home-town", true),
        ] {
            assert_eq!(lacks(&schema, name), is_lacking, "{name}");
        }
        assert_eq!(names_beside(&schema, "list.town"), ["list.home-town", "list.a.b"]);
        assert_eq!(names_beside(&schema, "maybe.town"), ["maybe.home-town", "maybe.a.b"]);
        assert!(names_beside(&schema, "valu.x").contains(&"value".to_owned()));
        assert!(!lacks(&json!({}), "x") && !lacks(&json!({ "type": "object" }), "x"));
    }
}
