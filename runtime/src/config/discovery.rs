//! Which file is the configuration: the one that was named, else the one here or above, else the user's own.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::folders::{Folders, HOME_VARIABLE};
use super::settings::Config;
use crate::error::{Error, Result};

/// The environment variable that names a configuration.
pub const CONFIG_VARIABLE: &str = "TOOLCELL_CONFIG";

/// The name of a configuration that is looked for.
pub const FILE_NAME: &str = "toolcell.toml";

/// No configuration that people write is near this, nor its lock file.
const MAX_BYTES: u64 = 1 << 20;

/// What of the process decides where a configuration is, as data.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Environment {
    /// The folder in which the search starts.
    pub working_directory: PathBuf,
    /// The value of [`CONFIG_VARIABLE`].
    pub config: Option<OsString>,
    /// What `~/` means.
    pub home: Option<PathBuf>,
    /// Our own folders.
    pub folders: Folders,
}

/// How a configuration was come by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum How {
    /// Named on the command line or by an embedder.
    Named,
    /// Named by [`CONFIG_VARIABLE`].
    Variable,
    /// Found in the working directory or above: whoever wrote it may be a stranger.
    Found,
    /// The user's own, in our folder of settings.
    User,
}

/// A configuration's file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Location {
    /// The file, absolute.
    pub path: PathBuf,
    /// How it was come by.
    pub how: How,
    /// The file as a person in the working directory would name it.
    pub label: String,
}

impl Environment {
    /// An environment in which nothing is set.
    pub fn new(working_directory: impl Into<PathBuf>, folders: Folders) -> Self {
        Self { working_directory: working_directory.into(), config: None, home: None, folders }
    }

    /// That of this process.
    ///
    /// # Errors
    /// When the working directory is gone or the user has no home.
    pub fn of_process() -> Result<Self> {
        Ok(Self {
            working_directory: std::env::current_dir().map_err(Error::file("find", "."))?,
            config: std::env::var_os(CONFIG_VARIABLE),
            home: std::env::home_dir().filter(|home| home.is_absolute()),
            folders: Folders::of_user(std::env::var_os(HOME_VARIABLE))?,
        })
    }

    /// The configuration that holds here: `named`, else the variable's, else one found, else the user's; or none.
    ///
    /// # Errors
    /// When a file that was named is not there, or one that was found is not a regular file.
    pub fn locate(&self, named: Option<&Path>) -> Result<Option<Location>> {
        if let Some(named) = named {
            return self.named(named, How::Named).map(Some);
        }
        if let Some(named) = self.config.as_ref().filter(|name| !name.is_empty()) {
            let location = self.there(&self.working_directory.join(named), How::Variable)?;
            return location.map(Some).ok_or_else(|| Error::Config {
                at: CONFIG_VARIABLE.to_owned(),
                message: format!(
                    "names `{}`, and there is no such file; correct this variable, or unset it",
                    Path::new(named).display()
                ),
            });
        }
        for folder in self.working_directory.ancestors() {
            let how = if folder == self.folders.config { How::User } else { How::Found };
            if let Some(location) = self.there(&folder.join(FILE_NAME), how)? {
                return Ok(Some(location));
            }
        }
        self.there(&self.folders.config.join(FILE_NAME), How::User)
    }

    fn named(&self, named: &Path, how: How) -> Result<Location> {
        let path = self.working_directory.join(named);
        let missing = || std::io::Error::from(rustix::io::Errno::NOENT);
        self.there(&path, how)?.ok_or_else(|| Error::file("read", named)(missing()))
    }

