//! The interfaces of `toolcell:tool` that tools import: `events`, `context` and `files`.

use wasmtime::Result;
use wasmtime::component::{HasSelf, Linker, Resource};

use crate::call::Content;
use crate::limits::Limit;
use crate::recording::Tape;
use crate::sandbox::dirs::{FsRefusal, Replacement};
use crate::sandbox::state::{CellState, LimitExceeded};
use crate::sandbox::tape::{Replayed, given_bytes, taped};

mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "toolcell:tool/tool",
        imports: { "toolcell:tool/events": async | trappable, default: trappable },
        with: { "toolcell:tool/files.replacement": crate::sandbox::dirs::Replacement },
    });
}

use bindings::toolcell::tool::{context, events, files, types};

pub(super) fn add_to_linker(linker: &mut Linker<CellState>) -> Result<()> {
    types::add_to_linker::<CellState, HasSelf<CellState>>(linker, |state| state)?;
    events::add_to_linker::<CellState, HasSelf<CellState>>(linker, |state| state)?;
    context::add_to_linker::<CellState, HasSelf<CellState>>(linker, |state| state)?;
    files::add_to_linker::<CellState, HasSelf<CellState>>(linker, |state| state)
}

impl types::Host for CellState {}

impl events::Host for CellState {
    async fn log(&mut self, level: events::Level, text: String) -> Result<()> {
        self.charge_record(length(&text))?;
        let level = match level {
            events::Level::Trace => "trace",
            events::Level::Debug => "debug",
            events::Level::Info => "info",
            events::Level::Warn => "warn",
            events::Level::Error => "error",
        };
        if let Some(kept) = CellState::log(self, level, &text) {
            self.events.log(level, &kept).await;
        }
        Ok(())
    }

    async fn progress(&mut self, done: u64, total: Option<u64>, text: Option<String>) -> Result<()> {
        self.charge_record(optional(&text))?;
        let of = total.map(|total| format!("/{total}")).unwrap_or_default();
        let words = text.as_deref().unwrap_or_default();
        if CellState::log(self, "progress", format!("{done}{of} {words}").trim_end()).is_some() {
            self.events.progress(done, total, text.as_deref()).await;
        }
        Ok(())
    }

    async fn emit(&mut self, content: types::Content) -> Result<()> {
        let content = content_from_guest(content);
        if let Err(exceeded) = self.charge_chunk(content_bytes(&content)) {
            if let Some(redactor) = self.events.redactor() {
                redactor.cut_last_chunk(&mut self.chunks);
            }
            return Err(exceeded.into());
        }
        if self.events.wants_chunks() {
            self.events.chunk(content.clone()).await;
        }
        self.chunks.push(content);
        Ok(())
    }
}

impl CellState {
    /// Counts a record that the guest gives. One that is too much is not kept, and nor is what it goes on from.
    fn charge_record(&mut self, bytes: u64) -> std::result::Result<(), LimitExceeded> {
        let charged = self.budget.charge_host_bytes(bytes);
        if charged.is_err() {
            self.dropped_logs = self.dropped_logs.saturating_add(1);
        }
        charged
    }

    /// Counts a chunk. Chunks are kept until the call ends, and are a part of its result.
    fn charge_chunk(&mut self, bytes: u64) -> std::result::Result<(), LimitExceeded> {
        self.budget.charge_host_bytes(bytes)?;
        let total = self.chunk_bytes.saturating_add(bytes);
        if total > self.budget.limits().get(Limit::ResultBytes) {
            return Err(LimitExceeded { limit: Limit::ResultBytes, wanted: total });
        }
        self.chunk_bytes = total;
        let count = self.chunks.len().saturating_add(1);
        if count > self.budget.limits().get_usize(Limit::Chunks) {
            let wanted = u64::try_from(count).unwrap_or(u64::MAX);
            return Err(LimitExceeded { limit: Limit::Chunks, wanted });
        }
        Ok(())
    }
}

/// A content block as the outcome carries it.
fn content_from_guest(content: types::Content) -> Content {
    use base64::Engine as _;
    let encode = |data: Vec<u8>| base64::engine::general_purpose::STANDARD.encode(data);
    match content {
        types::Content::Text(text) => Content::Text { text },
        types::Content::Json(text) => match serde_json::from_str(&text) {
            Ok(json) => Content::Json { json },
            // What claims to be JSON and is not still reaches the model, as what it is.
            Err(_) => Content::Text { text },
        },
        types::Content::Image(media) => {
            Content::Image { data: encode(media.data), mime_type: media.mime_type }
        }
        types::Content::Audio(media) => {
            Content::Audio { data: encode(media.data), mime_type: media.mime_type }
        }
        types::Content::Blob(binary) => {
            Content::Blob { data: encode(binary.data), mime_type: binary.mime_type, uri: binary.uri }
        }
        types::Content::Link(link) => {
            Content::Link { uri: link.uri, name: link.name, mime_type: link.mime_type }
        }
    }
}

