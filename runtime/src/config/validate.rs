//! From the file as written to a `Config`: every value checked, everything wrong said at once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::de::DeTable;

use super::amount::Amount;
use super::component::ComponentConfig;
use super::document::{Address, Document};
use super::keys;
use super::problem::Problems;
use super::raw::{self, RawConfig, RawOutput};
use super::raw_limits::ADMISSION;
use super::rules;
use super::settings::{Config, OutputBounds};
use crate::error::Result;
use crate::limits::{Admission, Limit, Limits, Origin};
use crate::policy::Digest;
use crate::schema::nearest;

/// The smallest output that can still hold a note of what was cut.
const MIN_OUTPUT: (u64, u64) = (256, 4);

/// More cells than this outgrow the address space of the pool many times over.
const MAX_CELLS: u64 = 10_000;

impl Config {
    /// Reads `text`, the content of `file`; relative paths in it are relative to the file's folder, `~/` is `home`.
    /// `label` names the file in errors.
    ///
    /// # Errors
    /// One error that lists everything wrong, each with its line: the file is refused as a whole. Where components come from
    /// registries, also when the lock file beside it is damaged.
    pub fn parse(text: &str, file: &Path, label: &str, home: Option<&Path>) -> Result<Self> {
        let file = std::path::absolute(file).map_err(crate::error::Error::file("find", file))?;
        let file_name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut problems = Problems::default();
        let document = Document::parse(text, file_name, &mut problems);
        if let Some(error) = problems.take_error(label) {
            // What the parser guessed after a mistake would be blamed on the reader.
            return Err(error);
        }
        let folder = file.parent().unwrap_or(Path::new("/"));
        // Making the schema takes longer than reading a file, and a file without mistakes does without: the types refuse
        // the same keys. Which key was meant, and what it is for, the schema knows.
        let (mut config, problems) = validated(&document, folder, home, Keys::ByTypes);
        if problems.count() > 0 {
            let (explained, mut problems) = validated(&document, folder, home, Keys::BySchema);
            if let Some(error) = problems.take_error(label) {
                return Err(error);
            }
            config = explained;
        }
        config.file = Some(file);
        config.digest = Some(Digest::of(text.as_bytes()));
        config.read_lock(label)?;
        Ok(config)
    }
}

/// What tells an unknown key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// The types that sections are read as: whether there is one.
    ByTypes,
    /// The schema: each one, with what may have been meant.
    BySchema,
}

fn validated(document: &Document<'_>, folder: &Path, home: Option<&Path>, keys: Keys) -> (Config, Problems) {
    let mut problems = Problems::default();
    let raw = read(document, keys, &mut problems);
    let home = home.map(Path::to_owned);
    let mut validator = Validator { folder: folder.to_owned(), home, document, problems };
    let config = validator.config(raw);
    (config, validator.problems)
}

/// Reads each section by itself, so that a mistake in one does not hide those in the others.
fn read(document: &Document<'_>, keys: Keys, problems: &mut Problems) -> RawConfig {
    let mut table = document.root().clone();
    if keys == Keys::BySchema {
        keys::check(&raw::schema(), &mut table, document, problems);
    }
    let raw = RawConfig {
        policy: section(&mut table, "policy", document, problems),
        limits: section(&mut table, "limits", document, problems),
        output: section(&mut table, "output", document, problems),
        audit: table.contains_key("audit").then(|| section(&mut table, "audit", document, problems)),
        server: section(&mut table, "server", document, problems),
        rule: rules::read(&mut table, document, problems),
        hook: super::hooks::read(&mut table, document, problems),
        component: named(&mut table, "component", document, problems),
        mcp: named(&mut table, "mcp", document, problems),
    };
    for key in table.keys() {
        let address = Address::of(&[key.get_ref()]);
        problems.add(document.line_of(&address), format!("`{address}`: unknown key"));
    }
    raw
}

fn section<'t, T: serde::de::DeserializeOwned + Default>(
    table: &mut DeTable<'t>,
    key: &str,
    document: &Document<'t>,
    problems: &mut Problems,
) -> T {
    let address = Address::of(&[key]);
    table.remove(key).map(|value| document.read(value, &address, problems)).unwrap_or_default()
}

