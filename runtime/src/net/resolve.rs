//! Names to addresses.

use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::sync::{Arc, LazyLock};

use tokio::sync::{Semaphore, oneshot};

use super::hosts;

/// Finds the addresses of a name. It is asked once for each connection, and the connection is made to what it said.
#[async_trait::async_trait]
pub trait Resolver: Send + Sync {
    /// The addresses of `name`, which is in lower case and has no final dot, the best first. It is asked for one name by
    /// one look-up at a time, and a look-up that nobody awaits any more is not dropped: it counts until it ends.
    ///
    /// # Errors
    /// When the name is not known or nobody could be asked.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Asks the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

/// What the operating system is asked at once by this process. Each question holds a thread until it is answered, which a
/// name server that is silent puts off by half a minute, whoever still waits for it.
const AT_ONCE: usize = 16;

static PLACES: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(AT_ONCE)));

/// What the operating system said, in words that may be shown: nothing of them is this host's.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct SystemSaid(String);

#[async_trait::async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let name = name.to_owned();
        on_a_thread(&PLACES, move || look_up(&name)).await?
    }
}

/// Does `work` on a thread of its own, of which there are as many as `places`. A place is taken until the work is done, also
/// where nobody waits for it any more.
async fn on_a_thread<T: Send + 'static>(
    places: &Arc<Semaphore>,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let place = Arc::clone(places).acquire_owned().await.map_err(io::Error::other)?;
    let (answer, answered) = oneshot::channel();
    std::thread::Builder::new().name("toolcell-name".to_owned()).spawn(move || {
        let done = work();
        drop(place);
        let _ = answer.send(done);
    })?;
    answered.await.map_err(io::Error::other)
}

/// Blocks until the operating system has answered.
fn look_up(name: &str) -> io::Result<Vec<IpAddr>> {
    if !name.contains('.') {
        // One of the host's own files or networks.
        return asked(name);
    }
    // With the final dot no search domain of this host is tried: the grant names the whole name. By that dot no name in
    // the file of hosts is found.
    match hosts::addresses(name) {
        known if known.is_empty() => asked(&format!("{name}.")),
        known => Ok(known),
    }
}

fn asked(name: &str) -> io::Result<Vec<IpAddr>> {
    match (name, 0).to_socket_addrs() {
        Ok(found) => Ok(found.map(|address| address.ip()).collect()),
        Err(error) => {
            let text = error.to_string();
            let reason = text.rsplit_once(": ").map_or(text.as_str(), |(_, reason)| reason);
            let said = format!("{}; the name was looked for as it is", reason.to_lowercase());
            Err(io::Error::new(error.kind(), SystemSaid(said)))
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test's failure is its report")]

    use super::*;

    #[tokio::test]
    async fn a_thread_that_nobody_waits_for_keeps_its_place() {
        let places = Arc::new(Semaphore::new(2));
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        let work = on_a_thread(&places, move || is_done.recv().is_ok());
        assert!(tokio::time::timeout(std::time::Duration::ZERO, work).await.is_err());
        assert_eq!(places.available_permits(), 1);
        assert_eq!(on_a_thread(&places, || 7).await.unwrap(), 7);
        done.send(()).unwrap();
        drop(places.acquire_many(2).await.unwrap());
    }

    #[tokio::test]
    async fn the_system_knows_this_host_and_says_why_it_knows_no_other() {
        let found = SystemResolver.resolve("localhost").await.unwrap();
        assert!(found.iter().all(IpAddr::is_loopback) && !found.is_empty(), "{found:?}");
        let unknown = SystemResolver.resolve("no-such-name.invalid").await.unwrap_err();
        let said = unknown.get_ref().unwrap().downcast_ref::<SystemSaid>().unwrap().to_string();
        assert!(said.ends_with("; the name was looked for as it is") && said.len() > 45, "{said}");
    }
}
