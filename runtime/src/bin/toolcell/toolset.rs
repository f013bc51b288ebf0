//! Which tools a command works with: those of a configuration, of components named for this run, or both.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use toolcell::config::{ComponentConfig, Config, Environment, How, Location, Reference};
use toolcell::limits::Origin;
use toolcell::output::OutputStore;
use toolcell::policy::{Approvals, Approver, HttpGrant, Pins, StateScope, TrustStore};
use toolcell::sandbox::{Allocation, Compiler};
use toolcell::{Access, DirGrant, Grant, Limit, Limits, Runtime, RuntimeBuilder, ToolComponent};

use crate::approver::approver;
use crate::opened::Opened;
use crate::terminal::{Label, say};

/// How long servers of other tools are waited for, where somebody waits for more than these.
const READY: Duration = Duration::from_secs(2);

/// The flags of every command that works with tools.
#[derive(Args)]
#[command(next_help_heading = "Tools")]
pub(crate) struct ToolsetArgs {
    /// Use this configuration instead of looking for one (as TOOLCELL_CONFIG does)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Use this component's tools (a file, a folder, or builtin:NAME); may be repeated. No configuration is looked
    /// for then
    #[arg(long, value_name = "FILE")]
    pub component: Vec<PathBuf>,
    /// Describe the --component by the WIT in this folder
    #[arg(long, value_name = "DIR")]
    pub wit: Option<PathBuf>,
    /// The world in that folder, where there are several
    #[arg(long, value_name = "NAME", requires = "wit")]
    pub world: Option<String>,
    /// Grant the --component a folder, for reading unless `::rw` follows; may be repeated
    #[arg(long = "dir", value_name = "HOST::GUEST[::rw]")]
    pub dirs: Vec<String>,
    /// Let the --component send requests over HTTP to an origin, as https://api.example.org, with `::ro` after it
    /// where requests only read; may be repeated
    #[arg(long, value_name = "ORIGIN[::ro]", value_parser = HttpGrant::from_flag)]
    pub allow_http: Vec<HttpGrant>,
    /// Give the --component an environment variable; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// Give the --component a value of wasi:config; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub config_value: Vec<String>,
    /// Let the --component keep values: none, call, session or persistent
    #[arg(long, value_name = "SCOPE")]
    pub state: Option<StateScope>,
    /// End a call after this time, as 500ms or 10s
    #[arg(long, value_name = "TIME", value_parser = |text: &str| Limit::Timeout.parse(text))]
    pub timeout: Option<u64>,
    /// Let a call use this much memory, as 64MiB
    #[arg(long, value_name = "SIZE", value_parser = |text: &str| Limit::Memory.parse(text))]
    pub memory: Option<u64>,
    /// Let a call burn this much fuel, as 10M or 5G; `off` leaves only the time
    #[arg(long, value_name = "UNITS", value_parser = |text: &str| Limit::Fuel.parse(text))]
    pub fuel: Option<u64>,
    /// Answer yes to every question about a call, instead of asking on the terminal; what is denied stays denied
    #[arg(long)]
    pub yes: bool,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// A configuration and components, read and restricted, but not loaded.
pub(crate) struct Toolset {
    pub environment: Environment,
    pub location: Option<Location>,
    pub config: Config,
    /// How many settings do not hold, since the configuration was found and is not trusted.
    pub inert: usize,
    /// Whether the configuration was named, is the user's own, or is trusted as it is.
    pub is_trusted: bool,
    pub components: Vec<ToolComponent>,
    pub over: Limits,
    /// Who is asked about calls.
    approver: Option<Arc<dyn Approver>>,
}

impl ToolsetArgs {
    /// Reads what the flags name. What does not hold for want of trust is told on standard error.
    pub fn open(&self) -> anyhow::Result<Toolset> {
        let environment = Environment::of_process()?;
        let components = self.components(&environment)?;
        let location = match (&self.config, components.is_empty()) {
            (None, false) => None,
            (named, _) => environment.locate(named.as_deref())?,
        };
        if location.is_none() && components.is_empty() {
            bail!(
                "there is no toolcell.toml here or above; `toolcell init` writes one, or name a component with \
                 --component"
            );
        }
        let (config, inert) = match &location {
            Some(location) => narrowed(location, &environment)?,
            None => (Config::default(), None),
        };
        let is_trusted = location.is_some() && inert.is_none();
        Ok(Toolset {
            environment,
            location,
            config,
            inert: inert.unwrap_or_default(),
            is_trusted,
            components,
            over: self.limits(),
            approver: approver(self),
        })
    }

