//! `toolcell call`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use toolcell::{Deterministic, ErrorKind, Recorder, Recording, Runtime};

use crate::arguments::ToolArgs;
use crate::compiling::Compiling;
use crate::index;
use crate::ready::{block_on, interrupted, say_cache_problem};
use crate::report::print_outcome;
use crate::sessions::NamedSession;
use crate::terminal::{Label, print_json, say};
use crate::toolset::{Toolset, ToolsetArgs};

const EXAMPLES: &str = "\
Examples:
  toolcell call add '{\"a\": 2, \"b\": 3}'
  toolcell call add --arg a=2 --arg b=3
  toolcell call read_file --arg path=README.md --arg limit:=20 --json
  toolcell call write_file @arguments.json
  echo '{\"text\": \"hello\"}' | toolcell call echo -
  toolcell call --component builtin:files --dir .::/work list_dir

Exit codes:
  0 success                  1 the tool's own error      2 usage or configuration
  3 unknown tool, arguments  4 denied                    5 a limit was hit
  6 the tool crashed         7 busy or cancelled         70 a fault of toolcell or this machine
Who gets 70 reads the help beside the error: it says what to mend, as an audit that cannot be written.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CallArgs {
    #[command(flatten)]
    call: ToolArgs,
    /// Bind the call, and the full output if it is cut, to this session. Groups that it switches on are on for later
    /// commands of this session too
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Record everything that the call gets from outside, for `toolcell replay`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Give the tool a clock that starts at one moment and randomness from a seed: CLOCK, SEED or CLOCK,SEED, as in
    /// 2026-01-01T00:00:00Z,7
    #[arg(long, value_name = "CLOCK,SEED", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    deterministic: Option<Deterministic>,
    #[command(flatten)]
    pub tools: ToolsetArgs,
}

pub(crate) fn run(args: &CallArgs) -> anyhow::Result<ExitCode> {
    let toolset = args.tools.open()?;
    let (runtime, unmatched) = index::runtime(&toolset, args.call.name())?;
    unmatched.iter().for_each(|warning| say(Label::Warning, warning));
    let ended = call(args, &toolset, &runtime);
    runtime.close_remotes();
    // The process ends now, and the system is faster at taking everything back.
    std::mem::forget(runtime);
    ended
}

fn call(args: &CallArgs, toolset: &Toolset, runtime: &Runtime) -> anyhow::Result<ExitCode> {
    let call = args.call.call(runtime)?;
    let recorder = Recorder::new();
    if let Some(path) = &args.record {
        Recording::may_be_written(path)?;
        if let Some(why) = runtime.cannot_record(&call.name) {
            bail!("--record: {why}");
        }
    }
    let compiling = runtime
        .get(&call.name)
        .and_then(|tool| Compiling::watch(&tool, &toolset.environment.folders.compiled()));
    let named = NamedSession::open(toolset, runtime, args.session.as_deref());
    let mut call = named.session.call(call).cancel(interrupted());
    if args.record.is_some() {
        call = call.record(&recorder);
    }
    if let Some(deterministic) = args.deterministic {
        call = call.deterministic(deterministic);
    }
    let outcome = block_on(call.into_future())?;
    drop(compiling);
    named.keep();
    // What the tool did is told even if its recording is lost.
    let written = args.record.as_ref().map_or(Ok(()), |path| write(&recorder, path));
    if outcome.error_kind() == Some(ErrorKind::UnknownTool) && !args.tools.json {
        // What was skipped while loading may be why.
        let warnings =
            runtime.warnings().iter().filter(|warning| !runtime.policy_warnings().contains(warning));
        warnings.for_each(|warning| say(Label::Warning, warning));
    } else {
        say_cache_problem(runtime);
    }
    if args.tools.json {
        print_json(&outcome)?;
    } else {
        print_outcome(&outcome, args.session.as_deref())?;
    }
    written?;
    Ok(ExitCode::from(outcome.exit_code()))
}

/// Writes the recording, or says why there is none.
fn write(recorder: &Recorder, path: &Path) -> anyhow::Result<()> {
    let recording = match recorder.finish() {
        Ok(recording) => recording,
        Err(why) => {
            say(Label::Warning, format_args!("nothing was recorded: {why}"));
            return Ok(());
        }
    };
    if let Some(why) = recording.unreplayable() {
        say(Label::Warning, format_args!("the recording cannot be replayed: {why}"));
    }
    Ok(recording.write(path)?)
}
