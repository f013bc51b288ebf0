//! Open files, as the numbers of a shell's redirections mean them.

use std::cell::RefCell;
use std::rc::Rc;

use super::pipe::{Reader, Writer};
use super::{Buffer, OpenFile};
use crate::stop::{Stop, fail, words};
use crate::task;

/// One open file. Copies share its position.
#[derive(Clone)]
pub enum Handle {
    /// Nothing to read; what is written is gone.
    Null,
    /// Zeros without end.
    Zero,
    /// Bytes of chance without end.
    Random,
    /// A file.
    File(Rc<RefCell<Buffered>>),
    /// A text in memory, to read.
    Text(Rc<RefCell<Buffer>>),
    /// A pipe's end to read from.
    Reader(Rc<Reader>),
    /// A pipe's end to write to.
    Writer(Rc<Writer>),
    /// What is written is kept in memory.
    Kept(Rc<RefCell<Captured>>),
}

/// A file with what was read of it and not used.
pub struct Buffered {
    file: OpenFile,
    buffer: Buffer,
    ended: bool,
}

/// Bytes in memory: all of them up to a bound, then the first and the last.
pub struct Captured {
    first: Vec<u8>,
    last: Vec<u8>,
    bound: usize,
    /// What was left out between the two.
    pub lost: u64,
    whole: bool,
}

impl Captured {
    /// Keeps everything, and refuses what goes beyond `bound`.
    pub fn whole(bound: usize) -> Self {
        Self { first: Vec::new(), last: Vec::new(), bound, lost: 0, whole: true }
    }

    /// Keeps the first `bound` bytes and about as many of the last.
    pub fn ends(bound: usize) -> Self {
        Self { whole: false, ..Self::whole(bound) }
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        let room = self.bound.saturating_sub(self.first.len()).min(bytes.len());
        let (now, later) = bytes.split_at(room);
        self.first.extend_from_slice(now);
        if later.is_empty() {
            return Ok(());
        }
        if self.whole {
            return Err(Stop::Abort(1, format!("more than {} bytes in one place in memory", self.bound)));
        }
        self.last.extend_from_slice(later);
        let over = self.last.len().saturating_sub(2 * self.bound);
        if over > 0 {
            let cut = self.last.len() - self.bound;
            self.last.drain(..cut);
            self.lost += u64::try_from(cut).unwrap_or(u64::MAX);
        }
        Ok(())
    }

    /// Everything that was kept, with a line where something is missing.
    pub fn take(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.first);
        if self.lost > 0 {
            bytes.extend_from_slice(format!("\n[{} bytes of output left out here]\n", self.lost).as_bytes());
        }
        bytes.append(&mut self.last);
        bytes
    }
}

impl Handle {
    /// A file of which `first` was read.
    pub fn file(file: OpenFile, first: Vec<u8>) -> Self {
        Self::File(Rc::new(RefCell::new(Buffered { file, buffer: Buffer::new(first), ended: false })))
    }

    pub fn text(bytes: Vec<u8>) -> Self {
        Self::Text(Rc::new(RefCell::new(Buffer::new(bytes))))
    }

    pub fn kept(captured: Captured) -> (Self, Rc<RefCell<Captured>>) {
        let captured = Rc::new(RefCell::new(captured));
        (Self::Kept(Rc::clone(&captured)), captured)
    }

    /// Waits until there are bytes to read; false at the end.
    pub async fn fill(&self) -> Result<bool, Stop> {
        match self {
            Self::Null | Self::Writer(_) | Self::Kept(_) => Ok(false),
            Self::Zero | Self::Random => Ok(true),
            Self::Text(text) => Ok(!text.borrow().is_empty()),
            Self::Reader(reader) => Ok(reader.fill().await),
            Self::File(file) => file.borrow_mut().fill(),
        }
    }

    /// Shows what [`Self::fill`] got to `see`, which says how much of it is used up.
    pub fn with<T>(&self, see: impl FnOnce(&[u8]) -> (usize, T)) -> T {
        match self {
            Self::Null | Self::Writer(_) | Self::Kept(_) => see(&[]).1,
            Self::Zero => see(&[0; 4096]).1,
            Self::Random => see(&random()).1,
            Self::Text(text) => used(&mut text.borrow_mut(), see),
            Self::Reader(reader) => reader.with(|buffer| used(buffer, see)),
            Self::File(file) => used(&mut file.borrow_mut().buffer, see),
        }
    }

