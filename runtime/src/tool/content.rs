//! What a component is made of: its bytes, and what tells whether they were looked at before.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::inspect::MAX_COMPONENT_BYTES;
use crate::error::{Error, Result};
use crate::policy::Digest;
use crate::sandbox::{Sandbox, Stamp};

/// The bytes of a component.
pub(super) struct Content {
    pub bytes: Cow<'static, [u8]>,
    /// The name of their file, and its stamp while they were read.
    unchanged: Option<(String, Stamp)>,
    /// Their digest, where it was worked out already.
    known: Option<Digest>,
}

impl Content {
    pub fn of(bytes: Cow<'static, [u8]>) -> Self {
        Self { bytes, unchanged: None, known: None }
    }

    /// Works out their digest, whatever is remembered of them.
    pub fn digested(mut self) -> (Self, Digest) {
        let digest = Digest::of(&self.bytes);
        self.known = Some(digest);
        (self, digest)
    }

    /// Those of a file. Only regular files: a FIFO would never end.
    pub fn of_file(path: &Path) -> Result<Self> {
        let failed = || Error::file("read", path);
        let metadata = std::fs::metadata(path).map_err(failed())?;
        if !metadata.is_file() {
            return Err(Error::component(
                path.display().to_string(),
                "this is no regular file; name a component",
            ));
        }
        let allowed = u64::try_from(MAX_COMPONENT_BYTES).unwrap_or(u64::MAX);
        if metadata.len() > allowed {
            let message = format!("the file has {} bytes, and {allowed} are allowed", metadata.len());
            return Err(Error::component(path.display().to_string(), message));
        }
        let mut file = File::open(path).map_err(failed())?;
        // By its descriptor, before and after: what changed meanwhile has no stamp that is worth anything.
        let before = file.metadata().map_err(failed())?;
        let mut bytes = Vec::with_capacity(usize::try_from(before.len().min(allowed)).unwrap_or_default());
        file.by_ref().take(allowed).read_to_end(&mut bytes).map_err(failed())?;
        let after = file.metadata().map_err(failed())?;
        let stamp = Stamp::of(&after).filter(|stamp| Stamp::of(&before).as_ref() == Some(stamp));
        let unchanged = stamp.map(|stamp| (path.display().to_string(), stamp));
        Ok(Self { bytes: bytes.into(), unchanged, known: None })
    }

    /// Those of a shipped component, which are in the program's own file.
    pub fn of_builtin(name: &str, bytes: &'static [u8]) -> Self {
        let program = std::env::current_exe().ok();
        // By this name it is the very file that runs, whatever its path leads to by now.
        let metadata = std::fs::metadata("/proc/self/exe").ok();
        let stamp = metadata.and_then(|metadata| Stamp::of(&metadata));
        let unchanged = program
            .zip(stamp)
            .map(|(program, stamp)| (format!("{} builtin:{name}", program.display()), stamp));
        Self { bytes: bytes.into(), unchanged, known: None }
    }

    /// Their digest: as it was remembered where they are what they were, unless it is to be compared with a pin.
    pub fn digest(&self, sandbox: &Sandbox, is_pinned: bool) -> Digest {
        if let Some(known) = self.known {
            return known;
        }
        let unchanged = self.unchanged.as_ref().filter(|_| !is_pinned);
        let known = unchanged.and_then(|(file, stamp)| sandbox.known_digest(file, stamp));
        known.unwrap_or_else(|| {
            let digest = Digest::of(&self.bytes);
            if let Some((file, stamp)) = unchanged {
                sandbox.remember_digest(file, stamp, &digest);
            }
            digest
        })
    }
}
