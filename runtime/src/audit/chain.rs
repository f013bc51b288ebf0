//! How a line is tied to the one before it.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use crate::policy::hexadecimal;

/// Bytes that one round of SHA-256 takes, to which HMAC pads its key (RFC 2104).
const BLOCK: usize = 64;

/// Hexadecimal digits of a hash.
const DIGITS: usize = 64;

/// How lines are hashed: by SHA-256, or by HMAC-SHA-256 with a key.
#[derive(Clone, Default)]
pub(super) struct Chain {
    /// Hashers that took the key's inner and outer padding.
    keyed: Option<(Sha256, Sha256)>,
}

/// A line's hash, `sha256:` or `hmac-sha256:` and 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hash {
    is_keyed: bool,
    bytes: [u8; 32],
}

/// What a whole line says of its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sealed {
    pub prev: Hash,
    pub hash: Hash,
}

impl Chain {
    /// A chain with a key, or without.
    pub fn new(key: Option<&[u8]>) -> Self {
        let Some(key) = key else { return Self::default() };
        let mut block = [0; BLOCK];
        let hashed: [u8; 32] = Sha256::digest(key).into();
        let key = if key.len() > BLOCK { hashed.as_slice() } else { key };
        block.iter_mut().zip(key).for_each(|(padded, byte)| *padded = *byte);
        let padded = |pad: u8| Sha256::new().chain_update(block.map(|byte| byte ^ pad));
        Self { keyed: Some((padded(0x36), padded(0x5c))) }
    }

    /// What the first line follows.
    pub fn start(&self) -> Hash {
        Hash { is_keyed: self.keyed.is_some(), bytes: [0; 32] }
    }

    /// The hash of `parts`, one after the other.
    pub fn hash(&self, parts: &[&[u8]]) -> Hash {
        let fed = |hasher: &Sha256| parts.iter().fold(hasher.clone(), Sha256::chain_update).finalize();
        let bytes = match &self.keyed {
            None => fed(&Sha256::new()),
            Some((inner, outer)) => outer.clone().chain_update(fed(inner)).finalize(),
        };
        Hash { is_keyed: self.keyed.is_some(), bytes: bytes.into() }
    }

    /// The line with its newline: `body`, a JSON object, with the two members that tie it to `prev`.
    pub fn seal(&self, body: &str, prev: Hash) -> (String, Hash) {
        let open = body.strip_suffix('}').unwrap_or(body);
        let mut line = format!("{open},\"prev\":\"{prev}\"");
        let hash = self.hash(&[line.as_bytes()]);
        line.push_str(&format!(",\"hash\":\"{hash}\"}}\n"));
        (line, hash)
    }

    /// What `line`, without its newline, says of its place, if it is as it was sealed.
    ///
    /// # Errors
    /// Why it is not, in words.
    pub fn open(&self, line: &[u8]) -> Result<Sealed, &'static str> {
        let is_keyed = self.keyed.is_some();
        let Some((rest, hash)) = member(line, "hash", is_keyed, true) else {
            return Err(match member(line, "hash", !is_keyed, true) {
                None => "is no line of an audit, or was changed",
                Some(_) if is_keyed => "was chained without a key, and one was given",
                Some(_) => "was chained with a key, and none was given",
            });
        };
        if self.hash(&[rest]) != hash {
            return Err(match is_keyed {
                true => "was changed, or chained with another key",
                false => "was changed",
            });
        }
        let (_, prev) = member(rest, "prev", is_keyed, false).ok_or("is no line of an audit")?;
        Ok(Sealed { prev, hash })
    }
}

/// Splits off the member `name` with a hash at the end of `line`, and the closing brace if there is to be one.
fn member<'l>(line: &'l [u8], name: &str, is_keyed: bool, closing: bool) -> Option<(&'l [u8], Hash)> {
    let line = if closing { line.strip_suffix(b"}")? } else { line };
    let line = line.strip_suffix(b"\"")?;
    let (line, digits) = line.split_at_checked(line.len().checked_sub(DIGITS)?)?;
    let algorithm = if is_keyed { "hmac-sha256" } else { "sha256" };
    let rest = line.strip_suffix(format!(",\"{name}\":\"{algorithm}:").as_bytes())?;
    Some((rest, Hash { is_keyed, bytes: decoded(digits)? }))
}

/// The bytes of 64 lower-case digits: with two spellings of a hash, one byte could change and nobody would know.
fn decoded(digits: &[u8]) -> Option<[u8; 32]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    if digits.len() != DIGITS {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}

impl fmt::Display for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.is_keyed { "hmac-sha256:" } else { "sha256:" })?;
        formatter.write_str(hexadecimal(&self.bytes, &mut [0; DIGITS]))
    }
}

impl FromStr for Hash {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (is_keyed, digits) = match text.strip_prefix("hmac-sha256:") {
            Some(digits) => (true, Some(digits)),
            None => (false, text.strip_prefix("sha256:")),
        };
        let bytes = digits.and_then(|digits| decoded(digits.as_bytes()));
        bytes.map(|bytes| Self { is_keyed, bytes }).ok_or_else(|| {
            format!(
                "`{text}` is no head; one is `sha256:` or `hmac-sha256:` and 64 digits, as `verify` prints it"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    /// The cases of RFC 4231 that are not cut.
    #[test]
    fn a_keyed_hash_is_hmac_sha_256() {
        for (key, text, digits) in [
            (
                vec![0x0b; 20],
                b"Hi There".to_vec(),
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe".to_vec(),
                b"what do ya want for nothing?".to_vec(),
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                vec![0xaa; 20],
                vec![0xdd; 50],
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
            ),
            (
                vec![0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First".to_vec(),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            let (one, other) = text.split_at(3);
            let hash = Chain::new(Some(&key)).hash(&[one, other]);
            assert_eq!(hash.to_string(), format!("hmac-sha256:{digits}"));
        }
    }

    #[test]
    fn a_sealed_line_opens_to_its_place_and_a_head_is_read_as_it_is_written() {
        for key in [None, Some(b"0123456789abcdef".as_slice())] {
            let chain = Chain::new(key);
            let (line, hash) = chain.seal(r#"{"v":1}"#, chain.start());
            let sealed = chain.open(line.trim_end().as_bytes()).unwrap();
            assert_eq!(sealed, Sealed { prev: chain.start(), hash });
            assert_eq!(hash.to_string().parse(), Ok(hash));
            assert!(hash.to_string().to_uppercase().parse::<Hash>().is_err());
            let other = Chain::new(if key.is_some() { None } else { Some(b"x") });
            let told = other.open(line.trim_end().as_bytes()).unwrap_err();
            assert!(told.contains("key"), "{told}");
        }
    }
}
