//! Servers on this machine, as good or as bad as a test wants them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
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

/// A server; gone with the process.
#[derive(Debug)]
pub struct HttpServer {
    port: u16,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    connections: usize,
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
            let Ok(mut writing) = stream.try_clone() else { return };
            let mut reading = BufReader::new(stream);
            while let Some(asked) = read(&mut reading) {
                let answer = answer(&asked);
                lock(seen).asked.push(asked);
                if writing.write_all(&answer).is_err() {
                    return;
                }
            }
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
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                lock(&shared).connections += 1;
                let (shared, serve) = (Arc::clone(&shared), Arc::clone(&serve));
                thread::spawn(move || serve(stream, &shared));
            }
        });
        Self { port, seen }
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

fn read(stream: &mut BufReader<TcpStream>) -> Option<Asked> {
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

fn line(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = String::new();
    let read = stream.read_line(&mut line).ok()?;
    (read > 0).then(|| line.trim_end().to_owned())
}
