//! Components that came from registries, by the digest of their content. A call reads them from here and from nowhere else.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::policy::{Digest, ensure_private};

/// A folder of the user's own with components that came from registries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredComponents {
    folder: PathBuf,
}

impl StoredComponents {
    /// Those in `folder`, which need not be there.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file of the component `digest`, whether it is there or not.
    pub fn file(&self, digest: &Digest) -> PathBuf {
        self.folder.join(format!("{}.wasm", digest.to_string().replace(':', "-")))
    }

    /// Whether the component is there, sound.
    pub fn has(&self, digest: &Digest) -> bool {
        let file = self.file(digest);
        let is_file = file.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
        is_file && std::fs::read(file).is_ok_and(|bytes| Digest::of(&bytes) == *digest)
    }

    /// Keeps a component, in place of whatever is under its digest. It is on the disk when this returns.
    ///
    /// # Errors
    /// When the folder is not the user's alone, or cannot be written.
    pub fn put(&self, bytes: &[u8]) -> Result<Digest> {
        ensure_private(&self.folder)?;
        let digest = Digest::of(bytes);
        let file = self.file(&digest);
        let keep = || -> std::io::Result<()> {
            let mut aside = tempfile::NamedTempFile::new_in(&self.folder)?;
            aside.write_all(bytes)?;
            aside.as_file().sync_all()?;
            aside.persist(&file)?;
            Ok(())
        };
        keep().map_err(Error::file("write", &file))?;
        Ok(digest)
    }

    /// How many there are, and their bytes together.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn size(&self) -> Result<(usize, u64)> {
        let sizes = self.all()?.into_iter().filter_map(|file| file.metadata().ok());
        Ok(sizes.fold((0, 0), |(count, bytes), metadata| (count + 1, bytes + metadata.len())))
    }

    /// Removes all of them; how many there were.
    ///
    /// # Errors
    /// When the folder cannot be read, or one of them not be removed.
    pub fn clear(&self) -> Result<usize> {
        let all = self.all()?;
        for file in &all {
            std::fs::remove_file(file).map_err(Error::file("remove", file))?;
        }
        Ok(all.len())
    }

    fn all(&self) -> Result<Vec<PathBuf>> {
        let entries = match self.folder.read_dir() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(Error::file("read", &self.folder))?,
        };
        let files = entries.flatten().map(|entry| entry.path());
        Ok(files.filter(|file| file.extension().is_some_and(|ending| ending == "wasm")).collect())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_is_kept_is_found_by_its_digest_for_as_long_as_it_is_sound() {
        let scratch = tempfile::tempdir().unwrap();
        let stored = StoredComponents::at(scratch.path().join("a/components"));
        assert_eq!((stored.size().unwrap(), stored.clear().unwrap()), ((0, 0), 0));
        let digest = stored.put(b"one").unwrap();
        assert!(stored.has(&digest) && !stored.has(&Digest::of(b"two")));
        assert_eq!(stored.file(&digest).metadata().unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(stored.file(&digest), b"two").unwrap();
        assert!(!stored.has(&digest));
        stored.put(b"one").unwrap();
        assert!(stored.has(&digest));
        assert_eq!((stored.size().unwrap(), stored.clear().unwrap()), ((1, 3), 1));
        assert!(!stored.has(&digest));
        std::fs::set_permissions(stored.folder(), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(stored.put(b"one").unwrap_err().to_string().contains("chmod go-w"));
    }
}
