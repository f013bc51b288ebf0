//! Whole processes: the command line, and what else starts a process for each call.

use std::process::{Command, Stdio};
use std::time::Duration;

use toolcell_tests::command_line::{CommandLine, binary};
use toolcell_tests::guest;

use crate::measure::{Subject, in_turns, timed};
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

fn plain(name: &str, words: &'static [&'static str]) -> Option<Program> {
    let runs = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).output();
    runs.ok().filter(|output| output.status.success())?;
    let command = move || {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        command
    };
    Some(Program { name: name.to_owned(), command: Box::new(command) })
}

fn toolcell(name: &str, line: &'static CommandLine, arguments: Vec<String>) -> Program {
    let command = move || {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        line.command(&words)
    };
    Program { name: name.to_owned(), command: Box::new(command) }
}

pub fn section() -> Section {
    assert!(binary().is_file(), "build the binary of this profile first: cargo build --release");
    let line: &'static CommandLine = Box::leak(Box::new(CommandLine::new()));
    let kernel = guest("kernel").display().to_string();
    let call = |arguments: &[&str]| {
        let given = ["call", "--component", &kernel].into_iter().chain(arguments.iter().copied());
        given.map(str::to_owned).collect::<Vec<_>>()
    };
    let mut programs = vec![
        toolcell("`toolcell --version`", line, vec!["--version".to_owned()]),
        toolcell("`toolcell call` of `sum`, compiled before", line, call(&["sum", "{\"a\":2,\"b\":3}"])),
    ];
    let wasmtime: &'static str =
        Box::leak(format!("wasmtime run --invoke sum(2,3) {kernel}").into_boxed_str());
    let words: &'static [&'static str] =
        Box::leak(wasmtime.split(' ').collect::<Vec<_>>().into_boxed_slice());
    programs.extend(plain("`/bin/true`, a process that does nothing", &["/bin/true"]));
    programs.extend(plain("`/bin/sh -c 'echo $((2+3))'`", &["/bin/sh", "-c", "echo $((2+3))"]));
    programs.extend(plain(
        "`bwrap` around `/bin/true` (new namespaces, the system read-only)",
        &["bwrap", "--ro-bind", "/", "/", "--unshare-all", "/bin/true"],
    ));
    programs.extend(plain("`wasmtime run --invoke` of the same component", words));
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
    Section {
        title: "Whole processes",
        words: "From the start of a process to its end, beside the same sum by a call in a process that lives on. What is \
                not installed is left out."
            .to_owned(),
        head: vec!["what", "time", "against a call", "above `toolcell --version`"],
        rows,
    }
}
