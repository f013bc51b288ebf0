//! What a component may reach: nothing, until its operator says otherwise.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{HttpGrant, Secret};

/// How far a directory grant goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Files and names can be read; nothing can be changed.
    Read,
    /// Files can also be created, changed, renamed and removed.
    ReadWrite,
}

/// For how long values are kept that a tool sets through `wasi:keyvalue`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum StateScope {
    /// Nothing is kept: every use is refused.
    #[default]
    None,
    /// For the call.
    Call,
    /// For calls of the same session, until it was not used for 30 days. A call without a session keeps them for itself.
    Session,
    /// For all calls of the component.
    Persistent,
}

impl StateScope {
    /// The word for it in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Call => "call",
            Self::Session => "session",
            Self::Persistent => "persistent",
        }
    }
}

impl std::str::FromStr for StateScope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::None, Self::Call, Self::Session, Self::Persistent]
            .into_iter()
            .find(|scope| scope.as_str() == text)
            .ok_or_else(|| format!("`{text}` is no scope; write `none`, `call`, `session` or `persistent`"))
    }
}

/// One host directory that a component sees.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DirGrant {
    /// The directory on the host, absolute once validated.
    pub host: PathBuf,
    /// Where the guest sees it: an absolute path.
    pub guest: String,
    /// How far the grant goes.
    pub access: Access,
    /// Globs relative to the directory. What they match can be neither opened, listed, linked, replaced nor
    /// renamed, by whatever spelling or link, nor can a folder above it be renamed or removed.
    pub deny: Vec<String>,
}

impl DirGrant {
    /// A grant of `host`, seen by the guest as `guest`.
    pub fn new(host: impl Into<PathBuf>, guest: impl Into<String>, access: Access) -> Self {
        Self { host: host.into(), guest: guest.into(), access, deny: Vec::new() }
    }

    /// Withholds what `pattern` matches.
    #[must_use]
    pub fn deny(mut self, pattern: impl Into<String>) -> Self {
        self.deny.push(pattern.into());
        self
    }
}

/// Everything that a component is granted. [`Grant::none`] is where each begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grant {
    /// Directories.
    pub dirs: Vec<DirGrant>,
    /// Where it may send requests over HTTP. Sockets are never granted.
    pub http: Vec<HttpGrant>,
    /// Environment variables with their values; the host's own are never seen.
    pub env: BTreeMap<String, String>,
    /// Values of `wasi:config/store`.
    pub config: BTreeMap<String, String>,
    /// Secrets by name: taken out of all that the component's tools say.
    pub secrets: BTreeMap<String, Secret>,
    /// For how long values are kept that it sets. A function that claims to be read-only may only read them.
    pub state: StateScope,
}

impl Grant {
    /// Nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds a directory.
    #[must_use]
    pub fn dir(self, host: impl Into<PathBuf>, guest: impl Into<String>, access: Access) -> Self {
        self.dir_grant(DirGrant::new(host, guest, access))
    }

    /// Adds a directory with what is withheld from it.
    #[must_use]
    pub fn dir_grant(mut self, dir: DirGrant) -> Self {
        self.dirs.push(dir);
        self
    }

    /// Lets it send requests over HTTP.
    #[must_use]
    pub fn http(mut self, entry: HttpGrant) -> Self {
        self.http.push(entry);
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Sets a configuration value.
    #[must_use]
    pub fn config(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.config.insert(name.into(), value.into());
        self
    }

    /// Lets it keep values for that long.
    #[must_use]
    pub fn state(mut self, scope: StateScope) -> Self {
        self.state = scope;
        self
    }

    /// Names a secret.
    #[must_use]
    pub fn secret(mut self, name: impl Into<String>, secret: Secret) -> Self {
        self.secrets.insert(name.into(), secret);
        self
    }

    /// The same grants with every directory narrowed to reading and only those requests over HTTP of which the operator
    /// says that they read, as for a function that claims to be read-only.
    #[must_use]
    pub fn read_only(&self) -> Self {
        let mut narrowed = self.clone();
        for dir in &mut narrowed.dirs {
            dir.access = Access::Read;
        }
        narrowed.http.retain(|entry| entry.read_only);
        narrowed
    }
}
