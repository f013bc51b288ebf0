//! `toolcell update`

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use serde_json::{Value, json};
use toolcell::config::{Config, Lock, Locked, Reference, Source};
use toolcell::schema::nearest;

use crate::edited::Edited;
use crate::inspected::Checked;
use crate::pulling::{Puller, RegistryArgs};
use crate::report::print_section;
use crate::terminal::{print_json, print_line};

#[derive(Args)]
pub(crate) struct UpdateArgs {
    /// The component; all that come from registries where none is named
    name: Option<String>,
    /// Fetch what is locked and is not on this machine; nothing is locked anew
    #[arg(long)]
    locked: bool,
    /// Use this configuration instead of looking for one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    registry: RegistryArgs,
}

/// One component, with what it was and is.
struct Updated {
    name: String,
    before: Option<Locked>,
    after: Locked,
    checked: Checked,
}

pub(crate) fn run(args: &UpdateArgs) -> anyhow::Result<ExitCode> {
    let edited = Edited::open(args.config.as_deref())?;
    let config = edited.config()?;
    if !edited.is_trusted(&config) {
        let label = &edited.location.label;
        bail!(
            "{label} was found here and is not trusted, so no registry that it names is asked; look at it and run `toolcell \
             trust`, or name it with `--config {label}`"
        );
    }
    let before = edited.lock()?;
    let puller = Puller::new(&args.registry, &edited.environment)?;
    let mut updated = Vec::new();
    for (name, reference, before) in chosen(&config, args.name.as_deref())? {
        let after = match (args.locked, before) {
            (false, _) => puller.resolve(reference)?,
            (true, Some(before)) => before.clone(),
            (true, None) => bail!(
                "`{name}` is not in the lock file; run `toolcell update {name}` to lock it as it is now"
            ),
        };
        let checked = puller.take(&after)?;
        updated.push(Updated { name: name.to_owned(), before: before.cloned(), after, checked });
    }
    let lock = locked(before.clone(), &config, &updated);
    if lock != before && !args.locked {
        let mut config = config.clone();
        config.locked_by(&lock);
        edited.load(config, args.name.as_deref())?;
        edited.write_lock(&lock)?;
    }
    if args.json {
        let components: Vec<Value> = updated.iter().map(Updated::to_json).collect();
        print_json(&json!({ "lock": Lock::path_for(&edited.location.path), "components": components }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if updated.is_empty() {
        print_line(format_args!("{}: no component comes from a registry", edited.location.label))?;
    }
    updated.iter().try_for_each(Updated::print)?;
    edited.tell_of_trust(true)?;
    Ok(ExitCode::SUCCESS)
}

type Chosen<'c> = (&'c str, &'c Reference, Option<&'c Locked>);

/// The components that are meant.
fn chosen<'c>(config: &'c Config, name: Option<&str>) -> anyhow::Result<Vec<Chosen<'c>>> {
    let of_registries = config.components.iter().filter_map(|component| match &component.source {
        Source::Registry { reference, locked } => Some((&*component.name, &**reference, locked.as_deref())),
        _ => None,
    });
    let chosen: Vec<Chosen<'c>> =
        of_registries.filter(|(it, ..)| name.is_none_or(|name| name == *it)).collect();
    let Some(name) = name.filter(|_| chosen.is_empty()) else { return Ok(chosen) };
    let names = config.components.iter().map(|component| component.name.as_str());
    if names.clone().any(|it| it == name) {
        bail!("`{name}` comes from no registry, so there is nothing to ask for it");
    }
    match nearest(name, names).first() {
        Some(near) => bail!("there is no component `{name}`; did you mean `{near}`?"),
        None => bail!("there is no component `{name}`"),
    }
}

/// The lock with what was updated, and without what is no component any more.
fn locked(mut lock: Lock, config: &Config, updated: &[Updated]) -> Lock {
    lock.retain(|name| config.components.iter().any(|component| component.name == name));
    for Updated { name, after, .. } in updated {
        lock.insert(name, after.clone());
    }
    lock
}

impl Updated {
    fn has_changed(&self) -> bool {
        self.before.as_ref() != Some(&self.after)
    }

    fn to_json(&self) -> Value {
        let shown = |locked: &Locked| json!({ "manifest": locked.manifest.to_string(), "digest": locked.digest.to_string(), "bytes": locked.bytes });
        json!({
            "name": self.name, "reference": self.after.reference.to_string(), "changed": self.has_changed(),
            "before": self.before.as_ref().map(shown), "after": shown(&self.after), "component": self.checked.to_json(),
        })
    }

    fn print(&self) -> std::io::Result<()> {
        let Locked { reference, digest, .. } = &self.after;
        match &self.before {
            _ if !self.has_changed() => {
                return print_line(format_args!("{}: {reference} is as it was locked, {digest}", self.name));
            }
            None => print_line(format_args!("{}: {reference} is locked as it is there now", self.name))?,
            Some(before) => print_line(format_args!(
                "{}: {reference} is no longer what it was\n  was manifest: {}\n  was content: {}",
                self.name, before.manifest, before.digest
            ))?,
        }
        for line in self.checked.origin_lines() {
            print_line(format_args!("  {line}"))?;
        }
        if !self.checked.tools.is_empty() {
            print_section("Tools", &[self.checked.tools.join(", ")])?;
        }
        print_section("Asks for", &self.checked.asks)?;
        print_section("Imports that are refused when used", &self.checked.imports)
    }
}
