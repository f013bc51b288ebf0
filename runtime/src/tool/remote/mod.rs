//! Tools of other servers of the Model Context Protocol: not sandboxed, but under the same names, rules, hooks, deadlines
//! and bounds as all others.
//!
//! In reading order: [`load`] makes tools of what a configuration names, `opening` waits for their servers, `server` is one server with what is known of it,
//! `client` one connection to it, `link`, `stdio` and `http` the way there, `pending` and `message` what goes over it, which
//! `reader` and `kept` bound; `catalog` and `names` bound what a server offers, `result` what it gives.
//!
//! What a server says of its tools is what models act on, so it counts only as it was when its operator approved it
//! ([`Pins`](crate::policy::Pins)). What it claims beyond that (that a tool only reads, say) counts for nothing, and what it
//! asks for (a model's answer, folders, a user's input) it does not get.

mod catalog;
mod client;
mod frames;
#[cfg(feature = "http")]
mod http;
mod kept;
mod link;
mod load;
mod media;
mod message;
mod names;
mod opening;
mod pending;
mod reach;
mod reader;
mod result;
mod running;
mod server;
mod stdio;

use std::sync::Arc;

use crate::policy::Digest;
use crate::tool::ArgumentSchema;
pub(crate) use load::{Remotes, Under, load, tools_of};
pub(crate) use opening::Patience;
pub(crate) use running::Running;
pub(crate) use server::{Server, Tell};

/// What is called when a tool of another server is.
pub(crate) struct RemoteBody {
    pub server: Arc<Server>,
    /// The server's own name of it.
    pub name: String,
    /// The digest of what is told of it.
    pub identity: Digest,
    pub arguments: Arc<ArgumentSchema>,
    /// What is wrong with it since it was loaded.
    pub unapproved: Option<Off>,
}

/// Why a tool of another server is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Off {
    /// It came later than the approval.
    New,
    /// It is not what was approved.
    Changed,
    /// Its server has it no longer.
    Gone,
}

impl RemoteBody {
    /// Why it cannot be called, if it cannot.
    pub fn off(&self) -> Option<Off> {
        self.unapproved.or_else(|| match self.server.offered(&self.name) {
            Some(identity) if identity == self.identity => None,
            Some(_) => Some(Off::Changed),
            None => Some(Off::Gone),
        })
    }

    /// The address under which it is approved.
    pub fn address(&self) -> String {
        format!("{}.{}", self.server.component(), self.name)
    }
}

impl Off {
    /// In words, after the tool's name.
    pub fn words(self) -> &'static str {
        match self {
            Self::New => "is new since its server was approved",
            Self::Changed => "has changed since it was approved",
            Self::Gone => "is no longer offered by its server",
        }
    }
}
