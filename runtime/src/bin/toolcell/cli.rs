//! What can be asked for.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[cfg(feature = "mcp")]
use crate::mcp;
#[cfg(feature = "state")]
use crate::state;
use crate::{
    add, approvals, audit, batch, build, cache, call, check, completions, config, describe, doctor, explain,
    export, init, jsonl, list, new, output, pack, remove, replay, test, trust, update, wit,
};

/// Runs tools that a language model calls, each call in a WebAssembly cell of its own
#[derive(Parser)]
#[command(name = "toolcell", version, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Write a toolcell.toml with the shipped tools, which read this folder
    Init(init::InitArgs),
    /// Add a component to toolcell.toml, showing what it asks for and what it gets
    Add(add::AddArgs),
    /// Take a component out of toolcell.toml
    Remove(remove::RemoveArgs),
    /// Take components of registries as they are there now, or fetch what is locked
    Update(update::UpdateArgs),
    /// List the tools
    List(list::ListArgs),
    /// Show everything about one tool: arguments, result, grants, limits
    Describe(describe::DescribeArgs),
    /// Call a tool
    Call(call::CallArgs),
    /// Make a recorded call again, without what it reached, and say where it differs
    Replay(replay::ReplayArgs),
    /// Make the calls of a model's message, and print the results in the same format
    Batch(batch::BatchArgs),
    /// Print the tools as a model's provider wants them
    Export(export::ExportArgs),
    /// Serve a program: requests as JSON lines on standard input, replies and live output on standard output
    Jsonl(jsonl::JsonlArgs),
    /// Serve the tools over the Model Context Protocol, on standard input and output
    #[cfg(feature = "mcp")]
    Mcp(mcp::McpArgs),
    /// Show what a call would do: its arguments, grants and limits; nothing runs
    Explain(explain::ExplainArgs),
    /// Check components, folders of them, or the configuration
    Check(check::CheckArgs),
    /// Make a project with one tool in it, ready to build
    New(new::NewArgs),
    /// Build a Rust project into a component with its documentation
    Build(build::BuildArgs),
    /// Run cases of tools, and say where they differ from what is expected
    Test(test::TestArgs),
    /// Put a component's documentation and hints beside its code
    Pack(pack::PackArgs),
    /// Write the WIT package that tools include
    Wit(wit::WitArgs),
    /// Read full outputs that were cut
    Output(output::OutputArgs),
    /// Read the record of calls, and check that nothing was changed in it
    Audit(audit::AuditArgs),
    /// Show, give and take back approvals of calls
    Approvals(approvals::ApprovalsArgs),
    /// Trust the toolcell.toml that was found here, as it is now
    Trust(trust::TrustArgs),
    /// See what tools keep between calls, and remove it
    #[cfg(feature = "state")]
    State(state::StateArgs),
    /// Look after the compiled components
    Cache(cache::CacheArgs),
    /// Show the configuration that holds, or the schema of toolcell.toml
    Config(config::ConfigArgs),
    /// Print completions for a shell
    Completions(completions::CompletionsArgs),
    /// Check that this machine can run tools well
    Doctor(doctor::DoctorArgs),
}

impl Command {
    /// Whether errors are to be JSON too.
    pub fn is_json(&self) -> bool {
        match self {
            Self::Add(args) => args.json,
            Self::Remove(args) => args.json,
            Self::Update(args) => args.json,
            Self::List(args) => args.tools.json,
            Self::Describe(args) => args.tools.json,
            Self::Call(args) => args.tools.json,
            Self::Replay(args) => args.json,
            Self::Batch(args) => args.tools.json,
            Self::Export(args) => args.tools.json,
            #[cfg(feature = "mcp")]
            Self::Mcp(args) => args.tools.json,
            Self::Explain(args) => args.tools.json,
            Self::Check(args) => args.tools.json,
            Self::Test(args) => args.tools.json,
            Self::Audit(args) => args.is_json(),
            Self::Approvals(args) => args.is_json(),
            #[cfg(feature = "state")]
            Self::State(args) => args.json,
            Self::Cache(args) => args.is_json(),
            Self::Config(args) => args.is_json(),
            Self::Doctor(args) => args.tools.json,
            _ => false,
        }
    }

    pub fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Init(args) => init::run(&args),
            Self::Add(args) => add::run(&args),
            Self::Remove(args) => remove::run(&args),
            Self::Update(args) => update::run(&args),
            Self::List(args) => list::run(&args),
            Self::Describe(args) => describe::run(&args),
            Self::Call(args) => call::run(&args),
            Self::Replay(args) => replay::run(&args),
            Self::Batch(args) => batch::run(&args),
            Self::Export(args) => export::run(&args),
            Self::Jsonl(args) => jsonl::run(&args),
            #[cfg(feature = "mcp")]
            Self::Mcp(args) => mcp::run(&args),
            Self::Explain(args) => explain::run(&args),
            Self::Check(args) => check::run(&args),
            Self::New(args) => new::run(args),
            Self::Build(args) => build::run(args),
            Self::Test(args) => test::run(&args),
            Self::Pack(args) => pack::run(args),
            Self::Wit(args) => wit::run(args),
            Self::Output(args) => output::run(&args),
            Self::Audit(args) => audit::run(&args),
            Self::Approvals(args) => approvals::run(&args),
            Self::Trust(args) => trust::run(&args),
            #[cfg(feature = "state")]
            Self::State(args) => state::run(&args),
            Self::Cache(args) => cache::run(&args),
            Self::Config(args) => config::run(&args),
            Self::Completions(args) => completions::run(&args),
            Self::Doctor(args) => doctor::run(&args),
        }
    }
}
