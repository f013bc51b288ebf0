//! What all requests of one runtime have in common: the thread that drives their connections, look-ups of names, and how
//! many of them there may be.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

use super::lookup::Lookups;
use super::resolve::Resolver;

/// Requests of all calls that are under way at once, until their responses are read: each holds a socket, and many hosts
/// let a process have 1024 descriptors.
const MAX_REQUESTS: usize = 256;

/// Connections of all components that are kept open without a request.
const MAX_IDLE: usize = 64;

/// The network as one runtime uses it.
pub(crate) struct Network {
    lookups: Arc<Lookups>,
    requests: Arc<Semaphore>,
    idle: Arc<Semaphore>,
    /// Made when it is first needed.
    runtime: Mutex<Option<Runtime>>,
}

impl Network {
    /// One in which names are found by `resolver`.
    pub fn new(resolver: Arc<dyn Resolver>) -> Self {
        Self {
            lookups: Arc::new(Lookups::new(resolver)),
            requests: Arc::new(Semaphore::new(MAX_REQUESTS)),
            idle: Arc::new(Semaphore::new(MAX_IDLE)),
            runtime: Mutex::default(),
        }
    }

    pub(super) fn lookups(&self) -> &Arc<Lookups> {
        &self.lookups
    }

    /// Places for connections without a request.
    pub(super) fn idle(&self) -> &Arc<Semaphore> {
        &self.idle
    }

    /// A place among all requests, until it is dropped; none where there is no more room.
    pub fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.requests).try_acquire_owned().ok()
    }

    /// What drives connections: a thread of their own, since whatever a server sends is looked at on it, and no timer
    /// may wait for that.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn handle(&self) -> io::Result<Handle> {
        let mut runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(runtime) = &*runtime {
            return Ok(runtime.handle().clone());
        }
        let made = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("toolcell-http")
            .enable_time()
            .enable_io()
            .build()?;
        Ok(runtime.insert(made).handle().clone())
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let runtime = self.runtime.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(runtime) = runtime {
            runtime.shutdown_background();
        }
    }
}

/// A task that ends with whoever waits for it.
pub(crate) struct Task<T>(JoinHandle<T>);

impl<T: Send + 'static> Task<T> {
    pub fn spawn(handle: &Handle, future: impl Future<Output = T> + Send + 'static) -> Self {
        Self(handle.spawn(future))
    }

    /// What it gives.
    ///
    /// # Errors
    /// When its runtime is gone, or it panicked.
    pub async fn end(mut self) -> io::Result<T> {
        (&mut self.0).await.map_err(io::Error::other)
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::super::resolve::SystemResolver;
    use super::*;

    #[test]
    fn requests_have_places_and_no_more() {
        let network = Network::new(Arc::new(SystemResolver));
        let places: Vec<_> = std::iter::from_fn(|| network.place()).take(MAX_REQUESTS + 1).collect();
        assert_eq!((places.len(), network.place().is_none()), (MAX_REQUESTS, true));
        drop(places);
        assert!(network.place().is_some());
    }

    #[tokio::test]
    async fn it_is_dropped_wherever_its_owner_is() {
        let network = Network::new(Arc::new(SystemResolver));
        let handle = network.handle();
        assert!(handle.is_ok() && network.handle().is_ok());
        drop(network);
    }
}
