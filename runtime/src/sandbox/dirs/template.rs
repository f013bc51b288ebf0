//! The granted directories of a component, opened once and shared by its calls.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{FileType, OFlags, Stat};
use wasmtime_wasi::filesystem::Dir;
use wasmtime_wasi::{FsPerms, OpenMode};

use super::kernel::{self, Identity};
use super::links::{LinkedFiles, Names};
use super::state::Opened;
use crate::error::{Error, Result};
use crate::policy::{Access, DenySet, DirGrant, normal, split_literal};
use crate::sandbox::deadline::Watch;

/// The granted directories of one component in one access mode.
pub struct DirTemplate {
    pub(super) roots: Vec<Root>,
    pub(super) setting: Arc<str>,
    linked: LinkedFiles,
    locks: Vec<Arc<Mutex<()>>>,
    guarded: bool,
}

/// One granted directory.
pub(super) struct Root {
    /// wasmtime-wasi's descriptor of it, cloned for each call.
    pub(super) dir: Dir,
    pub(super) guest: Arc<str>,
    pub(super) perms: FsPerms,
    pub(super) deny: DenySet,
    /// False where it was taken away again: guests do not see it, and what it withholds stays withheld by any path.
    pub(super) is_visible: bool,
    identity: Identity,
}

/// What policy says about a place on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Inside a grant and not withheld.
    Granted,
    /// A folder above something withheld: it stays what and where it is.
    Above,
    /// Withheld.
    Denied,
    /// In no grant: it was moved out while the guest held it.
    Outside,
}

impl DirTemplate {
    /// Opens the directories. `setting` is the address of the list, `component.files.grant.dirs`: denials and errors
    /// name it.
    ///
    /// # Errors
    /// [`Error::Grant`] for whatever cannot work as a grant: a directory that is missing, not a directory or not
    /// readable, `~`, a guest path that is not absolute or is taken, a wrong `deny` pattern, a host without
    /// `openat2` or `/proc`.
    pub fn open(grants: &[DirGrant], setting: &str) -> Result<Arc<Self>> {
        let wrong = |message: String| Error::Grant { setting: setting.to_owned(), message };
        let mut roots: Vec<Root> = Vec::with_capacity(grants.len());
        for grant in grants {
            let root = Root::open(grant).map_err(wrong)?;
            if roots.iter().any(|other| other.guest == root.guest) {
                return Err(wrong(format!(
                    "two directories are seen as `{}`; give each its own `guest`",
                    root.guest
                )));
            }
            roots.push(root);
        }
        Ok(Self::of(roots, setting))
    }

    /// The same directories, as far as `grants` still has them, in the same or a narrower way. None is opened again: a
    /// name on the host may have come to mean another directory since, and a tool may have seen to that.
    ///
    /// # Errors
    /// [`Error::Grant`] when a pattern is wrong.
    pub fn narrowed(&self, grants: &[DirGrant]) -> Result<Arc<Self>> {
        let wrong = |message: String| Error::Grant { setting: self.setting.to_string(), message };
        let mut roots = Vec::new();
        for root in &self.roots {
            let grant =
                grants.iter().find(|grant| guest_path(&grant.guest).is_ok_and(|path| path == root.guest));
            roots.push(match grant {
                Some(grant) => root.narrowed(grant).map_err(wrong)?,
                None => root.hidden().map_err(wrong)?,
            });
        }
        Ok(Self::of(roots, &format!("the session's narrowing, or {}", self.setting)))
    }

    fn of(roots: Vec<Root>, setting: &str) -> Arc<Self> {
        let guarded = roots.iter().any(|root| !root.deny.is_empty());
        let writable = roots.iter().any(|root| root.is_visible && root.perms == FsPerms::ReadWrite);
        let locks = if guarded && writable { device_locks(&roots) } else { Vec::new() };
        Arc::new(Self { roots, setting: setting.into(), linked: LinkedFiles::default(), locks, guarded })
    }

    /// Whether no directory is granted.
    pub fn is_empty(&self) -> bool {
        !self.roots.iter().any(|root| root.is_visible)
    }

    /// Whether any grant withholds something, so that real places must be looked at.
    pub(super) fn is_guarded(&self) -> bool {
        self.guarded
    }

