//! Lines of the input, on a thread that may wait for them.

use std::io::{self, BufRead as _, BufReader, Read};

use tokio::sync::mpsc::{Receiver, channel};

use super::id::{Echo, IdScan};

/// Bytes of one line. Arguments have 16 MiB by default, which escapes may double.
pub(super) const MAX_LINE: usize = 32 << 20;

/// Lines that are read ahead of those that are understood.
const AHEAD: usize = 16;

/// A UTF-8 byte order mark, which some writers put in front of their first line.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// One line of input.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    /// Without its newline.
    Whole(Vec<u8>),
    /// Longer than is read; with the id of the message.
    TooLong(Echo),
}

impl Line {
    /// A line that says nothing is no message.
    pub fn is_blank(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.iter().all(u8::is_ascii_whitespace))
    }
}

/// Starts reading. The receiver ends with the input.
pub(super) fn read(input: impl Read + Send + 'static) -> io::Result<Receiver<Line>> {
    let (lines, received) = channel(AHEAD);
    let reading = move || {
        let mut input = BufReader::with_capacity(64 << 10, input);
        while let Ok(Some(line)) = next(&mut input, MAX_LINE) {
            if lines.blocking_send(line).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("mcp-input".to_owned()).spawn(reading)?;
    Ok(received)
}

fn next(input: &mut impl io::BufRead, max: usize) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let room = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    if input.by_ref().take(room).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    if line.starts_with(MARK) {
        line.drain(..MARK.len());
    }
    if line.len() <= max {
        return Ok(Some(Line::Whole(line)));
    }
    let mut scan = IdScan::default();
    scan.feed(&line);
    drop(line);
    // The rest goes by in pieces: the id may be at its end.
    loop {
        let buffer = match input.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let newline = buffer.iter().position(|byte| *byte == b'\n');
        let piece = buffer.get(..newline.unwrap_or(buffer.len())).unwrap_or_default();
        scan.feed(piece);
        let (consumed, is_end) = (piece.len() + usize::from(newline.is_some()), newline.is_some());
        let is_over = is_end || consumed == 0;
        input.consume(consumed);
        if is_over {
            return Ok(Some(Line::TooLong(scan.echo())));
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn whatever_comes_before_it_the_next_line_is_read(
            before in proptest::collection::vec(any::<u8>(), 0..300),
            size in 1_usize..20,
        ) {
            let text = [&before, b"\n{\"id\":1}\n".as_slice()].concat();
            let mut input = BufReader::with_capacity(size, text.as_slice());
            let lines: Vec<Line> = std::iter::from_fn(|| next(&mut input, 64).unwrap()).collect();
            prop_assert_eq!(lines.last(), Some(&Line::Whole(b"{\"id\":1}".to_vec())));
            prop_assert_eq!(lines.len(), 2 + before.iter().filter(|byte| **byte == b'\n').count());
        }
    }

    fn all(text: &[u8], max: usize) -> Vec<Line> {
        // A small buffer, so that lines and characters are split anywhere.
        let mut input = BufReader::with_capacity(3, text);
        std::iter::from_fn(|| next(&mut input, max).unwrap()).collect()
    }

    #[test]
    fn lines_are_whole_whatever_the_buffer_splits() {
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        assert_eq!(
            all("é\n\nœuf\r\n\u{feff}x".as_bytes(), 10),
            [whole("é"), whole(""), whole("œuf\r"), whole("x")]
        );
        assert_eq!(all(b"", 10), []);
    }

    #[test]
    fn a_long_line_is_skipped_and_its_id_found() {
        let lines = all(b"{\"a\":\"xxxxxxxxxxxx\",\"id\":\"z\"}\n{\"id\":1}\nxxxxxxxxxxx\n12345678", 8);
        assert_eq!(
            lines,
            [
                Line::TooLong(Echo::of(&json!("z"))),
                Line::Whole(b"{\"id\":1}".to_vec()),
                Line::TooLong(Echo::default()),
                Line::Whole(b"12345678".to_vec()),
            ]
        );
    }
}
