//! What can go wrong with exporting. None of it concerns a call.

/// The result of something that can go wrong.
pub type Result<T> = std::result::Result<T, Error>;

/// Why spans are not exported, or which are lost.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A variable or an argument cannot be used. Its value is not repeated: there may be a secret in it.
    #[error("{setting}: {why}")]
    Setting {
        /// The variable, or `endpoint` for the argument.
        setting: String,
        /// What is wrong, and what to write.
        why: String,
    },
    /// The thread that exports cannot be started.
    #[error("the thread that exports spans cannot be started")]
    Thread(#[source] std::io::Error),
    /// The collector did not take what it was sent.
    #[error("the collector at {endpoint} did not take the spans: {why}")]
    Export {
        /// Where they were sent to.
        endpoint: String,
        /// What the collector or the network said.
        why: String,
    },
    /// Spans were given up: more than there is room for, or refused by the collector.
    #[error("{count} spans are lost")]
    Lost {
        /// How many since the last report.
        count: u64,
    },
    /// The exporter was shut down before.
    #[error("the exporter was shut down")]
    Stopped,
}
