//! Tools as a provider's request lists them.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::budget::Budget;
use super::gemini::{gemini, unsaid};
use super::lowered::{leaves_out, lowered};
use super::strict::strict;
use super::{Format, words};
use crate::tool::Tool;

/// What OpenAI takes as the description of a function, in characters.
const MAX_OPENAI_DESCRIPTION: usize = 1024;

/// Whether a provider is to hold its model to the schemas while it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strict {
    /// The schemas say everything; the runtime alone checks.
    #[default]
    Off,
    /// Schemas in strict form, wherever the format has one and the types can be said in it.
    On,
}

/// Tools in one format.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Export {
    /// The value of `tools` in a request: a list.
    pub tools: Value,
    /// What the format could not say, and of which tool.
    pub notes: Vec<String>,
}

impl Format {
    /// The definitions of `tools` in this format.
    ///
    /// What has no place of its own in the format (the title, examples, bounds that strict schemas do not have) is in
    /// the description. A tool whose types cannot be strict, or for which the provider's limits on strict schemas leave no
    /// room, is exported as if `strict` were off, with a note. What a native tool's or a provider's schema says
    /// beyond what the format has is noted, too; a tool that could not be called by what is left is left out.
    pub fn export(self, tools: &[Arc<Tool>], strict: Strict) -> Export {
        let mut notes = Vec::new();
        if strict == Strict::On && !self.has_strict() {
            notes.push(format!("{self} has no strict schemas; the runtime checks all arguments as ever"));
        }
        let mut budget = Budget::new(self);
        let tools: Vec<Value> = tools
            .iter()
            .filter_map(|tool| {
                let arguments = match self.arguments(tool) {
                    Ok(arguments) => arguments,
                    Err(why) => {
                        notes.push(format!("`{}` {why}; the tool is left out", tool.name()));
                        return None;
                    }
                };
                let (budget, notes) = (&mut budget, &mut notes);
                Some(Exporting { format: self, tool, arguments, budget, notes }.tool(strict))
            })
            .collect();
        let tools = match self {
            Self::Gemini => json!([{ "functionDeclarations": tools }]),
            _ => tools.into(),
        };
        Export { tools, notes }
    }

    /// # Errors
    /// Why the tool could not be called by any schema of this format.
    fn arguments(self, tool: &Tool) -> Result<ArgumentsOf<'_>, String> {
        let schema = tool.input_schema();
        // Clients of MCP pass a schema on to their providers, which refuse a choice at the root.
        let has_choice = ["anyOf", "oneOf", "allOf"].iter().any(|keyword| schema.get(keyword).is_some());
        let keeps = self == Self::Toolcell || (self == Self::Mcp && !has_choice);
        if keeps || tool.has_types() {
            return Ok(ArgumentsOf { schema: Cow::Borrowed(schema), lost: Vec::new() });
        }
        let lowered = lowered(schema)?;
        Ok(ArgumentsOf { schema: Cow::Owned(lowered.schema), lost: lowered.notes })
    }

    fn has_strict(self) -> bool {
        matches!(self, Self::OpenAi | Self::OpenAiResponses | Self::Anthropic)
    }
}

/// The schema of a tool's arguments as a format can have it.
struct ArgumentsOf<'a> {
    schema: Cow<'a, Value>,
    /// What of the tool's own schema it does not say.
    lost: Vec<String>,
}

/// One tool on its way into a format.
struct Exporting<'a> {
    format: Format,
    tool: &'a Tool,
    arguments: ArgumentsOf<'a>,
    budget: &'a mut Budget,
    notes: &'a mut Vec<String>,
}

