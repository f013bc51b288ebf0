//! A bounded capture of what a guest prints.

use std::collections::VecDeque;
use std::ops::Range;

use super::Redactor;

/// Keeps the first and the last bytes of a stream and counts the rest.
///
/// It never refuses a write: a guest whose output is refused fails where it would have worked, and most guests'
/// print routines panic on it. Memory is bounded by the limit, however much is written.
#[derive(Debug, Clone)]
pub struct HeadTail {
    head: Vec<u8>,
    head_limit: usize,
    tail: VecDeque<u8>,
    tail_limit: usize,
    total: u64,
}

impl HeadTail {
    /// A capture that keeps `limit` bytes: half of them from the start, half from the end.
    pub fn new(limit: usize) -> Self {
        let head_limit = limit / 2;
        Self { head: Vec::new(), head_limit, tail: VecDeque::new(), tail_limit: limit - head_limit, total: 0 }
    }

    /// Takes note of `bytes`; always all of them.
    pub fn write(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let room = self.head_limit.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        let (_, last) = rest.split_at(rest.len().saturating_sub(self.tail_limit));
        let overflow = (self.tail.len() + last.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..overflow.min(self.tail.len()));
        self.tail.extend(last);
    }

    /// All bytes that were written, kept or not.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Bytes that were written and not kept.
    pub fn dropped(&self) -> u64 {
        self.total.saturating_sub((self.head.len() + self.tail.len()) as u64)
    }

    /// The half-open ranges of the stream that are kept.
    pub fn kept(&self) -> Vec<Range<u64>> {
        let (head, tail) = (self.head.len() as u64, self.tail.len() as u64);
        match self.dropped() {
            0 => Vec::from_iter((self.total > 0).then_some(0..self.total)),
            _ => [0..head, self.total - tail..self.total]
                .into_iter()
                .filter(|range| !range.is_empty())
                .collect(),
        }
    }

    /// What is kept as text, with a marker where bytes are missing.
    ///
    /// Invalid UTF-8 becomes U+FFFD. A character that only our own border cut is left out instead and counted as
    /// missing. Control characters stay: see [`clean`](super::clean).
    pub fn render(&self) -> String {
        self.render_redacted(None)
    }

    /// The same without what our borders may have left of secrets; whole ones are taken out with everything else.
    pub(crate) fn render_redacted(&self, redactor: Option<&Redactor>) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.dropped() == 0 {
            return String::from_utf8_lossy(&[self.head.as_slice(), &tail].concat()).into_owned();
        }
        let head = without_cut_end(&self.head);
        let tail = without_cut_start(&tail);
        let missing = self.total.saturating_sub((head.len() + tail.len()) as u64);
        let (mut head, mut tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        if let Some(redactor) = redactor {
            head = redactor.cut_end(&head).into();
            tail = redactor.cut_start(&tail).into();
        }
        format!("{head}\n[... {missing} bytes were not kept ...]\n{tail}")
    }
}

/// `bytes` without the beginning of a character at their end.
fn without_cut_end(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes.get(bytes.len().saturating_sub(4)..).unwrap_or_default()) {
        Ok(_) => bytes,
        Err(_) => {
            let last = bytes.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
            let cut = could_continue(last);
            bytes.get(..bytes.len() - if cut { last.len() } else { 0 }).unwrap_or_default()
        }
    }
}

/// Whether more bytes could make `bytes` a character.
fn could_continue(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
}

