//! A server over HTTP in a process of its own, and a client that sends exactly what a test says.

use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::mcp_client::current;

/// How long an answer may take; a machine that is busy with other tests is slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server in a process of its own.
pub struct HttpServer {
    /// None for another way to one that runs.
    child: Option<Child>,
    /// Its address and port.
    pub address: String,
    /// The lines that it says after it listens.
    said: Option<Mutex<Receiver<String>>>,
}

/// A request with the headers that clients send.
#[derive(Clone)]
pub struct HttpRequest {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// A response, whose body comes as it is sent.
pub struct HttpResponse {
    /// Its status.
    pub status: u16,
    headers: Vec<(String, String)>,
    body: Box<dyn BufRead + Send>,
}

impl HttpRequest {
    /// A request without a body.
    pub fn new(method: &str, path: &str) -> Self {
        Self { method: method.to_owned(), path: path.to_owned(), headers: Vec::new(), body: Vec::new() }
    }

    /// A message to the endpoint, as clients send it.
    pub fn post(message: &Value) -> Self {
        Self::new("POST", "/mcp")
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .body(message.to_string())
    }

    /// A request of 2026-07-28 with all that it must say, in the message and in headers.
    pub fn current(id: impl Into<Value>, method: &str, mut params: Value, capabilities: Value) -> Self {
        let named =
            params.get("name").or_else(|| params.get("uri")).and_then(Value::as_str).map(str::to_owned);
        if let Value::Object(members) = &mut params {
            members.insert("_meta".to_owned(), current(capabilities));
        }
        let message = json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params });
        let request =
            Self::post(&message).header("MCP-Protocol-Version", "2026-07-28").header("Mcp-Method", method);
        match named {
            Some(named) => request.header("Mcp-Name", &named),
            None => request,
        }
    }

    /// Adds a header; one of that name that is there already is replaced, an empty one is left out.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        if !value.is_empty() {
            self.headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// With this body.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// The bytes that are sent to `address`.
    pub fn bytes(&self, address: &str) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        let has = |name: &str| self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        if !has("host") {
            head.push_str(&format!("Host: {address}\r\n"));
        }
        if !has("content-length") {
            head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        [head.as_bytes(), b"\r\n", &self.body].concat()
    }
}

