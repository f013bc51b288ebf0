//! Replacing a file in one step: the new content is written beside the target and renamed over it.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use super::kernel;
use super::lookup::{Found, Intent, Links, Request};
use super::state::{DirsState, FsRefusal, Opened, Permit, Reason, WriteBudget};
use super::stream::{self, WriteAt};
use super::template::{DirTemplate, Standing};

/// New content of a file on its way. Dropped before [`Replacement::commit`], nothing of it stays: the content has no
/// name until then where the file system can do that (`O_TMPFILE`), so that not even a killed host leaves a file.
///
/// A target that is a link inside the grant keeps being one; the file that it leads to is replaced. A target with
/// several hard links is replaced under this name only: writing into the shared file could not be undone half way,
/// and would change it under names outside the grant. The mode stays (without set-user-id and set-group-id bits),
/// and the owner where the host may set it.
#[must_use = "nothing changes before `commit`"]
pub struct Replacement {
    template: Arc<DirTemplate>,
    parent: OwnedFd,
    name: String,
    content: Content,
    length: u64,
    keep: Option<Kept>,
    budget: Arc<WriteBudget>,
    stage: Stage,
    _permit: Permit,
}

/// What the new file takes over from the old one.
struct Kept {
    mode: Mode,
    owner: Uid,
    group: Gid,
}

/// Where the new content is.
enum Content {
    Unnamed(File),
    Named(File, String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Writing,
    /// A write failed: what is there is not what the guest meant.
    Broken,
    Done,
}

impl Replacement {
    /// Begins to replace the file at `guest_path` (absolute, in the guest's names), or to create it; with
    /// `create_parents` also the folders above it. Counts as an open file.
    ///
    /// # Errors
    /// What policy refuses (recorded in `state`), and what the file system refuses: a missing folder, a target that
    /// is a directory or may not be written.
    pub fn open(state: &mut DirsState, guest_path: &str, create_parents: bool) -> Result<Self, FsRefusal> {
        let template = Arc::clone(&state.template);
        let Some((grant, path)) = template.find(guest_path) else {
            return Err(state.refuse("replace", guest_path, Reason::Outside));
        };
        let root = template.roots.get(grant).ok_or(Errno::BADF)?;
        let dir =
            Opened { grant, guest: Arc::clone(&root.guest), file: Arc::clone(root.dir()), permit: None };
        let request = Request::new("replace", &dir, path);
        state.writable(&request)?;
        if create_parents {
            state.create_parents(&dir, path)?;
        }
        let permit = state.permit()?;
        let (parent, name, keep) = match state.find(&request, Links::Follow, Intent::Change) {
            Ok(found) => {
                let (parent, name) = state.home(&request, &found)?;
                let mode = Mode::from_raw_mode(found.stat.st_mode) & Mode::from_raw_mode(0o777);
                let (owner, group) = (Uid::from_raw(found.stat.st_uid), Gid::from_raw(found.stat.st_gid));
                (parent, name, Some(Kept { mode, owner, group }))
            }
            Err(refusal) if refusal.code == ErrorCode::NoEntry => {
                let place = state.place(&request, Intent::Change)?;
                if place.slash {
                    return Err(Errno::ISDIR.into());
                }
                if place.stat()?.is_some() {
                    return Err(FsRefusal::new(ErrorCode::NoEntry, "the link leads to nothing"));
                }
                (place.parent, place.name, None)
            }
            Err(refusal) => return Err(refusal),
        };
        let mode = if keep.is_some() { 0o600 } else { 0o666 };
        let content = Content::create(&parent, Mode::from_raw_mode(mode))?;
        let (budget, length, stage) = (state.budget(), 0, Stage::Writing);
        Ok(Self { template, parent, name, content, length, keep, budget, stage, _permit: permit })
    }

    /// Adds bytes at the end; counted against `write_bytes`.
    ///
    /// # Errors
    /// `quota` over the limit, or what the file system says. After an error only dropping is left.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), FsRefusal> {
        self.writing()?;
        let mut rest = bytes;
        while !rest.is_empty() {
            match stream::write(self.content.file(), WriteAt::Position(self.length), rest, &self.budget) {
                Ok(written) => {
                    rest = rest.get(written..).unwrap_or_default();
                    self.length = self.length.saturating_add(written as u64);
                }
                Err(error) => {
                    self.stage = Stage::Broken;
                    return Err(error.into());
                }
            }
        }
        Ok(())
    }

    /// Puts the new content, on disk by then, in the target's place.
    ///
    /// # Errors
    /// What policy or the file system refuses; the target is as it was.
    pub fn commit(&mut self) -> Result<(), FsRefusal> {
        self.writing()?;
        let file = self.content.file();
        if let Some(kept) = &self.keep {
            // Only a privileged host may give files away; for others the new file is theirs.
            match rustix::fs::fchown(file, Some(kept.owner), Some(kept.group)) {
                Ok(()) | Err(Errno::PERM) => {}
                Err(error) => return Err(error.into()),
            }
            rustix::fs::fchmod(file, kept.mode)?;
        }
        file.sync_all()?;
        let template = Arc::clone(&self.template);
        let _lock = template.lock();
        if template.is_guarded() {
            // Neighbours may have moved the folder since it was looked at.
            let host = kernel::real_path(&self.parent)?.join(&self.name);
            if template.bases()?.standing(&host) != Standing::Granted {
                return Err(FsRefusal::new(ErrorCode::NotPermitted, "the folder was moved meanwhile"));
            }
        }
        let name = self.content.named(&self.parent)?;
        rustix::fs::renameat(&self.parent, name, &self.parent, &self.name)?;
        self.stage = Stage::Done;
        Ok(())
    }

