//! Folders and files of the user's own, which nobody else writes and several processes share.

use std::fs::{DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Tens of thousands of entries; a longer file is not ours.
const MAX_BYTES: u64 = 16 << 20;

/// How long somebody waits for a lock while nobody changes the file: others hold it for the time that it takes to be written.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long somebody waits at most, though others change it all the time: in patiences.
const PATIENCES: u32 = 15;

/// How soon a waiting one looks again.
const LOOK: Duration = Duration::from_millis(5);

/// Creates `folder`, for its owner alone, unless it is there, and checks that nobody else can write in it.
///
/// # Errors
/// When it cannot be created, is no folder, belongs to another user, or others may write in it.
pub fn ensure_private(folder: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(Error::file("create", folder))?;
    let metadata = folder.metadata().map_err(Error::file("read", folder))?;
    private(&metadata).map_err(|message| {
        Error::file("use", folder)(io::Error::new(io::ErrorKind::PermissionDenied, message))
    })
}

fn private(metadata: &Metadata) -> Result<(), &'static str> {
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err("it belongs to another user");
    }
    if metadata.mode() & 0o022 != 0 {
        return Err("other users may write in it; run `chmod go-w` on it");
    }
    Ok(())
}

/// Opens whatever is there: a pipe in the place of a file would else keep its reader waiting for somebody who writes.
fn open_at_once(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.custom_flags(i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default()).open(path)
}

/// A JSON file in a private folder, replaced as a whole, with a version.
#[derive(Debug, Clone)]
pub(super) struct PrivateFile {
    path: PathBuf,
    /// What it means that the file cannot be used, in words.
    consequence: &'static str,
}

/// Why a file cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrong {
    Damaged,
    OtherVersion,
    OpenToOthers,
    NoFile,
}

impl Wrong {
    fn words(self) -> &'static str {
        match self {
            Self::Damaged => "it is damaged",
            Self::OtherVersion => "it is of another version",
            Self::OpenToOthers => "other users may have written it",
            Self::NoFile => "it is no regular file",
        }
    }
}

/// What every version of a file has.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

/// The only version of our files so far.
pub(super) const VERSION: u32 = 1;

impl PrivateFile {
    pub(super) fn new(path: impl Into<PathBuf>, consequence: &'static str) -> Self {
        Self { path: path.into(), consequence }
    }

    #[cfg(test)]
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Held by one process at a time, from reading to replacing; on a file of its own, since the file is replaced. Blocks
    /// for as long as others hold it, at most until nobody has changed the file for [`PATIENCE`].
    pub(super) fn lock(&self) -> Result<File> {
        self.lock_within(PATIENCE)
    }

