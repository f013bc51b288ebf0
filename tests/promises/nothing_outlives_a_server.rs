//! What a process started is gone when it ends, and it ends though nobody reads.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::mcp_client::McpClient;

/// A server that says nothing, and goes on when its input has ended.
const SILENT: &str =
    "import os, sys, time\nopen(sys.argv[1], 'a').write(f'{os.getpid()}\\n')\ntime.sleep(1000)\n";

/// The processes that were started of it and are still there.
fn living(folder: &std::path::Path) -> Vec<String> {
    let started = std::fs::read_to_string(folder.join("started")).unwrap_or_default();
    let is_there = |id: &&str| std::path::Path::new("/proc").join(id).join("cwd").exists();
    started.lines().filter(is_there).map(str::to_owned).collect()
}

/// The kernel ends what was killed in its own time; what nobody kills sleeps for longer.
fn assert_none_lives(folder: &std::path::Path, context: &[&str]) {
    let begun = Instant::now();
    while !living(folder).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{context:?}: {:?}", living(folder));
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn configuration(line: &CommandLine) {
    let path = std::env::var("PATH").unwrap();
    line.write("silent.py", SILENT);
    let started = line.folder().join("started");
    let text = format!(
        "[component.basics]\npath = \"builtin:basics\"\n[mcp.s]\ncommand = [\"python3\", \"silent.py\", {started:?}]\n\
         env = {{ PATH = {path:?} }}\nstart_timeout = \"2s\"\n"
    );
    line.write("toolcell.toml", &text);
}

#[test]
fn a_server_that_never_answered_is_gone_with_the_command() {
    let line = CommandLine::new();
    configuration(&line);
    for arguments in
        [&["list", "--config", "toolcell.toml"][..], &["explain", "add", "{}", "--config", "toolcell.toml"]]
    {
        line.run(arguments);
        assert_none_lives(&line.folder(), arguments);
    }
    let started = std::fs::read_to_string(line.folder().join("started")).unwrap();
    assert!(started.lines().count() >= 2, "it was started");
}

#[test]
fn a_server_that_is_just_being_started_is_gone_with_its_client() {
    let line = CommandLine::new();
    configuration(&line);
    let mut client = McpClient::start(&mut line.command(&["mcp", "--config", "toolcell.toml"]));
    client.initialize("2025-11-25", json!({}));
    // The second time is while the client is served.
    let started =
        || std::fs::read_to_string(line.folder().join("started")).unwrap_or_default().lines().count();
    let begun = Instant::now();
    while started() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(60), "it is not tried again");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(client.close().0, 0);
    assert_none_lives(&line.folder(), &["mcp"]);
}

/// Writes requests until nothing more is taken: the process waits for its reader.
fn filled(command: &mut Command, request: &str) -> Child {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let input = child.stdin.as_mut().unwrap();
    rustix::fs::fcntl_setfl(&*input, rustix::fs::OFlags::NONBLOCK).unwrap();
    let lines = request.repeat(1000);
    let mut refused_since = Instant::now();
    while refused_since.elapsed() < Duration::from_secs(2) {
        match input.write(lines.as_bytes()) {
            // What is left of a line is a bad one, which is answered too.
            Ok(count) if count > 0 => refused_since = Instant::now(),
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    }
    child
}

fn ends(mut child: Child) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(40) {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    false
}

#[test]
fn a_client_that_reads_nothing_keeps_no_process() {
    let line = CommandLine::new();
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string() + "\n";
    let hello = json!({ "type": "hello", "id": 1 }).to_string() + "\n";
    for (verb, request) in [("mcp", &ping), ("jsonl", &hello)] {
        let start = || filled(&mut line.command(&[verb, "--component", "builtin:basics"]), request);
        let child = start();
        let id = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
        assert!(ends(child), "{verb} after SIGTERM");
        let mut child = start();
        drop(child.stdin.take());
        assert!(ends(child), "{verb} after the end of its input");
    }
}
