//! The end of a command that could not do its work: one message, and the exit code that stands for it.

use std::process::ExitCode;

use serde_json::{Map, Value, json};
use toolcell::Error;

use crate::terminal::{Label, print_json, quiet, say, say_plain};

/// Usage or configuration is wrong.
const WRONG: u8 = 2;

/// Nothing is wrong, and it may go well later.
const LATER: u8 = 7;

/// A fault of toolcell or of this machine.
const FAULT: u8 = 70;

/// Reports an error of the configuration, of a file or of this machine.
pub(crate) fn report(error: &anyhow::Error, is_json: bool) -> ExitCode {
    let library = error.downcast_ref::<Error>();
    let (kind, code) = match library {
        Some(Error::Sandbox { .. }) => ("internal", FAULT),
        Some(Error::Registry { is_temporary: true, .. }) => ("unavailable", LATER),
        Some(Error::Registry { .. }) => ("registry", WRONG),
        Some(_) => ("configuration", WRONG),
        None => ("usage", WRONG),
    };
    let message = message(error);
    if is_json {
        let mut document = Map::new();
        document.insert("kind".to_owned(), kind.into());
        document.insert("message".to_owned(), message.into());
        if let Some((name, value)) = library.and_then(address) {
            document.insert(name.to_owned(), value.into());
        }
        let _ = print_json(&json!({ "error": document }));
    } else {
        say(Label::Error, message);
    }
    ExitCode::from(code)
}

/// The message with its causes, where they say something more.
fn message(error: &anyhow::Error) -> String {
    let mut whole = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !whole.contains(&cause) {
            whole = format!("{whole}: {cause}");
        }
    }
    whole
}

fn address(error: &Error) -> Option<(&'static str, &str)> {
    match error {
        Error::Config { at, .. } => Some(("at", at)),
        Error::Grant { setting, .. } | Error::Limit { setting, .. } => Some(("setting", setting)),
        Error::Component { subject, .. } => Some(("subject", subject)),
        Error::Registry { reference, .. } => Some(("reference", reference)),
        _ => None,
    }
}

/// Reports what is wrong with the command line itself, or shows the help or version that it asked for.
pub(crate) fn usage(error: &clap::Error, arguments: &[String]) -> ExitCode {
    if !error.use_stderr() {
        let _ = quiet(error.print());
        return ExitCode::SUCCESS;
    }
    let is_json =
        arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--json");
    let takes_arguments = arguments.first().is_some_and(|verb| verb == "call" || verb == "explain");
    let is_unknown = error.kind() == clap::error::ErrorKind::UnknownArgument;
    let hint = "a tool's own arguments are given as JSON, or as `--arg NAME=TEXT` and `--arg NAME:=JSON`";
    let hint = (is_unknown && takes_arguments).then_some(hint);
    if is_json {
        let rendered = error.render().to_string();
        let message = rendered.trim_start_matches("error: ").lines().next().unwrap_or_default();
        let mut document: Map<String, Value> = Map::new();
        document.insert("kind".to_owned(), "usage".into());
        document.insert("message".to_owned(), message.into());
        document.extend(hint.map(|hint| ("help".to_owned(), hint.into())));
        let _ = print_json(&json!({ "error": document }));
    } else {
        let _ = error.print();
        if let Some(hint) = hint {
            say(Label::Note, hint);
        }
    }
    ExitCode::from(WRONG)
}

/// Reports a panic that nobody caught.
pub(crate) fn panicked(what: &str) -> ExitCode {
    say(Label::Error, format_args!("toolcell itself failed, which is a fault to be reported: {what}"));
    ExitCode::from(FAULT)
}

/// The end of a compiling child: its parent reads the message.
pub(crate) fn of_child(compiled: Result<(), String>) -> ExitCode {
    match compiled {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            say_plain(message);
            ExitCode::FAILURE
        }
    }
}
