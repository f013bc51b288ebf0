//! Scripts in the cell, beside the same by the host's own shell and programs.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use toolcell::{Access, Grant, Runtime, ToolCall, ToolComponent};
use toolcell_tests::sources;

use crate::measure::{Subject, in_turns, timed};
use crate::page::{Section, micros, times};
use crate::pipeline::wait;

/// Scripts of the kind that models write, with what is said of each.
const SCRIPTS: [(&str, &str); 5] = [
    ("grep -rn TODO . | head", "ends early"),
    ("grep -rn 'no such word' . | head", "reads everything"),
    ("find . -name '*7.txt' | xargs wc -l | tail -1", "a file in ten"),
    ("cat src*/*.txt | tr -cs a-z '\\n' | sort | uniq -c | sort -rn | head -5", "all words"),
    ("x=0; for i in $(seq 1000); do x=$((x + i)); done; echo $x", "no program but `seq`"),
];

enum Script<'a> {
    Cell(&'a Runtime, &'static str),
    Host(PathBuf, &'static str),
}

impl Subject for Script<'_> {
    async fn run(&self, times: usize) -> Vec<Duration> {
        match self {
            Self::Cell(runtime, script) => {
                let mut taken = Vec::with_capacity(times);
                for _ in 0..times {
                    let call = ToolCall::new("bash", json!({ "command": script }));
                    let started = Instant::now();
                    let outcome = runtime.call(call).await;
                    taken.push(started.elapsed());
                    assert!(outcome.is_success(), "{script}: {outcome:?}");
                }
                taken
            }
            Self::Host(folder, script) => timed(times, || {
                let mut shell = Command::new("/bin/sh");
                shell.args(["-c", script]).current_dir(folder).stdin(Stdio::null());
                let output = shell.output().unwrap();
                assert!(output.status.success(), "{script}");
            }),
        }
    }
}

pub fn section() -> Section {
    let folder = tempfile::tempdir().unwrap();
    sources::fill(folder.path());
    let grant = Grant::none().dir(folder.path(), "/work", Access::Read);
    let component = ToolComponent::builtin("shell").grant(grant);
    let runtime = Runtime::builder().component(component).build_blocking().unwrap();
    let row = |(script, what): (&'static str, &str)| {
        let cell = Script::Cell(&runtime, script);
        let host = Script::Host(folder.path().to_owned(), script);
        let medians = wait(in_turns(&[&cell, &host], 7, 30));
        let (cell, host) = (medians[0], medians[1]);
        // A bar ends a cell of a table.
        let shown = script.replace('|', "\\|");
        vec![format!("`{shown}` ({what})"), micros(cell), micros(host), times(cell, host)]
    };
    Section {
        title: "Scripts",
        words: format!(
            "The tool `bash` of `builtin:shell` by `Runtime::call`, beside `/bin/sh -c` with the host's programs, on \
             {} files of {} lines.",
            sources::FILES,
            sources::LINES
        ),
        head: vec!["script", "in a cell", "`/bin/sh -c`", "cell : host"],
        rows: SCRIPTS.into_iter().map(row).collect(),
    }
}
