//! `toolcell add`

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::json;
use toolcell::config::{Config, Environment, Location, NewComponent, add_component, component_name};
use toolcell::policy::{HttpGrant, StateScope};
use toolcell::tool::builtin_bytes;
use toolcell::{DirGrant, Grant, Runtime};

use crate::inspected::{Checked, Terms, check_bytes};
use crate::opened::Opened;
use crate::report::{grant_json, grant_lines, print_section};
use crate::terminal::{Label, print_json, print_line, say};
use crate::toolset::{dir_grant, is_trusted};

/// Warnings that are shown in full.
const SHOWN: usize = 5;

#[derive(Args)]
pub(crate) struct AddArgs {
    /// The component, or builtin:NAME for a shipped one
    #[arg(value_name = "FILE")]
    component: String,
    /// Its name in the configuration; the default is the file's
    #[arg(long)]
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
}

pub(crate) fn run(args: &AddArgs) -> anyhow::Result<ExitCode> {
    let environment = Environment::of_process()?;
    let Some(location) = environment.locate(args.config.as_deref())? else {
        bail!("there is no toolcell.toml here or above; `toolcell init` writes one");
    };
    let before = Config::load(&location, &environment)?;
    let was_trusted = is_trusted(&location, &before, &environment);
    let checked = checked(&args.component, &environment)?;
    if !checked.errors.is_empty() {
        bail!("{}: {}", args.component, checked.errors.join("; "));
    }
    let folder = location.path.parent().unwrap_or(Path::new("/")).canonicalize()?;
    let component = component(args, &environment, &folder)?;
    let text =
        std::fs::read_to_string(&location.path).with_context(|| format!("cannot read {}", location.label))?;
    let added = add_component(&text, &component)?;
    let (tools, grant) = loads(&added, &location, &environment, &component.name)?;
    replace(&location.path, &added).with_context(|| format!("cannot write {}", location.label))?;
    if args.json {
        print_json(&json!({
            "config": location.path, "name": component.name, "component": checked.to_json(), "tools": tools,
            "grant": grant_json(&grant),
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    print_line(format_args!("added {} to {}: {}", component.name, location.label, checked.what))?;
    print_section("Tools", &[tools.join(", ")])?;
    print_section("Asks for", &checked.asks)?;
    print_section("Imports that are refused when used", &checked.imports)?;
    print_section("May reach", &grant_lines(&grant))?;
    checked.warnings.iter().take(SHOWN).for_each(|warning| say(Label::Warning, warning));
    let more = checked.warnings.len().saturating_sub(SHOWN);
    if more > 0 {
        say(Label::Note, format_args!("and {more} more; `toolcell check {}` shows them", args.component));
    }
    after(&location, &environment, was_trusted)?;
    Ok(ExitCode::SUCCESS)
}

/// A changed file is trusted no longer; said only if that takes something away.
fn after(location: &Location, environment: &Environment, was_trusted: bool) -> anyhow::Result<()> {
    let mut config = Config::load(location, environment)?;
    if !is_trusted(location, &config, environment) {
        let is_narrowed = !config.restrict_untrusted().is_empty();
        if is_narrowed && was_trusted {
            say(Label::Note, "the file has changed, so it is trusted no longer; run `toolcell trust` again");
        } else if is_narrowed {
            say(Label::Note, "not all of that holds until you run `toolcell trust`");
        }
    }
    Ok(())
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
    let name =
        args.name.clone().or(suggested).context("the file's name cannot be a component's; give --name")?;
    let component = args.allow_http.iter().cloned().fold(NewComponent::new(name, path), NewComponent::http);
    let component = component.state(args.state.unwrap_or_default());
    args.dirs.iter().try_fold(component, |component, dir| {
        let dir = dir_grant(dir, environment)?;
        Ok(component.dir(DirGrant::new(relative(dir.host), dir.guest, dir.access)))
    })
}

/// Whether the new text is a configuration whose tools all load; the component's tools, and what it is granted.
fn loads(
    text: &str,
    location: &Location,
    environment: &Environment,
    name: &str,
) -> anyhow::Result<(Vec<String>, Grant)> {
    let config = Config::parse(text, &location.path, &location.label, environment.home.as_deref())?;
    let component = config.components.iter().find(|component| component.name == name);
    let grant = component.map(|component| component.grant.clone()).unwrap_or_default();
    let runtime = Opened::of(Runtime::builder().config(config).folders(environment.folders.clone()))?;
    let tools = runtime.list().into_iter().filter(|tool| tool.component() == name);
    Ok((tools.map(|tool| tool.name().to_owned()).collect(), grant))
}

/// Replaces the file in one step, with its mode, through links.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let path = path.canonicalize()?;
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new("/")))?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(path.metadata()?.permissions())?;
    file.persist(&path)?;
    Ok(())
}
