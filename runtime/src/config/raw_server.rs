//! The server over HTTP as it is written in the file.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::amount::Amount;
use super::raw::RawKey;
use super::shared::RawShared;

/// Who may reach the server over HTTP, and how much of it each may take up.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table", default)]
pub(super) struct RawServer {
    /// Hosts that it is reached by, with a port where only that one is meant, beside loopback's names and the address
    /// that it listens on. A request that names another is refused: web pages can make browsers send such.
    pub(super) hosts: Vec<String>,
    /// Origins of web pages that may use it, such as "https://app.example.org", beside its own. Default none.
    pub(super) origins: Vec<String>,
    /// The principals, by name, each with where its bearer token comes from. Default none: then whoever reaches the
    /// server is one principal, and it listens on loopback alone.
    pub(super) tokens: BTreeMap<String, RawKey>,
    /// Bytes of one message. Default "32MiB", which is the most.
    pub(super) max_body: Option<Amount>,
    /// Connections at once. For another, the oldest on which nobody has shown yet who asks gives way, else one of whoever has
    /// most on which no call runs; while calls run on all, others wait. Default 1024.
    pub(super) connections: Option<Amount>,
    /// Requests of one principal at once; subscriptions, answers to questions and notifications are none. Default 64.
    pub(super) requests: Option<Amount>,
    /// Sessions that one principal may have; one more ends the one that was idle for longest. As many subscriptions outside
    /// of sessions. Default 256.
    pub(super) sessions: Option<Amount>,
    /// For how long a session lives that nobody uses. Default "30m".
    pub(super) session_timeout: Option<Amount>,
    /// For how long a connection may say nothing, and how long the headers of a request may take. Default "30s".
    pub(super) header_timeout: Option<Amount>,
    /// How long a message may take to come. Default "30s".
    pub(super) body_timeout: Option<Amount>,
    /// For how long a peer may read nothing of what it is sent. Default "30s".
    pub(super) write_timeout: Option<Amount>,
    /// How long calls may go on when the server is to end. Default "10s".
    pub(super) drain_timeout: Option<Amount>,
    /// What several instances of one server share, behind a proxy that sends a client to any of them. Default nothing: then a
    /// session, its questions and its outputs are of the instance that it began at.
    pub(super) shared: Option<RawShared>,
}
