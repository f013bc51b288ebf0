//! Where the audit is kept and what is in it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::document::Address;
use super::folders::Folders;
use super::raw::{RawAudit, RawKey};
use super::validate::Validator;
use crate::error::{Error, Result};
use crate::limits::Origin;

/// A key shorter than this can be guessed; `openssl rand -hex 32` makes a good one.
const MIN_KEY_BYTES: usize = 16;

/// Where the audit is kept and what is in it: one line a call, each chained to the line before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Audit {
    /// Where the lines are.
    pub place: Place,
    /// What is kept of arguments. Default their hash.
    pub arguments: Detail,
    /// Whether each line is on the disk before its call returns, rather than with the operating system. Default no.
    pub fsync: bool,
    /// The key of the chain; without one, whoever can write the file can also forge all of it.
    pub key: Option<Key>,
    /// Where each setting was set, by address.
    pub origins: BTreeMap<String, Origin>,
}

/// Where an audit's lines are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Place {
    /// The folder `audit` of the user's state, with one file a process.
    #[default]
    Default,
    /// A folder, with one file a process.
    Folder(PathBuf),
    /// One file, to which one process at a time writes.
    File(PathBuf),
}

/// What is kept of a call's arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Detail {
    /// Their hash.
    #[default]
    Hash,
    /// The arguments and their hash.
    Full,
}

/// Where the key of a chain comes from.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Key {
    /// The value of an environment variable of the host.
    Env(String),
    /// A file's content; a newline at its end does not count.
    File(PathBuf),
    /// The key itself.
    Bytes(Vec<u8>),
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(formatter, "Env({name:?})"),
            Self::File(path) => write!(formatter, "File({path:?})"),
            Self::Bytes(_) => formatter.write_str("Bytes(…)"),
        }
    }
}

impl Key {
    /// The key's bytes.
    ///
    /// # Errors
    /// When the variable is not set, the file cannot be read or is open to every user, or the key is shorter than
    /// 16 bytes.
    pub fn read(&self) -> Result<Vec<u8>> {
        let wrong = |at: String, message: String| Error::Config { at, message };
        let (at, key) = match self {
            Self::Env(name) => {
                let value = std::env::var_os(name).ok_or_else(|| {
                    wrong(name.clone(), "this variable is to hold the audit's key and is not set".to_owned())
                })?;
                (name.clone(), std::os::unix::ffi::OsStringExt::into_vec(value))
            }
            Self::File(path) => (path.display().to_string(), read_key_file(path)?),
            Self::Bytes(bytes) => ("the audit's key".to_owned(), bytes.clone()),
        };
        if key.len() < MIN_KEY_BYTES {
            let message = format!(
                "a key of {} bytes can be guessed; give the audit at least {MIN_KEY_BYTES}, as from \
                 `openssl rand -hex 32`",
                key.len()
            );
            return Err(wrong(at, message));
        }
        Ok(key)
    }
}

fn read_key_file(path: &Path) -> Result<Vec<u8>> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = path.metadata().map_err(Error::file("read", path))?;
    let wrong = |message: &str| Error::Config { at: path.display().to_string(), message: message.to_owned() };
    if !metadata.is_file() || metadata.len() > 1 << 16 {
        return Err(wrong("is no file with a key in it"));
    }
    if metadata.mode() & 0o007 != 0 {
        return Err(wrong("every user may read this key; run `chmod o-rwx` on it"));
    }
    let mut key = std::fs::read(path).map_err(Error::file("read", path))?;
    if key.last() == Some(&b'\n') {
        key.pop();
    }
    if key.last() == Some(&b'\r') {
        key.pop();
    }
    Ok(key)
}

impl Audit {
    /// An audit in `folder`, where each process has a file of its own.
    pub fn folder(folder: impl Into<PathBuf>) -> Self {
        Self { place: Place::Folder(folder.into()), ..Self::default() }
    }

    /// An audit in one file, to which one process at a time writes.
    pub fn file(file: impl Into<PathBuf>) -> Self {
        Self { place: Place::File(file.into()), ..Self::default() }
    }

    /// What is kept of arguments. Default their hash.
    #[must_use]
    pub fn arguments(mut self, detail: Detail) -> Self {
        self.arguments = detail;
        self
    }

    /// Whether each line is on the disk before its call returns. Default no: then it is with the operating system,
    /// and survives the end of the process but not that of the machine.
    #[must_use]
    pub fn fsync(mut self, fsync: bool) -> Self {
        self.fsync = fsync;
        self
    }

    /// Chains the lines by HMAC-SHA-256 with this key of at least 16 bytes.
    #[must_use]
    pub fn key(mut self, key: impl Into<Vec<u8>>) -> Self {
        self.key = Some(Key::Bytes(key.into()));
        self
    }

    /// The folder or file in which the lines are.
    pub fn path<'a>(&'a self, folders: &'a Folders) -> std::borrow::Cow<'a, Path> {
        match &self.place {
            Place::Default => folders.audit().into(),
            Place::Folder(path) | Place::File(path) => path.as_path().into(),
        }
    }
}

impl Validator<'_, '_> {
    /// The audit as `[audit]` sets it.
    pub(super) fn audit(&mut self, raw: RawAudit) -> Audit {
        let table = Address::of(&["audit"]);
        let mut audit = Audit {
            arguments: raw.arguments.unwrap_or_default(),
            fsync: raw.fsync.unwrap_or_default(),
            ..Audit::default()
        };
        if raw.folder.is_some() && raw.file.is_some() {
            self.problem(&table.key("file"), "there is `folder` too; keep one of them");
        }
        if let Some(path) = self.audit_path(&table.key("folder"), raw.folder.as_deref()) {
            if path.exists() && !path.is_dir() {
                self.problem(&table.key("folder"), "is not a folder; write `file` for a file");
            }
            audit.place = Place::Folder(path);
        }
        if let Some(path) = self.audit_path(&table.key("file"), raw.file.as_deref()) {
            if path.is_dir() {
                self.problem(&table.key("file"), "is a folder; write `folder` for one");
            }
            audit.place = Place::File(path);
        }
        audit.key = raw.key.and_then(|key| self.audit_key(&table.key("key"), key));
        for setting in ["folder", "file", "arguments", "fsync", "key"] {
            let address = table.key(setting);
            if self.document.has(&address) {
                audit.origins.insert(address.to_string(), self.document.origin(&address));
            }
        }
        audit.origins.insert(table.to_string(), self.document.origin(&table));
        audit
    }

    fn audit_path(&mut self, address: &Address, written: Option<&str>) -> Option<PathBuf> {
        let path = self.host_path(written?);
        self.checked(address, path)
    }

    fn audit_key(&mut self, address: &Address, raw: RawKey) -> Option<Key> {
        match (raw.env, raw.file) {
            (Some(name), None) if !name.is_empty() && !name.contains(['=', '\0']) => Some(Key::Env(name)),
            (Some(name), None) => {
                self.problem(&address.key("env"), format!("`{name}` is no variable's name"));
                None
            }
            (None, Some(file)) => self.audit_path(&address.key("file"), Some(&file)).map(Key::File),
            _ => {
                self.problem(address, "write either `{ env = \"NAME\" }` or `{ file = \"PATH\" }`");
                None
            }
        }
    }
}
