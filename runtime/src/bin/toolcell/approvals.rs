//! `toolcell approvals`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, Subcommand};
use toolcell::config::Environment;
use toolcell::policy::{Answer, Approvals, Pending, Scope};

use crate::servers::Server;
use crate::terminal::{Label, counted, print_json, print_line, say};
use crate::toolset::Toolset;

#[derive(Args)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    verb: Verb,
    /// The configuration whose approvals and servers are meant, instead of the one that is found
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Verb {
    /// List what was approved
    List(JsonArgs),
    /// List the calls that wait for an approval, since nobody could be asked
    Pending(JsonArgs),
    /// Approve a call that waits; it is to be made again. Or approve a tool of another server as it is now
    Allow(AllowArgs),
    /// Take an approval back, or refuse calls that wait
    Revoke {
        /// The identifier, as the lists show it; or mcp.SERVER or mcp.SERVER.TOOL
        #[arg(required_unless_present = "pending")]
        id: Option<String>,
        /// Refuse all calls that wait
        #[arg(long, conflicts_with = "id")]
        pending: bool,
    },
    /// Put a damaged list of approvals aside and begin anew
    Reset,
}

#[derive(Args)]
struct JsonArgs {
    /// Print one JSON document and nothing else
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct AllowArgs {
    /// The identifier, as the error of the call names it; or mcp.SERVER or mcp.SERVER.TOOL
    id: String,
    /// For one call, within a day; the default
    #[arg(long, group = "scope")]
    once: bool,
    /// For exactly this call in its session, within a day
    #[arg(long, group = "scope")]
    session: bool,
    /// For exactly this call, from now on
    #[arg(long, group = "scope")]
    always: bool,
    /// For every call of the tool that the same rules ask about, from now on
    #[arg(long, group = "scope")]
    by_rule: bool,
}

impl ApprovalsArgs {
    pub fn is_json(&self) -> bool {
        matches!(&self.verb, Verb::List(args) | Verb::Pending(args) if args.json)
    }
}

pub(crate) fn run(args: &ApprovalsArgs) -> anyhow::Result<ExitCode> {
    let config = args.config.as_deref();
    let store = store(config)?;
    match &args.verb {
        Verb::List(args) => list(&store, args.json)?,
        Verb::Pending(args) => pending(&store, args.json)?,
        Verb::Allow(args) => match Server::of(&args.id) {
            Some(_) if args.once || args.session || args.always || args.by_rule => {
                bail!("a server's tool is approved as it is, until it changes; leave the scope out")
            }
            Some(server) => server.allow(config)?,
            None => allow(&store, args)?,
        },
        Verb::Revoke { id: None, .. } => {
            let refused = store.refuse_pending()?;
            print_line(format_args!("refused {}", counted(refused, "call")))?;
        }
        Verb::Revoke { id: Some(id), .. } => {
            if let Some(server) = Server::of(id) {
                server.revoke(config)?;
                return Ok(ExitCode::SUCCESS);
            }
            if !store.revoke(id)? {
                bail!(
                    "nothing is approved and nothing waits as `{id}`; `toolcell approvals list` shows what is"
                );
            }
            print_line(format_args!("{id} holds no longer"))?;
        }
        Verb::Reset => match store.reset()? {
            None => say(Label::Note, "the list of approvals is not damaged; nothing was changed"),
            Some(aside) => print_line(format_args!(
                "nothing is approved any more; what was there is kept as {}",
                aside.display()
            ))?,
        },
    }
    Ok(ExitCode::SUCCESS)
}

/// Where approvals are: in the store that the instances of this configuration's server share, or in this user's own folder.
fn store(config: Option<&Path>) -> anyhow::Result<Approvals> {
    let environment = Environment::of_process()?;
    let own = Approvals::folder(environment.folders.approvals());
    if environment.locate(config)?.is_none() {
        return Ok(own);
    }
    #[cfg(feature = "http")]
    if let Some(shared) = &Toolset::of_config(config)?.config.server.shared {
        return Ok(Approvals::shared(shared.open()?));
    }
    Ok(own)
}

/// What is in the store; nothing, and a warning, if that is damaged.
fn of<T>(store: &Approvals, read: fn(&Approvals) -> toolcell::Result<Vec<T>>) -> anyhow::Result<Vec<T>> {
    match store.damage()? {
        Some(damage) => {
            say(Label::Warning, damage);
            Ok(Vec::new())
        }
        None => Ok(read(store)?),
    }
}

fn list(store: &Approvals, is_json: bool) -> anyhow::Result<()> {
    let approvals = of(store, Approvals::list)?;
    if is_json {
        return print_json(&approvals);
    }
    if approvals.is_empty() {
        say(Label::Note, "nothing is approved");
    }
    for approval in approvals {
        let scope = match (approval.scope, &approval.session) {
            (Scope::Once, Some(session)) => format!("once in session {session}"),
            (Scope::Once, None) => "once".to_owned(),
            (Scope::Session, Some(session)) => format!("in session {session}"),
            (Scope::ByRule, _) => "always, by rule".to_owned(),
            _ => "always".to_owned(),
        };
        let scope = match &approval.user {
            Some(user) => format!("{scope}, for {user}"),
            None => scope,
        };
        let (id, tool, component, covers) = (approval.id, approval.tool, approval.component, approval.covers);
        print_line(format_args!("{id}  {tool} of {component}, {scope}: {covers}"))?;
    }
    Ok(())
}

fn pending(store: &Approvals, is_json: bool) -> anyhow::Result<()> {
    let pending = of(store, Approvals::pending)?;
    if is_json {
        return print_json(&pending);
    }
    if pending.is_empty() {
        say(Label::Note, "no call waits for an approval");
    }
    for question in pending {
        print_question(&question)?;
    }
    Ok(())
}

fn print_question(question: &Pending) -> anyhow::Result<()> {
    let Pending { id, tool, component, digest, .. } = question;
    print_line(format_args!("{id}  {tool} of {component}, {digest}"))?;
    if let Some(session) = &question.session {
        print_line(format_args!("    session {session}"))?;
    }
    for reason in &question.reasons {
        print_line(format_args!("    since {reason}"))?;
    }
    print_line(format_args!("    {}", question.arguments))?;
    if question.is_cut {
        print_line("    (too long to be shown whole)")?;
    }
    if let Some(words) = &question.by_rule {
        print_line(format_args!("    --by-rule would allow {words}"))?;
    }
    Ok(())
}

fn allow(store: &Approvals, args: &AllowArgs) -> anyhow::Result<()> {
    let (answer, scope) = match args {
        AllowArgs { session: true, .. } => (Answer::Session, "for its session"),
        AllowArgs { always: true, .. } => (Answer::Always, "always"),
        AllowArgs { by_rule: true, .. } => (Answer::AlwaysByRule, "always, by rule"),
        _ => (Answer::Once, "once"),
    };
    let question = store.allow(&args.id, &answer)?;
    print_line(format_args!(
        "approved {scope}: {} of {} with {}",
        question.tool, question.component, question.arguments
    ))?;
    say(Label::Note, "the call did not run; make it again");
    Ok(())
}
