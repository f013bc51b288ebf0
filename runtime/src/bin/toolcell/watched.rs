//! The files that decide what a server does, and by what a change of them shows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toolcell::ToolComponent;
use toolcell::config::{Config, Environment, Location, Lock, Source, Stamp, StoredComponents};
use toolcell::policy::{Secret, SecretSource};

#[cfg(all(feature = "mcp", feature = "http"))]
use crate::http_server::Access;
use crate::toolset::Toolset;

/// How files are at one moment; nothing of one that is not there.
pub(crate) type Stamps = BTreeMap<PathBuf, Option<Stamp>>;

/// What a runtime is made of.
pub(crate) struct Watched {
    pub environment: Environment,
    pub location: Option<Location>,
    pub config: Config,
    /// The last configuration, where it is not used: what it lacks may still come.
    pub refused: Option<Config>,
    components: Vec<ToolComponent>,
    /// Who may reach it, if it is served over HTTP.
    #[cfg(all(feature = "mcp", feature = "http"))]
    pub access: Option<Access>,
}

impl Watched {
    /// What `toolset` names.
    pub fn of(toolset: &Toolset) -> Self {
        Self {
            environment: toolset.environment.clone(),
            location: toolset.location.clone(),
            config: toolset.config.clone(),
            refused: None,
            components: toolset.components.clone(),
            #[cfg(all(feature = "mcp", feature = "http"))]
            access: None,
        }
    }

    /// How its files are now.
    pub fn stamps(&self) -> Stamps {
        let folders = &self.environment.folders;
        let mut paths = vec![folders.trust(), folders.pins()];
        paths.extend(self.location.iter().map(|location| location.path.clone()));
        self.components.iter().for_each(|component| add_source(&component.config().source, &mut paths));
        for config in [Some(&self.config), self.refused.as_ref()].into_iter().flatten() {
            add_files(config, &mut paths);
            add_registries(config, &StoredComponents::at(folders.components()), &mut paths);
            #[cfg(all(feature = "mcp", feature = "http"))]
            if let Some(access) = &self.access {
                paths.extend(access.paths(&config.server));
            }
        }
        paths.extend(self.refused.iter().flat_map(missing_folders));
        let stamped = |path: PathBuf| {
            let stamp = Stamp::of(&path);
            (path, stamp)
        };
        paths.into_iter().map(stamped).collect()
    }
}

/// The files that a configuration names.
fn add_files(config: &Config, paths: &mut Vec<PathBuf>) {
    for component in config.components.iter().filter(|component| component.enabled) {
        add_source(&component.source, paths);
        add_secrets(component.grant.secrets.values(), paths);
    }
    config.hooks.iter().for_each(|hook| paths.extend_from_slice(hook.files()));
    for server in config.mcp.iter().filter(|server| server.enabled) {
        paths.extend_from_slice(server.code());
        add_secrets(server.secrets.values(), paths);
    }
}

/// What decides which components of registries there are: the lock file, and what is kept of them.
fn add_registries(config: &Config, stored: &StoredComponents, paths: &mut Vec<PathBuf>) {
    paths.extend(config.file.as_deref().filter(|_| config.has_registries()).map(Lock::path_for));
    paths.extend(config.components.iter().filter_map(|component| match &component.source {
        Source::Registry { locked, .. } => Some(stored.file(&locked.as_ref()?.digest)),
        _ => None,
    }));
}

/// The folders that a configuration grants and that are not there. Of those that are, everything may change.
fn missing_folders(config: &Config) -> impl Iterator<Item = PathBuf> {
    let granted = config.components.iter().flat_map(|component| component.grant.dirs.iter());
    granted.map(|dir| dir.host.clone()).filter(|host| !host.exists())
}

fn add_source(source: &Source, paths: &mut Vec<PathBuf>) {
    match source {
        Source::File(path) => paths.push(path.clone()),
        Source::Folder(folder) => {
            paths.push(folder.clone());
            paths.extend(components_in(folder));
        }
        _ => {}
    }
}

fn add_secrets<'a>(secrets: impl Iterator<Item = &'a Secret>, paths: &mut Vec<PathBuf>) {
    paths.extend(secrets.filter_map(|secret| match &secret.source {
        SecretSource::File(path) => Some(path.clone()),
        _ => None,
    }));
}

fn components_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|ending| ending == "wasm"))
}
