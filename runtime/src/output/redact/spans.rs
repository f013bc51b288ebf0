//! The parts of a text that are secrets.

use std::ops::Range;

/// One part, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub start: usize,
    pub end: usize,
    /// The number of the secret whose mark stands there; none for what is only left out.
    pub mark: Option<usize>,
}

impl Span {
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// Parts in order that do not overlap.
#[derive(Debug, Default)]
pub(super) struct Spans(Vec<Span>);

impl Spans {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a part that ends after the beginnings of all others; those that it overlaps become one with it, under the longest's mark.
    pub fn add(&mut self, mut span: Span) {
        if span.start >= span.end {
            return;
        }
        let mut longest = span.end - span.start;
        while let Some(last) = self.0.last().copied().filter(|last| last.end > span.start) {
            let length = last.end - last.start;
            if span.mark.is_none() || (last.mark.is_some() && length > longest) {
                (span.mark, longest) = (last.mark, length);
            }
            span.start = span.start.min(last.start);
            span.end = span.end.max(last.end);
            self.0.pop();
        }
        self.0.push(span);
    }

    /// Adds a part from the start of the text.
    pub fn add_first(&mut self, first: Span) {
        let rest = std::mem::take(&mut self.0);
        self.add(first);
        rest.into_iter().for_each(|span| self.add(span));
    }

    /// The end of the part that `at` lies within.
    pub fn end_around(&self, at: usize) -> Option<usize> {
        self.0.iter().find(|span| span.start < at && at < span.end).map(|span| span.end)
    }

    /// The text with marks in the place of the parts.
    pub fn write(&self, text: &str, marks: &[String]) -> String {
        self.write_range(text, 0..text.len(), marks)
    }

    /// The same of one range of the text. The mark of a part is where the part begins.
    pub fn write_range(&self, text: &str, range: Range<usize>, marks: &[String]) -> String {
        let mut written = String::new();
        let mut at = range.start;
        let first = self.0.partition_point(|span| span.end <= range.start);
        for span in self.0.iter().skip(first).take_while(|span| span.start < range.end) {
            written.push_str(text.get(at..span.start).unwrap_or_default());
            if span.start >= range.start {
                let mark = span.mark.and_then(|mark| marks.get(mark));
                written.push_str(mark.map_or("", String::as_str));
            }
            at = span.end.min(range.end);
        }
        written.push_str(text.get(at..range.end).unwrap_or_default());
        written
    }
}
