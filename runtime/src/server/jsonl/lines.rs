//! Bytes to lines, each bounded.

use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use super::MAX_LINE_BYTES;

/// Bytes that are read at once.
const READ: usize = 64 << 10;

/// What stands before the first line of some programs' output.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The lines of a client.
pub(super) struct Lines<R> {
    input: BufReader<R>,
    /// What was read of the line; kept here, so that a reader who is interrupted loses nothing.
    line: Vec<u8>,
    is_too_long: bool,
    is_first: bool,
}

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Without its end.
    Whole(Vec<u8>),
    /// More bytes than a line may have; they were skipped.
    TooLong,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub fn new(input: R) -> Self {
        let input = BufReader::with_capacity(READ, input);
        Self { input, line: Vec::new(), is_too_long: false, is_first: true }
    }

    /// The next line; none at the end of input. The last line needs no end. May be dropped and called again.
    pub async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let read = self.input.fill_buf().await?;
            if read.is_empty() {
                let is_nothing = self.line.is_empty() && !self.is_too_long;
                return Ok((!is_nothing).then(|| self.whole()));
            }
            let end = read.iter().position(|byte| *byte == b'\n');
            let part = read.get(..end.unwrap_or(read.len())).unwrap_or_default();
            if self.is_too_long || self.line.len() + part.len() > MAX_LINE_BYTES {
                self.is_too_long = true;
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(part);
            }
            let taken = part.len() + usize::from(end.is_some());
            self.input.consume(taken);
            if end.is_some() {
                return Ok(Some(self.whole()));
            }
        }
    }

    fn whole(&mut self) -> Line {
        let mut line = std::mem::take(&mut self.line);
        let is_first = std::mem::replace(&mut self.is_first, false);
        if std::mem::take(&mut self.is_too_long) {
            return Line::TooLong;
        }
        if is_first && line.starts_with(BYTE_ORDER_MARK) {
            line.drain(..BYTE_ORDER_MARK.len());
        }
        Line::Whole(line)
    }
}
