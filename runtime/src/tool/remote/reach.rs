//! How a server is reached, with its secrets read.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::Notify;

#[cfg(feature = "http")]
use super::http::{Described, Http, Place};
use super::link::Link;
use super::stdio::Stdio;
use crate::config::{McpConfig, McpText, McpTransport, Stamp};
use crate::error::{Error, Result};
use crate::limits::Origin;
use crate::output::Redactor;
use crate::policy::Digest;
use crate::process::Program;
use crate::sandbox::Sandbox;
use crate::tool::misset::misset;

/// How a server is reached.
pub(super) enum Reach {
    /// By starting a program, whose last words have no secret in them.
    Program(Arc<Program>, Option<Arc<Redactor>>),
    /// Over HTTP.
    #[cfg(feature = "http")]
    Place(Arc<Place>),
}

impl Reach {
    /// What the configuration says with its secrets, and what takes these out of texts.
    ///
    /// # Errors
    /// When the server cannot be reached by this build, or a secret is no secret.
    pub fn of(
        config: &McpConfig,
        secrets: &Secrets<'_>,
        sandbox: &Sandbox,
    ) -> Result<(Self, Option<Arc<Redactor>>)> {
        let component = config.component();
        let named = secrets.iter().map(|(name, value)| (*name, value.as_str()));
        let redactor = Redactor::new(named)
            .map_err(|told| Error::component(&component, format!("its secrets: {told}")))?
            .map(Arc::new);
        let texts = |texts: &BTreeMap<String, McpText>| -> BTreeMap<String, String> {
            let text = |text: &McpText| match text {
                McpText::Plain(text) => text.clone(),
                McpText::Secret { name, prefix } => {
                    format!("{prefix}{}", secrets.get(name.as_str()).map_or("", String::as_str))
                }
            };
            texts.iter().map(|(name, value)| (name.clone(), text(value))).collect()
        };
        let reach = match &config.transport {
            McpTransport::Command { command, folder, env, .. } => {
                let command = command.iter().map(Into::into).collect();
                let program = Program { command, folder: folder.clone(), env: texts(env) };
                Self::Program(Arc::new(program), redactor.clone())
            }
            #[cfg(feature = "http")]
            McpTransport::Url { url, headers, private, ca } => {
                let has_secret = headers.values().any(|text| matches!(text, McpText::Secret { .. }));
                let headers = texts(headers).into_iter().collect();
                let reach = match has_secret {
                    // In clear these go no further than this host and private networks.
                    true => url.reach_with_secrets(*private).unwrap_or(crate::net::Reach::Inside),
                    false => url.reach(*private),
                };
                let described = Described { component: &component, url, reach, ca: ca.as_deref(), headers };
                let place = Place::of(described, sandbox.network());
                Self::Place(Arc::new(place.map_err(|(key, told)| misset(&origin(config, &key), told))?))
            }
            #[cfg(not(feature = "http"))]
            McpTransport::Url { .. } => {
                let _ = sandbox;
                let told = "this build has no HTTP: it lacks the feature `http`";
                return Err(misset(&origin(config, "url"), told.to_owned()));
            }
        };
        Ok((reach, redactor))
    }

    /// A new way to it. Must be awaited on the reactor.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn link(
        &self,
        most: usize,
        handle: &Handle,
        changed: Arc<Notify>,
    ) -> std::result::Result<Link, String> {
        match self {
            Self::Program(program, redactor) => {
                let _ = handle;
                Stdio::start(Arc::clone(program), redactor.clone(), most, changed).await.map(Link::Stdio)
            }
            #[cfg(feature = "http")]
            Self::Place(place) => Ok(Link::Http(Http::new(Arc::clone(place), most, handle.clone(), changed))),
        }
    }

    /// Whether arguments may have to be repeated in headers.
    pub fn has_headers(&self) -> bool {
        match self {
            Self::Program(..) => false,
            #[cfg(feature = "http")]
            Self::Place(_) => true,
        }
    }
}

/// The secrets of a server by their names.
pub(super) type Secrets<'a> = BTreeMap<&'a str, String>;

/// Reads the secrets of a server.
///
/// # Errors
/// When one cannot be read.
pub(super) fn secrets(config: &McpConfig) -> Result<Secrets<'_>> {
    let mut secrets = BTreeMap::new();
    for (name, secret) in &config.secrets {
        let wrong = |told| misset(&origin(config, &format!("secrets.{name}")), told);
        secrets.insert(name.as_str(), secret.read().map_err(wrong)?);
    }
    Ok(secrets)
}

fn origin(config: &McpConfig, key: &str) -> Origin {
    Origin { setting: format!("{}.{key}", config.component()).into(), at: config.origin.at.clone() }
}

/// The digest of all that decides how a server runs, whose messages have at most `most` bytes. What its operator says of its
/// tools is not among that, and neither is what its program works on.
pub(super) fn made_of(config: &McpConfig, secrets: &Secrets<'_>, most: usize) -> Digest {
    let stamps: Vec<Option<Stamp>> = config.code().iter().map(|file| Stamp::of(file)).collect();
    let way = match &config.transport {
        McpTransport::Command { command, folder, env, .. } => format!("{:?}", (command, folder, env)),
        McpTransport::Url { url, headers, private, ca } => format!("{:?}", (url, headers, private, ca)),
    };
    let bounds = (most, config.start_timeout, config.concurrent_calls);
    Digest::of(format!("{:?}", (&config.name, way, stamps, secrets, bounds)).as_bytes())
}

/// The digest of where a server is: approvals of one are none of another that has its name.
pub(super) fn place(config: &McpConfig) -> Digest {
    let place = match &config.transport {
        McpTransport::Command { command, folder, .. } => json!([config.name, command, folder]),
        McpTransport::Url { url, .. } => json!([config.name, url.as_str()]),
    };
    Digest::of(place.to_string().as_bytes())
}
