//! Streams over files whose operations are done at once, on the calling thread.

use std::fs::File;
use std::io::IoSlice;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use rustix::io::{Errno, ReadWriteFlags};
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};

use super::state::{Opened, Permit, WriteBudget};

/// Most bytes that one read takes from a file: the guest names a length, the host makes the buffer.
pub(super) const MAX_READ: usize = 256 << 10;
/// Most bytes that a stream takes at once; also what `write-zeroes` may make the host allocate.
const MAX_WRITE: usize = 64 << 10;

/// Reads a file from a position on.
pub(super) struct FileReader {
    file: Arc<File>,
    position: u64,
    _permit: Option<Arc<Permit>>,
}

impl FileReader {
    pub(super) fn new(opened: &Opened, position: u64) -> Self {
        Self { file: Arc::clone(&opened.file), position, _permit: opened.permit.clone() }
    }
}

#[async_trait]
impl InputStream for FileReader {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        if size == 0 {
            return Ok(Bytes::new());
        }
        let mut buffer = BytesMut::zeroed(size.min(MAX_READ));
        let read = retry(|| self.file.read_at(&mut buffer, self.position)).map_err(failed)?;
        if read == 0 {
            return Err(StreamError::Closed);
        }
        buffer.truncate(read);
        self.position = self.position.saturating_add(read as u64);
        Ok(buffer.freeze())
    }
}

#[async_trait]
impl Pollable for FileReader {
    async fn ready(&mut self) {}
}

/// Where a stream writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteAt {
    Position(u64),
    End,
}

/// Writes a file, within the call's `write_bytes`.
pub(super) struct FileWriter {
    file: Arc<File>,
    at: WriteAt,
    budget: Arc<WriteBudget>,
    closed: bool,
    _permit: Option<Arc<Permit>>,
}

impl FileWriter {
    pub(super) fn new(opened: &Opened, at: WriteAt, budget: Arc<WriteBudget>) -> Self {
        Self { file: Arc::clone(&opened.file), at, budget, closed: false, _permit: opened.permit.clone() }
    }

    fn open(&self) -> StreamResult<()> {
        if self.closed { Err(StreamError::Closed) } else { Ok(()) }
    }
}

#[async_trait]
impl OutputStream for FileWriter {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.open()?;
        let mut rest = bytes.as_ref();
        while !rest.is_empty() {
            match write(&self.file, self.at, rest, &self.budget) {
                Ok(written) => {
                    rest = rest.get(written..).unwrap_or_default();
                    if let WriteAt::Position(position) = &mut self.at {
                        *position = position.saturating_add(written as u64);
                    }
                }
                Err(error) => {
                    self.closed = true;
                    return Err(failed(error));
                }
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.open()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.open().map(|()| MAX_WRITE)
    }
}

#[async_trait]
impl Pollable for FileWriter {
    async fn ready(&mut self) {}
}

/// Writes some of `bytes`, more than nothing unless `bytes` is empty, and counts what the file may grow by: bytes
/// left out before the position are as good as written to whoever reads the file.
pub(super) fn write(file: &File, at: WriteAt, bytes: &[u8], budget: &WriteBudget) -> std::io::Result<usize> {
    if bytes.is_empty() {
        return Ok(0);
    }
    let length = bytes.len() as u64;
    let hole = match at {
        WriteAt::Position(position) => position.saturating_sub(file.metadata()?.len()),
        WriteAt::End => 0,
    };
    let cost = length.saturating_add(hole);
    budget.take(cost)?;
    let written = retry(|| match at {
        WriteAt::Position(position) => file.write_at(bytes, position),
        WriteAt::End => match rustix::io::pwritev2(file, &[IoSlice::new(bytes)], 0, ReadWriteFlags::APPEND) {
            Err(Errno::NOSYS | Errno::NOTSUP) => file.write_at(bytes, file.metadata()?.len()),
            written => Ok(written?),
        },
    });
    match written {
        Ok(0) => {
            budget.give_back(cost);
            Err(Errno::IO.into())
        }
        Ok(written) => {
            budget.give_back(length.saturating_sub(written as u64));
            Ok(written)
        }
        Err(error) => {
            budget.give_back(cost);
            Err(error)
        }
    }
}

pub(super) fn retry<T>(mut operation: impl FnMut() -> std::io::Result<T>) -> std::io::Result<T> {
    loop {
        match operation() {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

fn failed(error: std::io::Error) -> StreamError {
    StreamError::LastOperationFailed(error.into())
}
