//! Whole processes: the command line, and what else starts a process for each call.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use toolcell_tests::command_line::{CommandLine, binary};
use toolcell_tests::{guest, repository};

use crate::measure::{Subject, in_turns, median, timed};
use crate::page::{Section, micros, times};
use crate::pipeline::{Piped, alone, wait};
use crate::work::Work;

/// A program with what it is given.
struct Program {
    name: String,
    command: Box<dyn Fn() -> Command>,
}

impl Subject for Program {
    async fn run(&self, times: usize) -> Vec<Duration> {
        timed(times, || {
            let mut command = (self.command)();
            let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
            assert!(status.unwrap().success(), "{}", self.name);
        })
    }
}

fn plain(name: &str, words: &[&str]) -> Option<Program> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let command = move || {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command
    };
    let runs = command().stdin(Stdio::null()).output();
    runs.ok().filter(|output| output.status.success())?;
    Some(Program { name: name.to_owned(), command: Box::new(command) })
}

/// A native program that does the same sum.
fn native(folder: &Path) -> PathBuf {
    let (source, program) = (folder.join("sum.rs"), folder.join("sum"));
    let text = "fn main() {\n    let sum: i64 = std::env::args().skip(1).map(|word| word.parse::<i64>().unwrap()).sum();\n    \
                println!(\"{sum}\");\n}\n";
    std::fs::write(&source, text).unwrap();
    let status = Command::new("rustc").args(["-O", "-o"]).args([&program, &source]).status().unwrap();
    assert!(status.success(), "rustc");
    program
}

fn toolcell(name: &str, line: &'static CommandLine, arguments: Vec<String>) -> Program {
    let command = move || {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        line.command(&words)
    };
    Program { name: name.to_owned(), command: Box::new(command) }
}

/// A sum by each of the ways.
pub fn section() -> Section {
    assert!(binary().is_file(), "build the binary of this profile first: cargo build --release");
    let line: &'static CommandLine = Box::leak(Box::new(CommandLine::new()));
    let kernel = guest("kernel").display().to_string();
    let called = |component: &str, words: [&str; 2]| {
        ["call", "--component", component].into_iter().chain(words).map(str::to_owned).collect::<Vec<_>>()
    };
    let folder = tempfile::tempdir().unwrap();
    let native = native(folder.path()).display().to_string();
    let invoked = ["wasmtime", "run", "--invoke", "sum(2, 3)", &kernel];
    let bubble = ["bwrap", "--ro-bind", "/", "/", "--unshare-all", &native, "2", "3"];
    let programs: Vec<Program> = [
        Some(toolcell("`toolcell --version`", line, vec!["--version".to_owned()])),
        Some(toolcell(
            "`toolcell call` of `sum`, compiled before",
            line,
            called(&kernel, ["sum", "{\"a\":2,\"b\":3}"]),
        )),
        Some(toolcell(
            "`toolcell call` of `run_js`, an interpreter of 7 MB, compiled before",
            line,
            called("builtin:js", ["run_js", "{\"code\":\"2+3\"}"]),
        )),
        plain("`/bin/true`, a process that does nothing", &["/bin/true"]),
        plain("a native program that does the same sum", &[&native, "2", "3"]),
        plain("`/bin/sh -c 'echo $((2+3))'`", &["/bin/sh", "-c", "echo $((2+3))"]),
        plain("the native program in `bwrap` (new namespaces, the system read-only)", &bubble),
        plain("`wasmtime run --invoke` of the same component", &invoked),
    ]
    .into_iter()
    .flatten()
    .collect();
    let subjects: Vec<&Program> = programs.iter().collect();
    let medians = wait(in_turns(&subjects, 7, 20));
    let inside = alone(&Piped::new(&Work::Sum(2, 3), toolcell::Grant::none(), toolcell::Limits::new()), 500);
    let mut rows = vec![vec![
        "a call in a process that lives on".to_owned(),
        micros(inside),
        "1×".to_owned(),
        String::new(),
    ]];
    let version = medians[0];
    for (program, median) in programs.iter().zip(medians) {
        let above = if median > version { micros(median - version) } else { String::new() };
        rows.push(vec![program.name.clone(), micros(median), times(median, inside), above]);
    }
    rows.push(cold(version));
    Section {
        title: "Whole processes",
        words: "From the start of a process to its end, beside the same sum by a call in a process that lives on. What is \
                not installed is left out."
            .to_owned(),
        head: vec!["what", "time", "against a call", "above `toolcell --version`"],
        rows,
    }
}

/// The first call of an interpreter beside what its compilation alone takes, in turns.
fn cold(version: Duration) -> Vec<String> {
    let bytes = std::fs::read(repository().join("guest-tools/dist/js.wasm")).unwrap();
    let mut config = wasmtime::Config::new();
    config.consume_fuel(true).concurrency_support(false);
    let engine = wasmtime::Engine::new(&config).unwrap();
    let (mut firsts, mut compiled) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let started = Instant::now();
        drop(wasmtime::component::Component::new(&engine, &bytes).unwrap());
        compiled.push(started.elapsed());
        let line = CommandLine::cold();
        let started = Instant::now();
        let ended = line.run(&["call", "--component", "builtin:js", "run_js", "{\"code\":\"2+3\"}"]);
        firsts.push(started.elapsed());
        assert_eq!(ended.code, 0, "{ended:?}");
    }
    let (first, alone) = (median(&mut firsts), median(&mut compiled));
    vec![
        format!("its first call, compiled by it: {} what wasmtime takes to compile it", times(first, alone)),
        micros(first),
        String::new(),
        micros(first.saturating_sub(version)),
    ]
}
