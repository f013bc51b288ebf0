//! Reading directories, entry by entry: a directory of any size takes one buffer.

use std::path::PathBuf;

use rustix::fs::{AtFlags, Dir, FileType, OFlags};
use wasmtime_wasi::p2::bindings::filesystem::types::DirectoryEntry;

use super::kernel;
use super::links::Names;
use super::state::{DirsState, FsRefusal, Opened, Permit};
use super::template::{Bases, Standing};
use super::walk::is_dot;
use crate::sandbox::deadline::Watch;

/// A directory that is being read, in the order of the file system.
pub(super) struct Listing {
    dir: Dir,
    /// Where the directory and the grants are on the host; only looked up where something is withheld.
    seen: Option<(PathBuf, Bases)>,
    watch: Watch,
    _permit: Permit,
}

impl DirsState {
    pub(super) fn list(&mut self, opened: &Opened) -> Result<Listing, FsRefusal> {
        let permit = self.permit()?;
        // A new description, so that each listing starts at the beginning.
        let fd = kernel::open_plain(&opened.file, ".", OFlags::RDONLY | OFlags::DIRECTORY)?;
        let guarded = self.template.is_guarded();
        let seen = if guarded { Some((kernel::real_path(&fd)?, self.template.bases()?)) } else { None };
        Ok(Listing { dir: Dir::new(fd)?, seen, watch: self.watch.clone(), _permit: permit })
    }
}

impl Listing {
    /// The next entry that the guest may look at. wasi-libc asks for the hash of each, and ends the listing at one
    /// that it does not get: what is withheld under another name is therefore not listed, and neither is a name that
    /// is not UTF-8, by which no guest can ask.
    pub(super) fn next(&mut self) -> Result<Option<DirectoryEntry>, FsRefusal> {
        while let Some(entry) = self.dir.read() {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else { continue };
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
            return Ok(Some(DirectoryEntry {
                type_: kernel::descriptor_type(file_type),
                name: name.to_owned(),
            }));
        }
        Ok(None)
    }

    fn withholds(&self, name: &str) -> bool {
        let Some((host, bases)) = &self.seen else { return false };
        if bases.standing(&host.join(name)) == Standing::Denied {
            return true;
        }
        let Ok(dir) = self.dir.fd() else { return false };
        match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => bases.names_of(&stat, &self.watch) != Names::Free,
            Err(_) => false,
        }
    }
}
