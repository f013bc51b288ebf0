//! Wildcards of the shell, matched against one name or text.

use std::collections::BTreeSet;
use std::ops::Range;

/// A pattern in its pieces.
#[derive(Debug, Clone)]
pub struct Pattern {
    pieces: Vec<Piece>,
    fold: bool,
}

#[derive(Debug, Clone)]
enum Piece {
    Letter(char),
    Any,
    Star,
    Set {
        negated: bool,
        members: Vec<Member>,
    },
    /// `@(a|b)` and its kin.
    Group {
        kind: char,
        alternatives: Vec<Pattern>,
    },
}

#[derive(Debug, Clone)]
enum Member {
    Range(char, char),
    Class(String),
}

impl Pattern {
    /// `text` with a backslash before whatever is meant literally.
    pub fn new(text: &str) -> Self {
        let letters: Vec<char> = text.chars().collect();
        Self { pieces: pieces(&letters, 0), fold: false }
    }

    /// The same, whatever the case of letters.
    pub fn ignore_case(mut self) -> Self {
        self.fold = true;
        self
    }

    pub fn matches(&self, text: &str) -> bool {
        let letters: Vec<char> = text.chars().collect();
        self.matches_letters(&letters)
    }

    pub fn matches_letters(&self, letters: &[char]) -> bool {
        matches(&self.pieces, letters, self.fold)
    }

    /// Where it first matches at or after `from`, as long as possible.
    pub fn find(&self, letters: &[char], from: usize) -> Option<Range<usize>> {
        (from..=letters.len()).find_map(|start| self.prefix(letters, start, true).map(|end| start..end))
    }

    /// The end of the longest, or shortest, match that begins at `start`.
    pub fn prefix(&self, letters: &[char], start: usize, longest: bool) -> Option<usize> {
        let ends = ends(&self.pieces, letters, vec![start], self.fold);
        if longest { ends.last().copied() } else { ends.first().copied() }
    }

    /// The start of the longest, or shortest, match that goes to the end.
    pub fn suffix(&self, letters: &[char], longest: bool) -> Option<usize> {
        let starts = 0..=letters.len();
        let fits = |start: &usize| letters.get(*start..).is_some_and(|part| self.matches_letters(part));
        if longest { starts.into_iter().find(fits) } else { starts.rev().find(fits) }
    }
}

/// Whether `text` has a wildcard outside of backslashes.
pub fn is_pattern(text: &str) -> bool {
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                letters.next();
            }
            '*' | '?' | '[' => return true,
            '@' | '!' | '+' if letters.peek() == Some(&'(') => return true,
            _ => {}
        }
    }
    false
}

/// `text` so that it means itself.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if "\\*?[]()|@!+-^".contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

/// `text` without its backslashes.
pub fn unescape(text: &str) -> String {
    let mut letters = text.chars();
    let mut plain = String::with_capacity(text.len());
    while let Some(letter) = letters.next() {
        plain.extend(if letter == '\\' { letters.next().or(Some('\\')) } else { Some(letter) });
    }
    plain
}

/// Groups within each other; deeper ones mean themselves.
const DEEPEST: u32 = 40;

fn pieces(letters: &[char], depth: u32) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(letter) = letters.get(at).copied() {
        at += 1;
        let piece = match letter {
            '\\' => {
                at += 1;
                Piece::Letter(letters.get(at - 1).copied().unwrap_or('\\'))
            }
            '@' | '!' | '?' | '*' | '+' if letters.get(at) == Some(&'(') && depth < DEEPEST => {
                match group(letters, at + 1, depth) {
                    Some((alternatives, end)) => {
                        at = end;
                        Piece::Group { kind: letter, alternatives }
                    }
                    None => Piece::Letter(letter),
                }
            }
            '?' => Piece::Any,
            '*' => Piece::Star,
            '[' => match set(letters, at) {
                Some((piece, end)) => {
                    at = end;
                    piece
                }
                None => Piece::Letter('['),
            },
            _ => Piece::Letter(letter),
        };
        if !(matches!(piece, Piece::Star) && matches!(pieces.last(), Some(Piece::Star))) {
            pieces.push(piece);
        }
    }
    pieces
}

