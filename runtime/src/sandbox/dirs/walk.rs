//! A bounded walk below a directory that follows no link.

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, OFlags, Stat};
use rustix::io::Errno;

use super::kernel;
use crate::sandbox::deadline::Watch;

/// Entries that one walk looks at: a second of work at most. Whoever asks treats more as "cannot be told".
pub(super) const MAX_ENTRIES: u32 = 100_000;

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Walked {
    /// Everything was seen.
    All,
    /// The visitor had seen enough.
    Stopped,
    /// There was more than [`MAX_ENTRIES`], or a part could not be read.
    Partly,
    /// The call ended first.
    Interrupted,
}

/// How many entries are looked at between two looks at the clock: a fraction of a millisecond on a local disk.
const ENTRIES_PER_CHECK: u32 = 64;

/// Shows every entry below `start` of `top`, and `start` itself where it is a file, with its path relative to `top`,
/// until the call of `watch` ends.
pub(super) fn walk(
    top: &File,
    start: &Path,
    watch: &Watch,
    visit: &mut dyn FnMut(&Path, &Stat) -> ControlFlow<()>,
) -> Walked {
    let mut pending: Vec<PathBuf> = vec![start.to_owned()];
    let mut left = MAX_ENTRIES;
    let mut complete = true;
    while let Some(folder) = pending.pop() {
        if watch.check().is_err() {
            return Walked::Interrupted;
        }
        let entries = match entries(top, &folder) {
            Ok(Some(entries)) => entries,
            Ok(None) if folder == start => {
                let Ok(stat) = rustix::fs::statat(top, &folder, AtFlags::SYMLINK_NOFOLLOW) else { continue };
                if visit(&folder, &stat).is_break() {
                    return Walked::Stopped;
                }
                continue;
            }
            Ok(None) | Err(Errno::NOENT) => continue,
            Err(_) => {
                complete = false;
                continue;
            }
        };
        for entry in entries {
            let Ok(entry) = entry else {
                complete = false;
                break;
            };
            if is_dot(entry.file_name()) {
                continue;
            }
            let Some(rest) = left.checked_sub(1) else { return Walked::Partly };
            left = rest;
            if left.is_multiple_of(ENTRIES_PER_CHECK) && watch.check().is_err() {
                return Walked::Interrupted;
            }
            let path = folder.join(OsStr::from_bytes(entry.file_name().to_bytes()));
            let Ok(stat) = rustix::fs::statat(top, &path, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if visit(&path, &stat).is_break() {
                return Walked::Stopped;
            }
            if kernel::file_type(&stat).is_dir() {
                pending.push(path);
            }
        }
    }
    if complete { Walked::All } else { Walked::Partly }
}

/// Whether a directory entry is `.` or `..`.
pub(super) fn is_dot(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

/// The entries of a folder; none where the path is not a folder.
fn entries(top: &File, folder: &Path) -> rustix::io::Result<Option<Dir>> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    match kernel::open_plain(top, folder, OFlags::RDONLY | OFlags::DIRECTORY) {
        Ok(fd) => Dir::new(fd).map(Some),
        Err(Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(error),
    }
}
