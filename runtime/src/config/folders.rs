//! The folders that are our own: settings, caches, data and state of the user, never of a project.

use std::ffi::OsString;
use std::fs::{DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

use crate::error::{Error, Result};

/// The environment variable that puts all of our folders under one.
pub const HOME_VARIABLE: &str = "TOOLCELL_HOME";

/// Where we keep what is ours. [`ensure_private`] creates and checks a folder before anything is kept in it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Folders {
    /// The user's own `toolcell.toml`.
    pub config: PathBuf,
    /// Compiled components; may be removed at any time.
    pub cache: PathBuf,
    /// Trust, approvals and tools' persistent state.
    pub data: PathBuf,
    /// Outputs and the audit.
    pub state: PathBuf,
}

impl Folders {
    /// All of them under `home`.
    pub fn under(home: &Path) -> Self {
        Self {
            config: home.join("config"),
            cache: home.join("cache"),
            data: home.join("data"),
            state: home.join("state"),
        }
    }

    /// Those of the user: under the value of [`HOME_VARIABLE`] if there is one, else as the XDG base directory
    /// specification says.
    ///
    /// # Errors
    /// When the override or the home is relative, or when the user has no home.
    pub fn of_user(override_home: Option<OsString>) -> Result<Self> {
        if let Some(home) = override_home.filter(|home| !home.is_empty()) {
            let home = PathBuf::from(home);
            if home.is_relative() {
                return Err(Error::Config {
                    at: HOME_VARIABLE.to_owned(),
                    message: "must be an absolute path: it holds what is trusted".to_owned(),
                });
            }
            return Ok(Self::under(&home));
        }
        let strategy = etcetera::choose_base_strategy().map_err(|_| Error::Config {
            at: HOME_VARIABLE.to_owned(),
            message: "no home folder is known for this user; set this variable to a folder of your own"
                .to_owned(),
        })?;
        let own = |folder: PathBuf| folder.join("toolcell");
        let data = strategy.data_dir();
        let folders = Self {
            config: own(strategy.config_dir()),
            cache: own(strategy.cache_dir()),
            state: own(strategy.state_dir().unwrap_or_else(|| data.clone())),
            data: own(data),
        };
        if folders.all().iter().any(|(_, folder)| folder.is_relative()) {
            return Err(Error::Config {
                at: "HOME".to_owned(),
                message: format!(
                    "must be an absolute path: what is trusted lies below it; correct it, or set {HOME_VARIABLE} to a \
                     folder of your own"
                ),
            });
        }
        Ok(folders)
    }

    /// Compiled components.
    pub fn compiled(&self) -> PathBuf {
        self.cache.join("compiled")
    }

    /// Full outputs that were cut for the model.
    pub fn outputs(&self) -> PathBuf {
        self.state.join("outputs")
    }

    /// The audit, where its settings name no other place.
    pub fn audit(&self) -> PathBuf {
        self.state.join("audit")
    }

    /// Approvals that outlive a session.
    pub fn approvals(&self) -> PathBuf {
        self.data.join("approvals")
    }

    /// The list of trusted configurations.
    pub fn trust(&self) -> PathBuf {
        self.data.join("trust.json")
    }

    /// Every folder of ours with what it is: no tool may ever write in any.
    pub fn all(&self) -> [(&'static str, &Path); 4] {
        [
            ("settings", self.config.as_path()),
            ("cache", self.cache.as_path()),
            ("trust and approvals", self.data.as_path()),
            ("outputs and audit", self.state.as_path()),
        ]
    }
}

/// Creates `folder`, for its owner alone, unless it is there, and checks that nobody else can write in it.
///
/// # Errors
/// When it cannot be created, is no folder, belongs to another user, or others may write in it.
pub fn ensure_private(folder: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(Error::file("create", folder))?;
    let metadata = folder.metadata().map_err(Error::file("read", folder))?;
    private(&metadata).map_err(|message| {
        Error::file("use", folder)(io::Error::new(io::ErrorKind::PermissionDenied, message))
    })
}

fn private(metadata: &Metadata) -> Result<(), &'static str> {
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err("it belongs to another user");
    }
    if metadata.mode() & 0o022 != 0 {
        return Err("other users may write in it; run `chmod go-w` on it");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn one_variable_moves_everything() {
        let folders = Folders::of_user(Some("/srv/x".into())).unwrap();
        for (what, folder) in folders.all() {
            assert!(folder.starts_with("/srv/x"), "{what}");
        }
        assert!(folders.trust().starts_with(&folders.data));
        assert!(Folders::of_user(Some("relative".into())).is_err());
    }

    #[test]
    fn a_folder_is_created_for_its_owner_alone() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("a/b");
        ensure_private(&folder).unwrap();
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        ensure_private(&folder).unwrap();
    }

    #[test]
    fn a_folder_that_others_may_write_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        for mode in [0o770, 0o707, 0o777, 0o1777] {
            let folder = scratch.path().join(format!("{mode:o}"));
            std::fs::create_dir(&folder).unwrap();
            std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).unwrap();
            let error = ensure_private(&folder).unwrap_err().to_string();
            assert!(error.contains("chmod go-w"), "{error}");
        }
        let file = scratch.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(ensure_private(&file).is_err());
    }
}
