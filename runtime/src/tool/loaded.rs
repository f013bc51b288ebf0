//! A component that is loaded: compiled when it is first called.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::OnceCell;
use toolcell_package::{Package, PackageError, append};

use super::Owner;
use super::inspect::Footprint;
use crate::error::{Error, Result};
use crate::policy::Deterministic;
use crate::sandbox::{Allocation, Meter, Prepared, Sandbox};
use crate::telemetry;

/// A component that is ready to be compiled, and once it is, to be called.
pub(crate) struct LoadedComponent {
    pub owner: Arc<Owner>,
    pub env: Arc<BTreeMap<String, String>>,
    pub config: Arc<BTreeMap<String, String>>,
    /// The same with the secrets that it may read: for calls alone.
    pub config_of_calls: Arc<BTreeMap<String, String>>,
    /// A mark of the values of its secrets.
    pub secrets: u64,
    /// Whether it imports nothing by which two equal calls could differ.
    pub is_self_contained: bool,
    /// What one instance of it begins with.
    pub footprint: Footprint,
    /// The setting by which it may keep values.
    pub state_setting: Arc<str>,
    /// Time and chance of its calls, where they are not the host's.
    pub deterministic: Option<Deterministic>,
    /// The flag that named it, where one did.
    pub flag: Option<Arc<str>>,
    pub bytes: Arc<Cow<'static, [u8]>>,
    /// What describes it in the place of its own section, where its WIT was named.
    pub(super) described: Option<Package>,
    pub(super) fuel: OnceCell<Arc<Prepared>>,
    pub(super) epoch: OnceCell<Arc<Prepared>>,
}

impl LoadedComponent {
    /// The component as one file that is all there is to know of it.
    ///
    /// # Errors
    /// When its description is too large for that.
    pub fn whole(&self) -> Result<Cow<'_, [u8]>, PackageError> {
        match &self.described {
            None => Ok(Cow::Borrowed(&self.bytes)),
            Some(package) => append(&self.bytes, package).map(Cow::Owned),
        }
    }

    /// The component's native code for `meter`, if it was needed before.
    pub fn prepared_before(&self, meter: Meter) -> Option<Arc<Prepared>> {
        self.slot(meter).get().map(Arc::clone)
    }

    fn slot(&self, meter: Meter) -> &OnceCell<Arc<Prepared>> {
        match meter {
            Meter::Fuel => &self.fuel,
            Meter::Epoch => &self.epoch,
        }
    }

    /// The component's native code for `meter`, compiled when first needed and only once, on a thread that may
    /// wait: other calls go on.
    pub async fn prepared(self: &Arc<Self>, sandbox: &Arc<Sandbox>, meter: Meter) -> Result<Arc<Prepared>> {
        let prepared = self.slot(meter).get_or_try_init(|| async {
            let (begun, span) = (Instant::now(), telemetry::compile(&self.owner.name));
            // A program of one call has no other that could wait for the file, and is ended before a thread is made.
            let owner = &self.owner;
            if sandbox.settings().allocation == Allocation::OnDemand
                && let Some(prepared) = sandbox.prepare_cached(&owner.name, &owner.digest, meter)?
            {
                telemetry::compiled(&span, true, begun.elapsed());
                return Ok(Arc::new(prepared));
            }
            let (component, preparing) = (Arc::clone(self), Arc::clone(sandbox));
            let prepare = move || {
                let owner = &component.owner;
                match preparing.prepare_cached(&owner.name, &owner.digest, meter)? {
                    Some(prepared) => Ok((prepared, true)),
                    None => {
                        let bytes = component.bytes.as_ref();
                        Ok((preparing.prepare_anew(&owner.name, bytes, &owner.digest, meter)?, false))
                    }
                }
            };
            match sandbox.handle().spawn_blocking(prepare).await {
                Ok(Ok((prepared, cached))) => {
                    telemetry::compiled(&span, cached, begun.elapsed());
                    Ok(Arc::new(prepared))
                }
                Ok(Err(error)) => Err(error),
                Err(_) => Err(Error::component(self.owner.name.as_str(), "the compiler failed on it")),
            }
        });
        prepared.await.map(Arc::clone)
    }
}
