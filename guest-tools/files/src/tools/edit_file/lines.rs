//! A file's text with `\n` alone for every line ending, and the way back to its own bytes.

use std::borrow::Cow;

/// `text` with `\n` for `\r\n`.
pub(super) fn with_lf(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
}

/// The text of a file.
pub(super) struct Lines<'a> {
    lf: Cow<'a, [u8]>,
    /// Where in `lf` the newlines are that have a carriage return in the file, ascending.
    crlf: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn of(content: &'a [u8]) -> Self {
        let mut crlf = Vec::new();
        let mut lf = Vec::new();
        let mut copied = 0;
        for at in memchr::memmem::find_iter(content, b"\r\n") {
            lf.extend_from_slice(&content[copied..at]);
            crlf.push(lf.len());
            copied = at + 1;
        }
        if crlf.is_empty() {
            return Self { lf: Cow::Borrowed(content), crlf };
        }
        lf.extend_from_slice(&content[copied..]);
        Self { lf: Cow::Owned(lf), crlf }
    }

    /// The text with `\n` alone.
    pub(super) fn lf(&self) -> &[u8] {
        &self.lf
    }

    /// Where the byte at `at` of [`lf`](Self::lf) is in the file; before the carriage return for a line ending.
    pub(super) fn original(&self, at: usize) -> usize {
        at + self.crlf.partition_point(|&newline| newline < at)
    }

    /// `inserted` with the line endings of the place `at`: those of the line that it lies in, or else of the one before.
    pub(super) fn in_style_of(&self, at: usize, inserted: &[u8]) -> Vec<u8> {
        let next = memchr::memchr(b'\n', &self.lf[at..]).map(|next| at + next);
        let newline = next.or_else(|| memchr::memrchr(b'\n', &self.lf[..at]));
        let crlf = newline.is_some_and(|newline| self.crlf.binary_search(&newline).is_ok());
        let mut styled = Vec::with_capacity(inserted.len());
        for &byte in inserted {
            if byte == b'\n' && crlf {
                styled.push(b'\r');
            }
            styled.push(byte);
        }
        styled
    }

    /// The numbers, from 1, of the lines at these places, which are ascending.
    pub(super) fn numbers(&self, places: impl Iterator<Item = usize>) -> impl Iterator<Item = usize> {
        places.scan((0, 1), |(from, number), at| {
            *number += memchr::memchr_iter(b'\n', &self.lf[*from..at]).count();
            *from = at;
            Some(*number)
        })
    }
}
