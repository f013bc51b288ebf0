//! The command line: one file a subcommand, and the only place that prints or ends the process.

mod add;
mod approvals;
mod approver;
mod arguments;
mod audit;
mod batch;
mod build;
mod cache;
mod call;
mod check;
mod cli;
mod compiling;
mod completions;
mod config;
mod describe;
mod doctor;
mod edited;
mod explain;
mod export;
mod failure;
#[cfg(all(feature = "mcp", feature = "http"))]
mod http_server;
mod index;
mod init;
mod input;
mod inspected;
#[cfg(feature = "mcp")]
mod install;
mod jsonl;
mod list;
#[cfg(feature = "mcp")]
mod lossless;
#[cfg(feature = "mcp")]
mod mcp;
mod new;
mod opened;
mod output;
mod pack;
#[cfg_attr(not(feature = "oci"), path = "pulling_absent.rs")]
mod pulling;
mod ready;
mod remove;
mod replay;
mod report;
mod servers;
mod sessions;
#[cfg(feature = "otel")]
mod spans;
#[cfg(feature = "state")]
mod state;
mod terminal;
mod test;
mod toolset;
mod trust;
mod update;
mod watched;
mod watching;
mod wit;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use clap::Parser as _;

use cli::Cli;

/// What the last panic said, for the one line that is printed if it gets out.
static PANIC: Mutex<String> = Mutex::new(String::new());

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    // Before anything else: a compiling child is limited first and reads its arguments by itself.
    if let Some((first, rest)) = arguments.split_first()
        && first == toolcell::sandbox::CHILD_ARGUMENT
    {
        return failure::of_child(toolcell::sandbox::compile_as_child(rest));
    }
    // The library catches panics of validators on hostile files; only one that gets out is a fault to be told.
    std::panic::set_hook(Box::new(|info| {
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string().replace('\n', " ");
    }));
    #[cfg(feature = "otel")]
    let exporter = spans::start();
    let ended = catch_unwind(AssertUnwindSafe(|| match Cli::try_parse() {
        Ok(cli) => {
            let is_json = cli.command.is_json();
            cli.command.run().unwrap_or_else(|error| failure::report(&error, is_json))
        }
        Err(error) => failure::usage(&error, &arguments),
    }));
    #[cfg(feature = "otel")]
    spans::end(exporter);
    toolcell::wait_for_killed();
    ended.unwrap_or_else(|_| failure::panicked(&PANIC.lock().unwrap_or_else(PoisonError::into_inner)))
}
