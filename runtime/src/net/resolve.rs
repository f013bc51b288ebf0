//! Names to addresses.

use std::io;
use std::net::IpAddr;

/// Finds the addresses of a name. It is asked once for each connection, and the connection is made to what it said.
#[async_trait::async_trait]
pub trait Resolver: Send + Sync {
    /// The addresses of `name`, which is in lower case and has no final dot, the best first.
    ///
    /// # Errors
    /// When the name is not known or nobody could be asked.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Asks the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

#[async_trait::async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        // With the final dot no search domain of this host is tried: the grant names the whole name. A name without
        // dots is one of the host's own files or networks.
        let whole = if name.contains('.') { format!("{name}.") } else { name.to_owned() };
        Ok(tokio::net::lookup_host((whole.as_str(), 0)).await?.map(|address| address.ip()).collect())
    }
}
