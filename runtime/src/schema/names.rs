//! Names: WIT's kebab-case and the snake_case that models see, and the nearest of several.

use std::borrow::Cow;
use std::collections::HashMap;

/// The longest name of a tool or property, in bytes; what every provider of models accepts.
pub const MAX_NAME_BYTES: usize = 64;

/// Names longer than this are not compared: the distance costs time in the product of both lengths.
const MAX_COMPARED_BYTES: usize = 128;

/// How alike two names must be, from 0 to 1, for the one to be suggested for the other.
const LIKENESS: f64 = 0.6;

/// Up to this many words a scan is faster than a hash.
const SCANNED_WORDS: usize = 16;

/// Why a name cannot be a tool's or a property's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// Too long for providers of models.
    #[error("`{name}` is longer than {MAX_NAME_BYTES} bytes; choose a shorter name")]
    TooLong {
        /// The name's beginning.
        name: String,
    },
    /// Not spelled `[a-z][a-z0-9_]*`.
    #[error("`{name}` must start with a letter and go on with letters, digits and `_`")]
    Spelling {
        /// The name.
        name: String,
    },
}

/// The tool's name of a WIT function: kebab-case to snake_case, lower case.
///
/// # Errors
/// When the result is not `[a-z][a-z0-9_]*` of at most [`MAX_NAME_BYTES`].
pub fn tool_name(kebab: &str) -> Result<String, BadName> {
    if kebab.len() > MAX_NAME_BYTES {
        return Err(BadName::TooLong { name: excerpt(kebab, 32).into_owned() });
    }
    let snake: String =
        kebab.chars().map(|letter| if letter == '-' { '_' } else { letter.to_ascii_lowercase() }).collect();
    let starts_well = snake.starts_with(|first: char| first.is_ascii_lowercase());
    let goes_on_well =
        snake.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if starts_well && goes_on_well { Ok(snake) } else { Err(BadName::Spelling { name: snake }) }
}

/// The candidates that `name` was probably meant to be, best first, at most three.
///
/// `maxDepth` finds `max_depth`, and so do `max-depth`, `depth` and `mx_depth`.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    if name.is_empty() || name.len() > MAX_COMPARED_BYTES {
        return Vec::new();
    }
    let wanted = snake_of_any(name);
    let mut scored: Vec<(f64, &str)> = candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= MAX_COMPARED_BYTES)
        .map(|candidate| (likeness(&wanted, &snake_of_any(candidate)), candidate))
        .filter(|(score, _)| *score >= LIKENESS)
        .collect();
    scored.sort_by(|one, other| other.0.total_cmp(&one.0));
    scored.truncate(3);
    scored.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Whether a name that somebody wrote is shorter than a secret can be, so that it may be repeated where it is not known
/// whose secrets to look for.
pub(crate) fn is_harmless(name: &str) -> bool {
    name.len() < 8
}

/// The first `chars` characters, for messages.
pub(super) fn excerpt(text: &str, chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(chars) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
    }
}

/// The first `chars` characters, with U+FFFD for each that would control a terminal.
pub(crate) fn printable(text: &str, chars: usize) -> String {
    let plain = |letter: char| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter };
    excerpt(text, chars).chars().map(plain).collect()
}

fn likeness(wanted: &str, candidate: &str) -> f64 {
    if wanted == candidate {
        return 1.0;
    }
    let within = |long: &str, short: &str| short.split('_').all(|word| long.split('_').any(|it| it == word));
    if within(candidate, wanted) || within(wanted, candidate) {
        return 0.9;
    }
    strsim::normalized_damerau_levenshtein(wanted, candidate)
}

/// snake_case of a name in snake, kebab or camel case.
fn snake_of_any(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    let mut after_lower = false;
    for letter in name.chars() {
        if letter.is_uppercase() && after_lower {
            snake.push('_');
        }
        after_lower = letter.is_lowercase() || letter.is_ascii_digit();
        match letter {
            '-' | ' ' | '.' => snake.push('_'),
            _ => snake.extend(letter.to_lowercase()),
        }
    }
    snake
}