    /// The WIT that flags name: its folder, and the world in there.
    pub fn wit(&self) -> Option<(&Path, Option<&str>)> {
        self.wit.as_deref().map(|folder| (folder, self.world.as_deref()))
    }

    /// The limits that flags set.
    pub fn limits(&self) -> Limits {
        let flags = [(Limit::Timeout, self.timeout), (Limit::Memory, self.memory), (Limit::Fuel, self.fuel)];
        flags.into_iter().fold(Limits::new(), |limits, (limit, value)| match value {
            Some(value) => limits.with_origin(limit, value, Origin::setting(format!("--{}", limit.name()))),
            None => limits,
        })
    }

    fn components(&self, environment: &Environment) -> anyhow::Result<Vec<ToolComponent>> {
        let given = [
            ("--wit", self.wit.is_some()),
            ("--dir", !self.dirs.is_empty()),
            ("--allow-http", !self.allow_http.is_empty()),
            ("--env", !self.env.is_empty()),
            ("--config-value", !self.config_value.is_empty()),
            ("--state", self.state.is_some()),
        ];
        if let (Some((flag, _)), true) = (given.iter().find(|(_, given)| *given), self.component.is_empty()) {
            bail!(
                "{flag} is for a component that --component names; for one of the configuration, write it in \
                 toolcell.toml, or name it here as well (--component builtin:files)"
            );
        }
        if self.wit.is_some() && self.component.len() > 1 {
            bail!("--wit describes one component, and there are {}", self.component.len());
        }
        let grant = self.grant(environment)?;
        let component = |path: &PathBuf| -> anyhow::Result<ToolComponent> {
            let mut component = match path.to_str().and_then(|path| path.strip_prefix("builtin:")) {
                Some(name) => ToolComponent::builtin(name),
                None => {
                    refuse_reference(path)?;
                    let absolute = environment.working_directory.join(path);
                    absolute
                        .metadata()
                        .with_context(|| format!("cannot find the component {}", path.display()))?;
                    ToolComponent::file(absolute)
                }
            };
            if let Some(wit) = &self.wit {
                component = component.wit(environment.working_directory.join(wit));
            }
            if let Some(world) = &self.world {
                component = component.world(world);
            }
            Ok(component.named_by_flag("--component").grant(grant.clone()))
        };
        self.component.iter().map(component).collect()
    }