    /// The next bytes, as many as there are at once; empty at the end.
    pub async fn chunk(&self) -> Result<Vec<u8>, Stop> {
        task::turn().await?;
        if !self.fill().await? {
            return Ok(Vec::new());
        }
        Ok(self.with(|bytes| (bytes.len(), bytes.to_vec())))
    }

    /// Adds the bytes up to and with the next `end`; false if there are none at all.
    pub async fn until(&self, end: u8, line: &mut Vec<u8>) -> Result<bool, Stop> {
        let before = line.len();
        while self.fill().await? {
            let found = self.with(|bytes| {
                let at = memchr::memchr(end, bytes);
                let count = at.map_or(bytes.len(), |at| at + 1);
                line.extend_from_slice(bytes.get(..count).unwrap_or_default());
                (count, at.is_some())
            });
            if found {
                return Ok(true);
            }
            task::tick()?;
            if line.len() > LONGEST_LINE {
                return Err(Stop::Abort(1, format!("a line of more than {LONGEST_LINE} bytes")));
            }
        }
        Ok(line.len() > before)
    }

    /// Clears `line` and reads the next one into it, without its end; false at the end of the input.
    pub async fn line(&self, line: &mut Vec<u8>) -> Result<bool, Stop> {
        line.clear();
        let some = self.until(b'\n', line).await?;
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        Ok(some)
    }

    /// Everything up to the end.
    pub async fn rest(&self) -> Result<Vec<u8>, Stop> {
        let mut bytes = Vec::new();
        while self.fill().await? {
            self.with(|more| {
                bytes.extend_from_slice(more);
                (more.len(), ())
            });
            task::tick()?;
            if bytes.len() > LONGEST_LINE {
                return Err(Stop::Abort(1, format!("more than {LONGEST_LINE} bytes in one place in memory")));
            }
        }
        Ok(bytes)
    }

    /// Whether nobody reads any more what would be written here.
    pub fn is_abandoned(&self) -> bool {
        matches!(self, Self::Writer(writer) if writer.is_abandoned())
    }

    pub async fn write(&self, bytes: &[u8]) -> Result<(), Stop> {
        if bytes.is_empty() {
            return Ok(());
        }
        match self {
            Self::Null | Self::Zero | Self::Random => Ok(()),
            Self::Text(_) | Self::Reader(_) => fail("write error: Bad file descriptor"),
            Self::Writer(writer) => writer.write(bytes).await,
            Self::Kept(kept) => kept.borrow_mut().push(bytes),
            Self::File(file) => match file.borrow_mut().file.put(bytes) {
                Ok(()) => Ok(()),
                Err(error) => fail(format!("write error: {}", words(&error))),
            },
        }
    }
}

fn used<T>(buffer: &mut Buffer, see: impl FnOnce(&[u8]) -> (usize, T)) -> T {
    let (count, value) = see(buffer.peek());
    buffer.consume(count);
    value
}

/// What may be in memory in one piece.
const LONGEST_LINE: usize = 48 << 20;

impl Buffered {
    fn fill(&mut self) -> Result<bool, Stop> {
        if !self.buffer.is_empty() {
            return Ok(true);
        }
        if self.ended {
            return Ok(false);
        }
        match self.file.next() {
            Ok(bytes) => {
                self.ended = bytes.is_empty();
                self.buffer = Buffer::new(bytes);
                Ok(!self.ended)
            }
            Err(error) => fail(format!("read error: {}", words(&error))),
        }
    }
}

/// Bytes of chance, by way of the randomness that the standard library takes from the host for its tables.
fn random() -> [u8; 32] {
    use std::hash::{BuildHasher as _, RandomState};
    let mut bytes = [0; 32];
    for (round, eight) in bytes.chunks_mut(8).enumerate() {
        eight.copy_from_slice(&RandomState::new().hash_one(round).to_le_bytes());
    }
    bytes
}
