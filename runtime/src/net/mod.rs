//! Where requests over HTTP go: origins and patterns of them in one spelling, what kind of address a name leads to, and
//! connections to exactly the address that was looked at. It knows no guest and no tool.

mod address;
#[cfg(feature = "http")]
mod connect;
#[cfg(feature = "http")]
mod connection;
mod header;
mod origin;
mod pattern;
#[cfg(feature = "http")]
mod pool;
#[cfg(feature = "http")]
mod resolve;
#[cfg(feature = "http")]
mod tls;

pub use address::{AddressClass, Reach, classify};
#[cfg(feature = "http")]
pub(crate) use connect::{ConnectError, Connector};
#[cfg(feature = "http")]
pub(crate) use connection::Connection;
pub(crate) use header::is_header_name;
pub use origin::{Host, Origin, Scheme};
pub use pattern::OriginPattern;
#[cfg(feature = "http")]
pub(crate) use pool::Pool;
#[cfg(feature = "http")]
pub use resolve::{Resolver, SystemResolver};
#[cfg(feature = "http")]
pub(crate) use tls::client_config;