    fn grant(&self, environment: &Environment) -> anyhow::Result<Grant> {
        let mut grant = Grant::none();
        for dir in &self.dirs {
            grant = grant.dir_grant(dir_grant(dir, environment)?);
        }
        for entry in &self.allow_http {
            grant = grant.http(entry.clone());
        }
        for variable in &self.env {
            let (name, value) = name_and_value("--env", variable)?;
            if grant.env.contains_key(name) {
                bail!("--env sets `{name}` twice");
            }
            grant = grant.env(name, value);
        }
        for entry in &self.config_value {
            let (name, value) = name_and_value("--config-value", entry)?;
            if grant.config.contains_key(name) {
                bail!("--config-value sets `{name}` twice");
            }
            grant = grant.config(name, value);
        }
        Ok(grant.state(self.state.unwrap_or_default()))
    }
}

/// The configuration at `location`, narrowed if it was only found.
pub(crate) fn read(location: &Location, environment: &Environment) -> anyhow::Result<Config> {
    Ok(narrowed(location, environment)?.0)
}

/// The same, and how many of its settings do not hold where it is not trusted.
fn narrowed(location: &Location, environment: &Environment) -> anyhow::Result<(Config, Option<usize>)> {
    let mut config = Config::load(location, environment)?;
    if is_trusted(location, &config, environment) {
        return Ok((config, None));
    }
    let inert = config.restrict_untrusted();
    inert.iter().for_each(|inert| say(Label::Warning, inert));
    Ok((config, Some(inert.len())))
}

/// Whether the configuration holds as it is. A damaged list of what is trusted is told and trusts nothing.
pub(crate) fn is_trusted(location: &Location, config: &Config, environment: &Environment) -> bool {
    location.how != How::Found
        || location.is_trusted(config, &TrustStore::at(environment.folders.trust())).unwrap_or_else(|error| {
            say(Label::Warning, error);
            false
        })
}

/// Refuses what is a component of a registry: nothing is fetched for a call.
pub(crate) fn refuse_reference(path: &Path) -> anyhow::Result<()> {
    match path.to_str().is_some_and(Reference::is_meant) {
        true => bail!(
            "{}: `toolcell add` takes components from registries, shows what they are, and locks them",
            path.display()
        ),
        false => Ok(()),
    }
}

/// Reads `HOST::GUEST`, `HOST::GUEST::rw` or `HOST::GUEST::ro`.
pub(crate) fn dir_grant(written: &str, environment: &Environment) -> anyhow::Result<DirGrant> {
    let parts: Vec<&str> = written.split("::").collect();
    let (host, guest, access) = match parts.as_slice() {
        [host, guest] | [host, guest, "ro"] => (*host, *guest, Access::Read),
        [host, guest, "rw"] => (*host, *guest, Access::ReadWrite),
        _ => bail!(
            "--dir `{written}`: write HOST::GUEST for reading, HOST::GUEST::rw for writing too, as in .::/work"
        ),
    };
    if host.is_empty() {
        bail!("--dir `{written}`: the host's folder is empty; `.` is this one");
    }
    let path = environment.working_directory.join(host);
    let path = path.canonicalize().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound if host.starts_with('~') => anyhow::anyhow!(
            "--dir `{written}`: `~` was not expanded by the shell here; write `--dir ~/…` or $HOME"
        ),
        std::io::ErrorKind::NotFound => {
            anyhow::anyhow!(
                "--dir `{written}`: the folder `{host}` does not exist; create it, or correct the path"
            )
        }
        std::io::ErrorKind::NotADirectory => not_a_folder(written, host),
        _ => anyhow::anyhow!("--dir `{written}`: cannot use the folder `{host}`: {error}"),
    })?;
    if !path.is_dir() {
        return Err(not_a_folder(written, host));
    }
    let guest = if guest.len() > 1 { guest.trim_end_matches('/') } else { guest };
    if !guest.starts_with('/') {
        bail!("--dir `{written}`: the guest's path must be absolute, as in .::/work");
    }
    Ok(DirGrant::new(path, guest, access))
}

fn not_a_folder(written: &str, host: &str) -> anyhow::Error {
    anyhow::anyhow!("--dir `{written}`: `{host}` is not a folder; grant the folder that it is in")
}

/// Splits `NAME=VALUE`; the value may be empty and may have more equals signs.
pub(crate) fn name_and_value<'a>(flag: &str, written: &'a str) -> anyhow::Result<(&'a str, &'a str)> {
    match written.split_once('=') {
        Some((name, value)) if !name.is_empty() && !written.contains('\0') => Ok((name, value)),
        _ => {
            bail!("{flag} `{written}`: write NAME=VALUE; values of this process are never passed on by name")
        }
    }
}

