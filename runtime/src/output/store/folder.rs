//! Outputs as files of one folder, which several processes may share.

use std::ffi::OsString;
use std::io::{self, BufReader, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};

use super::Quota;
use super::room::{Held, giving_way};
use crate::error::{Error, Result};
use crate::output::StoredOutput;
use crate::output::handle::random_hex;

/// Names of files that are being written. A process that dies leaves one behind.
const UNFINISHED: &str = ".new-";

/// No write takes this long: what is still unfinished then belongs to a process that died.
const UNFINISHED_AGE: Duration = Duration::from_hours(1);

/// How long the sum of the files' sizes is believed without looking again. Other processes may exceed the quota by
/// what they write in this time; in return a write does not read the attributes of every file.
const TOTAL_AGE: Duration = Duration::from_secs(10);

/// A folder that only its owner can write to.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    dir: Dir,
    total: Mutex<Option<Total>>,
}

/// What the files had together when they were last looked at, and what was written since.
#[derive(Debug)]
struct Total {
    seen: Instant,
    bytes: u64,
}

impl Folder {
    pub(super) fn open(path: &Path) -> Result<Self> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(Error::file("create", path))?;
        let dir = Dir::open_ambient_dir(path, ambient_authority()).map_err(Error::file("open", path))?;
        // Of the open directory, not of the path: nobody can exchange it in between.
        let metadata = dir.dir_metadata().map_err(Error::file("read", path))?;
        check_owner(path, &metadata)?;
        Ok(Self { path: path.to_owned(), dir, total: Mutex::new(None) })
    }

    pub(super) fn put(&self, name: &str, owner: &str, bytes: &[u8], quota: Quota) -> Result<()> {
        self.make_room(owner, bytes.len() as u64, quota)?;
        let unfinished = format!("{UNFINISHED}{}", random_hex()?);
        let written = self
            .write(&unfinished, bytes)
            .and_then(|()| self.dir.rename(&unfinished, &self.dir, format!("{name}-{owner}")));
        if let Err(error) = written {
            // Nothing more can be done about a file that cannot be removed; the next sweeps try again.
            let _ = self.dir.remove_file(&unfinished);
            return Err(Error::file("write an output to", &self.path)(error));
        }
        Ok(())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        self.dir.open_with(name, &options)?.write_all(bytes)
    }

    pub(super) fn open_output(&self, name: &str, quota: Quota) -> Result<Option<StoredOutput>> {
        let unread = || Error::file("read an output in", &self.path);
        let Some(name) = self.find(name).map_err(unread())? else { return Ok(None) };
        let file = match self.dir.open(name) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unread()(error)),
        };
        let metadata = file.metadata().map_err(unread())?;
        if !metadata.is_file() || age(&metadata) > quota.age {
            return Ok(None);
        }
        Ok(Some(StoredOutput::new(BufReader::new(file), metadata.len())))
    }

    /// Removes what is too old and what has to make room for `incoming` bytes of `owner`.
    fn make_room(&self, owner: &str, incoming: u64, quota: Quota) -> Result<()> {
        let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(total) = &mut *total {
            let expected = total.bytes.saturating_add(incoming);
            if total.seen.elapsed() < TOTAL_AGE && expected <= quota.bytes {
                total.bytes = expected;
                return Ok(());
            }
        }
        // Until it is done nobody knows.
        *total = None;
        let failed = |error: io::Error| Error::file("read", &self.path)(error);
        let held = self.fresh(quota.age).map_err(failed)?;
        let before: u64 = held.iter().map(|one| one.bytes).sum();
        let mut left = before;
        for (name, bytes) in giving_way(held, owner, incoming, quota.bytes) {
            self.remove(&name).map_err(failed)?;
            left = left.saturating_sub(bytes);
        }
        *total = Some(Total { seen: Instant::now(), bytes: left.saturating_add(incoming) });
        Ok(())
    }

    /// The files that are not too old, the oldest first, once the others are removed.
    fn fresh(&self, max_age: Duration) -> io::Result<Vec<Held<(OsString, u64)>>> {
        let mut files = Vec::new();
        for entry in self.dir.entries()? {
            let entry = entry?;
            // Another process may have removed it meanwhile.
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_file() {
                files.push((age(&metadata), metadata.len(), entry.file_name()));
            }
        }
        files.sort_by_key(|(age, ..)| std::cmp::Reverse(*age));
        let mut held = Vec::new();
        for (age, bytes, name) in files {
            let text = name.to_string_lossy();
            let is_unfinished = text.starts_with(UNFINISHED);
            if age > if is_unfinished { UNFINISHED_AGE } else { max_age } {
                self.remove(&name)?;
            } else if !is_unfinished {
                let owner = text.rsplit_once('-').map(|(_, owner)| owner.to_owned()).unwrap_or_default();
                held.push(Held { key: (name, bytes), owner, bytes });
            }
        }
        Ok(held)
    }

    fn remove(&self, name: &OsString) -> io::Result<()> {
        match self.dir.remove_file(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The file of an output, whoever its owner is.
    fn find(&self, name: &str) -> io::Result<Option<OsString>> {
        for entry in self.dir.entries()? {
            let found = entry?.file_name();
            if found.to_string_lossy().split_once('-').is_some_and(|(output, _)| output == name) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

/// Time since the last write; a clock that was set back makes a file new, not old.
fn age(metadata: &Metadata) -> Duration {
    metadata.modified().ok().and_then(|modified| modified.into_std().elapsed().ok()).unwrap_or_default()
}

/// Others who can write to the folder could plant outputs, or links in their place.
fn check_owner(path: &Path, metadata: &Metadata) -> Result<()> {
    let refuse = |message: &str| Error::Output(format!("{}: {message}", path.display()));
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(refuse("the folder for outputs belongs to another user; set another one"));
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(refuse("others may write to the folder for outputs; run `chmod go-w` on it"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test may panic")]
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::output::OutputStore;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn folder_and_files_are_the_owners_alone() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("outputs");
        let store = OutputStore::in_folder(&path).unwrap();
        let handle = store.put("s", b"secret").unwrap();
        assert_eq!(mode(&path), 0o700);
        let files: Vec<_> = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap()).collect();
        assert_eq!(files.len(), 1);
        assert_eq!(mode(&files[0].path()), 0o600);
        assert!(!handle.as_str().contains(&files[0].file_name().to_string_lossy()[..8]));
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_refused() {
        let base = tempfile::tempdir().unwrap();
        for (mode, accepted) in [(0o777, false), (0o770, false), (0o702, false), (0o755, true), (0o700, true)]
        {
            std::fs::set_permissions(base.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            let opened = OutputStore::in_folder(base.path());
            assert_eq!(opened.is_ok(), accepted, "{mode:o}");
            if let Err(error) = opened {
                assert!(error.to_string().contains("chmod go-w"), "{error}");
            }
        }
    }

    #[test]
    fn a_file_in_place_of_the_folder_is_an_error() {
        let base = tempfile::tempdir().unwrap();
        std::fs::write(base.path().join("file"), "").unwrap();
        assert!(OutputStore::in_folder(base.path().join("file")).is_err());
    }

    #[test]
    fn a_link_planted_in_the_folder_does_not_lead_out() {
        let base = tempfile::tempdir().unwrap();
        let store = OutputStore::in_folder(base.path().join("outputs")).unwrap();
        let handle = store.put("s", b"mine").unwrap();
        let file = std::fs::read_dir(base.path().join("outputs")).unwrap().next().unwrap().unwrap().path();
        std::fs::write(base.path().join("outside"), "outside").unwrap();
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink(base.path().join("outside"), &file).unwrap();
        assert!(store.open("s", &handle).is_err());
    }

    #[test]
    fn two_stores_share_a_folder_while_both_evict() {
        let base = tempfile::tempdir().unwrap();
        let stores = [(); 2].map(|()| OutputStore::in_folder(base.path()).unwrap().max_bytes(2000));
        std::thread::scope(|scope| {
            for store in &stores {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let handle = store.put("s", &[b'x'; 500]).unwrap();
                        if let Ok(output) = store.open("s", &handle) {
                            assert_eq!(output.length(), 500);
                        }
                    }
                });
            }
        });
        let handle = stores[0].put("s", b"last").unwrap();
        assert!(stores[1].open("s", &handle).is_ok());
        let names = std::fs::read_dir(base.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(names.into_iter().all(|name| name.len() == 64 + 1 + 16));
    }

    #[test]
    fn what_a_dead_process_left_unfinished_is_removed_in_time() {
        let base = tempfile::tempdir().unwrap();
        let (old, new) = (base.path().join(".new-old"), base.path().join(".new-new"));
        for path in [&old, &new] {
            std::fs::write(path, "half").unwrap();
        }
        let past = std::time::SystemTime::now() - 2 * UNFINISHED_AGE;
        std::fs::File::options().write(true).open(&old).unwrap().set_modified(past).unwrap();
        OutputStore::in_folder(base.path()).unwrap().put("s", b"x").unwrap();
        assert!(!old.exists() && new.exists());
    }
}
