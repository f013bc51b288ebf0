//! `toolcell state`

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;
use toolcell::config::Environment;
use toolcell::kept::{Cleared, KeptScope, StateFolder};

use crate::terminal::{Label, counted, print_json, print_line, say};

#[derive(Args)]
pub(crate) struct StateArgs {
    #[command(subcommand)]
    verb: Verb,
    /// Print one JSON document and nothing else
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Subcommand)]
enum Verb {
    /// List what each component keeps, by session or for good
    List,
    /// Remove what a component keeps; calls that run meanwhile go on with nothing
    Clear(ClearArgs),
}

#[derive(Args)]
struct ClearArgs {
    /// The component, as the list names it
    #[arg(required_unless_present = "all")]
    component: Option<String>,
    /// Only what it keeps for this session
    #[arg(long, value_name = "NAME", requires = "component")]
    session: Option<String>,
    /// What all components keep
    #[arg(long, conflicts_with = "component")]
    all: bool,
}

pub(crate) fn run(args: &StateArgs) -> anyhow::Result<ExitCode> {
    let folder = StateFolder::at(Environment::of_process()?.folders.kept());
    match &args.verb {
        Verb::List => list(&folder, args.json),
        Verb::Clear(clear) => {
            let mut removed = Removed::default();
            match &clear.component {
                Some(component) => removed.add(component, folder.clear(component, clear.session.as_deref())?),
                None => removed.add_all(&folder)?,
            }
            removed.tell(args.json)
        }
    }
}

/// What was removed, and what could not be.
#[derive(Default)]
struct Removed {
    scopes: Vec<KeptScope>,
    unreadable: Vec<String>,
    problems: Vec<String>,
}

impl Removed {
    fn add(&mut self, component: &str, cleared: Cleared) {
        self.scopes.extend(cleared.scopes);
        let unreadable = |why| {
            format!("nothing could be removed out of what `{component}` kept ({why}): its whole file is")
        };
        self.unreadable.extend(cleared.unreadable.map(unreadable));
    }

    fn add_all(&mut self, folder: &StateFolder) -> anyhow::Result<()> {
        for component in folder.components()? {
            match folder.clear(&component, None) {
                Ok(cleared) => self.add(&component, cleared),
                Err(error) => self.problems.push(error.to_string()),
            }
        }
        Ok(())
    }

    fn tell(&self, is_json: bool) -> anyhow::Result<ExitCode> {
        let Self { scopes, unreadable, problems } = self;
        if is_json {
            print_json(&json!({ "removed": scopes, "unreadable": unreadable, "problems": problems }))?;
        } else {
            unreadable.iter().chain(problems).for_each(|told| say(Label::Warning, told));
            print_line(format_args!("removed {}", total(scopes)))?;
        }
        Ok(ended(problems))
    }
}

/// Fails, after everything that could be done, if something could not.
fn ended(problems: &[String]) -> ExitCode {
    if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn listed(folder: &StateFolder) -> anyhow::Result<(Vec<KeptScope>, Vec<String>)> {
    let (kept, problems): (Vec<_>, Vec<_>) = folder.list()?.into_iter().partition(Result::is_ok);
    let problems = problems.into_iter().filter_map(Result::err).map(|error| error.to_string());
    Ok((kept.into_iter().flatten().collect(), problems.collect()))
}

fn list(folder: &StateFolder, is_json: bool) -> anyhow::Result<ExitCode> {
    let (kept, problems) = listed(folder)?;
    if is_json {
        print_json(&json!({ "path": folder.path(), "kept": kept, "problems": problems }))?;
    } else {
        for KeptScope { component, session, values, bytes, .. } in &kept {
            // As JSON writes it: others choose the names of sessions, and one with a line break would be a line of its own.
            let scope = session
                .as_ref()
                .map_or("persistent".to_owned(), |session| format!("session {}", json!(session)));
            let values = counted(usize::try_from(*values).unwrap_or(usize::MAX), "value");
            print_line(format_args!("{component}, {scope}: {values}, {bytes} bytes"))?;
        }
        problems.iter().for_each(|problem| say(Label::Warning, problem));
        print_line(format_args!("{} in {}", total(&kept), folder.path().display()))?;
    }
    Ok(ended(&problems))
}

fn total(kept: &[KeptScope]) -> String {
    let sum = |part: fn(&KeptScope) -> u64| kept.iter().map(part).fold(0_u64, u64::saturating_add);
    let values = usize::try_from(sum(|kept| kept.values)).unwrap_or(usize::MAX);
    format!("{}, {} bytes", counted(values, "value"), sum(|kept| kept.bytes))
}
