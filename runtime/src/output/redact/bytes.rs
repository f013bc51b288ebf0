//! Secrets covered in bytes that come in pieces and are no text to us: each byte of one becomes a star, so that lengths
//! and whatever lies around stay as they are.

use std::ops::Range;
use std::sync::Arc;

use super::{Redactor, TOLERATED};

/// What stands in the place of each byte of a secret.
const STAR: u8 = b'*';

/// The pieces of one body.
#[derive(Debug)]
pub(crate) struct MaskingBytes {
    redactor: Arc<Redactor>,
    /// The beginning of it all, while it may be the end of a secret that somebody cut before.
    beginning: Option<Vec<u8>>,
    /// What may be the beginning of a secret, kept back until it is known.
    held: Vec<u8>,
    /// How much of that is the end of a secret that was found already.
    covered: usize,
}

impl MaskingBytes {
    pub fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, beginning: Some(Vec::new()), held: Vec::new(), covered: 0 }
    }

    /// The next piece: what of it and of those before may be seen now.
    pub fn piece(&mut self, piece: &[u8]) -> Vec<u8> {
        let Some(mut beginning) = self.beginning.take() else { return self.next(piece) };
        beginning.extend_from_slice(piece);
        if self.is_within(&beginning) {
            self.beginning = Some(beginning);
            return Vec::new();
        }
        self.begin(&beginning)
    }

    /// The first that is shown, which may begin with the end of a secret.
    fn begin(&mut self, beginning: &[u8]) -> Vec<u8> {
        let few = beginning.get(..=TOLERATED).unwrap_or_default();
        if !few.is_empty() && self.is_within(few) {
            self.covered = Some(self.halved_start(beginning)).filter(|end| *end > TOLERATED).unwrap_or(0);
        }
        self.next(beginning)
    }

    fn next(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(piece);
        let mut masked = all.clone();
        cover(&mut masked, 0..self.covered);
        let shown = self.halved_end(&all);
        let mut covered_to = self.covered;
        for found in self.redactor.automaton.all(&all) {
            cover(&mut masked, found.range());
            covered_to = covered_to.max(found.end);
        }
        self.covered = covered_to.saturating_sub(shown);
        self.held = all.split_off(shown);
        masked.truncate(shown);
        masked
    }

    /// The rest, after the last piece. What may be the first half of a secret is covered: the other half may come by
    /// another way.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut shown = self.beginning.take().map(|beginning| self.begin(&beginning)).unwrap_or_default();
        let mut held = std::mem::take(&mut self.held);
        let halved = if held.len() > TOLERATED { held.len() } else { 0 };
        cover(&mut held, 0..std::mem::take(&mut self.covered).max(halved));
        shown.append(&mut held);
        shown
    }

    /// Whether a spelling has `bytes` in it.
    fn is_within(&self, bytes: &[u8]) -> bool {
        self.redactor.automaton.has_within(bytes)
    }

    /// Where the longest beginning of `bytes` ends that a spelling ends with and begins before.
    fn halved_start(&self, bytes: &[u8]) -> usize {
        let to = bytes.len().min(self.redactor.longest_part());
        let is_halved =
            |end: &usize| bytes.get(..*end).is_some_and(|start| self.redactor.automaton.ends(start));
        (1..=to).rev().find(is_halved).unwrap_or(0)
    }

    /// Where the longest end of `bytes` starts that a spelling begins with and goes on after.
    fn halved_end(&self, bytes: &[u8]) -> usize {
        let from = bytes.len().saturating_sub(self.redactor.longest_part());
        let is_halved =
            |start: &usize| bytes.get(*start..).is_some_and(|end| self.redactor.automaton.begins(end));
        (from..bytes.len()).find(is_halved).unwrap_or(bytes.len())
    }
}

fn cover(bytes: &mut [u8], range: Range<usize>) {
    let end = range.end.min(bytes.len());
    if let Some(part) = bytes.get_mut(range.start..end) {
        part.fill(STAR);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    fn masked(pieces: &[&[u8]]) -> Vec<u8> {
        let redactor = Redactor::new([("key", "s3cr3t-value")]).unwrap().unwrap();
        let mut masking = MaskingBytes::new(Arc::new(redactor));
        let mut all: Vec<u8> = pieces.iter().flat_map(|piece| masking.piece(piece)).collect();
        all.extend(masking.rest());
        all
    }

    #[test]
    fn a_secret_is_covered_wherever_it_is_cut() {
        let body = b"\xff\x00 s3cr3t-value, s3cr3t-valu s3cr3t-values3cr3t-value\xfe";
        let expected = b"\xff\x00 ************, s3cr3t-valu ************************\xfe";
        assert_eq!(masked(&[body]), expected);
        for at in 0..=body.len() {
            let (first, second) = body.split_at(at);
            assert_eq!(masked(&[first, second]), expected, "cut at {at}");
        }
        let bytes: Vec<&[u8]> = body.chunks(1).collect();
        assert_eq!(masked(&bytes), expected);
        // What somebody else cut is known at both ends, but for what is too short to tell.
        for (cut, expected) in [
            (&b"3cr3t-value and more"[..], &b"*********** and more"[..]),
            (b"value", b"*****"),
            (b"value, and s3cr3t-", b"*****, and *******"),
            (b"s3cr3t-valu", b"***********"),
            (b"lue and s3c", b"lue and s3c"),
            (b"values", b"*****s"),
            (b"3cr3t-valuo", b"3cr3t-valuo"),
        ] {
            assert_eq!(masked(&[cut]), expected, "{cut:?}");
            for at in 0..cut.len() {
                let (first, second) = cut.split_at(at);
                assert_eq!(masked(&[first, second]), expected, "{cut:?} at {at}");
            }
            let bytes: Vec<&[u8]> = cut.chunks(1).collect();
            assert_eq!(masked(&bytes), expected, "{cut:?}");
        }
        let encoded = masked(&[b"czNjcjN0LXZhbHVl"]);
        assert!(!encoded.windows(6).any(|part| part == b"czNjcj"), "{encoded:?}");
    }
}
