//! Writing to people and programs: results on standard output, everything else on standard error.

use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal as _, Write as _};

use clap::builder::styling::{AnsiColor, Style};
use toolcell::output::clean;

/// Writes to standard output. A reader that went away ends the output quietly: it has what it wanted.
pub(crate) fn print(text: impl AsRef<[u8]>) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_ref()).and_then(|()| stdout.flush());
    quiet(written)
}

/// Writes a line to standard output.
pub(crate) fn print_line(text: impl Display) -> std::io::Result<()> {
    print(format!("{}\n", clean(&text.to_string())))
}

/// Writes a JSON document to standard output.
pub(crate) fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(print(text)?)
}

/// Success, where the only thing wrong is that nobody reads any longer.
pub(crate) fn quiet(written: std::io::Result<()>) -> std::io::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// So many of a thing, in words: `1 tool`, `2 tools`.
pub(crate) fn counted(count: usize, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{plural}")
}

/// What a line on standard error begins with.
#[derive(Clone, Copy)]
pub(crate) enum Label {
    Error,
    Warning,
    Note,
    Help,
}

/// Writes a labelled message to standard error. What cannot be written there has no other reader.
pub(crate) fn say(label: Label, message: impl Display) {
    let (word, colour) = match label {
        Label::Error => ("error", AnsiColor::Red),
        Label::Warning => ("warning", AnsiColor::Yellow),
        Label::Note => ("note", AnsiColor::Cyan),
        Label::Help => (" help", AnsiColor::Green),
    };
    let style = if has_colour() { colour.on_default().bold() } else { Style::new() };
    // Names of files and words of tools are in messages: none may move the cursor or pass for a line of ours.
    let message = clean(&message.to_string()).trim_end().replace('\n', "\n  ");
    let _ = writeln!(std::io::stderr().lock(), "{style}{word}:{style:#} {message}");
}

/// Writes a message to standard error as it is.
pub(crate) fn say_plain(message: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{message}");
}

/// Whether standard error is a terminal that shows colours, and its user has nothing against them
/// (<https://no-color.org>).
fn has_colour() -> bool {
    let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    !is_unwanted && !is_dumb && std::io::stderr().is_terminal()
}
