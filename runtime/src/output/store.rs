//! Full outputs, kept for whoever wants the part that was cut.

use std::path::Path;
#[cfg(feature = "http")]
use std::sync::Arc;
use std::time::Duration;

use folder::Folder;
use memory::Memory;

use super::handle::owner_label;
use super::{Handle, StoredOutput};
use crate::error::{Error, Result};
#[cfg(feature = "http")]
use crate::shared::SharedStore;

mod folder;
mod memory;
mod room;

/// What a store keeps at most.
#[derive(Debug, Clone, Copy)]
struct Quota {
    bytes: u64,
    age: Duration,
}

/// Keeps full outputs under handles that cannot be guessed, each readable only in the session that stored it.
///
/// When the quota is reached, the oldest go first of whoever has most of it, a user or a session that has none; what is older
/// than the age goes always. Several processes may use one folder at once: an output is there whole or not at all, and may
/// be removed by any of them.
#[derive(Debug)]
pub struct OutputStore {
    place: Place,
    quota: Quota,
}

#[derive(Debug)]
enum Place {
    Folder(Folder),
    Memory(Memory),
    #[cfg(feature = "http")]
    Shared(Arc<SharedStore>),
}

impl OutputStore {
    /// A store in `folder`, which is created, readable by its owner only, if it is not there. Keeps 256 MiB and
    /// 7 days.
    ///
    /// Refuses a folder that belongs to someone else, or that others may write to.
    pub fn in_folder(folder: impl AsRef<Path>) -> Result<Self> {
        let place = Place::Folder(Folder::open(folder.as_ref())?);
        Ok(Self { place, quota: Quota { bytes: 256 << 20, age: Duration::from_hours(7 * 24) } })
    }

    /// A store that ends with the process. Keeps 32 MiB and 7 days.
    pub fn in_memory() -> Self {
        let quota = Quota { bytes: 32 << 20, age: Duration::from_hours(7 * 24) };
        Self { place: Place::Memory(Memory::default()), quota }
    }

    /// A store that other instances share, which bounds what it keeps altogether. Keeps outputs of 32 MiB each, for a day.
    #[cfg(feature = "http")]
    pub fn shared(store: Arc<SharedStore>) -> Self {
        Self { place: Place::Shared(store), quota: Quota { bytes: 32 << 20, age: Duration::from_hours(24) } }
    }

    /// Sets the bytes that are kept, of all sessions together.
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.quota.bytes = bytes;
        self
    }

    /// Sets how long an output is kept.
    #[must_use]
    pub fn max_age(mut self, age: Duration) -> Self {
        self.quota.age = age;
        self
    }

    /// Whether what is asked of it waits for another machine, a few seconds at most.
    pub(crate) fn waits(&self) -> bool {
        match self.place {
            Place::Folder(_) | Place::Memory(_) => false,
            #[cfg(feature = "http")]
            Place::Shared(_) => true,
        }
    }

    /// Stores an output of `session` and makes room for it if need be. Fails if it alone exceeds the quota. A shared store
    /// is waited for, a few seconds at most, as by [`open`](Self::open).
    pub fn put(&self, session: &str, bytes: &[u8]) -> Result<Handle> {
        self.put_for(session, session, bytes)
    }

    /// The same on behalf of `owner`, whose outputs of all sessions count together.
    pub(crate) fn put_for(&self, owner: &str, session: &str, bytes: &[u8]) -> Result<Handle> {
        if bytes.len() as u64 > self.quota.bytes {
            return Err(Error::Output(format!(
                "an output of {} bytes is larger than the output store's {} bytes",
                bytes.len(),
                self.quota.bytes
            )));
        }
        let handle = Handle::random()?;
        let name = handle.file_name(session);
        match &self.place {
            Place::Folder(folder) => folder.put(&name, &owner_label(owner), bytes, self.quota)?,
            Place::Memory(memory) => memory.put(name, owner_label(owner), bytes, self.quota),
            #[cfg(feature = "http")]
            Place::Shared(store) => {
                store
                    .set(&format!("output:{name}"), bytes, self.quota.age)
                    .map_err(|error| unshared(&error))?;
            }
        }
        Ok(handle)
    }

    /// Opens an output. Another session's, a removed one and one that never was give the same error.
    pub fn open(&self, session: &str, handle: &Handle) -> Result<StoredOutput> {
        let name = handle.file_name(session);
        let found = match &self.place {
            Place::Folder(folder) => folder.open_output(&name, self.quota)?,
            Place::Memory(memory) => memory.open_output(&name, self.quota),
            #[cfg(feature = "http")]
            Place::Shared(store) => {
                let found = store.get(&format!("output:{name}")).map_err(|error| unshared(&error))?;
                found.map(|bytes| {
                    let length = bytes.len() as u64;
                    StoredOutput::new(std::io::Cursor::new(bytes), length)
                })
            }
        };
        found.ok_or_else(|| {
            Error::Output(format!(
                "no output {handle} in this session: it may have been removed for age or room, or belong to another session"
            ))
        })
    }
}

