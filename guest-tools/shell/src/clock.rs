//! Time and chance, which a cell has.

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time since 1970.
pub fn now() -> Duration {
    since_epoch(SystemTime::now())
}

/// Earlier times count as 1970.
pub fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// A number of chance.
pub fn chance() -> u64 {
    RandomState::new().hash_one(0)
}
