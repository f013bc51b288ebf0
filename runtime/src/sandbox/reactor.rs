//! The runtime's own timers. Calls are polled by whoever awaits them, under any executor or none; only what waits for
//! time, for a program or for a blocking operation is driven from here.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

use crate::error::{Error, Result};

/// A tokio runtime of one thread, which is shut down without waiting, wherever its owner is dropped.
pub(crate) struct Reactor {
    runtime: Option<tokio::runtime::Runtime>,
    handle: Handle,
}

impl Reactor {
    pub fn new() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("toolcell-timer")
            .enable_time()
            .enable_io()
            .build()
            .map_err(|error| Error::Sandbox { message: format!("cannot start the timer thread: {error}") })?;
        let handle = runtime.handle().clone();
        Ok(Self { runtime: Some(runtime), handle })
    }

    pub fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for Reactor {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A future on the heap, made where it stays: `Box::pin` makes it on the stack and copies all of it, the room for what it
/// will need included.
#[inline(always)]
pub(crate) fn in_place<F>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::into_pin(Box::write(Box::new_uninit(), make()))
}

pin_project_lite::pin_project! {
    /// Polls a future with the runtime's timers in reach, whatever executor polls it.
    pub(crate) struct Entered<F> {
        handle: Handle,
        #[pin]
        future: F,
    }
}

impl<F: Future> Entered<F> {
    pub fn new(handle: Handle, future: F) -> Self {
        Self { handle, future }
    }
}

impl<F: Future> Future for Entered<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _entered = this.handle.enter();
        this.future.poll(context)
    }
}
