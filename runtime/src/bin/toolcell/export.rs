//! `toolcell export`

use std::process::ExitCode;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;
use toolcell::format::{Format, Strict};

use crate::terminal::{Label, print_json, say};
use crate::toolset::ToolsetArgs;

const EXAMPLES: &str = "\
Examples:
  toolcell export --format anthropic
  toolcell export --format openai --strict
  toolcell export --format gemini --instructions";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExportArgs {
    /// How the model's provider has tools
    #[arg(long, value_name = "FORMAT", value_parser = format_names())]
    format: Format,
    /// Have the provider hold its model to the schemas, for each tool whose types allow it
    #[arg(long)]
    strict: bool,
    /// Print an object with the tools and the rules of usage, which belong into the system prompt
    #[arg(long)]
    instructions: bool,
    #[command(flatten)]
    pub tools: ToolsetArgs,
}

/// The formats by name, for help and completions too.
pub(crate) fn format_names() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name)).try_map(|name| name.parse::<Format>())
}

pub(crate) fn run(args: &ExportArgs) -> anyhow::Result<ExitCode> {
    let runtime = args.tools.open()?.runtime()?;
    let strict = if args.strict { Strict::On } else { Strict::Off };
    let export = args.format.export(&runtime.list(), strict);
    if !args.tools.json {
        runtime.warnings().iter().for_each(|warning| say(Label::Warning, warning));
        export.notes.iter().for_each(|note| say(Label::Note, note));
    }
    if args.instructions {
        let rules: Vec<String> =
            runtime.instructions().iter().map(|(name, rules)| format!("# {name}\n\n{rules}")).collect();
        print_json(&json!({ "tools": export.tools, "instructions": rules.join("\n\n") }))?;
    } else {
        print_json(&export.tools)?;
    }
    Ok(ExitCode::SUCCESS)
}
