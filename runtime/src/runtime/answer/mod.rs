//! The way of an end to its reader: cleaned, cut to the output's bounds, the full text kept under a handle.

mod aside;
mod blocks;
mod response;

use std::borrow::Cow;

use serde_json::{Map, Value, json};

pub(super) use aside::aside;
use blocks::{Full, Room, is_media};
pub(super) use response::{ended, replace};

use crate::call::{CallError, Content, Ended, ErrorKind, Log, Outcome, Returned, Status, Truncation};
use crate::limits::{EffectiveLimits, Limit, advice};
use crate::output::{
    Bounds, Handle, Keep, OutputStore, Shrink, bound_text, clean, cleaned, labelled, truncate_json,
};
use crate::schema::ResultKind;
use crate::tool::{Entry, Tool};

/// What shapes an outcome beside the tool itself.
pub(super) struct Answering<'a> {
    pub bounds: Bounds,
    pub outputs: &'a OutputStore,
    pub session: &'a str,
    /// Whose the outputs are: the user where one is known, else the session.
    pub owner: &'a str,
    pub limits: &'a EffectiveLimits,
}

impl Answering<'_> {
    /// Puts the report of a cell into `outcome`.
    pub fn answer(&self, tool: &Tool, report: Ended, outcome: &mut Outcome) {
        outcome.denials = report.denials;
        outcome.logs = report.logs.into_iter().map(clean_log).collect();
        outcome.usage.fuel = report.fuel;
        outcome.usage.memory_bytes = report.memory_bytes;
        outcome.usage.http_requests = report.http_requests;
        match report.end {
            Ok(Returned::ToolError(value)) => {
                let mut error = self.tool_error(tool, value, &outcome.logs);
                if let Some(hit) = report.limit {
                    error = error.help(format!("the tool met a limit: {}", advice(&hit))).limit(hit);
                }
                self.failed(error, report.chunks, outcome);
            }
            Ok(returned) => {
                let mut room = Room::new(&self.bounds);
                room.reserve();
                self.content(report.chunks, &mut room, outcome);
                self.returned(tool, returned, room, outcome);
            }
            Err(error) => self.failed(error, report.chunks, outcome),
        }
    }

    /// Puts an error into `outcome`, its message bounded with the tail kept.
    pub fn fail(&self, error: CallError, outcome: &mut Outcome) {
        self.fail_within(&self.bounds, error, outcome);
    }

    fn fail_within(&self, bounds: &Bounds, error: CallError, outcome: &mut Outcome) {
        let error = self.bounded(bounds, error, outcome);
        end_with(error, outcome);
    }

    /// An error after what the tool emitted before it: the reason has the first claim to the room.
    fn failed(&self, error: CallError, chunks: Vec<Content>, outcome: &mut Outcome) {
        let mut room = Room::new(&self.bounds);
        let half = self.bounds.max_bytes(room.bytes / 2).max_lines(room.lines / 2);
        let bounds = if chunks.is_empty() { &self.bounds } else { &half };
        let error = self.bounded(bounds, error, outcome);
        room.take(&error.message);
        // What comes before it may end in a newline, which then makes an empty line.
        room.take("");
        self.content(chunks, &mut room, outcome);
        let interrupted = is_a_stop(error.kind) && !outcome.content.is_empty();
        end_with(error, outcome);
        if interrupted {
            outcome.status = Status::Interrupted;
        }
    }

    fn bounded(&self, bounds: &Bounds, mut error: CallError, outcome: &mut Outcome) -> CallError {
        let (message, truncated) = self.text(&error.message, bounds, Keep::Tail);
        outcome.truncated = outcome.truncated.take().or(truncated);
        error.message = message;
        error
    }

    fn returned(&self, tool: &Tool, returned: Returned, mut room: Room, outcome: &mut Outcome) {
        match returned {
            Returned::Value(value) => {
                room.release();
                self.value(tool, value, &room, outcome);
            }
            Returned::Printed(text) => {
                room.release();
                let (text, truncated) = self.text(&text, &room.bounds(&self.bounds), Keep::Ends);
                outcome.truncated = outcome.truncated.take().or(truncated);
                outcome.content.push(Content::Text { text });
            }
            Returned::Output { content, structured } => {
                self.output(tool, content, structured, room, outcome);
            }
            Returned::ToolError(value) => {
                let error = self.tool_error(tool, value, &outcome.logs);
                self.failed(error, Vec::new(), outcome);
            }
        }
    }

    /// A plain result: data, and the same facts as text.
    fn value(&self, tool: &Tool, value: Option<Value>, room: &Room, outcome: &mut Outcome) {
        let Some(Entry::Typed { signature, shrink, .. }) = tool.entry() else { return };
        let Some(value) = value else {
            outcome.structured = Some(Value::Object(Map::new()));
            return;
        };
        let bounds = room.bounds(&self.bounds);
        let value = match value {
            Value::String(text) if *shrink == Shrink::Text => {
                let (text, truncated) = self.owned_text(text, &bounds);
                outcome.truncated = outcome.truncated.take().or(truncated);
                outcome.structured = Some(signature.returns().structured(Value::String(text.clone())));
                outcome.content.push(Content::Text { text });
                return;
            }
            other => other,
        };
        match self.json(cleaned(value), shrink, &bounds, Keeping::Store) {
            Ok((value, truncated)) => {
                outcome.content.push(Content::Text { text: text_of(&value) });
                outcome.truncated = outcome.truncated.take().or(truncated);
                outcome.structured = Some(signature.returns().structured(value));
            }
            Err(error) => self.fail_within(&bounds, error, outcome),
        }
    }

    /// Content that the tool or a hook chose, and data beside it.
    fn output(
        &self,
        tool: &Tool,
        content: Vec<Content>,
        structured: Option<Value>,
        mut room: Room,
        outcome: &mut Outcome,
    ) {
        self.content(content, &mut room, outcome);
        let Some(structured) = structured else { return };
        room.release();
        match self.data(tool, cleaned(structured)) {
            Ok((value, truncated)) => {
                outcome.truncated = outcome.truncated.take().or(truncated);
                // Not every reader has data beside what is said. A function that says nothing on purpose returned nothing.
                if outcome.content.is_empty() && tool.entry().is_some() {
                    outcome.content.push(Content::Text { text: text_of(&value) });
                }
                outcome.structured = Some(value);
            }
            Err(error) => self.fail_within(&room.bounds(&self.bounds), error, outcome),
        }
    }

    /// Data cut to the bounds, still as the tool's output schema announces it.
    fn data(&self, tool: &Tool, structured: Value) -> Result<(Value, Option<Truncation>), CallError> {
        if let Some(Entry::Typed { signature, shrink, .. }) = tool.entry()
            && signature.returns().kind() == ResultKind::Plain
            && let Some(value) = signature.returns().unwrapped(&structured)
        {
            let (value, truncated) = self.json(value, shrink, &self.bounds, Keeping::Store)?;
            return Ok((signature.returns().structured(value), truncated));
        }
        let full = structured.to_string().len();
        let (value, truncated) = self.json(structured, &Shrink::Any, &self.bounds, Keeping::Store)?;
        if truncated.is_some() && !tool.admits(&value) {
            return Err(too_large(full, self.limits));
        }
        Ok((value, truncated))
    }

    /// Adds blocks while there is room: text and JSON are cut, links that do not fit are left out with a note. Media
    /// stay whole, since a part of an image is none; the limit of the result's bytes bounds them. Blocks that do not
    /// fit are stored together, once, and none is looked at after the room is used up.
    fn content(&self, blocks: Vec<Content>, room: &mut Room, outcome: &mut Outcome) {
        let blocks: Vec<Content> = blocks.into_iter().map(labelled).collect();
        let full = Full::of(&blocks);
        let handle = if full.fits(room) { None } else { self.keep(&full.text) };
        let keeping = Keeping::Stored(handle.as_ref());
        let mut left_out = 0_usize;
        for block in blocks {
            if room.is_used_up() && !is_media(&block) {
                left_out += 1;
                continue;
            }
            let bounds = room.bounds(&self.bounds);
            // A tool may emit without end: what no reader will see is not worth cleaning and keeping piece by piece.
            let full = bounds.max_bytes == 0 || bounds.max_lines == 0;
            if full
                && outcome.truncated.is_some()
                && matches!(block, Content::Text { .. } | Content::Json { .. } | Content::Link { .. })
            {
                continue;
            }
            let block = match block {
                Content::Text { text } => self.block_of_text(&text, &bounds, keeping, outcome),
                Content::Json { json } => match self.json(cleaned(json), &Shrink::Any, &bounds, keeping) {
                    Ok((json, truncated)) => {
                        outcome.truncated = outcome.truncated.take().or(truncated);
                        Some(Content::Json { json })
                    }
                    Err(error) => self.block_of_text(&error.message, &bounds, keeping, outcome),
                },
                Content::Link { uri, name, mime_type } => {
                    let bytes = uri.len() + name.as_ref().map_or(0, String::len);
                    if bytes <= bounds.max_bytes {
                        Some(Content::Link { uri, name, mime_type })
                    } else {
                        let note = format!("[a link of {bytes} bytes left out]");
                        self.block_of_text(&note, &bounds, keeping, outcome)
                    }
                }
                other => Some(other),
            };
            let Some(block) = block else { continue };
            room.take_block(&block);
            outcome.content.push(block);
        }
        if left_out > 0 && outcome.truncated.is_none() {
            outcome.truncated = Some(full.truncation(handle.as_ref()));
        }
    }

    /// A block of text, unless nothing of it fits.
    fn block_of_text(
        &self,
        text: &str,
        bounds: &Bounds,
        keeping: Keeping<'_>,
        outcome: &mut Outcome,
    ) -> Option<Content> {
        let bounded = bound_text(text, bounds, Keep::Ends, |text| text, |full| self.kept(keeping, full));
        let cut = bounded.text.into_owned();
        outcome.truncated = outcome.truncated.take().or(bounded.truncation);
        (!cut.is_empty() || text.is_empty()).then_some(Content::Text { text: cut })
    }

    fn tool_error(&self, tool: &Tool, value: Option<Value>, logs: &[Log]) -> CallError {
        let message = match (&value, tool.entry()) {
            (Some(value), Some(Entry::Provided { .. })) => return provider_failed(value),
            (Some(Value::String(printed)), Some(Entry::Command)) => program_failed(printed, logs),
            (None, _) => "the tool reported an error without a message".to_owned(),
            (Some(Value::String(text)), _) => text.clone(),
            (Some(value), _) => value.to_string(),
        };
        let mut error = CallError::new(ErrorKind::ToolError, message);
        let structured = value.filter(|value| !value.is_string()).map(cleaned);
        error.details = structured
            .and_then(|value| truncate_json(&value, &Shrink::Any, &self.bounds).map(|(value, _)| value));
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
        keeping: Keeping<'_>,
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
        truncation.handle = self.kept(keeping, &text).map(|handle| handle.to_string());
        Ok((value, Some(truncation)))
    }

    fn kept(&self, keeping: Keeping<'_>, full: &str) -> Option<Handle> {
        match keeping {
            Keeping::Store => self.keep(full),
            Keeping::Stored(handle) => handle.cloned(),
        }
    }

    /// Stores a full output. One that cannot be stored is still answered, without a handle.
    fn keep(&self, full: &str) -> Option<Handle> {
        self.outputs.put_for(self.owner, self.session, full.as_bytes()).ok()
    }
}