fn group(letters: &[char], start: usize, level: u32) -> Option<(Vec<Pattern>, usize)> {
    let (mut depth, mut at, mut from) = (0_u32, start, start);
    let mut alternatives = Vec::new();
    let mut add = |from: usize, to: usize| {
        let inner = letters.get(from..to).unwrap_or_default();
        alternatives.push(Pattern { pieces: pieces(inner, level + 1), fold: false });
    };
    loop {
        match letters.get(at)? {
            '\\' => at += 1,
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            ')' => break,
            '|' if depth == 0 => {
                add(from, at);
                from = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    add(from, at);
    Some((alternatives, at + 1))
}

/// After `[`: the set, and where it ends.
fn set(letters: &[char], start: usize) -> Option<(Piece, usize)> {
    let mut at = start;
    let negated = matches!(letters.get(at), Some('!' | '^'));
    at += usize::from(negated);
    let mut members = Vec::new();
    let first = at;
    loop {
        let mut letter = *letters.get(at)?;
        if letter == ']' && at > first {
            return Some((Piece::Set { negated, members }, at + 1));
        }
        if letter == '[' && letters.get(at + 1) == Some(&':') {
            let rest = letters.get(at + 2..)?;
            if let Some(length) = rest.windows(2).position(|pair| pair == [':', ']']) {
                members.push(Member::Class(rest.iter().take(length).collect()));
                at += length + 4;
                continue;
            }
        }
        if letter == '\\' {
            at += 1;
            letter = *letters.get(at)?;
        }
        at += 1;
        let range = letters.get(at) == Some(&'-') && letters.get(at + 1).is_some_and(|next| *next != ']');
        if range {
            let end = *letters.get(at + 1)?;
            at += 2;
            members.push(Member::Range(letter, end));
        } else {
            members.push(Member::Range(letter, letter));
        }
    }
}

/// Whether a class of POSIX has the letter.
pub fn in_class(class: &str, letter: char) -> bool {
    match class {
        "alpha" => letter.is_alphabetic(),
        "digit" => letter.is_ascii_digit(),
        "alnum" => letter.is_alphanumeric(),
        "upper" => letter.is_uppercase(),
        "lower" => letter.is_lowercase(),
        "space" => letter.is_whitespace(),
        "blank" => matches!(letter, ' ' | '\t'),
        "punct" => letter.is_ascii_punctuation(),
        "print" => !letter.is_control(),
        "graph" => !letter.is_control() && !letter.is_whitespace(),
        "cntrl" => letter.is_control(),
        "xdigit" => letter.is_ascii_hexdigit(),
        "word" => letter.is_alphanumeric() || letter == '_',
        _ => false,
    }
}

fn same(one: char, other: char, fold: bool) -> bool {
    one == other || (fold && one.to_lowercase().eq(other.to_lowercase()))
}

fn fits(piece: &Piece, letter: char, fold: bool) -> bool {
    match piece {
        Piece::Letter(wanted) => same(*wanted, letter, fold),
        Piece::Any => true,
        Piece::Set { negated, members } => {
            let has = |letter: char| {
                members.iter().any(|member| match member {
                    Member::Range(from, to) => (*from..=*to).contains(&letter),
                    Member::Class(class) => in_class(class, letter),
                })
            };
            let found =
                has(letter) || (fold && (letter.to_lowercase().any(has) || letter.to_uppercase().any(has)));
            found != *negated
        }
        Piece::Star | Piece::Group { .. } => false,
    }
}

fn matches(pieces: &[Piece], letters: &[char], fold: bool) -> bool {
    if pieces.iter().any(|piece| matches!(piece, Piece::Group { .. })) {
        return ends(pieces, letters, vec![0], fold).last() == Some(&letters.len());
    }
    matches_plain(pieces, letters, fold)
}

/// A star is tried again from its last place alone, so that the time is bounded by the product of both lengths.
fn matches_plain(pieces: &[Piece], letters: &[char], fold: bool) -> bool {
    let (mut piece, mut at) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        match pieces.get(piece) {
            Some(Piece::Star) => {
                star = Some((piece, at));
                piece += 1;
                continue;
            }
            Some(one) if letters.get(at).is_some_and(|letter| fits(one, *letter, fold)) => {
                piece += 1;
                at += 1;
                continue;
            }
            Some(_) => {}
            None if at == letters.len() => return true,
            None => {}
        }
        let Some((back, from)) = star else { return false };
        if from >= letters.len() {
            return false;
        }
        star = Some((back, from + 1));
        piece = back + 1;
        at = from + 1;
    }
}

/// Where matches end that begin at one of `places`, in order: all are followed at once, so that neither the time nor the
/// stack grows with the ways in which a text could be divided.
fn ends(pieces: &[Piece], letters: &[char], mut places: Vec<usize>, fold: bool) -> Vec<usize> {
    for piece in pieces {
        if places.is_empty() || crate::task::tick().is_err() {
            return Vec::new();
        }
        places = match piece {
            Piece::Star => (places.first().copied().unwrap_or(0)..=letters.len()).collect(),
            Piece::Group { kind, alternatives } => group_ends(*kind, alternatives, letters, places, fold),
            piece => places
                .into_iter()
                .filter(|at| letters.get(*at).is_some_and(|letter| fits(piece, *letter, fold)))
                .map(|at| at + 1)
                .collect(),
        };
    }
    places
}

fn group_ends(
    kind: char,
    alternatives: &[Pattern],
    letters: &[char],
    places: Vec<usize>,
    fold: bool,
) -> Vec<usize> {
    let once = |places: &[usize]| -> BTreeSet<usize> {
        alternatives
            .iter()
            .flat_map(|alternative| ends(&alternative.pieces, letters, places.to_vec(), fold))
            .collect()
    };
    let mut found = match kind {
        '!' => {
            let other = |start: usize| {
                let matched = once(&[start]);
                (start..=letters.len()).filter(move |end| !matched.contains(end))
            };
            return places.into_iter().flat_map(other).collect::<BTreeSet<_>>().into_iter().collect();
        }
        '*' | '+' => {
            let (mut found, mut new) = (BTreeSet::new(), places.clone());
            while !new.is_empty() {
                new = once(&new).into_iter().filter(|end| found.insert(*end)).collect();
            }
            found
        }
        _ => once(&places),
    };
    if matches!(kind, '?' | '*') {
        found.extend(places);
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_texts() {
        for (pattern, text, wanted) in [
            ("*.rs", "main.rs", true),
            ("*.rs", "main.rs.bak", false),
            ("[!a-c]?", "dx", true),
            ("[!a-c]?", "ax", false),
            ("[[:digit:]]*", "7up", true),
            ("[]x]", "]", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("@(a|b*)c", "bbbc", true),
            ("!(*.md)", "a.txt", true),
            ("!(*.md)", "a.md", false),
            ("+(ab)", "ababab", true),
            ("+(ab)", "aba", false),
            ("?(x)y", "y", true),
            ("[", "[", true),
            ("a**b", "ab", true),
        ] {
            assert_eq!(Pattern::new(pattern).matches(text), wanted, "{pattern} {text}");
        }
    }

    #[test]
    fn many_stars_take_no_time() {
        let pattern = Pattern::new(&"*a".repeat(30));
        assert!(!pattern.matches(&"a".repeat(29)));
        assert!(!Pattern::new(&format!("{}b", "a*".repeat(30))).matches(&"a".repeat(2000)));
    }

    #[test]
    fn what_is_escaped_means_itself() {
        let odd = "a*b?[c]\\(d|e)!@+x-^";
        assert!(Pattern::new(&escape(odd)).matches(odd));
        assert_eq!(unescape(&escape(odd)), odd);
    }
}
