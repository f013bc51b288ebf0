//! What stands in the place of `store` in a build without HTTP, whose servers are alone.

use std::io;

use super::address::StoreAddress;

/// No store.
#[derive(Debug)]
pub struct SharedStore;

impl SharedStore {
    /// No store.
    pub fn new(_: StoreAddress, _: Option<String>) -> Self {
        Self
    }

    /// Says that there is none.
    ///
    /// # Errors
    /// Always.
    pub fn check(&self) -> io::Result<()> {
        Err(io::Error::other("this build has no HTTP: it lacks the feature `http`"))
    }
}
