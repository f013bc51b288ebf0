//! The SHA-256 digest of a file's content, written `sha256:` and 64 hexadecimal digits.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

/// A SHA-256 digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `content`.
    pub fn of(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }

    /// The digest of what `hasher` was given.
    pub(crate) fn of_all(hasher: Sha256) -> Self {
        Self(hasher.finalize().into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("sha256:")?;
        formatter.write_str(hexadecimal(&self.0, &mut [0; 64]))
    }
}

/// The lower-case digits of 32 bytes, written into `digits`. One piece: 32 formatted ones took longer than the hash.
pub(crate) fn hexadecimal<'d>(bytes: &[u8; 32], digits: &'d mut [u8; 64]) -> &'d str {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
        let digit = |half: u8| DIGITS.get(usize::from(half)).copied().unwrap_or_default();
        pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
    }
    std::str::from_utf8(digits).unwrap_or_default()
}

impl FromStr for Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || "a digest is `sha256:` and 64 hexadecimal digits, as `sha256sum FILE` prints them".to_owned();
        let digits = text.strip_prefix("sha256:").ok_or_else(wrong)?.as_bytes();
        if digits.len() != 64 {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| wrong())?;
            // `from_str_radix` would take a sign.
            if !pair.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(wrong());
            }
            *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_read_as_it_is_written() {
        let digest = Digest::of(b"abc");
        let text = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest.to_string(), text);
        assert_eq!(text.parse(), Ok(digest));
        assert_eq!(text.to_uppercase().replace("SHA256", "sha256").parse(), Ok(digest));
    }

    #[test]
    fn what_is_no_digest_is_refused() {
        let good = Digest::of(b"abc").to_string();
        for wrong in ["", "sha256:", &good[7..], &good[..70], &format!("{good}0"), &good.replace("ba", "+1")]
        {
            assert!(wrong.parse::<Digest>().is_err(), "{wrong}");
        }
    }
}