/// Something with a name in WIT and one in JSON.
pub(super) trait Named {
    /// The name as WIT spells it.
    fn wit(&self) -> &str;
    /// The name as models see it.
    fn json(&self) -> &str;
}

/// The members of a record or the cases of a type, found by either spelling.
///
/// The hash keeps a long list of values of an enumeration with thousands of words from taking quadratic time.
#[derive(Debug, Clone)]
pub(super) struct Words<T> {
    items: Box<[T]>,
    index: HashMap<Box<str>, usize>,
}

impl<T: Named> Words<T> {
    /// The words in order; the first of two equal JSON names is returned as the error.
    pub(super) fn new(items: Vec<T>) -> Result<Self, String> {
        let mut index = HashMap::new();
        for (position, item) in items.iter().enumerate() {
            if index.insert(item.json().into(), position).is_some() {
                return Err(item.json().to_owned());
            }
        }
        for (position, item) in items.iter().enumerate() {
            index.entry(item.wit().into()).or_insert(position);
        }
        if items.len() <= SCANNED_WORDS {
            index = HashMap::new();
        }
        Ok(Self { items: items.into(), index })
    }

    /// The position of the item with this name, in either spelling.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        if self.items.len() > SCANNED_WORDS {
            return self.index.get(name).copied();
        }
        self.items
            .iter()
            .position(|item| item.json() == name)
            .or_else(|| self.items.iter().position(|item| item.wit() == name))
    }

    /// The item with this name, in either spelling.
    pub(super) fn find(&self, name: &str) -> Option<&T> {
        self.items.get(self.position(name)?)
    }

    /// The item with this JSON name.
    pub(super) fn by_json(&self, name: &str) -> Option<&T> {
        self.find(name).filter(|item| item.json() == name)
    }

    /// The items in declared order.
    pub(super) fn items(&self) -> &[T] {
        &self.items
    }

    /// The JSON names in declared order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.items.iter().map(Named::json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kebab_becomes_snake() {
        for (kebab, snake) in [("read-file", "read_file"), ("add", "add"), ("HTTP-get2", "http_get2")] {
            assert_eq!(tool_name(kebab).as_deref(), Ok(snake));
        }
        assert!(tool_name(&"a".repeat(64)).is_ok());
    }

    #[test]
    fn names_that_no_provider_takes_are_refused() {
        for name in ["", "-a", "1a", "a b", "[method]a.b", "é", "a\n"] {
            assert!(matches!(tool_name(name), Err(BadName::Spelling { .. })), "{name:?}");
        }
        assert!(matches!(tool_name(&"a".repeat(65)), Err(BadName::TooLong { .. })));
    }

    #[test]
    fn the_nearest_name_is_found_across_spellings() {
        let candidates = ["path", "max_depth", "follow_links", "limit"];
        for (name, expected) in [
            ("depth", &["max_depth"][..]),
            ("maxDepth", &["max_depth"]),
            ("max-depth", &["max_depth"]),
            ("pth", &["path"]),
            ("limits", &["limit"]),
            ("zebra", &[]),
            ("", &[]),
        ] {
            assert_eq!(nearest(name, candidates), expected, "{name}");
        }
        assert!(nearest(&"x".repeat(1 << 20), candidates).is_empty());
    }

    #[test]
    fn many_words_are_found_by_both_spellings() {
        struct Word(String, String);
        impl Named for Word {
            fn wit(&self) -> &str {
                &self.0
            }
            fn json(&self) -> &str {
                &self.1
            }
        }
        for count in [3, 300] {
            let words = (0..count)
                .map(|number| Word(format!("a-{number}"), format!("a_{number}")))
                .collect::<Vec<_>>();
            let words = Words::new(words).map_err(|_| ()).unwrap_or_else(|()| unreachable!());
            for name in ["a-2", "a_2"] {
                assert_eq!(words.position(name), Some(2), "{name} of {count}");
            }
            assert!(words.by_json("a-2").is_none() && words.by_json("a_2").is_some());
            assert_eq!(words.position("a_999"), None);
        }
        let same = vec![Word("a-b".into(), "a_b".into()), Word("a_b".into(), "a_b".into())];
        assert_eq!(Words::new(same).err().as_deref(), Some("a_b"));
    }
}