#[expect(clippy::panic, reason = "a server that does not answer fails the test")]
impl HttpServer {
    /// Starts the server, and waits until it listens.
    pub fn start(command: &mut Command) -> Self {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let child = child.unwrap_or_else(|error| panic!("cannot run the server: {error}"));
        // Waited for whatever happens from here on.
        let mut server = Self { child: Some(child), address: String::new(), said: None };
        let errors = server.child.as_mut().and_then(|child| child.stderr.take());
        let errors = errors.unwrap_or_else(|| panic!("no standard error"));
        let (sender, lines) = channel();
        // Read to the end, so that the server never waits for a reader.
        std::thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let mut said = Vec::new();
        loop {
            let line =
                lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("it does not listen: {said:?}"));
            if let Some((_, address)) = line.split_once("listening on http://") {
                address.trim_end_matches("/mcp").clone_into(&mut server.address);
                server.said = Some(Mutex::new(lines));
                return server;
            }
            said.push(line);
        }
    }

    /// Another address of one that runs.
    pub fn at(address: String) -> Self {
        Self { child: None, address, said: None }
    }

    /// Waits until it says a line with `text` in it on its standard error; what came before that is forgotten.
    pub fn says(&self, text: &str) {
        let lines = self.said.as_ref().unwrap_or_else(|| panic!("no process"));
        let lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let line = lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("it does not say `{text}`"));
            if line.contains(text) {
                return;
            }
        }
    }

    /// A connection to it.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap_or_else(|error| panic!("{error}"));
        let set = stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.set_nodelay(true));
        set.unwrap_or_else(|error| panic!("{error}"));
        stream
    }

    /// Sends a request over a connection of its own.
    pub fn send(&self, request: HttpRequest) -> HttpResponse {
        let mut stream = self.connect();
        let bytes = request.header("Connection", "close").bytes(&self.address);
        stream.write_all(&bytes).unwrap_or_else(|error| panic!("{error}"));
        HttpResponse::read(stream)
    }

    /// The most memory that it has had, in bytes.
    pub fn peak_memory(&self) -> u64 {
        let child = self.child.as_ref().unwrap_or_else(|| panic!("no process"));
        crate::process::peak_of(child.id())
    }

    /// Asks it to end.
    pub fn terminate(&self) {
        let child = self.child.as_ref().unwrap_or_else(|| panic!("no process"));
        let ended = Command::new("kill").arg(child.id().to_string()).status();
        assert!(ended.is_ok_and(|status| status.success()), "the server is gone already");
    }

    /// Waits for its end. The exit code.
    pub fn wait(&mut self) -> i32 {
        let child = self.child.as_mut().unwrap_or_else(|| panic!("no process"));
        child.wait().unwrap_or_else(|error| panic!("{error}")).code().unwrap_or(-1)
    }

    /// Shakes hands, and gives the session's handle.
    pub fn initialize(&self, capabilities: Value, with: impl Fn(HttpRequest) -> HttpRequest) -> String {
        let client = json!({ "name": "a test", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client });
        let message = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let mut response = self.send(with(HttpRequest::post(&message)));
        let session = response.header("mcp-session-id").unwrap_or_default().to_owned();
        assert_eq!((response.status, session.len()), (200, 32), "{}", response.text());
        session
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[expect(clippy::panic, reason = "a response that is none fails the test")]
impl HttpResponse {
    /// Reads the head of a response.
    pub fn read(stream: impl Read + Send + 'static) -> Self {
        let mut stream = BufReader::new(stream);
        let mut line = || {
            let mut line = String::new();
            stream.read_line(&mut line).unwrap_or_else(|error| panic!("no response: {error}"));
            line.trim_end().to_owned()
        };
        let first = line();
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no response: {first:?}"));
        let mut headers = Vec::new();
        while let Some((name, value)) = line().split_once(':') {
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let of =
            |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let body: Box<dyn BufRead + Send> = match (of("transfer-encoding"), of("content-length")) {
            (Some("chunked"), _) => Box::new(BufReader::new(Chunked { stream, left: 0, is_over: false })),
            (_, Some(length)) => Box::new(stream.take(length.parse().unwrap_or_default())),
            _ => Box::new(std::io::empty()),
        };
        Self { status, headers, body }
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The rest of the body.
    pub fn text(&mut self) -> String {
        let mut text = String::new();
        self.body.read_to_string(&mut text).unwrap_or_else(|error| panic!("{error}"));
        text
    }

    /// The next event's message; null at the end.
    pub fn event(&mut self) -> Value {
        loop {
            let mut line = String::new();
            let length = self.body.read_line(&mut line).unwrap_or_else(|error| panic!("{error}"));
            if length == 0 {
                return Value::Null;
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return serde_json::from_str(data).unwrap_or_else(|error| panic!("{error} in {data}"));
            }
        }
    }

    /// The message that answers the request, whether alone or at the end of a stream.
    pub fn answer(&mut self) -> Value {
        if self.header("content-type") == Some("application/json") {
            let text = self.text();
            return serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
        }
        loop {
            let event = self.event();
            if event.is_null() || event.get("method").is_none() {
                return event;
            }
        }
    }
}

/// A body in chunks.
struct Chunked<R> {
    stream: BufReader<R>,
    left: usize,
    is_over: bool,
}

impl<R: Read> Read for Chunked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.is_over {
            return Ok(0);
        }
        if self.left == 0 {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            self.left =
                usize::from_str_radix(line.trim(), 16).map_err(|_| std::io::ErrorKind::UnexpectedEof)?;
            if self.left == 0 {
                self.is_over = true;
                return Ok(0);
            }
        }
        let most = self.left.min(buffer.len());
        let read = self.stream.read(buffer.get_mut(..most).unwrap_or_default())?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= read;
        if self.left == 0 {
            self.stream.read_line(&mut String::new())?;
        }
        Ok(read)
    }
}
