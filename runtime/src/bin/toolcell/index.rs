//! Which component has which tools, remembered between processes: a call of one tool then loads one component, where
//! reading and inspecting all of them would take longer than the call.
//!
//! What is remembered is only where to look first. An entry holds for the exact settings and the unchanged file that
//! it was made from, and only if every component has one; whatever else is the case, everything is loaded.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use toolcell::Runtime;
use toolcell::config::{ComponentConfig, Source, ensure_private};

use crate::toolset::Toolset;

/// More is not read: thousands of components.
const MAX_BYTES: u64 = 4 << 20;

/// Tools' names by component's key.
type Entries = BTreeMap<String, Vec<String>>;

/// The runtime for a call of `tool`: with the one component that has it, if that is known, else with everything.
pub(crate) fn runtime(toolset: &Toolset, tool: Option<&str>) -> anyhow::Result<Runtime> {
    let path = toolset.environment.folders.cache.join("tools.json");
    let keys: Option<Vec<(&ComponentConfig, String)>> =
        toolset.enabled().map(|component| Some((component, key(toolset, component)?))).collect();
    // With one component there is nothing to leave out; those of flags are loaded always.
    let keys = keys.filter(|keys| keys.len() + toolset.config.mcp.len() > 1 && toolset.components.is_empty());
    let (Some(tool), Some(keys)) = (tool, keys) else { return toolset.runtime() };
    let mut entries = read(&path);
    if let Some(only) = only(&entries, &keys, tool) {
        let runtime = toolset.builder().only(only).build_blocking()?;
        if runtime.get(tool).is_some() {
            return Ok(runtime);
        }
    }
    let runtime = toolset.runtime()?;
    let before = entries.clone();
    for (component, key) in keys {
        let tools = runtime.list().into_iter().filter(|tool| tool.component() == component.name);
        entries.insert(key, tools.map(|tool| tool.name().to_owned()).collect());
    }
    if entries != before {
        write(&path, &entries);
    }
    Ok(runtime)
}

/// The only component that has `tool`, if all are known.
fn only<'a>(entries: &Entries, keys: &[(&'a ComponentConfig, String)], tool: &str) -> Option<&'a str> {
    let mut found = None;
    for (component, key) in keys {
        if entries.get(key)?.iter().any(|name| name == tool)
            && found.replace(component.name.as_str()).is_some()
        {
            return None;
        }
    }
    found
}

/// Everything that a component's tools and their loading depend on; `None` for what cannot be known by one file.
fn key(toolset: &Toolset, component: &ComponentConfig) -> Option<String> {
    let file = match &component.source {
        Source::File(path) => path.clone(),
        Source::Builtin(_) => std::env::current_exe().ok()?,
        _ => return None,
    };
    let metadata = file.metadata().ok()?;
    let stamp = (
        metadata.dev(),
        metadata.ino(),
        metadata.size(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    );
    let mut text = String::new();
    write!(
        text,
        "{} {stamp:?} {component:?} {:?} {:?}",
        env!("CARGO_PKG_VERSION"),
        toolset.config.limits,
        toolset.over
    )
    .ok()?;
    Some(format!("{:032x}", xxhash_rust::xxh3::xxh3_128(text.as_bytes())))
}

/// What is remembered; a damaged file is nothing.
fn read(path: &Path) -> Entries {
    let is_sound = path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MAX_BYTES);
    let text = is_sound.then(|| std::fs::read(path).ok()).flatten().unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Remembers. What cannot be written is found out again by the next process.
fn write(path: &Path, entries: &Entries) {
    let Some(folder) = path.parent().map(PathBuf::from) else { return };
    let replace = || -> std::io::Result<()> {
        let text = serde_json::to_vec(entries)?;
        // Entries of settings that are gone pile up; beginning anew costs one slow call.
        if text.len() as u64 > MAX_BYTES {
            return std::fs::remove_file(path);
        }
        let mut file = tempfile::NamedTempFile::new_in(&folder)?;
        file.write_all(&text)?;
        file.persist(path)?;
        Ok(())
    };
    if ensure_private(&folder).is_ok() {
        let _ = replace();
    }
}
