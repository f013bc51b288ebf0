//! Regular expressions of POSIX, as GNU's utilities read them, by a matcher of linear time. Only back-references and
//! looking around go to one that may go back.

mod longest;
mod translate;

use std::cell::OnceCell;
use std::ops::Range;

use longest::Longest;
use translate::Translator;

/// How a pattern is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    Basic,
    Extended,
    /// Extended, with backslashes in brackets.
    Awk,
    Perl,
    Fixed,
}

enum Engine {
    Plain(regex::bytes::Regex),
    /// A pattern of which the first match may not be the longest, as POSIX wants it; the second is made when it is needed.
    Longest(regex::bytes::Regex, OnceCell<Option<Box<Longest>>>),
    Back(fancy_regex::Regex),
}

/// A compiled pattern.
pub struct Regex(Engine);

/// What a match captured: the whole first.
pub type Groups = Vec<Option<Range<usize>>>;

/// Steps back that one search may take.
const STEPS: usize = 1_000_000;

/// `text` so that it means itself.
pub fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        if "\\.+*?()|[]{}^$".contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

impl Regex {
    pub fn new(pattern: &str, flavour: Flavour, ignore_case: bool) -> Result<Self, String> {
        Self::new_lines(pattern, flavour, ignore_case, false)
    }

    /// With `lines`, the anchors also match at the lines within a text.
    pub fn new_lines(
        pattern: &str,
        flavour: Flavour,
        ignore_case: bool,
        lines: bool,
    ) -> Result<Self, String> {
        let (translated, back) = match flavour {
            Flavour::Fixed => (regex::escape(pattern), false),
            Flavour::Perl => (pattern.to_owned(), false),
            _ => Translator::new(pattern, flavour).run()?,
        };
        let set = [('i', ignore_case), ('s', flavour != Flavour::Perl), ('m', lines)];
        let flags: String = set.iter().filter(|(_, on)| *on).map(|(letter, _)| *letter).collect();
        let flags = if flags.is_empty() { flags } else { format!("(?{flags})") };
        let whole = format!("{flags}{translated}");
        if !back {
            match regex::bytes::Regex::new(&whole) {
                Ok(regex) if longest::may_differ(&translated, flavour) => {
                    return Ok(Self(Engine::Longest(regex, OnceCell::new())));
                }
                Ok(regex) => return Ok(Self(Engine::Plain(regex))),
                Err(error) if flavour != Flavour::Perl => return Err(short(&error.to_string())),
                Err(_) => {}
            }
        }
        match fancy_regex::RegexBuilder::new(&whole).backtrack_limit(STEPS).build() {
            Ok(regex) => Ok(Self(Engine::Back(regex))),
            Err(error) => Err(short(&error.to_string())),
        }
    }

    /// Whether a search takes time in proportion to the text, whatever is in it.
    pub fn is_linear(&self) -> bool {
        !matches!(self.0, Engine::Back(_))
    }

    pub fn is_match(&self, text: &[u8]) -> bool {
        match &self.0 {
            Engine::Plain(regex) | Engine::Longest(regex, _) => regex.is_match(text),
            Engine::Back(_) => self.find(text, 0).is_some(),
        }
    }

    /// The first match at or after `from`.
    pub fn find(&self, text: &[u8], from: usize) -> Option<Range<usize>> {
        match &self.0 {
            Engine::Plain(regex) => regex.find_at(text, from.min(text.len())).map(|found| found.range()),
            Engine::Longest(regex, longest) => {
                let first = regex.find_at(text, from.min(text.len()))?.range();
                let longest = longest.get_or_init(|| Longest::new(regex.as_str()).map(Box::new));
                Some(longest.as_ref().map_or(first.clone(), |longest| longest.of(text, &first)))
            }
            Engine::Back(_) => self.captures(text, from)?.into_iter().next()?,
        }
    }

    pub fn captures(&self, text: &[u8], from: usize) -> Option<Groups> {
        match &self.0 {
            Engine::Plain(regex) => groups(regex, text, from),
            Engine::Longest(regex, longest) => {
                let first = groups(regex, text, from)?;
                let whole = first.first().cloned().flatten()?;
                let longest = longest.get_or_init(|| Longest::new(regex.as_str()).map(Box::new));
                Some(longest.as_ref().and_then(|longest| longest.groups(text, &whole)).unwrap_or(first))
            }
            Engine::Back(regex) => {
                // This matcher wants text; what is none has no match.
                let text = std::str::from_utf8(text).ok()?;
                let captures = regex.captures_from_pos(text, from).ok()??;
                Some(captures.iter().map(|group| group.map(|group| group.range())).collect())
            }
        }
    }
}

