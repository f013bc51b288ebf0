//! Secrets taken out of everything that a tool says: in each of the spellings that a secret commonly has, in keys and
//! values, and across the borders of pieces.
//!
//! Best effort against a guest that holds the secret: it may spell it as nobody does. What a guest does not hold it
//! cannot say at all.

mod answer;
mod automaton;
#[cfg(feature = "http")]
mod bytes;
mod json;
mod markup;
mod parts;
mod sieve;
mod spans;
mod spellings;
mod stream;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use super::clean;
use super::clean::torn;
use automaton::Automaton;
#[cfg(feature = "http")]
pub(crate) use bytes::MaskingBytes;
use sieve::Sieve;
use spans::{Span, Spans};
use spellings::{Ways, spellings};
pub(crate) use stream::RedactingStream;

/// What may be left of a secret that was cut, in bytes: so little that it tells nothing, and that words which happen to begin
/// or end so stay whole.
const TOLERATED: usize = 3;

/// What the secrets of one component may have together, in bytes: so many keys and certificates as a tool can have any use
/// for, and what all spellings of these take is some ten megabytes.
const MAX_TOGETHER: usize = 64 << 10;

/// A longer secret is looked for in fewer spellings, so that these take little memory: what is that long is kept in files, and
/// is hardly written in JSON of three libraries, one in the other.
const LONG: usize = 1 << 10;

/// So are all secrets of a component if those that are not long have more than this together: a hundred passwords.
const MANY: usize = 8 << 10;

/// Finds the secrets of one component.
pub struct Redactor {
    /// Tells quickly that nothing is there.
    sieve: Sieve,
    automaton: Automaton,
    /// What is written in the place of a secret, by its number.
    marks: Vec<String>,
}

/// Without its patterns, which are secrets.
impl fmt::Debug for Redactor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Redactor of {} spellings", self.automaton.len())
    }
}

impl Redactor {
    /// Finds these secrets, given as names with values; none for no secrets.
    ///
    /// # Errors
    /// When they are too many or too long to be looked for.
    pub fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Option<Self>, String> {
        let secrets: Vec<(&str, &str)> = secrets.into_iter().collect();
        let together: usize = secrets.iter().map(|(_, value)| value.len()).sum();
        if together > MAX_TOGETHER {
            return Err(format!(
                "they have {together} bytes together, and at most {MAX_TOGETHER} are looked for"
            ));
        }
        let mut named: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        let short = secrets.iter().map(|(_, value)| value.len()).filter(|length| *length <= LONG);
        let are_many = short.sum::<usize>() > MANY;
        for (number, (_, value)) in secrets.iter().enumerate() {
            let ways = if are_many || value.len() > LONG { Ways::Common } else { Ways::All };
            for spelling in spellings(value, ways) {
                named.entry(spelling).or_insert(number);
            }
        }
        if named.is_empty() {
            return Ok(None);
        }
        let automaton = Automaton::new(named)?;
        let sieve = Sieve::new(automaton.spellings());
        let marks = secrets.iter().map(|(name, _)| mark(name)).collect();
        Ok(Some(Self { sieve, automaton, marks }))
    }

    /// Whether a secret is in `text`.
    pub fn is_in(&self, text: &str) -> bool {
        self.is_in_bytes(text.as_bytes())
    }

    /// The same for what may be no text.
    pub fn is_in_bytes(&self, bytes: &[u8]) -> bool {
        self.sieve.lets_through(bytes) && self.automaton.find(bytes).is_some()
    }

    /// The most that may be at the end of a piece of a secret that goes on in the next, in bytes.
    pub fn longest_part(&self) -> usize {
        self.automaton.longest().saturating_sub(1)
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

    /// `text`, of which we cut off the end: cleaned, without secrets, and without what may be the beginning of one there.
    pub fn cut_end(&self, text: &str) -> String {
        let text = clean(text);
        let mut spans = self.spans(&text);
        spans.add(Span { start: self.halved_end(&text), end: text.len(), mark: None });
        self.text(&spans.write(&text, &self.marks)).into_owned()
    }

    /// `text`, of which we cut off the beginning: cleaned, without secrets, and without what may be the end of one there,
    /// also behind the rest of an escape sequence.
    pub fn cut_start(&self, text: &str) -> String {
        let halved = |text: &str| {
            let cleaned = clean(text).into_owned();
            let half = self.halved_start(&cleaned);
            (cleaned, half)
        };
        let (mut cleaned, mut half) = halved(text);
        for end in torn(text) {
            let (rest, end) = halved(text.get(end..).unwrap_or_default());
            if end > TOLERATED && rest.len() - end < cleaned.len() - half {
                (cleaned, half) = (rest, end);
            }
        }
        let mut spans = self.spans(&cleaned);
        spans.add_first(Span { start: 0, end: half, mark: None });
        self.text(&spans.write(&cleaned, &self.marks)).into_owned()
    }

    /// Texts that follow each other, of which we left out the next: the same for their end.
    pub fn cut_last(&self, pieces: &mut [&mut String]) {
        for piece in &mut *pieces {
            if let Cow::Owned(cleaned) = clean(piece) {
                **piece = cleaned;
            }
        }
        let all: String = pieces.iter().map(|piece| piece.as_str()).collect();
        let mut spans = self.spans(&all);
        spans.add(Span { start: self.halved_end(&all), end: all.len(), mark: None });
        self.write_pieces(&all, &spans, pieces);
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
        self.write_pieces(&all, &spans, pieces);
        true
    }

    fn write_pieces(&self, all: &str, spans: &Spans, pieces: &mut [&mut String]) {
        let mut start = 0;
        for piece in pieces {
            let end = start + piece.len();
            **piece = spans.write_range(all, start..end, &self.marks);
            start = end;
        }
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
        self.automaton.all(text.as_bytes()).for_each(|span| spans.add(span));
        spans
    }

    /// Where the longest end of `text` starts that a spelling begins with and goes on after.
    fn halved_end(&self, text: &str) -> usize {
        let from = text.ceil_char_boundary(text.len().saturating_sub(self.longest_part()));
        let rest = text.get(from..).unwrap_or_default();
        let starts = rest.char_indices().map(|(at, _)| from + at);
        let halved = |start: &usize| {
            let end = text.as_bytes().get(*start..).unwrap_or_default();
            self.automaton.begins(end)
        };
        starts.into_iter().find(halved).unwrap_or(text.len())
    }

    /// Where the longest beginning of `text` ends that a spelling ends with and begins before.
    fn halved_start(&self, text: &str) -> usize {
        let to = text.floor_char_boundary(self.longest_part());
        let halved =
            |end: &usize| text.get(..*end).is_some_and(|start| self.automaton.ends(start.as_bytes()));
        (1..=to).rev().find(halved).unwrap_or(0)
    }
}

/// What stands in the place of a secret.
pub(crate) fn mark(name: &str) -> String {
    format!("[redacted:{name}]")
}

#[cfg(test)]
mod tests;
