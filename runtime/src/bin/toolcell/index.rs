//! Which component has which tools, and what rules and hooks say of tools that none has, remembered between processes: a
//! call of one tool then loads one component, where reading and inspecting all of them would take longer than the call.
//!
//! What is remembered is only where to look first. An entry holds for the exact settings and the unchanged file that
//! it was made from, and only if every component has one; whatever else is the case, everything is loaded.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toolcell::config::{ComponentConfig, Source, Stamp, StoredComponents, ensure_private, shipped_file};

use crate::opened::Opened;
use crate::toolset::Toolset;

/// More is not read: thousands of components.
const MAX_BYTES: u64 = 4 << 20;

/// What is remembered.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Index {
    /// Tools' names by component's key.
    tools: BTreeMap<String, Vec<String>>,
    /// What of the policy can match nothing, by the key of all components with it.
    unmatched: BTreeMap<String, Vec<String>>,
}

/// The runtime for a call of `tool`: with the one component that has it, if that is known, else with everything. What of the
/// policy can match nothing is the second part.
pub(crate) fn runtime(toolset: &Toolset, tool: Option<&str>) -> anyhow::Result<(Opened, Vec<String>)> {
    let path = toolset.environment.folders.cache.join("tools.json");
    let keys: Option<Vec<(&ComponentConfig, String)>> =
        toolset.enabled().map(|component| Some((component, key(toolset, component)?))).collect();
    // With one component there is nothing to leave out; those of flags are loaded always.
    let keys = keys.filter(|keys| keys.len() + toolset.config.mcp.len() > 1 && toolset.components.is_empty());
    let everything = || match tool {
        Some(tool) => Opened::of(toolset.builder().await_tool(tool)),
        None => toolset.runtime(),
    };
    let (Some(tool), Some(keys)) = (tool, keys) else {
        let runtime = everything()?;
        let unmatched = runtime.policy_warnings().to_vec();
        return Ok((runtime, unmatched));
    };
    let mut index = read(&path);
    let whole = key_of_all(toolset, &keys);
    if let (Some(only), Some(unmatched)) = (only(&index, &keys, tool), index.unmatched.get(&whole)) {
        let runtime = Opened::of(toolset.builder().only(only))?;
        if runtime.get(tool).is_some() {
            return Ok((runtime, unmatched.clone()));
        }
    }
    let runtime = everything()?;
    let before = index.clone();
    for (component, key) in keys {
        let tools = runtime.list().into_iter().filter(|tool| tool.component() == component.name);
        index.tools.insert(key, tools.map(|tool| tool.name().to_owned()).collect());
    }
    let unmatched = runtime.policy_warnings().to_vec();
    index.unmatched.insert(whole, unmatched.clone());
    if index != before {
        write(&path, &index);
    }
    Ok((runtime, unmatched))
}

/// The only component that has `tool`, if all are known.
fn only<'a>(index: &Index, keys: &[(&'a ComponentConfig, String)], tool: &str) -> Option<&'a str> {
    let mut found = None;
    for (component, key) in keys {
        if index.tools.get(key)?.iter().any(|name| name == tool)
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
        Source::Registry { locked, .. } => {
            StoredComponents::at(toolset.environment.folders.components()).file(&locked.as_ref()?.digest)
        }
        Source::Builtin(name) => shipped_file(name).or_else(|| std::env::current_exe().ok())?,
        _ => return None,
    };
    let stamp = Stamp::of(&file)?;
    let mut text = String::new();
    write!(
        text,
        "{} {stamp:?} {component:?} {:?} {:?}",
        env!("CARGO_PKG_VERSION"),
        toolset.config.limits,
        toolset.over
    )
    .ok()?;
    Some(hash(&text))
}

/// All that decides what of the policy can match something: every component, and the policy.
fn key_of_all(toolset: &Toolset, keys: &[(&ComponentConfig, String)]) -> String {
    let config = &toolset.config;
    let keys: Vec<&str> = keys.iter().map(|(_, key)| key.as_str()).collect();
    let (components, servers) = (config.components.len(), config.mcp.len());
    hash(&format!("{keys:?} {components} {servers} {:?} {:?}", config.rules, config.hooks))
}

fn hash(text: &str) -> String {
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(text.as_bytes()))
}

/// What is remembered; a damaged file is nothing.
fn read(path: &Path) -> Index {
    let is_sound = path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MAX_BYTES);
    let text = is_sound.then(|| std::fs::read(path).ok()).flatten().unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Remembers. What cannot be written is found out again by the next process.
fn write(path: &Path, index: &Index) {
    let Some(folder) = path.parent().map(PathBuf::from) else { return };
    let replace = || -> std::io::Result<()> {
        let text = serde_json::to_vec(index)?;
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
