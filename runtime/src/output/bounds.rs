//! The bounds of what a model reads, and the one path on which text is brought inside them.

use std::borrow::Cow;

use super::{Handle, Keep, Truncated, clean, truncate_text};

/// How much of one call's output a model reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bounds {
    /// Bytes of UTF-8, the marker of what was left out included. Default 40 KiB.
    pub max_bytes: usize,
    /// Lines, the marker's included. Default 2,000.
    pub max_lines: usize,
    /// Bytes of one line, where the text exceeds one of the other bounds. Default 4 KiB: longer than any line that
    /// a person writes, and a tenth of the whole, so that ten minified lines still fit. A text of few lines gives
    /// each of them its even share of `max_bytes` instead, if that is more.
    pub max_line_bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { max_bytes: 40 * 1024, max_lines: 2000, max_line_bytes: 4 * 1024 }
    }
}

impl Bounds {
    /// Sets the bytes of the whole.
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets the lines of the whole.
    #[must_use]
    pub fn max_lines(mut self, lines: usize) -> Self {
        self.max_lines = lines;
        self
    }

    /// Sets the bytes of one line.
    #[must_use]
    pub fn max_line_bytes(mut self, bytes: usize) -> Self {
        self.max_line_bytes = bytes;
        self
    }

    /// Whether `text` is inside the bounds as it is.
    pub fn fit(&self, text: &str) -> bool {
        text.len() <= self.max_bytes && count_lines(text) <= self.max_lines
    }
}

/// The lines of `text`; a final newline ends the last line and begins none.
pub(super) fn count_lines(text: &str) -> usize {
    let newlines = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    newlines + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// Brings a text before a model: cleans it, redacts it, and cuts it to the bounds.
///
/// `redact` sees the cleaned text, since a control character inside a secret would hide it, and before it is cut,
/// since a cut secret would not be recognised. `keep_full` gets the same text if it has to be cut, and returns the
/// handle under which it stored it; the marker then names it.
pub fn bound_text<'a>(
    text: &'a str,
    bounds: &Bounds,
    keep: Keep,
    redact: impl FnOnce(Cow<'a, str>) -> Cow<'a, str>,
    keep_full: impl FnOnce(&str) -> Option<Handle>,
) -> Truncated<'a> {
    let full = redact(clean(text));
    if bounds.fit(&full) {
        return Truncated { text: full, truncation: None };
    }
    let handle = keep_full(&full);
    let hint = handle.as_ref().map(|handle| format!("the full output: {handle}")).unwrap_or_default();
    let mut truncated = truncate_text(&full, bounds, keep, &hint).into_owned();
    if let Some(truncation) = &mut truncated.truncation {
        truncation.handle = handle.map(|handle| handle.to_string());
    }
    truncated
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, clippy::panic, reason = "a failed test may panic")]
    use super::*;

    #[test]
    fn lines_are_counted_as_a_reader_counts_them() {
        for (text, lines) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n", 1), ("\n\n", 2)] {
            assert_eq!(count_lines(text), lines, "{text:?}");
        }
    }

    #[test]
    fn a_text_inside_the_bounds_passes_and_is_not_stored() {
        let truncated = bound_text(
            "fine\r\n",
            &Bounds::default(),
            Keep::Ends,
            |text| text,
            |_| panic!("stored a text that was not cut"),
        );
        assert_eq!((truncated.text.as_ref(), truncated.truncation), ("fine\n", None));
    }

    #[test]
    fn redaction_comes_after_cleaning_and_before_the_store() {
        let text = format!("se\u{1b}[1mcret {}", "line\n".repeat(5000));
        let mut stored = String::new();
        let truncated = bound_text(
            &text,
            &Bounds::default(),
            Keep::Ends,
            |text| text.replace("secret", "***").into(),
            |full| {
                full.clone_into(&mut stored);
                Some(Handle::random().unwrap())
            },
        );
        assert!(stored.starts_with("*** line\nline\n"));
        assert_eq!(stored.len(), 4 + 5 * 5000);
        let handle = truncated.truncation.unwrap().handle.unwrap();
        assert!(truncated.text.contains(&format!("left out; the full output: {handle} ...]")));
        assert!(truncated.text.len() <= 40 * 1024 && truncated.text.starts_with("*** line\n"));
    }
}
