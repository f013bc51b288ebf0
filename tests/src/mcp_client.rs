//! A client of the Model Context Protocol that does exactly what a test says.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// How long a message may take; a machine that is busy with other tests is slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// What each request of 2026-07-28 says of its client.
pub fn current(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "a test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

/// Messages of a server as they come, each line of which must be one.
pub struct Messages {
    lines: Receiver<Value>,
    early: Vec<Value>,
}

#[expect(clippy::panic, reason = "a server that says something else fails the test")]
impl Messages {
    /// Reads `output` on a thread of its own.
    pub fn of(output: impl Read + Send + 'static) -> Self {
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).split(b'\n') {
                let line = line.unwrap_or_default();
                let text = String::from_utf8_lossy(&line);
                let message = serde_json::from_slice(&line).unwrap_or_else(|_| json!({ "no message": text }));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Self { lines, early: Vec::new() }
    }

    /// The first message that has not been taken and that `is` accepts.
    pub fn next(&mut self, is: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.early.iter().position(&is) {
            return self.early.remove(at);
        }
        loop {
            let message = self.lines.recv_timeout(PATIENCE);
            let message = message.unwrap_or_else(|error| panic!("{error}; so far {:#?}", self.early));
            if is(&message) {
                return message;
            }
            self.early.push(message);
        }
    }

    /// The answer to the request `id`.
    pub fn answer(&mut self, id: &Value) -> Value {
        self.next(|message| message.get("id") == Some(id) && message.get("method").is_none())
    }

    /// The notification or request `method`.
    pub fn said(&mut self, method: &str) -> Value {
        self.next(|message| message.get("method").is_some_and(|said| said == method))
    }

    /// Everything that was not taken, to the end.
    pub fn rest(mut self) -> Vec<Value> {
        let mut all = std::mem::take(&mut self.early);
        while let Ok(message) = self.lines.recv_timeout(PATIENCE) {
            all.push(message);
        }
        all
    }
}

/// A server in a process of its own.
pub struct McpClient {
    child: Child,
    input: Option<ChildStdin>,
    /// What it says.
    pub messages: Messages,
}

#[expect(clippy::panic, reason = "a server that does not start or end fails the test")]
impl McpClient {
    /// Starts the server.
    pub fn start(command: &mut Command) -> Self {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.unwrap_or_else(|error| panic!("cannot run the server: {error}"));
        let output = child.stdout.take().unwrap_or_else(|| panic!("no output"));
        Self { input: child.stdin.take(), child, messages: Messages::of(output) }
    }

    /// Sends bytes as they are.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap_or_else(|| panic!("the input is closed"));
        input.write_all(bytes).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Value) {
        self.send_bytes(format!("{message}\n").as_bytes());
    }

    /// Sends a request.
    pub fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params }));
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request and waits for its answer.
    pub fn ask(&mut self, id: impl Into<Value>, method: &str, params: Value) -> Value {
        let id = id.into();
        self.request(id.clone(), method, params);
        self.messages.answer(&id)
    }

    /// Sends a call.
    pub fn call(&mut self, id: impl Into<Value>, name: &str, arguments: Value) {
        self.request(id, "tools/call", json!({ "name": name, "arguments": arguments }));
    }

    /// Shakes hands.
    pub fn initialize(&mut self, version: &str, capabilities: Value) -> Value {
        let client = json!({ "name": "a test", "version": "1" });
        let params =
            json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": client });
        let answer = self.ask("initialize", "initialize", params);
        self.notify("notifications/initialized", json!({}));
        answer
    }

    /// Asks the process to end, as a client does that has waited long enough.
    pub fn terminate(&self) {
        let ended = Command::new("kill").arg(self.child.id().to_string()).status();
        assert!(ended.is_ok_and(|status| status.success()), "the server is gone already");
    }

    /// Closes the input. The exit code, and everything that was not taken before.
    pub fn close(mut self) -> (i32, Vec<Value>) {
        drop(self.input.take());
        let rest = self.messages.rest();
        let status = self.child.wait().unwrap_or_else(|error| panic!("{error}"));
        (status.code().unwrap_or(-1), rest)
    }
}
