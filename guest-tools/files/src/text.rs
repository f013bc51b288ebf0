//! Text as it lies in files: lines, their endings, and bytes that are no text.

use std::borrow::Cow;
use std::io::{self, BufRead};

/// How much of a file's beginning is looked at to tell text from binary.
pub const HEAD: usize = 8 * 1024;

/// Why the file that begins with `head` is not text for these tools, if so.
pub fn not_text(head: &[u8]) -> Option<&'static str> {
    let head = head.get(..HEAD).unwrap_or(head);
    if is_utf16(head) {
        return Some("UTF-16 text, which this tool does not read");
    }
    memchr::memchr(0, head).map(|_| "a binary file")
}

/// Whether the byte order mark of UTF-16 stands at the beginning.
pub fn is_utf16(head: &[u8]) -> bool {
    head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff])
}

/// `bytes` as text, at most `max` bytes of it; bytes that are not UTF-8 become U+FFFD.
pub fn lossy(bytes: &[u8], max: usize) -> String {
    let mut text = String::from_utf8_lossy(bytes.get(..max).unwrap_or(bytes)).into_owned();
    // A character that the cut went through is dropped rather than shown as broken.
    if bytes.len() > max && text.ends_with(char::REPLACEMENT_CHARACTER) {
        text.pop();
    }
    text
}

/// Stands for a carriage return inside a line: left as it is, it would begin a line that the file does not have.
pub const CARRIAGE_RETURN: &str = "\u{240d}";

/// A line's text as it is shown.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if text.contains('\r') { Cow::Owned(text.replace('\r', CARRIAGE_RETURN)) } else { Cow::Borrowed(text) }
}

/// One line that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Its length in bytes, without the line ending.
    pub length: u64,
    /// How it ends.
    pub ending: Ending,
}

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// `\n`
    Lf,
    /// `\r\n`
    CrLf,
    /// The end of the file.
    None,
}

/// Reads one line of any length and keeps at most its first `keep` bytes in `kept`, without the line ending. `None` at
/// the end of the file: a final newline begins no line.
pub fn read_line(reader: &mut impl BufRead, keep: usize, kept: &mut Vec<u8>) -> io::Result<Option<Line>> {
    kept.clear();
    let mut length = 0u64;
    let mut last = 0u8;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            let line = Line { length, ending: Ending::None };
            return Ok((length > 0).then_some(line));
        }
        let newline = memchr::memchr(b'\n', buffer);
        let part = &buffer[..newline.unwrap_or(buffer.len())];
        kept.extend_from_slice(&part[..part.len().min(keep.saturating_sub(kept.len()))]);
        length += part.len() as u64;
        last = part.last().copied().unwrap_or(last);
        let consumed = part.len() + usize::from(newline.is_some());
        reader.consume(consumed);
        if newline.is_some() {
            if last != b'\r' || length == 0 {
                return Ok(Some(Line { length, ending: Ending::Lf }));
            }
            length -= 1;
            kept.truncate(usize::try_from(length).unwrap_or(usize::MAX));
            return Ok(Some(Line { length, ending: Ending::CrLf }));
        }
    }
}

/// How far [`skip_lines`] came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skipped {
    /// Lines passed, a last one without newline included.
    pub lines: u64,
    /// Whether the end of the file was reached.
    pub at_end: bool,
}

/// Passes `lines` lines, or fewer if the file ends.
pub fn skip_lines(reader: &mut impl BufRead, lines: u64) -> io::Result<Skipped> {
    let mut passed = 0;
    let mut in_line = false;
    while passed < lines {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(Skipped { lines: passed + u64::from(in_line), at_end: true });
        }
        let wanted = usize::try_from(lines - passed).unwrap_or(usize::MAX);
        let mut newlines = memchr::memchr_iter(b'\n', buffer);
        let consumed = match newlines.nth(wanted - 1) {
            Some(newline) => {
                passed = lines;
                newline + 1
            }
            None => {
                passed += memchr::memchr_iter(b'\n', buffer).count() as u64;
                in_line = buffer.last() != Some(&b'\n');
                buffer.len()
            }
        };
        reader.consume(consumed);
    }
    Ok(Skipped { lines: passed, at_end: reader.fill_buf()?.is_empty() })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failing test may panic")]

    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

    fn lines(text: &str, capacity: usize, keep: usize) -> Vec<(String, Line)> {
        let mut reader = BufReader::with_capacity(capacity, text.as_bytes());
        let mut kept = Vec::new();
        let mut lines = Vec::new();
        while let Some(line) = read_line(&mut reader, keep, &mut kept).unwrap() {
            lines.push((String::from_utf8(kept.clone()).unwrap(), line));
        }
        lines
    }

    #[test]
    fn lines_end_as_they_do() {
        let line = |text: &str, length, ending| (text.to_owned(), Line { length, ending });
        for capacity in [1, 2, 3, 100] {
            assert_eq!(lines("", capacity, 9), []);
            assert_eq!(lines("\n", capacity, 9), [line("", 0, Ending::Lf)]);
            assert_eq!(lines("\r\n", capacity, 9), [line("", 0, Ending::CrLf)]);
            assert_eq!(
                lines("a\r\nb\nc\rd", capacity, 9),
                [line("a", 1, Ending::CrLf), line("b", 1, Ending::Lf), line("c\rd", 3, Ending::None)]
            );
            assert_eq!(lines("abcdef\r\n", capacity, 3), [line("abc", 6, Ending::CrLf)]);
        }
    }

    #[test]
    fn skipping_counts_what_it_passes() {
        for (text, lines, expected) in [
            ("", 1, (0, true)),
            ("a\nb\n", 1, (1, false)),
            ("a\nb\n", 2, (2, true)),
            ("a\nb\n", 9, (2, true)),
            ("a\nb", 9, (2, true)),
            ("a\nb", 0, (0, false)),
        ] {
            for capacity in [1, 3, 100] {
                let mut reader = BufReader::with_capacity(capacity, text.as_bytes());
                let skipped = skip_lines(&mut reader, lines).unwrap();
                assert_eq!((skipped.lines, skipped.at_end), expected, "{text:?} {lines} {capacity}");
            }
        }
    }

    #[test]
    fn binary_is_told_from_text() {
        assert_eq!(not_text("äöü\r\n\x1b[0m".as_bytes()), None);
        assert_eq!(not_text(b"\x7fELF\x02\x01\x01\0\0"), Some("a binary file"));
        assert!(not_text(&[0xff, 0xfe, b'a', 0]).unwrap().contains("UTF-16"));
    }

    #[test]
    fn a_cut_goes_through_no_character() {
        assert_eq!(lossy("aü".as_bytes(), 2), "a");
        assert_eq!(lossy(b"a\xffb", 9), "a\u{fffd}b");
    }

    proptest! {
        #[test]
        fn read_and_skip_agree_on_the_count(text in "[a\r\n]{0,40}", capacity in 1usize..8) {
            let read = lines(&text, capacity, 4).len() as u64;
            let mut reader = BufReader::with_capacity(capacity, text.as_bytes());
            let skipped = skip_lines(&mut reader, u64::MAX).unwrap();
            prop_assert_eq!(skipped, Skipped { lines: read, at_end: true });
        }
    }
}