    fn lock_within(&self, patience: Duration) -> Result<File> {
        let path = self.path.with_extension("lock");
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        let file = open_at_once(&mut options, &path).map_err(Error::file("create", &path))?;
        if !file.metadata().map_err(Error::file("read", &path))?.is_file() {
            return Err(Error::file("lock", &path)(io::Error::other(Wrong::NoFile.words())));
        }
        let begun = Instant::now();
        let (mut changed, mut file_then) = (begun, self.stamp());
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock)
                    if changed.elapsed() < patience && begun.elapsed() < patience * PATIENCES =>
                {
                    std::thread::sleep(LOOK);
                    let file_now = self.stamp();
                    if file_now != file_then {
                        (changed, file_then) = (Instant::now(), file_now);
                    }
                }
                Err(TryLockError::WouldBlock) => {
                    let waited = Duration::from_secs(begun.elapsed().as_secs()).max(patience);
                    let held = format!("others have held it for {}", humantime::format_duration(waited));
                    return Err(Error::file("lock", &path)(io::Error::new(io::ErrorKind::TimedOut, held)));
                }
                Err(TryLockError::Error(error)) => return Err(Error::file("lock", &path)(error)),
            }
        }
    }

    /// What changes when the file is replaced.
    fn stamp(&self) -> Option<(u64, i64, i64)> {
        let metadata = self.path.symlink_metadata().ok()?;
        Some((metadata.ino(), metadata.mtime(), metadata.mtime_nsec()))
    }

    /// The content; its default where there is no file.
    ///
    /// # Errors
    /// When the file cannot be read, is damaged, or others may have written it.
    pub(super) fn read<C: Default + DeserializeOwned>(&self) -> Result<C> {
        self.content()?.map_err(|wrong| self.unusable(wrong))
    }

    /// The content, or (inner) what is wrong with it.
    fn content<C: Default + DeserializeOwned>(&self) -> Result<std::result::Result<C, Wrong>> {
        let file = match open_at_once(OpenOptions::new().read(true), &self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Ok(C::default())),
            Err(error) => return Err(Error::file("read", &self.path)(error)),
        };
        let metadata = file.metadata().map_err(Error::file("read", &self.path))?;
        if !metadata.is_file() {
            return Ok(Err(Wrong::NoFile));
        }
        if private(&metadata).is_err() {
            return Ok(Err(Wrong::OpenToOthers));
        }
        let mut text = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut text).map_err(Error::file("read", &self.path))?;
        Ok(match serde_json::from_slice::<Versioned>(&text) {
            Err(_) => Err(Wrong::Damaged),
            Ok(found) if found.version != VERSION => Err(Wrong::OtherVersion),
            Ok(_) => serde_json::from_slice(&text).map_err(|_| Wrong::Damaged),
        })
    }

    /// What is wrong with the file, if something is.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn damage<C: Default + DeserializeOwned>(&self) -> Result<Option<Error>> {
        Ok(self.content::<C>()?.err().map(|wrong| self.unusable(wrong)))
    }

    /// The content to be changed by a call, under the lock: a damaged file is put aside, whole, and counts as empty.
    ///
    /// # Errors
    /// When the file cannot be read, is of another version, or others may have written it: it may still be of use.
    pub(super) fn read_or_put_damaged_aside<C: Default + DeserializeOwned>(&self) -> Result<C> {
        match self.content()? {
            Ok(content) => Ok(content),
            Err(Wrong::Damaged) => self.put_aside().map(|_| C::default()),
            Err(wrong) => Err(self.unusable(wrong)),
        }
    }

    /// The content to be changed by an operator's command, under the lock: a damaged file is put aside, so that what
    /// it held never holds again.
    pub(super) fn read_or_start_anew<C: Default + DeserializeOwned>(&self) -> Result<C> {
        match self.content()? {
            Ok(content) => Ok(content),
            Err(_) => self.put_aside().map(|_| C::default()),
        }
    }

    /// Puts a damaged file aside, under the lock, and says where; none if it is as it should be.
    pub(super) fn put_damaged_aside<C: Default + DeserializeOwned>(&self) -> Result<Option<PathBuf>> {
        match self.content::<C>()? {
            Ok(_) => Ok(None),
            Err(_) => self.put_aside().map(Some),
        }
    }

    /// Renames the file to `….damaged`, or with a number if there is one already.
    fn put_aside(&self) -> Result<PathBuf> {
        let name = |count: u32| match count {
            1 => "json.damaged".to_owned(),
            count => format!("json.damaged-{count}"),
        };
        let mut names = (1..=u32::MAX).map(|count| self.path.with_extension(name(count)));
        let aside = names.find(|aside| aside.symlink_metadata().is_err());
        let aside = aside.unwrap_or_else(|| self.path.with_extension("json.damaged"));
        std::fs::rename(&self.path, &aside).map_err(Error::file("rename", &self.path))?;
        Ok(aside)
    }

    /// Replaces the file, under the lock.
    pub(super) fn write(&self, content: &impl Serialize) -> Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let replace = || -> io::Result<()> {
            // The temporary file is created for its owner alone, and on the same file system.
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(&serde_json::to_vec_pretty(content)?)?;
            file.as_file().sync_all()?;
            file.persist(&self.path)?;
            Ok(())
        };
        replace().map_err(Error::file("write", &self.path))
    }

    fn unusable(&self, wrong: Wrong) -> Error {
        let message = format!("{}: {}", wrong.words(), self.consequence);
        Error::file("use", &self.path)(io::Error::new(io::ErrorKind::InvalidData, message))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_is_created_for_its_owner_alone() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("a/b");
        ensure_private(&folder).unwrap();
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        ensure_private(&folder).unwrap();
    }

    #[test]
    fn a_folder_that_others_may_write_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        for mode in [0o770, 0o707, 0o777, 0o1777] {
            let folder = scratch.path().join(format!("{mode:o}"));
            std::fs::create_dir(&folder).unwrap();
            std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).unwrap();
            let error = ensure_private(&folder).unwrap_err().to_string();
            assert!(error.contains("chmod go-w"), "{error}");
        }
        let file = scratch.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(ensure_private(&file).is_err());
    }

    #[test]
    fn a_lock_is_waited_for_no_longer_than_it_may_be() {
        let scratch = tempfile::tempdir().unwrap();
        let file = PrivateFile::new(scratch.path().join("a.json"), "");
        let held = file.lock().unwrap();
        let error = file.lock_within(Duration::from_millis(20)).unwrap_err().to_string();
        assert!(error.contains("others have held it for 20ms"), "{error}");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| file.lock_within(Duration::from_secs(60)).map(drop));
            drop(held);
            waiting.join().unwrap().unwrap();
        });
    }

    #[test]
    fn a_pipe_in_the_place_of_a_file_keeps_nobody_waiting() {
        let scratch = tempfile::tempdir().unwrap();
        for name in ["a.json", "a.lock"] {
            let path = scratch.path().join(name);
            let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
            rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        }
        let file = PrivateFile::new(scratch.path().join("a.json"), "");
        assert!(file.put_damaged_aside::<Vec<u8>>().unwrap().is_some(), "it can be put aside");
        std::fs::rename(scratch.path().join("a.json.damaged"), scratch.path().join("a.json")).unwrap();
        assert!(file.read::<Vec<u8>>().unwrap_err().to_string().contains("no regular file"));
        // Without a reader it cannot be opened for writing, with one it is still no file.
        assert!(file.lock().is_err());
        let lock = scratch.path().join("a.lock");
        let _reader = open_at_once(OpenOptions::new().read(true), &lock).unwrap();
        assert!(file.lock().unwrap_err().to_string().contains("no regular file"));
    }
}
