//! A component's settings, and how they come from what is written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::document::Address;
use super::lock::Locked;
use super::names::{component_name_fits, tool_name_fits};
use super::raw::{RawComponent, RawDeterministic, RawTool};
use super::reference::Reference;
use super::rules::{DeclaredHints, group_fits};
use super::validate::{Validator, reason};
use crate::limits::{Limit, Limits, Origin};
use crate::policy::{Deterministic, Digest, DirGrant, Grant, HttpGrant, deterministic_clock};
pub use crate::schema::RepairMode;

/// Where a component comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// A component's file, absolute.
    File(PathBuf),
    /// A folder of components' files, absolute; a bad file in it is skipped with a warning.
    Folder(PathBuf),
    /// A tool that is shipped with the runtime, by name. Where it is no part of the program, [`super::shipped_file`] is its file.
    Builtin(String),
    /// A component of a registry. Its content is among the [`super::StoredComponents`], as it was locked.
    Registry {
        /// Where it is asked for.
        reference: Box<Reference>,
        /// What it was when it was taken; none where it never was.
        locked: Option<Box<Locked>>,
    },
}

/// The timeout of the shipped shell where nothing else is set: what its schema says, and what scripts take.
const SHELL_TIMEOUT: u64 = 120_000_000_000;

/// Its fuel: above what that time can burn, so that the deadline speaks first for it too.
const SHELL_FUEL: u64 = 4_000_000_000_000;

impl Source {
    /// What its tools have in place of the defaults of limits; whatever is set counts before it.
    pub(crate) fn default_limits(&self) -> Limits {
        match self {
            Self::Builtin(name) if name == "shell" => {
                let timeout = Limits::new().with_origin(Limit::Timeout, SHELL_TIMEOUT, Origin::default());
                timeout.with_origin(Limit::Fuel, SHELL_FUEL, Origin::default())
            }
            _ => Limits::new(),
        }
    }

    /// The file or folder on the host, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) | Self::Folder(path) => Some(path),
            Self::Builtin(_) | Self::Registry { .. } => None,
        }
    }
}

/// What an operator says of one tool.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolSettings {
    /// A title in place of the component's own.
    pub title: Option<String>,
    /// A description in place of the component's own.
    pub description: Option<String>,
    /// What is declared of it.
    pub hints: DeclaredHints,
    /// What calls of it may consume.
    pub limits: Limits,
    /// Where its table is.
    pub origin: Origin,
}

/// What an operator says of one component.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ComponentConfig {
    /// Its identity in settings' addresses and records: `[a-z][a-z0-9-_]*`, at most 64 bytes.
    pub name: String,
    /// Where it comes from.
    pub source: Source,
    /// The content that it must have.
    pub digest: Option<Digest>,
    /// The group that its tools are in.
    pub group: Option<String>,
    /// Whether its tools exist. A switched-off component's files are not looked at.
    pub enabled: bool,
    /// Put before each of its tools' names; may be empty.
    pub prefix: String,
    /// Other names for its tools, by tool name or `interface.function`.
    pub rename: BTreeMap<String, String>,
    /// The only tools to take from it; `None` is all.
    pub tools: Option<Vec<String>>,
    /// Rules of usage in place of the component's own.
    pub instructions: Option<String>,
    /// What it may reach.
    pub grant: Grant,
    /// Where each of `grant.dirs` was set, in the same order.
    pub dir_origins: Vec<Origin>,
    /// Where each of `grant.http` was set, in the same order.
    pub http_origins: Vec<Origin>,
    /// What calls of its tools may consume.
    pub limits: Limits,
    /// Settings of single tools, by tool name or `interface.function`.
    pub tool_settings: BTreeMap<String, ToolSettings>,
    /// What is declared of all its tools.
    pub hints: DeclaredHints,
    /// How much lenient spelling in arguments is mended.
    pub repair: RepairMode,
    /// Time and chance of its calls, where they are not the host's.
    pub deterministic: Option<Deterministic>,
    /// Where its table is.
    pub origin: Origin,
    /// Where its other settings were set, as far as they were: `digest`, `prefix`, `tools[0]`, `rename.list_dir`.
    pub origins: BTreeMap<String, Origin>,
}

impl ComponentConfig {
    /// A component with nothing granted and every setting at its default.
    pub fn new(name: impl Into<String>, source: Source) -> Self {
        let name = name.into();
        let origin = Origin::setting(format!("component.{name}"));
        Self {
            name,
            source,
            digest: None,
            group: None,
            enabled: true,
            prefix: String::new(),
            rename: BTreeMap::new(),
            tools: None,
            instructions: None,
            grant: Grant::none(),
            dir_origins: Vec::new(),
            http_origins: Vec::new(),
            limits: Limits::new(),
            tool_settings: BTreeMap::new(),
            hints: DeclaredHints::default(),
            repair: RepairMode::default(),
            deterministic: None,
            origin,
            origins: BTreeMap::new(),
        }
    }

