//! What a tool says before its end, on its way to whoever listens.

use tokio::sync::mpsc::Sender;

use super::{clean, clean_content};
use crate::call::{Content, Event, Log};

/// Who listens to a call. A full channel makes the tool wait, up to its deadline; one that nobody reads from any more
/// is skipped.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventSinks {
    sinks: Vec<Listener>,
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
        if self.wants_chunks() {
            self.send(Event::Chunk { content: clean_content(content) }).await;
        }
    }

    pub async fn log(&self, level: &str, text: &str) {
        if !self.is_empty() {
            self.send(Event::Log { log: Log::new(level, clean(text)) }).await;
        }
    }

    pub async fn progress(&self, done: u64, total: Option<u64>, text: Option<&str>) {
        if !self.is_empty() {
            let text = text.map(|text| clean(text).into_owned());
            self.send(Event::Progress { done, total, text }).await;
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
