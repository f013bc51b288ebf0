//! Server-sent events, as they come in pieces: the messages in them.

use std::collections::VecDeque;
use std::time::Duration;

/// Bytes of an event's identifier, which is sent back to take a stream up again.
const MAX_ID: usize = 1 << 10;

/// A message is longer than it may be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// What was read of a stream.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    /// Of the event that is being read: whether it has data, and whether it is of another kind than a message.
    has_data: bool,
    is_other: bool,
    id: Option<String>,
    last_id: Option<String>,
    retry: Option<Duration>,
    /// A line has ended with `\r`: a `\n` that follows ends no other.
    is_after_return: bool,
    has_begun: bool,
    messages: VecDeque<Vec<u8>>,
}

impl Events {
    /// Takes a piece of the stream, in which a message has at most `most` bytes.
    ///
    /// # Errors
    /// When one has more.
    pub fn add(&mut self, mut piece: &[u8], most: usize) -> Result<(), TooLong> {
        while let Some(first) = piece.first() {
            if std::mem::take(&mut self.is_after_return) && *first == b'\n' {
                piece = piece.get(1..).unwrap_or_default();
                continue;
            }
            let end = piece.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (line, rest) = piece.split_at(end.unwrap_or(piece.len()));
            // The name of a field and a space stand before what counts.
            if self.line.len().saturating_add(line.len()) > most.saturating_add(8) {
                return Err(TooLong);
            }
            self.line.extend_from_slice(line);
            let Some((end, rest)) = rest.split_first() else { return Ok(()) };
            self.is_after_return = *end == b'\r';
            piece = rest;
            self.end_line(most)?;
        }
        Ok(())
    }

    /// The next message.
    pub fn next(&mut self) -> Option<Vec<u8>> {
        self.messages.pop_front()
    }

    /// The identifier of the last event that had one.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long the server wants a client to wait before it takes the stream up again.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Begins anew with another stream, after the same events.
    pub fn resumed(&mut self) {
        let (last_id, retry) = (self.last_id.take(), self.retry);
        *self = Self { last_id, retry, ..Self::default() };
    }

    fn end_line(&mut self, most: usize) -> Result<(), TooLong> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if !std::mem::replace(&mut self.has_begun, true) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            self.end_event();
            return Ok(());
        }
        let name = line.iter().position(|byte| *byte == b':');
        let (name, value) = line.split_at(name.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                if self.data.len().saturating_add(value.len()) > most {
                    return Err(TooLong);
                }
                self.data.extend_from_slice(value);
            }
            b"event" => self.is_other = value != b"message" && !value.is_empty(),
            b"id" if value.len() <= MAX_ID => {
                self.id = std::str::from_utf8(value).ok().filter(|id| !id.contains('\0')).map(str::to_owned);
            }
            b"retry" => {
                let number = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
                self.retry = number.map(Duration::from_millis).or(self.retry);
            }
            _ => {}
        }
        Ok(())
    }

    fn end_event(&mut self) {
        if let Some(id) = self.id.take() {
            self.last_id = Some(id).filter(|id| !id.is_empty());
        }
        let data = std::mem::take(&mut self.data);
        let is_message = !std::mem::take(&mut self.is_other);
        // One without data only says where the stream is.
        if std::mem::take(&mut self.has_data) && is_message && !data.is_empty() {
            self.messages.push_back(data);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn a_stream_says_the_same_however_it_is_cut(
            lines in proptest::collection::vec("(data|event|id|retry|x)?:? ?[a-zé0-9]{0,9}(\n|\r|\r\n){1,2}", 0..20),
            size in 1_usize..40,
        ) {
            let text = lines.concat();
            prop_assert_eq!(messages(&text, size), messages(&text, text.len().max(1)));
        }
    }

    const MOST: usize = 512;

    /// The messages of a stream that comes in pieces of that many bytes.
    fn messages(text: &str, size: usize) -> Vec<String> {
        let mut events = Events::default();
        let mut all = Vec::new();
        for piece in text.as_bytes().chunks(size) {
            assert_eq!(events.add(piece, MOST), Ok(()));
            all.extend(std::iter::from_fn(|| events.next()));
        }
        all.into_iter().map(|message| String::from_utf8_lossy(&message).into_owned()).collect()
    }

    #[test]
    fn every_spelling_is_read_in_pieces_of_any_size() {
        let text = "\u{feff}: hello\n\ndata: one\n\nevent: message\r\ndata:two\r\ndata: é\r\n\r\nevent: ping\ndata: no\n\n\
                    id: 7\nretry: 5\ndata\n\ndata: three\r\rdata: never ends";
        for size in 1..text.len() {
            assert_eq!(messages(text, size), ["one", "two\né", "three"], "{size}");
        }
        let mut events = Events::default();
        assert_eq!(events.add(text.as_bytes(), MOST), Ok(()));
        assert_eq!((events.last_id(), events.retry()), (Some("7"), Some(Duration::from_millis(5))));
        events.resumed();
        assert_eq!(events.last_id(), Some("7"));
        assert_eq!(events.add(b"data: x\n\n", MOST), Ok(()));
    }

    #[test]
    fn what_is_too_long_is_not_kept() {
        let line = format!("data: {}\n\n", "x".repeat(MOST + 1));
        let many = "data: 0123456789\n".repeat(60);
        let endless = "x".repeat(MOST * 2);
        for text in [line, many, endless] {
            for size in [1, 7, text.len()] {
                let mut events = Events::default();
                let refused = text.as_bytes().chunks(size).any(|piece| events.add(piece, MOST).is_err());
                assert!(refused && events.line.len() + events.data.len() <= 2 * MOST + 8);
            }
        }
        assert_eq!(messages(&format!("data: {}\n\n", "x".repeat(MOST)), 7).len(), 1);
    }
}
