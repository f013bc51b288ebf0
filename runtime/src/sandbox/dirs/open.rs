//! Opening files and looking at them.

use std::fs::File;
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use wasmtime_wasi::OpenMode;
use wasmtime_wasi::filesystem::{Descriptor, Dir, File as WasiFile};
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorStat, ErrorCode, MetadataHashValue, OpenFlags,
};

use super::kernel;
use super::lookup::{Found, Intent, Links, Request};
use super::state::{DirsState, FsRefusal, Opened, Reason};

/// How a guest wants a file opened.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) links: Links,
    pub(super) how: OpenFlags,
    pub(super) mode: DescriptorFlags,
}

impl Wanted {
    fn writes(self) -> bool {
        self.how.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE)
            || self.mode.contains(DescriptorFlags::WRITE)
    }

    fn reads(self) -> bool {
        self.mode.contains(DescriptorFlags::READ) || !self.mode.contains(DescriptorFlags::WRITE)
    }

    fn access(self) -> OFlags {
        match (self.reads(), self.writes()) {
            (true, true) => OFlags::RDWR,
            (false, true) => OFlags::WRONLY,
            (_, false) => OFlags::RDONLY,
        }
    }

    fn open_mode(self) -> OpenMode {
        let mut mode = OpenMode::empty();
        mode.set(OpenMode::READ, self.reads());
        mode.set(OpenMode::WRITE, self.writes());
        mode
    }

    fn check(self) -> Result<(), FsRefusal> {
        let synchronous = DescriptorFlags::FILE_INTEGRITY_SYNC
            | DescriptorFlags::DATA_INTEGRITY_SYNC
            | DescriptorFlags::REQUESTED_WRITE_SYNC;
        if self.mode.intersects(synchronous) {
            return Err(FsRefusal::new(
                ErrorCode::Unsupported,
                "synchronous files are not supported; use `sync`",
            ));
        }
        let creating = OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::TRUNCATE;
        if self.how.contains(OpenFlags::DIRECTORY) && self.how.intersects(creating) {
            return Err(Errno::INVAL.into());
        }
        Ok(())
    }
}

impl DirsState {
    /// Opens a regular file or a directory, or creates a file. The type is looked at before anything is opened: a
    /// FIFO would wait for a writer that never comes.
    pub(super) fn open(
        &mut self,
        dir: &Opened,
        path: &str,
        wanted: Wanted,
    ) -> Result<(Descriptor, Opened), FsRefusal> {
        wanted.check()?;
        let request = Request::new(if wanted.writes() { "write" } else { "open" }, dir, path);
        let template = Arc::clone(&self.template);
        let _lock = if wanted.writes() {
            self.writable(&request)?;
            template.lock()
        } else {
            Vec::new()
        };
        let permit = self.permit()?;
        let exclusive = wanted.how.contains(OpenFlags::CREATE | OpenFlags::EXCLUSIVE);
        let links = if exclusive { Links::Keep } else { wanted.links };
        let intent = if wanted.writes() { Intent::Change } else { Intent::Keep };
        let (file, is_dir) = match self.find(&request, links, intent) {
            Ok(_) if exclusive => return Err(Errno::EXIST.into()),
            Ok(found) => self.open_found(&request, &found, wanted)?,
            Err(refusal) if refusal.code == ErrorCode::NoEntry && wanted.how.contains(OpenFlags::CREATE) => {
                (self.create(&request, wanted)?, false)
            }
            Err(refusal) => return Err(refusal),
        };
        let perms = template.roots.get(dir.grant).map(|root| root.perms).ok_or(Errno::BADF)?;
        let guest: Arc<str> = request.target().into();
        let (descriptor, file) = if is_dir {
            let dir = Dir::new(file, perms, wanted.open_mode(), true);
            let file = Arc::clone(&dir.dir);
            (Descriptor::Dir(dir), file)
        } else {
            let file = WasiFile::new(file, perms, wanted.open_mode(), true);
            let inner = Arc::clone(&file.file);
            (Descriptor::File(file), inner)
        };
        Ok((descriptor, Opened { grant: dir.grant, guest, file, permit: Some(Arc::new(permit)) }))
    }

    /// Opens what was found; says whether it is a directory.
    fn open_found(
        &mut self,
        request: &Request<'_>,
        found: &Found,
        wanted: Wanted,
    ) -> Result<(File, bool), FsRefusal> {
        let directory = wanted.how.contains(OpenFlags::DIRECTORY);
        match kernel::file_type(&found.stat) {
            FileType::Directory if wanted.writes() => Err(Errno::ISDIR.into()),
            FileType::Directory => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY;
                Ok((File::from(kernel::open_plain(&found.fd, ".", flags)?), true))
            }
            _ if directory => Err(Errno::NOTDIR.into()),
            FileType::RegularFile => {
                let truncate =
                    if wanted.how.contains(OpenFlags::TRUNCATE) { OFlags::TRUNC } else { OFlags::empty() };
                Ok((kernel::reopen(&found.fd, wanted.access() | truncate)?, false))
            }
            FileType::Symlink => Err(Errno::LOOP.into()),
            _ => Err(self.refuse(request.operation, &request.target(), Reason::Special)),
        }
    }

    /// Creates a file where there is none.
    fn create(&mut self, request: &Request<'_>, wanted: Wanted) -> Result<File, FsRefusal> {
        let place = self.place(request, Intent::Change)?;
        if place.slash {
            return Err(Errno::ISDIR.into());
        }
        let flags = wanted.access() | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&place.parent, &place.name, flags, Mode::from_raw_mode(0o666)) {
            Ok(fd) => Ok(File::from(fd)),
            // A link to nothing: what it means to create is a file elsewhere.
            Err(Errno::EXIST) if !wanted.how.contains(OpenFlags::EXCLUSIVE) => Err(Errno::NOENT.into()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn stat_at(
        &mut self,
        dir: &Opened,
        path: &str,
        links: Links,
    ) -> Result<DescriptorStat, FsRefusal> {
        let found = self.find(&Request::new("stat", dir, path), links, Intent::Keep)?;
        Ok(kernel::descriptor_stat(&found.stat))
    }

    pub(super) fn metadata_hash_at(
        &mut self,
        dir: &Opened,
        path: &str,
        links: Links,
    ) -> Result<MetadataHashValue, FsRefusal> {
        let found = self.find(&Request::new("stat", dir, path), links, Intent::Keep)?;
        Ok(kernel::metadata_hash(&found.stat))
    }
}
