//! `toolcell call`

use std::process::ExitCode;

use clap::Args;
use toolcell::{ErrorKind, Runtime};

use crate::arguments::ToolArgs;
use crate::compiling::Compiling;
use crate::index;
use crate::ready::{block_on, interrupted, say_cache_problem};
use crate::report::print_outcome;
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
  6 the tool crashed         7 busy or cancelled         70 a fault of toolcell";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CallArgs {
    #[command(flatten)]
    call: ToolArgs,
    /// Bind the call, and the full output if it is cut, to this session
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    #[command(flatten)]
    pub tools: ToolsetArgs,
}

pub(crate) fn run(args: &CallArgs) -> anyhow::Result<ExitCode> {
    let toolset = args.tools.open()?;
    let runtime = index::runtime(&toolset, args.call.name())?;
    let ended = call(args, &toolset, &runtime);
    runtime.close_remotes();
    // The process ends now, and the system is faster at taking everything back.
    std::mem::forget(runtime);
    ended
}

fn call(args: &CallArgs, toolset: &Toolset, runtime: &Runtime) -> anyhow::Result<ExitCode> {
    let call = args.call.call(runtime)?;
    let compiling = runtime
        .get(&call.name)
        .and_then(|tool| Compiling::watch(&tool, &toolset.environment.folders.compiled()));
    let session = runtime.session(args.session.as_deref().unwrap_or_default());
    let outcome = block_on(session.call(call).cancel(interrupted()).into_future())?;
    drop(compiling);
    if outcome.error_kind() == Some(ErrorKind::UnknownTool) && !args.tools.json {
        // What was skipped while loading may be why.
        runtime.warnings().iter().for_each(|warning| say(Label::Warning, warning));
    } else {
        say_cache_problem(runtime);
    }
    if args.tools.json {
        print_json(&outcome)?;
    } else {
        print_outcome(&outcome, args.session.as_deref())?;
    }
    Ok(ExitCode::from(outcome.exit_code()))
}
