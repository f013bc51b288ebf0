//! Approvals of the tools of other servers, as they are now.

use std::path::Path;

use anyhow::bail;
use toolcell::Runtime;

use crate::opened::Opened;
use crate::terminal::{Label, print_line, say};
use crate::toolset::Toolset;

/// What comes before the name of a server, and a tool of it, in place of an approval's identifier.
const PREFIX: &str = "mcp.";

/// A server of the configuration, and a tool of it or all.
pub(crate) struct Server<'a> {
    name: &'a str,
    tool: Option<&'a str>,
}

impl<'a> Server<'a> {
    /// What an identifier means, if it means a server.
    pub fn of(id: &'a str) -> Option<Self> {
        let named = id.strip_prefix(PREFIX)?;
        Some(match named.split_once('.') {
            Some((name, tool)) => Self { name, tool: Some(tool) },
            None => Self { name: named, tool: None },
        })
    }

    /// Approves what the server offers now, and shows it.
    pub fn allow(&self, config: Option<&Path>) -> anyhow::Result<()> {
        let runtime = self.runtime(config)?;
        let names = runtime.approve_remote(self.name, self.tool)?;
        if names.is_empty() {
            return self.nothing(&runtime);
        }
        for remote in runtime.remote_tools().into_iter().filter(|remote| names.contains(&remote.name)) {
            let (tool, name) = (&remote.tool, &remote.name);
            print_line(format_args!(
                "approved {PREFIX}{}.{name} as it is now: {}",
                self.name,
                tool.digest()
            ))?;
            for line in tool.description().lines() {
                print_line(format_args!("    {line}"))?;
            }
            print_line(format_args!("    takes {}", tool.input_schema()))?;
        }
        Ok(())
    }

    /// Approves it no longer.
    pub fn revoke(&self, config: Option<&Path>) -> anyhow::Result<()> {
        let runtime = self.runtime(config)?;
        let names = runtime.revoke_remote(self.name, self.tool)?;
        if names.is_empty() {
            return self.nothing(&runtime);
        }
        for name in names {
            print_line(format_args!("{PREFIX}{}.{name} is approved no longer", self.name))?;
        }
        Ok(())
    }

    fn runtime(&self, config: Option<&Path>) -> anyhow::Result<Opened> {
        let toolset = Toolset::of_config(config)?;
        let component = format!("{PREFIX}{}", self.name);
        if !toolset.config.mcp.iter().any(|server| server.name == self.name && server.enabled) {
            bail!("{} has no server `{component}` that is switched on", toolset.place());
        }
        Opened::of(toolset.builder().only(component))
    }

    fn nothing(&self, runtime: &Runtime) -> anyhow::Result<()> {
        runtime.warnings().iter().for_each(|warning| say(Label::Warning, warning));
        match self.tool {
            Some(tool) => bail!("the server `{PREFIX}{}` has no tool `{tool}`", self.name),
            None => bail!("the server `{PREFIX}{}` has no tools", self.name),
        }
    }
}
