//! How much of strict schemas a provider takes: it refuses a whole request for one schema or one tool too many.

use serde_json::{Map, Value};

use super::Format;

/// What one strict schema may have, <https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>.
const OPENAI: Size =
    Size { levels: 10, properties: 5000, words: 1000, letters: 120_000, choices: usize::MAX };

/// Strict tools in one request, <https://docs.claude.com/en/docs/build-with-claude/structured-outputs>.
const ANTHROPIC_TOOLS: usize = 20;

/// Parameters with a choice of types in all strict tools of one request, of which optional ones are a part.
const ANTHROPIC_CHOICES: usize = 16;

/// What is left for the strict tools of one export.
pub(super) struct Budget {
    format: Format,
    tools: usize,
    choices: usize,
}

impl Budget {
    pub(super) fn new(format: Format) -> Self {
        let (tools, choices) = match format {
            Format::Anthropic => (ANTHROPIC_TOOLS, ANTHROPIC_CHOICES),
            _ => (usize::MAX, usize::MAX),
        };
        Self { format, tools, choices }
    }

    /// Takes the share of one more tool.
    ///
    /// # Errors
    /// What there is too much of, in words; then nothing was taken.
    pub(super) fn take(&mut self, schema: &Value) -> Result<(), String> {
        let size = Size::of(schema);
        if let Some(problem) = (self.format != Format::Anthropic).then(|| size.beyond(&OPENAI)).flatten() {
            return Err(problem);
        }
        let Some(tools) = self.tools.checked_sub(1) else {
            return Err(format!("{} takes {ANTHROPIC_TOOLS} strict tools in a request", self.format));
        };
        let Some(choices) = self.choices.checked_sub(size.choices) else {
            return Err(format!(
                "{} takes {ANTHROPIC_CHOICES} values with a choice of types in the strict tools of a request, and \
                 {} are left for its {}",
                self.format, self.choices, size.choices
            ));
        };
        (self.tools, self.choices) = (tools, choices);
        Ok(())
    }
}

/// What providers count in a schema.
#[derive(Debug, Default, PartialEq, Eq)]
struct Size {
    /// Objects inside of each other, the outermost one too.
    levels: usize,
    properties: usize,
    /// Values of enumerations.
    words: usize,
    /// Letters in names of properties and in values of enumerations.
    letters: usize,
    /// Schemas that are one of several.
    choices: usize,
}

impl Size {
    fn of(schema: &Value) -> Self {
        let mut size = Self::default();
        if let Value::Object(keywords) = schema {
            size.add(keywords, 0);
        }
        size
    }

    fn add(&mut self, keywords: &Map<String, Value>, above: usize) {
        let level = above + usize::from(keywords.contains_key("properties"));
        self.levels = self.levels.max(level);
        for (keyword, value) in keywords {
            match (keyword.as_str(), value) {
                ("properties", Value::Object(properties)) => {
                    self.properties += properties.len();
                    self.letters += properties.keys().map(String::len).sum::<usize>();
                    properties.values().filter_map(Value::as_object).for_each(|inner| self.add(inner, level));
                }
                ("enum", Value::Array(words)) => {
                    self.words += words.len();
                    self.letters += words.iter().filter_map(Value::as_str).map(str::len).sum::<usize>();
                }
                ("anyOf", Value::Array(choices)) => {
                    self.choices += 1;
                    choices.iter().filter_map(Value::as_object).for_each(|inner| self.add(inner, level));
                }
                ("items", Value::Object(items)) => self.add(items, level),
                _ => {}
            }
        }
    }

    /// What there is more of than `most` has.
    fn beyond(&self, most: &Self) -> Option<String> {
        let counts = [
            (self.levels, most.levels, "levels of objects"),
            (self.properties, most.properties, "properties"),
            (self.words, most.words, "values of enumerations"),
            (self.letters, most.letters, "letters in names and values"),
        ];
        let (count, most, what) = counts.into_iter().find(|(count, most, _)| count > most)?;
        Some(format!("it has {count} {what}, and there may be {most}"))
    }
}
