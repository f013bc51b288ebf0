//! Who asks: principals by their bearer tokens.

use std::collections::BTreeMap;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use sha2::{Digest as _, Sha256};

use super::guard::one;
use crate::error::{Error, Result};
use crate::policy::{Secret, SecretSource};

/// A shorter token can be guessed; `openssl rand -hex 32` makes a good one.
const MIN_TOKEN_BYTES: usize = 16;

/// The principals, and what each proves itself by.
#[derive(Default)]
pub(super) struct Tokens {
    /// Hashes of tokens, all of one length, with their principals.
    known: Vec<([u8; 32], String)>,
}

impl Tokens {
    /// Reads the tokens of all principals.
    ///
    /// # Errors
    /// When one cannot be read, could be guessed, cannot be sent, or is that of two principals.
    pub fn read(sources: &BTreeMap<String, SecretSource>) -> Result<Self> {
        let mut known: Vec<([u8; 32], String)> = Vec::new();
        for (name, source) in sources {
            let at = format!("server.tokens.{name}");
            let wrong = |message: String| Error::Config { at: at.clone(), message };
            let token = Secret { source: source.clone(), readable: false }.read().map_err(wrong)?;
            if token.len() < MIN_TOKEN_BYTES {
                return Err(wrong(format!(
                    "a token of {} bytes can be guessed; give it at least {MIN_TOKEN_BYTES}, as from `openssl rand -hex 32`",
                    token.len()
                )));
            }
            if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(wrong(
                    "a token must be of ASCII letters, digits and signs, without spaces".to_owned(),
                ));
            }
            let hash = Sha256::digest(&token).into();
            if let Some((_, other)) = known.iter().find(|(known, _)| *known == hash) {
                return Err(wrong(format!("is the token of `{other}` too; nobody could tell them apart")));
            }
            known.push((hash, name.clone()));
        }
        Ok(Self { known })
    }

    /// Whether nobody has one.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The principal whose token the request has. All are compared to the end, so that the time says nothing.
    pub fn principal(&self, headers: &HeaderMap) -> Option<&str> {
        let (scheme, token) = one(headers, AUTHORIZATION)?.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let given: [u8; 32] = Sha256::digest(token.trim()).into();
        self.known.iter().fold(None, |found, (known, name)| {
            let difference = known.iter().zip(given).fold(0, |all, (one, other)| all | (one ^ other));
            if std::hint::black_box(difference) == 0 { Some(name.as_str()) } else { found }
        })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    fn source(token: &str) -> SecretSource {
        SecretSource::Value(token.to_owned())
    }

    #[test]
    fn a_token_names_its_principal() {
        let sources = [("ada", "a".repeat(16)), ("bob", "b".repeat(40))];
        let tokens =
            Tokens::read(&sources.map(|(name, token)| (name.to_owned(), source(&token))).into()).unwrap();
        let of = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, value.parse().unwrap());
            tokens.principal(&headers).map(str::to_owned)
        };
        assert_eq!(of(&format!("Bearer {}", "a".repeat(16))).as_deref(), Some("ada"));
        assert_eq!(of(&format!("bearer  {}", "b".repeat(40))).as_deref(), Some("bob"));
        for wrong in
            ["Bearer", "Bearer ", "Basic aaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaa", "Bearer aaaaaaaaaaaaaaaaa"]
        {
            assert_eq!(of(wrong), None, "{wrong}");
        }
        let mut twice = HeaderMap::new();
        let value = format!("Bearer {}", "a".repeat(16));
        twice.append(AUTHORIZATION, value.parse().unwrap());
        twice.append(AUTHORIZATION, value.parse().unwrap());
        assert_eq!((tokens.principal(&twice), tokens.principal(&HeaderMap::new())), (None, None));
    }

    #[test]
    fn a_token_that_proves_nothing_is_refused() {
        let refused = |tokens: &[(&str, &str)]| {
            let sources = tokens.iter().map(|(name, token)| ((*name).to_owned(), source(token))).collect();
            Tokens::read(&sources).err().unwrap().to_string()
        };
        assert!(refused(&[("ada", "0123456789")]).contains("10 bytes can be guessed"));
        assert!(refused(&[("ada", "0123456789 abcdef")]).contains("without spaces"));
        let twice = refused(&[("ada", "0123456789abcdef"), ("bob", "0123456789abcdef")]);
        assert_eq!(twice, "server.tokens.bob: is the token of `ada` too; nobody could tell them apart");
    }
}
