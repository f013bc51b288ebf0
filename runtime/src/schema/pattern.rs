//! The regular expression that an author sets on a string: one dialect for the schema that models see and for
//! the check that runs.

use std::fmt::Write as _;
use std::sync::Arc;

use regex::{Regex, RegexBuilder};

/// The longest pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 1024;

/// The compiled size of a pattern: it comes with an untrusted component, and a few nested counts
/// (`(a{1000}){1000}`) would otherwise take gigabytes.
const MAX_COMPILED_BYTES: usize = 256 << 10;

/// A pattern, as written and compiled.
#[derive(Debug, Clone)]
pub struct Pattern(Arc<Compiled>);

#[derive(Debug)]
struct Compiled {
    source: String,
    regex: Regex,
}

impl Pattern {
    /// Compiles `source`, in what the dialects of ECMA-262 and of the crate `regex` have in common; `\d` and
    /// `\w` are ASCII, as in ECMA-262. It is searched for, not anchored.
    ///
    /// # Errors
    /// Why it cannot be used, in words.
    pub fn new(source: &str) -> Result<Self, String> {
        if source.len() > MAX_PATTERN_BYTES {
            return Err(format!("the pattern is longer than {MAX_PATTERN_BYTES} bytes"));
        }
        let regex = RegexBuilder::new(&with_ascii_classes(source))
            .size_limit(MAX_COMPILED_BYTES)
            .dfa_size_limit(MAX_COMPILED_BYTES)
            .build()
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => "the pattern is too big once compiled".to_owned(),
                _ => "the pattern is not a regular expression without look-around and back-references"
                    .to_owned(),
            })?;
        Ok(Self(Arc::new(Compiled { source: source.to_owned(), regex })))
    }

    /// The pattern as its author wrote it.
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// Whether some part of `text` matches.
    pub fn is_match(&self, text: &str) -> bool {
        self.0.regex.is_match(text)
    }
}

/// Compiled sizes of patterns in schemas that others wrote, in bytes: what most take, up to what one may.
const SIZES: [usize; 5] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, MAX_FOREIGN_BYTES];

/// The largest compiled size of such a pattern: classes of Unicode, repeated, take more than those of ASCII.
pub(crate) const MAX_FOREIGN_BYTES: usize = 1 << 20;

/// About how many bytes `source` has once it is compiled; a guess where only a reader of its whole dialect can say.
///
/// # Errors
/// When they are more than a pattern may have.
pub(crate) fn compiled_pattern(source: &str) -> Result<u64, String> {
    let translated = with_ascii_classes(source);
    for size in SIZES {
        match RegexBuilder::new(&translated).size_limit(size).build() {
            Ok(_) => return Ok(u64::try_from(size).unwrap_or(u64::MAX)),
            Err(regex::Error::CompiledTooBig(_)) => {}
            Err(_) => return Ok(256 << 10),
        }
    }
    Err("a pattern of it is too big once compiled".to_owned())
}

/// Spells out the classes that are Unicode's in `regex` and ASCII in ECMA-262.
fn with_ascii_classes(source: &str) -> String {
    let mut spelled = String::with_capacity(source.len());
    let mut letters = source.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            spelled.push(letter);
            continue;
        }
        match letters.next() {
            Some('d') => spelled.push_str("[0-9]"),
            Some('D') => spelled.push_str("[^0-9]"),
            Some('w') => spelled.push_str("[0-9A-Za-z_]"),
            Some('W') => spelled.push_str("[^0-9A-Za-z_]"),
            Some('/') => spelled.push('/'),
            // Writing to a string cannot fail.
            Some(other) => drop(write!(spelled, "\\{other}")),
            None => spelled.push('\\'),
        }
    }
    spelled
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn patterns_match_as_ecmascript_has_it() {
        for (source, text, expected) in [
            ("^[a-z]+$", "abc", true),
            ("^[a-z]+$", "abc\n", false),
            ("b", "abc", true),
            (r"^\d+$", "12", true),
            (r"^\d+$", "१२", false),
            (r"^[\w-]+$", "a-1", true),
            (r"^\w$", "é", false),
            (r"^a\/b\\d$", r"a/b\d", true),
        ] {
            assert_eq!(Pattern::new(source).unwrap().is_match(text), expected, "{source} on {text}");
        }
    }

    #[test]
    fn patterns_that_cannot_be_bounded_are_refused() {
        for source in ["(", r"(a)\1", "(?=a)", "((a{100}){100}){100}", "\\", &"a".repeat(2000)] {
            assert!(Pattern::new(source).is_err(), "{source}");
        }
    }
}
