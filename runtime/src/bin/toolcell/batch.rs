//! `toolcell batch`

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use serde::de::IgnoredAny;
use toolcell::format::Format;
use toolcell::{Outcome, ToolCall};

use crate::arguments::{metadata, read};
use crate::export::format_names;
use crate::ready::{block_on, interrupted, say_new_cache_problem};
use crate::report::say_warnings;
use crate::sessions::NamedSession;
use crate::terminal::{Label, print_json, say};
use crate::toolset::ToolsetArgs;

const EXAMPLES: &str = "\
Examples:
  toolcell batch message.json --format anthropic
  curl … | toolcell batch - --format openai --dir .::/work --component builtin:files

Exit codes:
  0 the calls were made, whatever became of each      2 usage, configuration, or no such message";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BatchArgs {
    /// What the model answered, as JSON; `-` or nothing reads standard input
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true)]
    message: String,
    /// How the model's provider has calls and results
    #[arg(long, value_name = "FORMAT", value_parser = format_names())]
    format: Format,
    /// Bind the calls, and full outputs that are cut, to this session. Groups that they switch on are on for later
    /// commands of this session too
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Add metadata that the tools can read; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    meta: Vec<String>,
    #[command(flatten)]
    pub tools: ToolsetArgs,
}

pub(crate) fn run(args: &BatchArgs) -> anyhow::Result<ExitCode> {
    let (name, text) = if args.message == "-" {
        ("standard input", read("standard input", std::io::stdin().lock())?)
    } else {
        let name = args.message.as_str();
        let file = std::fs::File::open(name).with_context(|| format!("cannot read {name}"))?;
        (name, read(name, file)?)
    };
    let calls = calls(args.format, name, &text)?;
    let meta = metadata(&args.meta)?;
    let toolset = args.tools.open()?;
    let runtime = toolset.runtime()?;
    runtime.warnings().iter().for_each(|warning| say(Label::Warning, warning));
    let named = NamedSession::open(&toolset, &runtime, args.session.as_deref());
    let calls =
        calls.into_iter().map(|call| meta.iter().fold(call, |call, (name, value)| call.meta(*name, *value)));
    let batch = named.session.call_batch(calls.collect()).cancel(interrupted());
    let outcomes = block_on(batch.into_future())?;
    named.keep();
    for (at, outcome) in outcomes.iter().enumerate() {
        say_warnings(outcome, &format!("call {} (`{}`): ", at + 1, outcome.name));
    }
    say_new_cache_problem(&runtime);
    say_unanswered(args.format, &outcomes);
    print_json(&args.format.results(&outcomes))?;
    runtime.close_remotes();
    // The process ends now, and the system is faster at taking everything back.
    std::mem::forget(runtime);
    Ok(ExitCode::SUCCESS)
}

/// Names the calls that the format has no place to answer.
fn say_unanswered(format: Format, outcomes: &[Outcome]) {
    for (at, outcome) in outcomes.iter().enumerate().filter(|(_, outcome)| !format.has_place_for(outcome)) {
        let why = outcome.error.as_ref().map_or("it has no id", |error| error.message.as_str());
        let lost = format!("{format} has no place for the result of a call without an id");
        say(Label::Warning, format!("call {} is not answered, since {lost}: {why}", at + 1));
    }
}

/// The calls of one message. What is wrong with one of them is told when it is made, and the others run.
fn calls(format: Format, name: &str, text: &str) -> anyhow::Result<Vec<ToolCall>> {
    if text.trim().is_empty() {
        bail!("{name} is empty; give it one message of a model, as JSON");
    }
    if text.trim_start().starts_with("data:") || text.trim_start().starts_with("event:") {
        bail!("{name} is a stream of events; ask the model's provider for a whole answer, without `stream`");
    }
    refuse_syntax(name, text)?;
    format.read_calls(text).with_context(|| name.to_owned())
}

/// What is wrong with a text that is not one document of JSON, by where it is in the text.
fn refuse_syntax(name: &str, text: &str) -> anyhow::Result<()> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    if let Some(Err(error)) = values.next() {
        bail!("{name} is not valid JSON: {error}");
    }
    let (before, after) = text.split_at_checked(values.byte_offset()).unwrap_or((text, ""));
    if !after.trim().is_empty() {
        let line = before.lines().count() + usize::from(after.starts_with('\n'));
        bail!("{name} goes on after one JSON document, at line {line}; give it one message at a time");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    #[test]
    fn a_message_is_one_document() {
        assert_eq!(calls(Format::Toolcell, "f", r#" [{"id": 1, "name": "t"}] "#).unwrap().len(), 1);
        for (text, told) in [
            ("", "f is empty"),
            (" \n", "f is empty"),
            ("{", "not valid JSON: EOF while parsing an object at line 1 column 1"),
            ("{\n\"a\": x}", "not valid JSON: expected value at line 2 column 6"),
            ("1,\"x\":2", "goes on after one JSON document, at line 1"),
            ("{}}", "goes on after one JSON document, at line 1"),
            ("{\n}\n{}", "goes on after one JSON document, at line 3"),
            ("event: message_start\ndata: {}", "a stream of events"),
            ("data: {}", "a stream of events"),
            ("{\"calls\":[],\"calls\":[]}", "outside of its calls: `calls`"),
            (&"[".repeat(200), "EOF while parsing"),
        ] {
            let error = format!("{:#}", calls(Format::Toolcell, "f", text).unwrap_err());
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn a_broken_call_spoils_no_other() {
        let text = r#"{"content": [
            {"type": "tool_use", "id": "a", "name": "t", "input": {"x": 1, "x": 2}},
            {"type": "tool_use", "id": "b", "name": "t", "input": {"x": 1}}
        ]}"#;
        let calls = calls(Format::Anthropic, "f", text).unwrap();
        assert_eq!(calls.iter().map(|call| call.id.clone()).collect::<Vec<_>>(), ["a", "b"]);
    }
}
