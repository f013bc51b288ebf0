//! The keywords of JSON Schema 2020-12 by what of a value they look at, and where references lead.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// What a keyword does, as far as it takes time.
pub(super) enum Applied<'s> {
    /// Applies another part of the document to the same value.
    Reference(&'s str),
    /// Applies these to the same value; of a choice, what is wrong is told of each.
    Here { schemas: Vec<&'s Value>, is_choice: bool },
    /// Each to the property of its name.
    Properties(&'s Map<String, Value>),
    /// Each to the properties whose names match.
    Patterns(&'s Map<String, Value>),
    /// To the properties that have no schema of their own.
    OtherProperties { schema: &'s Value, is_unevaluated: bool },
    /// To the names of properties.
    Names(&'s Value),
    /// Each to the item at its position.
    Positions(Vec<&'s Value>),
    /// To the items after those.
    OtherItems(&'s Value),
    /// To every item.
    EveryItem { schema: &'s Value, is_unevaluated: bool },
    /// Searches a text.
    Pattern(&'s str),
    /// Counts the letters of a text.
    Length,
    /// Compares items with each other.
    Unique,
    /// Compares with what the schema has.
    Own,
    /// Takes no time.
    Nothing,
}

/// What `keyword` with `value` does.
pub(super) fn applied<'s>(keyword: &str, value: &'s Value) -> Applied<'s> {
    let here = |schemas, is_choice| Applied::Here { schemas, is_choice };
    match (keyword, value) {
        ("$ref", Value::String(reference)) => Applied::Reference(reference),
        ("allOf", Value::Array(schemas)) => here(schemas.iter().collect(), false),
        ("anyOf" | "oneOf", Value::Array(schemas)) => here(schemas.iter().collect(), true),
        ("not" | "if" | "then" | "else", schema) => here(vec![schema], false),
        ("dependentSchemas" | "dependencies", Value::Object(schemas)) => {
            here(schemas.values().filter(|schema| !schema.is_array()).collect(), false)
        }
        ("properties", Value::Object(properties)) => Applied::Properties(properties),
        ("patternProperties", Value::Object(properties)) => Applied::Patterns(properties),
        ("additionalProperties", schema) => Applied::OtherProperties { schema, is_unevaluated: false },
        ("unevaluatedProperties", schema) => Applied::OtherProperties { schema, is_unevaluated: true },
        ("propertyNames", schema) => Applied::Names(schema),
        ("prefixItems", Value::Array(schemas)) | ("items", Value::Array(schemas)) => {
            Applied::Positions(schemas.iter().collect())
        }
        ("items" | "additionalItems", schema) => Applied::OtherItems(schema),
        ("contains", schema) => Applied::EveryItem { schema, is_unevaluated: false },
        ("unevaluatedItems", schema) => Applied::EveryItem { schema, is_unevaluated: true },
        ("pattern", Value::String(pattern)) => Applied::Pattern(pattern),
        ("minLength" | "maxLength" | "format", _) => Applied::Length,
        ("uniqueItems", Value::Bool(true)) => Applied::Unique,
        (
            "title" | "description" | "$comment" | "default" | "examples" | "$defs" | "definitions"
            | "$schema" | "$id",
            _,
        ) => Applied::Nothing,
        _ => Applied::Own,
    }
}

/// A document with the parts of it that have names.
pub(super) struct Reach<'s> {
    root: &'s Value,
    anchors: HashMap<&'s str, &'s Value>,
}

impl<'s> Reach<'s> {
    /// # Errors
    /// When where a reference leads could not be told from the document, in words.
    pub fn of(root: &'s Value) -> Result<Self, String> {
        let mut reach = Self { root, anchors: HashMap::new() };
        reach.look(root)?;
        Ok(reach)
    }

    /// Looks into everything: a reference may lead anywhere.
    fn look(&mut self, value: &'s Value) -> Result<(), String> {
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.look(item)),
            Value::Object(members) => {
                for (name, member) in members {
                    match (name.as_str(), member) {
                        ("$dynamicRef" | "$recursiveRef", Value::String(_)) => {
                            return Err(format!("it uses `{name}`; use `$ref`"));
                        }
                        ("$id", Value::String(_)) if !std::ptr::eq(value, self.root) => {
                            return Err("a part of it has an `$id` of its own; use `$defs`".to_owned());
                        }
                        ("$anchor" | "$dynamicAnchor", Value::String(anchor)) => {
                            self.anchors.insert(anchor, value);
                        }
                        _ => {}
                    }
                    self.look(member)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Where a reference leads.
    ///
    /// # Errors
    /// When that is not in the document.
    pub fn target(&self, reference: &str) -> Result<&'s Value, String> {
        let own = self.root.get("$id").and_then(Value::as_str).map(|id| id.trim_end_matches('#'));
        let inside = own.and_then(|own| reference.strip_prefix(own)).unwrap_or(reference);
        let Some(fragment) = inside.strip_prefix('#').or_else(|| inside.is_empty().then_some("")) else {
            return Err("it refers to something that is not in it, and nothing is fetched".to_owned());
        };
        let fragment = decoded(fragment);
        let found = match fragment.as_str() {
            "" => Some(self.root),
            pointer if pointer.starts_with('/') => self.root.pointer(pointer),
            anchor => self.anchors.get(anchor).copied(),
        };
        found.ok_or_else(|| "it refers to a part that it does not have".to_owned())
    }
}

/// A fragment of an address without its percent encoding.
pub(super) fn decoded(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, after @ ..] = rest {
        let code = (*first == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