    /// Keeps every other call that could change names on these file systems out, between a check and the change that
    /// it allowed. Only where something is withheld: elsewhere a race has nothing to win.
    pub(super) fn lock(&self) -> Vec<MutexGuard<'_, ()>> {
        self.locks.iter().map(|lock| lock.lock().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    /// Where the granted directories are at this moment.
    pub(super) fn bases(self: &Arc<Self>) -> io::Result<Bases> {
        let paths = self.roots.iter().map(|root| kernel::real_path(root.dir())).collect::<io::Result<_>>()?;
        Ok(Bases { template: Arc::clone(self), paths })
    }

    /// Whether a regular file of several names is withheld under one of them.
    pub(super) fn names_of(&self, stat: &Stat, watch: &Watch) -> Names {
        let several = stat.st_nlink > 1 && kernel::file_type(stat) == FileType::RegularFile;
        if !several || !self.guarded {
            return Names::Free;
        }
        self.linked.names_of(&self.roots, kernel::identity(stat), watch)
    }

    /// The grant whose guest path `path` (absolute, as a guest writes it) lies in, and the rest of `path`.
    pub(super) fn find<'p>(&self, path: &'p str) -> Option<(usize, &'p str)> {
        let inside = |root: &Root| {
            let rest = path.strip_prefix(root.guest.trim_end_matches('/'))?;
            (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
        };
        let found = self.roots.iter().enumerate().filter(|(_, root)| root.is_visible);
        let found = found.filter_map(|(index, root)| Some((index, inside(root)?)));
        found.min_by_key(|(_, rest)| rest.len())
    }
}

/// The host paths of all granted directories, read once for the checks of one operation.
pub(super) struct Bases {
    template: Arc<DirTemplate>,
    paths: Vec<PathBuf>,
}

impl Bases {
    /// Whether a regular file of several names is withheld under one of them.
    pub(super) fn names_of(&self, stat: &Stat, watch: &Watch) -> Names {
        self.template.names_of(stat, watch)
    }

    /// What policy says about the host path `host`, by every grant that contains it: grants may overlap, and what one
    /// withholds stays withheld through another.
    pub(super) fn standing(&self, host: &Path) -> Standing {
        // The kernel marks the path of a removed file; the mark is also a possible name, so both readings are asked.
        let removed = host.as_os_str().as_bytes().strip_suffix(b" (deleted)");
        match removed {
            None => self.standing_of(host),
            Some(path) => {
                let path = PathBuf::from(std::ffi::OsString::from_vec(path.to_vec()));
                self.standing_of(host).stricter(self.standing_of(&path))
            }
        }
    }

    fn standing_of(&self, host: &Path) -> Standing {
        let (mut is_inside, mut is_above) = (false, false);
        for (base_root, relative) in self.inside(host) {
            is_inside |= base_root.is_visible;
            for root in self.template.roots.iter().filter(|root| root.identity == base_root.identity) {
                if root.deny.denies(relative) {
                    return Standing::Denied;
                }
                is_above |= root.deny.names_above(relative);
            }
        }
        match (is_inside, is_above) {
            (false, _) => Standing::Outside,
            (true, true) => Standing::Above,
            (true, false) => Standing::Granted,
        }
    }

    /// Whether something below the host path could be withheld.
    pub(super) fn reaches_below(&self, host: &Path) -> bool {
        self.inside(host).any(|(base_root, relative)| {
            let same = self.template.roots.iter().filter(|root| root.identity == base_root.identity);
            same.into_iter().any(|root| root.deny.reaches_below(relative))
        }) || self.paths.iter().any(|base| base.starts_with(host))
    }

    /// The path relative to each granted directory that it lies in.
    fn inside<'p>(&'p self, host: &'p Path) -> impl Iterator<Item = (&'p Root, &'p Path)> {
        let pairs = self.template.roots.iter().zip(&self.paths);
        pairs.filter_map(move |(root, base)| Some((root, host.strip_prefix(base).ok()?)))
    }

    /// Where `opened` is, if it is a granted directory itself.
    pub(super) fn of_root(&self, opened: &Opened) -> Option<&Path> {
        let root = self.template.roots.get(opened.grant)?;
        let path = self.paths.get(opened.grant)?;
        Arc::ptr_eq(root.dir(), &opened.file).then_some(path.as_path())
    }

    /// How many folders below the root of grant `index` the host path lies; none if it is not below.
    pub(super) fn depth(&self, index: usize, host: &Path) -> Option<usize> {
        Some(host.strip_prefix(self.paths.get(index)?).ok()?.components().count())
    }
}

impl Standing {
    fn stricter(self, other: Self) -> Self {
        let rank = |standing| match standing {
            Self::Outside => 0,
            Self::Granted => 1,
            Self::Above => 2,
            Self::Denied => 3,
        };
        if rank(self) >= rank(other) { self } else { other }
    }
}

