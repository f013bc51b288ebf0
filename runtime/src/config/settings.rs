//! A validated configuration.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::audit::Audit;
use super::component::ComponentConfig;
use super::hooks::HookConfig;
use super::mcp::McpConfig;
use super::server::Server;
use crate::limits::{Admission, Limits, Origin};
use crate::policy::{Action, Digest, Rule};

/// Everything that a `toolcell.toml` says, checked. The default is what holds without a file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// The file, absolute; none for the default.
    pub file: Option<PathBuf>,
    /// The digest of the bytes that were read from the file: trust is in these, not in what is there later.
    pub digest: Option<Digest>,
    /// The digest of the bytes of the lock file, if components come from registries and there is one.
    pub lock: Option<Digest>,
    /// The components by name, switched-off ones included.
    pub components: Vec<ComponentConfig>,
    /// Other servers whose tools are called, by name, switched-off ones included.
    pub mcp: Vec<McpConfig>,
    /// What is denied, asked about or allowed, each rule checked.
    pub rules: Vec<Rule>,
    /// What becomes of a call that no rule matches. Default [`Action::Allow`].
    pub default: Action,
    /// Where `default` was set.
    pub default_origin: Origin,
    /// Whether there is a tool by which a model switches a group on for its own session. Default false.
    pub activate_group: bool,
    /// The groups that are switched off at the beginning.
    pub inactive_groups: Vec<String>,
    /// The hooks in the order of the file, the outermost first.
    pub hooks: Vec<HookConfig>,
    /// The limits of every call.
    pub limits: Limits,
    /// What runs and waits at once.
    pub admission: Admission,
    /// What a model sees of one call.
    pub output: OutputBounds,
    /// The record of every call. Default none.
    pub audit: Option<Audit>,
    /// Who may reach the server over HTTP.
    pub server: Server,
    /// The time for the whole path of a call. Default 10 minutes.
    pub call_timeout: Duration,
    /// Where `call_timeout` was set.
    pub call_timeout_origin: Origin,
    /// Where settings were set that carry no origin of their own, by address: of `output`, of `server`, of admission in
    /// `limits`, and each `component.NAME.grant.env`.
    pub origins: BTreeMap<String, Origin>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            file: None,
            digest: None,
            lock: None,
            components: Vec::new(),
            mcp: Vec::new(),
            rules: Vec::new(),
            default: Action::default(),
            default_origin: Origin::default(),
            activate_group: false,
            inactive_groups: Vec::new(),
            hooks: Vec::new(),
            limits: Limits::new(),
            admission: Admission::default(),
            output: OutputBounds::default(),
            audit: None,
            server: Server::default(),
            call_timeout: Duration::from_secs(600),
            call_timeout_origin: Origin::default(),
            origins: BTreeMap::new(),
        }
    }
}

impl Config {
    /// Where the setting at `address`, one of those in `origins`, was set; without a place where it was not.
    pub fn origin(&self, address: &str) -> Origin {
        self.origins.get(address).cloned().unwrap_or_else(|| Origin::setting(address))
    }
}

/// What a model sees of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutputBounds {
    /// Bytes. Default 40 KiB.
    pub max_bytes: u64,
    /// Lines. Default 2,000.
    pub max_lines: u64,
}

impl Default for OutputBounds {
    fn default() -> Self {
        Self { max_bytes: 40 << 10, max_lines: 2_000 }
    }
}