fn content_bytes(content: &Content) -> u64 {
    match content {
        Content::Text { text } => length(text),
        Content::Json { json } => length(&json.to_string()),
        Content::Image { data, mime_type } | Content::Audio { data, mime_type } => {
            length(data).saturating_add(length(mime_type))
        }
        Content::Blob { data, mime_type, uri } => {
            length(data).saturating_add(length(mime_type)).saturating_add(optional(uri))
        }
        Content::Link { uri, name, mime_type } => {
            length(uri).saturating_add(optional(name)).saturating_add(optional(mime_type))
        }
    }
}

fn optional(text: &Option<String>) -> u64 {
    text.as_deref().map_or(0, length)
}

fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

impl context::Host for CellState {
    fn call_id(&mut self) -> Result<String> {
        Ok(self.context.call_id.clone())
    }

    fn session(&mut self) -> Result<Option<String>> {
        Ok(self.context.session.clone())
    }

    fn trace(&mut self) -> Result<Option<String>> {
        self.metadata("traceparent".to_owned())
    }

    fn metadata(&mut self, key: String) -> Result<Option<String>> {
        let found = self.context.meta.iter().find(|(known, _)| *known == key);
        Ok(found.map(|(_, value)| value.clone()))
    }

    fn output_budget(&mut self) -> Result<context::Budget> {
        Ok(context::Budget { bytes: self.context.budget_bytes, lines: self.context.budget_lines })
    }

    fn time_limit(&mut self) -> Result<u64> {
        let timeout = self.budget.limits().timeout();
        taped!(
            self.tape.clone(),
            "time-limit".to_owned(),
            Ok(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX))
        )
    }
}

impl files::Host for CellState {}

/// An answer of `files`, of which the error is kind and message.
type Answer<T> = Result<std::result::Result<T, (String, String)>>;

impl files::HostReplacement for CellState {
    fn open(
        &mut self,
        path: String,
        create_parents: bool,
    ) -> Result<std::result::Result<Resource<Replacement>, files::FileError>> {
        let mut live = None;
        let ask = || format!("replace `{path}` {create_parents}");
        let answer: Answer<()> = taped!(self.tape.clone(), ask(), {
            match Replacement::open(&mut self.dirs, &path, create_parents) {
                Ok(replacement) => {
                    live = Some(replacement);
                    Ok(Ok(()))
                }
                Err(refusal) => Ok(Err(words(&refusal))),
            }
        });
        if let Err(error) = answer? {
            return Ok(Err(file_error(error)));
        }
        Ok(Ok(match live {
            Some(replacement) => self.table.push(replacement)?,
            None => Resource::new_own(self.table.push(Replayed)?.rep()),
        }))
    }

    fn write(
        &mut self,
        replacement: Resource<Replacement>,
        bytes: Vec<u8>,
    ) -> Result<std::result::Result<(), files::FileError>> {
        self.budget.charge_host_bytes(u64::try_from(bytes.len()).unwrap_or(u64::MAX))?;
        let given = |tape: Option<&Tape>| given_bytes(tape, &bytes);
        let ask = || format!("replace-write {} {}", replacement.rep(), given(self.tape.as_ref()));
        let answer: Answer<()> = taped!(self.tape.clone(), ask(), {
            Ok(self.table.get_mut(&replacement)?.write(&bytes).map_err(|refusal| words(&refusal)))
        });
        Ok(answer?.map_err(file_error))
    }

    fn commit(
        &mut self,
        replacement: Resource<Replacement>,
    ) -> Result<std::result::Result<(), files::FileError>> {
        let ask = || format!("replace-commit {}", replacement.rep());
        let answer: Answer<()> = taped!(self.tape.clone(), ask(), {
            Ok(self.table.get_mut(&replacement)?.commit().map_err(|refusal| words(&refusal)))
        });
        Ok(answer?.map_err(file_error))
    }

    fn drop(&mut self, replacement: Resource<Replacement>) -> Result<()> {
        if self.tape.as_ref().is_some_and(Tape::is_replay) {
            self.table.delete(Resource::<Replayed>::new_own(replacement.rep()))?;
            return Ok(());
        }
        // Its drop removes what was not committed.
        drop(self.table.delete(replacement)?);
        Ok(())
    }
}

fn words(refusal: &FsRefusal) -> (String, String) {
    (refusal.kind().to_owned(), refusal.to_string())
}

fn file_error((kind, message): (String, String)) -> files::FileError {
    files::FileError { kind, message }
}
