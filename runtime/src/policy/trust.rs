//! Which configurations that were only found may grant more than reading their own folder: those whose path and
//! content the user has trusted.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::private::{PrivateFile, VERSION};
use crate::error::{Error, Result};

/// The list of trusted configurations. It is read anew on every question: a revocation holds from then on.
#[derive(Debug, Clone)]
pub struct TrustStore {
    file: PrivateFile,
}

/// The file's content.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    version: u32,
    files: Vec<Entry>,
}

/// One trusted configuration.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    path: String,
    digest: String,
}

impl Default for Content {
    fn default() -> Self {
        Self { version: VERSION, files: Vec::new() }
    }
}

impl TrustStore {
    /// The store in the file at `path`, whose folder must be private to the user; neither needs to exist.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let consequence = "no found configuration is trusted; `toolcell trust` starts it anew";
        Self { file: PrivateFile::new(path, consequence) }
    }

    /// Whether the configuration at `path` with this content is trusted.
    ///
    /// # Errors
    /// When the store cannot be read or is damaged: a warning, by which nothing is trusted.
    pub fn is_trusted(&self, path: &Path, digest: Digest) -> Result<bool> {
        let Ok(key) = key(path) else { return Ok(false) };
        let content: Content = self.file.read()?;
        Ok(content.files.iter().any(|entry| entry.path == key && entry.digest.parse() == Ok(digest)))
    }

    /// Trusts the configuration at `path` with this content, and no earlier one of that path. A damaged store is
    /// put aside as `….damaged`, so that what it held is trusted no longer.
    ///
    /// # Errors
    /// When the path is not there or no UTF-8, or when the store cannot be written.
    pub fn add(&self, path: &Path, digest: Digest) -> Result<()> {
        let key = key(path)?;
        let _lock = self.file.lock()?;
        let mut content: Content = self.file.read_or_start_anew()?;
        content.files.retain(|entry| entry.path != key);
        content.files.push(Entry { path: key, digest: digest.to_string() });
        self.file.write(&content)
    }

    /// Trusts the configuration at `path` no longer; says whether it was listed.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn revoke(&self, path: &Path) -> Result<bool> {
        let _lock = self.file.lock()?;
        let mut content: Content = self.file.read()?;
        let before = content.files.len();
        // A file that is gone has no canonical path, and is revoked by the path as it is.
        let key = key(path).unwrap_or_else(|_| path.to_string_lossy().into_owned());
        content.files.retain(|entry| entry.path != key);
        let revoked = content.files.len() < before;
        if revoked {
            self.file.write(&content)?;
        }
        Ok(revoked)
    }
}

/// The canonical path as the store writes it.
fn key(path: &Path) -> Result<String> {
    let canonical = path.canonicalize().map_err(Error::file("find", path))?;
    canonical.into_os_string().into_string().map_err(|_| {
        let message = "its path is not UTF-8; a configuration can be trusted only under a path that is";
        Error::file("trust", path)(io::Error::new(io::ErrorKind::InvalidInput, message))
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::os::unix::fs::PermissionsExt;
    use std::process::{Command, Stdio};

    use super::*;

    fn scratch() -> (tempfile::TempDir, TrustStore, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("toolcell.toml");
        std::fs::write(&file, "a").unwrap();
        let store = TrustStore::at(folder.path().join("trust.json"));
        (folder, store, file)
    }

    #[test]
    fn only_the_trusted_content_of_the_trusted_path_is_trusted() {
        let (folder, store, file) = scratch();
        let (a, b) = (Digest::of(b"a"), Digest::of(b"b"));
        assert!(!store.is_trusted(&file, a).unwrap());
        store.add(&file, a).unwrap();
        assert!(store.is_trusted(&file, a).unwrap());
        assert!(!store.is_trusted(&file, b).unwrap(), "a changed file is untrusted");

        let copy = folder.path().join("copy.toml");
        std::fs::copy(&file, &copy).unwrap();
        assert!(!store.is_trusted(&copy, a).unwrap(), "a copy elsewhere is untrusted");

        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        assert!(
            store.is_trusted(&link.join("toolcell.toml"), a).unwrap(),
            "another spelling is the same file"
        );

        store.add(&file, b).unwrap();
        assert!(!store.is_trusted(&file, a).unwrap(), "going back to an older content is a change too");
        assert!(store.revoke(&file).unwrap());
        assert!(!store.revoke(&file).unwrap());
        assert!(!store.is_trusted(&file, b).unwrap());
    }

    #[test]
    fn a_configuration_that_is_gone_can_be_revoked() {
        let (_folder, store, file) = scratch();
        store.add(&file, Digest::of(b"a")).unwrap();
        let canonical = file.canonicalize().unwrap();
        std::fs::remove_file(&file).unwrap();
        assert!(store.revoke(&canonical).unwrap());
    }

    #[test]
    fn a_damaged_store_trusts_nothing_and_can_be_started_anew() {
        let (_folder, store, file) = scratch();
        let digest = Digest::of(b"a");
        let other_version = format!(r#"{{"version":2,"files":[{{"path":{file:?},"digest":"{digest}"}}]}}"#);
        for damage in ["", "{", "[]", "\0\0\0\0", r#"{"version":1}"#, other_version.as_str()] {
            std::fs::write(store.file.path(), damage).unwrap();
            let warning = store.is_trusted(&file, digest).unwrap_err().to_string();
            assert!(warning.contains("no found configuration is trusted"), "{warning}");
            assert!(store.revoke(&file).is_err());
            store.add(&file, digest).unwrap();
            assert!(store.is_trusted(&file, digest).unwrap());
        }
    }

    #[test]
    fn a_store_that_others_could_write_trusts_nothing() {
        let (_folder, store, file) = scratch();
        let digest = Digest::of(b"a");
        store.add(&file, digest).unwrap();
        assert_eq!(store.file.path().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(store.file.path(), std::fs::Permissions::from_mode(0o620)).unwrap();
        assert!(store.is_trusted(&file, digest).is_err());
    }

    /// Names the store and the file for a child process of the test below.
    const CHILD: &str = "TOOLCELL_TEST_TRUST";

    #[test]
    fn a_process_adds_to_the_store() {
        let (_folder, mut store, mut file) = scratch();
        if let Some(paths) = std::env::var_os(CHILD) {
            let paths: Vec<PathBuf> = std::env::split_paths(&paths).collect();
            let [of_parent, for_child] = paths.as_slice() else { unreachable!() };
            (store, file) = (TrustStore::at(of_parent), for_child.clone());
        }
        store.add(&file, Digest::of(b"a")).unwrap();
        assert!(store.is_trusted(&file, Digest::of(b"a")).unwrap());
    }

    #[test]
    fn processes_that_write_at_once_lose_nothing() {
        let (folder, store, _) = scratch();
        let files: Vec<PathBuf> = (0..8).map(|index| folder.path().join(format!("{index}.toml"))).collect();
        let children: Vec<_> = files
            .iter()
            .map(|file| {
                std::fs::write(file, "a").unwrap();
                Command::new(std::env::current_exe().unwrap())
                    .args(["--exact", "policy::trust::tests::a_process_adds_to_the_store"])
                    .env(CHILD, std::env::join_paths([store.file.path(), file.as_path()]).unwrap())
                    .stdout(Stdio::null())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        for file in &files {
            assert!(store.is_trusted(file, Digest::of(b"a")).unwrap(), "{}", file.display());
        }
    }
}
