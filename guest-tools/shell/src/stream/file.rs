//! Files, by few and large steps: each is a crossing to the host.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

#[cfg(target_os = "wasi")]
use super::direct;

/// How much is read at once.
const PIECE: usize = 64 << 10;

/// How a file is opened to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writing {
    /// Empty at first.
    Anew,
    /// At its end, wherever that is by then.
    Appending,
    /// From its start, and to read as well.
    Over,
}

/// A file that is open, with its position.
pub enum OpenFile {
    Standard(File),
    #[cfg(target_os = "wasi")]
    Direct(direct::File),
}

impl OpenFile {
    /// Opens a file to read, with its first bytes; a folder is none.
    pub fn read(path: &Path) -> io::Result<(Self, Vec<u8>)> {
        #[cfg(target_os = "wasi")]
        if let Some((file, first)) = direct::File::read(path) {
            return Ok((Self::Direct(file), first));
        }
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        Ok((Self::Standard(file), Vec::new()))
    }

    pub fn write(path: &Path, writing: Writing) -> io::Result<Self> {
        #[cfg(target_os = "wasi")]
        if let Some(file) = direct::File::write(path, writing) {
            return Ok(Self::Direct(file));
        }
        let mut options = OpenOptions::new();
        match writing {
            Writing::Anew => options.write(true).create(true).truncate(true),
            Writing::Appending => options.append(true).create(true),
            Writing::Over => options.read(true).write(true).create(true).truncate(false),
        };
        options.open(path).map(Self::Standard)
    }

    /// The next bytes; empty at the end.
    pub fn next(&mut self) -> io::Result<Vec<u8>> {
        match self {
            Self::Standard(file) => {
                let mut bytes = vec![0; PIECE];
                let count = file.read(&mut bytes)?;
                bytes.truncate(count);
                Ok(bytes)
            }
            #[cfg(target_os = "wasi")]
            Self::Direct(file) => file.next(),
        }
    }

    pub fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Standard(file) => file.write_all(bytes),
            #[cfg(target_os = "wasi")]
            Self::Direct(file) => file.put(bytes),
        }
    }
}
