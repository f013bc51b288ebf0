//! The patterns that are searched for.

use crate::regex::{Flavour, Regex};
use crate::stop::{Stop, wrong};
use crate::util::options::Options;

/// What is searched for.
pub struct Search {
    pub regexes: Vec<Regex>,
    pub invert: bool,
    pub word: bool,
    pub line: bool,
    pub none: bool,
    /// The one pattern for many lines at once: where it does not match, no line does.
    ahead: Option<Regex>,
}

/// What means the ends of a text rather than of a line.
const ENDS: [&str; 5] = ["\\A", "\\z", "\\Z", "\\`", "\\'"];

impl Search {
    pub fn new(options: &Options, patterns: &[String], flavour: Flavour) -> Result<Self, Stop> {
        let chosen = options.given().iter().rev().find_map(|(letter, _)| match letter {
            'E' => Some(Flavour::Extended),
            'F' => Some(Flavour::Fixed),
            'G' => Some(Flavour::Basic),
            'P' => Some(Flavour::Perl),
            _ => None,
        });
        let ignore_case = options.has('i') || options.has('y');
        let flavour = chosen.unwrap_or(flavour);
        let mut regexes = Vec::new();
        for pattern in patterns {
            match Regex::new(pattern, flavour, ignore_case) {
                Ok(regex) => regexes.push(regex),
                Err(error) => return wrong(2, error),
            }
        }
        let ahead = match patterns {
            [pattern] if !options.has('v') && !ENDS.iter().any(|end| pattern.contains(end)) => {
                Regex::new_lines(pattern, flavour, ignore_case, true).ok().filter(Regex::is_linear)
            }
            _ => None,
        };
        Ok(Self {
            ahead,
            regexes,
            invert: options.has('v'),
            word: options.has('w'),
            line: options.has('x'),
            none: patterns.is_empty(),
        })
    }

    /// How many bytes at the start of whole lines are of lines without a match.
    pub fn skips(&self, lines: &[u8]) -> usize {
        let Some(ahead) = &self.ahead else { return 0 };
        match ahead.find(lines, 0) {
            None => lines.len(),
            Some(found) => {
                let before = lines.get(..found.start).unwrap_or_default();
                memchr::memrchr(b'\n', before).map_or(0, |at| at + 1)
            }
        }
    }

    pub fn find(&self, line: &[u8], from: usize) -> Option<std::ops::Range<usize>> {
        let mut best: Option<std::ops::Range<usize>> = None;
        for regex in &self.regexes {
            let mut at = from;
            while let Some(found) = regex.find(line, at) {
                if self.fits(line, &found) {
                    let better = best.as_ref().is_none_or(|best| {
                        found.start < best.start || (found.start == best.start && found.end > best.end)
                    });
                    if better {
                        best = Some(found);
                    }
                    break;
                }
                at = found.start + 1;
                if at > line.len() {
                    break;
                }
            }
        }
        best
    }

    pub fn fits(&self, line: &[u8], found: &std::ops::Range<usize>) -> bool {
        if self.line && (found.start != 0 || found.end != line.len()) {
            return false;
        }
        if !self.word {
            return true;
        }
        let is_word = |byte: Option<&u8>| {
            byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 128)
        };
        let before = found.start.checked_sub(1).and_then(|index| line.get(index));
        !is_word(before) && !is_word(line.get(found.end))
    }

    pub fn selects(&self, line: &[u8]) -> bool {
        let found = if self.none {
            false
        } else if self.word || self.line {
            self.find(line, 0).is_some()
        } else {
            self.regexes.iter().any(|regex| regex.is_match(line))
        };
        found != self.invert
    }
}
