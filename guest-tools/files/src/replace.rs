//! Putting a new content in a file's place.

use std::path::Path;

/// Bytes that go to the host at once.
pub const PIECE: usize = 256 * 1024;

/// Whatever can replace a file in one step: the host, or a stand-in of the tests.
pub trait Replace {
    /// Makes the pieces, in order, the content of the file at `path`, creating it and its folders where missing.
    /// On an error the file is as it was.
    fn replace(&self, path: &Path, pieces: &mut dyn Iterator<Item = &[u8]>) -> Result<(), String>;
}

#[cfg(test)]
pub(crate) mod stand_in {
    use super::*;

    /// Writes directly, in one piece.
    pub(crate) struct Direct;

    impl Replace for Direct {
        fn replace(&self, path: &Path, pieces: &mut dyn Iterator<Item = &[u8]>) -> Result<(), String> {
            let bytes: Vec<u8> = pieces.flatten().copied().collect();
            path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(|error| error.to_string())?;
            std::fs::write(path, bytes).map_err(|error| error.to_string())
        }
    }

    /// Must not be asked.
    pub(crate) struct Never;

    impl Replace for Never {
        fn replace(&self, path: &Path, _: &mut dyn Iterator<Item = &[u8]>) -> Result<(), String> {
            Err(format!("{} was written", path.display()))
        }
    }
}
