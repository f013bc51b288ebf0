//! One conversation with one registry: what it is asked, how it is proved who asks, and where it sends us.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue, LOCATION, WWW_AUTHENTICATE};
use serde::Deserialize;

use super::challenge::{Challenge, choose};
use super::credentials::{Credential, find};
use super::failure::{Asked, Failure};
use super::manifest::{ACCEPTED, MAX_MANIFEST, Manifest};
use super::transport::{Arrived, Asking, Place, Transport};
use crate::config::{Locked, Reference};
use crate::policy::Digest;

/// How often a request may be sent elsewhere: blobs are with a store behind most registries, and some of these have another.
const MAX_REDIRECTS: usize = 5;

/// The longest answer with a token in it.
const MAX_TOKEN: u64 = 64 << 10;

/// The digest that a registry says a manifest has.
const CONTENT_DIGEST: &str = "docker-content-digest";

/// A conversation with the registry of one reference.
pub(super) struct Session {
    transport: Transport,
    reference: Reference,
    docker_config: Option<PathBuf>,
    authorization: Option<HeaderValue>,
    asked: Asked,
}

/// What a service of tokens says.
#[derive(Deserialize)]
struct Tokens {
    token: Option<String>,
    access_token: Option<String>,
}

impl Session {
    pub fn new(transport: Transport, reference: Reference, docker_config: Option<PathBuf>) -> Self {
        Self { transport, reference, docker_config, authorization: None, asked: Asked::Anonymously }
    }

    /// What the reference means now.
    pub async fn resolve(mut self) -> Result<Locked, Failure> {
        let (mut digest, mut manifest) =
            self.manifest(&self.reference.wanted(), self.reference.digest()).await?;
        if let Manifest::Index(inner) = manifest {
            (digest, manifest) = self.manifest(&inner.to_string(), Some(inner)).await?;
        }
        match manifest {
            Manifest::Component { digest: component, bytes } => {
                Ok(Locked::new(self.reference, digest, component, bytes))
            }
            Manifest::Index(_) => {
                Err(Failure::lasting("its index leads to another index, and to no component"))
            }
        }
    }

    /// The bytes of a component, not yet compared with its digest.
    pub async fn fetch(mut self, digest: Digest, bytes: u64) -> Result<Vec<u8>, Failure> {
        let target = format!("/v2/{}/blobs/{digest}", self.reference.repository());
        let fetched = self.get(&target, "").await?.body(bytes).await?;
        match u64::try_from(fetched.len()).is_ok_and(|length| length == bytes) {
            true => Ok(fetched),
            false => Err(Failure::passing(format!("{} of {bytes} bytes came; try again", fetched.len()))),
        }
    }

    /// A manifest, by tag or digest. What was asked for by its digest is that, or nothing.
    async fn manifest(
        &mut self,
        wanted: &str,
        expected: Option<Digest>,
    ) -> Result<(Digest, Manifest), Failure> {
        let target = format!("/v2/{}/manifests/{wanted}", self.reference.repository());
        let arrived = self.get(&target, ACCEPTED).await?;
        let content_type = arrived.header(CONTENT_TYPE).unwrap_or_default().to_owned();
        let said = arrived.header(CONTENT_DIGEST).and_then(|said| said.parse::<Digest>().ok());
        let bytes = arrived.body(MAX_MANIFEST).await?;
        let digest = Digest::of(&bytes);
        // A page that stands where a manifest should be is told as such, whatever its digest is.
        let manifest = Manifest::read(&bytes, &content_type).map_err(Failure::lasting)?;
        match expected.or(said).filter(|other| *other != digest) {
            Some(other) => Err(Failure::lasting(format!(
                "the manifest that came is {digest}, and should be {other}; nothing of it is used"
            ))),
            None => Ok((digest, manifest)),
        }
    }

    /// Asks the registry, with credentials if it wants them, and goes where it sends us.
    async fn get(&mut self, target: &str, accept: &'static str) -> Result<Arrived, Failure> {
        let mut place = Place { origin: self.transport.origin().clone(), target: target.to_owned() };
        let mut redirects = 0;
        loop {
            let is_registry = place.origin == *self.transport.origin();
            // Who stands behind a registry is not told who asks it.
            let authorization = self.authorization.clone().filter(|_| is_registry);
            let arrived = self.transport.ask(&place, Asking { accept, authorization, form: None }).await?;
            match arrived.status() {
                StatusCode::OK => return Ok(arrived),
                StatusCode::UNAUTHORIZED if is_registry && self.authorization.is_none() => {
                    self.authorize(&arrived).await?;
                }
                status if status.is_redirection() => {
                    redirects += 1;
                    let named = arrived.header(LOCATION);
                    let named =
                        named.ok_or_else(|| Failure::lasting("the registry sends requests nowhere"))?;
                    place = self.transport.place(named, Some(&place))?;
                    if redirects > MAX_REDIRECTS {
                        return Err(Failure::lasting(format!(
                            "the registry sends requests on more than {MAX_REDIRECTS} times"
                        )));
                    }
                }
                _ => return Err(self.refused(arrived).await),
            }
        }
    }

