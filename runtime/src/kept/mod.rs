//! Values that tools keep: for one call in memory, for a session or for good in a file of their component.

#[cfg(feature = "state")]
mod file;
#[cfg(feature = "state")]
mod folder;
mod memory;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::policy::{Digest, StateScope};
#[cfg(feature = "state")]
pub use folder::{Cleared, KeptScope, StateFolder};
use memory::Memory;

/// Bytes of a key.
const MAX_KEY_BYTES: usize = 1024;

/// Keys of one page.
const PAGE: usize = 1000;

/// What an entry counts beside its key and value: without it, empty ones would be free.
const ENTRY_BYTES: u64 = 64;

/// Why something could not be kept or found.
#[cfg_attr(not(feature = "state"), expect(dead_code, reason = "some of it is what goes wrong with files"))]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeepError {
    /// It would be more than the component may keep.
    #[error("there is no room for it: {wanted} bytes would be kept")]
    Full { wanted: u64 },
    /// Another process holds the file.
    #[error("the store is in use by others; try again")]
    Busy,
    /// The request cannot be served as it is.
    #[error("{0}")]
    Wrong(&'static str),
    /// The file cannot be read or written.
    #[error("the store cannot be used ({0})")]
    Failed(String),
}

type Kept<T> = std::result::Result<T, KeepError>;

/// Where a call keeps values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// Until the call ends.
    Call,
    /// In the component's file, under the scope's name.
    File { file: PathBuf, scope: String },
}

impl Place {
    /// Where the calls of `component` in that session keep values; none where nothing is granted. What belongs to no
    /// session is kept for the call alone.
    pub fn of(scope: StateScope, folder: &Path, component: &str, session: Option<&str>) -> Option<Self> {
        let file = |scope: String| Self::File { file: folder.join(file_name(component)), scope };
        match (scope, session) {
            (StateScope::None, _) => None,
            (StateScope::Call, _) | (StateScope::Session, None) => Some(Self::Call),
            (StateScope::Session, Some(session)) => Some(file(format!("session {session}"))),
            (StateScope::Persistent, _) => Some(file("persistent".to_owned())),
        }
    }

    /// Whether it is a file, for which a thread may have to wait.
    pub fn blocks(&self) -> bool {
        matches!(self, Self::File { .. })
    }
}

/// A file's name that two components never share, and in which people know theirs.
fn file_name(component: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let shown: String =
        component.chars().map(|letter| if plain(letter) { letter } else { '_' }).take(64).collect();
    let digest = Digest::of(component.as_bytes()).to_string();
    let digest: String = digest.chars().skip_while(|letter| *letter != ':').skip(1).take(16).collect();
    format!("{shown}-{digest}.db")
}

/// Whether this build can keep values for that scope.
///
/// # Errors
/// When it was built without.
pub(crate) fn check(scope: StateScope, setting: &str) -> Result<()> {
    if cfg!(feature = "state") || matches!(scope, StateScope::None | StateScope::Call) {
        return Ok(());
    }
    let message = "this build keeps nothing between calls; set `call`, or build with the feature `state`";
    Err(Error::Grant { setting: setting.to_owned(), message: message.to_owned() })
}

/// The values of a component in one scope.
pub(crate) enum Store {
    Memory(Memory),
    #[cfg(feature = "state")]
    File(file::File),
}

impl Store {
    /// Opens it. Blocks where it is a file, for at most `patience` on other processes.
    pub fn open(place: &Place, patience: Duration) -> Kept<Self> {
        match place {
            Place::Call => Ok(Self::Memory(Memory::default())),
            #[cfg(feature = "state")]
            Place::File { file, scope } => file::File::open(file, scope, patience).map(Self::File),
            #[cfg(not(feature = "state"))]
            Place::File { .. } => {
                let _ = patience;
                Err(KeepError::Wrong("this build keeps nothing between calls"))
            }
        }
    }

    /// For how long other processes may be waited for.
    pub fn patience(&self, patience: Duration) {
        match self {
            Self::Memory(_) => _ = patience,
            #[cfg(feature = "state")]
            Self::File(file) => file.patience(patience),
        }
    }

    pub fn get(&self, bucket: &str, key: &str) -> Kept<Option<Vec<u8>>> {
        match self {
            Self::Memory(memory) => Ok(memory.get(bucket, key)),
            #[cfg(feature = "state")]
            Self::File(file) => file.get(bucket, key),
        }
    }

    pub fn exists(&self, bucket: &str, key: &str) -> Kept<bool> {
        match self {
            Self::Memory(memory) => Ok(memory.get(bucket, key).is_some()),
            #[cfg(feature = "state")]
            Self::File(file) => file.exists(bucket, key),
        }
    }

    /// The keys of a page, and where the next one begins.
    pub fn keys(&self, bucket: &str, cursor: Option<u64>) -> Kept<(Vec<String>, Option<u64>)> {
        match self {
            Self::Memory(memory) => Ok(memory.keys(bucket, cursor)),
            #[cfg(feature = "state")]
            Self::File(file) => file.keys(bucket, cursor),
        }
    }

    /// Sets all of `entries` or none: together with what else is kept they must fit `room`.
    pub fn set(&mut self, bucket: &str, entries: &[(String, Vec<u8>)], room: u64) -> Kept<()> {
        if entries.iter().any(|(key, _)| key.len() > MAX_KEY_BYTES) {
            return Err(KeepError::Wrong("a key has at most 1024 bytes"));
        }
        match self {
            Self::Memory(memory) => memory.set(bucket, entries, room),
            #[cfg(feature = "state")]
            Self::File(file) => file.set(bucket, entries, room),
        }
    }

    pub fn delete(&mut self, bucket: &str, keys: &[String]) -> Kept<()> {
        match self {
            Self::Memory(memory) => {
                memory.delete(bucket, keys);
                Ok(())
            }
            #[cfg(feature = "state")]
            Self::File(file) => file.delete(bucket, keys),
        }
    }

    /// Adds to a number, in one step.
    pub fn increment(&mut self, bucket: &str, key: &str, delta: u64, room: u64) -> Kept<u64> {
        if key.len() > MAX_KEY_BYTES {
            return Err(KeepError::Wrong("a key has at most 1024 bytes"));
        }
        match self {
            Self::Memory(memory) => {
                let sum = sum(memory.get(bucket, key).as_deref(), delta)?;
                memory.set(bucket, &[(key.to_owned(), sum.to_string().into_bytes())], room)?;
                Ok(sum)
            }
            #[cfg(feature = "state")]
            Self::File(file) => file.increment(bucket, key, delta, room),
        }
    }
}

/// What a number that is kept as text becomes.
fn sum(kept: Option<&[u8]>, delta: u64) -> Kept<u64> {
    let number = match kept {
        None => 0,
        Some(bytes) => std::str::from_utf8(bytes)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
            .ok_or(KeepError::Wrong("the value is no number"))?,
    };
    number.checked_add(delta).ok_or(KeepError::Wrong("the sum is larger than 64 bits hold"))
}

/// What an entry counts.
fn size(key: &str, value: &[u8]) -> u64 {
    let bytes = key.len().saturating_add(value.len());
    u64::try_from(bytes).unwrap_or(u64::MAX).saturating_add(ENTRY_BYTES)
}

#[cfg(test)]
mod tests;
