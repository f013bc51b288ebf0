//! Secrets taken out of text that comes in pieces, of which each is shown before the next one is there.

use std::sync::Arc;

use super::spans::Span;
use super::{Redactor, TOLERATED};

/// The pieces of one stream.
#[derive(Debug)]
pub(crate) struct RedactingStream {
    redactor: Arc<Redactor>,
    /// What may be the beginning of a secret, kept back until it is known.
    held: String,
    /// How much of that is the end of a secret whose mark was written.
    covered: usize,
    /// The end of the last record, which was shown or marked.
    before: String,
}

impl RedactingStream {
    pub fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, held: String::new(), covered: 0, before: String::new() }
    }

    /// The next piece of a text that is read as one: what of it and of those before can be shown now.
    pub fn piece(&mut self, text: &str) -> String {
        let mut all = std::mem::take(&mut self.held);
        all.push_str(text);
        let mut spans = self.redactor.spans(&all);
        spans.add_first(Span { start: 0, end: self.covered, mark: None });
        let shown = self.redactor.halved_end(&all);
        self.covered = spans.end_around(shown).unwrap_or(shown) - shown;
        let written = spans.write_range(&all, 0..shown, &self.redactor.marks);
        self.held = all.split_off(shown);
        written
    }

    /// The rest, after the last piece. It may be a whole secret that was kept back since another one begins with it. What may
    /// be the beginning of one is left out unless it is very short: the rest of it may come by another way.
    pub fn rest(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        let mut spans = self.redactor.spans(&held);
        let halved = self.redactor.halved_end(&held);
        if held.len() - halved > TOLERATED {
            spans.add(Span { start: halved, end: held.len(), mark: None });
        }
        spans.add_first(Span { start: 0, end: std::mem::take(&mut self.covered), mark: None });
        spans.write(&held, &self.redactor.marks)
    }

    /// The next of texts that are shown each by itself. What may be the beginning of a secret at its end is taken out
    /// unless it is very short, and the rest of the secret is known in the next.
    pub fn record(&mut self, text: &str) -> String {
        let start = self.before.len();
        let mut all = std::mem::take(&mut self.before);
        all.push_str(text);
        let mut spans = self.redactor.spans(&all);
        let halved = self.redactor.halved_end(&all);
        if all.len() - halved > TOLERATED {
            spans.add(Span { start: halved, end: all.len(), mark: None });
        }
        let mut written = spans.write_range(&all, start..all.len(), &self.redactor.marks);
        if written.is_empty() && !text.is_empty() {
            written.push_str("[redacted]");
        }
        let kept = all.len().saturating_sub(self.redactor.longest_part());
        self.before = all.split_off(all.ceil_char_boundary(kept));
        written
    }
}