/// A table of tables by names that people choose.
fn named<'t, T: serde::de::DeserializeOwned + Default>(
    table: &mut DeTable<'t>,
    key: &str,
    document: &Document<'t>,
    problems: &mut Problems,
) -> BTreeMap<String, T> {
    let address = Address::of(&[key]);
    let Some(value) = table.remove(key) else { return BTreeMap::new() };
    let toml::de::DeValue::Table(entries) = value.into_inner() else {
        let told = format!("`{key}`: write a table for each, `[{key}.NAME]`");
        problems.add(document.line_of(&address), told);
        return BTreeMap::new();
    };
    let mut read = BTreeMap::new();
    for (name, value) in entries {
        let before = problems.count();
        let entry = document.read(value, &address.key(name.get_ref()), problems);
        // What could not be read has defaults in it, and errors about those would mislead.
        if problems.count() == before {
            read.insert(name.into_inner().into_owned(), entry);
        }
    }
    read
}

/// The document whose values are being checked, and what was wrong so far.
pub(super) struct Validator<'a, 't> {
    pub(super) folder: PathBuf,
    pub(super) home: Option<PathBuf>,
    pub(super) document: &'a Document<'t>,
    pub(super) problems: Problems,
}

impl Validator<'_, '_> {
    /// Notes what is wrong with the setting at `address`.
    pub(super) fn problem(&mut self, address: &Address, message: impl AsRef<str>) {
        self.problems.add(self.document.line_of(address), format!("`{address}`: {}", message.as_ref()));
    }

    /// The value, or its error noted.
    pub(super) fn checked<T, M: AsRef<str>>(&mut self, address: &Address, value: Result<T, M>) -> Option<T> {
        value.map_err(|message| self.problem(address, message)).ok()
    }

    fn config(&mut self, raw: RawConfig) -> Config {
        let mut config = Config::default();
        if let Some(default) = raw.policy.default {
            config.default = default;
            config.default_origin = self.document.origin(&Address::of(&["policy", "default"]));
        }
        if let Some(amount) = raw.policy.call_timeout {
            let address = Address::of(&["policy", "call_timeout"]);
            if let Some(nanos) = self.checked(&address, Limit::Timeout.parse(&amount.0)) {
                config.call_timeout = Duration::from_nanos(nanos);
                config.call_timeout_origin = self.document.origin(&address);
            }
        }
        let (admission, limits): (BTreeMap<_, _>, BTreeMap<_, _>) =
            raw.limits.0.into_iter().partition(|(name, _)| ADMISSION.iter().any(|known| known.0 == name));
        let address = Address::of(&["limits"]);
        config.limits = self.limits(&address, limits);
        config.admission = self.admission(&address, &admission);
        config.output = self.output(&raw.output);
        config.audit = raw.audit.map(|audit| self.audit(audit));
        config.server = self.server(raw.server);
        config.rules = self.rules(raw.rule);
        for (name, component) in raw.component {
            config.components.extend(self.component(name, component));
        }
        for (name, server) in raw.mcp {
            config.mcp.extend(self.mcp(name, server));
        }
        config.activate_group = raw.policy.activate_group.unwrap_or_default();
        config.inactive_groups = self.inactive_groups(raw.policy.inactive_groups, &config);
        config.hooks = self.hooks(raw.hook);
        config.origins = self.origins(&config.components);
        config
    }

    /// A group of no component would be one that nothing switches off.
    fn inactive_groups(&mut self, raw: Vec<String>, config: &Config) -> Vec<String> {
        let of_components = config.components.iter().map(|component| &component.group);
        let of_servers = config.mcp.iter().map(|server| &server.group);
        let known: Vec<&str> = of_components.chain(of_servers).filter_map(Option::as_deref).collect();
        let table = Address::of(&["policy", "inactive_groups"]);
        for (index, group) in raw.iter().enumerate().filter(|(_, group)| !known.contains(&group.as_str())) {
            let hint = match nearest(group, known.iter().copied()).first() {
                Some(near) => format!("; did you mean `{near}`?"),
                None => "; a component is in one by its `group`".to_owned(),
            };
            self.problem(
                &table.item(index),
                format!("no component is in a group `{}`{hint}", group.escape_debug()),
            );
        }
        raw
    }

