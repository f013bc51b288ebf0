//! A component as its operator names it, before anything is read.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::config::{ComponentConfig, Source, ToolSettings};
use crate::limits::{Limits, Origin};
use crate::policy::{Deterministic, Digest, Grant};
use crate::schema::RepairMode;

/// A component and what it may do; nothing is granted until something is.
#[derive(Debug, Clone)]
pub struct ToolComponent {
    pub(crate) config: ComponentConfig,
    pub(crate) bytes: Option<Cow<'static, [u8]>>,
    pub(crate) wit: Option<PathBuf>,
    pub(crate) world: Option<String>,
}

impl ToolComponent {
    /// The component in a file, or the components in a folder; named after the file.
    pub fn file(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        let source = if path.is_dir() { Source::Folder(path.into()) } else { Source::File(path.into()) };
        Self::from(ComponentConfig::new(name_of(path), source))
    }

    /// A tool that is shipped with the runtime: `basics`, `fetch`, `files`, `js`, `plan`, `python`, `shell`
    /// or `weather`. `python` is a file beside the program ([`crate::config::shipped_file`]), the others are in it.
    pub fn builtin(name: impl Into<String>) -> Self {
        let name = name.into();
        Self::from(ComponentConfig::new(name.clone(), Source::Builtin(name)))
    }

    /// A component in memory.
    pub fn bytes(name: impl Into<String>, bytes: impl Into<Cow<'static, [u8]>>) -> Self {
        let name = name.into();
        let mut component = Self::from(ComponentConfig::new(name.clone(), Source::File(name.into())));
        component.bytes = Some(bytes.into());
        component
    }

    /// Its identity in settings' addresses and records. The default is the file's name without its ending.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.config.name = name.into();
        self
    }

    /// What it may reach. The default is nothing.
    #[must_use]
    pub fn grant(mut self, grant: Grant) -> Self {
        self.config.grant = grant;
        self
    }

    /// What its calls may consume, where it differs from the runtime's limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.config.limits = limits;
        self
    }

    /// What calls of one of its tools may consume.
    #[must_use]
    pub fn tool_limits(mut self, tool: impl Into<String>, limits: Limits) -> Self {
        self.settings(tool).limits = limits;
        self
    }

    /// A description of one of its tools in place of its own.
    #[must_use]
    pub fn describe(mut self, tool: impl Into<String>, description: impl Into<String>) -> Self {
        self.settings(tool).description = Some(description.into());
        self
    }

    /// Put before each of its tools' names.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.config.prefix = prefix.into();
        self
    }

    /// Another name for one of its tools, by its name or `interface.function`.
    #[must_use]
    pub fn rename(mut self, tool: impl Into<String>, name: impl Into<String>) -> Self {
        self.config.rename.insert(tool.into(), name.into());
        self
    }

    /// The only tools to take from it. The default is all.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.config.tools = Some(tools.into_iter().map(Into::into).collect());
        self
    }

    /// The content that it must have.
    #[must_use]
    pub fn digest(mut self, digest: Digest) -> Self {
        self.config.digest = Some(digest);
        self
    }

    /// How much lenient spelling in arguments is mended.
    #[must_use]
    pub fn repair(mut self, repair: RepairMode) -> Self {
        self.config.repair = repair;
        self
    }

    /// Time and chance that are the same in every call. The default is those of the host.
    #[must_use]
    pub fn deterministic(mut self, deterministic: Deterministic) -> Self {
        self.config.deterministic = Some(deterministic);
        self
    }

    /// The folder with its WIT, which describes a component that is not packed.
    #[must_use]
    pub fn wit(mut self, folder: impl Into<PathBuf>) -> Self {
        self.wit = Some(folder.into());
        self
    }

    /// The world in that folder that it was built for; needed where there are several.
    #[must_use]
    pub fn world(mut self, name: impl Into<String>) -> Self {
        self.world = Some(name.into());
        self
    }

    /// What named it, where that is a flag of a command line: denials and errors then name the flags that grant.
    #[must_use]
    pub fn named_by_flag(mut self, flag: impl Into<String>) -> Self {
        self.config.origin = Origin::setting(flag.into());
        self
    }

    /// Everything that is set so far.
    pub fn config(&self) -> &ComponentConfig {
        &self.config
    }

    fn settings(&mut self, tool: impl Into<String>) -> &mut ToolSettings {
        self.config.tool_settings.entry(tool.into()).or_default()
    }
}

impl From<ComponentConfig> for ToolComponent {
    fn from(config: ComponentConfig) -> Self {
        Self { config, bytes: None, wit: None, world: None }
    }
}

/// The name that a file's component has unless it is given one: its stem in the alphabet of names.
pub(crate) fn name_of(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().to_lowercase()).unwrap_or_default();
    let mut name: String = stem
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' })
        .take(64)
        .collect();
    if !name.starts_with(|letter: char| letter.is_ascii_lowercase()) {
        name.insert(0, 'c');
    }
    name
}
