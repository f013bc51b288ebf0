//! `toolcell remove`

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use toolcell::config::{Lock, remove_component};

use crate::edited::Edited;
use crate::terminal::{print_json, print_line};

#[derive(Args)]
pub(crate) struct RemoveArgs {
    /// The component's name in the configuration
    name: String,
    /// Use this configuration instead of looking for one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

pub(crate) fn run(args: &RemoveArgs) -> anyhow::Result<ExitCode> {
    let edited = Edited::open(args.config.as_deref())?;
    let left = remove_component(&edited.text, &args.name)?;
    // What was wrong before may stay wrong: nobody is kept from taking out one of two that are.
    let before = edited.config();
    let after = edited.parsed(&left);
    let was_trusted = before.as_ref().is_ok_and(|before| edited.is_trusted(before));
    let is_sound = after.is_ok();
    if before.is_ok() {
        after?;
    }
    // Where no component is of a registry, whatever stands in the lock file's place is none of ours.
    let has_lock = !before.as_ref().is_ok_and(|before| !before.has_registries());
    let locked = if has_lock { edited.lock()? } else { Lock::default() };
    edited.write(&left)?;
    let mut lock = locked.clone();
    lock.retain(|name| name != args.name);
    if lock != locked {
        edited.write_lock(&lock)?;
    }
    if args.json {
        print_json(&json!({ "config": edited.location.path, "name": args.name }))?;
        return Ok(ExitCode::SUCCESS);
    }
    print_line(format_args!("removed {} from {}", args.name, edited.location.label))?;
    if is_sound {
        edited.tell_of_trust(was_trusted)?;
    }
    Ok(ExitCode::SUCCESS)
}
