//! Writing the audit: one write of one line a call, and no call without.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use rustix::fs::OFlags;

use super::chain::{Chain, Hash};
use super::read::ENDING;
use super::record::{Record, timestamp};
use super::resume::resume;
use crate::config::{Audit, Detail, Folders, Place, ensure_private};
use crate::error::{Error, Result};

/// The audit of one runtime. Nothing is created before the first call.
pub(crate) struct AuditLog {
    place: Place,
    /// The folder or file that was set.
    path: PathBuf,
    /// Tells this log's lines from those of others.
    id: String,
    detail: Detail,
    fsync: bool,
    chain: Chain,
    state: Mutex<State>,
}

enum State {
    Unopened,
    Open(Writer),
    /// A line could not be written: the next one could not follow it.
    Broken {
        path: PathBuf,
        reason: String,
    },
}

/// The one file of this log.
struct Writer {
    file: File,
    path: PathBuf,
    head: Hash,
    /// The file's length, as far as this process wrote it: nobody else may.
    length: u64,
}

impl std::fmt::Debug for AuditLog {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("AuditLog").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Audit {
    /// Makes the log of these settings; its file is created or taken up by the first call, or by [`AuditLog::ready`].
    ///
    /// # Errors
    /// When the key cannot be had, or the operating system gives no random bytes.
    pub(crate) fn open(&self, folders: &Folders) -> Result<AuditLog> {
        let key = self.key.as_ref().map(crate::config::Key::read).transpose()?;
        Ok(AuditLog {
            place: self.place.clone(),
            path: self.path(folders).into_owned(),
            id: format!("{:016x}", u64::from_ne_bytes(random()?)),
            detail: self.arguments,
            fsync: self.fsync,
            chain: Chain::new(key.as_deref()),
            state: Mutex::new(State::Unopened),
        })
    }
}

impl AuditLog {
    /// To be asked before a call runs: takes up the file the first time.
    ///
    /// # Errors
    /// When lines cannot be written: no call is to be made then. A file that could not be taken up is tried again, one
    /// to which a line could not be written, that was removed, or that others have changed is not.
    pub fn ready(&self) -> Result<()> {
        let mut state = self.lock();
        match self.writer(&mut state)?.check() {
            Ok(()) => Ok(()),
            Err(error) => self.break_off(&mut state, &error),
        }
    }

    /// Records a call that has ended. When this returns, the operating system has the line, and with `fsync` the disk.
    ///
    /// # Errors
    /// When the line could not be written, and from then on always.
    pub fn write(&self, record: &Record<'_>) -> Result<()> {
        let body = record.body(&self.id, self.detail, &self.chain);
        let mut state = self.lock();
        let writer = self.writer(&mut state)?;
        let written =
            body.map_err(io::Error::other).and_then(|body| writer.append(&body, &self.chain, self.fsync));
        match written {
            Ok(()) => Ok(()),
            Err(error) => self.break_off(&mut state, &error),
        }
    }

    /// Writes nothing more, since what it wrote would have a gap.
    fn break_off(&self, state: &mut State, error: &io::Error) -> Result<()> {
        let path = self.writer(state)?.path.clone();
        *state = State::Broken { path, reason: error.to_string() };
        self.writer(state).map(drop)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writer<'s>(&self, state: &'s mut State) -> Result<&'s mut Writer> {
        if matches!(state, State::Unopened) {
            *state = State::Open(self.take_up()?);
        }
        match state {
            State::Open(writer) => Ok(writer),
            State::Broken { path, reason } => {
                let message =
                    format!("a line could not be written ({reason}); no call is made without its line");
                Err(Error::Audit { path: path.clone(), message })
            }
            State::Unopened => Err(refused(&self.path, "cannot be opened")),
        }
    }

