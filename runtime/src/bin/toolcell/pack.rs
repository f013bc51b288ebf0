//! `toolcell pack`: puts the documentation of a folder of WIT into a component.

use std::io::{Write as _, stderr};
use std::path::PathBuf;
use std::process::ExitCode;

use toolcell_package::Packing;

/// Puts a component's documentation and hints, which its binary has lost, back beside its code.
#[derive(Debug, clap::Args)]
pub(crate) struct PackArgs {
    /// The component.
    #[arg(value_name = "IN.wasm")]
    input: PathBuf,
    /// The folder of WIT, with its deps, that it was built from.
    #[arg(long, value_name = "DIR")]
    wit: PathBuf,
    /// The world that it was built for; needed where the WIT has several.
    #[arg(long)]
    world: Option<String>,
    /// Where the packed component goes; may be the same file.
    #[arg(short, long, value_name = "OUT.wasm")]
    output: PathBuf,
}

pub(crate) fn run(args: PackArgs) -> anyhow::Result<ExitCode> {
    let PackArgs { input, wit, world, output } = &args;
    pack(&Packing { input, wit, world: world.as_deref(), output })?;
    Ok(ExitCode::SUCCESS)
}

/// Packs, and warns of everything that a model would be told nothing about.
pub(crate) fn pack(packing: &Packing<'_>) -> anyhow::Result<()> {
    let undescribed = packing.run()?;
    let mut stderr = stderr().lock();
    for undescribed in undescribed {
        writeln!(stderr, "warning: {undescribed}")?;
    }
    Ok(())
}
