//! `toolcell jsonl`

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use toolcell::sandbox::Allocation;
use toolcell::server::jsonl::{AskClient, JsonLines, schema};

use crate::input::left;
use crate::ready::{interrupted, say_new_cache_problem};
use crate::terminal::{Label, print_json, quiet, say};
use crate::toolset::ToolsetArgs;
use crate::watching::Watch;

const EXAMPLES: &str = "\
Examples:
  echo '{\"type\":\"call\",\"id\":1,\"name\":\"add\",\"arguments\":{\"a\":1,\"b\":2}}' | toolcell jsonl --component builtin:basics
  toolcell jsonl --schema > toolcell-jsonl.schema.json

Exit codes:
  0 the input ended, whatever became of its lines      2 usage or configuration";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct JsonlArgs {
    /// Print the JSON Schema of requests and replies, and do nothing else
    #[arg(long)]
    schema: bool,
    #[command(flatten)]
    pub tools: ToolsetArgs,
}

pub(crate) fn run(args: &JsonlArgs) -> anyhow::Result<ExitCode> {
    if args.schema {
        print_json(&schema())?;
        return Ok(ExitCode::SUCCESS);
    }
    // A process that lives on: see the decision on mapped native code.
    let toolset = args.tools.open()?;
    let watch = Watch::of(&toolset);
    let builder = toolset.prompt_builder().allocation(Allocation::default());
    let builder = if args.tools.yes { builder } else { builder.approver(AskClient) };
    let runtime = builder.build_blocking()?;
    runtime.warnings().iter().for_each(|warning| say(Label::Warning, warning));
    watch.start(&runtime);
    let executor = tokio::runtime::Builder::new_multi_thread().build().context("cannot serve")?;
    let lines = JsonLines::new(runtime.clone()).stop(interrupted()).left(left());
    let served = executor.block_on(lines.serve(tokio::io::stdin(), tokio::io::stdout()));
    say_new_cache_problem(&runtime);
    runtime.close_remotes();
    // Where the client stopped reading first, or a signal came, a thread still waits for its input.
    executor.shutdown_background();
    quiet(served).context("the connection broke")?;
    Ok(ExitCode::SUCCESS)
}
