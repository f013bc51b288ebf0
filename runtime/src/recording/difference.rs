//! Where a replay leaves its recording.

use std::fmt;

use crate::output::Redactor;

/// The first thing in which a replay differs from its recording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct Difference {
    /// The event by its number, from 1; none for what the call gave in the end.
    pub event: Option<usize>,
    /// What differs.
    pub what: String,
    /// What the recording has.
    pub expected: String,
    /// What the replay has.
    pub got: String,
}

/// What is shown of each side, in characters.
const SHOWN: usize = 300;

impl Difference {
    /// The event `number` is another one.
    pub(crate) fn event(number: usize, expected: &str, got: &str) -> Self {
        let (expected, got) = (shown(expected), shown(got));
        Self { event: Some(number), what: "what the tool asks of the host".to_owned(), expected, got }
    }

    /// The call gave something else.
    pub(crate) fn end(what: &str, expected: &str, got: &str) -> Self {
        Self { event: None, what: what.to_owned(), expected: shown(expected), got: shown(got) }
    }

    /// The same without secrets.
    pub(crate) fn redacted(self, redactor: &Redactor) -> Self {
        let (expected, got) = (redactor.shortened(&self.expected), redactor.shortened(&self.got));
        Self { expected, got, ..self }
    }
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(event) = self.event {
            write!(formatter, "event {event}: ")?;
        }
        write!(formatter, "{} is `{}` in the recording, and `{}` now", self.what, self.expected, self.got)
    }
}
