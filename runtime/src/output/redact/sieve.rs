//! A look at a text that is quick where none of many patterns is in it, as in nearly everything that tools say.
//!
//! As Wu and Manber search: where the three bytes at the end of a window are in no pattern's beginning, no pattern begins
//! in the window, and the next window is as far on as it is long. An automaton looks at each byte.

/// Bytes that are looked at together.
const BLOCK: usize = 3;

/// The longest window. A longer one skips more at once and gains little.
const LONGEST_WINDOW: usize = 64;

/// Slots of the table for each block of a beginning, so that most others find theirs empty.
const SLOTS_PER_BLOCK: usize = 16;

/// The fewest and the most slots, of a byte each: what lies in the nearest cache, and what a component may cost.
const SLOTS: std::ops::RangeInclusive<usize> = 4 << 10..=1 << 20;

/// What is known of the beginnings of all patterns.
pub(super) struct Sieve {
    /// The bytes of each beginning: as many as the shortest pattern has.
    window: usize,
    /// How far on the next window may be, by the last block of this one.
    skips: Vec<u8>,
    /// The beginnings, in order.
    beginnings: Vec<Vec<u8>>,
}

impl Sieve {
    pub fn new(patterns: &[Vec<u8>]) -> Self {
        let shortest = patterns.iter().map(Vec::len).min().unwrap_or_default();
        let window = shortest.min(LONGEST_WINDOW);
        let mut beginnings: Vec<Vec<u8>> =
            patterns.iter().filter_map(|pattern| pattern.get(..window)).map(<[u8]>::to_vec).collect();
        beginnings.sort_unstable();
        beginnings.dedup();
        let slots = (beginnings.len() * window * SLOTS_PER_BLOCK).next_power_of_two();
        let slots = slots.clamp(*SLOTS.start(), *SLOTS.end());
        let furthest = u8::try_from(window.saturating_sub(BLOCK - 1)).unwrap_or(u8::MAX);
        let mut skips = vec![furthest; slots];
        for beginning in &beginnings {
            for (at, block) in beginning.windows(BLOCK).enumerate() {
                let skip = u8::try_from(window - BLOCK - at).unwrap_or(u8::MAX);
                if let Some(slot) = skips.get_mut(slot(block, slots)) {
                    *slot = skip.min(*slot);
                }
            }
        }
        Self { window, skips, beginnings }
    }

    /// Whether a pattern may begin in `text`: never no where one is in it.
    pub fn lets_through(&self, text: &[u8]) -> bool {
        if self.window < BLOCK {
            return true;
        }
        let mut end = self.window;
        while let Some(block) = text.get(end - BLOCK..end) {
            let skip = self.skips.get(slot(block, self.skips.len())).copied().unwrap_or_default();
            if skip > 0 {
                end += usize::from(skip);
            } else if self.is_beginning(text.get(end - self.window..end).unwrap_or_default()) {
                return true;
            } else {
                end += 1;
            }
        }
        false
    }

    fn is_beginning(&self, window: &[u8]) -> bool {
        self.beginnings.binary_search_by(|beginning| beginning.as_slice().cmp(window)).is_ok()
    }
}

/// The place of a block in a table of so many slots, a power of two.
fn slot(block: &[u8], slots: usize) -> usize {
    let bits = block.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
    // Fibonacci hashing: the upper bits of a product with 2^32 divided by the golden ratio.
    let spread = bits.wrapping_mul(0x9E37_79B9) >> (32 - slots.trailing_zeros());
    usize::try_from(spread).unwrap_or_default() & (slots - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_in(patterns: &[Vec<u8>], text: &[u8]) -> bool {
        patterns.iter().any(|pattern| text.windows(pattern.len()).any(|window| window == pattern))
    }

    proptest! {
        // Few letters, so that patterns overlap and nearly match.
        #[test]
        fn what_is_in_a_text_is_let_through(
            patterns in prop::collection::vec(prop::collection::vec(0_u8..3, 1..12), 1..6),
            text in prop::collection::vec(0_u8..3, 0..200),
        ) {
            prop_assert!(Sieve::new(&patterns).lets_through(&text) || !is_in(&patterns, &text));
        }

        #[test]
        fn any_pattern_is_let_through_anywhere(
            patterns in prop::collection::vec(prop::collection::vec(any::<u8>(), 8..90), 1..40),
            before in prop::collection::vec(any::<u8>(), 0..300),
            which in any::<prop::sample::Index>(),
            after in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let text = [before, which.get(&patterns).clone(), after].concat();
            prop_assert!(Sieve::new(&patterns).lets_through(&text));
        }
    }

    #[test]
    fn most_texts_are_not() {
        let patterns = [b"a secret of some length".to_vec(), b"YSBzZWNyZXQgb2Ygc29tZSBsZW5n".to_vec()];
        let sieve = Sieve::new(&patterns);
        assert!(
            !sieve.lets_through("the words that tools say have no secrets in them; ".repeat(100).as_bytes())
        );
        assert!(!sieve.lets_through(b"a secret"));
        assert!(!sieve.lets_through(b""));
    }
}
