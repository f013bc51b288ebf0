//! A provider of models on this machine, which answers what it was told to.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use serde_json::Value;

/// What the server does with one request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// An answer: its status and its body.
    Answer(u16, String),
    /// None, as long as the server is there.
    Silence,
}

/// What was asked.
#[derive(Debug, Clone)]
pub struct Request {
    /// Method and path.
    pub target: String,
    /// The headers as they came, a line each, in lower case.
    pub headers: Vec<String>,
    /// The body.
    pub body: Value,
}

/// The server; gone with the process.
#[derive(Debug)]
pub struct ModelServer {
    url: String,
    seen: Arc<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    requests: Mutex<Vec<Request>>,
    came: Condvar,
}

#[expect(clippy::panic, reason = "a test that cannot set up fails")]
impl ModelServer {
    /// A server that gives these replies in this order, and then errors.
    pub fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap_or_else(|error| panic!("{error}"));
        let address = listener.local_addr().unwrap_or_else(|error| panic!("{error}"));
        let seen = Arc::new(Seen::default());
        let mut replies: VecDeque<Reply> = replies.into_iter().collect();
        let shared = Arc::clone(&seen);
        thread::spawn(move || {
            let mut silent = Vec::new();
            for mut stream in listener.incoming().map_while(Result::ok) {
                let Some(request) = read(&stream) else { continue };
                let none = Reply::Answer(500, r#"{"error":{"message":"no reply is left"}}"#.to_owned());
                let reply = replies.pop_front().unwrap_or(none);
                shared.add(request);
                match reply {
                    Reply::Answer(status, body) => drop(answer(&mut stream, status, &body)),
                    Reply::Silence => silent.push(stream),
                }
            }
        });
        Self { url: format!("http://{address}"), seen }
    }

    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What was asked so far.
    pub fn requests(&self) -> Vec<Request> {
        self.seen.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for the request that is the `count`th.
    pub async fn request(&self, count: usize) {
        let seen = Arc::clone(&self.seen);
        let waiting = tokio::task::spawn_blocking(move || seen.wait_for(count));
        waiting.await.unwrap_or_else(|error| panic!("{error}"));
    }
}

impl Seen {
    fn wait_for(&self, count: usize) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        while requests.len() < count {
            requests = self.came.wait(requests).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn add(&self, request: Request) {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        self.came.notify_all();
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        Some(line.trim_end().to_owned())
    };
    let target = line()?;
    let headers: Vec<String> = std::iter::from_fn(|| line().filter(|line| !line.is_empty())).collect();
    let headers: Vec<String> = headers.iter().map(|header| header.to_lowercase()).collect();
    let length = headers.iter().find_map(|header| header.strip_prefix("content-length:"))?;
    let mut body = vec![0; length.trim().parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some(Request { target, headers, body: serde_json::from_slice(&body).ok()? })
}

fn answer(stream: &mut TcpStream, status: u16, body: &str) -> std::io::Result<()> {
    let length = body.len();
    write!(stream, "HTTP/1.1 {status} It\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n")?;
    write!(stream, "connection: close\r\n\r\n{body}")?;
    stream.flush()
}
