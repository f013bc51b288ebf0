//! `toolcell cache`

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;
use toolcell::Error;
use toolcell::config::{Environment, HookKind, StoredComponents};
use toolcell::sandbox::CompileCache;

use crate::compiling::Compiling;
use crate::ready::{block_on, say_cache_problem};
use crate::terminal::{counted, print_json, print_line};
use crate::toolset::ToolsetArgs;

#[derive(Args)]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List the compiled components, by the digest of what they were compiled from
    List {
        /// Print one JSON document and nothing else
        #[arg(long)]
        json: bool,
    },
    /// Compile every component now, so that no call waits for it
    Warm {
        #[command(flatten)]
        tools: Box<ToolsetArgs>,
    },
    /// Remove all compiled components
    Clear {
        /// Remove what came from registries too; `toolcell update --locked` fetches it again
        #[arg(long)]
        components: bool,
    },
}

impl CacheArgs {
    pub fn is_json(&self) -> bool {
        match &self.verb {
            Verb::List { json } => *json,
            Verb::Warm { tools } => tools.json,
            Verb::Clear { .. } => false,
        }
    }
}

pub(crate) fn run(args: &CacheArgs) -> anyhow::Result<ExitCode> {
    match &args.verb {
        Verb::List { json } => list(*json)?,
        Verb::Warm { tools } => warm(tools)?,
        Verb::Clear { components } => {
            let cache = open()?;
            let removed = cache.clear().map_err(Error::file("clear", cache.path()))?;
            print_line(format_args!("removed {removed} compiled components"))?;
            if *components {
                let removed = stored()?.clear()?;
                print_line(format_args!("removed {} of registries", counted(removed, "component")))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn open() -> anyhow::Result<CompileCache> {
    CompileCache::open(Environment::of_process()?.folders.compiled()).map_err(anyhow::Error::msg)
}

fn stored() -> anyhow::Result<StoredComponents> {
    Ok(StoredComponents::at(Environment::of_process()?.folders.components()))
}

fn list(is_json: bool) -> anyhow::Result<()> {
    let cache = open()?;
    let mut entries = Vec::new();
    let folder = std::fs::read_dir(cache.path()).map_err(Error::file("read", cache.path()))?;
    for entry in folder.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(name) = name.strip_suffix(".cwasm") {
            let bytes = entry.metadata().map_or(0, |metadata| metadata.len());
            // `sha256-DIGEST-SETTINGS`
            let digest = name.rsplit_once('-').map_or(name, |(digest, _)| digest).replacen('-', ":", 1);
            entries.push((digest, bytes));
        }
    }
    entries.sort();
    let (bytes, _) = cache.size().map_err(Error::file("read", cache.path()))?;
    let stored = stored()?;
    let (components, of_components) = stored.size()?;
    if is_json {
        let entries: Vec<_> =
            entries.iter().map(|(digest, bytes)| json!({ "digest": digest, "bytes": bytes })).collect();
        let registries = json!({ "path": stored.folder(), "bytes": of_components, "components": components });
        return print_json(&json!({
            "path": cache.path(), "bytes": bytes, "entries": entries, "registries": registries,
        }));
    }
    for (digest, bytes) in &entries {
        print_line(format_args!("{bytes:>12}  {digest}"))?;
    }
    let count = counted(entries.len(), "compiled component");
    print_line(format_args!("{count}, {bytes} bytes in {}", cache.path().display()))?;
    if components > 0 {
        let count = counted(components, "component");
        let folder = stored.folder().display();
        print_line(format_args!("{count} of registries, {of_components} bytes in {folder}"))?;
    }
    Ok(())
}

fn warm(args: &ToolsetArgs) -> anyhow::Result<()> {
    let toolset = args.open()?;
    let runtime = toolset.runtime()?;
    let cache = toolset.environment.folders.compiled();
    let compiling = runtime.list().first().and_then(|tool| Compiling::watch(tool, &cache));
    block_on(runtime.warm())??;
    drop(compiling);
    say_cache_problem(&runtime);
    let mut components: Vec<String> = runtime.list().iter().map(|tool| tool.component().to_owned()).collect();
    components.extend(toolset.config.hooks.iter().filter_map(|hook| match &hook.kind {
        HookKind::Component { path, .. } => Some(path.file_stem()?.to_string_lossy().into_owned()),
        _ => None,
    }));
    components.sort();
    components.dedup();
    if args.json {
        return print_json(&json!({ "components": components }));
    }
    Ok(print_line(format_args!("compiled: {}", components.join(", ")))?)
}
