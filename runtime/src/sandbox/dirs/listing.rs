//! Reading directories, entry by entry: a directory of any size takes one buffer.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::{AtFlags, Dir, FileType, OFlags};
use wasmtime_wasi::p2::bindings::filesystem::types::DirectoryEntry;

use super::kernel;
use super::state::{DirsState, FsRefusal, Opened, Permit};
use super::template::{Bases, Standing};
use super::walk::is_dot;

/// A directory that is being read, in the order of the file system.
pub(super) struct Listing {
    dir: Dir,
    /// Where the directory and the grants are on the host; only looked up where something is withheld.
    seen: Option<(PathBuf, Bases)>,
    _permit: Permit,
}

impl DirsState {
    pub(super) fn list(&mut self, opened: &Opened) -> Result<Listing, FsRefusal> {
        let permit = self.permit()?;
        // A new description, so that each listing starts at the beginning.
        let fd = kernel::open_plain(&opened.file, ".", OFlags::RDONLY | OFlags::DIRECTORY)?;
        let guarded = self.template.is_guarded();
        let seen = if guarded { Some((kernel::real_path(&fd)?, self.template.bases()?)) } else { None };
        Ok(Listing { dir: Dir::new(fd)?, seen, _permit: permit })
    }
}

impl Listing {
    /// The next entry that is not withheld. A name that is not UTF-8 is shown with replacement characters: the guest
    /// sees that something is there, and goes on.
    pub(super) fn next(&mut self) -> Result<Option<DirectoryEntry>, FsRefusal> {
        while let Some(entry) = self.dir.read() {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if is_dot(entry.file_name()) || self.withholds(name) {
                continue;
            }
            let file_type = match entry.file_type() {
                FileType::Unknown => {
                    let stat =
                        rustix::fs::statat(self.dir.fd()?, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
                    kernel::file_type(&stat)
                }
                known => known,
            };
            let name = name.to_string_lossy().into_owned();
            return Ok(Some(DirectoryEntry { type_: kernel::descriptor_type(file_type), name }));
        }
        Ok(None)
    }

    fn withholds(&self, name: &OsStr) -> bool {
        let seen = self.seen.as_ref();
        seen.is_some_and(|(host, bases)| bases.standing(&host.join(name)) == Standing::Denied)
    }
}