impl Toolset {
    /// The configuration that is named, or found, alone.
    pub fn of_config(named: Option<&Path>) -> anyhow::Result<Self> {
        let environment = Environment::of_process()?;
        let location = environment.locate(named)?;
        let Some(found) = &location else { bail!("there is no toolcell.toml here or above") };
        let (config, inert) = narrowed(found, &environment)?;
        Ok(Self {
            environment,
            location,
            config,
            is_trusted: inert.is_none(),
            inert: inert.unwrap_or_default(),
            components: Vec::new(),
            over: Limits::new(),
            approver: None,
        })
    }

    /// A builder of the runtime of one short command.
    pub fn builder(&self) -> RuntimeBuilder {
        let folders = &self.environment.folders;
        let outputs = OutputStore::in_folder(folders.outputs()).unwrap_or_else(|error| {
            say(Label::Warning, format_args!("full outputs are not kept: {error}"));
            OutputStore::in_memory()
        });
        let builder = Runtime::builder()
            .config(self.config.clone())
            .override_limits(self.over.clone())
            .allocation(Allocation::OnDemand)
            .cache(folders.compiled())
            .outputs(outputs)
            .approvals(Approvals::folder(folders.approvals()))
            .pins(Pins::file(folders.pins()))
            .folders(folders.clone());
        let builder = match &self.approver {
            Some(approver) => builder.shared_approver(Arc::clone(approver)),
            None => builder,
        };
        let builder = match std::env::current_exe() {
            Ok(program) => builder.compiler(Compiler::Child { program }),
            Err(_) => builder,
        };
        self.components.iter().cloned().fold(builder, RuntimeBuilder::component)
    }

    /// A builder of the runtime of one that is waited for: tools of other servers that take long come later.
    pub fn prompt_builder(&self) -> RuntimeBuilder {
        self.builder().await_servers(READY)
    }

    /// The runtime with every tool.
    pub fn runtime(&self) -> anyhow::Result<Opened> {
        Opened::of(self.builder())
    }

    /// The settings of every component of the configuration that is switched on.
    pub fn enabled(&self) -> impl Iterator<Item = &ComponentConfig> {
        self.config.components.iter().filter(|component| component.enabled)
    }

    /// Says where tools come from, for messages.
    pub fn place(&self) -> String {
        match &self.location {
            Some(location) => location.label.clone(),
            None => "--component".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    #[test]
    fn a_folder_is_granted_as_it_is_written() {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::create_dir(scratch.path().join("in")).unwrap();
        std::fs::write(scratch.path().join("file"), "").unwrap();
        let folders = toolcell::config::Folders::under(&scratch.path().join("home"));
        let environment = Environment::new(scratch.path(), folders);
        for (written, guest, access) in [
            (".::/work", "/work", Access::Read),
            ("in/::/a/b/", "/a/b", Access::Read),
            ("in::/w::ro", "/w", Access::Read),
            ("in::/::rw", "/", Access::ReadWrite),
        ] {
            let grant = dir_grant(written, &environment).unwrap();
            assert_eq!((grant.guest.as_str(), grant.access), (guest, access), "{written}");
        }
        for (written, told) in [
            ("", "write HOST::GUEST"),
            ("in", "write HOST::GUEST"),
            ("in:/work", "write HOST::GUEST"),
            ("in::/work::x", "write HOST::GUEST"),
            ("in::/a::rw::rw", "write HOST::GUEST"),
            ("::/work", "is empty"),
            ("in::work", "must be absolute"),
            ("in::", "must be absolute"),
            ("gone::/work", "does not exist"),
            ("~/x::/work", "not expanded"),
            ("file::/work", "not a folder"),
            ("file/x::/work", "not a folder"),
        ] {
            let error = dir_grant(written, &environment).unwrap_err().to_string();
            assert!(error.contains(told), "{written}: {error}");
        }
    }

    #[test]
    fn a_value_may_be_empty_and_a_name_may_not() {
        assert_eq!(name_and_value("--env", "A=").unwrap(), ("A", ""));
        assert_eq!(name_and_value("--env", "A=b=c").unwrap(), ("A", "b=c"));
        for wrong in ["A", "", "=b"] {
            assert!(name_and_value("--env", wrong).is_err(), "{wrong}");
        }
    }
}
