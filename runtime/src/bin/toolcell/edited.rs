//! Changes of a configuration and its lock file, and what follows from them.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use toolcell::Runtime;
use toolcell::config::{Config, Environment, Location, Lock};

use crate::opened::Opened;
use crate::terminal::{Label, say};
use crate::toolset::is_trusted;

/// A configuration that is to be changed.
pub(crate) struct Edited {
    pub environment: Environment,
    pub location: Location,
    pub text: String,
}

impl Edited {
    /// The configuration that is named, or found.
    pub fn open(named: Option<&Path>) -> anyhow::Result<Self> {
        let environment = Environment::of_process()?;
        let Some(location) = environment.locate(named)? else {
            bail!("there is no toolcell.toml here or above; `toolcell init` writes one");
        };
        let text = std::fs::read_to_string(&location.path)
            .with_context(|| format!("cannot read {}", location.label))?;
        Ok(Self { environment, location, text })
    }

    /// The configuration as it is.
    pub fn config(&self) -> anyhow::Result<Config> {
        Ok(Config::load(&self.location, &self.environment)?)
    }

    /// The configuration of another text.
    pub fn parsed(&self, text: &str) -> anyhow::Result<Config> {
        let home = self.environment.home.as_deref();
        Ok(Config::parse(text, &self.location.path, &self.location.label, home)?)
    }

    /// What is locked; nothing where there is no file.
    pub fn lock(&self) -> anyhow::Result<Lock> {
        Ok(Lock::read(&Lock::path_for(&self.location.path), &lock_label(&self.location))?)
    }

    /// Whether it holds as it is.
    pub fn is_trusted(&self, config: &Config) -> bool {
        is_trusted(&self.location, config, &self.environment)
    }

    /// Loads `config`, or `only` one component of it. Nobody's programs are started for that.
    pub fn load(&self, mut config: Config, only: Option<&str>) -> anyhow::Result<Opened> {
        config.mcp.clear();
        let builder = Runtime::builder().config(config).folders(self.environment.folders.clone());
        Opened::of(match only {
            Some(name) => builder.only(name),
            None => builder,
        })
    }

    /// Replaces the configuration's text.
    pub fn write(&self, text: &str) -> anyhow::Result<()> {
        let label = &self.location.label;
        replace(&self.location.path, text).with_context(|| format!("cannot write {label}"))
    }

    /// Replaces the lock file; one with nothing in it is removed. Its path.
    pub fn write_lock(&self, lock: &Lock) -> anyhow::Result<PathBuf> {
        let path = Lock::path_for(&self.location.path);
        let written = match lock.is_empty() {
            true => std::fs::remove_file(&path),
            false => replace(&path, &lock.text()),
        };
        written.with_context(|| format!("cannot write {}", lock_label(&self.location)))?;
        Ok(path)
    }

    /// A changed file is trusted no longer; said only if that takes something away.
    pub fn tell_of_trust(&self, was_trusted: bool) -> anyhow::Result<()> {
        let mut config = self.config()?;
        if self.is_trusted(&config) || config.restrict_untrusted().is_empty() {
            return Ok(());
        }
        say(
            Label::Note,
            match was_trusted {
                true => "the file has changed, so it is trusted no longer; run `toolcell trust` again",
                false => "not all of that holds until you run `toolcell trust`",
            },
        );
        Ok(())
    }
}

/// The lock file as a person would name it.
fn lock_label(location: &Location) -> String {
    Lock::path_for(Path::new(&location.label)).display().to_string()
}

/// Replaces a file in one step, with its mode, through links; or makes one that everybody may read, as it holds no secret.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let (path, permissions) = match path.canonicalize() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            (path.to_owned(), PermissionsExt::from_mode(0o644))
        }
        found => {
            let found = found?;
            let permissions = found.metadata()?.permissions();
            (found, permissions)
        }
    };
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new("/")))?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(permissions)?;
    file.persist(&path)?;
    Ok(())
}