    fn there(&self, path: &Path, how: How) -> Result<Option<Location>> {
        let label = path.strip_prefix(&self.working_directory).unwrap_or(path);
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => {
                let label = label.display().to_string();
                Ok(Some(Location { path: path.to_owned(), how, label }))
            }
            Ok(_) => Err(Error::Config {
                at: label.display().to_string(),
                message: format!("is not a regular file; name the configuration itself, `…/{FILE_NAME}`"),
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            // Going on would fall back to another file with other rules.
            Err(error) => Err(Error::file("read", label)(error)),
        }
    }
}

impl Config {
    /// Reads the configuration at `location`. One that was only found must go through
    /// [`Config::restrict_untrusted`] before it is used.
    ///
    /// # Errors
    /// When the file cannot be read, or one error that lists everything wrong in it.
    pub fn load(location: &Location, environment: &Environment) -> Result<Self> {
        let text = read(&location.path, &location.label)?;
        Self::parse(&text, &location.path, &location.label, environment.home.as_deref())
    }
}

pub(super) fn read(path: &Path, label: &str) -> Result<String> {
    let wrong = |message: &str| Error::Config { at: label.to_owned(), message: message.to_owned() };
    // Whoever puts a FIFO in place of the file since it was located must not make this wait.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| error.into());
    let file = std::fs::File::from(file.map_err(Error::file("read", label))?);
    let mut content = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut content).map_err(Error::file("read", label))?;
    if u64::try_from(content.len()).is_ok_and(|length| length > MAX_BYTES) {
        return Err(wrong("is larger than 1 MiB and can be no configuration, nor a lock file"));
    }
    String::from_utf8(content).map_err(|_| wrong("is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::fs;

    use super::*;

    fn environment(root: &Path, working_directory: &str) -> Environment {
        let working_directory = root.join(working_directory);
        fs::create_dir_all(&working_directory).unwrap();
        Environment::new(working_directory, Folders::under(&root.join("home")))
    }

    fn write(root: &Path, name: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    #[test]
    fn the_nearest_and_most_explicit_file_holds() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path();
        let mut environment = environment(root, "project/src/deep");
        let found = |environment: &Environment, named: Option<&str>| {
            environment.locate(named.map(Path::new)).unwrap().map(|location| {
                let path = location.path.canonicalize().unwrap();
                (path.strip_prefix(root.canonicalize().unwrap()).unwrap().to_owned(), location.how)
            })
        };
        // No file lies above the scratch folder, or the test would find that one.
        assert_eq!(found(&environment, None), None);
        for (name, how) in [
            ("home/config/toolcell.toml", How::User),
            ("toolcell.toml", How::Found),
            ("project/toolcell.toml", How::Found),
            ("project/src/deep/toolcell.toml", How::Found),
        ] {
            write(root, name);
            assert_eq!(found(&environment, None), Some((name.into(), how)), "{name}");
        }
        let mut in_own_folder = environment.clone();
        in_own_folder.working_directory = environment.folders.config.clone();
        assert_eq!(found(&in_own_folder, None).unwrap().1, How::User);
        environment.config = Some("".into());
        assert_eq!(found(&environment, None).unwrap().1, How::Found, "an empty variable is unset");
        write(root, "project/by-variable.toml");
        environment.config = Some("../../by-variable.toml".into());
        assert_eq!(found(&environment, None), Some(("project/by-variable.toml".into(), How::Variable)));
        write(root, "project/src/named.toml");
        assert_eq!(
            found(&environment, Some("../named.toml")),
            Some(("project/src/named.toml".into(), How::Named))
        );
    }

    #[test]
    fn a_named_file_that_is_missing_is_an_error_and_no_other_is_taken() {
        let scratch = tempfile::tempdir().unwrap();
        let mut environment = environment(scratch.path(), "project");
        write(scratch.path(), "project/toolcell.toml");
        let error = environment.locate(Some(Path::new("other.toml"))).unwrap_err().to_string();
        assert!(error.starts_with("cannot read other.toml"), "{error}");
        environment.config = Some("gone.toml".into());
        let error = environment.locate(None).unwrap_err().to_string();
        assert!(error.starts_with("TOOLCELL_CONFIG: names `gone.toml`"), "{error}");
    }

    #[test]
    fn what_is_no_regular_file_is_refused_at_once() {
        let scratch = tempfile::tempdir().unwrap();
        let environment = environment(scratch.path(), "project");
        fs::create_dir(scratch.path().join("project/toolcell.toml")).unwrap();
        let error = environment.locate(None).unwrap_err().to_string();
        assert!(error.contains("toolcell.toml: is not a regular file"), "{error}");
        let fifo = scratch.path().join("project/fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(environment.locate(Some(&fifo)).is_err());
    }

    #[test]
    fn a_file_that_is_no_text_or_too_large_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let environment = environment(scratch.path(), "project");
        for (content, told) in [
            (b"a = \"\xff\"".to_vec(), "is not UTF-8 text"),
            (vec![b'#'; (1 << 20) + 1], "is larger than 1 MiB"),
        ] {
            fs::write(scratch.path().join("project/toolcell.toml"), content).unwrap();
            let location = environment.locate(None).unwrap().unwrap();
            assert_eq!(location.label, "toolcell.toml");
            let error = Config::load(&location, &environment).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
