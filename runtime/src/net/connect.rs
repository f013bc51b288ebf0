//! Connections to the address that was looked at: the name is resolved once, every answer is judged, and no other
//! lookup happens.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio_rustls::TlsConnector;

use super::address::{AddressClass, Reach, classify};
use super::connection::Connection;
use super::lookup::{Asker, LookupError};
use super::network::{Network, Task};
use super::origin::{Host, Origin, Scheme};

/// Addresses of one name that are tried.
const MAX_ADDRESSES: usize = 8;

/// How long an address may take to answer while another is left to try.
const NEXT_AFTER: Duration = Duration::from_secs(3);

/// A connection, encrypted or not.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ConnectError {
    /// The name is not known.
    #[error("the name `{name}` has no address: {reason}")]
    Unknown {
        /// The name.
        name: String,
        /// What the resolver said.
        reason: String,
    },
    /// So many names are looked up that this one has to wait.
    #[error("too many names are looked up at this time; try again")]
    Busy,
    /// An address that is out of reach.
    #[error("`{host}` leads to the {class} address {address}")]
    Prohibited {
        /// The host.
        host: String,
        /// One of its addresses.
        address: IpAddr,
        /// What it is.
        class: AddressClass,
    },
    /// Nobody answers.
    #[error("cannot connect to {address}: {}", source.kind())]
    Unreachable {
        /// The last address that was tried.
        address: SocketAddr,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// The server did not prove who it is, or speaks no TLS.
    #[error("no TLS with `{host}`: {source}")]
    Tls {
        /// The host.
        host: String,
        /// What went wrong.
        #[source]
        source: io::Error,
    },
    /// The connection ended as soon as it was there.
    #[error("the connection broke")]
    Broken(#[source] hyper::Error),
    /// This host cannot drive connections.
    #[error("no thread for connections: {}", .0.kind())]
    NoThread(#[source] io::Error),
}

/// Makes connections.
#[derive(Clone)]
pub(crate) struct Connector {
    network: Arc<Network>,
    asker: Arc<Asker>,
    tls: Arc<ClientConfig>,
}

impl Connector {
    /// One that looks up names for `asker` and trusts servers by `tls`.
    pub fn new(network: Arc<Network>, asker: Arc<Asker>, tls: Arc<ClientConfig>) -> Self {
        Self { network, asker, tls }
    }

    /// A connection to `origin` that speaks HTTP, if all addresses of its host are within `reach`. The caller bounds the
    /// time.
    ///
    /// # Errors
    /// Says why there is none.
    pub async fn open<B>(&self, origin: &Origin, reach: Reach) -> Result<Connection<B>, ConnectError>
    where
        B: hyper::body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let stream = self.connect(origin, reach).await?;
        let handle = self.network.handle().map_err(no_thread)?;
        Connection::open(stream, &handle).await.map_err(ConnectError::Broken)
    }

    async fn connect(&self, origin: &Origin, reach: Reach) -> Result<Box<dyn Stream>, ConnectError> {
        let handle = self.network.handle().map_err(no_thread)?;
        let addresses = self.addresses(&origin.host, &handle).await?;
        // One that is out of reach spoils the others: who answers so for a name may mean the next lookup, or a
        // connection that fails over.
        for address in &addresses {
            let class = classify(*address);
            if !reach.admits(class) {
                return Err(ConnectError::Prohibited {
                    host: origin.host.to_string(),
                    address: *address,
                    class,
                });
            }
        }
        let (tls, origin) = (Arc::clone(&self.tls), origin.clone());
        let connecting = Task::spawn(&handle, async move {
            let stream = connect_to_one(&addresses, &origin).await?;
            match origin.scheme {
                Scheme::Http => Ok(Box::new(stream) as Box<dyn Stream>),
                Scheme::Https => encrypt(tls, stream, &origin.host).await,
            }
        });
        connecting.end().await.map_err(no_thread)?
    }

    async fn addresses(&self, host: &Host, handle: &Handle) -> Result<Vec<IpAddr>, ConnectError> {
        let name = match host {
            Host::Address(address) => return Ok(vec![*address]),
            // Never asked for: by definition it is this host, and an answer could only be wrong.
            Host::Name(_) if host.is_localhost() => {
                return Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]);
            }
            Host::Name(name) => name,
        };
        let unknown = |reason: String| ConnectError::Unknown { name: name.clone(), reason };
        let found = self.network.lookups().find(name, &self.asker, handle).await;
        let found = found.map_err(|error| match error {
            LookupError::Failed(reason) => unknown(reason),
            LookupError::Busy => ConnectError::Busy,
        })?;
        let mut addresses: Vec<IpAddr> = Vec::new();
        for address in found.iter().map(IpAddr::to_canonical) {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        if addresses.is_empty() {
            return Err(unknown("there is none".to_owned()));
        }
        Ok(addresses)
    }
}

