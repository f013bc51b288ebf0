//! `toolcell init`

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use toolcell::config::{FILE_NAME, starting_text};

use crate::terminal::{Label, print_line, say};

/// Nothing to choose: the file is there to be edited.
#[derive(Args)]
pub(crate) struct InitArgs {}

pub(crate) fn run(_: &InitArgs) -> anyhow::Result<ExitCode> {
    let mut file = match std::fs::File::create_new(FILE_NAME) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            bail!("there is a {FILE_NAME} here already; edit it, or remove it first")
        }
        Err(error) => return Err(error).with_context(|| format!("cannot create {FILE_NAME} here")),
    };
    file.write_all(starting_text().as_bytes()).with_context(|| format!("cannot write {FILE_NAME}"))?;
    print_line(format_args!("wrote {FILE_NAME}: the shipped tools, which may read this folder as /work"))?;
    say(Label::Note, "`toolcell list` shows the tools, `toolcell call list_dir` calls one");
    Ok(ExitCode::SUCCESS)
}
