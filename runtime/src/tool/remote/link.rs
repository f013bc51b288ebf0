//! The way to a server, whatever it is.

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::message::Failure;
use super::pending::ProgressSink;
use super::stdio::Stdio;

/// A way to a server.
pub(super) enum Link {
    /// Over the standard streams of a program.
    Stdio(Stdio),
}

impl Link {
    /// What the server answers to a request whose parameters may name its identifier. Dropping the future gives it up.
    pub async fn request(
        &self,
        method: &str,
        params: impl FnOnce(u64) -> Value,
        progress: Option<ProgressSink>,
    ) -> Result<Value, Failure> {
        match self {
            Self::Stdio(stdio) => stdio.request(method, params, progress).await,
        }
    }

    /// Says something that is not answered.
    pub async fn notify(&self, method: &str) {
        match self {
            Self::Stdio(stdio) => stdio.notify(method).await,
        }
    }

    /// Notes the revision that both sides speak from now on.
    pub fn settle(&self, _version: &'static str) {
        match self {
            // Nothing but the messages themselves says which.
            Self::Stdio(_) => {}
        }
    }

    /// Whether nothing can come of another request.
    pub fn is_closed(&self) -> bool {
        match self {
            Self::Stdio(stdio) => stdio.is_closed(),
        }
    }

    /// Ends it. The token is cancelled once everything is gone.
    pub fn close(&self) -> CancellationToken {
        match self {
            Self::Stdio(stdio) => stdio.close(),
        }
    }
}