fn no_thread(source: io::Error) -> ConnectError {
    ConnectError::NoThread(source)
}

async fn encrypt(
    tls: Arc<ClientConfig>,
    stream: TcpStream,
    host: &Host,
) -> Result<Box<dyn Stream>, ConnectError> {
    let failed = |source: io::Error| ConnectError::Tls { host: host.to_string(), source };
    let name = match host {
        Host::Address(address) => ServerName::from(*address),
        Host::Name(name) => ServerName::try_from(name.clone())
            .map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidInput, error)))?,
    };
    Ok(Box::new(TlsConnector::from(tls).connect(name, stream).await.map_err(failed)?))
}

/// The first of the addresses that answers.
async fn connect_to_one(addresses: &[IpAddr], origin: &Origin) -> Result<TcpStream, ConnectError> {
    let mut left = addresses.iter().take(MAX_ADDRESSES).peekable();
    let mut last = None;
    while let Some(address) = left.next() {
        let address = SocketAddr::new(*address, origin.port);
        let connecting = TcpStream::connect(address);
        let connected = match left.peek() {
            None => connecting.await,
            Some(_) => tokio::time::timeout(NEXT_AFTER, connecting)
                .await
                .unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut))),
        };
        match connected {
            Ok(stream) => {
                // Requests are written whole; waiting for more would only delay them.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Err(source) => last = Some(ConnectError::Unreachable { address, source }),
        }
    }
    Err(last.unwrap_or_else(|| ConnectError::Unknown {
        name: origin.host.to_string(),
        reason: "there is none".to_owned(),
    }))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test's failure is its report")]

    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::net::TcpListener;

    use super::super::resolve::Resolver;
    use super::super::tls::client_config;
    use super::*;

    /// Answers by turns, and counts how often it was asked.
    struct Turns(Mutex<Vec<Vec<IpAddr>>>, AtomicUsize);

    #[async_trait::async_trait]
    impl Resolver for Turns {
        async fn resolve(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
            self.1.fetch_add(1, Ordering::Relaxed);
            let mut turns = self.0.lock().unwrap();
            Ok(if turns.len() > 1 { turns.remove(0) } else { turns[0].clone() })
        }
    }

    fn connector(turns: &[&[&str]]) -> (Connector, Arc<Turns>) {
        let parsed =
            turns.iter().map(|turn| turn.iter().map(|address| address.parse().unwrap()).collect()).collect();
        let turns = Arc::new(Turns(Mutex::new(parsed), AtomicUsize::new(0)));
        let network = Arc::new(Network::new(Arc::clone(&turns) as Arc<dyn Resolver>));
        (Connector::new(network, Arc::default(), client_config(None).unwrap()), turns)
    }

    async fn refused(answers: &[&str], reach: Reach) -> Option<AddressClass> {
        let (connector, turns) = connector(&[answers]);
        let origin = Origin::parse("http://name.example:1").unwrap();
        let end = connector.connect(&origin, reach).await;
        assert_eq!(turns.1.load(Ordering::Relaxed), 1);
        match end {
            Err(ConnectError::Prohibited { class, .. }) => Some(class),
            _ => None,
        }
    }

    #[tokio::test]
    async fn one_address_out_of_reach_spoils_the_answer() {
        use AddressClass::{LinkLocal, Loopback, Metadata, Private};
        for (answers, class) in [
            (&["93.184.216.34", "127.0.0.1"][..], Loopback),
            (&["127.0.0.1"], Loopback),
            (&["::ffff:127.0.0.1"], Loopback),
            (&["10.0.0.1"], Private),
            (&["fd00::1"], Private),
            (&["fe80::1"], LinkLocal),
            (&["169.254.169.254"], Metadata),
        ] {
            assert_eq!(refused(answers, Reach::Public).await, Some(class), "{answers:?}");
        }
        assert_eq!(refused(&["169.254.169.254"], Reach::Private).await, Some(Metadata));
        assert_eq!(refused(&["169.254.42.42"], Reach::Private).await, Some(LinkLocal));
        assert_eq!(refused(&["10.0.0.1", "93.184.216.34"], Reach::Inside).await, Some(AddressClass::Public));
        assert_eq!(refused(&["127.0.0.1"], Reach::Private).await, None);
    }

    #[tokio::test]
    async fn the_address_that_was_judged_is_the_one_that_is_connected_to() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        // A second lookup would lead elsewhere, and be refused.
        let (connector, turns) = connector(&[&["127.0.0.1"], &["10.0.0.1"]]);
        let origin = Origin::parse(&format!("http://name.example:{port}")).unwrap();
        assert!(connector.connect(&origin, Reach::Private).await.is_ok());
        assert_eq!(turns.1.load(Ordering::Relaxed), 1);
        let localhost = Origin::parse(&format!("http://localhost:{port}")).unwrap();
        assert!(connector.connect(&localhost, Reach::Loopback).await.is_ok());
        assert_eq!(turns.1.load(Ordering::Relaxed), 1);
    }

    /// The port of a server that proves to be `localhost`, by a root that nobody knows.
    async fn encrypted() -> u16 {
        use rustls::pki_types::pem::PemObject as _;
        use rustls::pki_types::{CertificateDer, PrivateKeyDer};
        let certificate = include_bytes!("../../../tests/tls/server.pem");
        let key = include_bytes!("../../../tests/tls/server.key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                CertificateDer::pem_slice_iter(certificate).collect::<Result<_, _>>().unwrap(),
                PrivateKeyDer::from_pem_slice(key).unwrap(),
            )
            .unwrap();
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move { drop(acceptor.accept(stream).await) });
            }
        });
        port
    }

    #[tokio::test]
    async fn a_server_proves_who_it_is() {
        let port = encrypted().await;
        let root = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/tls/root.pem"));
        let network = || Arc::new(Network::new(connector(&[&["127.0.0.1"]]).1 as Arc<dyn Resolver>));
        let trusting = Connector::new(network(), Arc::default(), client_config(Some(root)).unwrap());
        let origin = |host: &str| Origin::parse(&format!("https://{host}:{port}")).unwrap();
        for host in ["localhost", "127.0.0.1"] {
            assert!(trusting.connect(&origin(host), Reach::Any).await.is_ok(), "{host}");
        }
        let another = trusting.connect(&origin("other.example"), Reach::Any).await;
        assert!(matches!(another, Err(ConnectError::Tls { .. })), "another name than the certificate's");
        let stranger = Connector::new(network(), Arc::default(), client_config(None).unwrap());
        let unknown = stranger.connect(&origin("localhost"), Reach::Any).await;
        assert!(matches!(unknown, Err(ConnectError::Tls { .. })), "a root that nobody named");
        let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = plain.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = plain.accept().await {
                tokio::io::AsyncWriteExt::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n")
                    .await
                    .unwrap();
            }
        });
        let no_tls = Origin::parse(&format!("https://localhost:{port}")).unwrap();
        let end = trusting.connect(&no_tls, Reach::Any).await;
        assert!(matches!(end, Err(ConnectError::Tls { .. })));
        let missing = client_config(Some(std::path::Path::new("/no/such.pem"))).unwrap_err();
        assert!(missing.contains("/no/such.pem"), "{missing}");
        let no_certificate = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        assert!(
            client_config(Some(std::path::Path::new(no_certificate)))
                .unwrap_err()
                .contains("has no certificate")
        );
    }
}
