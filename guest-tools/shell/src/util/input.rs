//! The inputs of utilities.

use crate::files;
use crate::shell::Shell;
use crate::stop::{Stop, words};
use crate::stream::Handle;

/// Opens an operand; `-` is standard input. Says why if it cannot, under the utility's name.
pub async fn open(shell: &Shell, utility: &str, name: &str) -> Result<Option<Handle>, Stop> {
    if name == "-" {
        return Ok(Some(shell.stdin()));
    }
    match files::read(shell, name) {
        Ok(handle) => Ok(Some(handle)),
        Err(error) => {
            shell.warn(format!("{utility}: {name}: {}", words(&error))).await?;
            Ok(None)
        }
    }
}

/// The whole content of an operand, or the failure that it cannot be read.
pub async fn whole(shell: &Shell, name: &str) -> Result<Vec<u8>, Stop> {
    if name == "-" {
        return shell.stdin().rest().await;
    }
    match files::read(shell, name) {
        Ok(handle) => handle.rest().await,
        Err(error) => Err(Stop::Fail(1, format!("{name}: {}", words(&error)))),
    }
}

/// Lines without their ends.
pub fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_suffix(b"\n").map_or(text, |text| text);
    let none = text.is_empty();
    text.split(|byte| *byte == b'\n').filter(move |_| !none)
}
