//! Secrets taken out of everything that a tool says: in each of the spellings that a secret commonly has, in keys and
//! values, and across the borders of pieces.
//!
//! Best effort against a guest that holds the secret: it may spell it as nobody does. What a guest does not hold it
//! cannot say at all.

mod answer;
#[cfg(feature = "http")]
mod bytes;
mod json;
mod markup;
mod sieve;
mod spans;
mod spellings;
mod stream;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use serde_json::{Map, Value};

use super::clean;
#[cfg(feature = "http")]
pub(crate) use bytes::MaskingBytes;
use sieve::Sieve;
use spans::{Span, Spans};
use spellings::spellings;
pub(crate) use stream::RedactingStream;

/// What may be left of a secret that was cut, in bytes: so little that it tells nothing, and that words which happen to begin
/// or end so stay whole.
const TOLERATED: usize = 3;

/// Finds the secrets of one component.
pub struct Redactor {
    /// Tells quickly that nothing is there.
    sieve: Sieve,
    automaton: AhoCorasick,
    /// What is written in the place of a secret, by pattern.
    marks: Vec<String>,
    /// The spellings in order, to find those that begin with something.
    forward: Vec<Vec<u8>>,
    /// The same backwards, to find those that end with something.
    backward: Vec<Vec<u8>>,
    longest: usize,
}

/// Without its patterns, which are secrets.
impl fmt::Debug for Redactor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Redactor of {} spellings", self.marks.len())
    }
}