    /// What is declared of a tool that goes by these names, its own and `interface.function`.
    pub fn hints_of(&self, names: &[&str]) -> DeclaredHints {
        let of_tool = names.iter().find_map(|name| self.tool_settings.get(*name));
        of_tool.map_or(self.hints, |settings| settings.hints.or(self.hints))
    }

    /// Where the setting `key`, one of those in `origins`, was set; without a place where it was not in a file.
    pub fn origin_of(&self, key: &str) -> Origin {
        let unknown = || Origin::setting(format!("component.{}.{key}", self.name));
        self.origins.get(key).cloned().unwrap_or_else(unknown)
    }

    /// The setting that grants directories: the address of the list, or the flag if flags name the component.
    pub fn dirs_setting(&self) -> String {
        match self.is_of_flags() {
            true => "--dir".to_owned(),
            false => format!("component.{}.grant.dirs", self.name),
        }
    }

    /// The setting that grants requests over HTTP: the address of the list, or the flag if flags name the component.
    pub fn http_setting(&self) -> String {
        match self.is_of_flags() {
            true => "--allow-http".to_owned(),
            false => format!("component.{}.grant.http", self.name),
        }
    }

    /// The setting by which it may keep values, or the flag if flags name the component.
    pub fn state_setting(&self) -> String {
        match self.is_of_flags() {
            true => "--state".to_owned(),
            false => format!("component.{}.grant.state", self.name),
        }
    }

    /// Whether no file says anything of it.
    fn is_of_flags(&self) -> bool {
        self.flag().is_some()
    }

    /// The flag that names it, if one does.
    pub(crate) fn flag(&self) -> Option<&str> {
        Some(&*self.origin.setting).filter(|setting| setting.starts_with("--"))
    }

    /// Where it may send requests, with where each entry was set.
    pub fn http(&self) -> impl Iterator<Item = (&HttpGrant, Origin)> {
        self.grant.http.iter().enumerate().map(|(index, entry)| {
            let unknown = || match self.is_of_flags() {
                true => Origin::setting(format!("{} {}", self.http_setting(), entry.origin)),
                false => Origin::setting(format!("{}[{index}]", self.http_setting())),
            };
            (entry, self.http_origins.get(index).cloned().unwrap_or_else(unknown))
        })
    }

    /// Its directory grants with where each was set.
    pub fn dirs(&self) -> impl Iterator<Item = (&DirGrant, Origin)> {
        self.grant.dirs.iter().enumerate().map(|(index, dir)| {
            let unknown = || match self.is_of_flags() {
                true => Origin::setting(format!("--dir …::{}", dir.guest)),
                false => Origin::setting(format!("{}[{index}]", self.dirs_setting())),
            };
            (dir, self.dir_origins.get(index).cloned().unwrap_or_else(unknown))
        })
    }
}

impl Validator<'_, '_> {
    /// The component of that name, unless it is wrong beyond use.
    pub(super) fn component(&mut self, name: String, raw: RawComponent) -> Option<ComponentConfig> {
        let address = Address::of(&["component", &name]);
        self.checked(&address, component_name_fits(&name))?;
        let enabled = raw.enabled.unwrap_or(true);
        let Some(path) = &raw.path else {
            let message = "has no `path`; write `path = \"builtin:files\"`, or a component's file or folder";
            self.problem(&address, message);
            return None;
        };
        let source = self.source(&address.key("path"), path, enabled)?;
        let origins = self.origins_of(&address, &raw);
        let digest = raw.digest.and_then(|text| self.checked(&address.key("digest"), text.parse::<Digest>()));
        if digest.is_some() && matches!(source, Source::Folder(_)) {
            let message =
                "pins one file, and `path` is a folder; name the file there, or take the digest out";
            self.problem(&address.key("digest"), message);
        }
        if let Some(group) = &raw.group {
            self.checked(&address.key("group"), group_fits(group));
        }
        let prefix = raw.prefix.unwrap_or_default();
        if !prefix.is_empty() {
            self.checked(&address.key("prefix"), tool_name_fits(&prefix));
        }
        self.rename(&address.key("rename"), &raw.rename);
        if let Some(tools) = &raw.tools {
            self.subset(&address.key("tools"), tools);
        }
        let mut raw_grant = raw.grant;
        let http = std::mem::take(&mut raw_grant.http);
        let (mut grant, dir_origins) = self.grant(&address.key("grant"), raw_grant, enabled);
        grant.config = self.strings(&address.key("config"), raw.config);
        grant.secrets = self.secrets(&address.key("secrets"), raw.secrets, &grant.config);
        let (http, http_origins) = self.http(&address.key("grant").key("http"), http, &grant.secrets);
        grant.http = http;
        Some(ComponentConfig {
            digest,
            group: raw.group,
            enabled,
            prefix,
            rename: raw.rename,
            tools: raw.tools,
            instructions: raw.instructions,
            grant,
            dir_origins,
            http_origins,
            limits: self.limits(&address.key("limits"), raw.limits.0),
            tool_settings: self.tool_settings(&address.key("tool"), raw.tool),
            hints: raw.hints.into(),
            repair: raw.repair.unwrap_or_default(),
            deterministic: self.deterministic(&address.key("deterministic"), raw.deterministic),
            origin: self.document.origin(&address),
            origins,
            ..ComponentConfig::new(name, source)
        })
    }

