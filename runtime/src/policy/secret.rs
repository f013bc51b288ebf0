//! What no tool may say and few may know: where it comes from, and its value only when that is read.

use std::fmt;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A shorter secret can be guessed, and taking it out of every text would take out words as well.
pub const MIN_SECRET_BYTES: usize = 8;

/// Longer than any key or token, so that looking for all spellings of it stays cheap.
const MAX_SECRET_BYTES: u64 = 16 << 10;

/// Newlines at the end of a secret that do not count.
const MAX_NEWLINES: usize = 16;

/// A secret of a component: its value is in nothing that the runtime shows.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Secret {
    /// Where its value comes from.
    pub source: SecretSource,
    /// Whether the component may read it, through `wasi:config/store` under the secret's name. Default no.
    pub readable: bool,
}

/// Where a secret's value comes from. Newlines at its end do not count, as in a shell's `$(…)`.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecretSource {
    /// The value of an environment variable of the host.
    Env(String),
    /// The content of a file that only its owner may read.
    File(PathBuf),
    /// The value itself.
    Value(String),
}

impl fmt::Debug for SecretSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(formatter, "Env({name:?})"),
            Self::File(path) => write!(formatter, "File({path:?})"),
            Self::Value(_) => formatter.write_str("Value(…)"),
        }
    }
}

impl Secret {
    /// The value of an environment variable of the host.
    pub fn env(name: impl Into<String>) -> Self {
        Self { source: SecretSource::Env(name.into()), readable: false }
    }

    /// The content of a file that only its owner may read.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self { source: SecretSource::File(path.into()), readable: false }
    }

    /// This value.
    pub fn value(value: impl Into<String>) -> Self {
        Self { source: SecretSource::Value(value.into()), readable: false }
    }

    /// Lets the component read it. Then redaction is all that keeps it in, and that is best effort.
    #[must_use]
    pub fn readable(mut self) -> Self {
        self.readable = true;
        self
    }

    /// Its value, of at least [`MIN_SECRET_BYTES`].
    ///
    /// # Errors
    /// Says what is wrong with it, in words without it.
    pub(crate) fn read(&self) -> Result<String, String> {
        let mut bytes = match &self.source {
            SecretSource::Env(name) => std::env::var_os(name)
                .ok_or_else(|| {
                    format!("the environment variable `{name}` is to hold this secret and is not set")
                })?
                .into_vec(),
            SecretSource::File(path) => read_file(path)?,
            SecretSource::Value(value) => value.clone().into_bytes(),
        };
        let end = bytes.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
        // A file is read no further than it may be long, and its end may be missing here.
        if bytes.len() - end <= MAX_NEWLINES {
            bytes.truncate(end);
        }
        // What is around it gets lost on the way, as in headers, and is not looked for.
        let length = bytes.trim_ascii().len();
        if length < MIN_SECRET_BYTES {
            return Err(format!(
                "a secret of {length} bytes is too short to be kept out of texts: it must have at least \
                 {MIN_SECRET_BYTES}, without spaces around it"
            ));
        }
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_SECRET_BYTES {
            return Err(format!("a secret has at most {MAX_SECRET_BYTES} bytes, and this one is longer"));
        }
        String::from_utf8(bytes).map_err(|_| "a secret must be text (UTF-8), and this one is not".to_owned())
    }
}

/// The file's content, if nobody else can read it. What is opened is what is looked at.
fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    use std::io::Read as _;
    let shown = path.display();
    let cannot = |error: std::io::Error| format!("cannot read the secret in {shown}: {}", error.kind());
    // A FIFO would make the opening wait for a writer.
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = std::fs::OpenOptions::new().read(true).custom_flags(nonblocking).open(path).map_err(cannot)?;
    let metadata = file.metadata().map_err(cannot)?;
    if !metadata.is_file() {
        return Err(format!("{shown} is no file with a secret in it"));
    }
    if metadata.mode() & 0o077 != 0 {
        return Err(format!("other users may use the secret in {shown}; run `chmod 600` on it"));
    }
    let mut bytes = Vec::new();
    let most = MAX_SECRET_BYTES + MAX_NEWLINES as u64 + 1;
    file.take(most).read_to_end(&mut bytes).map_err(cannot)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn only_owners_files_of_some_length_are_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let check = |content: &[u8], mode: u32| {
            let path = folder.path().join("secret");
            let _ = fs::remove_file(&path);
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            Secret::file(path).read().map_err(|told| told.replace(folder.path().to_str().unwrap(), "F"))
        };
        assert_eq!(check(b"hunter2-hunter2\n", 0o600).unwrap(), "hunter2-hunter2");
        assert_eq!(check(b"hunter2-hunter2\r\n", 0o400).unwrap(), "hunter2-hunter2");
        assert_eq!(check(b"hunter2-hunter2\n\r\n\n", 0o400).unwrap(), "hunter2-hunter2");
        assert_eq!(Secret::value("\thunter2-hunter2 \n\n").read().unwrap(), "\thunter2-hunter2 ");
        for (content, mode, told) in [
            (&b"hunter2-hunter2"[..], 0o640, "other users"),
            (b"hunter2-hunter2", 0o604, "other users"),
            (b"hunter2", 0o600, "7 bytes is too short"),
            (b" \thunter2 \t\n", 0o600, "7 bytes is too short"),
            (b"", 0o600, "0 bytes is too short"),
            (b"\xff\xff\xff\xff\xff\xff\xff\xff", 0o600, "must be text"),
        ] {
            let error = check(content, mode).unwrap_err();
            assert!(error.contains(told) && !error.contains("hunter"), "{error}");
        }
        assert!(check(&vec![b'x'; 20 << 10], 0o600).unwrap_err().contains("at most 16384"));
        assert!(Secret::file(folder.path()).read().unwrap_err().contains("no file"));
        assert!(Secret::file(folder.path().join("gone")).read().unwrap_err().contains("cannot read"));
        let fifo = folder.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(Secret::file(fifo).read().unwrap_err().contains("no file"));
        assert!(Secret::env("TOOLCELL_TEST_NOT_SET").read().unwrap_err().contains("is not set"));
        assert!(!format!("{:?}", Secret::value("hunter2-hunter2")).contains("hunter"));
    }
}