#[cfg(feature = "http")]
fn unshared(error: &std::io::Error) -> Error {
    Error::Output(format!("the store that instances share cannot be used: {error}"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test may panic")]
    use std::fs::File;
    use std::time::SystemTime;

    use super::*;

    fn read(store: &OutputStore, session: &str, handle: &Handle) -> Option<String> {
        let mut out = Vec::new();
        store.open(session, handle).ok()?.bytes(0..u64::MAX, &mut out).unwrap();
        Some(String::from_utf8(out).unwrap())
    }

    /// A store and a way to make one of its outputs older, where the order of writing does not make it so.
    struct Fixture {
        store: OutputStore,
        folder: Option<tempfile::TempDir>,
    }

    impl Fixture {
        fn make_older(&self, handle: &Handle, seconds: u64) {
            let Some(folder) = &self.folder else { return };
            let name = format!("{}-{}", handle.file_name("s"), owner_label("s"));
            let path = folder.path().join("deep/outputs").join(name);
            let time = SystemTime::now() - Duration::from_secs(seconds);
            File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        }
    }

    fn each_place(quota: Quota, test: impl Fn(&Fixture)) {
        let folder = tempfile::tempdir().unwrap();
        let stores =
            [OutputStore::in_folder(folder.path().join("deep/outputs")).unwrap(), OutputStore::in_memory()];
        for (store, folder) in stores.into_iter().zip([Some(folder), None]) {
            test(&Fixture { store: store.max_bytes(quota.bytes).max_age(quota.age), folder });
        }
    }

    const HOUR: Duration = Duration::from_hours(1);

    #[test]
    fn an_output_is_read_by_its_session_only() {
        each_place(Quota { bytes: 1000, age: HOUR }, |Fixture { store, .. }| {
            let handle = store.put("one", b"full output").unwrap();
            assert_eq!(read(store, "one", &handle).as_deref(), Some("full output"));
            assert_eq!(store.open("one", &handle).unwrap().length(), 11);
            assert_eq!(read(store, "two", &handle), None);
            assert_eq!(read(store, "", &handle), None);
            assert_eq!(read(store, "one", &Handle::random().unwrap()), None);
        });
    }

    #[test]
    fn the_oldest_go_first_when_the_quota_is_reached() {
        each_place(Quota { bytes: 1000, age: HOUR }, |fixture| {
            let store = &fixture.store;
            let handles: Vec<Handle> = (0..5)
                .map(|number| {
                    let handle = store.put("s", &[b'x'; 300]).unwrap();
                    fixture.make_older(&handle, 100 - number);
                    handle
                })
                .collect();
            let there: Vec<bool> = handles.iter().map(|handle| read(store, "s", handle).is_some()).collect();
            assert_eq!(there, [false, false, true, true, true]);
        });
    }

    #[test]
    fn what_one_stores_takes_nothing_from_who_has_less() {
        each_place(Quota { bytes: 1000, age: HOUR }, |Fixture { store, .. }| {
            let own = store.put_for("ada", "s1", &[b'a'; 100]).unwrap();
            let other = store.put_for("bob", "s2", &[b'b'; 150]).unwrap();
            let many: Vec<Handle> =
                (0..40).map(|turn| store.put_for("eve", &format!("e{turn}"), &[b'e'; 90]).unwrap()).collect();
            assert!(read(store, "s1", &own).is_some() && read(store, "s2", &other).is_some());
            let kept = many
                .iter()
                .enumerate()
                .filter(|(turn, handle)| read(store, &format!("e{turn}"), handle).is_some());
            assert!((7..=8).contains(&kept.count()));
            // Who has little gets it from who has most.
            store.put_for("ada", "s1", &[b'a'; 300]).unwrap();
            assert!(read(store, "s1", &own).is_some() && read(store, "s2", &other).is_some());
        });
    }

    #[test]
    fn what_is_larger_than_the_quota_removes_nothing() {
        each_place(Quota { bytes: 1000, age: HOUR }, |Fixture { store, .. }| {
            let handle = store.put("s", b"kept").unwrap();
            assert!(store.put("s", &[0; 1001]).unwrap_err().to_string().contains("1001 bytes"));
            assert!(read(store, "s", &handle).is_some());
            store.put("s", &[0; 1000]).unwrap();
            assert!(read(store, "s", &handle).is_none());
        });
    }

    #[test]
    fn what_is_too_old_is_gone() {
        each_place(Quota { bytes: 1000, age: Duration::ZERO }, |fixture| {
            let store = &fixture.store;
            let handle = store.put("s", b"old").unwrap();
            fixture.make_older(&handle, 1);
            assert_eq!(read(store, "s", &handle), None);
        });
    }

    #[test]
    fn an_open_output_outlives_its_removal() {
        each_place(Quota { bytes: 10, age: HOUR }, |Fixture { store, .. }| {
            let handle = store.put("s", b"0123456789").unwrap();
            let mut output = store.open("s", &handle).unwrap();
            store.put("s", b"9876543210").unwrap();
            assert_eq!(read(store, "s", &handle), None);
            let mut out = Vec::new();
            output.bytes(2..4, &mut out).unwrap();
            assert_eq!(out, b"23");
        });
    }
}
