//! Components of registries: asked for, looked at, and kept.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use toolcell::config::{Environment, Locked, Reference, StoredComponents};
use toolcell::oci::{Access, Client, docker_config};

use crate::inspected::{Checked, Terms, check_bytes};
use crate::ready::block_on;

/// How registries are reached.
#[derive(Args)]
#[command(next_help_heading = "Registries")]
pub(crate) struct RegistryArgs {
    /// Ask the registry without TLS, in a private network alone; one on this host is asked so without this
    #[arg(long)]
    plain_http: bool,
    /// Trust the certificates in this PEM file too
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

impl RegistryArgs {
    /// Whether something is said of registries.
    pub fn are_given(&self) -> bool {
        self.plain_http || self.ca.is_some()
    }
}

/// Takes components from registries.
pub(crate) struct Puller {
    client: Client,
    stored: StoredComponents,
}

impl Puller {
    pub fn new(args: &RegistryArgs, environment: &Environment) -> anyhow::Result<Self> {
        let file = docker_config(std::env::var_os("DOCKER_CONFIG"), environment.home.as_deref());
        let ca = args.ca.as_ref().map(|file| environment.working_directory.join(file));
        let access = Access::default().docker_config(file).plain_http(args.plain_http).ca(ca);
        let stored = StoredComponents::at(environment.folders.components());
        Ok(Self { client: Client::new(access)?, stored })
    }

    /// What a reference means in its registry now.
    pub fn resolve(&self, reference: &Reference) -> anyhow::Result<Locked> {
        Ok(block_on(self.client.resolve(reference))??)
    }

    /// Keeps what is locked, fetched where it is not kept yet. What is no component is not.
    pub fn take(&self, locked: &Locked) -> anyhow::Result<Checked> {
        let is_kept = self.stored.has(&locked.digest);
        let bytes = match is_kept {
            true => std::fs::read(self.stored.file(&locked.digest))?,
            false => block_on(self.client.fetch(locked))??,
        };
        let mut checked = check_bytes(locked.reference.to_string(), &bytes, &Terms::default());
        if !checked.errors.is_empty() {
            bail!("{}: {}", locked.reference, checked.errors.join("; "));
        }
        if !is_kept {
            self.stored.put(&bytes)?;
        }
        checked.from = Some(locked.clone());
        Ok(checked)
    }
}