    /// Where the settings without origins of their own were set, as far as they were.
    fn origins(&self, components: &[ComponentConfig]) -> BTreeMap<String, Origin> {
        let of_output = [Address::of(&["output", "max_bytes"]), Address::of(&["output", "max_lines"])];
        let of_admission = ADMISSION.map(|(name, _)| Address::of(&["limits", name]));
        let of_components =
            components.iter().map(|component| Address::of(&["component", &component.name, "grant", "env"]));
        let of_policy = ["activate_group", "inactive_groups"].map(|key| Address::of(&["policy", key]));
        let all = of_output.into_iter().chain(of_admission).chain(of_components).chain(of_policy);
        all.filter(|address| self.document.has(address))
            .map(|address| (address.to_string(), self.document.origin(&address)))
            .chain(self.server_origins())
            .collect()
    }

    pub(super) fn limits(&mut self, table: &Address, raw: BTreeMap<String, Amount>) -> Limits {
        let mut limits = Limits::new();
        for (name, amount) in raw {
            let address = table.key(&name);
            let Some(limit) = Limit::from_name(&name) else {
                self.problem(&address, "unknown limit");
                continue;
            };
            if let Some(value) = self.checked(&address, limit.parse(&amount.0)) {
                limits = limits.with_origin(limit, value, self.document.origin(&address));
            }
        }
        limits
    }

    fn admission(&mut self, table: &Address, raw: &BTreeMap<String, Amount>) -> Admission {
        let mut admission = Admission::default();
        for (name, amount) in raw {
            let address = table.key(name);
            match name.as_str() {
                "queue_timeout" => {
                    // Not a limit of the guest: zero is "never wait".
                    let time = humantime::parse_duration(&amount.0)
                        .map_err(|_| format!("`{}` is no duration; write for example `\"30s\"`", amount.0));
                    if let Some(time) = self.checked(&address, time) {
                        admission.queue_timeout = time;
                    }
                }
                "max_waiting" => {
                    let count = count(&amount.0, 0, u64::from(u32::MAX));
                    admission.max_waiting = self.checked(&address, count).unwrap_or(admission.max_waiting);
                }
                "batch_calls" => {
                    let count = count(&amount.0, 1, u64::from(u32::MAX));
                    admission.batch_calls = self.checked(&address, count).unwrap_or(admission.batch_calls);
                }
                "batch_bytes" => {
                    let bytes = Limit::ResultBytes.parse(&amount.0);
                    admission.batch_bytes = self.checked(&address, bytes).unwrap_or(admission.batch_bytes);
                }
                _ => {
                    let count = count(&amount.0, 1, MAX_CELLS);
                    admission.concurrent_cells =
                        self.checked(&address, count).unwrap_or(admission.concurrent_cells);
                }
            }
        }
        admission
    }

    fn output(&mut self, raw: &RawOutput) -> OutputBounds {
        let mut output = OutputBounds::default();
        if let Some(amount) = &raw.max_bytes {
            let address = Address::of(&["output", "max_bytes"]);
            let bytes = at_least(Limit::ResultBytes, &amount.0, MIN_OUTPUT.0);
            output.max_bytes = self.checked(&address, bytes).unwrap_or(output.max_bytes);
        }
        if let Some(amount) = &raw.max_lines {
            let address = Address::of(&["output", "max_lines"]);
            let lines = at_least(Limit::Chunks, &amount.0, MIN_OUTPUT.1);
            output.max_lines = self.checked(&address, lines).unwrap_or(output.max_lines);
        }
        output
    }
}

/// What the operating system says, without the host path that some of its texts repeat.
pub(super) fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is none at that place".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

pub(super) fn count(text: &str, least: u64, most: u64) -> Result<u32, String> {
    let number = if text.trim() == "0" { Ok(0) } else { Limit::Handles.parse(text) };
    number
        .ok()
        .filter(|number| (least..=most).contains(number))
        .and_then(|number| u32::try_from(number).ok())
        .ok_or_else(|| format!("`{text}` is not a whole number from {least} to {most}"))
}

fn at_least(limit: Limit, text: &str, least: u64) -> Result<u64, String> {
    let value = limit.parse(text)?;
    if value < least {
        return Err(format!("`{text}` is too small to hold a note of what was cut; give at least {least}"));
    }
    Ok(value)
}

#[cfg(test)]
mod tests;
