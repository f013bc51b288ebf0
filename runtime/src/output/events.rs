//! What a tool says before its end, on its way to whoever listens.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc::Sender;

use super::redact::{RedactingStream, Redactor};
use super::{clean, clean_content};
use crate::call::{Content, Event, Log};

/// Who listens to a call. A full channel makes the tool wait, up to its deadline; one that nobody reads from any more
/// is skipped.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventSinks {
    sinks: Vec<Listener>,
    redacting: Option<Arc<Redacting>>,
}

/// The secrets of the tool, and what was said so far, in which the beginning of one may be.
#[derive(Debug)]
struct Redacting {
    redactor: Arc<Redactor>,
    chunks: Mutex<RedactingStream>,
    records: Mutex<RedactingStream>,
}

#[derive(Debug, Clone)]
struct Listener {
    sink: Sender<Event>,
    wants_chunks: bool,
    wants_words: bool,
}

impl EventSinks {
    /// One listener more.
    pub fn add(&mut self, sink: Sender<Event>) {
        self.sinks.push(Listener { sink, wants_chunks: true, wants_words: true });
    }

    /// The same listeners of one run of a tool that must not say its secrets.
    pub fn redacting(mut self, redactor: Option<&Arc<Redactor>>) -> Self {
        let stream = |redactor: &Arc<Redactor>| Mutex::new(RedactingStream::new(Arc::clone(redactor)));
        self.redacting = redactor.map(|redactor| {
            let (chunks, records) = (stream(redactor), stream(redactor));
            Arc::new(Redacting { redactor: Arc::clone(redactor), chunks, records })
        });
        self
    }

    /// What takes the tool's secrets out of texts.
    pub fn redactor(&self) -> Option<&Redactor> {
        self.redacting.as_ref().map(|redacting| redacting.redactor.as_ref())
    }

    /// The same listeners, who get no chunks: something may still take the place of the whole result.
    pub fn holding_chunks(mut self) -> Self {
        for listener in &mut self.sinks {
            listener.wants_chunks = false;
        }
        self
    }

    /// The same listeners, who get nothing: something may still be taken out of every word.
    pub fn holding_everything(mut self) -> Self {
        for listener in &mut self.sinks {
            (listener.wants_chunks, listener.wants_words) = (false, false);
        }
        self
    }

    /// Whether nobody wants records and progress.
    pub fn is_empty(&self) -> bool {
        !self.sinks.iter().any(|listener| listener.wants_words)
    }

    /// Whether somebody wants a chunk now.
    pub fn wants_chunks(&self) -> bool {
        self.sinks.iter().any(|listener| listener.wants_chunks)
    }

    pub async fn chunk(&self, content: Content) {
        if !self.wants_chunks() {
            return;
        }
        let mut content = clean_content(content);
        if let Some(redacting) = &self.redacting {
            match &mut content {
                Content::Text { text } => {
                    *text = locked(&redacting.chunks).piece(text);
                    if text.is_empty() {
                        return;
                    }
                }
                other => {
                    self.rest().await;
                    redacting.redactor.block(other);
                }
            }
        }
        self.send(Event::Chunk { content }).await;
    }

    /// What was kept back of the last chunk, since it could have been the beginning of a secret.
    pub async fn rest(&self) {
        let Some(redacting) = &self.redacting else { return };
        let text = locked(&redacting.chunks).rest();
        if !text.is_empty() && self.wants_chunks() {
            self.send(Event::Chunk { content: Content::Text { text } }).await;
        }
    }

    pub async fn log(&self, level: &str, text: &str) {
        if !self.is_empty() {
            let text = self.record(text);
            self.send(Event::Log { log: Log::new(level, text) }).await;
        }
    }

    pub async fn progress(&self, done: u64, total: Option<u64>, text: Option<&str>) {
        if !self.is_empty() {
            let text = text.map(|text| self.record(text));
            self.send(Event::Progress { done, total, text }).await;
        }
    }

    fn record(&self, text: &str) -> String {
        let text = clean(text);
        match &self.redacting {
            Some(redacting) => locked(&redacting.records).record(&text),
            None => text.into_owned(),
        }
    }

    async fn send(&self, event: Event) {
        let is_chunk = matches!(event, Event::Chunk { .. });
        let wants =
            |listener: &&Listener| if is_chunk { listener.wants_chunks } else { listener.wants_words };
        for listener in self.sinks.iter().filter(wants) {
            // A listener that went away is no reason to stop the tool.
            let _ = listener.sink.send(event.clone()).await;
        }
    }
}

fn locked(stream: &Mutex<RedactingStream>) -> std::sync::MutexGuard<'_, RedactingStream> {
    stream.lock().unwrap_or_else(PoisonError::into_inner)
}
