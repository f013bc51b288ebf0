//! The same `echo` by another framework, in a process of its own that is asked in turns.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use toolcell::{Grant, Limits};
use toolcell_tests::command_line::binary;

use crate::floor::{Floor, Metering};
use crate::measure::{Subject, in_turns};
use crate::page::{Section, micros, times};
use crate::pipeline::{Either, Piped, wait};
use crate::work::{Work, text};

/// The program of `tests/benches/extism`, with the ends of its pipes.
struct Extism {
    child: Child,
    pipes: RefCell<(ChildStdin, BufReader<ChildStdout>)>,
}

impl Extism {
    fn start() -> Option<Self> {
        let program = built()?;
        let mut command = Command::new(program);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Some(Self { child, pipes: RefCell::new((input, BufReader::new(output))) })
    }

    fn run(&self, way: &str, count: usize) -> Vec<Duration> {
        let mut pipes = self.pipes.borrow_mut();
        writeln!(pipes.0, "{way} {count}").unwrap();
        let mut line = String::new();
        pipes.1.read_line(&mut line).unwrap();
        let taken: Vec<Duration> =
            line.split_whitespace().map(|nanos| Duration::from_nanos(nanos.parse().unwrap())).collect();
        assert_eq!(taken.len(), count);
        taken
    }
}

impl Drop for Extism {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where `make bench` has built it.
fn built() -> Option<PathBuf> {
    let program = binary().ancestors().nth(2)?.join("extism/release/toolcell-bench-extism");
    program.is_file().then_some(program)
}

enum Echo<'a> {
    Ours(Either),
    Theirs(&'a Extism, &'static str),
}

impl Subject for Echo<'_> {
    async fn run(&self, times: usize) -> Vec<Duration> {
        match self {
            Self::Ours(ours) => ours.run(times).await,
            Self::Theirs(extism, way) => extism.run(way, times),
        }
    }
}

pub fn section() -> Section {
    let work = Work::Echo(text(1 << 10));
    let extism = Extism::start();
    let mut named = vec![
        (
            "wasmtime alone",
            Echo::Ours(Either::Floor(Box::new(Floor::new(work.clone(), Metering::None, None)))),
        ),
        ("a call", Echo::Ours(Either::Piped(Box::new(Piped::new(&work, Grant::none(), Limits::new()))))),
    ];
    if let Some(extism) = &extism {
        named.push(("Extism, a plugin made for each call from compiled code", Echo::Theirs(extism, "fresh")));
        named.push((
            "Extism, one plugin kept for all calls, which then share its memory",
            Echo::Theirs(extism, "kept"),
        ));
    }
    let subjects: Vec<&Echo<'_>> = named.iter().map(|(_, echo)| echo).collect();
    let medians = wait(in_turns(&subjects, 7, 1_000));
    let call = medians[1];
    let rows = named.iter().zip(&medians);
    Section {
        title: "Another framework",
        words: "`echo` of 1 KB by the Rust SDK of Extism 1.30 (tests/benches/extism; it is left out where it is not built), \
                without limits, and by a call, with them."
            .to_owned(),
        head: vec!["what", "time", "against a call"],
        rows: rows.map(|((name, _), time)| vec![(*name).to_owned(), micros(*time), times(*time, call)]).collect(),
    }
}
