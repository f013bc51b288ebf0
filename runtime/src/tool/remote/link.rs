//! The way to a server, whatever it is.

use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

#[cfg(feature = "http")]
use super::http::Http;
use super::message::Failure;
use super::pending::ProgressSink;
use super::stdio::Stdio;
use crate::tool::mirrored::Mirrored;

/// How long a program may take to say whether it knows the current revision.
const PROBING: Duration = Duration::from_secs(2);

/// A way to a server.
pub(super) enum Link {
    /// Over the standard streams of a program.
    Stdio(Stdio),
    /// Over HTTP.
    #[cfg(feature = "http")]
    Http(Http),
}

impl Link {
    /// What the server answers to a request whose parameters may name its identifier, of whose arguments headers repeat
    /// some where there are headers. Dropping the future gives it up.
    pub async fn request(
        &self,
        method: &str,
        params: impl FnOnce(u64) -> Value,
        mirrored: &[Mirrored],
        progress: Option<ProgressSink>,
    ) -> Result<Value, Failure> {
        match self {
            Self::Stdio(stdio) => {
                let _ = mirrored;
                stdio.request(method, params, progress).await
            }
            #[cfg(feature = "http")]
            Self::Http(http) => http.request(method, params, mirrored, progress).await,
        }
    }

    /// Says something that is not answered.
    pub async fn notify(&self, method: &str) {
        match self {
            Self::Stdio(stdio) => stdio.notify(method).await,
            #[cfg(feature = "http")]
            Self::Http(http) => http.notify(method).await,
        }
    }

    /// Notes the revision of a handshake, which both sides speak from now on.
    pub fn settle(&self, version: &'static str) {
        match self {
            // Nothing but the messages themselves says which.
            Self::Stdio(_) => _ = version,
            #[cfg(feature = "http")]
            Self::Http(http) => http.settle(version),
        }
    }

    /// How long the server may take to say whether it knows the current revision: programs say nothing at all to what they
    /// don't know.
    pub fn probing(&self) -> Option<Duration> {
        match self {
            Self::Stdio(_) => Some(PROBING),
            #[cfg(feature = "http")]
            Self::Http(_) => None,
        }
    }

    /// Hears what belongs to no request, where that has to be asked for, until it ends. False where asking again gives
    /// nothing.
    pub async fn listen(&self) -> bool {
        match self {
            // It comes among all other messages.
            Self::Stdio(_) => false,
            #[cfg(feature = "http")]
            Self::Http(http) => http.listen().await,
        }
    }

    /// Whether what is told while a request lasts may be cut by what lies between, and is then to be asked for again.
    pub fn is_interrupted(&self) -> bool {
        match self {
            Self::Stdio(_) => false,
            #[cfg(feature = "http")]
            Self::Http(_) => true,
        }
    }

    /// Why nothing can come of another request, if so.
    pub fn closed(&self) -> Option<String> {
        match self {
            Self::Stdio(stdio) => stdio.closed(),
            #[cfg(feature = "http")]
            Self::Http(http) => http.closed(),
        }
    }

    /// Cancelled once its program is gone, if it is one; dropping the link ends the program.
    pub fn gone(&self) -> Option<CancellationToken> {
        match self {
            Self::Stdio(stdio) => Some(stdio.gone()),
            #[cfg(feature = "http")]
            Self::Http(_) => None,
        }
    }

    /// Ends it since nothing comes of it, and says why to whoever waits for an answer.
    pub fn give_up(&self, why: &str) {
        match self {
            Self::Stdio(stdio) => stdio.give_up(why),
            #[cfg(feature = "http")]
            Self::Http(http) => http.give_up(why),
        };
    }

    /// Ends it. The token is cancelled once everything is gone.
    pub fn close(&self) -> CancellationToken {
        match self {
            Self::Stdio(stdio) => stdio.close(),
            #[cfg(feature = "http")]
            Self::Http(http) => http.close(),
        }
    }
}
