//! The folders that are our own: settings, caches, data and state of the user, never of a project.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

use crate::error::{Error, Result};

/// The environment variable that puts all of our folders under one.
pub const HOME_VARIABLE: &str = "TOOLCELL_HOME";

/// Where we keep what is ours. [`ensure_private`](super::ensure_private) creates and checks a folder before anything is kept in it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Folders {
    /// The user's own `toolcell.toml`.
    pub config: PathBuf,
    /// Compiled components; may be removed at any time.
    pub cache: PathBuf,
    /// Trust, approvals, and components that came from registries.
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

    /// Groups of tools that sessions of the command line have switched.
    pub fn switches(&self) -> PathBuf {
        self.state.join("groups.json")
    }

    /// Values that tools keep between calls.
    pub fn kept(&self) -> PathBuf {
        self.state.join("state")
    }

    /// Components that came from registries.
    pub fn components(&self) -> PathBuf {
        self.data.join("components")
    }

    /// Approvals that outlive a session.
    pub fn approvals(&self) -> PathBuf {
        self.data.join("approvals")
    }

    /// The list of trusted configurations.
    pub fn trust(&self) -> PathBuf {
        self.data.join("trust.json")
    }

    /// What tools of other servers were when they were approved.
    pub fn pins(&self) -> PathBuf {
        self.data.join("servers.json")
    }

    /// Every folder of ours with what it is: no tool may ever write in any.
    pub fn all(&self) -> [(&'static str, &Path); 4] {
        [
            ("settings", self.config.as_path()),
            ("cache", self.cache.as_path()),
            ("trust and approvals", self.data.as_path()),
            ("outputs, audit and state", self.state.as_path()),
        ]
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

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
}