    fn writing(&self) -> Result<(), FsRefusal> {
        match self.stage {
            Stage::Writing => Ok(()),
            Stage::Broken => Err(FsRefusal::new(ErrorCode::Io, "an earlier write failed; begin again")),
            Stage::Done => Err(FsRefusal::new(ErrorCode::BadDescriptor, "already committed")),
        }
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let (Stage::Writing | Stage::Broken, Content::Named(_, name)) = (self.stage, &self.content) {
            let _ = rustix::fs::unlinkat(&self.parent, name, AtFlags::empty());
        }
    }
}

impl Content {
    fn create(parent: &OwnedFd, mode: Mode) -> rustix::io::Result<Self> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        match rustix::fs::openat(parent, ".", flags, mode) {
            Ok(fd) => Ok(Self::Unnamed(File::from(fd))),
            // What file systems say that cannot do it.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {
                Self::create_named(parent, mode)
            }
            Err(error) => Err(error),
        }
    }

    fn create_named(parent: &OwnedFd, mode: Mode) -> rustix::io::Result<Self> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::WRONLY | OFlags::CLOEXEC;
        with_free_name(|name| rustix::fs::openat(parent, name, flags, mode))
            .map(|(fd, name)| Self::Named(File::from(fd), name))
    }

    fn file(&self) -> &File {
        match self {
            Self::Unnamed(file) | Self::Named(file, _) => file,
        }
    }

    /// Gives the content a name beside the target, from which it can be renamed.
    fn named(&mut self, parent: &OwnedFd) -> rustix::io::Result<&str> {
        if let Self::Unnamed(file) = self {
            let path = kernel::fd_path(&*file);
            let link = |name: &str| rustix::fs::linkat(CWD, &path, parent, name, AtFlags::SYMLINK_FOLLOW);
            let ((), name) = with_free_name(link)?;
            *self = Self::Named(file.try_clone().map_err(|_| Errno::MFILE)?, name);
        }
        match self {
            Self::Named(_, name) => Ok(name),
            Self::Unnamed(_) => Err(Errno::INVAL),
        }
    }
}

/// Tries `create` with names until one is free.
fn with_free_name<T>(create: impl Fn(&str) -> rustix::io::Result<T>) -> rustix::io::Result<(T, String)> {
    for attempt in 0..16_u32 {
        let name = format!(".toolcell-{:016x}.tmp", RandomState::new().hash_one(attempt));
        match create(&name) {
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
            Ok(created) => return Ok((created, name)),
        }
    }
    Err(Errno::EXIST)
}

impl DirsState {
    /// Creates the missing folders above `path`.
    fn create_parents(&mut self, dir: &Opened, path: &str) -> Result<(), FsRefusal> {
        let trimmed = path.trim_end_matches('/');
        let slashes = trimmed.match_indices('/').map(|(end, _)| end).filter(|end| *end > 0);
        for end in slashes {
            let Some(folder) = trimmed.get(..end) else { continue };
            if matches!(folder.rsplit('/').next(), Some("" | "." | "..") | None) {
                continue;
            }
            match self.create_directory(dir, folder) {
                Ok(()) => {}
                Err(refusal) if refusal.code == ErrorCode::Exist => {}
                Err(refusal) => return Err(refusal),
            }
        }
        Ok(())
    }

    /// The folder that the found file really lies in, and its name there.
    fn home(&mut self, request: &Request<'_>, found: &Found) -> Result<(OwnedFd, String), FsRefusal> {
        match kernel::file_type(&found.stat) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(Errno::ISDIR.into()),
            _ => return Err(self.refuse(request.operation, &request.target(), Reason::Special)),
        }
        // Renaming over a file asks the folder's permissions only; the file's own are asked here.
        drop(kernel::reopen(&found.fd, OFlags::WRONLY)?);
        let moved = || FsRefusal::new(ErrorCode::Busy, "the file was moved meanwhile; try again");
        let host = kernel::real_path(&found.fd)?;
        let base = kernel::real_path(&request.dir.file)?;
        let relative = host.strip_prefix(&base).map_err(|_| moved())?;
        let (Some(folder), Some(name)) = (relative.parent(), relative.file_name()) else {
            return Err(moved());
        };
        let name = name.to_str().ok_or(Errno::ILSEQ)?.to_owned();
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let parent = kernel::open_plain(&request.dir.file, folder, OFlags::PATH | OFlags::DIRECTORY)?;
        let stat = rustix::fs::statat(&parent, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        if kernel::identity(&stat) == kernel::identity(&found.stat) {
            Ok((parent, name))
        } else {
            Err(moved())
        }
    }
}