impl Root {
    fn open(grant: &DirGrant) -> Result<Self, String> {
        let host = grant.host.display();
        let guest = guest_path(&grant.guest)?;
        if grant.host.starts_with("~") {
            return Err(format!("`{host}`: `~` is not expanded; write the whole path"));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir =
            rustix::fs::open(&grant.host, flags, rustix::fs::Mode::empty()).map_err(|error| match error {
                rustix::io::Errno::NOENT => {
                    format!("the directory `{host}` does not exist; create it or remove the entry")
                }
                rustix::io::Errno::NOTDIR => {
                    format!("`{host}` is not a directory; grant the folder that it lies in")
                }
                error => format!("the directory `{host}` cannot be opened: {error}"),
            })?;
        let dir = File::from(dir);
        let stat = rustix::fs::fstat(&dir)
            .map_err(|error| format!("the directory `{host}` cannot be read: {error}"))?;
        let identity = kernel::identity(&stat);
        kernel::open_beneath(&dir, ".", OFlags::PATH).map_err(|error| {
            format!("`{host}` cannot be confined, which takes Linux 5.6 or newer and openat2: {error}")
        })?;
        let seen = kernel::real_path(&dir).and_then(|path| Ok(kernel::identity(&rustix::fs::stat(&path)?)));
        if seen.ok() != Some(identity) {
            return Err(format!("`{host}` cannot be confined: /proc is not mounted, or hides this process"));
        }
        let deny = compile_deny(&dir, &grant.deny).map_err(|error| format!("`deny`: {error}"))?;
        let perms = match grant.access {
            Access::Read => FsPerms::ReadOnly,
            Access::ReadWrite => FsPerms::ReadWrite,
        };
        let mode =
            if perms == FsPerms::ReadWrite { OpenMode::READ | OpenMode::WRITE } else { OpenMode::READ };
        Ok(Self { dir: Dir::new(dir, perms, mode, true), guest, perms, deny, is_visible: true, identity })
    }

    /// The same open directory with what `grant` leaves of it. What was withheld before stays so, by the places that
    /// its patterns led to then.
    fn narrowed(&self, grant: &DirGrant) -> Result<Self, String> {
        let mut patterns = self.deny.patterns().to_vec();
        let added: Vec<String> =
            grant.deny.iter().filter(|pattern| !patterns.contains(pattern)).cloned().collect();
        patterns.extend(with_real_places(self.dir(), &added).map_err(|error| format!("`deny`: {error}"))?);
        let mut dir = self.dir.clone();
        let mut perms = self.perms;
        if grant.access == Access::Read {
            perms = FsPerms::ReadOnly;
            (dir.perms, dir.open_mode) = (perms, OpenMode::READ);
        }
        let deny = DenySet::compile(&patterns)?;
        let guest = Arc::clone(&self.guest);
        Ok(Self { dir, guest, perms, deny, is_visible: self.is_visible, identity: self.identity })
    }

    /// The same, out of the guest's sight.
    fn hidden(&self) -> Result<Self, String> {
        Ok(Self {
            dir: self.dir.clone(),
            guest: Arc::clone(&self.guest),
            perms: self.perms,
            deny: DenySet::compile(self.deny.patterns())?,
            is_visible: false,
            identity: self.identity,
        })
    }

    /// The open directory.
    pub(super) fn dir(&self) -> &Arc<File> {
        &self.dir.dir
    }
}

/// Compiles `deny`; where the plain names that a pattern begins with lead through links, also for where they lead.
fn compile_deny(dir: &File, written: &[String]) -> Result<DenySet, String> {
    DenySet::compile(&with_real_places(dir, written)?)
}

fn with_real_places(dir: &File, written: &[String]) -> Result<Vec<String>, String> {
    let mut patterns = written.to_vec();
    for pattern in written {
        let (literal, rest) = split_literal(&normal(pattern)?);
        if let Some(resolved) = resolved(dir, &literal) {
            let mut pattern = globset::escape(&resolved);
            if !rest.is_empty() {
                pattern = format!("{pattern}/{rest}");
            }
            patterns.push(pattern);
        }
    }
    Ok(patterns)
}

/// Where `path` really is, relative to `dir`, if that is another place inside.
fn resolved(dir: &File, path: &str) -> Option<String> {
    let fd = kernel::open_beneath(dir, path, OFlags::PATH).ok()?;
    let host = kernel::real_path(&fd).ok()?;
    let relative = host.strip_prefix(kernel::real_path(dir).ok()?).ok()?.to_str()?;
    (relative != path && !relative.is_empty()).then(|| relative.to_owned())
}

/// The guest's path of a grant: absolute, without `.`, double or final slashes.
fn guest_path(written: &str) -> Result<Arc<str>, String> {
    let path = Path::new(written);
    let plain =
        path.components().all(|component| matches!(component, Component::RootDir | Component::Normal(_)));
    if !path.is_absolute() || !plain || written.chars().any(char::is_control) {
        return Err(format!(
            "the guest path `{}` is not absolute and plain; write for example `/work`",
            written.escape_debug()
        ));
    }
    let names: Vec<&str> = written.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    Ok(format!("/{}", names.join("/")).into())
}

/// One lock for each file system in the process, in the order of their numbers so that nobody waits in a circle.
fn device_locks(roots: &[Root]) -> Vec<Arc<Mutex<()>>> {
    static LOCKS: Mutex<BTreeMap<u64, Arc<Mutex<()>>>> = Mutex::new(BTreeMap::new());
    let mut devices: Vec<u64> = roots.iter().map(|root| root.identity.0).collect();
    devices.sort_unstable();
    devices.dedup();
    let mut locks = LOCKS.lock().unwrap_or_else(PoisonError::into_inner);
    devices.into_iter().map(|device| Arc::clone(locks.entry(device).or_default())).collect()
}
