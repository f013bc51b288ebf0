//! Memory for what waits to be written: a client that does not read makes its own requests wait, and the process never grow.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes that may wait for one client: two of the largest messages there are, as most wait for nobody.
pub(super) const OF_ONE: usize = 32 << 20;

/// Bytes that may wait for all clients of one server.
#[cfg(feature = "http")]
const OF_ALL: usize = 256 << 20;

/// Bytes below which a share is of no use.
#[cfg(feature = "http")]
const LEAST: usize = 1 << 20;

/// Bytes that are told apart: permits are counted in 32 bits, and nothing smaller matters.
const UNIT: usize = 1 << 10;

/// Large messages that one client has made for it at once: each takes as much again while it is written down.
const MAKING: usize = 2;

/// The memory of one client, whatever connections it has. A clone is the same.
#[derive(Debug, Clone)]
pub(super) struct Room {
    units: u32,
    free: Arc<Semaphore>,
    making: Arc<Semaphore>,
}

/// What a message takes up; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Space {
    _permit: OwnedSemaphorePermit,
}

impl Room {
    pub fn new(bytes: usize) -> Self {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX).max(1);
        let free = usize::try_from(units).unwrap_or(Semaphore::MAX_PERMITS);
        Self { units, free: Arc::new(Semaphore::new(free)), making: Arc::new(Semaphore::new(MAKING)) }
    }

    /// The share of one of so many clients, so that none of them has to wait for another.
    #[cfg(feature = "http")]
    pub fn share(of: usize) -> Self {
        Self::new((OF_ALL / of.max(1)).clamp(LEAST, OF_ONE))
    }

    /// Waits until a message of so many bytes may wait to be written. One that is larger than the room has all of it.
    pub async fn take(&self, bytes: usize) -> Option<Space> {
        let permit = Arc::clone(&self.free).acquire_many_owned(self.units_of(bytes)).await.ok()?;
        Some(Space { _permit: permit })
    }

    /// The same, unless it would have to wait.
    pub fn try_take(&self, bytes: usize) -> Option<Space> {
        let permit = Arc::clone(&self.free).try_acquire_many_owned(self.units_of(bytes)).ok()?;
        Some(Space { _permit: permit })
    }

    /// Waits until something large may be made, to be held until it waits to be written.
    pub async fn make(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.making).acquire_owned().await.ok()
    }

    /// Whether anything waits to be written, or is being written.
    pub fn is_used(&self) -> bool {
        self.free.available_permits() < usize::try_from(self.units).unwrap_or(Semaphore::MAX_PERMITS)
    }

    fn units_of(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX).clamp(1, self.units)
    }
}
