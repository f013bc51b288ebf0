//! Calls through the server of the Model Context Protocol, beside its `ping`.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::guest;
use toolcell_tests::http_client::{HttpRequest, HttpServer};

use crate::measure::{Subject, in_turns, timed};
use crate::page::{Section, micros, times};
use crate::pipeline::wait;

/// How many requests are on their way at once where they are pipelined.
const PIPELINED: usize = 16;

/// A server with the client's ends of its pipes.
struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(line: &CommandLine) -> Self {
        let kernel = guest("kernel").display().to_string();
        let mut command = line.command(&["mcp", "--component", &kernel]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut server = Self { child, input, output: BufReader::new(output) };
        let client = json!({ "name": "bench", "version": "1" });
        server.send(&request(
            0,
            "initialize",
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client }),
        ));
        server.receive();
        server.send(&format!("{}\n", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })));
        server
    }

    fn send(&mut self, frame: &str) {
        self.input.write_all(frame.as_bytes()).unwrap();
    }

    fn receive(&mut self) {
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server went away");
            // Notifications have no result.
            if line.contains("\"result\"") {
                return assert!(!line.contains("\"isError\":true"), "{line}");
            }
            assert!(!line.contains("\"error\""), "{line}");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn request(id: usize, method: &str, parameters: Value) -> String {
    let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters });
    format!("{request}\n")
}

/// A connection over which one request follows another.
struct Kept {
    stream: RefCell<BufReader<TcpStream>>,
    request: Vec<u8>,
}

impl Kept {
    fn new(server: &HttpServer, method: &str, parameters: Value) -> Self {
        let request = HttpRequest::current(1, method, parameters, json!({})).bytes(&server.address);
        Self { stream: RefCell::new(BufReader::new(server.connect())), request }
    }
}

impl Subject for Kept {
    async fn run(&self, times: usize) -> Vec<Duration> {
        let mut stream = self.stream.borrow_mut();
        timed(times, || {
            stream.get_mut().write_all(&self.request).unwrap();
            let mut length = 0;
            loop {
                let mut header = String::new();
                assert!(stream.read_line(&mut header).unwrap() > 0, "the server went away");
                if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if header == "\r\n" {
                    break;
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            let message: Value = serde_json::from_slice(&body).unwrap();
            assert!(message["result"]["isError"] != true && message.get("error").is_none(), "{message}");
        })
    }
}

/// Either way in.
enum Asking<'a> {
    Streams(Requests<'a>),
    Http(Kept),
}

impl Subject for Asking<'_> {
    async fn run(&self, times: usize) -> Vec<Duration> {
        match self {
            Self::Streams(requests) => requests.run(times).await,
            Self::Http(kept) => kept.run(times).await,
        }
    }
}

/// One request, one at a time or several at once.
struct Requests<'a> {
    server: &'a RefCell<Server>,
    /// As many as are on their way at once, each of an `id` of its own.
    frames: String,
    at_once: usize,
}

impl Subject for Requests<'_> {
    async fn run(&self, times: usize) -> Vec<Duration> {
        let mut server = self.server.borrow_mut();
        let mut taken = Vec::new();
        for _ in 0..times.div_ceil(self.at_once) {
            let started = Instant::now();
            server.send(&self.frames);
            (0..self.at_once).for_each(|_| server.receive());
            taken.push(started.elapsed() / u32::try_from(self.at_once).unwrap());
        }
        taken
    }
}

pub fn section() -> Section {
    let line = CommandLine::new();
    let server = RefCell::new(Server::start(&line));
    let kernel = guest("kernel").display().to_string();
    let over_http =
        HttpServer::start(&mut line.command(&["mcp", "--http", "127.0.0.1:0", "--component", &kernel]));
    let call = || json!({ "name": "sum", "arguments": { "a": 2, "b": 3 } });
    let subject = |method, parameters: Value, at_once| {
        let frames = (1..=at_once).map(|id| request(id, method, parameters.clone())).collect();
        Asking::Streams(Requests { server: &server, frames, at_once })
    };
    let subjects = [
        subject("ping", json!({}), 1),
        subject("tools/call", call(), 1),
        subject("ping", json!({}), PIPELINED),
        subject("tools/call", call(), PIPELINED),
        Asking::Http(Kept::new(&over_http, "server/discover", json!({}))),
        Asking::Http(Kept::new(&over_http, "tools/call", call())),
    ];
    let medians = wait(in_turns(&subjects.each_ref(), 7, 1_600));
    let per_second = |time: Duration| format!("{:.0}", 1.0 / time.as_secs_f64());
    let row = |name: &str, ping: Duration, call: Duration| {
        vec![name.to_owned(), micros(ping), micros(call), times(call, ping), per_second(call)]
    };
    Section {
        title: "The server of the Model Context Protocol",
        words: format!(
            "`tools/call` of `sum` beside a request that calls nothing, the same client, the same run: the time of one \
             request, one after the other or {PIPELINED} on their way. Over HTTP, on a connection that is kept, a call takes {} \
             what it takes over standard input and output.",
            times(medians[5], medians[1])
        ),
        head: vec!["requests", "that calls nothing", "`tools/call`", "call : nothing", "calls a second"],
        rows: vec![
            row("standard input and output, one after the other (`ping`)", medians[0], medians[1]),
            row("the same, 16 on their way", medians[2], medians[3]),
            row("HTTP, one after the other (`server/discover`)", medians[4], medians[5]),
        ],
    }
}
