//! Schemas that were not made from WIT types (of native tools, of providers), in the part of JSON Schema that models'
//! providers take: no references, no boolean schemas, one type each, and no choice at the root.
//!
//! A lowered schema takes all that its original takes, and may take more: the runtime checks by the original.

use serde_json::{Map, Value, json};

use super::one_object::one_object;
use super::words;

/// References inside of each other that are followed; what is deeper no model reads.
const MAX_REFERENCES: usize = 16;

/// Schemas that one may become: references to references grow without bound.
const MAX_SCHEMAS: usize = 2_000;

/// The longest name of a property, by <https://docs.claude.com/en/api/messages>; others take as much.
const MAX_NAME: usize = 64;

/// Keywords that say nothing of a value, or that are of no use once references are followed.
const SILENT: [&str; 9] =
    ["$schema", "$id", "$anchor", "$comment", "$defs", "definitions", "title", "examples", "deprecated"];

/// A schema in words that providers have.
#[derive(Debug, PartialEq)]
pub(super) struct Lowered {
    pub schema: Value,
    /// What of the original it does not say.
    pub notes: Vec<String>,
}

/// Lowers the schema of arguments.
///
/// # Errors
/// When no call could be written by it, in words.
pub(super) fn lowered(schema: &Value) -> Result<Lowered, String> {
    let mut lowering = Lowering { root: schema, open: vec!["#"], left: MAX_SCHEMAS, notes: Vec::new() };
    let Some(Value::Object(mut root)) = lowering.at(schema)? else {
        return Err("takes no arguments at all".to_owned());
    };
    lowering.notes.extend(one_object(&mut root));
    let mut notes = Vec::new();
    for note in lowering.notes {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    Ok(Lowered { schema: Value::Object(root), notes })
}

/// Whether something may be left out that may not be `null`, so that no schema can require it.
pub(super) fn leaves_out(schema: &Value) -> bool {
    let Value::Object(keywords) = schema else { return false };
    let required = keywords.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
    keywords.iter().any(|(keyword, value)| match (keyword.as_str(), value) {
        ("properties", Value::Object(properties)) => properties.iter().any(|(name, property)| {
            leaves_out(property) || (!is_required(name) && !super::strict::takes_null(property))
        }),
        ("items", items) => leaves_out(items),
        ("anyOf", Value::Array(choices)) => choices.iter().any(leaves_out),
        _ => false,
    })
}

struct Lowering<'a> {
    root: &'a Value,
    /// The references that are being followed.
    open: Vec<&'a str>,
    /// Schemas that there may still be.
    left: usize,
    notes: Vec<String>,
}

