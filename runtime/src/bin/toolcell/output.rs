//! `toolcell output`

use std::io::Write as _;
use std::ops::Range;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use regex::bytes::RegexBuilder;
use toolcell::config::Environment;
use toolcell::output::{Handle, OutputStore, StoredOutput, range};

use crate::terminal::quiet;

/// Memory of a compiled pattern; a larger one is refused.
const PATTERN_BYTES: usize = 4 << 20;

#[derive(Args)]
pub(crate) struct OutputArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Print a full output that was cut, or a part of it
    Show(ShowArgs),
}

#[derive(Args)]
struct ShowArgs {
    /// The handle, as the note about the cut names it
    handle: String,
    /// Only these lines, counting from 1, both ends included: 10:20, 10: or :20
    #[arg(long, value_name = "A:B", conflicts_with_all = ["bytes", "grep"])]
    lines: Option<String>,
    /// Only these bytes, counting from 0, without the end: 0:1000, 1000: or :1000
    #[arg(long, value_name = "A:B", conflicts_with = "grep")]
    bytes: Option<String>,
    /// Only lines that this regular expression matches, with their numbers; exit code 1 if there is none
    #[arg(long, value_name = "RE")]
    grep: Option<String>,
    /// The session of the call, if it had one
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    session: String,
}

pub(crate) fn run(args: &OutputArgs) -> anyhow::Result<ExitCode> {
    let Verb::Show(args) = &args.verb;
    let handle: Handle = args.handle.parse()?;
    let folders = Environment::of_process()?.folders;
    let mut output = OutputStore::in_folder(folders.outputs())?.open(&args.session, &handle)?;
    let mut stdout = std::io::stdout().lock();
    let mut code = ExitCode::SUCCESS;
    let written = write(args, &mut output, &mut stdout, &mut code)?.and_then(|()| stdout.flush());
    quiet(written).context("cannot write the output")?;
    Ok(code)
}

/// Usage that is wrong, or what writing came to.
fn write(
    args: &ShowArgs,
    output: &mut StoredOutput,
    out: &mut dyn std::io::Write,
    code: &mut ExitCode,
) -> anyhow::Result<std::io::Result<()>> {
    if let Some(pattern) = &args.grep {
        let pattern = RegexBuilder::new(pattern).size_limit(PATTERN_BYTES).build();
        let pattern = pattern.map_err(|error| anyhow::anyhow!("--grep: {error}"))?;
        return Ok(output.grep(&pattern, out).map(|matches| {
            if matches == 0 {
                *code = ExitCode::FAILURE;
            }
        }));
    }
    if let Some(lines) = &args.lines {
        let Range { start, end } = part("--lines", lines, 1)?;
        // From numbers with both ends included to indices without the end.
        return Ok(output.lines(start.saturating_sub(1)..end, out).map(drop));
    }
    let bytes = match &args.bytes {
        Some(bytes) => part("--bytes", bytes, 0)?,
        None => 0..u64::MAX,
    };
    Ok(output.bytes(bytes, out).map(drop))
}

fn part(flag: &str, written: &str, first: u64) -> anyhow::Result<Range<u64>> {
    range(written, first).with_context(|| {
        format!(
            "{flag} `{written}`: write A:B with A not above B, as in {first}:100; either may be left out, and counting begins at {first}"
        )
    })
}
