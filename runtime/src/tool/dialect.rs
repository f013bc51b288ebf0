//! Schemas of older drafts of JSON Schema as ones of 2020-12, which is what everything here reads and models are told. Many
//! servers write draft-07, where an array of schemas under `items` is a tuple, and what stands beside a `$ref` means nothing.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::schema_reach::decoded;

/// Keywords whose value is one schema.
const ONE: [&str; 12] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords whose value is a list of schemas.
const LIST: [&str; 5] = ["allOf", "anyOf", "items", "oneOf", "prefixItems"];

/// Keywords whose value has a schema under each name.
const NAMED: [&str; 6] =
    ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"];

/// What may stand beside a `$ref` that makes the rest mean nothing: it says something to people, or is referred to.
const BESIDE: [&str; 8] =
    ["$comment", "$defs", "$ref", "default", "definitions", "description", "examples", "title"];

/// Keywords that mean nothing before a draft, as any other word.
const SINCE: [(&str, Draft); 19] = [
    ("$anchor", Draft::D2019),
    ("$dynamicAnchor", Draft::D2020),
    ("$dynamicRef", Draft::D2020),
    ("$id", Draft::D06),
    ("$recursiveAnchor", Draft::D2019),
    ("$recursiveRef", Draft::D2019),
    ("const", Draft::D06),
    ("contains", Draft::D06),
    ("dependentRequired", Draft::D2019),
    ("dependentSchemas", Draft::D2019),
    ("else", Draft::D07),
    ("if", Draft::D07),
    ("maxContains", Draft::D2019),
    ("minContains", Draft::D2019),
    ("prefixItems", Draft::D2020),
    ("propertyNames", Draft::D06),
    ("then", Draft::D07),
    ("unevaluatedItems", Draft::D2019),
    ("unevaluatedProperties", Draft::D2019),
];

/// A draft, the older the less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Draft {
    D04,
    D06,
    D07,
    D2019,
    D2020,
}

impl Draft {
    /// The draft of a schema whose root says which, and the current one where it does not.
    fn of(schema: &Value) -> Result<Self, String> {
        let named = match schema.get("$schema") {
            None => return Ok(Self::D2020),
            Some(named) => named.as_str().unwrap_or_default(),
        };
        let bare = named.trim_end_matches('#').trim_start_matches("https://").trim_start_matches("http://");
        match bare {
            "json-schema.org/draft-04/schema" => Ok(Self::D04),
            "json-schema.org/draft-06/schema" => Ok(Self::D06),
            "json-schema.org/draft-07/schema" => Ok(Self::D07),
            "json-schema.org/draft/2019-09/schema" => Ok(Self::D2019),
            "json-schema.org/draft/2020-12/schema" | "json-schema.org/schema" => Ok(Self::D2020),
            _ => Err(
                "is of a dialect that is not known: `$schema` may name draft-04, 06, 07, 2019-09 or 2020-12"
                    .to_owned(),
            ),
        }
    }
}

/// The schema as one of 2020-12 that admits the same. The caller has bounded how deep it is.
///
/// # Errors
/// When its dialect is not known, or cannot be said in 2020-12.
pub(super) fn modern(mut schema: Value) -> Result<Value, String> {
    let draft = Draft::of(&schema)?;
    if let Some(root) = schema.as_object_mut() {
        root.shift_remove("$schema");
    }
    if draft < Draft::D2020 {
        // The root is that of an object, whatever else is beside a reference.
        let kind = schema.get("type").cloned();
        let mut rewriting = Rewriting { draft, path: Vec::new(), moved: HashMap::new() };
        rewriting.rewrite(&mut schema)?;
        rewriting.redirect(&mut schema);
        if let (Some(root), Some(kind)) = (schema.as_object_mut(), kind) {
            root.entry("type").or_insert(kind);
        }
    }
    Ok(schema)
}

/// A schema that is being rewritten.
struct Rewriting {
    draft: Draft,
    /// Where in the document as it was.
    path: Vec<String>,
    /// The keywords that others have taken the place of, by where they were.
    moved: HashMap<Vec<String>, &'static str>,
}

impl Rewriting {
    fn rewrite(&mut self, schema: &mut Value) -> Result<(), String> {
        let Value::Object(keywords) = schema else { return Ok(()) };
        let draft = self.draft;
        keywords.retain(|keyword, _| {
            SINCE.iter().find(|(known, _)| known == keyword).is_none_or(|(_, since)| *since <= draft)
        });
        if draft <= Draft::D07 && keywords.contains_key("$ref") {
            keywords.retain(|keyword, _| BESIDE.contains(&keyword.as_str()));
        }
        if keywords.contains_key("$recursiveRef") {
            return Err("has a `$recursiveRef`, which 2020-12 has not; write a `$ref`".to_owned());
        }
        for (steps, part) in parts(keywords) {
            let depth = self.path.len();
            self.path.extend(steps);
            self.rewrite(part)?;
            self.path.truncate(depth);
        }
        if let Some(rest) = tuple(keywords) {
            self.moves("items", "prefixItems");
            if rest {
                self.moves("additionalItems", "items");
            }
        }
        if draft <= Draft::D07 {
            dependencies(keywords);
            self.moves("dependencies", "dependentSchemas");
            anchor(keywords, if draft == Draft::D04 { "id" } else { "$id" });
        }
        if draft == Draft::D04 {
            exclusive(keywords, "minimum", "exclusiveMinimum");
            exclusive(keywords, "maximum", "exclusiveMaximum");
        }
        Ok(())
    }

