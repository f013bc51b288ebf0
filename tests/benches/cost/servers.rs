//! Calls through the server of the Model Context Protocol, beside its `ping`.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::guest;

use crate::measure::{Subject, in_turns};
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

/// One request, one at a time or several at once.
struct Requests<'a> {
    server: &'a RefCell<Server>,
    frame: String,
    at_once: usize,
}

impl Subject for Requests<'_> {
    async fn run(&self, times: usize) -> Vec<Duration> {
        let mut server = self.server.borrow_mut();
        let batch = self.frame.repeat(self.at_once);
        let mut taken = Vec::new();
        for _ in 0..times.div_ceil(self.at_once) {
            let started = Instant::now();
            server.send(&batch);
            (0..self.at_once).for_each(|_| server.receive());
            taken.push(started.elapsed() / u32::try_from(self.at_once).unwrap());
        }
        taken
    }
}

pub fn section() -> Section {
    let line = CommandLine::new();
    let server = RefCell::new(Server::start(&line));
    let ping = request(1, "ping", json!({}));
    let call = request(1, "tools/call", json!({ "name": "sum", "arguments": { "a": 2, "b": 3 } }));
    let subject = |frame: &String, at_once| Requests { server: &server, frame: frame.clone(), at_once };
    let subjects =
        [subject(&ping, 1), subject(&call, 1), subject(&ping, PIPELINED), subject(&call, PIPELINED)];
    let medians = wait(in_turns(&subjects.each_ref(), 7, 1_600));
    let per_second = |time: Duration| format!("{:.0}", 1.0 / time.as_secs_f64());
    let row = |name: &str, ping: Duration, call: Duration| {
        vec![name.to_owned(), micros(ping), micros(call), times(call, ping), per_second(call)]
    };
    Section {
        title: "The server over standard input and output",
        words: format!(
            "`tools/call` of `sum` beside `ping`, the same client, the same run: the time of one request, one after the \
             other or {PIPELINED} on their way."
        ),
        head: vec!["requests", "`ping`", "`tools/call`", "call : ping", "calls a second"],
        rows: vec![
            row("one after the other", medians[0], medians[1]),
            row("16 on their way", medians[2], medians[3]),
        ],
    }
}