fn groups(regex: &regex::bytes::Regex, text: &[u8], from: usize) -> Option<Groups> {
    let captures = regex.captures_at(text, from.min(text.len()))?;
    Some(captures.iter().map(|group| group.map(|group| group.range())).collect())
}

/// The last line of an error of the library, which has drawn the pattern above it.
fn short(error: &str) -> String {
    let last = error.lines().next_back().unwrap_or_default();
    let last = last.strip_prefix("error: ").unwrap_or(last);
    if last.contains("unclosed group") {
        return "Unmatched ( or \\(".to_owned();
    }
    if last.contains("unopened group") {
        return "Unmatched ) or \\)".to_owned();
    }
    if last.contains("repetition") && last.contains("missing") {
        return "Invalid preceding regular expression".to_owned();
    }
    last.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, flavour: Flavour, text: &str) -> Option<String> {
        let regex =
            Regex::new(pattern, flavour, false).unwrap_or_else(|error| unreachable!("{pattern}: {error}"));
        let range = regex.find(text.as_bytes(), 0)?;
        text.get(range).map(str::to_owned)
    }

    #[test]
    fn basic_and_extended_patterns_differ_in_what_is_special() {
        for (pattern, flavour, text, wanted) in [
            ("a\\{2\\}", Flavour::Basic, "aaa", Some("aa")),
            ("a{2}", Flavour::Basic, "aaa{2}", Some("a{2}")),
            ("a{2}", Flavour::Extended, "aaa", Some("aa")),
            ("a+b", Flavour::Basic, "aab a+b", Some("a+b")),
            ("a\\+b", Flavour::Basic, "aab", Some("aab")),
            ("\\(x\\)\\1", Flavour::Basic, "xxy", Some("xx")),
            ("(ab|c)\\1", Flavour::Extended, "abcc", Some("cc")),
            ("^*a", Flavour::Basic, "*a", Some("*a")),
            ("[]a]*", Flavour::Basic, "]a]x", Some("]a]")),
            ("[\\.]", Flavour::Extended, "\\", Some("\\")),
            ("[[:upper:]][^[:space:]]*", Flavour::Extended, "an Apple x", Some("Apple")),
            ("a$b", Flavour::Basic, "a$b", Some("a$b")),
            ("\\bcat\\b", Flavour::Basic, "concat cat", Some("cat")),
            ("\\<cat\\>", Flavour::Extended, "concat cat", Some("cat")),
            ("{", Flavour::Extended, "a{", Some("{")),
            ("(?<=k=)\\w+", Flavour::Perl, "k=v", Some("v")),
            ("a.c", Flavour::Fixed, "abc a.c", Some("a.c")),
            ("[a-c-]+", Flavour::Extended, "x-abc", Some("-abc")),
            ("ab|abcd", Flavour::Extended, "xabcd", Some("abcd")),
            ("\\bab\\|abcd\\b", Flavour::Basic, "x abcd", Some("abcd")),
            ("(a?)(ab)?", Flavour::Extended, "ab", Some("ab")),
            ("ab|abcd", Flavour::Perl, "abcd", Some("ab")),
        ] {
            assert_eq!(found(pattern, flavour, text).as_deref(), wanted, "{pattern}");
        }
    }

    #[test]
    fn groups_are_those_of_the_longest_match() {
        let regex = Regex::new("x(a|ab)(c|bcd)?", Flavour::Extended, false)
            .unwrap_or_else(|error| unreachable!("{error}"));
        assert_eq!(regex.find(b"-xabcd-", 0), Some(1..6));
        assert_eq!(regex.captures(b"-xabcd-", 0), Some(vec![Some(1..6), Some(2..3), Some(3..6)]));
    }

    #[test]
    fn what_is_no_pattern_is_an_error() {
        for pattern in ["(", "[a", "a\\", "[[:nope:]]"] {
            assert!(Regex::new(pattern, Flavour::Extended, false).is_err(), "{pattern}");
        }
    }
}