/// Where the full text of something that is cut goes.
#[derive(Clone, Copy)]
enum Keeping<'a> {
    /// Into the store.
    Store,
    /// It is there already, as a part of this.
    Stored(Option<&'a Handle>),
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

fn end_with(error: CallError, outcome: &mut Outcome) {
    outcome.status = error.kind.status();
    outcome.content.push(Content::Text { text: error.message.clone() });
    outcome.error = Some(error);
}

/// Whether the host stopped a tool at a limit, so that what came before is a part of what it would have said.
fn is_a_stop(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Timeout
            | ErrorKind::OutOfFuel
            | ErrorKind::MemoryLimit
            | ErrorKind::StackOverflow
            | ErrorKind::ResourceLimit
            | ErrorKind::ResultTooLarge
            | ErrorKind::Cancelled
    )
}

/// What a program that failed has to say: what it printed, and its standard error, where programs give the reason.
fn program_failed(printed: &str, logs: &[Log]) -> String {
    let errors = logs.iter().filter(|log| log.stream == "stderr").map(|log| log.text.as_str());
    let said: Vec<&str> =
        std::iter::once(printed).chain(errors).map(str::trim_end).filter(|text| !text.is_empty()).collect();
    if said.is_empty() { "the program failed without a message".to_owned() } else { said.join("\n") }
}

/// The failure that a provider told, by `toolcell:tool/tools.tool-failure`.
fn provider_failed(failure: &Value) -> CallError {
    let text = |key: &str| failure.get(key).and_then(Value::as_str).unwrap_or_default();
    let kind = match text("kind") {
        "invalid-arguments" => ErrorKind::InvalidArguments,
        _ => ErrorKind::ToolError,
    };
    let message = match text("message") {
        "" => "the tool reported an error without a message",
        message => message,
    };
    let mut error = CallError::new(kind, message);
    error.details = Some(json!({ "kind": clean(text("kind")) }));
    error
}

/// A value as text: a string as it is, all else as JSON.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

fn clean_log(log: Log) -> Log {
    match clean(&log.text) {
        Cow::Borrowed(_) => log,
        Cow::Owned(text) => Log::new(log.stream, text),
    }
}
