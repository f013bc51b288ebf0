//! The binary, run as a user would run it.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A folder to work in, with folders of our own beside it that nothing was ever in.
pub struct CommandLine {
    scratch: tempfile::TempDir,
}

/// How a run of the binary ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit code; -1 for a signal.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Ended {
    /// Standard output as the one document that it is to be.
    #[expect(clippy::panic, reason = "output that is no document fails the test")]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

#[expect(clippy::panic, reason = "a test that cannot set up fails")]
impl CommandLine {
    /// A fresh user in an empty folder, who shares the compiled guests with every other test of this run.
    pub fn new() -> Self {
        let new = Self::cold();
        let (shared, cache) = (crate::cache().with_extension("cli"), new.home().join("cache"));
        let linked = std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&shared)
            .and_then(|()| std::fs::DirBuilder::new().mode(0o700).create(&cache))
            .and_then(|()| std::os::unix::fs::symlink(shared, cache.join("compiled")));
        linked.unwrap_or_else(|error| panic!("{error}"));
        new
    }

    /// A fresh user in an empty folder, with nothing compiled.
    pub fn cold() -> Self {
        let scratch = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let new = Self { scratch };
        for folder in [new.folder(), new.home()] {
            std::fs::create_dir(folder).unwrap_or_else(|error| panic!("{error}"));
        }
        new
    }

    /// The folder in which commands run.
    pub fn folder(&self) -> PathBuf {
        self.scratch.path().join("project")
    }

    /// The folder above all that is toolcell's own.
    pub fn home(&self) -> PathBuf {
        self.scratch.path().join("home")
    }

    /// Writes a file in the folder.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder().join(name);
        std::fs::write(&path, content).unwrap_or_else(|error| panic!("{error}"));
        path
    }

    /// A command with an environment that holds nothing but our own folders.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.program(binary());
        command.args(arguments);
        command
    }

    /// A command of another program, in the same folder and environment.
    pub fn program(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.folder())
            .env_clear()
            .env("TOOLCELL_HOME", self.home())
            .env("HOME", self.scratch.path())
            .stdin(Stdio::null());
        for (variable, folder) in [
            ("XDG_CONFIG_HOME", "c"),
            ("XDG_CACHE_HOME", "x"),
            ("XDG_DATA_HOME", "d"),
            ("XDG_STATE_HOME", "s"),
        ] {
            command.env(variable, self.scratch.path().join(folder));
        }
        command
    }

    /// Runs the binary.
    pub fn run(&self, arguments: &[&str]) -> Ended {
        ended(&mut self.command(arguments))
    }

    /// Runs it with the probing guest.
    pub fn probe(&self, arguments: &[&str]) -> Ended {
        let probe = crate::guest("probe");
        let probe = probe.to_string_lossy();
        let (verb, rest) = arguments.split_first().unwrap_or_else(|| panic!("no verb"));
        self.run(&[&[*verb, "--component", &probe], rest].concat())
    }
}

impl Default for CommandLine {
    fn default() -> Self {
        Self::new()
    }
}

/// Runs a command to its end.
#[expect(clippy::panic, reason = "a binary that does not start fails the test")]
pub fn ended(command: &mut Command) -> Ended {
    command.output().unwrap_or_else(|error| panic!("cannot run the binary: {error}")).into()
}

/// The binary beside the test executables.
pub fn binary() -> PathBuf {
    let exe = std::env::current_exe().unwrap_or_default();
    exe.ancestors().nth(2).unwrap_or(Path::new("")).join("toolcell")
}
