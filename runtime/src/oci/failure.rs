//! Why a registry gave nothing, in words for whoever asked.

use http::StatusCode;
use http::header::{HeaderMap, RETRY_AFTER};
use serde::Deserialize;

use crate::config::Reference;
use crate::error::Error;

/// Why there is nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub message: String,
    /// Whether the same may go well later.
    pub is_temporary: bool,
}

/// With what the registry was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Anonymously,
    WithCredentials,
}

#[derive(Deserialize)]
struct Refusals {
    errors: Vec<Refused>,
}

#[derive(Deserialize)]
struct Refused {
    code: String,
}

impl Failure {
    /// One that stays until somebody does something.
    pub fn lasting(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_temporary: false }
    }

    /// One that may be gone later.
    pub fn passing(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_temporary: true }
    }

    /// What a status that is no success means.
    pub fn refused(status: StatusCode, headers: &HeaderMap, body: &[u8], asked: Asked, login: &str) -> Self {
        let code = code(body).map(|code| format!(", {code}")).unwrap_or_default();
        let said = format!("the registry answered {}{code}", status.as_u16());
        match (status.as_u16(), asked) {
            (401, asked) => Self::unauthorized(asked, login),
            (403, Asked::Anonymously) => Self::lasting(format!(
                "nobody may read it without credentials ({said}); run `docker login {login}`"
            )),
            (403, Asked::WithCredentials) => Self::lasting(format!(
                "these credentials may not read it ({said}); ask its owner, or log in as another user"
            )),
            (404, Asked::Anonymously) => Self::lasting(format!(
                "there is no such repository, tag or digest ({said}); look at the reference, and if it is not public run \
                 `docker login {login}`"
            )),
            (404, Asked::WithCredentials) => Self::lasting(format!(
                "there is no such repository, tag or digest ({said}); look at the reference, and at what these credentials may read"
            )),
            (429, _) => {
                let when =
                    headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse::<u32>().ok());
                let when = when.map_or("later".to_owned(), |seconds| format!("in {seconds} s"));
                Self::passing(format!("the registry was asked too often ({said}); try again {when}"))
            }
            (500..=599, _) => {
                Self::passing(format!("the registry is not able to answer ({said}); try again later"))
            }
            _ => Self::lasting(format!("this is no answer of a registry ({said}); look at the reference")),
        }
    }

    /// Credentials are missing, or are not taken.
    pub fn unauthorized(asked: Asked, login: &str) -> Self {
        Self::lasting(match asked {
            Asked::Anonymously => {
                format!(
                    "the registry wants credentials; run `docker login {login}`, which keeps them where they are looked for"
                )
            }
            Asked::WithCredentials => {
                format!(
                    "the registry does not take the credentials that docker keeps for `{login}`; run `docker login {login}`"
                )
            }
        })
    }

    /// The error about `reference`.
    pub fn of(self, reference: &Reference) -> Error {
        let Self { message, is_temporary } = self;
        Error::Registry { reference: reference.to_string(), message, is_temporary }
    }
}

/// The code of the first error in a body, if it looks like one: nothing else that a server says is shown.
fn code(body: &[u8]) -> Option<String> {
    let refusals: Refusals = serde_json::from_slice(body).ok()?;
    let code = refusals.errors.into_iter().next()?.code;
    let is_code = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    (code.len() <= 40 && code.bytes().all(is_code)).then_some(code)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    #[test]
    fn every_status_says_what_to_do() {
        let mut headers = HeaderMap::new();
        let body = br#"{"errors":[{"code":"NAME_UNKNOWN","message":"x"}]}"#;
        let told = |status: u16, headers: &HeaderMap, body: &[u8], asked| {
            Failure::refused(StatusCode::from_u16(status).unwrap(), headers, body, asked, "a.io")
        };
        for (status, is_temporary, expected) in [
            (401, false, "run `docker login a.io`"),
            (403, false, "nobody may read it without credentials (the registry answered 403, NAME_UNKNOWN)"),
            (404, false, "if it is not public run `docker login a.io`"),
            (405, false, "this is no answer of a registry"),
            (429, true, "try again later"),
            (503, true, "try again later"),
        ] {
            let failure = told(status, &headers, body, Asked::Anonymously);
            assert!(failure.message.contains(expected), "{failure:?}");
            assert_eq!(failure.is_temporary, is_temporary, "{failure:?}");
        }
        headers.insert(RETRY_AFTER, "17".parse().unwrap());
        assert!(told(429, &headers, b"", Asked::Anonymously).message.ends_with("try again in 17 s"));
        assert!(told(403, &headers, b"", Asked::WithCredentials).message.contains("as another user"));
        assert!(
            told(401, &headers, b"", Asked::WithCredentials)
                .message
                .contains("does not take the credentials")
        );
        for body in [&b""[..], b"<html>", br#"{"errors":[{"code":"\u001b[31m"}]}"#, br#"{"errors":[]}"#] {
            assert_eq!(code(body), None);
        }
    }
}
