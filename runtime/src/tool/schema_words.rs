//! What a JSON Schema expects, in the words in which arguments that types describe are spoken of.

use serde_json::{Map, Value};

use crate::schema::words;

/// How deep references and choices are followed for a few words.
const MAX_DEPTH: usize = 8;

/// Alternatives that are spelled out.
const MAX_ALTERNATIVES: usize = 5;

/// Bytes of one pattern or constant.
const MAX_LITERAL: usize = 128;

/// A JSON Schema with the whole that its references lead into.
#[derive(Clone, Copy)]
pub(super) struct Described<'s> {
    pub root: &'s Value,
    pub schema: &'s Value,
}

impl<'s> Described<'s> {
    /// The part at a JSON pointer of it, through references.
    pub fn at(self, pointer: &str) -> Option<Self> {
        let mut described = self;
        for step in pointer.split('/').skip(1) {
            described = match step {
                "$ref" => described.resolved(),
                step => self.of(described.schema.pointer(&format!("/{step}"))?),
            };
        }
        Some(described)
    }

    fn of(self, schema: &'s Value) -> Self {
        Self { schema, ..self }
    }

    /// Itself, or what it refers to inside of the whole.
    pub fn resolved(self) -> Self {
        let mut described = self;
        for _ in 0..MAX_DEPTH {
            let reference = described.schema.get("$ref").and_then(Value::as_str);
            let Some(target) = reference.and_then(|reference| reference.strip_prefix('#')) else { break };
            let Some(target) = self.root.pointer(target) else { break };
            described = described.of(target);
        }
        described
    }

    /// Its property of that name.
    pub fn property(self, name: &str) -> Option<Self> {
        let here = self.resolved();
        here.schema.get("properties")?.get(name).map(|schema| self.of(schema))
    }

    /// The names of its properties, those of its alternatives after its own.
    pub fn names(self) -> Vec<&'s str> {
        let here = self.resolved();
        let mut names: Vec<&str> = here
            .schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str)
            .collect();
        for name in here.alternatives().into_iter().flat_map(Self::own_names) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    fn own_names(self) -> Vec<&'s str> {
        let here = self.resolved();
        let properties = here.schema.get("properties").and_then(Value::as_object);
        properties.into_iter().flat_map(Map::keys).map(String::as_str).collect()
    }

    /// The schemas of which one is to fit.
    pub fn alternatives(self) -> Vec<Self> {
        let choices = ["anyOf", "oneOf"].into_iter().filter_map(|key| self.schema.get(key)?.as_array());
        choices.flatten().map(|schema| self.of(schema).resolved()).collect()
    }

    /// The one property by whose constant its alternatives differ, and these constants.
    pub fn tag(self) -> Option<(&'s str, Vec<&'s str>)> {
        let alternatives = self.alternatives();
        let first = alternatives.first()?;
        let constant = |alternative: &Self, name: &str| {
            let property = alternative.property(name)?.schema;
            let single = property.get("enum").and_then(Value::as_array).filter(|words| words.len() == 1);
            property.get("const").or_else(|| single?.first())?.as_str()
        };
        first.own_names().into_iter().find_map(|name| {
            let words: Option<Vec<&str>> =
                alternatives.iter().map(|alternative| constant(alternative, name)).collect();
            Some((name, words?))
        })
    }

    /// What a value that fits looks like.
    pub fn expected(self) -> String {
        self.expected_within(MAX_DEPTH)
    }

    fn expected_within(self, depth: usize) -> String {
        let described = self.resolved();
        let Some(schema) = described.schema.as_object() else {
            return if described.schema == false { "nothing" } else { "anything" }.to_owned();
        };
        if let Some(constant) = schema.get("const") {
            return literal(constant);
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            let texts: Vec<String> = values.iter().filter(|value| !value.is_null()).map(bare).collect();
            let or_null = if texts.len() < values.len() { " or null" } else { "" };
            return format!("one of {}{or_null}", words(texts.iter().map(String::as_str)));
        }
        if let Some((tag, values)) = described.tag() {
            return format!("object with `{tag}` one of {}", words(values.into_iter()));
        }
        let alternatives = described.alternatives();
        if depth > 0 && !alternatives.is_empty() {
            let mut texts: Vec<String> = Vec::new();
            for text in alternatives.into_iter().map(|alternative| alternative.expected_within(depth - 1)) {
                if !texts.contains(&text) && texts.len() < MAX_ALTERNATIVES {
                    texts.push(text);
                }
            }
            // As an option is spoken of: the value first.
            texts.sort_by_key(|text| text == "null");
            return texts.join(" or ");
        }
        match schema.get("type") {
            Some(Value::String(kind)) => typed(schema, kind),
            Some(Value::Array(kinds)) => {
                let mut kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
                kinds.sort_by_key(|kind| *kind == "null");
                kinds.into_iter().map(|kind| typed(schema, kind)).collect::<Vec<_>>().join(" or ")
            }
            _ => "a value that fits the schema".to_owned(),
        }
    }
}

