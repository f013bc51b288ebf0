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

/// The runtime that a hook belongs to. Only the shipped hooks ask it for something.
#[derive(Clone)]
pub struct HostHandle(Arc<dyn Host>);

impl HostHandle {
    pub(crate) fn new(host: Arc<impl Host + 'static>) -> Self {
        Self(host)
    }

    /// Where cells run and timers are made.
    pub(crate) fn sandbox(&self) -> &Arc<Sandbox> {
        self.0.sandbox()
    }

    /// A place for a cell, at the latest at `deadline`; `busy` without.
    pub(crate) async fn admit(&self, deadline: Instant) -> Result<OwnedSemaphorePermit, CallError> {
        self.0.admit(deadline).await
    }
}

impl std::fmt::Debug for HostHandle {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("the runtime")
    }
}