impl<'a> Lowering<'a> {
    /// The schema, lowered; `None` if no value fits it.
    fn at(&mut self, schema: &'a Value) -> Result<Option<Value>, String> {
        let keywords = match schema {
            Value::Bool(false) => return Ok(None),
            Value::Object(keywords) => keywords,
            _ => return Ok(Some(json!({}))),
        };
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(Some(self.unsaid(keywords, "is too large, and not all of it is described")));
        };
        self.left = left;
        if let Some(Value::String(target)) = keywords.get("$ref") {
            return self.referred(target, keywords);
        }
        let mut lowered = Map::new();
        let mut sentences = Vec::new();
        for (keyword, value) in keywords {
            match (keyword.as_str(), value) {
                (silent, _) if SILENT.contains(&silent) => {}
                ("properties", Value::Object(properties)) => {
                    let properties = self.properties(properties, keywords.get("required"))?;
                    self.absorb_one(&mut lowered, keyword, properties.into());
                }
                ("anyOf" | "oneOf", Value::Array(choices)) => {
                    let choices = self.all(choices)?;
                    if choices.is_empty() {
                        return Ok(None);
                    }
                    self.absorb_one(&mut lowered, "anyOf", choices.into());
                }
                ("prefixItems", Value::Array(places)) => {
                    let places = self.all(places)?;
                    self.absorb_one(&mut lowered, keyword, places.into());
                }
                ("items", Value::Bool(_)) => {}
                ("items", items) => {
                    if let Some(items) = self.at(items)? {
                        self.absorb_one(&mut lowered, keyword, items);
                    }
                }
                ("additionalProperties", Value::Object(_)) => {
                    let inner = self.at(value)?.unwrap_or(Value::Bool(false));
                    self.absorb_one(&mut lowered, keyword, inner);
                }
                ("const", only) => self.absorb_one(&mut lowered, "enum", json!([only])),
                ("format", Value::String(format)) => sentences.extend(formatted(&mut lowered, format)),
                ("minimum" | "maximum", _) => drop(lowered.insert(keyword.clone(), value.clone())),
                ("allOf", Value::Array(parts)) => {
                    for part in self.all(parts)? {
                        self.absorb(&mut lowered, part);
                    }
                }
                _ => self.absorb_one(&mut lowered, keyword, value.clone()),
            }
        }
        if keywords.get("items") == Some(&Value::Bool(false)) {
            closed(&mut lowered);
        }
        words::describe(&mut lowered, &sentences);
        Ok(one_type_each(lowered))
    }

    fn all(&mut self, schemas: &'a [Value]) -> Result<Vec<Value>, String> {
        let lowered: Vec<Option<Value>> =
            schemas.iter().map(|schema| self.at(schema)).collect::<Result<_, _>>()?;
        Ok(lowered.into_iter().flatten().collect())
    }

    fn properties(
        &mut self,
        properties: &'a Map<String, Value>,
        required: Option<&Value>,
    ) -> Result<Map<String, Value>, String> {
        let required = required.and_then(Value::as_array);
        let mut lowered = Map::new();
        for (name, property) in properties {
            if is_taken(name) {
                lowered.extend(self.at(property)?.map(|property| (name.clone(), property)));
                continue;
            }
            let named: String = name.chars().take(MAX_NAME).collect();
            let problem = format!(
                "the property `{named}`, and providers take names of at most {MAX_NAME} of the characters a-z, A-Z, \
                 0-9, _, . and -"
            );
            if required.is_some_and(|names| names.iter().any(|it| it == name)) {
                return Err(format!("needs {problem}"));
            }
            self.notes.push(format!("may have {problem}; it is left out"));
        }
        Ok(lowered)
    }

    /// What a reference stands for, under the description that stands beside it.
    fn referred(
        &mut self,
        target: &'a str,
        keywords: &'a Map<String, Value>,
    ) -> Result<Option<Value>, String> {
        let pointed = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        let Some(schema) = pointed else {
            return Ok(Some(self.unsaid(keywords, "refers to a schema that is not in it")));
        };
        if self.open.contains(&target) || self.open.len() > MAX_REFERENCES {
            let inner = schema.as_object().unwrap_or(keywords);
            return Ok(Some(
                self.unsaid(inner, "nests in itself, of which only the first levels are described"),
            ));
        }
        self.open.push(target);
        let inner = self.at(schema);
        self.open.pop();
        let Some(Value::Object(mut inner)) = inner? else { return Ok(None) };
        if let Some(described) = keywords.get("description") {
            inner.insert("description".to_owned(), described.clone());
        }
        Ok(Some(Value::Object(inner)))
    }

    /// A schema of which only type and description are kept.
    fn unsaid(&mut self, keywords: &Map<String, Value>, why: &str) -> Value {
        self.notes.push(why.to_owned());
        let kept = keywords.iter().filter(|(keyword, _)| matches!(keyword.as_str(), "type" | "description"));
        let kept: Map<String, Value> =
            kept.map(|(keyword, value)| (keyword.clone(), value.clone())).collect();
        one_type_each(kept).unwrap_or_else(|| json!({}))
    }

    /// Adds what another schema says of the same value.
    fn absorb(&mut self, keywords: &mut Map<String, Value>, part: Value) {
        let Value::Object(part) = part else { return };
        for (keyword, value) in part {
            // Each part closes what it knows alone.
            if keyword != "additionalProperties" {
                self.absorb_one(keywords, &keyword, value);
            }
        }
    }

    fn absorb_one(&mut self, keywords: &mut Map<String, Value>, keyword: &str, value: Value) {
        match (keywords.get_mut(keyword), value) {
            // The names that are required are a set.
            (None, Value::Array(names)) if keyword == "required" => {
                let mut distinct = Vec::new();
                names.into_iter().for_each(|name| add(&mut distinct, name));
                keywords.insert(keyword.to_owned(), distinct.into());
            }
            (None, value) => drop(keywords.insert(keyword.to_owned(), value)),
            (Some(Value::Object(known)), Value::Object(more)) if keyword == "properties" => {
                for (name, property) in more {
                    match known.get_mut(&name) {
                        // Both hold for it.
                        Some(Value::Object(there)) => self.absorb(there, property),
                        _ => drop(known.insert(name, property)),
                    }
                }
            }
            (Some(Value::Array(known)), Value::Array(more)) if keyword == "required" => {
                more.into_iter().for_each(|name| add(known, name));
            }
            (Some(known), value) if *known == value || keyword == "description" => {}
            _ => self.notes.push(format!("says `{keyword}` twice of one value, of which one is left out")),
        }
    }
}

/// Adds a value that is not there.
fn add(known: &mut Vec<Value>, more: Value) {
    if !known.contains(&more) {
        known.push(more);
    }
}

fn is_taken(name: &str) -> bool {
    let is_taken = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(is_taken)
}