    fn moves(&mut self, from: &str, to: &'static str) {
        let mut path = self.path.clone();
        path.push(from.to_owned());
        self.moved.insert(path, to);
    }

    /// Has references lead to where parts of the document have gone.
    fn redirect(&self, schema: &mut Value) {
        let Value::Object(keywords) = schema else { return };
        if let Some(Value::String(reference)) = keywords.get_mut("$ref")
            && let Some(now) = self.redirected(reference)
        {
            *reference = now;
        }
        parts(keywords).into_iter().for_each(|(_, part)| self.redirect(part));
    }

    /// Where a reference by a path leads now. One with the address of another document leads nowhere, then as before.
    fn redirected(&self, reference: &str) -> Option<String> {
        let (document, path) = reference.split_once("#/")?;
        let (mut before, mut now) = (Vec::new(), Vec::new());
        for step in path.split('/') {
            before.push(decoded(step).replace("~1", "/").replace("~0", "~"));
            now.push(self.moved.get(&before).copied().unwrap_or(step));
        }
        Some(format!("{document}#/{}", now.join("/")))
    }
}

/// The schemas right inside of a schema, each with the steps that lead there.
fn parts(keywords: &mut Map<String, Value>) -> Vec<(Vec<String>, &mut Value)> {
    let mut parts = Vec::new();
    for (keyword, value) in keywords.iter_mut() {
        let word = keyword.as_str();
        let below = |step: String| vec![keyword.clone(), step];
        match value {
            Value::Object(_) if ONE.contains(&word) => parts.push((vec![keyword.clone()], value)),
            Value::Object(inner) if NAMED.contains(&word) => {
                parts.extend(inner.iter_mut().map(|(name, part)| (below(name.clone()), part)));
            }
            Value::Array(inner) if LIST.contains(&word) => {
                parts.extend(inner.iter_mut().enumerate().map(|(at, part)| (below(at.to_string()), part)));
            }
            _ => {}
        }
    }
    parts
}

/// A list under `items` is what the first items are, and `additionalItems` what the others are; otherwise that means nothing.
/// Where there is such a list, whether something is said of the others.
fn tuple(keywords: &mut Map<String, Value>) -> Option<bool> {
    let rest = keywords.shift_remove("additionalItems");
    if !keywords.get("items").is_some_and(Value::is_array) {
        return None;
    }
    let first = keywords.shift_remove("items").unwrap_or_default();
    // A list must have something in it.
    if first.as_array().is_some_and(|first| !first.is_empty()) {
        keywords.insert("prefixItems".to_owned(), first);
    }
    let says_more = rest.is_some();
    keywords.extend(rest.map(|rest| ("items".to_owned(), rest)));
    Some(says_more)
}

/// What has to be there beside a property, by names or by a schema.
fn dependencies(keywords: &mut Map<String, Value>) {
    let Some(Value::Object(all)) = keywords.shift_remove("dependencies") else { return };
    let (names, schemas): (Map<_, _>, Map<_, _>) = all.into_iter().partition(|(_, one)| one.is_array());
    for (keyword, all) in [("dependentRequired", names), ("dependentSchemas", schemas)] {
        if !all.is_empty() {
            keywords.insert(keyword.to_owned(), all.into());
        }
    }
}

/// A name inside of the document was written as an address of its own.
fn anchor(keywords: &mut Map<String, Value>, keyword: &str) {
    if !keywords.get(keyword).is_some_and(Value::is_string) {
        return;
    }
    let Some(Value::String(id)) = keywords.shift_remove(keyword) else { return };
    match id.strip_prefix('#') {
        Some(name) => keywords.insert("$anchor".to_owned(), name.into()),
        None => keywords.insert("$id".to_owned(), id.into()),
    };
}

/// A bound that is left out itself was a word beside the bound.
fn exclusive(keywords: &mut Map<String, Value>, bound: &str, exclusive: &str) {
    let Some(is_exclusive) = keywords.get(exclusive).and_then(Value::as_bool) else { return };
    keywords.shift_remove(exclusive);
    if is_exclusive && let Some(bound) = keywords.shift_remove(bound) {
        keywords.insert(exclusive.to_owned(), bound);
    }
}

#[cfg(test)]
mod tests;
