//! One stored output, read in parts. Memory is bounded, however large the output or its lines are.

use std::io::{self, BufRead, Read, Seek, SeekFrom, Write};
use std::ops::Range;

use regex::bytes::Regex;

/// The bytes of a line that are searched at once. A longer line is searched in pieces of this size.
const LINE_PIECE: u64 = 1 << 20;

/// Reads `A:B`, where either may be left out: a range of what is counted from `first`. No end comes before its start.
pub fn range(written: &str, first: u64) -> Option<Range<u64>> {
    let number = |text: &str, missing: u64| match text {
        "" => Some(missing),
        text => text.parse().ok().filter(|number| *number >= first),
    };
    let (start, end) = written.split_once(':')?;
    let (start, end) = (number(start, first)?, number(end, u64::MAX)?);
    (start <= end).then_some(start..end)
}

/// What a stored output is read from.
pub(super) trait Source: BufRead + Seek + Send {}

impl<T: BufRead + Seek + Send> Source for T {}

/// A stored output, open for reading. What was removed from the store meanwhile can still be read.
pub struct StoredOutput {
    source: Box<dyn Source>,
    length: u64,
}

impl StoredOutput {
    pub(super) fn new(source: impl Source + 'static, length: u64) -> Self {
        Self { source: Box::new(source), length }
    }

    /// The bytes of the whole output.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Writes the half-open range of bytes, as far as it lies inside the output, and returns their number.
    pub fn bytes(&mut self, range: Range<u64>, out: &mut dyn Write) -> io::Result<u64> {
        self.source.seek(SeekFrom::Start(range.start.min(self.length)))?;
        io::copy(&mut self.source.by_ref().take(range.end.saturating_sub(range.start)), out)
    }

    /// Writes the half-open range of lines, the first being 0, as far as there are such lines, and returns the number
    /// of bytes written.
    pub fn lines(&mut self, range: Range<u64>, out: &mut dyn Write) -> io::Result<u64> {
        self.source.rewind()?;
        let (mut line, mut written) = (0, 0);
        while line < range.end {
            let buffer = self.source.fill_buf()?;
            let newline = buffer.iter().position(|byte| *byte == b'\n');
            let length = newline.map_or(buffer.len(), |position| position + 1);
            if length == 0 {
                break;
            }
            if range.contains(&line) {
                out.write_all(buffer.get(..length).unwrap_or_default())?;
                written += length as u64;
            }
            line += u64::from(newline.is_some());
            self.source.consume(length);
        }
        Ok(written)
    }

    /// Writes the lines that `pattern` matches, each as `NUMBER:LINE` with numbers from 1, and returns how many.
    ///
    /// Of a line over 1 MiB each MiB is searched, counted and written as if it were a line, under the line's number.
    pub fn grep(&mut self, pattern: &Regex, out: &mut dyn Write) -> io::Result<u64> {
        self.source.rewind()?;
        let (mut number, mut matches) = (1_u64, 0);
        let mut piece = Vec::new();
        loop {
            piece.clear();
            if self.source.by_ref().take(LINE_PIECE).read_until(b'\n', &mut piece)? == 0 {
                return Ok(matches);
            }
            let line = piece.strip_suffix(b"\n").unwrap_or(&piece);
            if pattern.is_match(line) {
                matches += 1;
                write!(out, "{number}:")?;
                out.write_all(line)?;
                out.write_all(b"\n")?;
            }
            number += u64::from(line.len() < piece.len());
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test may panic")]
    use std::io::{BufReader, Cursor};

    use super::*;

    fn stored(text: &str) -> StoredOutput {
        // A small buffer, so that lines span several reads.
        StoredOutput::new(
            BufReader::with_capacity(5, Cursor::new(text.as_bytes().to_vec())),
            text.len() as u64,
        )
    }

    #[test]
    fn a_range_is_read_or_refused() {
        for (written, first, expected) in [
            ("10:20", 1, 10..20),
            (":20", 1, 1..20),
            ("10:", 0, 10..u64::MAX),
            (":", 0, 0..u64::MAX),
            ("5:5", 1, 5..5),
        ] {
            assert_eq!(range(written, first), Some(expected), "{written}");
        }
        for (written, first) in
            [("", 0), ("5", 0), ("0:3", 1), ("20:10", 0), ("-1:3", 0), ("a:b", 0), ("1:2:3", 0)]
        {
            assert_eq!(range(written, first), None, "{written}");
        }
    }

    #[test]
    fn ranges_are_cut_to_what_is_there() {
        for (range, expected) in [
            (0..3, "one"),
            (4..7, "two"),
            (12..99, "e"),
            (99..100, ""),
            (5..5, ""),
            (0..u64::MAX, "one\ntwo\nthree"),
        ] {
            let mut out = Vec::new();
            let written = stored("one\ntwo\nthree").bytes(range.clone(), &mut out).unwrap();
            assert_eq!(
                (String::from_utf8(out).unwrap().as_str(), written),
                (expected, expected.len() as u64),
                "{range:?}"
            );
        }
        for (range, expected) in [
            (0..1, "one\n"),
            (1..3, "two\nthree and more"),
            (2..u64::MAX, "three and more"),
            (3..9, ""),
            (2..2, ""),
        ] {
            let mut out = Vec::new();
            let written = stored("one\ntwo\nthree and more").lines(range.clone(), &mut out).unwrap();
            assert_eq!(
                (String::from_utf8(out).unwrap().as_str(), written),
                (expected, expected.len() as u64),
                "{range:?}"
            );
        }
    }

    #[test]
    fn matching_lines_are_numbered() {
        let mut output = stored("error one\nfine\nsecond error\n");
        let pattern = Regex::new("error").unwrap();
        for _ in 0..2 {
            let mut out = Vec::new();
            assert_eq!(output.grep(&pattern, &mut out).unwrap(), 2);
            assert_eq!(String::from_utf8(out).unwrap(), "1:error one\n3:second error\n");
        }
        assert_eq!(output.grep(&Regex::new("^$").unwrap(), &mut io::sink()).unwrap(), 0);
    }

    #[test]
    fn a_huge_line_is_searched_in_pieces() {
        let text = format!("{}needle{}\nneedle", "x".repeat(3 << 20), "x".repeat(3 << 20));
        let mut out = Vec::new();
        assert_eq!(stored(&text).grep(&Regex::new("needle").unwrap(), &mut out).unwrap(), 2);
        assert!(out.len() < (1 << 20) + 20 && out.starts_with(b"1:") && out.ends_with(b"\n2:needle\n"));
    }
}
