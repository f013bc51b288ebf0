//! `toolcell add`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::json;
use toolcell::config::{
    Config, Environment, Lock, Locked, NewComponent, Reference, add_component, component_name,
};
use toolcell::policy::{HttpGrant, StateScope};
use toolcell::tool::builtin_bytes;
use toolcell::{DirGrant, Grant};

use crate::edited::Edited;
use crate::inspected::{Checked, Terms, check_bytes};
use crate::pulling::{Puller, RegistryArgs};
use crate::report::{grant_json, grant_lines, print_section};
use crate::terminal::{Label, print_json, print_line, say};
use crate::toolset::dir_grant;

/// Warnings that are shown in full.
const SHOWN: usize = 5;

#[derive(Args)]
pub(crate) struct AddArgs {
    /// The component: a file, builtin:NAME for a shipped one, or oci://HOST/REPOSITORY:TAG for one of a registry
    #[arg(value_name = "FILE|OCI")]
    component: String,
    /// Its name in the configuration; the default is the file's, or the last part of the repository
    #[arg(long, visible_alias = "as")]
    name: Option<String>,
    /// Grant it a folder, for reading unless `::rw` follows; may be repeated
    #[arg(long = "dir", value_name = "HOST::GUEST[::rw]")]
    dirs: Vec<String>,
    /// Let it send requests over HTTP to an origin, as https://api.example.org, with `::ro` after it
    /// where requests only read; may be repeated
    #[arg(long, value_name = "ORIGIN[::ro]", value_parser = HttpGrant::from_flag)]
    allow_http: Vec<HttpGrant>,
    /// Let it keep values: for a `call`, for a `session`, or `persistent`
    #[arg(long, value_name = "SCOPE")]
    state: Option<StateScope>,
    /// Use this configuration instead of looking for one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    registry: RegistryArgs,
}

