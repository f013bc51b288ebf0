//! `toolcell mcp`

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd as _, FromRawFd as _, OwnedFd};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use toolcell::Runtime;
use toolcell::sandbox::Allocation;
use toolcell::server::mcp::{ClientApprover, serve_until};

#[cfg(feature = "http")]
use crate::http_server::HttpArgs;
use crate::input::left;
use crate::install::{self, InstallArgs};
use crate::ready::{interrupted, say_new_cache_problem};
use crate::terminal::{Label, say};
use crate::toolset::ToolsetArgs;
use crate::watching::Watch;

const EXAMPLES: &str = "\
Examples:
  toolcell mcp
  toolcell mcp --component builtin:files --dir .::/work
  toolcell mcp install claude-code
  toolcell mcp --http 127.0.0.1:8080
  toolcell mcp --http 0.0.0.0:8080 --token ada=env:ADA_TOKEN --allow-host tools.example.org

Changed files of the configuration, of components and of tokens are taken up while it runs, and
clients are told. Of the table [server], hosts, origins and tokens hold at once, and a principal
that is gone has nothing here any more; other settings hold from the next start, which is said.

Over HTTP, the protocol is spoken at /mcp; beside it are /healthz, /readyz and /metrics. The table
[server] of the configuration bounds what clients may take up. TLS is for a proxy in front of it.

Questions about calls go to the client, if it shows forms to its user. Otherwise they wait: see `toolcell approvals`.

Exit codes:
  0 the client closed the connection, or the server was ended      2 usage or configuration";

/// How long the end of the process may wait until ended sessions are forgotten; clients kill after two seconds.
const FORGETTING: Duration = Duration::from_millis(300);

#[derive(Args)]
#[command(after_help = EXAMPLES)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    pub tools: ToolsetArgs,
    #[cfg(feature = "http")]
    #[command(flatten)]
    pub http: HttpArgs,
}

#[derive(Subcommand)]
enum Verb {
    /// Write the configuration of a client, so that it starts this server
    Install(InstallArgs),
}

pub(crate) fn run(args: &McpArgs) -> anyhow::Result<ExitCode> {
    if let Some(Verb::Install(args)) = &args.verb {
        return install::run(args);
    }
    let toolset = args.tools.open()?;
    let watch = Watch::of(&toolset);
    #[cfg(feature = "http")]
    let http = args.http.listening(&toolset)?;
    // The default of a process that lives on.
    let mut builder = toolset.prompt_builder().allocation(Allocation::default());
    #[cfg(feature = "http")]
    if let Some(http) = &http {
        builder = http.sharing(builder)?;
    }
    if !args.tools.yes {
        // Whoever sits at this terminal need not be whoever calls.
        builder = builder.shared_approver(Arc::new(ClientApprover));
    }
    let runtime = builder.build_blocking()?;
    runtime.warnings().iter().for_each(|warning| say(Label::Warning, warning));
    let executor = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the threads that serve")?;
    #[cfg(feature = "http")]
    if let Some(http) = http {
        let served = http.serving(runtime.clone(), interrupted()).and_then(|(serving, access)| {
            watch.with(access).start(&runtime);
            executor.block_on(serving.serve())
        });
        let code = ended(runtime, executor);
        return served.map(|()| code);
    }
    watch.start(&runtime);
    let output = protocol_output().context("cannot take standard output for the protocol")?;
    let serving = serve_until(runtime.clone(), io::stdin(), output, interrupted(), left());
    let served = executor.block_on(serving);
    let code = ended(runtime, executor);
    Ok(served.map(|()| code)?)
}

fn ended(runtime: Runtime, executor: tokio::runtime::Runtime) -> ExitCode {
    say_new_cache_problem(&runtime);
    executor.shutdown_background();
    runtime.close_remotes();
    runtime.await_forgotten(FORGETTING);
    // The process ends now, and the system is faster at taking everything back.
    std::mem::forget(runtime);
    ExitCode::SUCCESS
}

/// Standard output for the protocol alone: whatever else writes to its descriptor reaches standard error from now on.
fn protocol_output() -> io::Result<File> {
    let own = io::stdout().as_fd().try_clone_to_owned()?;
    // SAFETY: descriptor 1 is open, or the clone would have failed, and is not closed here.
    let mut stdout = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(1) });
    rustix::io::dup2(io::stderr(), &mut stdout)?;
    Ok(own.into())
}
