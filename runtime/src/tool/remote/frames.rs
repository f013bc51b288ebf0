//! A program's standard output as messages, one a line, each bounded; and the end of its standard error.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use tokio::net::unix::pipe;

use crate::output::{Redactor, clean};

/// Bytes that are read at once: a pipe holds no more, unless its program asks for that.
const PIECE: usize = 64 << 10;

/// Bytes that a program can have left in a pipe.
const MAX_PIPE: usize = 1 << 20;

/// Bytes of standard error that are kept, the last ones: what a program says before it ends.
const MAX_STDERR: usize = 4 << 10;

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// Without its end.
    Line(Vec<u8>),
    /// One with more bytes than it may have, which were skipped.
    TooLong,
}

/// The lines of a pipe.
pub(super) struct Frames {
    pipe: pipe::Receiver,
    lines: Lines,
}

impl Frames {
    /// Must be called where the reactor is in reach.
    pub fn of(pipe: OwnedFd, most: usize) -> io::Result<Self> {
        Ok(Self { pipe: pipe::Receiver::from_owned_fd(pipe)?, lines: Lines::new(most) })
    }

    /// The next line; none at the end of the pipe. May be dropped and called again.
    pub async fn next(&mut self) -> Option<Frame> {
        let mut piece = vec![0; PIECE];
        loop {
            // Who writes without end leaves others on this thread their turn.
            tokio::task::consume_budget().await;
            if let Some(frame) = self.lines.next() {
                return Some(frame);
            }
            self.pipe.readable().await.ok()?;
            match self.pipe.try_read(&mut piece) {
                Ok(0) => return None,
                Ok(count) => self.lines.add(piece.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
        }
    }

    /// What is in the pipe after its program has ended, past the reactor, which may not have heard of it. What the program
    /// has left behind may write on without end.
    pub fn rest(&mut self) -> Vec<Frame> {
        let (mut frames, mut piece, mut bytes) = (Vec::new(), vec![0; PIECE], 0_usize);
        while bytes < MAX_PIPE
            && let Ok(count @ 1..) = rustix::io::read(self.pipe.as_fd(), &mut piece)
        {
            bytes = bytes.saturating_add(count);
            self.lines.add(piece.get(..count).unwrap_or_default());
            frames.extend(self.lines.by_ref());
        }
        frames
    }
}

/// What was read, as lines.
struct Lines {
    read: Vec<u8>,
    /// Where in it the next line begins, and up to where it has no end.
    begin: usize,
    searched: usize,
    is_too_long: bool,
    most: usize,
}

impl Lines {
    fn new(most: usize) -> Self {
        Self { read: Vec::new(), begin: 0, searched: 0, is_too_long: false, most }
    }

    fn add(&mut self, piece: &[u8]) {
        self.read.drain(..self.begin);
        self.searched = self.searched.saturating_sub(self.begin);
        self.begin = 0;
        self.read.extend_from_slice(piece);
    }
}

impl Iterator for Lines {
    type Item = Frame;

    /// The first line that is there whole and not empty.
    fn next(&mut self) -> Option<Frame> {
        loop {
            let unsearched = self.read.get(self.searched..).unwrap_or_default();
            let Some(end) = unsearched.iter().position(|byte| *byte == b'\n') else {
                self.searched = self.read.len();
                if self.is_too_long || self.read.len().saturating_sub(self.begin) > self.most {
                    self.is_too_long = true;
                    self.read = Vec::new();
                    (self.begin, self.searched) = (0, 0);
                }
                return None;
            };
            let end = self.searched.saturating_add(end);
            let line = self.read.get(self.begin..end).unwrap_or_default();
            self.begin = end.saturating_add(1);
            self.searched = self.begin;
            if std::mem::take(&mut self.is_too_long) || line.len() > self.most {
                return Some(Frame::TooLong);
            }
            let line = line.trim_ascii_end();
            if !line.is_empty() {
                return Some(Frame::Line(line.to_vec()));
            }
        }
    }
}

/// What stands for a beginning that was not kept.
const CUT: char = '…';

/// The end of a pipe's text.
pub(super) struct Tail {
    pipe: pipe::Receiver,
    kept: Vec<u8>,
    /// Whether something before it was not kept.
    is_cut: bool,
}

impl Tail {
    /// Must be called where the reactor is in reach.
    pub fn of(pipe: OwnedFd) -> io::Result<Self> {
        Ok(Self { pipe: pipe::Receiver::from_owned_fd(pipe)?, kept: Vec::new(), is_cut: false })
    }

    /// Reads for ever: a program that may not write its errors would wait.
    pub async fn read(&mut self) {
        let mut piece = [0; MAX_STDERR];
        while self.pipe.readable().await.is_ok() {
            tokio::task::consume_budget().await;
            match self.pipe.try_read(&mut piece) {
                Ok(0) => break,
                Ok(count) => self.keep(piece.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
        }
        std::future::pending().await
    }

    /// The last lines, with what is left in the pipe; after [`CUT`] where there were more, and then without what may be left
    /// of a secret there.
    pub fn text(mut self, redactor: Option<&Redactor>) -> String {
        let (mut piece, mut bytes) = ([0; MAX_STDERR], 0_usize);
        while bytes < MAX_PIPE
            && let Ok(count @ 1..) = rustix::io::read(self.pipe.as_fd(), &mut piece)
        {
            bytes = bytes.saturating_add(count);
            self.keep(piece.get(..count).unwrap_or_default());
        }
        let text = String::from_utf8_lossy(&self.kept);
        match (self.is_cut, redactor) {
            (false, _) => clean(&text).trim().to_owned(),
            (true, None) => format!("{CUT}{}", clean(&text).trim_end()),
            (true, Some(redactor)) => format!("{CUT}{}", redactor.last_words(&text).trim_end()),
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        self.kept.extend_from_slice(piece);
        let surplus = self.kept.len().saturating_sub(MAX_STDERR);
        self.is_cut |= surplus > 0;
        self.kept.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test may panic")]

    use proptest::prelude::*;

    use super::*;

    const MOST: usize = 8;

    /// What the same bytes are in one piece.
    fn plainly(bytes: &[u8]) -> Vec<Frame> {
        let (whole, _) = bytes.split_at(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1));
        let frame = |line: &[u8]| match line.trim_ascii_end() {
            _ if line.len() > MOST => Some(Frame::TooLong),
            [] => None,
            line => Some(Frame::Line(line.to_vec())),
        };
        whole.split(|byte| *byte == b'\n').filter_map(frame).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn lines_are_the_same_in_whatever_pieces_they_come(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b' '), any::<u8>()], 0..60),
            cuts in proptest::collection::vec(0_usize..20, 0..20),
        ) {
            let (mut lines, mut found, mut rest) = (Lines::new(MOST), Vec::new(), bytes.as_slice());
            for cut in cuts {
                let (piece, left) = rest.split_at(cut.min(rest.len()));
                lines.add(piece);
                found.extend(lines.by_ref());
                prop_assert!(lines.read.len() <= MOST + piece.len());
                rest = left;
            }
            lines.add(rest);
            found.extend(lines.by_ref());
            prop_assert_eq!(found, plainly(&bytes));
        }

        #[test]
        fn whatever_a_server_says_is_a_message_or_none(text in ".{0,200}", bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = super::super::message::read(text.as_bytes(), |_| true);
            let _ = super::super::message::read(&bytes, |_| true);
        }
    }

    #[test]
    fn a_flood_of_empty_lines_is_passed_over_quickly() {
        let mut lines = Lines::new(1 << 20);
        // Quadratic, it would take minutes.
        lines.add(&vec![b'\n'; 32 << 20]);
        lines.add(b"{}\n");
        assert_eq!(lines.next().unwrap(), Frame::Line(b"{}".to_vec()));
    }
}
