//! Which groups of tools sessions have switched, for processes that make one call each.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::private::{PrivateFile, VERSION, ensure_private};
use crate::error::Result;

/// Sessions that are remembered; those that switched something longest ago go first.
const MAX_SESSIONS: usize = 1000;

/// Groups of one session.
const MAX_GROUPS: usize = 1000;

/// A file of what sessions have switched on and off. It is read anew each time.
#[derive(Debug, Clone)]
pub struct Switches {
    path: PathBuf,
    file: PrivateFile,
}

/// The file's content.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    version: u32,
    /// By the digest of the session.
    sessions: BTreeMap<String, Switched>,
}

/// What one session has switched.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Switched {
    /// When it last did, in seconds since 1970.
    at: u64,
    groups: BTreeMap<String, bool>,
}

impl Default for Content {
    fn default() -> Self {
        Self { version: VERSION, sessions: BTreeMap::new() }
    }
}

impl Switches {
    /// The file at `path`, whose folder is created for its owner alone when it is first needed.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let consequence =
            "groups are as the configuration has them; look at it, and take it away to begin anew";
        let file = PrivateFile::new(&path, consequence);
        Self { path, file }
    }

    /// What the session has switched, by group. `session` is the digest of its name and of whatever tells it from others.
    ///
    /// # Errors
    /// When the file cannot be read: then nothing is switched.
    pub fn of(&self, session: Digest) -> Result<BTreeMap<String, bool>> {
        let mut content: Content = self.file.read()?;
        Ok(content.sessions.remove(&session.to_string()).unwrap_or_default().groups)
    }

    /// Adds what the session has switched to what it had.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn keep(&self, session: Digest, groups: BTreeMap<String, bool>) -> Result<()> {
        if let Some(folder) = self.path.parent() {
            ensure_private(folder)?;
        }
        let _lock = self.file.lock()?;
        let mut content: Content = self.file.read_or_put_damaged_aside()?;
        let switched = content.sessions.entry(session.to_string()).or_default();
        switched.groups.extend(groups);
        while switched.groups.len() > MAX_GROUPS && switched.groups.pop_first().is_some() {}
        switched.at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        while content.sessions.len() > MAX_SESSIONS {
            let oldest = content.sessions.iter().min_by_key(|(_, switched)| switched.at);
            let Some(oldest) = oldest.map(|(session, _)| session.clone()) else { break };
            content.sessions.remove(&oldest);
        }
        self.file.write(&content)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    fn groups(groups: &[(&str, bool)]) -> BTreeMap<String, bool> {
        groups.iter().map(|(group, on)| ((*group).to_owned(), *on)).collect()
    }

    #[test]
    fn each_session_finds_what_it_switched_itself() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own/groups.json");
        let (one, other) = (Digest::of(b"one"), Digest::of(b"other"));
        let switches = Switches::file(&path);
        assert_eq!(switches.of(one).unwrap(), groups(&[]));
        switches.keep(one, groups(&[("git", true)])).unwrap();
        Switches::file(&path).keep(one, groups(&[("net", true), ("disk", false)])).unwrap();
        assert_eq!(switches.of(one).unwrap(), groups(&[("git", true), ("net", true), ("disk", false)]));
        assert_eq!(switches.of(other).unwrap(), groups(&[]));
        std::fs::write(&path, "{").unwrap();
        assert!(switches.of(one).is_err());
        switches.keep(other, groups(&[("git", true)])).unwrap();
        assert_eq!(switches.of(one).unwrap(), groups(&[]), "what was damaged switches nothing");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let switches = Switches::file(folder.path().join("groups.json"));
        let session = |at: usize| {
            (
                Digest::of(&at.to_be_bytes()).to_string(),
                Switched { at: u64::try_from(at).unwrap(), ..Switched::default() },
            )
        };
        let content = Content { version: VERSION, sessions: (0..MAX_SESSIONS).map(session).collect() };
        switches.file.write(&content).unwrap();
        switches.keep(Digest::of(b"new"), groups(&[("git", true)])).unwrap();
        let content: Content = switches.file.read().unwrap();
        assert_eq!(content.sessions.len(), MAX_SESSIONS);
        assert!(!content.sessions.contains_key(&Digest::of(&0_usize.to_be_bytes()).to_string()));
        assert_eq!(switches.of(Digest::of(b"new")).unwrap(), groups(&[("git", true)]));
    }
}
