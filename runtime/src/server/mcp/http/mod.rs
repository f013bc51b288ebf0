//! The protocol over HTTP: one endpoint, `/mcp`, for both eras, guarded for a world in which web pages, other users and
//! slow peers reach it.
//!
//! In reading order: `listen` takes connections and lets them go, `endpoint` is the way of one request past the `door`: `guard`
//! (which host and origin it names) and `tokens` (who asks); `era` holds its headers against its message, `exchange` runs it,
//! `sessions` are those that a handshake began, `instances` others of this server that know them too, `body` is what is sent back, and `metrics` what can be watched.

mod body;
mod caller;
mod door;
mod endpoint;
mod era;
mod exchange;
mod guard;
mod instances;
mod listen;
mod metrics;
mod newcomers;
mod patience;
mod reply;
mod sessions;
mod tokens;

pub use door::{AccessChange, HttpAccess};
pub use listen::HttpServer;
