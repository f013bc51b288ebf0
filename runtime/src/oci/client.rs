//! Who asks registries.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::failure::Failure;
use super::session::Session;
use super::transport::Transport;
use crate::config::{Locked, Reference};
use crate::error::{Error, Result};
use crate::net::{Connector, Network, Scheme, SystemResolver, Task, client_config};
use crate::policy::Digest;

/// The time for a manifest, with all that has to be asked before: a few requests, each bounded by itself.
const RESOLVING: Duration = Duration::from_secs(120);

/// The time for a component: the largest over a line of 2 Mbit/s.
const FETCHING: Duration = Duration::from_secs(20 * 60);

/// How registries are reached. The default is TLS by the web's roots, without anybody's credentials.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Access {
    /// The file in which docker keeps credentials ([`docker_config`](super::docker_config)).
    pub docker_config: Option<PathBuf>,
    /// Whether registries are spoken to without TLS, inside of private networks alone. Those on this host always are, unless
    /// there is a `ca`.
    pub plain_http: bool,
    /// A PEM file with certificates that are trusted beside the web's roots.
    pub ca: Option<PathBuf>,
}

impl Access {
    /// Credentials from this file of docker's, if it is there.
    #[must_use]
    pub fn docker_config(mut self, file: Option<PathBuf>) -> Self {
        self.docker_config = file;
        self
    }

    /// Without TLS, inside of private networks.
    #[must_use]
    pub fn plain_http(mut self, plain_http: bool) -> Self {
        self.plain_http = plain_http;
        self
    }

    /// Trusts the certificates in this PEM file too.
    #[must_use]
    pub fn ca(mut self, file: Option<PathBuf>) -> Self {
        self.ca = file;
        self
    }

    fn scheme(&self, reference: &Reference) -> Scheme {
        match self.plain_http || (self.ca.is_none() && reference.is_on_this_host()) {
            true => Scheme::Http,
            false => Scheme::Https,
        }
    }
}

/// Asks registries, one thing at a time.
#[derive(Clone)]
pub struct Client {
    network: Arc<Network>,
    connector: Connector,
    access: Access,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Client").field(&self.access).finish()
    }
}

impl Client {
    /// One that reaches registries so.
    ///
    /// # Errors
    /// When the file of certificates cannot be used.
    pub fn new(access: Access) -> Result<Self> {
        let tls = client_config(access.ca.as_deref())
            .map_err(|message| Error::Config { at: "--ca".to_owned(), message })?;
        let network = Arc::new(Network::new(Arc::new(SystemResolver)));
        let connector = Connector::new(Arc::clone(&network), Arc::default(), tls);
        Ok(Self { network, connector, access })
    }

    /// What `reference` means in its registry now. Nothing of the component itself is fetched.
    ///
    /// # Errors
    /// When the registry does not say, or what it says is no component.
    pub async fn resolve(&self, reference: &Reference) -> Result<Locked> {
        let session = self.session(reference)?;
        self.within(RESOLVING, reference, session.resolve()).await
    }

    /// The bytes of what is locked, of exactly that digest.
    ///
    /// # Errors
    /// When the registry does not give them.
    pub async fn fetch(&self, locked: &Locked) -> Result<Vec<u8>> {
        let session = self.session(&locked.reference)?;
        let (bytes, digest) = (locked.bytes, locked.digest);
        let fetched = self.within(FETCHING, &locked.reference, session.fetch(digest, bytes)).await?;
        let came = Digest::of(&fetched);
        match came == digest {
            true => Ok(fetched),
            false => {
                let message = format!(
                    "the registry was asked for {digest}, and sent what is {came}; nothing of it is kept"
                );
                Err(Failure::lasting(message).of(&locked.reference))
            }
        }
    }

    fn session(&self, reference: &Reference) -> Result<Session> {
        let origin = reference.origin(self.access.scheme(reference));
        let origin = origin.map_err(|message| Failure::lasting(message).of(reference))?;
        let transport = Transport::new(self.connector.clone(), origin);
        Ok(Session::new(transport, reference.clone(), self.access.docker_config.clone()))
    }

    /// Drives a conversation on the thread of the connections, so that whoever waits for it needs no timers.
    async fn within<T: Send + 'static>(
        &self,
        time: Duration,
        reference: &Reference,
        conversation: impl Future<Output = Result<T, Failure>> + Send + 'static,
    ) -> Result<T> {
        let no_thread = |error: std::io::Error| {
            Failure::passing(format!("no thread for connections: {}", error.kind())).of(reference)
        };
        let handle = self.network.handle().map_err(no_thread)?;
        // The timer is made there too.
        let task = Task::spawn(&handle, async move { tokio::time::timeout(time, conversation).await });
        let late = |_| {
            let time = humantime::format_duration(time);
            Err(Failure::passing(format!("the registry took longer than {time}; try again later")))
        };
        task.end().await.map_err(no_thread)?.unwrap_or_else(late).map_err(|failure| failure.of(reference))
    }
}
