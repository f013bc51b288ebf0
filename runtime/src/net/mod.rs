//! Where requests over HTTP go: origins and patterns of them in one spelling, what kind of address a name leads to, and
//! connections to exactly the address that was looked at. It knows no guest and no tool.

mod address;
#[cfg(feature = "http")]
mod connect;
#[cfg(feature = "http")]
mod connection;
mod header;
#[cfg(feature = "http")]
mod hosts;
#[cfg(feature = "http")]
mod lookup;
#[cfg(feature = "http")]
mod network;
mod origin;
mod pattern;
#[cfg(feature = "http")]
mod pool;
#[cfg(feature = "http")]
mod resolve;
#[cfg(feature = "http")]
mod tls;
#[cfg(feature = "http")]
mod traffic;

pub use address::{AddressClass, Reach, classify};
#[cfg(feature = "http")]
pub(crate) use connect::{ConnectError, Connector};
#[cfg(feature = "http")]
pub(crate) use connection::Connection;
pub(crate) use header::is_header_name;
#[cfg(feature = "http")]
pub(crate) use lookup::Asker;
#[cfg(feature = "http")]
pub(crate) use network::Network;
#[cfg(feature = "oci")]
pub(crate) use network::Task;
pub use origin::{Host, Origin, Scheme};
pub use pattern::OriginPattern;
#[cfg(feature = "http")]
pub(crate) use pool::Pool;
#[cfg(feature = "http")]
pub use resolve::{Resolver, SystemResolver};
#[cfg(feature = "http")]
pub(crate) use tls::client_config;
#[cfg(feature = "http")]
pub(crate) use traffic::{Count, Exceeded};
