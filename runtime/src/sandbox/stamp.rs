//! What tells a file from any other content that it had or will have, without reading it.

use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long a file must have been as it is: a change within one tick of a file system's clock shows in no time of it, and
/// the coarsest clocks tick every two seconds.
const SETTLED: Duration = Duration::from_secs(3);

/// Place, size and times of a file. The time of the last change of anything, which no program can set, is among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stamp(String);

impl Stamp {
    /// The stamp of a file that nobody changed lately; none of any other.
    pub fn of(metadata: &std::fs::Metadata) -> Option<Self> {
        let changed = u64::try_from(metadata.ctime().max(metadata.mtime())).ok()?;
        let age = SystemTime::now().duration_since(UNIX_EPOCH + Duration::from_secs(changed)).ok()?;
        (age > SETTLED).then(|| {
            Self(format!(
                "{:x}.{:x}.{:x}.{:x}.{:x}.{:x}.{:x}",
                metadata.dev(),
                metadata.ino(),
                metadata.size(),
                metadata.mtime(),
                metadata.mtime_nsec(),
                metadata.ctime(),
                metadata.ctime_nsec()
            ))
        })
    }

    /// As it was written before.
    pub fn is(&self, written: &str) -> bool {
        self.0 == written
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test's failure is its report")]

    use super::*;

    #[test]
    fn a_file_that_was_just_changed_has_none() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(Stamp::of(&file.as_file().metadata().unwrap()), None);
        // Whatever time it claims to be from: the time of that change is not its own to say.
        file.as_file().set_modified(UNIX_EPOCH).unwrap();
        assert_eq!(Stamp::of(&file.as_file().metadata().unwrap()), None);
    }

    #[test]
    fn a_file_that_nobody_changes_keeps_its_own() {
        let metadata = std::fs::metadata(std::env::current_exe().unwrap()).unwrap();
        let other = std::fs::metadata("/proc/self/exe").unwrap();
        if let (Some(one), Some(other)) = (Stamp::of(&metadata), Stamp::of(&other)) {
            assert!(one == other && one.is(&other.to_string()) && !one.is(""));
        }
    }
}
