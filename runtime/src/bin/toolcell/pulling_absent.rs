//! Components of registries, where there is no client for these.

use anyhow::bail;
use clap::Args;
use toolcell::config::{Environment, Locked, Reference};

use crate::inspected::Checked;

const ABSENT: &str = "this toolcell was built without the feature `oci`, and asks no registry";

/// How registries are reached.
#[derive(Args)]
pub(crate) struct RegistryArgs {}

impl RegistryArgs {
    /// Whether something is said of registries.
    pub fn are_given(&self) -> bool {
        false
    }
}

/// Takes components from registries: there is none.
pub(crate) struct Puller(());

impl Puller {
    pub fn new(_: &RegistryArgs, _: &Environment) -> anyhow::Result<Self> {
        bail!(ABSENT)
    }

    pub fn resolve(&self, _: &Reference) -> anyhow::Result<Locked> {
        bail!(ABSENT)
    }

    pub fn take(&self, _: &Locked) -> anyhow::Result<Checked> {
        bail!(ABSENT)
    }
}
