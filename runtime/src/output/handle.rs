//! The name under which a full output can be read again.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

const PREFIX: &str = "o-";

/// 128 random bits: whoever was not told a handle does not find one by trying.
const DIGITS: usize = 32;

/// An output's handle: `o-` and 32 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Handle(String);

impl Handle {
    /// A new handle that nobody can guess. Fails if the operating system gives no random bytes.
    pub fn random() -> Result<Self> {
        Ok(Self(format!("{PREFIX}{}", random_hex()?)))
    }

    /// The handle as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of what `session` stored under this handle. It is a hash of both, so that no other session finds
    /// the output, and a listing of the store shows neither handles nor sessions.
    pub(super) fn file_name(&self, session: &str) -> String {
        // The handle has a fixed length: no two pairs give the same bytes.
        hex(&Sha256::new().chain_update(&self.0).chain_update(session).finalize())
    }
}

/// Tells owners of outputs apart, without their names.
pub(super) fn owner_label(owner: &str) -> String {
    let mut label = hex(&Sha256::new().chain_update("owner:").chain_update(owner).finalize());
    label.truncate(16);
    label
}

/// 128 random bits in hexadecimal digits.
pub(super) fn random_hex() -> Result<String> {
    let mut bytes = [0; DIGITS / 2];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::Output(format!("no random bytes for a handle: {error}")))?;
    Ok(hex(&bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl fmt::Display for Handle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for Handle {
    type Err = Error;

    /// Reads a handle. What is not exactly one never comes near a file name.
    fn from_str(text: &str) -> Result<Self> {
        let digits = text.strip_prefix(PREFIX).unwrap_or_default().as_bytes();
        match digits.len() == DIGITS && digits.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            true => Ok(Self(text.to_owned())),
            false => Err(Error::Output(format!(
                "not an output handle: one is `{PREFIX}` and {DIGITS} digits 0-9a-f, as in the output that was cut"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test may panic")]
    use super::*;

    #[test]
    fn handles_are_read_as_they_are_written_and_nothing_else_is() {
        let handle = Handle::random().unwrap();
        assert_eq!(handle.to_string().parse::<Handle>().unwrap(), handle);
        assert_ne!(handle, Handle::random().unwrap());
        let digits = "0".repeat(32);
        for text in [
            String::new(),
            "o-".into(),
            digits.clone(),
            format!("o-{digits}0"),
            format!("o-{}", &digits[1..]),
            format!("O-{digits}"),
            format!("o-{}A", &digits[1..]),
            format!("o-{}/", &digits[1..]),
            format!("o-../{}", &digits[3..]),
            format!("o-{}\0", &digits[1..]),
            format!(" o-{digits}"),
            format!("o-{}\u{ff11}", &digits[3..]),
        ] {
            assert!(text.parse::<Handle>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_session_has_names_of_its_own() {
        let handle = Handle::random().unwrap();
        assert_eq!(handle.file_name("a"), handle.file_name("a"));
        assert_ne!(handle.file_name("a"), handle.file_name("b"));
        assert_ne!(handle.file_name(""), handle.file_name("a"));
    }
}
