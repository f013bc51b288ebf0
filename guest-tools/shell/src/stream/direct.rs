//! Files by WASI itself. The C library between it and the standard library asks for much that nobody needs here, and
//! writes in pieces of 4 KiB.
//!
//! Whatever fails to open is left to the standard library, which then says why.

use std::io;
use std::path::Path;

use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, OpenFlags, PathFlags};

use super::file::Writing;

/// How much is read at once, which is what the host gives at most.
const PIECE: u64 = 64 << 10;

thread_local! {
    static ROOTS: Vec<(Descriptor, String)> = get_directories();
}

/// An open file, and where in it the next bytes are.
pub struct File {
    descriptor: Descriptor,
    at: u64,
    appending: bool,
    /// Whether everything was read.
    ended: bool,
}

impl File {
    pub fn read(path: &Path) -> Option<(Self, Vec<u8>)> {
        let descriptor = open(path, OpenFlags::empty(), DescriptorFlags::READ)?;
        let mut file = Self { descriptor, at: 0, appending: false, ended: false };
        // A folder opens, and cannot be read.
        let first = file.next().ok()?;
        Some((file, first))
    }

    pub fn write(path: &Path, writing: Writing) -> Option<Self> {
        let flags = match writing {
            Writing::Anew => OpenFlags::CREATE | OpenFlags::TRUNCATE,
            Writing::Appending => OpenFlags::CREATE,
            Writing::Over => return None,
        };
        let descriptor = open(path, flags, DescriptorFlags::WRITE)?;
        Some(Self { descriptor, at: 0, appending: writing == Writing::Appending, ended: true })
    }

    pub fn next(&mut self) -> io::Result<Vec<u8>> {
        if self.ended {
            return Ok(Vec::new());
        }
        let (bytes, ended) = self.descriptor.read(PIECE, self.at).map_err(error)?;
        let count = length(&bytes);
        self.at += count;
        // Only files are open here, and they give less than was asked for at their end alone.
        self.ended = ended || count < PIECE;
        Ok(bytes)
    }

    pub fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.appending {
            self.at = self.descriptor.stat().map_err(error)?.size;
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let count = self.descriptor.write(rest, self.at).map_err(error)?;
            self.at += count;
            let taken = usize::try_from(count).unwrap_or(rest.len()).min(rest.len());
            if taken == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            rest = rest.get(taken..).unwrap_or_default();
        }
        Ok(())
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// Opens a path in the granted directory that it is in, the innermost if they are within each other.
fn open(path: &Path, create: OpenFlags, flags: DescriptorFlags) -> Option<Descriptor> {
    ROOTS.with(|roots| {
        let fitting = roots.iter().filter_map(|(root, name)| Some((root, path.strip_prefix(name).ok()?)));
        let (root, rest) = fitting.min_by_key(|(_, rest)| rest.as_os_str().len())?;
        root.open_at(PathFlags::SYMLINK_FOLLOW, rest.to_str()?, create, flags).ok()
    })
}

fn error(code: ErrorCode) -> io::Error {
    match code {
        ErrorCode::NotPermitted | ErrorCode::Access => io::ErrorKind::PermissionDenied.into(),
        ErrorCode::IsDirectory | ErrorCode::BadDescriptor => io::ErrorKind::IsADirectory.into(),
        ErrorCode::InsufficientSpace | ErrorCode::Quota => io::ErrorKind::StorageFull.into(),
        ErrorCode::ReadOnly => io::ErrorKind::ReadOnlyFilesystem.into(),
        other => io::Error::other(other.message()),
    }
}
