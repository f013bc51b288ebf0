//! `toolcell check`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::{Value, json};
use toolcell::config::{Source, StoredComponents};
use toolcell::tool::builtin_bytes;
use toolcell::{Limits, Tool, ToolComponent};

use crate::inspected::{Checked, Terms, check_bytes};
use crate::report::withheld_line;
use crate::terminal::{Label, counted, print_json, print_line, say};
use crate::toolset::{ToolsetArgs, refuse_reference};

#[derive(Args)]
pub(crate) struct CheckArgs {
    /// Components or folders of them; without any, the configuration and what it names is checked
    #[arg(value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    pub tools: ToolsetArgs,
}

pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    if args.paths.is_empty() {
        return check_toolset(args);
    }
    if !args.tools.component.is_empty() || args.tools.config.is_some() {
        bail!("give either files to check, or --config and --component, not both");
    }
    let limits = Some(Limits::resolve([&args.tools.limits()]));
    let terms = Terms { wit: args.tools.wit(), limits, ..Terms::default() };
    let mut checked = Vec::new();
    for path in &args.paths {
        if let Some(name) = path.to_str().and_then(|path| path.strip_prefix("builtin:")) {
            let bytes = builtin_bytes(name)?;
            checked.push(check_bytes(path.display().to_string(), &bytes, &terms));
            continue;
        }
        for file in files(path)? {
            checked.push(check_file(&file, &terms));
        }
    }
    report(&checked, &[], &[], args.tools.json)
}

/// The file itself, or the components in a folder.
fn files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    refuse_reference(path)?;
    let metadata = path.metadata().with_context(|| format!("cannot read {}", path.display()))?;
    if !metadata.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = path.read_dir().with_context(|| format!("cannot read {}", path.display()))?;
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|file| file.extension().is_some_and(|ending| ending == "wasm"))
        .collect();
    files.sort();
    if files.is_empty() {
        bail!("the folder {} has no file that ends in .wasm", path.display());
    }
    Ok(files)
}

fn check_file(path: &Path, terms: &Terms<'_>) -> Checked {
    let name = path.display().to_string();
    match path.metadata() {
        // A FIFO would never end.
        Ok(metadata) if !metadata.is_file() => {
            Checked::wrong(name, "this is no regular file; name a component")
        }
        Ok(metadata) if metadata.len() > toolcell::tool::inspect::MAX_COMPONENT_BYTES as u64 => {
            Checked::wrong(
                name,
                format!("the file has {} bytes, more than a component may have", metadata.len()),
            )
        }
        _ => match std::fs::read(path) {
            Ok(bytes) => check_bytes(name, &bytes, terms),
            Err(error) => Checked::wrong(name, format!("cannot be read: {error}")),
        },
    }
}

/// The configuration and every component that it names, or the components that flags name.
fn check_toolset(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    // What does not open is what was to be checked, unless there is nothing to open at all.
    let toolset = match args.tools.open() {
        Err(error) if error.is::<toolcell::Error>() => {
            return report(&[], &[error.to_string()], &[], args.tools.json);
        }
        opened => opened?,
    };
    let mut checked = Vec::new();
    // Whether the limits fit is said when everything is loaded below: they may differ from tool to tool.
    let ad_hoc = toolset.components.iter().map(ToolComponent::config);
    for component in toolset.enabled().chain(ad_hoc) {
        let plain = Terms { grant: component.grant.clone(), ..Terms::default() };
        let described = Terms { wit: args.tools.wit(), grant: component.grant.clone(), ..Terms::default() };
        match &component.source {
            Source::File(path) => checked.push(check_file(path, &described)),
            Source::Folder(folder) => {
                if let Ok(files) = files(folder) {
                    checked.extend(files.iter().map(|file| check_file(file, &plain)));
                }
            }
            Source::Builtin(name) => checked.push(match builtin_bytes(name) {
                Ok(bytes) => check_bytes(format!("builtin:{name}"), &bytes, &plain),
                Err(error) => Checked::wrong(format!("builtin:{name}"), error.to_string()),
            }),
            Source::Registry { reference, locked: Some(locked) } => {
                let stored = StoredComponents::at(toolset.environment.folders.components());
                let mut found = check_file(&stored.file(&locked.digest), &plain);
                found.file = reference.to_string();
                found.from = Some((**locked).clone());
                checked.push(found);
            }
            // What is not locked is told where everything is loaded.
            _ => {}
        }
    }
    let (mut errors, mut warnings) = (Vec::new(), Vec::new());
    match toolset.runtime() {
        Ok(runtime) => {
            let count = runtime.list().len();
            if !args.tools.json && count > 0 {
                let tools = counted(count, "tool");
                let load = if count == 1 { "loads" } else { "load" };
                print_line(format_args!("{}: {tools} {load}", toolset.place()))?;
            }
            warnings = runtime.warnings().to_vec();
            warnings.extend(runtime.list().iter().filter_map(|tool| without_network(tool)));
        }
        Err(error) => errors.push(error.to_string()),
    }
    // What is said of files above is not said again.
    warnings.retain(|warning| !is_of_a_file(warning, &checked));
    report(&checked, &errors, &warnings, args.tools.json)
}

/// What to say of a tool that is withheld all of the requests over HTTP that its component is granted.
fn without_network(tool: &Tool) -> Option<String> {
    let withheld = tool.withheld_http();
    let is_all = tool.grant().http.is_empty() && !withheld.is_empty();
    is_all.then(|| format!("`{}`: {}", tool.name(), withheld_line(&withheld)))
}

fn is_of_a_file(warning: &str, checked: &[Checked]) -> bool {
    let known = checked.iter().flat_map(|checked| checked.warnings.iter().chain(&checked.errors));
    known.into_iter().any(|known| warning.ends_with(known.as_str()))
}

fn report(
    checked: &[Checked],
    errors: &[String],
    warnings: &[String],
    is_json: bool,
) -> anyhow::Result<ExitCode> {
    let is_fine = errors.is_empty() && checked.iter().all(|checked| checked.errors.is_empty());
    if is_json {
        let files: Vec<Value> = checked.iter().map(Checked::to_json).collect();
        print_json(&json!({ "ok": is_fine, "files": files, "errors": errors, "warnings": warnings }))?;
    } else {
        checked.iter().try_for_each(Checked::print)?;
        warnings.iter().for_each(|warning| say(Label::Warning, warning));
        errors.iter().for_each(|error| say(Label::Error, error));
    }
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
