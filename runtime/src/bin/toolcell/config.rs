//! `toolcell config`

use std::process::ExitCode;

use clap::{Args, Subcommand};
use toolcell::Limits;
use toolcell::config::schema;

use crate::terminal::{print, print_json};
use crate::toolset::ToolsetArgs;

#[derive(Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Show the configuration that holds, with every default and where each value was set
    Show {
        #[command(flatten)]
        tools: Box<ToolsetArgs>,
    },
    /// Print the JSON Schema of toolcell.toml
    Schema,
}

impl ConfigArgs {
    pub fn is_json(&self) -> bool {
        matches!(&self.verb, Verb::Show { tools } if tools.json)
    }
}

pub(crate) fn run(args: &ConfigArgs) -> anyhow::Result<ExitCode> {
    match &args.verb {
        Verb::Schema => print_json(&schema())?,
        Verb::Show { tools } => {
            let toolset = tools.open()?;
            let mut config = toolset.config.clone();
            config.components.extend(toolset.components.iter().map(|component| component.config().clone()));
            // Flags are above every scope.
            for (limit, value, origin) in tools.limits().iter() {
                let set = |limits: &mut Limits| {
                    *limits = std::mem::take(limits).with_origin(limit, value, origin.clone());
                };
                set(&mut config.limits);
                for component in &mut config.components {
                    set(&mut component.limits);
                    component.tool_settings.values_mut().for_each(|tool| set(&mut tool.limits));
                }
            }
            if tools.json {
                print_json(&config.show())?;
            } else {
                print(config.show_text())?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
