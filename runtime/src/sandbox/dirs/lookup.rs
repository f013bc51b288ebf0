//! From a path that a guest wrote to a file that policy lets it touch.

use std::cell::OnceCell;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, OFlags, Stat};
use rustix::io::Errno;
use wasmtime_wasi::FsPerms;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use super::kernel;
use super::links::Names;
use super::state::{DirsState, FsRefusal, Opened, Reason};
use super::template::{Bases, DirTemplate, Standing};

/// Linux resolves no longer path; said here before anything is done for each of its components.
const MAX_PATH: usize = 4095;

/// One operation on one path.
pub(super) struct Request<'a> {
    /// Its name in denials.
    pub(super) operation: &'static str,
    /// The directory that the path starts from.
    pub(super) dir: &'a Opened,
    /// The path as the guest wrote it.
    pub(super) path: &'a str,
    bases: OnceCell<Bases>,
}

/// What is done with an entry, as far as policy cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Intent {
    /// It stays as it is, or becomes a plain directory.
    Keep,
    /// It is created, replaced, changed, moved or removed.
    Change,
}

/// What happens when the last component of a path is a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    Follow,
    Keep,
}

/// A name in a directory that is held open, so that nobody can exchange what lies above it.
pub(super) struct Place {
    pub(super) parent: OwnedFd,
    pub(super) name: String,
    /// The path ended in a slash: it can only mean a directory.
    pub(super) slash: bool,
    /// Where it is on the host; only looked up where something is withheld.
    pub(super) host: Option<PathBuf>,
}

/// A file that exists, held without being opened.
pub(super) struct Found {
    pub(super) fd: OwnedFd,
    pub(super) stat: Stat,
}

