//! Servers on this machine, as good or as bad as a test wants them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// What a server was asked.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Method, target and version.
    pub line: String,
    /// The headers as they came, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, without its framing.
    pub body: Vec<u8>,
}

impl Asked {
    /// The values of a header.
    pub fn header(&self, name: &str) -> Vec<&str> {
        self.headers.iter().filter(|(other, _)| other == name).map(|(_, value)| value.as_str()).collect()
    }
}

/// A server; gone with the process, or when it is closed.
#[derive(Debug)]
pub struct HttpServer {
    port: u16,
    seen: Arc<Mutex<Seen>>,
    listening: Option<thread::JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Seen {
    connections: usize,
    is_closed: bool,
    asked: Vec<Asked>,
}

#[expect(clippy::panic, reason = "a test that cannot set up fails")]
impl HttpServer {
    /// A server that does with each connection what `serve` says.
    pub fn raw(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        Self::connections(move |stream, _| serve(stream))
    }

    /// A server that writes to each request what `answer` says, head and all, and keeps the connection open.
    pub fn answering(answer: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::connections(move |stream, seen| {
            talk(BufReader::new(stream), seen, &answer);
        })
    }

    /// The same over TLS, as `localhost`, by a certificate for which the root in `tests/tls` vouches and no other.
    pub fn encrypted(answer: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let config = Arc::new(tls());
        Self::connections(move |stream, seen| {
            let Ok(connection) = rustls::ServerConnection::new(Arc::clone(&config)) else { return };
            talk(BufReader::new(rustls::StreamOwned::new(connection, stream)), seen, &answer);
        })
    }

    /// A server that answers every request with this text.
    pub fn saying(text: &'static str) -> Self {
        Self::answering(move |_| ok(&[], text.as_bytes()))
    }

    fn connections(serve: impl Fn(TcpStream, &Mutex<Seen>) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap_or_else(|error| panic!("{error}"));
        let port = listener.local_addr().unwrap_or_else(|error| panic!("{error}")).port();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (shared, serve) = (Arc::clone(&seen), Arc::new(serve));
        let listening = thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if lock(&shared).is_closed {
                    return;
                }
                lock(&shared).connections += 1;
                let (shared, serve) = (Arc::clone(&shared), Arc::clone(&serve));
                thread::spawn(move || serve(stream, &shared));
            }
        });
        Self { port, seen, listening: Some(listening) }
    }

    /// Listens no longer: whoever connects is refused.
    pub fn close(mut self) {
        lock(&self.seen).is_closed = true;
        let woken = TcpStream::connect(("127.0.0.1", self.port));
        let ended = self.listening.take().map(thread::JoinHandle::join);
        drop(woken);
        assert!(ended.is_some_and(|ended| ended.is_ok()));
        assert!(
            TcpStream::connect(("127.0.0.1", self.port)).is_err(),
            "the port {} is still open",
            self.port
        );
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its origin by address.
    pub fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Connections that came.
    pub fn connections_seen(&self) -> usize {
        lock(&self.seen).connections
    }

    /// Requests that came, in the order in which they were answered.
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.seen).asked.clone()
    }
}

/// Answers what comes over one connection.
fn talk<S: Read + Write>(mut stream: BufReader<S>, seen: &Mutex<Seen>, answer: &impl Fn(&Asked) -> Vec<u8>) {
    while let Some(asked) = read(&mut stream) {
        let answer = answer(&asked);
        lock(seen).asked.push(asked);
        let writing = stream.get_mut();
        if writing.write_all(&answer).and_then(|()| writing.flush()).is_err() {
            return;
        }
    }
}

#[expect(clippy::panic, reason = "a test that cannot set up fails")]
fn tls() -> rustls::ServerConfig {
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};

    let certificates = CertificateDer::pem_slice_iter(include_bytes!("../tls/server.pem")).collect();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("../tls/server.key"));
    let (certificates, key) = match (certificates, key) {
        (Ok(certificates), Ok(key)) => (certificates, key),
        (Err(error), _) | (_, Err(error)) => panic!("{error}"),
    };
    rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, key))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn lock(seen: &Mutex<Seen>) -> std::sync::MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A response of status 200.
pub fn ok(headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    response("200 OK", headers, body)
}

/// A response with its length.
pub fn response(status: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let mut whole = format!("{head}\r\n").into_bytes();
    whole.extend_from_slice(body);
    whole
}

fn read(stream: &mut impl BufRead) -> Option<Asked> {
    let mut asked = Asked { line: line(stream)?, ..Asked::default() };
    loop {
        let header = line(stream)?;
        match header.split_once(':') {
            Some((name, value)) => asked.headers.push((name.to_ascii_lowercase(), value.trim().to_owned())),
            None => break,
        }
    }
    if asked.header("transfer-encoding") == ["chunked"] {
        loop {
            let size = usize::from_str_radix(&line(stream)?, 16).ok()?;
            let mut chunk = vec![0; size];
            stream.read_exact(&mut chunk).ok()?;
            line(stream)?;
            if size == 0 {
                return Some(asked);
            }
            asked.body.append(&mut chunk);
        }
    }
    let length = asked.header("content-length").first().and_then(|length| length.parse().ok()).unwrap_or(0);
    asked.body = vec![0; length];
    stream.read_exact(&mut asked.body).ok()?;
    Some(asked)
}

fn line(stream: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    let read = stream.read_line(&mut line).ok()?;
    (read > 0).then(|| line.trim_end().to_owned())
}
