//! A program's standard output as messages, one a line, each bounded; and the end of its standard error.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use tokio::net::unix::pipe;

/// Bytes that are read at once: a pipe holds no more.
const PIECE: usize = 64 << 10;

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
    /// What was read of the next lines.
    read: Vec<u8>,
    /// How much of it has no line's end.
    searched: usize,
    is_too_long: bool,
    most: usize,
}

impl Frames {
    /// Must be called where the reactor is in reach.
    pub fn of(pipe: OwnedFd, most: usize) -> io::Result<Self> {
        let pipe = pipe::Receiver::from_owned_fd(pipe)?;
        Ok(Self { pipe, read: Vec::new(), searched: 0, is_too_long: false, most })
    }

    /// The next line; none at the end of the pipe. May be dropped and called again.
    pub async fn next(&mut self) -> Option<Frame> {
        let mut piece = vec![0; PIECE];
        loop {
            if let Some(frame) = self.taken() {
                return Some(frame);
            }
            self.pipe.readable().await.ok()?;
            match self.pipe.try_read(&mut piece) {
                Ok(0) => return None,
                Ok(count) => self.add(piece.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
        }
    }

    /// What is in the pipe after its program has ended, past the reactor, which may not have heard of it.
    pub fn rest(&mut self) -> Vec<Frame> {
        let (mut frames, mut piece) = (Vec::new(), vec![0; PIECE]);
        while let Ok(count @ 1..) = rustix::io::read(self.pipe.as_fd(), &mut piece) {
            self.add(piece.get(..count).unwrap_or_default());
            frames.extend(std::iter::from_fn(|| self.taken()));
        }
        frames
    }

    fn add(&mut self, piece: &[u8]) {
        self.read.extend_from_slice(piece);
    }

    /// The first line, if it is there whole.
    fn taken(&mut self) -> Option<Frame> {
        loop {
            let unsearched = self.read.get(self.searched..).unwrap_or_default();
            let Some(end) = unsearched.iter().position(|byte| *byte == b'\n') else {
                self.searched = self.read.len();
                if self.is_too_long || self.read.len() > self.most {
                    self.is_too_long = true;
                    self.read = Vec::new();
                    self.searched = 0;
                }
                return None;
            };
            let rest = self.read.split_off(self.searched + end + 1);
            let mut line = std::mem::replace(&mut self.read, rest);
            self.searched = 0;
            while line.last().is_some_and(u8::is_ascii_whitespace) {
                line.pop();
            }
            if std::mem::take(&mut self.is_too_long) || line.len() > self.most {
                return Some(Frame::TooLong);
            }
            if !line.is_empty() {
                return Some(Frame::Line(line));
            }
        }
    }
}

/// The end of a pipe's text.
pub(super) struct Tail {
    pipe: pipe::Receiver,
    kept: Vec<u8>,
}

impl Tail {
    /// Must be called where the reactor is in reach.
    pub fn of(pipe: OwnedFd) -> io::Result<Self> {
        Ok(Self { pipe: pipe::Receiver::from_owned_fd(pipe)?, kept: Vec::new() })
    }

    /// Reads for ever: a program that may not write its errors would wait.
    pub async fn read(&mut self) {
        let mut piece = [0; MAX_STDERR];
        while self.pipe.readable().await.is_ok() {
            match self.pipe.try_read(&mut piece) {
                Ok(0) => break,
                Ok(count) => self.keep(piece.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
        }
        std::future::pending().await
    }

    /// The last lines, with what is left in the pipe.
    pub fn text(mut self) -> String {
        let mut piece = [0; MAX_STDERR];
        while let Ok(count @ 1..) = rustix::io::read(self.pipe.as_fd(), &mut piece) {
            self.keep(piece.get(..count).unwrap_or_default());
        }
        String::from_utf8_lossy(&self.kept).trim().to_owned()
    }

    fn keep(&mut self, piece: &[u8]) {
        self.kept.extend_from_slice(piece);
        let surplus = self.kept.len().saturating_sub(MAX_STDERR);
        self.kept.drain(..surplus);
    }
}
