//! Where a value is, as a chain on the stack that is written out only when something is reported.

use std::borrow::Cow;
use std::fmt;

use super::names::printable;
use crate::output::Redactor;

/// Keys come from the caller and may be megabytes long.
const MAX_KEY_CHARS: usize = 64;

/// The way from the arguments to a value.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    segment: Segment<'a>,
    secret: bool,
    /// Takes secrets out of what is shown, while it is whole: a half of one is not found any more.
    redactor: Option<&'a Redactor>,
}

#[derive(Clone, Copy)]
enum Segment<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    /// The arguments as a whole.
    pub(super) const ROOT: Path<'static> =
        Path { parent: None, segment: Segment::Index(0), secret: false, redactor: None };

    /// The same, where secrets are taken out of whatever is shown.
    pub(super) fn redacted_by(redactor: Option<&'a Redactor>) -> Self {
        Path { redactor, ..Path::ROOT }
    }

    /// A property below this one.
    pub(super) fn key(&'a self, key: &'a str) -> Self {
        Path { parent: Some(self), segment: Segment::Key(key), ..*self }
    }

    /// An item below this one.
    pub(super) fn index(&'a self, index: usize) -> Self {
        Path { parent: Some(self), segment: Segment::Index(index), ..*self }
    }

    /// Marks everything from here on as secret.
    pub(super) fn hide_if(mut self, secret: bool) -> Self {
        self.secret |= secret;
        self
    }

    /// Whether the value here must not be echoed.
    pub(super) fn is_secret(&self) -> bool {
        self.secret
    }

    /// A text of the caller without secrets, to be shortened and shown.
    pub(super) fn redacted<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.redactor.map_or(Cow::Borrowed(text), |redactor| redactor.text(text))
    }
}

/// A JSON pointer (RFC 6901).
impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(parent) = self.parent else { return Ok(()) };
        parent.fmt(formatter)?;
        match self.segment {
            Segment::Index(index) => write!(formatter, "/{index}"),
            Segment::Key(key) => {
                let key = printable(&self.redacted(key), MAX_KEY_CHARS);
                write!(formatter, "/{}", key.replace('~', "~0").replace('/', "~1"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_escaped_and_bounded() {
        let list = Path::ROOT.key("a/b~c");
        assert_eq!(list.index(3).to_string(), "/a~1b~0c/3");
        assert_eq!(Path::ROOT.to_string(), "");
        assert_eq!(Path::ROOT.key("a\u{1b}[2J").to_string(), "/a\u{fffd}[2J");
        let long = "k".repeat(1 << 20);
        assert!(Path::ROOT.key(&long).to_string().len() < 100);
    }
}
