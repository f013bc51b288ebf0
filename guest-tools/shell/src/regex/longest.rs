//! POSIX has the longest of the matches that begin first; the matcher stops at the first alternative that fits.

use std::cell::RefCell;
use std::ops::Range;

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind, nfa::thompson};

use super::{Flavour, Groups};

/// Whether the first match of a pattern may not be the longest: there are alternatives, or groups that may be left out.
pub fn may_differ(translated: &str, flavour: Flavour) -> bool {
    let posix = !matches!(flavour, Flavour::Perl | Flavour::Fixed);
    posix
        && (translated.contains('|')
            || (translated.contains('(') && translated.contains(['?', '*', '+', '{'])))
}

/// Finds the end of the longest match from where one begins.
pub struct Longest {
    ends: DFA,
    cache: RefCell<Cache>,
    /// The pattern for a text that it has to match to its end.
    whole: Option<regex::bytes::Regex>,
}

impl Longest {
    /// None if the pattern is beyond what this matcher takes.
    pub fn new(pattern: &str) -> Option<Self> {
        let ends = DFA::builder()
            .configure(DFA::config().match_kind(MatchKind::All).unicode_word_boundary(true))
            .syntax(syntax::Config::new().utf8(false))
            .thompson(thompson::Config::new().utf8(false))
            .build(pattern)
            .ok()?;
        let cache = RefCell::new(ends.create_cache());
        let whole = regex::bytes::Regex::new(&format!("\\A(?:{pattern})\\z")).ok();
        Some(Self { ends, cache, whole })
    }

    /// The longest match where `first` begins; `first` where it cannot be told.
    pub fn of(&self, text: &[u8], first: &Range<usize>) -> Range<usize> {
        let input = Input::new(text).range(first.start..).anchored(Anchored::Yes);
        match self.ends.try_search_fwd(&mut self.cache.borrow_mut(), &input) {
            Ok(Some(end)) => first.start..end.offset().max(first.end),
            Ok(None) | Err(_) => first.clone(),
        }
    }

    /// What the groups of the longest match captured, if it is longer than `first`.
    pub fn groups(&self, text: &[u8], first: &Range<usize>) -> Option<Groups> {
        let longest = self.of(text, first);
        if longest == *first {
            return None;
        }
        let captures = self.whole.as_ref()?.captures(text.get(longest.clone())?)?;
        let shifted = |group: Range<usize>| group.start + longest.start..group.end + longest.start;
        Some(captures.iter().map(|group| group.map(|group| shifted(group.range()))).collect())
    }
}
