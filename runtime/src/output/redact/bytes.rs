//! Secrets covered in bytes that come in pieces and are no text to us: each byte of one becomes a star, so that lengths
//! and whatever lies around stay as they are.

use std::sync::Arc;

use super::{Redactor, begins};

/// What stands in the place of each byte of a secret.
const STAR: u8 = b'*';

/// The pieces of one body.
#[derive(Debug)]
pub(crate) struct MaskingBytes {
    redactor: Arc<Redactor>,
    /// What may be the beginning of a secret, kept back until it is known.
    held: Vec<u8>,
    /// How much of that is the end of a secret that was found already.
    covered: usize,
}

impl MaskingBytes {
    pub fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, held: Vec::new(), covered: 0 }
    }

    /// The next piece: what of it and of those before may be seen now.
    pub fn piece(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(piece);
        let mut masked = all.clone();
        cover(&mut masked, 0, self.covered);
        let shown = self.halved_end(&all);
        let mut covered_to = self.covered;
        for found in self.redactor.automaton.find_overlapping_iter(&all) {
            cover(&mut masked, found.start(), found.end());
            covered_to = covered_to.max(found.end());
        }
        self.covered = covered_to.saturating_sub(shown);
        self.held = all.split_off(shown);
        masked.truncate(shown);
        masked
    }

    /// The rest, after the last piece.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut held = std::mem::take(&mut self.held);
        cover(&mut held, 0, std::mem::take(&mut self.covered));
        held
    }

    /// Where the longest end of `bytes` starts that a spelling begins with and goes on after.
    fn halved_end(&self, bytes: &[u8]) -> usize {
        let from = bytes.len().saturating_sub(self.redactor.longest.saturating_sub(1));
        let is_halved =
            |start: &usize| bytes.get(*start..).is_some_and(|end| begins(&self.redactor.forward, end));
        (from..bytes.len()).find(is_halved).unwrap_or(bytes.len())
    }
}

fn cover(bytes: &mut [u8], start: usize, end: usize) {
    let end = end.min(bytes.len());
    if let Some(part) = bytes.get_mut(start..end) {
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
        let encoded = masked(&[b"czNjcjN0LXZhbHVl"]);
        assert!(!encoded.windows(6).any(|part| part == b"czNjcj"), "{encoded:?}");
    }
}
