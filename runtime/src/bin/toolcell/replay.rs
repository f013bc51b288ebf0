//! `toolcell replay`

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use toolcell::config::Environment;
use toolcell::runtime::Replay;
use toolcell::sandbox::{Allocation, Compiler};
use toolcell::{Recording, Runtime};

use crate::ready::block_on;
use crate::report::print_outcome;
use crate::terminal::{Label, print_json, say};

#[derive(Args)]
pub(crate) struct ReplayArgs {
    /// The recording, as `toolcell call --record` writes it
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Let it have the secret NAME, from where the recording says that it is
    #[arg(long, value_name = "NAME")]
    secret: Vec<String>,
    /// Let it take what its recorded limits allow, where that is more than the defaults
    #[arg(long)]
    recorded_limits: bool,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

pub(crate) fn run(args: &ReplayArgs) -> anyhow::Result<ExitCode> {
    let mut recording = Recording::read(&args.file)?;
    for name in &args.secret {
        recording = recording.permit_secret(name);
    }
    if args.recorded_limits {
        recording = recording.permit_limits();
    }
    let events = recording.events();
    let folders = Environment::of_process()?.folders;
    let builder =
        Runtime::builder().allocation(Allocation::OnDemand).cache(folders.compiled()).folders(folders);
    let builder = match std::env::current_exe() {
        Ok(program) => builder.compiler(Compiler::Child { program }),
        Err(_) => builder,
    };
    let Replay { outcome, difference, .. } = block_on(builder.replay(recording))??;
    if args.json {
        let difference = difference.as_ref().map(|difference| {
            json!({
                "event": difference.event, "what": difference.what,
                "expected": difference.expected, "got": difference.got,
            })
        });
        print_json(&json!({
            "same": difference.is_none(), "events": events, "difference": difference, "outcome": outcome,
        }))?;
    } else if difference.is_none() {
        print_outcome(&outcome, None)?;
        say(Label::Note, format_args!("the same as recorded: {events} events"));
    }
    match difference {
        None => Ok(ExitCode::SUCCESS),
        Some(difference) => {
            if !args.json {
                say(Label::Error, format_args!("the replay differs: {difference}"));
            }
            Ok(ExitCode::FAILURE)
        }
    }
}