/// A value of one type, within the bounds that the schema has for that type.
fn typed(schema: &Map<String, Value>, kind: &str) -> String {
    let text = |key: &str| schema.get(key).and_then(Value::as_str).map(cut);
    match kind {
        "integer" | "number" => {
            let range = range(schema, "minimum", "maximum");
            let above = schema.get("exclusiveMinimum").map(|limit| format!(" above {limit}"));
            let below = schema.get("exclusiveMaximum").map(|limit| format!(" below {limit}"));
            let of = schema.get("multipleOf").map(|factor| format!(", a multiple of {factor}"));
            [Some(kind.to_owned()), range, above, below, of].into_iter().flatten().collect()
        }
        "string" => match (text("pattern"), text("format")) {
            (Some(pattern), _) => format!("string that matches `{pattern}`"),
            (None, Some(format)) => format!("string in the format `{format}`"),
            (None, None) => sized(schema, "string", "minLength", "maxLength", "characters"),
        },
        "array" if schema.get("uniqueItems") == Some(&Value::Bool(true)) => {
            sized(schema, "array", "minItems", "maxItems", "items") + ", none of them twice"
        }
        "array" => sized(schema, "array", "minItems", "maxItems", "items"),
        "object" => sized(schema, "object", "minProperties", "maxProperties", "properties"),
        kind => kind.to_owned(),
    }
}

fn sized(schema: &Map<String, Value>, kind: &str, least: &str, most: &str, things: &str) -> String {
    match (schema.get(least), schema.get(most)) {
        (None, None) => kind.to_owned(),
        (Some(least), Some(most)) if least == most => format!("{kind} of {least} {things}"),
        (Some(least), Some(most)) => format!("{kind} of {least} to {most} {things}"),
        (Some(least), None) => format!("{kind} of at least {least} {things}"),
        (None, Some(most)) => format!("{kind} of at most {most} {things}"),
    }
}

fn range(schema: &Map<String, Value>, least: &str, most: &str) -> Option<String> {
    match (schema.get(least), schema.get(most)) {
        (None, None) => None,
        (Some(least), Some(most)) => Some(format!(" from {least} to {most}")),
        (Some(least), None) => Some(format!(" of at least {least}")),
        (None, Some(most)) => Some(format!(" of at most {most}")),
    }
}

fn literal(value: &Value) -> String {
    if value.is_null() { "null".to_owned() } else { format!("`{}`", bare(value)) }
}

/// A text without its quotes, or a value as JSON.
fn bare(value: &Value) -> String {
    match value {
        Value::String(text) => cut(text),
        other => cut(&other.to_string()),
    }
}

fn cut(text: &str) -> String {
    text.get(..text.floor_char_boundary(MAX_LITERAL)).unwrap_or_default().to_owned()
}