    /// Where the settings were set that only the component itself can prove wrong, when it is loaded.
    fn origins_of(&self, address: &Address, raw: &RawComponent) -> BTreeMap<String, Origin> {
        let tools = raw.tools.as_ref().map_or(0, Vec::len);
        let items = (0..tools).map(|index| (format!("tools[{index}]"), address.key("tools").item(index)));
        let renames =
            raw.rename.keys().map(|name| (format!("rename.{name}"), address.key("rename").key(name)));
        let secrets =
            raw.secrets.keys().map(|name| (format!("secrets.{name}"), address.key("secrets").key(name)));
        let state = ("grant.state".to_owned(), address.key("grant").key("state"));
        let plain = ["path", "digest", "prefix"].map(|key| (key.to_owned(), address.key(key)));
        let all = plain.into_iter().chain([state]).chain(items).chain(renames).chain(secrets);
        all.filter(|(_, address)| self.document.has(address))
            .map(|(key, address)| (key, self.document.origin(&address)))
            .collect()
    }

    /// Where a component comes from. A switched-off one may be missing: that is a reason to switch it off.
    fn source(&mut self, address: &Address, written: &str, enabled: bool) -> Option<Source> {
        if let Some(name) = written.strip_prefix("builtin:") {
            let name_fits = component_name_fits(name);
            let name_fits =
                name_fits.map_err(|_| "after `builtin:` comes a shipped tool's name, as in `builtin:files`");
            self.checked(address, name_fits)?;
            return Some(Source::Builtin(name.to_owned()));
        }
        if Reference::is_meant(written) {
            let reference = self.checked(address, written.parse::<Reference>())?;
            return Some(Source::Registry { reference: Box::new(reference), locked: None });
        }
        if let Some((scheme, _)) = written.split_once("://") {
            let message = format!(
                "this version does not load from `{scheme}://`; give a file, `builtin:NAME` or `oci://HOST/REPOSITORY:TAG`"
            );
            self.problem(address, message);
            return None;
        }
        let path = self.host_path(written);
        let path = self.checked(address, path)?;
        match std::fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => Some(Source::File(path)),
            Ok(metadata) if metadata.is_dir() => Some(Source::Folder(path)),
            _ if !enabled => Some(Source::File(path)),
            Ok(_) => {
                self.problem(address, format!("`{written}` is neither a file nor a folder"));
                None
            }
            Err(error) => {
                self.problem(address, format!("cannot find the component `{written}`: {}", reason(&error)));
                None
            }
        }
    }

    /// A table, even an empty one, is what makes calls deterministic.
    fn deterministic(&mut self, table: &Address, raw: Option<RawDeterministic>) -> Option<Deterministic> {
        let raw = raw?;
        let plain = Deterministic::default().seed(raw.seed.unwrap_or_default());
        let Some(written) = raw.clock else { return Some(plain) };
        let clock = self.checked(&table.key("clock"), deterministic_clock(&written))?;
        Some(plain.clock(clock))
    }

    fn rename(&mut self, table: &Address, rename: &BTreeMap<String, String>) {
        let mut taken = BTreeMap::new();
        for (from, to) in rename {
            let address = table.key(from);
            self.checked(&address, tool_name_fits(to));
            if let Some(other) = taken.insert(to, from) {
                self.problem(&address, format!("`{other}` is renamed to `{to}` too; choose another name"));
            }
        }
    }

    fn subset(&mut self, address: &Address, tools: &[String]) {
        if tools.is_empty() {
            let message = "names no tool; take it out for all of them, or set `enabled = false`";
            self.problem(address, message);
        }
        for (index, tool) in tools.iter().enumerate() {
            if tools.iter().take(index).any(|earlier| earlier == tool) {
                self.problem(&address.item(index), format!("names `{tool}` twice"));
            }
        }
    }

    fn tool_settings(
        &mut self,
        table: &Address,
        raw: BTreeMap<String, RawTool>,
    ) -> BTreeMap<String, ToolSettings> {
        raw.into_iter()
            .map(|(name, raw)| {
                let address = table.key(&name);
                let settings = ToolSettings {
                    title: raw.title,
                    description: raw.description,
                    hints: raw.hints.into(),
                    limits: self.limits(&address.key("limits"), raw.limits.0),
                    origin: self.document.origin(&address),
                };
                (name, settings)
            })
            .collect()
    }
}
