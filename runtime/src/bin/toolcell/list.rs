//! `toolcell list`

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use crate::opened::Opened;
use crate::report::tool_json;
use crate::terminal::{Label, print_json, print_line, say};
use crate::toolset::ToolsetArgs;

#[derive(Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub tools: ToolsetArgs,
}

pub(crate) fn run(args: &ListArgs) -> anyhow::Result<ExitCode> {
    let toolset = args.tools.open()?;
    let runtime = Opened::of(toolset.prompt_builder())?;
    let tools = runtime.list();
    if args.tools.json {
        let tools: Vec<_> = tools.iter().map(|tool| tool_json(tool)).collect();
        print_json(&json!({ "tools": tools, "warnings": runtime.warnings() }))?;
        return Ok(ExitCode::SUCCESS);
    }
    runtime.warnings().iter().for_each(|warning| say(Label::Warning, warning));
    if tools.is_empty() {
        match toolset.location {
            Some(_) => say(
                Label::Note,
                format_args!("{} has no tools; `toolcell add FILE` adds a component", toolset.place()),
            ),
            None => say(Label::Note, "there are no tools; name a component, or a folder that has some"),
        }
    }
    let width = tools.iter().map(|tool| tool.name().len()).max().unwrap_or_default();
    for tool in &tools {
        let line = format!("{:width$}  {}", tool.name(), first_sentence(tool.description()));
        print_line(line.trim_end())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The first sentence, or what there is.
fn first_sentence(description: &str) -> String {
    let paragraph = description.split("\n\n").next().unwrap_or_default();
    let flat = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None => flat,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_the_first_sentence() {
        for (description, line) in [
            ("Adds. And more.", "Adds."),
            ("Adds two\nnumbers.", "Adds two numbers."),
            ("Adds\n\n- this", "Adds"),
            ("Reads v1.2 files", "Reads v1.2 files"),
            ("", ""),
        ] {
            assert_eq!(first_sentence(description), line);
        }
    }
}
