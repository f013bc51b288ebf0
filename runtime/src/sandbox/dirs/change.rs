//! Operations that change names: directories, links, renames, removals, times.

use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::{Component, Path};
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags, Stat, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
use rustix::io::Errno;
use wasmtime_wasi::p2::bindings::filesystem::types::{ErrorCode, NewTimestamp};

use super::kernel;
use super::lookup::{Intent, Links, Place, Request};
use super::state::{DirsState, FsRefusal, Opened, Reason};
use super::template::Standing;
use super::walk::{Walked, walk};

impl DirsState {
    pub(super) fn create_directory(&mut self, dir: &Opened, path: &str) -> Result<(), FsRefusal> {
        let request = Request::new("create", dir, path);
        self.writable(&request)?;
        let template = Arc::clone(&self.template);
        let _lock = template.lock();
        let place = self.place(&request, Intent::Keep)?;
        Ok(rustix::fs::mkdirat(&place.parent, &place.name, Mode::from_raw_mode(0o777))?)
    }

    pub(super) fn remove_directory(&mut self, dir: &Opened, path: &str) -> Result<(), FsRefusal> {
        let request = Request::new("remove", dir, path);
        self.writable(&request)?;
        let template = Arc::clone(&self.template);
        let _lock = template.lock();
        let place = self.place(&request, Intent::Change)?;
        Ok(rustix::fs::unlinkat(&place.parent, &place.name, AtFlags::REMOVEDIR)?)
    }

    pub(super) fn unlink(&mut self, dir: &Opened, path: &str) -> Result<(), FsRefusal> {
        let request = Request::new("remove", dir, path);
        self.writable(&request)?;
        let template = Arc::clone(&self.template);
        let _lock = template.lock();
        let place = self.place(&request, Intent::Change)?;
        let stat = self.existing(&request, &place)?;
        if place.slash && !kernel::file_type(&stat).is_dir() {
            return Err(Errno::NOTDIR.into());
        }
        Ok(rustix::fs::unlinkat(&place.parent, &place.name, AtFlags::empty())?)
    }

    /// Gives a file one more name. Both directories must be granted for writing: a second name in a writable
    /// directory would be a way to change what is granted for reading.
    pub(super) fn link(&mut self, from: &Opened, old: &str, to: &Opened, new: &str) -> Result<(), FsRefusal> {
        let source = Request::new("link", from, old);
        let target = Request::new("link", to, new);
        self.writable(&source)?;
        self.writable(&target)?;
        let template = Arc::clone(&self.template);
        let _lock = template.lock();
        let source_place = self.place(&source, Intent::Change)?;
        let stat = self.existing(&source, &source_place)?;
        let target_place = self.place(&target, Intent::Change)?;
        if kernel::file_type(&stat).is_dir() {
            return Err(Errno::PERM.into());
        }
        if source_place.slash || target_place.slash {
            return Err(Errno::NOTDIR.into());
        }
        let (old, new) = (&source_place, &target_place);
        Ok(rustix::fs::linkat(&old.parent, &old.name, &new.parent, &new.name, AtFlags::empty())?)
    }

    /// Moves a file or directory. Both directories must be granted for writing.
    pub(super) fn rename(
        &mut self,
        from: &Opened,
        old: &str,
        to: &Opened,
        new: &str,
    ) -> Result<(), FsRefusal> {
        let source = Request::new("rename", from, old);
        let target = Request::new("rename", to, new);
        self.writable(&source)?;
        self.writable(&target)?;
        let template = Arc::clone(&self.template);
        let _lock = template.lock();
        let source_place = self.place(&source, Intent::Change)?;
        let stat = self.existing(&source, &source_place)?;
        let target_place = self.place(&target, Intent::Change)?;
        let replaced = target_place.stat()?;
        if let Some(replaced) = &replaced {
            self.check_names(&target, replaced)?;
        }
        let is_dir = kernel::file_type(&stat).is_dir();
        if (source_place.slash || target_place.slash) && !is_dir {
            return Err(Errno::NOTDIR.into());
        }
        if target_place.slash && replaced.is_some_and(|stat| !kernel::file_type(&stat).is_dir()) {
            return Err(Errno::NOTDIR.into());
        }
        if is_dir {
            self.check_move(&source, &source_place, &target_place)?;
        }
        let (old, new) = (&source_place, &target_place);
        Ok(rustix::fs::renameat(&old.parent, &old.name, &new.parent, &new.name)?)
    }

    /// Creates a link to `text`, which must be relative and stay in the grant: whoever follows it later on the host
    /// does so without our checks.
    pub(super) fn symlink(&mut self, text: &str, dir: &Opened, path: &str) -> Result<(), FsRefusal> {
        let request = Request::new("symlink", dir, path);
        self.writable(&request)?;
        let template = Arc::clone(&self.template);
        let _lock = template.lock();
        let place = self.place(&request, Intent::Change)?;
        self.check_link_text(&request, &place, Path::new(text))?;
        if place.slash {
            return Err(Errno::NOENT.into());
        }
        Ok(rustix::fs::symlinkat(text, &place.parent, &place.name)?)
    }

    /// The text of a link. One that leads out of the grant is not told: it is a host path.
    pub(super) fn read_link(&mut self, dir: &Opened, path: &str) -> Result<String, FsRefusal> {
        let request = Request::new("readlink", dir, path);
        let place = self.place(&request, Intent::Keep)?;
        if place.slash {
            return Err(Errno::INVAL.into());
        }
        let text = rustix::fs::readlinkat(&place.parent, &place.name, Vec::new())?;
        let text = text.into_string().map_err(|_| FsRefusal::from(Errno::ILSEQ))?;
        self.check_link_text(&request, &place, Path::new(&text))?;
        Ok(text)
    }