impl Place {
    /// What is there, links not followed; none when there is nothing.
    pub(super) fn stat(&self) -> rustix::io::Result<Option<Stat>> {
        match rustix::fs::statat(&self.parent, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl<'a> Request<'a> {
    pub(super) fn new(operation: &'static str, dir: &'a Opened, path: &'a str) -> Self {
        Self { operation, dir, path, bases: OnceCell::new() }
    }

    /// Where the granted directories are, looked up at the first check of the operation.
    pub(super) fn bases(&self, template: &Arc<DirTemplate>) -> Result<&Bases, FsRefusal> {
        match self.bases.get() {
            Some(bases) => Ok(bases),
            None => {
                let bases = template.bases()?;
                Ok(self.bases.get_or_init(|| bases))
            }
        }
    }

    /// Where the directory that the path starts from is on the host.
    fn start(&self, template: &Arc<DirTemplate>) -> Result<PathBuf, FsRefusal> {
        match self.bases(template)?.of_root(self.dir) {
            Some(path) => Ok(path.to_owned()),
            None => Ok(kernel::real_path(&self.dir.file)?),
        }
    }

    /// The path in the guest's names, without `.` and double slashes.
    pub(super) fn target(&self) -> String {
        join_guest(&self.dir.guest, self.path)
    }
}

/// `path` seen from the guest's directory `dir`; what is absolute stays so.
pub(super) fn join_guest(dir: &str, path: &str) -> String {
    let from = if path.starts_with('/') { "" } else { dir };
    // A path may be as long as the guest's memory; what is shown of it is not.
    let path = path.char_indices().nth(1024).map_or(path, |(end, _)| path.get(..end).unwrap_or_default());
    let names = from.split('/').chain(path.split('/')).filter(|name| !matches!(*name, "" | "."));
    names.fold(String::new(), |joined, name| joined + "/" + name)
}

impl DirsState {
    /// Refuses what would change something through a grant that only reads.
    pub(super) fn writable(&mut self, request: &Request<'_>) -> Result<(), FsRefusal> {
        let perms = self.template.roots.get(request.dir.grant).map(|root| root.perms);
        if perms == Some(FsPerms::ReadWrite) {
            return Ok(());
        }
        Err(self.refuse(request.operation, &request.target(), Reason::ReadOnly))
    }

    /// The directory and name that `request` means, if policy lets the guest name it.
    pub(super) fn place(&mut self, request: &Request<'_>, intent: Intent) -> Result<Place, FsRefusal> {
        let trimmed = request.path.trim_end_matches('/');
        let (parent, name) = trimmed
            .rsplit_once('/')
            .map_or((".", trimmed), |(parent, name)| (if parent.is_empty() { "/" } else { parent }, name));
        if request.path.is_empty() {
            return Err(Errno::NOENT.into());
        }
        if request.path.len() > MAX_PATH {
            return Err(Errno::NAMETOOLONG.into());
        }
        if name.is_empty() {
            return Err(self.refuse(request.operation, &request.target(), Reason::Outside));
        }
        if matches!(name, "." | "..") {
            // Whether it leads out is for the kernel to say; a directory that is not named cannot be changed.
            self.resolve(request, request.path, OFlags::PATH)?;
            return Err(Errno::INVAL.into());
        }
        self.check_spelling(request)?;
        let parent = self.resolve(request, parent, OFlags::PATH | OFlags::DIRECTORY)?;
        let host = if self.template.is_guarded() {
            let host = kernel::real_path(&parent)?.join(name);
            self.check_host(request, &host, intent)?;
            Some(host)
        } else {
            None
        };
        Ok(Place { parent, name: name.to_owned(), slash: request.path.len() > trimmed.len(), host })
    }

    /// The file that `request` means, if it exists and policy lets the guest touch it.
    pub(super) fn find(
        &mut self,
        request: &Request<'_>,
        links: Links,
        intent: Intent,
    ) -> Result<Found, FsRefusal> {
        let trimmed = request.path.trim_end_matches('/');
        let slash = request.path.len() > trimmed.len();
        let unnamed = matches!(trimmed.rsplit('/').next(), Some("." | ".." | "") | None);
        let resolved = if unnamed || links == Links::Follow || slash {
            let only = if slash { OFlags::DIRECTORY } else { OFlags::empty() };
            self.resolve(request, request.path, OFlags::PATH | only)
        } else {
            self.resolve(request, request.path, OFlags::PATH | OFlags::NOFOLLOW)
        };
        if !self.template.is_guarded() {
            let fd = resolved?;
            let stat = rustix::fs::fstat(&fd)?;
            return Ok(Found { fd, stat });
        }
        let host = resolved.as_ref().ok().map(kernel::real_path).transpose()?;
        // Nothing was done yet but looking. Where the path is not spelled as the file's own, or leads nowhere, the way
        // there is checked too: what is withheld does not even tell what its links and names are.
        if host != Some(request.start(&self.template)?.join(request.path)) {
            if unnamed {
                self.check_spelling(request)?;
            } else {
                self.place(request, Intent::Keep)?;
            }
        }
        let fd = resolved?;
        let stat = rustix::fs::fstat(&fd)?;
        self.check_host(request, &host.unwrap_or_default(), intent)?;
        self.check_names(request, &stat)?;
        Ok(Found { fd, stat })
    }

    /// Opens beneath the request's directory; what leads out is refused and recorded.
    fn resolve(&mut self, request: &Request<'_>, path: &str, flags: OFlags) -> Result<OwnedFd, FsRefusal> {
        kernel::open_beneath(&request.dir.file, path, flags).map_err(|error| match error {
            Errno::XDEV => self.refuse(request.operation, &request.target(), Reason::Outside),
            // Only a `..` above the root or a neighbour's storm of renames is tried again for so long.
            Errno::AGAIN => FsRefusal::new(ErrorCode::Busy, "the path changes too fast; try again"),
            error => error.into(),
        })
    }

    /// Refuses a path that by its letters alone goes through something withheld, so that not even a link in there
    /// is followed.
    fn check_spelling(&mut self, request: &Request<'_>) -> Result<(), FsRefusal> {
        if !self.template.is_guarded() {
            return Ok(());
        }
        let bases = request.bases(&self.template)?;
        let mut host = request.start(&self.template)?;
        let mut denied = false;
        for name in request.path.split('/') {
            match name {
                "" | "." => {}
                ".." => {
                    denied |= bases.standing(&host) == Standing::Denied;
                    host.pop();
                }
                name => host.push(name),
            }
        }
        // Outside, the letters prove nothing: the kernel will say whether the path leads there.
        if denied || bases.standing(&host) == Standing::Denied {
            return Err(self.refuse(request.operation, &request.target(), Reason::Denied));
        }
        Ok(())
    }

    /// Refuses a file that is withheld where it really is, or under another of its names.
    pub(super) fn check_found(
        &mut self,
        request: &Request<'_>,
        fd: impl AsFd,
        stat: &Stat,
        intent: Intent,
    ) -> Result<(), FsRefusal> {
        if !self.template.is_guarded() {
            return Ok(());
        }
        let host = kernel::real_path(fd)?;
        self.check_host(request, &host, intent)?;
        self.check_names(request, stat)
    }

    /// Refuses a regular file that is withheld under another name.
    pub(super) fn check_names(&mut self, request: &Request<'_>, stat: &Stat) -> Result<(), FsRefusal> {
        match self.template.names_of(stat, &self.watch) {
            Names::Free => Ok(()),
            Names::Withheld => Err(self.refuse(request.operation, &request.target(), Reason::Denied)),
            Names::Untold => Err(self.refuse(request.operation, &request.target(), Reason::Untold)),
            Names::Interrupted => Err(FsRefusal::interrupted()),
        }
    }

    /// Refuses what policy says no to at a place on the host.
    pub(super) fn check_host(
        &mut self,
        request: &Request<'_>,
        host: &Path,
        intent: Intent,
    ) -> Result<(), FsRefusal> {
        let standing = request.bases(&self.template)?.standing(host);
        let reason = match (standing, intent) {
            (Standing::Granted, _) | (Standing::Above, Intent::Keep) => return Ok(()),
            (Standing::Above, Intent::Change) => Reason::Above,
            (Standing::Denied, _) => Reason::Denied,
            (Standing::Outside, _) => Reason::Outside,
        };
        Err(self.refuse(request.operation, &request.target(), reason))
    }
}
