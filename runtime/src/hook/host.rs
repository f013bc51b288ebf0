//! What the shipped hooks need of the runtime that runs them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::OwnedSemaphorePermit;

use crate::call::CallError;
use crate::sandbox::Sandbox;

/// The runtime as its hooks use it.
pub(crate) trait Host: Send + Sync {
    /// Where cells run and timers are made.
    fn sandbox(&self) -> &Arc<Sandbox>;

    /// A place for a cell, at the latest at `deadline`; `busy` without.
    fn admit(
        &self,
        deadline: Instant,
    ) -> Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, CallError>> + Send + '_>>;
}

/// The host, where a call carries it along.
#[derive(Clone)]
pub(crate) struct HostHandle(Arc<dyn Host>);

impl HostHandle {
    pub fn new(host: Arc<impl Host + 'static>) -> Self {
        Self(host)
    }
}

impl std::ops::Deref for HostHandle {
    type Target = dyn Host;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl std::fmt::Debug for HostHandle {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("the runtime")
    }
}
