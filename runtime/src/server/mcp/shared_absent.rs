//! What stands in the place of `shared` in a build without HTTP, where an instance is alone.

use std::io;

use serde_json::Value;

/// What would be answered while a store cannot be asked.
pub(super) const SILENT: &str = "";

/// Nothing, of which there is none.
pub(super) enum Shared {}

/// The call that a box would be about.
#[expect(dead_code, reason = "there are no boxes here")]
pub(super) struct About<'a> {
    pub tool: &'a str,
    pub arguments: &'a Value,
    pub session: &'a str,
}

/// What would be in a box.
pub(super) enum Unsealed {}

impl Shared {
    pub fn seal(&self, _: &About<'_>, _: &[u8; 32]) -> Option<String> {
        match *self {}
    }

    pub fn unseal(&self, _: &str, _: &About<'_>) -> Option<Unsealed> {
        match *self {}
    }

    pub async fn use_up(&self, _: &Unsealed) -> Option<bool> {
        match *self {}
    }

    pub fn note_output(&self, _: &str, _: &[u8], _: usize) {
        match *self {}
    }

    pub fn outputs(&self, _: &str) -> io::Result<Vec<Vec<u8>>> {
        match *self {}
    }
}

impl Unsealed {
    pub fn is_about(&self, _: &[u8; 32]) -> bool {
        match *self {}
    }
}
