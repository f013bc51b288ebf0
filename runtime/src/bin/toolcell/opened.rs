//! A runtime of one command, with whatever it started.

use std::ops::Deref;

use toolcell::{Runtime, RuntimeBuilder};

/// A runtime that ends the servers which it started when the command ends, in whatever way: nothing else would, once this
/// process is gone.
pub(crate) struct Opened(Runtime);

impl Opened {
    /// Makes the runtime.
    pub fn of(builder: RuntimeBuilder) -> anyhow::Result<Self> {
        Ok(Self(builder.build_blocking()?))
    }
}

impl Deref for Opened {
    type Target = Runtime;

    fn deref(&self) -> &Runtime {
        &self.0
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.0.close_remotes();
    }
}
