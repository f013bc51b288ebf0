//! The way of an end to its reader: cleaned, cut to the output's bounds, the full text kept under a handle.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::call::{CallError, Content, ErrorKind, Log, Outcome, Status, Truncation};
use crate::limits::{EffectiveLimits, Limit};
use crate::output::{Bounds, Handle, Keep, OutputStore, Shrink, bound_text, clean, truncate_json};
use crate::sandbox::{CellReport, Returned};
use crate::tool::{Entry, Tool};

/// What shapes an outcome beside the tool itself.
pub(super) struct Answering<'a> {
    pub bounds: &'a Bounds,
    pub outputs: &'a OutputStore,
    pub session: &'a str,
    pub limits: &'a EffectiveLimits,
}

impl Answering<'_> {
    /// Puts the report of a cell into `outcome`.
    pub fn answer(&self, tool: &Tool, report: CellReport, outcome: &mut Outcome) {
        outcome.denials = report.denials;
        outcome.logs = report.logs.into_iter().map(clean_log).collect();
        outcome.usage.fuel = report.fuel;
        outcome.usage.memory_bytes = report.memory_bytes;
        let mut room = Room::new(self.bounds);
        self.content(report.chunks, &mut room, outcome);
        let kept_chunks = !outcome.content.is_empty();
        match report.end {
            Ok(returned) => self.returned(tool, returned, room, outcome),
            Err(error) => {
                self.fail(error, outcome);
                if kept_chunks && outcome.status == Status::Error {
                    outcome.status = Status::Interrupted;
                }
            }
        }
    }

    /// Puts an error into `outcome`, its message bounded with the tail kept.
    pub fn fail(&self, mut error: CallError, outcome: &mut Outcome) {
        let message = std::mem::take(&mut error.message);
        let bounded = self.text(&message, self.bounds, Keep::Tail);
        outcome.status = error.kind.status();
        outcome.truncated = outcome.truncated.take().or(bounded.1);
        error.message = bounded.0;
        outcome.content.push(Content::Text { text: error.message.clone() });
        outcome.error = Some(error);
    }

    fn returned(&self, tool: &Tool, returned: Returned, room: Room, outcome: &mut Outcome) {
        match returned {
            Returned::Value(value) => self.value(tool, value, &room, outcome),
            Returned::Printed(text) => {
                let (text, truncated) = self.text(&text, &room.bounds(self.bounds), Keep::Ends);
                outcome.truncated = outcome.truncated.take().or(truncated);
                outcome.content.push(Content::Text { text });
            }
            Returned::Output { content, structured } => self.output(content, structured, room, outcome),
            Returned::ToolError(value) => self.fail(self.tool_error(value), outcome),
        }
    }

    /// A plain result: data, and the same facts as text.
    fn value(&self, tool: &Tool, value: Option<Value>, room: &Room, outcome: &mut Outcome) {
        let Entry::Typed { signature, .. } = &tool.entry else { return };
        let Some(value) = value else {
            outcome.structured = Some(Value::Object(Map::new()));
            return;
        };
        let bounds = room.bounds(self.bounds);
        if let Value::String(text) = value {
            let (text, truncated) = self.owned_text(text, &bounds);
            outcome.truncated = outcome.truncated.take().or(truncated);
            outcome.structured = Some(signature.returns().structured(Value::String(text.clone())));
            outcome.content.push(Content::Text { text });
            return;
        }
        let value = clean_value(value);
        let shrink = signature.returns().shrink();
        match self.json(value, &shrink, &bounds) {
            Ok((value, truncated)) => {
                outcome.content.push(Content::Text { text: value.to_string() });
                outcome.truncated = outcome.truncated.take().or(truncated);
                outcome.structured = Some(signature.returns().structured(value));
            }
            Err(error) => self.fail(error, outcome),
        }
    }

    /// Content that the tool chose, and data beside it.
    fn output(
        &self,
        content: Vec<Content>,
        structured: Option<Value>,
        mut room: Room,
        outcome: &mut Outcome,
    ) {
        self.content(content, &mut room, outcome);
        let Some(structured) = structured else { return };
        match self.json(clean_value(structured), &Shrink::Any, self.bounds) {
            Ok((value, truncated)) => {
                outcome.truncated = outcome.truncated.take().or(truncated);
                outcome.structured = Some(value);
            }
            Err(error) => self.fail(error, outcome),
        }
    }

    /// Adds blocks while there is room; text is cut, and what cannot be cut is left out with a note.
    fn content(&self, blocks: Vec<Content>, room: &mut Room, outcome: &mut Outcome) {
        for block in blocks {
            let block = match block {
                Content::Text { text } => {
                    let (text, truncated) = self.text(&text, &room.bounds(self.bounds), Keep::Ends);
                    outcome.truncated = outcome.truncated.take().or(truncated);
                    room.take(&text);
                    Content::Text { text }
                }
                Content::Json { json } => {
                    match self.json(clean_value(json), &Shrink::Any, &room.bounds(self.bounds)) {
                        Ok((json, truncated)) => {
                            outcome.truncated = outcome.truncated.take().or(truncated);
                            room.take(&json.to_string());
                            Content::Json { json }
                        }
                        Err(error) => Content::Text { text: error.message },
                    }
                }
                other => other,
            };
            outcome.content.push(block);
        }
    }

    fn tool_error(&self, value: Option<Value>) -> CallError {
        let message = match &value {
            None => "the tool reported an error without a message".to_owned(),
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        };
        let mut error = CallError::new(ErrorKind::ToolError, message);
        let structured = value.filter(|value| !value.is_string()).map(clean_value);
        error.details = structured
            .and_then(|value| truncate_json(&value, &Shrink::Any, self.bounds).map(|(value, _)| value));
        error
    }

    fn text(&self, text: &str, bounds: &Bounds, keep: Keep) -> (String, Option<Truncation>) {
        let truncated = bound_text(text, bounds, keep, |text| text, |full| self.keep(full));
        (truncated.text.into_owned(), truncated.truncation)
    }

    /// The same for a text that is ours: what passes unchanged is not copied.
    fn owned_text(&self, text: String, bounds: &Bounds) -> (String, Option<Truncation>) {
        let bounded = bound_text(&text, bounds, Keep::Ends, |text| text, |full| self.keep(full));
        match bounded.text {
            Cow::Borrowed(kept) if kept.len() == text.len() => (text, None),
            kept => (kept.into_owned(), bounded.truncation),
        }
    }

    fn json(
        &self,
        value: Value,
        shrink: &Shrink,
        bounds: &Bounds,
    ) -> Result<(Value, Option<Truncation>), CallError> {
        let text = value.to_string();
        if text.len() <= bounds.max_bytes {
            return Ok((value, None));
        }
        let Some((value, shortened)) = truncate_json(&value, shrink, bounds) else {
            return Err(too_large(text.len(), self.limits));
        };
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        let mut truncation = Truncation::new(bytes, 1, Vec::new());
        truncation.shortened = shortened;
        truncation.handle = self.keep(&text).map(|handle| handle.to_string());
        Ok((value, Some(truncation)))
    }

    /// Stores a full output. One that cannot be stored is still answered, without a handle.
    fn keep(&self, full: &str) -> Option<Handle> {
        self.outputs.put(self.session, full.as_bytes()).ok()
    }
}