    pub(super) fn set_times_at(
        &mut self,
        dir: &Opened,
        path: &str,
        links: Links,
        times: &Timestamps,
    ) -> Result<(), FsRefusal> {
        let request = Request::new("set-times", dir, path);
        self.writable(&request)?;
        let template = Arc::clone(&self.template);
        let _lock = template.lock();
        let found = self.find(&request, links, Intent::Change)?;
        set_times(&found.fd, &found.stat, times)
    }

    /// Sets the times of an open file or directory.
    pub(super) fn set_times(&mut self, opened: &Opened, times: &Timestamps) -> Result<(), FsRefusal> {
        let request = Request::new("set-times", opened, "");
        self.writable(&request)?;
        let stat = rustix::fs::fstat(&opened.file)?;
        self.check_found(&request, &opened.file, &stat, Intent::Change)?;
        Ok(rustix::fs::futimens(&opened.file, times)?)
    }

    /// What is at `place`, which must be there and not withheld under another name.
    fn existing(&mut self, request: &Request<'_>, place: &Place) -> Result<Stat, FsRefusal> {
        let stat = place.stat()?.ok_or(Errno::NOENT)?;
        self.check_names(request, &stat)?;
        Ok(stat)
    }

    /// Refuses to move a directory with something withheld in it, or to a place where something in it would be: the
    /// one would uncover it, the other plant it.
    fn check_move(&mut self, request: &Request<'_>, from: &Place, to: &Place) -> Result<(), FsRefusal> {
        let (Some(old), Some(new)) = (&from.host, &to.host) else { return Ok(()) };
        let bases = request.bases(&self.template)?;
        if !bases.reaches_below(old) && !bases.reaches_below(new) {
            return Ok(());
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let top = std::fs::File::from(kernel::open_plain(&from.parent, from.name.as_str(), flags)?);
        let walked = walk(&top, Path::new(""), &self.watch, &mut |path, _| {
            let withheld =
                |base: &Path| matches!(bases.standing(&base.join(path)), Standing::Denied | Standing::Above);
            if withheld(old) || withheld(new) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        match walked {
            Walked::All => Ok(()),
            Walked::Interrupted => Err(FsRefusal::interrupted()),
            Walked::Stopped | Walked::Partly => {
                Err(self.refuse(request.operation, &request.target(), Reason::Above))
            }
        }
    }

    /// Refuses the text of a link at `place` that is absolute, climbs out of the grant, or names something withheld.
    fn check_link_text(
        &mut self,
        request: &Request<'_>,
        place: &Place,
        text: &Path,
    ) -> Result<(), FsRefusal> {
        let bases = request.bases(&self.template)?;
        let mut host = kernel::real_path(&place.parent)?;
        let mut reason = None;
        let mut depth = bases.depth(request.dir.grant, &host);
        for component in text.components() {
            match component {
                Component::CurDir => {}
                Component::Normal(name) => {
                    host.push(name);
                    depth = depth.map(|depth| depth + 1);
                }
                Component::ParentDir => {
                    host.pop();
                    depth = depth.and_then(|depth| depth.checked_sub(1));
                }
                Component::RootDir | Component::Prefix(_) => depth = None,
            }
            if depth.is_none() {
                reason = Some(Reason::Outside);
                break;
            }
            if bases.standing(&host) == Standing::Denied {
                reason = Some(Reason::Denied);
                break;
            }
        }
        match reason {
            Some(reason) => Err(self.refuse(request.operation, &request.target(), reason)),
            None => Ok(()),
        }
    }
}

/// The times that a guest asks for.
///
/// # Errors
/// `overflow` where a time is beyond what the host's clock can say.
pub(super) fn timestamps(access: NewTimestamp, modification: NewTimestamp) -> Result<Timestamps, FsRefusal> {
    let time = |wanted| -> Result<Timespec, FsRefusal> {
        match wanted {
            NewTimestamp::NoChange => Ok(Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT }),
            NewTimestamp::Now => Ok(Timespec { tv_sec: 0, tv_nsec: UTIME_NOW }),
            NewTimestamp::Timestamp(time) => {
                let overflow =
                    || FsRefusal::new(ErrorCode::Overflow, "the time is beyond what a file can have");
                let carried = time.seconds.checked_add(u64::from(time.nanoseconds / 1_000_000_000));
                let seconds = carried.and_then(|seconds| i64::try_from(seconds).ok()).ok_or_else(overflow)?;
                Ok(Timespec { tv_sec: seconds, tv_nsec: i64::from(time.nanoseconds % 1_000_000_000) })
            }
        }
    };
    Ok(Timestamps { last_access: time(access)?, last_modification: time(modification)? })
}

/// Sets the times of a file that is held without being opened.
fn set_times(fd: impl AsFd, stat: &Stat, times: &Timestamps) -> Result<(), FsRefusal> {
    if kernel::file_type(stat).is_symlink() {
        // An empty path with AT_EMPTY_PATH means the descriptor itself, here the link.
        return Ok(rustix::fs::utimensat(fd, "", times, AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW)?);
    }
    Ok(rustix::fs::utimensat(rustix::fs::CWD, kernel::fd_path(&fd), times, AtFlags::empty())?)
}
