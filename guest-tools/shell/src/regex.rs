//! Regular expressions of POSIX, as GNU's utilities read them, by a matcher of linear time. Only back-references and
//! looking around go to one that may go back.

use std::ops::Range;

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

    pub fn is_match(&self, text: &[u8]) -> bool {
        match &self.0 {
            Engine::Plain(regex) => regex.is_match(text),
            Engine::Back(_) => self.find(text, 0).is_some(),
        }
    }

    /// The first match at or after `from`.
    pub fn find(&self, text: &[u8], from: usize) -> Option<Range<usize>> {
        match &self.0 {
            Engine::Plain(regex) => regex.find_at(text, from.min(text.len())).map(|found| found.range()),
            Engine::Back(_) => self.captures(text, from)?.into_iter().next()?,
        }
    }

    pub fn captures(&self, text: &[u8], from: usize) -> Option<Groups> {
        match &self.0 {
            Engine::Plain(regex) => {
                let captures = regex.captures_at(text, from.min(text.len()))?;
                Some(captures.iter().map(|group| group.map(|group| group.range())).collect())
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

struct Translator {
    letters: Vec<char>,
    at: usize,
    basic: bool,
    awk: bool,
    out: String,
    back: bool,
    /// Whether something that can be repeated stands before.
    atom: bool,
    open: u32,
}

impl Translator {
    fn new(pattern: &str, flavour: Flavour) -> Self {
        Self {
            letters: pattern.chars().collect(),
            at: 0,
            basic: flavour == Flavour::Basic,
            awk: flavour == Flavour::Awk,
            out: String::new(),
            back: false,
            atom: false,
            open: 0,
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).copied()
    }

    fn run(mut self) -> Result<(String, bool), String> {
        while let Some(letter) = self.peek(0) {
            self.at += 1;
            match letter {
                '\\' => self.escaped()?,
                '[' => self.bracket()?,
                '.' => self.atom("."),
                '*' if self.atom => self.out.push('*'),
                '*' => self.literal('*'),
                '^' => self.caret(),
                '$' => self.dollar(),
                '(' | ')' | '|' | '+' | '?' | '{' if !self.basic => self.operator(letter),
                _ => self.literal(letter),
            }
        }
        Ok((self.out, self.back))
    }

    fn atom(&mut self, text: &str) {
        self.out.push_str(text);
        self.atom = true;
    }

    fn literal(&mut self, letter: char) {
        let mut text = [0; 4];
        let escaped = regex::escape(letter.encode_utf8(&mut text));
        self.atom(&escaped);
    }

    fn operator(&mut self, letter: char) {
        match letter {
            '(' => {
                self.out.push('(');
                self.atom = false;
                self.open += 1;
            }
            // Without its partner it means itself.
            ')' if self.open == 0 => self.literal(')'),
            ')' => {
                self.open -= 1;
                self.atom(")");
            }
            '|' => {
                self.out.push('|');
                self.atom = false;
            }
            '{' => self.interval(),
            _ if self.atom => self.out.push(letter),
            _ => self.literal(letter),
        }
    }

    /// After `{` or `\{`.
    fn interval(&mut self) {
        let rest: String = self.letters.get(self.at..).unwrap_or_default().iter().collect();
        let end = if self.basic { "\\}" } else { "}" };
        let inner = rest.split_once(end).map(|(inner, _)| inner);
        let fits = |inner: &str| {
            !inner.is_empty() && inner.chars().all(|letter| letter.is_ascii_digit() || letter == ',')
        };
        match inner.filter(|inner| fits(inner) && self.atom) {
            Some(inner) => {
                self.at += inner.chars().count() + end.len();
                let inner = if inner.starts_with(',') { format!("0{inner}") } else { inner.to_owned() };
                self.out.push_str(&format!("{{{inner}}}"));
            }
            None => self.literal('{'),
        }
    }

    fn escaped(&mut self) -> Result<(), String> {
        let Some(letter) = self.peek(0) else { return Err("Trailing backslash".to_owned()) };
        self.at += 1;
        match letter {
            '(' | ')' | '|' | '+' | '?' | '{' if self.basic => {
                if letter == ')' && self.open == 0 {
                    return Err("Unmatched ) or \\)".to_owned());
                }
                self.operator(letter);
            }
            '1'..='9' => {
                self.back = true;
                self.atom(&format!("(?:\\{letter})"));
            }
            'n' => self.atom("\\n"),
            't' => self.atom("\\t"),
            'r' => self.atom("\\r"),
            'f' => self.atom("\\f"),
            'v' => self.atom("\\x0B"),
            'w' | 'W' | 's' | 'S' => self.atom(&format!("\\{letter}")),
            'b' if self.awk => self.atom("\\x08"),
            'y' if self.awk => self.out.push_str("\\b"),
            'b' | 'B' => self.out.push_str(&format!("\\{letter}")),
            '<' => self.out.push_str("\\b{start}"),
            '>' => self.out.push_str("\\b{end}"),
            '`' => self.out.push_str("\\A"),
            '\'' => self.out.push_str("\\z"),
            other => self.literal(other),
        }
        Ok(())
    }

    fn caret(&mut self) {
        let begins = self.out.is_empty() || self.out.ends_with(['(', '|']);
        if begins || !self.basic {
            self.out.push('^');
            self.atom = false;
        } else {
            self.literal('^');
        }
    }

    fn dollar(&mut self) {
        let ends = match (self.peek(0), self.peek(1)) {
            (None, _) => true,
            (Some('\\'), Some(')' | '|')) => true,
            _ => !self.basic,
        };
        if ends {
            self.out.push('$');
            self.atom = false;
        } else {
            self.literal('$');
        }
    }

    /// After `[`.
    fn bracket(&mut self) -> Result<(), String> {
        let unmatched = || "Unmatched [, [^, [:, [., or [=".to_owned();
        let mut set = String::from("[");
        if self.peek(0) == Some('^') {
            self.at += 1;
            set.push('^');
        }
        let start = self.at;
        loop {
            let letter = self.peek(0).ok_or_else(unmatched)?;
            self.at += 1;
            match letter {
                ']' if self.at > start + 1 => break,
                '[' if self.peek(0) == Some(':') => {
                    let rest: String = self.letters.get(self.at + 1..).unwrap_or_default().iter().collect();
                    let (name, _) = rest.split_once(":]").ok_or_else(unmatched)?;
                    let known = [
                        "alpha", "digit", "alnum", "upper", "lower", "space", "blank", "punct", "print",
                        "graph", "cntrl", "xdigit",
                    ];
                    if !known.contains(&name) {
                        return Err("Invalid character class name".to_owned());
                    }
                    self.at += name.chars().count() + 3;
                    set.push_str(&format!("[:{name}:]"));
                }
                '\\' if self.awk
                    || matches!(self.peek(0), Some('n' | 't' | ']')) && self.peek(0) != Some(']') =>
                {
                    let next = self.peek(0).ok_or_else(unmatched)?;
                    self.at += 1;
                    match next {
                        'n' | 't' | 'r' | 'f' | 'w' | 's' | 'd' => set.extend(['\\', next]),
                        other => push_member(&mut set, other),
                    }
                }
                '-' if self.at > start + 1
                    && self.peek(0).is_some_and(|next| next != ']')
                    && !set.ends_with("]") =>
                {
                    set.push('-')
                }
                other => push_member(&mut set, other),
            }
        }
        set.push(']');
        self.atom(&set);
        Ok(())
    }
}

fn push_member(set: &mut String, letter: char) {
    if !letter.is_alphanumeric()
        && letter.is_ascii()
        && !letter.is_ascii_control()
        && letter != ' '
        && letter != '_'
        && letter != '"'
        && letter != '\''
        && letter != '/'
        && letter != ','
        && letter != ';'
        && letter != ':'
        && letter != '='
        && letter != '@'
        && letter != '!'
        && letter != '%'
        && letter != '`'
        && letter != '<'
        && letter != '>'
    {
        set.push('\\');
    }
    set.push(letter);
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
        ] {
            assert_eq!(found(pattern, flavour, text).as_deref(), wanted, "{pattern}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_an_error() {
        for pattern in ["(", "[a", "a\\", "[[:nope:]]"] {
            assert!(Regex::new(pattern, Flavour::Extended, false).is_err(), "{pattern}");
        }
    }
}