fn too_large(bytes: usize, limits: &EffectiveLimits) -> CallError {
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    let used = Limit::ResultBytes.format(bytes);
    CallError::new(
        ErrorKind::ResultTooLarge,
        format!(
            "the result ({used}) does not fit the output and cannot be shortened; ask for a smaller part"
        ),
    )
    .help("raise `output.max_bytes`")
    .limit(limits.hit_text(Limit::ResultBytes, used))
}

fn clean_log(log: Log) -> Log {
    match clean(&log.text) {
        Cow::Borrowed(_) => log,
        Cow::Owned(text) => Log::new(log.stream, text),
    }
}

/// The value with every string in it cleaned; keys come from types, or from a tool's own objects.
fn clean_value(mut value: Value) -> Value {
    clean_in_place(&mut value);
    value
}

fn clean_in_place(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(cleaned) = clean(text) {
                *text = cleaned;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(clean_in_place),
        Value::Object(members) => {
            members.values_mut().for_each(clean_in_place);
            if members.keys().any(|key| matches!(clean(key), Cow::Owned(_))) {
                *members = std::mem::take(members)
                    .into_iter()
                    .map(|(key, value)| (clean(&key).into_owned(), value))
                    .collect();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What is left of the output's bounds for the next block.
struct Room {
    bytes: usize,
    lines: usize,
}

impl Room {
    fn new(bounds: &Bounds) -> Self {
        Self { bytes: bounds.max_bytes, lines: bounds.max_lines }
    }

    fn take(&mut self, text: &str) {
        self.bytes = self.bytes.saturating_sub(text.len());
        self.lines = self.lines.saturating_sub(text.lines().count());
    }

    fn bounds(&self, bounds: &Bounds) -> Bounds {
        bounds.clone().max_bytes(self.bytes).max_lines(self.lines)
    }
}