/// Says of a list that has nothing after its places how long it may be.
fn closed(keywords: &mut Map<String, Value>) {
    let places = keywords.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
    let most = keywords.get("maxItems").and_then(Value::as_u64);
    if most.is_none_or(|most| usize::try_from(most).is_ok_and(|most| most > places)) {
        keywords.insert("maxItems".to_owned(), places.into());
    }
}

/// A format as the bounds that it stands for, or in words.
fn formatted(keywords: &mut Map<String, Value>, format: &str) -> Option<String> {
    let (least, most): (Value, Value) = match format {
        "int8" => (i8::MIN.into(), i8::MAX.into()),
        "int16" => (i16::MIN.into(), i16::MAX.into()),
        "int32" => (i32::MIN.into(), i32::MAX.into()),
        "int64" | "int" => (i64::MIN.into(), i64::MAX.into()),
        "uint8" => (0.into(), u8::MAX.into()),
        "uint16" => (0.into(), u16::MAX.into()),
        "uint32" => (0.into(), u32::MAX.into()),
        "uint64" | "uint" => (0.into(), u64::MAX.into()),
        "float" | "double" | "int128" | "uint128" => return None,
        other => return Some(format!("Format: {other}.")),
    };
    keywords.entry("minimum").or_insert(least);
    keywords.entry("maximum").or_insert(most);
    None
}

/// A schema with a list of types as a choice of schemas with one each; `None` if no value fits it.
fn one_type_each(mut keywords: Map<String, Value>) -> Option<Value> {
    let Some(Value::Array(types)) = keywords.get("type").cloned() else {
        return Some(Value::Object(keywords));
    };
    if let [only] = types.as_slice() {
        keywords.insert("type".to_owned(), only.clone());
        return Some(Value::Object(keywords));
    }
    if let Some(Value::Array(choices)) = keywords.get("anyOf").cloned() {
        keywords.shift_remove("type");
        let choices = of_types(choices, &types);
        if choices.is_empty() {
            return None;
        }
        keywords.insert("anyOf".to_owned(), choices.into());
        return Some(Value::Object(keywords));
    }
    let mut choice = Map::new();
    choice.extend(keywords.shift_remove_entry("description"));
    let of_type = |kind: &Value| {
        let concerning = keywords.iter().filter(|(keyword, _)| concerns(keyword, kind.as_str()));
        let mut one: Map<String, Value> =
            concerning.map(|(keyword, value)| (keyword.clone(), value.clone())).collect();
        if kind == "null" {
            one.clear();
        }
        one.insert("type".to_owned(), kind.clone());
        if let Some(Value::Array(words)) = one.get_mut("enum") {
            words.retain(|word| is_of_type(word, kind));
            if words.is_empty() {
                return None;
            }
        }
        Some(Value::Object(one))
    };
    let choices: Vec<Value> = types.iter().filter_map(of_type).collect();
    if choices.is_empty() && !types.is_empty() {
        return None;
    }
    if !choices.is_empty() {
        choice.insert("anyOf".to_owned(), choices.into());
    }
    Some(Value::Object(choice))
}

/// What of the choices is of one of the types that all of them have to be of.
fn of_types(choices: Vec<Value>, types: &[Value]) -> Vec<Value> {
    let is_of =
        |kind: &Value| types.contains(kind) || (kind == "integer" && types.contains(&json!("number")));
    let mut found = Vec::new();
    for choice in choices {
        match choice {
            Value::Object(mut choice) if !choice.contains_key("type") && !choice.contains_key("anyOf") => {
                choice.insert("type".to_owned(), types.into());
                match one_type_each(choice) {
                    Some(Value::Object(mut each)) if each.len() == 1 && each.contains_key("anyOf") => {
                        let inner = each.shift_remove("anyOf");
                        let inner = inner.as_ref().and_then(Value::as_array).cloned().unwrap_or_default();
                        inner.into_iter().for_each(|one| add(&mut found, one));
                    }
                    each => each.into_iter().for_each(|one| add(&mut found, one)),
                }
            }
            choice if choice.get("type").is_none_or(is_of) => add(&mut found, choice),
            _ => {}
        }
    }
    found
}

/// Whether a keyword says anything of values of the type.
pub(super) fn concerns(keyword: &str, kind: Option<&str>) -> bool {
    match keyword {
        "items" | "prefixItems" | "minItems" | "maxItems" | "uniqueItems" => kind == Some("array"),
        "properties" | "required" | "additionalProperties" | "propertyOrdering" => kind == Some("object"),
        "minLength" | "maxLength" | "pattern" | "contentEncoding" => kind == Some("string"),
        "minimum" | "maximum" => matches!(kind, Some("integer" | "number")),
        _ => true,
    }
}

fn is_of_type(word: &Value, kind: &Value) -> bool {
    match word {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(_) => kind == "number" || kind == "integer",
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
    }
}
