//! Output that is collected before it is written, as the C library does for what is no terminal.

use super::Handle;
use crate::stop::Stop;
use crate::task;

const FULL: usize = 32 << 10;

/// A buffer in front of a handle. Whoever makes one flushes it.
pub struct Out {
    handle: Handle,
    bytes: Vec<u8>,
}

impl Out {
    pub fn new(handle: Handle) -> Self {
        Self { handle, bytes: Vec::new() }
    }

    /// Whether somebody has to read what is written.
    pub fn is_pipe(&self) -> bool {
        matches!(self.handle, Handle::Writer(_))
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Takes bytes without waiting; [`Self::check`] afterwards.
    pub fn put(&mut self, bytes: impl AsRef<[u8]>) {
        self.bytes.extend_from_slice(bytes.as_ref());
    }

    /// Takes a line without its end.
    pub fn line(&mut self, bytes: impl AsRef<[u8]>) {
        self.put(bytes);
        self.bytes.push(b'\n');
    }

    /// Writes if there is much to write.
    pub async fn check(&mut self) -> Result<(), Stop> {
        if self.bytes.len() < FULL {
            return Ok(());
        }
        self.flush().await
    }

    pub async fn flush(&mut self) -> Result<(), Stop> {
        task::turn().await?;
        let bytes = std::mem::take(&mut self.bytes);
        self.handle.write(&bytes).await
    }
}

impl std::fmt::Write for Out {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.put(text);
        Ok(())
    }
}
