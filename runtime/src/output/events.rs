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
    pub fn redactor(&self) -> Option<&Arc<Redactor>> {
        self.redacting.as_ref().map(|redacting| &redacting.redactor)
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
        let content = match (&self.redacting, content) {
            (None, content) => clean_content(content),
            (Some(redacting), Content::Text { text }) => {
                let text = locked(&redacting.chunks).piece(&clean(&text));
                if text.is_empty() {
                    return;
                }
                Content::Text { text }
            }
            // What is held back of a text before it stays so: the text may go on behind it.
            (Some(redacting), mut other) => {
                redacting.redactor.block(&mut other);
                clean_content(other)
            }
        };
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
            let (done, total) = (self.number(done).unwrap_or_default(), total.and_then(|of| self.number(of)));
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

    /// A number, unless it is a secret.
    fn number(&self, number: u64) -> Option<u64> {
        let redactor = self.redactor();
        Some(number).filter(|number| redactor.is_none_or(|redactor| !redactor.is_in(&number.to_string())))
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use serde_json::json;

    use super::*;

    const SECRET: &str = "sk-live_AbCd1234-wxyz9876";

    /// What a listener hears of chunks and of progress, as JSON.
    async fn heard(chunks: Vec<Content>, progress: &[u64]) -> String {
        let redactor = Redactor::new([("key", SECRET), ("pin", "73000007")]).unwrap().map(Arc::new);
        let (sink, mut events) = tokio::sync::mpsc::channel(64);
        let mut sinks = EventSinks::default().redacting(redactor.as_ref());
        sinks.add(sink);
        for chunk in chunks {
            sinks.chunk(chunk).await;
        }
        sinks.rest().await;
        for done in progress {
            sinks.progress(*done, Some(*done), None).await;
        }
        drop(sinks);
        let mut heard = Vec::new();
        while let Some(event) = events.recv().await {
            heard.push(event);
        }
        json!(heard).to_string()
    }

    fn text(text: &str) -> Content {
        Content::Text { text: text.to_owned() }
    }

    fn link(uri: String) -> Content {
        Content::Link { uri, name: None, mime_type: None }
    }

    #[tokio::test]
    async fn no_half_of_a_secret_is_heard_on_either_side_of_what_is_no_text() {
        for at in 1..SECRET.len() {
            let (first, second) = SECRET.split_at(at);
            let between = link("https://example.org/".to_owned());
            let heard =
                heard(vec![text(&format!("a {first}")), between, text(&format!("{second} b"))], &[]).await;
            assert!(heard.contains("example.org") && heard.contains("[redacted:key]"), "{heard}");
            let left = heard.replace("[redacted:key]", "");
            assert!(!left.contains(first) || first.len() < 3, "{at}: {heard}");
            assert!(!left.contains(second) || second.len() < 3, "{at}: {heard}");
        }
        let ended = heard(vec![text("a sk-live_AbCd")], &[]).await;
        assert!(
            ended.contains("a ") && !ended.contains("sk-live"),
            "the rest may come with the result: {ended}"
        );
    }

    #[tokio::test]
    async fn an_address_is_redacted_before_it_is_cut() {
        for before in 1..SECRET.len() {
            let heard = heard(vec![link(format!("{}{SECRET}", "x".repeat(2048 - before)))], &[]).await;
            assert!(!heard.contains("xs"), "{before}: {heard}");
        }
    }

    #[tokio::test]
    async fn a_number_that_is_a_secret_is_not_heard() {
        let heard = heard(Vec::new(), &[73_000_007, 7]).await;
        assert!(!heard.contains("73000007") && heard.contains("\"done\":7"), "{heard}");
    }
}