/// `bytes` without the end of a character at their start.
fn without_cut_start(bytes: &[u8]) -> &[u8] {
    let cut = bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
    bytes.get(cut..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test may panic")]
    use proptest::prelude::*;

    use super::*;

    fn captured(limit: usize, writes: &[&[u8]]) -> HeadTail {
        let mut capture = HeadTail::new(limit);
        writes.iter().for_each(|bytes| capture.write(bytes));
        capture
    }

    #[test]
    fn what_fits_is_whole_and_split_characters_are_joined() {
        let capture = captured(8, &[b"a\xE2", b"\x82", b"\xAC", b"b"]);
        assert_eq!((capture.render().as_str(), capture.total(), capture.dropped()), ("a\u{20ac}b", 5, 0));
        assert_eq!(captured(8, &[b"\xE2", b"x\x80"]).render(), "\u{fffd}x\u{fffd}");
        assert_eq!(captured(0, &[]).render(), "");
    }

    #[test]
    fn what_does_not_fit_keeps_both_ends_and_says_what_is_missing() {
        assert_eq!(captured(6, &[b"abcdefghij"]).render(), "abc\n[... 4 bytes were not kept ...]\nhij");
        assert_eq!(captured(0, &[b"abc"]).render(), "\n[... 3 bytes were not kept ...]\n");
        assert_eq!(captured(6, &[b"abcdefghij"]).kept(), [0..3, 7..10]);
    }

    #[test]
    fn our_own_border_leaves_no_broken_character() {
        let text = "\u{20ac}".repeat(10);
        let rendered = captured(8, &[text.as_bytes()]).render();
        assert_eq!(rendered, "\u{20ac}\n[... 24 bytes were not kept ...]\n\u{20ac}");
        // The guest's own rubbish at the border is shown as such.
        assert_eq!(captured(2, &[b"\xFFabc"]).render(), "\u{fffd}\n[... 2 bytes were not kept ...]\nc");
    }

    #[test]
    fn many_small_writes_cost_no_more_than_the_limit() {
        let mut capture = HeadTail::new(64 * 1024);
        for _ in 0..5 * 1024 * 1024 / 8 {
            capture.write(b"progress");
        }
        assert_eq!(capture.total(), 5 * 1024 * 1024);
        assert_eq!(capture.head.len() + capture.tail.len(), 64 * 1024);
        assert!(capture.tail.capacity() <= 64 * 1024);
    }

    #[test]
    fn our_own_border_leaves_no_half_of_a_secret_that_was_coloured() {
        // As `grep --color` shows a match, and a progress bar's carriage returns.
        for coloured in [
            "sk-live_\u{1b}[01;31m\u{1b}[KAbCd\u{1b}[m\u{1b}[K1234-wxyz9876",
            "sk-live_\u{9b}01;31mAbCd\u{1b}(B1234-wxyz9876",
            "sk-\u{1b}]8;;http://a\u{1b}\\live_AbCd\u{1b}]8;;\u{7}1234-wxyz9876",
        ] {
            let secret = super::super::clean(coloured).into_owned();
            assert_eq!(secret, "sk-live_AbCd1234-wxyz9876");
            let redactor = Redactor::new([("key", secret.as_str())]).unwrap().unwrap();
            for at in 1..coloured.len() {
                let kept = 2 * coloured.len();
                let (before, after) = ("#".repeat(kept / 2 - at), "#".repeat(kept / 2 - coloured.len() + at));
                let printed = format!("{before}{coloured}{}{coloured}{after}", "~".repeat(kept));
                let shown = captured(kept, &[printed.as_bytes()]).render_redacted(Some(&redactor));
                let ends: Vec<&str> = shown.split('\n').collect();
                let left = |end: &str| end.replace('#', "").replace("[redacted:key]", "");
                assert_eq!(left(ends[0]), "", "{at}: {shown:?}");
                let tail = left(ends[2]);
                let told =
                    secret.as_bytes().windows(5).any(|part| tail.as_bytes().windows(5).any(|it| it == part));
                assert!(!told, "{at}: {shown:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_ends_are_the_streams_own(
            limit in 0usize..40,
            writes in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..10),
        ) {
            let mut capture = HeadTail::new(limit);
            for bytes in &writes {
                capture.write(bytes);
            }
            let all = writes.concat();
            let tail: Vec<u8> = capture.tail.iter().copied().collect();
            prop_assert_eq!(capture.total(), all.len() as u64);
            prop_assert!(all.starts_with(&capture.head) && all.ends_with(&tail));
            prop_assert_eq!(capture.head.len() + tail.len(), all.len().min(limit));
            for range in capture.kept() {
                prop_assert!(range.end <= capture.total());
            }
            capture.render();
        }

        #[test]
        fn valid_text_stays_valid(limit in 0usize..64, text in "\\PC{0,60}") {
            let mut capture = HeadTail::new(limit);
            for byte in text.bytes() {
                capture.write(&[byte]);
            }
            let rendered = capture.render();
            if let Some((head, tail)) = rendered.split_once("\n[... ") {
                let (missing, tail) = tail.split_once(" bytes were not kept ...]\n").unwrap();
                prop_assert!(text.starts_with(head) && text.ends_with(tail));
                prop_assert_eq!(head.len() + tail.len() + missing.parse::<usize>().unwrap(), text.len());
            } else {
                prop_assert_eq!(rendered, text);
            }
        }
    }
}
