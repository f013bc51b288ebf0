//! What can go wrong on the host, before or around calls. A guest's failure is an outcome, never one of these.

use std::path::PathBuf;

/// Why a runtime could not be built or asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// `read`, `write`, `create` …
        action: &'static str,
        /// The file, as its operator named it.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// A configuration is wrong.
    #[error("{at}: {message}")]
    Config {
        /// File and line, `toolcell.toml:31`, or the file alone.
        at: String,
        /// What is wrong and what to write instead.
        message: String,
    },
    /// A file is not a component that can be a tool.
    #[error("{subject}: {message}")]
    Component {
        /// The component's name or file.
        subject: String,
        /// What it is and what to do.
        message: String,
    },
    /// A registry did not give what it was asked for.
    #[error("{reference}: {message}")]
    Registry {
        /// What was asked for.
        reference: String,
        /// What is wrong and what to do.
        message: String,
        /// Whether the same may go well later.
        is_temporary: bool,
    },
    /// A grant cannot work or is not allowed.
    #[error("{setting}: {message}")]
    Grant {
        /// The address of the setting.
        setting: String,
        /// What is wrong and what to write instead.
        message: String,
    },
    /// Two tools have one name.
    #[error("two tools are named `{name}`: {first} and {second}; set `prefix` or `rename` on one of them")]
    DuplicateTool {
        /// The name.
        name: String,
        /// Where the one comes from.
        first: String,
        /// Where the other comes from.
        second: String,
    },
    /// A limit that cannot be honoured.
    #[error("{setting}: {message}")]
    Limit {
        /// The address of the setting.
        setting: String,
        /// What is wrong and what to write instead.
        message: String,
    },
    /// The sandbox could not be set up.
    #[error("cannot set up the sandbox: {message}")]
    Sandbox {
        /// What failed.
        message: String,
    },
    /// The audit cannot be kept, continued or read.
    #[error("the audit {}: {message}", path.display())]
    Audit {
        /// Its file or folder.
        path: PathBuf,
        /// What is wrong and what to do.
        message: String,
    },
    /// A recording cannot be written, read or replayed.
    #[error("the recording {}: {message}", path.display())]
    Recording {
        /// Its file.
        path: PathBuf,
        /// What is wrong and what to do.
        message: String,
    },
    /// What tools keep cannot be read or removed.
    #[error("the state in {}: {message}", path.display())]
    State {
        /// Its file or folder.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// An approval that cannot be given, kept or taken back.
    #[error("{0}")]
    Approval(String),
    /// A stored output is not there.
    #[error("{0}")]
    Output(String),
}

impl Error {
    /// A closure for `map_err` that adds what was done to which file.
    pub fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { action, path, source }
    }

    /// A component that cannot be a tool.
    pub fn component(subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Component { subject: subject.into(), message: message.into() }
    }
}

/// The result of everything that the host does for itself.
pub type Result<T, E = Error> = std::result::Result<T, E>;