impl Exporting<'_> {
    fn tool(mut self, strict: Strict) -> Value {
        let name = self.tool.name();
        for lost in self.arguments.lost.clone() {
            self.note(&lost);
        }
        match self.format {
            Format::OpenAi => {
                let (schema, is_strict) = self.schema(strict);
                let mut function = self.named("parameters", schema);
                if is_strict {
                    function.insert("strict".to_owned(), true.into());
                }
                json!({ "type": "function", "function": function })
            }
            Format::OpenAiResponses => {
                let (schema, is_strict) = self.schema(strict);
                let mut function = Map::new();
                function.insert("type".to_owned(), "function".into());
                function.extend(self.named("parameters", schema));
                // Left out it would mean strict.
                function.insert("strict".to_owned(), is_strict.into());
                Value::Object(function)
            }
            Format::Anthropic => {
                let (schema, is_strict) = self.schema(strict);
                let mut tool = self.named("input_schema", schema);
                if is_strict {
                    tool.insert("strict".to_owned(), true.into());
                }
                Value::Object(tool)
            }
            Format::Gemini => self.gemini(),
            Format::Mcp => self.mcp(),
            Format::Toolcell => {
                let mut tool = json!({
                    "name": name, "component": self.tool.component(), "title": self.tool.title(),
                    "description": self.tool.description(), "input_schema": self.tool.input_schema(),
                    "output_schema": self.tool.output_schema(), "hints": self.tool.hints(),
                    "examples": self.tool.examples(),
                });
                if let Value::Object(members) = &mut tool {
                    members.retain(|_, value| !value.is_null() && *value != json!([]));
                }
                tool
            }
        }
    }

    /// The schema, and whether it is strict.
    fn schema(&mut self, wanted: Strict) -> (Value, bool) {
        if wanted == Strict::On {
            match self.strict() {
                Ok(schema) => return (schema, true),
                Err(why) => self.note(&format!("cannot be strict: {why}")),
            }
        }
        let mut schema = self.arguments.schema.clone().into_owned();
        if self.format != Format::Anthropic {
            with_items(&mut schema);
        }
        (schema, false)
    }

    fn strict(&mut self) -> Result<Value, String> {
        let schema = self.arguments.schema.as_ref();
        if !self.arguments.lost.is_empty() {
            return Err("its schema does not say all of what it takes".to_owned());
        }
        // Canonicalising, which takes `null` back for absent, goes by types.
        if !self.tool.has_types() && leaves_out(schema) {
            return Err("it takes arguments that may be left out, but may not be `null`".to_owned());
        }
        let schema = strict(schema)?;
        self.budget.take(&schema)?;
        Ok(schema)
    }

    fn gemini(mut self) -> Value {
        let schema = self.arguments.schema.clone().into_owned();
        let schema = &schema;
        for keyword in unsaid(schema) {
            self.note(&format!("says `{keyword}`, which gemini's schemas cannot"));
        }
        let (parameters, lost) = gemini(schema);
        lost.iter().for_each(|lost| self.note(lost));
        let has_properties =
            schema.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
        let mut declaration = self.named("parameters", parameters);
        if !has_properties {
            // An object must have properties there; a function without parameters has no schema.
            declaration.shift_remove("parameters");
            if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
                self.note(
                    "takes any arguments, which gemini's schemas cannot say; it is exported without any",
                );
            }
        }
        Value::Object(declaration)
    }

    fn mcp(mut self) -> Value {
        let mut tool = Map::new();
        tool.insert("name".to_owned(), self.tool.name().into());
        tool.extend(self.tool.title().map(|title| ("title".to_owned(), title.into())));
        let description = self.description();
        if !description.is_empty() {
            tool.insert("description".to_owned(), description.into());
        }
        tool.insert("inputSchema".to_owned(), self.arguments.schema.clone().into_owned());
        tool.extend(self.tool.output_schema().map(|schema| ("outputSchema".to_owned(), schema.clone())));
        let hints = self.tool.hints();
        let annotations: Map<String, Value> = [
            ("readOnlyHint", hints.read_only),
            ("destructiveHint", hints.destructive),
            ("idempotentHint", hints.idempotent),
            ("openWorldHint", hints.open_world),
        ]
        .into_iter()
        .filter_map(|(name, hint)| Some((name.to_owned(), hint?.into())))
        .collect();
        if !annotations.is_empty() {
            tool.insert("annotations".to_owned(), annotations.into());
        }
        Value::Object(tool)
    }

    /// Name, description if there is one, and the schema under the format's word for it.
    fn named(&mut self, schema_name: &str, schema: Value) -> Map<String, Value> {
        let mut named = Map::new();
        named.insert("name".to_owned(), self.tool.name().into());
        let description = self.description();
        if !description.is_empty() {
            named.insert("description".to_owned(), description.into());
        }
        named.insert(schema_name.to_owned(), schema);
        named
    }

    /// Title, description and examples, as far as the format has no other place for them.
    fn description(&mut self) -> String {
        let title = self.tool.title().filter(|_| self.format != Format::Mcp);
        let docs = self.tool.description();
        let title = title.filter(|title| !docs.starts_with(title));
        let parts = title.into_iter().chain(Some(docs).filter(|docs| !docs.is_empty()));
        let told = parts.collect::<Vec<_>>().join("\n\n");
        let examples: Vec<String> =
            self.tool.examples().iter().map(|example| format!("- {example}")).collect();
        if examples.is_empty() {
            return self.fitting(told);
        }
        let whole = format!("{told}\n\nExamples of arguments:\n{}", examples.join("\n")).trim().to_owned();
        if self.is_too_long(&whole) { self.fitting(told) } else { whole }
    }

    fn fitting(&mut self, description: String) -> String {
        if self.is_too_long(&description) {
            let length = description.chars().count();
            self.note(&format!(
                "has a description of {length} characters, and some servers take {MAX_OPENAI_DESCRIPTION}"
            ));
        }
        description
    }

    fn is_too_long(&self, description: &str) -> bool {
        matches!(self.format, Format::OpenAi | Format::OpenAiResponses)
            && description.chars().count() > MAX_OPENAI_DESCRIPTION
    }

    fn note(&mut self, what: &str) {
        self.notes.push(format!("`{}` {what}", self.tool.name()));
    }
}

/// Says what every list has items of: OpenAI refuses a list that has only `prefixItems`.
fn with_items(schema: &mut Value) {
    let Value::Object(keywords) = schema else { return };
    if keywords.get("type").is_some_and(|kind| kind == "array") && !keywords.contains_key("items") {
        let places = keywords.get("prefixItems").and_then(Value::as_array);
        let items = places.and_then(|places| words::any_of(places)).unwrap_or_else(|| json!({}));
        keywords.insert("items".to_owned(), items);
    }
    for (keyword, value) in keywords {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(with_items),
            ("items", items) => with_items(items),
            ("anyOf" | "prefixItems", Value::Array(schemas)) => schemas.iter_mut().for_each(with_items),
            _ => {}
        }
    }
}