pub(crate) fn run(args: &AddArgs) -> anyhow::Result<ExitCode> {
    let edited = Edited::open(args.config.as_deref())?;
    let before = edited.config()?;
    let was_trusted = edited.is_trusted(&before);
    let checked = obtained(args, &edited.environment)?;
    if !checked.errors.is_empty() {
        bail!("{}: {}", args.component, checked.errors.join("; "));
    }
    let folder = edited.location.path.parent().unwrap_or(Path::new("/")).canonicalize()?;
    let component = component(args, &edited.environment, &folder)?;
    let added = add_component(&edited.text, &component)?;
    let lock =
        checked.from.as_ref().map(|from| locked(&edited, &before, &component.name, from)).transpose()?;
    let (tools, grant) = loads(&edited, &added, &component.name, lock.as_ref())?;
    // First: an entry of no component does no harm, and a component without one is none.
    if let Some(lock) = &lock {
        edited.write_lock(lock)?;
    }
    edited.write(&added)?;
    if args.json {
        print_json(&json!({
            "config": edited.location.path, "name": component.name, "component": checked.to_json(), "tools": tools,
            "grant": grant_json(&grant),
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    print_line(format_args!("added {} to {}: {}", component.name, edited.location.label, checked.what))?;
    print_section("Locked", &checked.origin_lines())?;
    print_section("Tools", &[tools.join(", ")])?;
    print_section("Asks for", &checked.asks)?;
    print_section("Imports that are refused when used", &checked.imports)?;
    print_section("May reach", &grant_lines(&grant))?;
    checked.warnings.iter().take(SHOWN).for_each(|warning| say(Label::Warning, warning));
    let more = checked.warnings.len().saturating_sub(SHOWN);
    if more > 0 {
        say(Label::Note, format_args!("and {more} more; `toolcell check` shows them"));
    }
    edited.tell_of_trust(was_trusted)?;
    Ok(ExitCode::SUCCESS)
}

/// The component, looked at; one of a registry is kept as well.
fn obtained(args: &AddArgs, environment: &Environment) -> anyhow::Result<Checked> {
    if Reference::is_meant(&args.component) {
        let reference = reference(&args.component)?;
        let puller = Puller::new(&args.registry, environment)?;
        return puller.take(&puller.resolve(&reference)?);
    }
    if args.registry.are_given() {
        bail!("{} is of no registry; --plain-http and --ca are for one that is", args.component);
    }
    checked(&args.component, environment)
}

fn reference(written: &str) -> anyhow::Result<Reference> {
    written.parse().map_err(|told| anyhow::anyhow!("`{written}` {told}"))
}

/// The lock with one more component, and without what is none any more.
fn locked(edited: &Edited, config: &Config, name: &str, from: &Locked) -> anyhow::Result<Lock> {
    let mut lock = edited.lock()?;
    lock.retain(|name| config.components.iter().any(|component| component.name == name));
    lock.insert(name, from.clone());
    Ok(lock)
}

fn checked(component: &str, environment: &Environment) -> anyhow::Result<Checked> {
    if let Some(name) = component.strip_prefix("builtin:") {
        return Ok(check_bytes(component.to_owned(), &builtin_bytes(name)?, &Terms::default()));
    }
    let path = environment.working_directory.join(component);
    let metadata = path.metadata().with_context(|| format!("cannot find the component {component}"))?;
    if !metadata.is_file() {
        bail!(
            "{component} is no file; add components one by one, or write a folder's `path` in toolcell.toml"
        );
    }
    let bytes = std::fs::read(&path).with_context(|| format!("cannot read {component}"))?;
    Ok(check_bytes(component.to_owned(), &bytes, &Terms::default()))
}

/// The entry as it is to be written: what lies below the file's folder is relative to it.
fn component(args: &AddArgs, environment: &Environment, folder: &Path) -> anyhow::Result<NewComponent> {
    let relative = |path: PathBuf| match path.strip_prefix(folder) {
        Ok(below) if below.as_os_str().is_empty() => PathBuf::from("."),
        Ok(below) => below.to_owned(),
        Err(_) => path,
    };
    let (path, suggested) = match args.component.strip_prefix("builtin:") {
        Some(name) => (args.component.clone(), Some(name.to_owned())),
        None if Reference::is_meant(&args.component) => {
            let reference = reference(&args.component)?;
            let file = format!("{}.wasm", reference.suggested_name());
            (reference.to_string(), component_name(Path::new(&file)))
        }
        None => {
            let path = environment.working_directory.join(&args.component).canonicalize()?;
            let suggested = component_name(&path);
            let path = relative(path).into_os_string().into_string();
            (
                path.map_err(|_| anyhow::anyhow!("the component's path must be UTF-8 to be written"))?,
                suggested,
            )
        }
    };
    let name = args.name.clone().or(suggested).context("that name cannot be a component's; give --name")?;
    let component = args.allow_http.iter().cloned().fold(NewComponent::new(name, path), NewComponent::http);
    let component = component.state(args.state.unwrap_or_default());
    args.dirs.iter().try_fold(component, |component, dir| {
        let dir = dir_grant(dir, environment)?;
        Ok(component.dir(DirGrant::new(relative(dir.host), dir.guest, dir.access)))
    })
}

/// Whether the new text is a configuration whose components all load; the component's tools, and what it is granted.
fn loads(
    edited: &Edited,
    text: &str,
    name: &str,
    lock: Option<&Lock>,
) -> anyhow::Result<(Vec<String>, Grant)> {
    let mut config = edited.parsed(text)?;
    lock.into_iter().for_each(|lock| config.locked_by(lock));
    let component = config.components.iter().find(|component| component.name == name);
    let grant = component.map(|component| component.grant.clone()).unwrap_or_default();
    let runtime = edited.load(config, None)?;
    let tools = runtime.list().into_iter().filter(|tool| tool.component() == name);
    Ok((tools.map(|tool| tool.name().to_owned()).collect(), grant))
}