impl Redactor {
    /// Finds these secrets, given as names with values; none for no secrets.
    ///
    /// # Errors
    /// When they are too many or too long to be looked for.
    pub fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Option<Self>, String> {
        let mut named: BTreeMap<Vec<u8>, String> = BTreeMap::new();
        for (name, value) in secrets {
            for spelling in spellings(value) {
                named.entry(spelling).or_insert_with(|| mark(name));
            }
        }
        if named.is_empty() {
            return Ok(None);
        }
        let (forward, marks): (Vec<Vec<u8>>, Vec<String>) = named.into_iter().unzip();
        // Not the table of the fastest kind, which would take a kilobyte for each byte of each spelling.
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&forward)
            .map_err(|error| error.to_string())?;
        let longest = forward.iter().map(Vec::len).max().unwrap_or_default();
        let backwards = |pattern: &Vec<u8>| pattern.iter().rev().copied().collect();
        let mut backward: Vec<Vec<u8>> = forward.iter().map(backwards).collect();
        backward.sort_unstable();
        let sieve = Sieve::new(&forward);
        Ok(Some(Self { sieve, automaton, marks, forward, backward, longest }))
    }

    /// Whether a secret is in `text`.
    pub fn is_in(&self, text: &str) -> bool {
        self.is_in_bytes(text.as_bytes())
    }

    /// The same for what may be no text.
    pub fn is_in_bytes(&self, bytes: &[u8]) -> bool {
        self.sieve.lets_through(bytes) && self.automaton.is_match(bytes)
    }

    /// The most that may be at the end of a piece of a secret that goes on in the next, in bytes.
    pub fn longest_part(&self) -> usize {
        self.longest.saturating_sub(1)
    }

    /// `text` without secrets, and without what would be one after cleaning.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let redacted = match self.spans(text) {
            spans if spans.is_empty() => Cow::Borrowed(text),
            spans => Cow::Owned(spans.write(text, &self.marks)),
        };
        let Cow::Owned(cleaned) = clean(&redacted) else { return redacted };
        let again = self.spans(&cleaned);
        if again.is_empty() { redacted } else { Cow::Owned(again.write(&cleaned, &self.marks)) }
    }

    /// `text` without secrets, and if its end was cut off by us, without what may be the beginning of one there.
    pub fn cut_end(&self, text: &str) -> String {
        let mut spans = self.spans(text);
        spans.add(Span { start: self.halved_end(text), end: text.len(), mark: None });
        self.text(&spans.write(text, &self.marks)).into_owned()
    }

    /// `text` without secrets, and if its beginning was cut off by us, without what may be the end of one there.
    pub fn cut_start(&self, text: &str) -> String {
        let mut spans = self.spans(text);
        spans.add_first(Span { start: 0, end: self.halved_start(text), mark: None });
        self.text(&spans.write(text, &self.marks)).into_owned()
    }

    /// The end of a text of many lines of which the beginning is gone, without what may be left of a secret there: a line
    /// that may be half is left out, or where there is but one, as much of it as a secret may have.
    pub(crate) fn last_words(&self, tail: &str) -> String {
        let whole = match tail.split_once('\n') {
            Some((_, lines)) => lines,
            None => tail.get(tail.ceil_char_boundary(self.longest_part())..).unwrap_or_default(),
        };
        self.cut_start(whole)
    }

    /// `text` without what may be the end of a secret at its beginning and the beginning of one at its end, unless that is
    /// so short that it tells nothing: somebody else may have cut it.
    #[cfg(feature = "http")]
    pub(crate) fn without_halves<'t>(&self, text: &'t str) -> &'t str {
        let start = Some(self.halved_start(text)).filter(|start| *start > TOLERATED).unwrap_or(0);
        let end = self.halved_end(text);
        let end = if text.len() - end > TOLERATED { end } else { text.len() };
        text.get(start..end).unwrap_or_default()
    }

    /// A text that may have been shortened, as the ellipsis at its end then says.
    pub fn shortened(&self, text: &str) -> String {
        match text.strip_suffix('…') {
            Some(start) => format!("{}…", self.cut_end(start)),
            None => self.text(text).into_owned(),
        }
    }

    /// Takes secrets out of texts that follow each other, also where one begins in one of them and ends in another.
    pub(crate) fn pieces(&self, pieces: &mut [&mut String]) {
        self.joined(pieces);
        if pieces.iter().all(|piece| matches!(clean(piece), Cow::Borrowed(_))) {
            return;
        }
        let mut cleaned: Vec<String> = pieces.iter().map(|piece| clean(piece).into_owned()).collect();
        let mut cleaned_pieces: Vec<&mut String> = cleaned.iter_mut().collect();
        if self.joined(&mut cleaned_pieces) {
            for (piece, cleaned) in pieces.iter_mut().zip(cleaned) {
                **piece = cleaned;
            }
        }
    }

    fn joined(&self, pieces: &mut [&mut String]) -> bool {
        if let [piece] = pieces
            && !self.sieve.lets_through(piece.as_bytes())
        {
            return false;
        }
        let all: String = pieces.iter().map(|piece| piece.as_str()).collect();
        let spans = self.spans(&all);
        if spans.is_empty() {
            return false;
        }
        let mut start = 0;
        for piece in pieces {
            let end = start + piece.len();
            **piece = spans.write_range(&all, start..end, &self.marks);
            start = end;
        }
        true
    }

    /// Takes secrets out of a value: its strings, its keys, and numbers that are one.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(redacted) = self.text(text) {
                    *text = redacted;
                }
            }
            Value::Number(number) => {
                if let Cow::Owned(redacted) = self.text(&number.to_string()) {
                    *value = Value::String(redacted);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(members) => {
                if members.keys().any(|key| matches!(self.text(key), Cow::Owned(_))) {
                    let taken = std::mem::take(members);
                    *members = Map::from_iter(
                        taken.into_iter().map(|(key, value)| (self.text(&key).into_owned(), value)),
                    );
                }
                members.values_mut().for_each(|member| self.value(member));
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn spans(&self, text: &str) -> Spans {
        let mut spans = Spans::default();
        if !self.sieve.lets_through(text.as_bytes()) {
            return spans;
        }
        for found in self.automaton.find_overlapping_iter(text) {
            spans.add(Span {
                start: found.start(),
                end: found.end(),
                mark: Some(found.pattern().as_usize()),
            });
        }
        spans
    }

    /// Where the longest end of `text` starts that a spelling begins with and goes on after.
    fn halved_end(&self, text: &str) -> usize {
        let from = text.ceil_char_boundary(text.len().saturating_sub(self.longest.saturating_sub(1)));
        let rest = text.get(from..).unwrap_or_default();
        let starts = rest.char_indices().map(|(at, _)| from + at);
        let halved = |start: &usize| {
            let end = text.as_bytes().get(*start..).unwrap_or_default();
            begins(&self.forward, end)
        };
        starts.into_iter().find(halved).unwrap_or(text.len())
    }

    /// Where the longest beginning of `text` ends that a spelling ends with and begins before.
    fn halved_start(&self, text: &str) -> usize {
        let to = text.floor_char_boundary(self.longest.saturating_sub(1));
        let backwards: Vec<u8> = text.bytes().take(to).rev().collect();
        let halved = |end: &usize| {
            let start = backwards.get(to - end..).unwrap_or_default();
            text.is_char_boundary(*end) && begins(&self.backward, start)
        };
        (1..=to).rev().find(halved).unwrap_or(0)
    }
}

/// Whether one of the sorted `patterns` begins with `bytes` and is longer.
fn begins(patterns: &[Vec<u8>], bytes: &[u8]) -> bool {
    let after = patterns.partition_point(|pattern| pattern.as_slice() <= bytes);
    patterns.get(after).is_some_and(|pattern| pattern.starts_with(bytes))
}

/// What stands in the place of a secret.
pub(crate) fn mark(name: &str) -> String {
    format!("[redacted:{name}]")
}

#[cfg(test)]
mod tests;
