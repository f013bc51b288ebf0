//! What the shipped hooks take of the runtime: its sandbox, and a place among its cells.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::OwnedSemaphorePermit;

use super::Shared;
use crate::call::CallError;
use crate::hook::Host;
use crate::sandbox::Sandbox;

impl Host for Shared {
    fn sandbox(&self) -> &Arc<Sandbox> {
        &self.sandbox
    }

    fn admit(
        &self,
        deadline: Instant,
    ) -> Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, CallError>> + Send + '_>> {
        Box::pin(self.sandbox.entered(self.door.enter(deadline)))
    }
}