    async fn refused(&self, arrived: Arrived) -> Failure {
        let (status, headers) = (arrived.status(), arrived.headers().clone());
        let body = arrived.refusal().await;
        Failure::refused(status, &headers, &body, self.asked, self.reference.credentials_key())
    }

    /// Finds out how the registry wants to be asked, and what proves to it who asks.
    async fn authorize(&mut self, arrived: &Arrived) -> Result<(), Failure> {
        let values =
            arrived.headers().get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let challenge = choose(values).ok_or_else(|| {
            Failure::lasting("the registry wants credentials in a way that is neither `Basic` nor `Bearer`")
        })?;
        let credential = self.credential().await?;
        if credential.is_some() {
            self.asked = Asked::WithCredentials;
        }
        let value = match (challenge, credential) {
            (Challenge::Bearer { .. }, Some(Credential::Token(token))) => bearer(&token),
            (Challenge::Bearer { realm, service }, credential) => {
                bearer(&self.token(&realm, service.as_deref(), credential.as_ref()).await?)
            }
            (Challenge::Basic, Some(Credential::Password { user, password })) => basic(&user, &password),
            (Challenge::Basic, _) => {
                return Err(Failure::unauthorized(self.asked, self.reference.credentials_key()));
            }
        };
        self.authorization =
            Some(value.ok_or_else(|| Failure::lasting("what proves who asks cannot stand in a header"))?);
        Ok(())
    }

    /// What docker keeps for the registry. A program may be asked, which blocks.
    async fn credential(&self) -> Result<Option<Credential>, Failure> {
        let (file, key) = (self.docker_config.clone(), self.reference.credentials_key().to_owned());
        let found = tokio::task::spawn_blocking(move || find(file.as_deref(), &key)).await;
        found.map_err(|_| Failure::passing("the look for credentials failed"))?.map_err(Failure::lasting)
    }

    /// A token to read this one repository, whatever more the registry would have us ask for.
    async fn token(
        &mut self,
        realm: &str,
        service: Option<&str>,
        credential: Option<&Credential>,
    ) -> Result<String, Failure> {
        let scope = format!("repository:{}:pull", self.reference.repository());
        let mut fields = vec![("scope", scope.as_str())];
        fields.extend(service.map(|service| ("service", service)));
        let mut place = self.transport.place(realm, None)?;
        let mut asking = Asking { accept: "application/json", ..Asking::default() };
        match credential {
            Some(Credential::Identity(token)) => {
                fields.extend([
                    ("grant_type", "refresh_token"),
                    ("client_id", "toolcell"),
                    ("refresh_token", token),
                ]);
                asking.form = Some(form(&fields));
            }
            credential => {
                let joint = if place.target.contains('?') { '&' } else { '?' };
                place.target = format!("{}{joint}{}", place.target, form(&fields));
                if let Some(Credential::Password { user, password }) = credential {
                    asking.authorization = basic(user, password);
                }
            }
        }
        let arrived = self.transport.ask(&place, asking).await?;
        if arrived.status() != StatusCode::OK {
            return Err(self.refused(arrived).await);
        }
        let body = arrived.body(MAX_TOKEN).await?;
        let tokens = serde_json::from_slice::<Tokens>(&body).ok();
        let token =
            tokens.and_then(|tokens| tokens.token.or(tokens.access_token)).filter(|token| !token.is_empty());
        token.ok_or_else(|| Failure::lasting(format!("{} gave no token to read it", place.origin)))
    }
}

fn bearer(token: &str) -> Option<HeaderValue> {
    sensitive(&format!("Bearer {token}"))
}

fn basic(user: &str, password: &str) -> Option<HeaderValue> {
    sensitive(&format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Fields as forms and queries have them.
fn form(fields: &[(&str, &str)]) -> String {
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect();
    fields.join("&")
}

fn escaped(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_escaped() {
        let fields = [("scope", "repository:a/b:pull"), ("service", "ä &=")];
        assert_eq!(form(&fields), "scope=repository%3Aa%2Fb%3Apull&service=%C3%A4%20%26%3D");
    }
}
