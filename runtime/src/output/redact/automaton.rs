//! All spellings of all secrets, and where they are in a text: whole, or the half that a border left of one.
//!
//! An automaton knows how each spelling begins, and no more of it: it would take sixteen bytes for each byte of each. Where
//! a longer one begins, it is compared.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Match, MatchKind};

use super::spans::Span;

/// What the automaton knows of a spelling, in bytes: the whole of those of passwords and tokens.
const BEGINNING: usize = 128;

/// The spellings, each with the number of its secret.
pub(super) struct Automaton {
    /// In order, to find those that begin with something.
    spellings: Vec<Vec<u8>>,
    /// The number of the secret that each is one of.
    secrets: Vec<usize>,
    /// The places of all in the order that they have backwards, to find those that end with something.
    backward: Vec<usize>,
    automaton: AhoCorasick,
    /// What the automaton finds, each once.
    beginnings: Vec<Beginning>,
    longest: usize,
}

/// How spellings begin.
struct Beginning {
    /// The place of the first that begins so.
    spelling: usize,
    /// Whether one of them goes on.
    goes_on: bool,
}

impl Automaton {
    /// # Errors
    /// When they are too many.
    pub fn new(named: BTreeMap<Vec<u8>, usize>) -> Result<Self, String> {
        let (spellings, secrets): (Vec<Vec<u8>>, Vec<usize>) = named.into_iter().unzip();
        let mut beginnings: Vec<Beginning> = Vec::new();
        let mut texts: Vec<&[u8]> = Vec::new();
        for (at, spelling) in spellings.iter().enumerate() {
            let text = spelling.get(..BEGINNING).unwrap_or(spelling);
            let goes_on = text.len() < spelling.len();
            match beginnings.last_mut().filter(|_| texts.last() == Some(&text)) {
                Some(same) => same.goes_on |= goes_on,
                None => {
                    texts.push(text);
                    beginnings.push(Beginning { spelling: at, goes_on });
                }
            }
        }
        // Not the table of the fastest kind, which would take a kilobyte for each byte of each spelling.
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&texts)
            .map_err(|error| error.to_string())?;
        let longest = spellings.iter().map(Vec::len).max().unwrap_or_default();
        let backwards = |at: &usize| spellings.get(*at).into_iter().flatten().rev();
        let mut backward: Vec<usize> = (0..spellings.len()).collect();
        backward.sort_unstable_by(|one, other| backwards(one).cmp(backwards(other)));
        Ok(Self { spellings, secrets, backward, automaton, beginnings, longest })
    }

    /// How many spellings there are.
    pub fn len(&self) -> usize {
        self.spellings.len()
    }

    /// The spellings in order.
    pub fn spellings(&self) -> &[Vec<u8>] {
        &self.spellings
    }

    /// The bytes of the longest.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Whether one has `bytes` in it.
    #[cfg(feature = "http")]
    pub fn has_within(&self, bytes: &[u8]) -> bool {
        let has = |spelling: &Vec<u8>| spelling.windows(bytes.len()).any(|part| part == bytes);
        bytes.is_empty() || self.spellings.iter().any(has)
    }

    /// Every place of a spelling, those first that are known first.
    pub fn all<'t>(&'t self, bytes: &'t [u8]) -> impl Iterator<Item = Span> + 't {
        self.automaton.find_overlapping_iter(bytes).filter_map(|found| self.whole(bytes, found))
    }

    /// The place of the spelling that is known first.
    pub fn find(&self, text: impl AsRef<[u8]>) -> Option<Span> {
        self.all(text.as_ref()).next()
    }

    /// The longest spelling that begins where `found` does.
    fn whole(&self, bytes: &[u8], found: Match) -> Option<Span> {
        let beginning = self.beginnings.get(found.pattern().as_usize())?;
        let at = match beginning.goes_on {
            true => self.longest_of(bytes.get(found.start()..)?)?,
            false => beginning.spelling,
        };
        let end = found.start() + self.spellings.get(at)?.len();
        Some(Span { start: found.start(), end, mark: self.secrets.get(at).copied() })
    }

    /// The place of the longest spelling that `bytes` begins with.
    fn longest_of(&self, mut bytes: &[u8]) -> Option<usize> {
        loop {
            let at = self.after(bytes).checked_sub(1)?;
            let spelling = self.spellings.get(at)?;
            let same = spelling.iter().zip(bytes).take_while(|(one, other)| one == other).count();
            if same == spelling.len() {
                return Some(at);
            }
            // Whatever else it begins with is no longer than what it has in common with its neighbour.
            bytes = bytes.get(..same).filter(|bytes| !bytes.is_empty())?;
        }
    }

    /// Whether a spelling begins with `bytes` and goes on.
    pub fn begins(&self, bytes: &[u8]) -> bool {
        self.spellings.get(self.after(bytes)).is_some_and(|spelling| spelling.starts_with(bytes))
    }

    /// Whether a spelling ends with `bytes`, and more is before them.
    pub fn ends(&self, bytes: &[u8]) -> bool {
        let is_before = |at: &usize| {
            let spelling = self.spellings.get(*at).into_iter().flatten();
            spelling.rev().cmp(bytes.iter().rev()) != Ordering::Greater
        };
        let after = self.backward.get(self.backward.partition_point(is_before));
        after.and_then(|at| self.spellings.get(*at)).is_some_and(|spelling| spelling.ends_with(bytes))
    }

    /// The place of the first spelling that is after `bytes` in the order.
    fn after(&self, bytes: &[u8]) -> usize {
        self.spellings.partition_point(|spelling| spelling.as_slice() <= bytes)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use proptest::prelude::*;

    use super::*;

    fn automaton(spellings: &[Vec<u8>]) -> Automaton {
        Automaton::new(spellings.iter().cloned().map(|spelling| (spelling, 0)).collect()).unwrap()
    }

    /// Long ones that have their beginnings in common, as those of one secret have.
    fn long() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let ends = prop::collection::vec(prop::collection::vec(0_u8..2, 0..8), 1..6);
        (ends, BEGINNING - 4..BEGINNING + 4)
            .prop_map(|(ends, common)| ends.into_iter().map(|end| [vec![7; common], end].concat()).collect())
    }

    proptest! {
        #[test]
        fn what_goes_on_behind_its_beginning_is_found_whole(
            spellings in long(),
            which in any::<prop::sample::Index>(),
            after in prop::collection::vec(0_u8..2, 0..8),
        ) {
            let automaton = automaton(&spellings);
            let text = [vec![9], which.get(&spellings).clone(), after].concat();
            let rest = &text[1..];
            let longest = spellings.iter().filter(|spelling| rest.starts_with(spelling)).map(Vec::len).max();
            let found = automaton.all(&text).filter(|span| span.start == 1).map(|span| span.end - 1).max();
            prop_assert_eq!(found, longest);
        }

        #[test]
        fn halves_are_what_begins_and_ends_spellings(
            spellings in prop::collection::vec(prop::collection::vec(0_u8..3, 1..6), 1..6),
            part in prop::collection::vec(0_u8..3, 1..6),
        ) {
            let automaton = automaton(&spellings);
            let begins = |spelling: &Vec<u8>| spelling.starts_with(&part) && spelling.len() > part.len();
            let ends = |spelling: &Vec<u8>| spelling.ends_with(&part) && spelling.len() > part.len();
            prop_assert_eq!(automaton.begins(&part), spellings.iter().any(begins));
            prop_assert_eq!(automaton.ends(&part), spellings.iter().any(ends));
        }
    }

    #[test]
    fn what_only_begins_like_a_long_one_is_none() {
        let spelling: Vec<u8> = (0..2 * BEGINNING).map(|at| u8::try_from(at).unwrap_or(b'x')).collect();
        let automaton = automaton(std::slice::from_ref(&spelling));
        let (beginning, last) = spelling.split_at(spelling.len() - 1);
        assert_eq!(automaton.find([beginning, b"!"].concat()), None);
        assert_eq!(
            automaton.find([beginning, last].concat()).map(|span| span.range()),
            Some(0..spelling.len())
        );
    }
}
