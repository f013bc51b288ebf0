//! `toolcell trust`

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use toolcell::config::{Config, Environment, How, ensure_private};
use toolcell::policy::TrustStore;

use crate::terminal::{Label, print_line, say};

#[derive(Args)]
pub(crate) struct TrustArgs {
    /// Trust it no longer
    #[arg(long)]
    revoke: bool,
    /// The configuration, instead of the one that is found
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(crate) fn run(args: &TrustArgs) -> anyhow::Result<ExitCode> {
    let environment = Environment::of_process()?;
    let folders = &environment.folders;
    let store = TrustStore::at(folders.trust());
    let location = match environment.locate(args.config.as_deref()) {
        Ok(Some(location)) => location,
        Ok(None) => bail!("there is no toolcell.toml here or above"),
        // Trust in a file that is gone can still be taken back.
        Err(_) if args.revoke && args.config.is_some() => {
            let path = environment.working_directory.join(args.config.as_deref().unwrap_or("".as_ref()));
            ensure_private(&folders.data)?;
            return revoke(&store, &path, &path.display().to_string());
        }
        Err(error) => return Err(error.into()),
    };
    ensure_private(&folders.data)?;
    if args.revoke {
        return revoke(&store, &location.path, &location.label);
    }
    if location.how == How::User {
        say(Label::Note, "this is your own configuration, which always holds");
    }
    let mut config = Config::load(&location, &environment)?;
    let digest = config.content().context("the configuration was not read from a file")?;
    store.add(&location.path, digest)?;
    print_line(format_args!(
        "trusted {} as it is now ({digest}); any change of it, or of what its hooks run, ends that",
        location.label
    ))?;
    for inert in config.restrict_untrusted() {
        let at = inert.at.map(|at| format!("{at}: ")).unwrap_or_default();
        print_line(format_args!("  {at}`{}` holds now", inert.setting))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn revoke(store: &TrustStore, path: &std::path::Path, label: &str) -> anyhow::Result<ExitCode> {
    if store.revoke(path)? {
        print_line(format_args!("{label} is trusted no longer"))?;
    } else {
        print_line(format_args!("{label} was not trusted"))?;
    }
    Ok(ExitCode::SUCCESS)
}
