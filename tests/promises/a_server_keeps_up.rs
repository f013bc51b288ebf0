//! The server under load: nothing is lost or given to another, what is quick stays quick beside what is slow, and HTTP costs
//! little more than a pair of streams. Times are compared within one run, since the machine is shared, and printed.

#![expect(clippy::print_stdout, reason = "figures for whoever reads the run")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::guest;
use toolcell_tests::http_client::{HttpRequest, HttpServer};

/// Calls of the long run.
const CALLS: usize = 100_000;

/// Calls that are under way at once.
const WAYS: usize = 16;

/// After how many calls a ping is sent.
const PING_EVERY: usize = 50;

/// What `ping` may take beside tools that spin on every core. It takes a few milliseconds; the rest is for a machine that is
/// busy with other tests.
const PING_BESIDE_SPINNING: Duration = Duration::from_millis(250);

/// What HTTP may cost beside a pair of streams: the bound that the project sets itself.
const ALLOWED_RATIO: f64 = 2.0;

fn add(id: usize) -> Value {
    let params = json!({ "name": "add", "arguments": { "a": id, "b": 1 } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn started(
    line: &CommandLine,
    arguments: &[&str],
) -> (std::process::Child, ChildStdin, BufReader<ChildStdout>) {
    let mut command = line.command(&[&["mcp"], arguments].concat());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    (child, input, BufReader::new(output))
}

#[test]
fn a_hundred_thousand_pipelined_calls_are_each_answered() {
    let line = CommandLine::new();
    let (mut child, mut input, output) = started(&line, &["--component", "builtin:basics"]);
    let (enter, leave) = sync_channel::<()>(WAYS);
    let (sent, times) = std::sync::mpsc::channel::<(Value, Instant)>();
    let begun = Instant::now();
    let writer = std::thread::spawn(move || {
        for id in 0..CALLS {
            enter.send(()).unwrap();
            sent.send((json!(id), Instant::now())).unwrap();
            writeln!(input, "{}", add(id)).unwrap();
            if id % PING_EVERY == 0 {
                let ping = json!({ "jsonrpc": "2.0", "id": format!("ping {id}"), "method": "ping" });
                sent.send((ping["id"].clone(), Instant::now())).unwrap();
                writeln!(input, "{ping}").unwrap();
            }
        }
        input
    });
    let mut waiting = std::collections::HashMap::new();
    let (mut calls, mut pings) = (Vec::with_capacity(CALLS), Vec::new());
    for text in output.lines().take(CALLS + CALLS / PING_EVERY) {
        let message: Value = serde_json::from_str(&text.unwrap()).unwrap();
        waiting.extend(times.try_iter().map(|(id, at)| (id.to_string(), at)));
        // An identifier that nobody waits for is one of nobody's, or of a call that was answered already.
        let at: Instant = waiting.remove(&message["id"].to_string()).unwrap_or_else(|| panic!("{message}"));
        match message["id"].as_u64() {
            Some(id) => {
                let result = message["result"]["structuredContent"]["result"].as_f64();
                assert_eq!(result, Some(f64::from(u32::try_from(id).unwrap()) + 1.0), "{message}");
                calls.push(at.elapsed());
                leave.recv().unwrap();
            }
            None => pings.push(at.elapsed()),
        }
    }
    let rate = f64::from(u32::try_from(CALLS).unwrap()) / begun.elapsed().as_secs_f64();
    assert_eq!((calls.len(), pings.len(), waiting.len()), (CALLS, CALLS / PING_EVERY, 0));
    let (call, ping) = (median(&mut calls), median(&mut pings));
    println!(
        "{CALLS} calls of add, {WAYS} at once: {rate:.0} a second, p50 {call:?}; ping beside them: p50 {ping:?}"
    );
    drop(writer.join().unwrap());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_ping_is_quick_beside_tools_that_spin() {
    let line = CommandLine::new();
    let probe = guest("probe");
    let (mut child, mut input, mut output) =
        started(&line, &["--component", &probe.to_string_lossy(), "--fuel", "off", "--timeout", "10m"]);
    for id in 0..3 {
        let params = json!({ "name": "spin", "arguments": {} });
        writeln!(
            input,
            "{}",
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
        )
        .unwrap();
    }
    let mut times = Vec::new();
    for at in 0..200 {
        let begun = Instant::now();
        let id = format!("ping {at}");
        writeln!(input, "{}", json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })).unwrap();
        let mut text = String::new();
        output.read_line(&mut text).unwrap();
        let message: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(message["id"], json!(id), "nothing else is answered");
        times.push(begun.elapsed());
        // The tools are to run meanwhile, not only to wait for their turn.
        std::thread::yield_now();
    }
    let ping = median(&mut times);
    println!("ping beside three tools that spin: p50 {ping:?}, the slowest of 200 {:?}", times.last());
    assert!(ping < PING_BESIDE_SPINNING, "{times:?}");
    // At the end of input they are cancelled.
    drop(input);
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest.lines().filter(|line| line.contains("cancelled")).count(), 3, "{rest}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// A connection over which one request follows another.
struct Kept {
    stream: BufReader<TcpStream>,
    address: String,
}

impl Kept {
    fn call(&mut self, id: usize) -> Value {
        let params = json!({ "name": "add", "arguments": { "a": id, "b": 1 } });
        let request = HttpRequest::current(id, "tools/call", params, json!({}));
        self.stream.get_mut().write_all(&request.bytes(&self.address)).unwrap();
        let mut length = 0;
        loop {
            let mut header = String::new();
            self.stream.read_line(&mut header).unwrap();
            if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if header == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        serde_json::from_slice(&body).unwrap()
    }
}

#[test]
fn a_call_over_http_costs_at_most_twice_that_over_streams() {
    let line = CommandLine::new();
    let (mut child, mut input, mut output) = started(&line, &["--component", "builtin:basics"]);
    let server = HttpServer::start(&mut line.command(&[
        "mcp",
        "--http",
        "127.0.0.1:0",
        "--component",
        "builtin:basics",
    ]));
    let mut kept = Kept { stream: BufReader::new(server.connect()), address: server.address.clone() };
    let mut by_streams = |id: usize| {
        writeln!(input, "{}", add(id)).unwrap();
        let mut text = String::new();
        output.read_line(&mut text).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let (mut streams, mut http) = (Vec::new(), Vec::new());
    // In turns, so that whatever else the machine does meets both.
    for round in 0..20 {
        for at in 0..100 {
            let begun = Instant::now();
            assert_eq!(by_streams(at)["id"], at);
            streams.push(begun.elapsed());
        }
        for at in 0..100 {
            let begun = Instant::now();
            assert_eq!(kept.call(at)["id"], at, "round {round}");
            http.push(begun.elapsed());
        }
    }
    let (streams, http) = (median(&mut streams), median(&mut http));
    let ratio = http.as_secs_f64() / streams.as_secs_f64();
    println!("add, one after the other: p50 {streams:?} over streams, {http:?} over HTTP, {ratio:.2} times");
    assert!(ratio <= ALLOWED_RATIO, "{http:?} is {ratio:.2} times {streams:?}");
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