    fn take_up(&self) -> Result<Writer> {
        let path = match &self.place {
            Place::File(path) => {
                if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                    let mut folders = std::fs::DirBuilder::new();
                    folders.recursive(true).mode(0o700);
                    folders.create(folder).map_err(Error::file("create", folder))?;
                }
                path.clone()
            }
            Place::Default | Place::Folder(_) => {
                ensure_private(&self.path)?;
                self.path.join(file_name()?)
            }
        };
        let mut writer = open(&path, matches!(self.place, Place::File(_)))?;
        if writer.metadata().map_err(Error::file("read", &path))?.len() == 0 && self.fsync {
            let folder = path.parent().unwrap_or(Path::new("."));
            // The name of a new file is on the disk only with its folder.
            let synced = File::open(folder).and_then(|folder| folder.sync_all());
            synced.map_err(Error::file("sync", folder))?;
        }
        let length = writer.metadata().map_err(Error::file("read", &path))?.len();
        let resumed = resume(&writer, length, &self.chain).map_err(Error::file("read", &path))?;
        let resumed = resumed.map_err(|reason| {
            let message = format!(
                "cannot be continued: {reason}; look at it with `toolcell audit verify`, and move it away"
            );
            refused(&path, message)
        })?;
        let mut head = resumed.head;
        let mut length = length;
        if let Some((bytes, hash)) = resumed.mend {
            writer.write_all(bytes.as_bytes()).map_err(Error::file("write", &path))?;
            length = length.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
            head = hash;
        }
        Ok(Writer { file: writer, path, head, length })
    }
}

impl Writer {
    fn append(&mut self, body: &str, chain: &Chain, fsync: bool) -> io::Result<()> {
        self.check()?;
        let (line, hash) = chain.seal(body, self.head);
        let written = loop {
            match self.file.write(line.as_bytes()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                written => break written?,
            }
        };
        if written < line.len() {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "only a part of it found room"));
        }
        if fsync {
            self.file.sync_data()?;
        }
        self.head = hash;
        self.length = self.length.saturating_add(u64::try_from(written).unwrap_or(u64::MAX));
        Ok(())
    }

    /// Whether the file still has a name and ends where this process's last line does.
    fn check(&self) -> io::Result<()> {
        let metadata = self.file.metadata()?;
        if metadata.nlink() == 0 {
            return Err(io::Error::other("the file was removed"));
        }
        if metadata.len() != self.length {
            return Err(io::Error::other("another program wrote to the file or cut it"));
        }
        Ok(())
    }
}

fn refused(path: &Path, message: impl Into<String>) -> Error {
    Error::Audit { path: path.to_owned(), message: message.into() }
}

/// A name that no other process chooses, and that sorts by time: `20260401T121314.567Z-4711-9f86d081.jsonl`.
fn file_name() -> Result<String> {
    let time = timestamp(SystemTime::now()).replace(['-', ':'], "");
    let random = u32::from_ne_bytes(random()?);
    Ok(format!("{time}-{}-{random:08x}.{ENDING}", std::process::id()))
}

fn random<const BYTES: usize>() -> Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::Sandbox { message: format!("no random bytes: {error}") })?;
    Ok(bytes)
}

/// Opens the file for appending, for its owner alone, and keeps every other log out until it is closed.
fn open(path: &Path, may_exist: bool) -> Result<File> {
    // A link in a folder that others may write to could lead to any file; a FIFO would make this wait.
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or_default();
    let mut options = OpenOptions::new();
    options.read(true).append(true).mode(0o600).custom_flags(flags);
    options.create(may_exist).create_new(!may_exist);
    let file = options.open(path).map_err(|error| match error.raw_os_error() {
        Some(code) if code == rustix::io::Errno::LOOP.raw_os_error() => {
            refused(path, "is a symbolic link; name the file that it leads to")
        }
        _ => Error::file("open", path)(error),
    })?;
    let metadata = file.metadata().map_err(Error::file("read", path))?;
    if !metadata.is_file() {
        return Err(refused(path, "is no regular file"));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(refused(path, "belongs to another user"));
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(refused(path, "others may write to it; run `chmod go-w` on it"));
    }
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(refused(
            path,
            "another process writes to it; set `folder` in place of `file`, and each process has a file of its own",
        )),
        Err(std::fs::TryLockError::Error(error)) => Err(Error::file("lock", path)(error)),
    }
}
