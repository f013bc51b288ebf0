//! Memory for what waits to be written: a client that does not read makes its own requests wait, and the process never grow.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes that may wait for one client: two of the largest messages there are, as most wait for nobody.
pub(super) const OF_ONE: usize = 32 << 20;

/// Bytes of large messages of one client that may be worked on at once: twice the largest that there is.
pub(super) const ARRIVING: usize = 64 << 20;

/// Bytes up to which a message is not counted, so that an answer for which a call waits always comes through.
const SMALL: usize = 64 << 10;

/// Bytes that are taken at least for what still comes.
const STEP: usize = 1 << 20;

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

/// What a message takes up that is coming or has come, until what it asks for is done.
#[derive(Debug)]
pub(super) struct Arrival {
    room: Room,
    bytes: usize,
    spaces: Vec<Space>,
}

impl Arrival {
    /// A message of which nothing has come yet.
    pub fn in_room(room: &Room) -> Self {
        Self { room: room.clone(), bytes: 0, spaces: Vec::new() }
    }

    /// Whether there is room for so many bytes of it.
    pub fn has_come(&mut self, bytes: usize) -> bool {
        if bytes <= SMALL.max(self.bytes) {
            return true;
        }
        let more = (bytes - self.bytes).max(STEP);
        let Some(space) = self.room.try_take(more) else { return false };
        self.spaces.push(space);
        self.bytes += more;
        true
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_messages_share_a_room_and_small_ones_always_come() {
        let room = Room::new(ARRIVING);
        let mut large = Arrival::in_room(&room);
        // As it comes, in pieces.
        assert!((1..=48).all(|mib| large.has_come(mib << 20)));
        let mut other = Arrival::in_room(&room);
        assert!(other.has_come(16 << 20) && other.has_come(1 << 20));
        assert!(!other.has_come((16 << 20) + 1), "there is no room for more");
        let mut third = Arrival::in_room(&room);
        assert!(!third.has_come(SMALL + 1) && third.has_come(SMALL));
        drop(large);
        assert!(other.has_come(60 << 20));
        assert!(Arrival::in_room(&room).has_come(SMALL));
    }
}
