//! Reading gives whole lines with true numbers, in pages that nobody cuts again, and in bounded memory.

use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcell::{Access, Grant, Limits, Outcome, Runtime, ToolComponent};
use toolcell_tests::{builder, built, call};

/// The shipped file tools on `folder`, with everything else at its default.
pub(crate) fn file_tools(folder: &Path) -> Runtime {
    let grant = Grant::none().dir(folder, "/work", Access::ReadWrite);
    built(builder().component(ToolComponent::builtin("files").grant(grant)))
}

#[tokio::test]
async fn every_offset_has_a_true_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("five"), "one\ntwo\nthree\nfour\nfive\n").unwrap();
    fs::write(path("open"), "one\ntwo").unwrap();
    fs::write(path("crlf"), "one\r\ntwo\r\n").unwrap();
    fs::write(path("empty"), "").unwrap();
    fs::write(path("newline"), "\n").unwrap();
    fs::write(path("nul"), "te\0xt\n").unwrap();
    fs::write(path("latin1"), b"caf\xe9\n").unwrap();
    fs::create_dir(path("folder")).unwrap();
    fs::write(path("locked"), "x").unwrap();
    fs::set_permissions(path("locked"), fs::Permissions::from_mode(0o000)).unwrap();
    let runtime = file_tools(folder.path());
    let max = u64::from(u32::MAX);
    let cases = [
        (json!({ "path": "five" }), 0),
        (json!({ "path": "five", "offset": 1 }), 0),
        (json!({ "path": "five", "offset": 5 }), 0),
        (json!({ "path": "five", "offset": 2, "limit": 2 }), 0),
        (json!({ "path": "five", "offset": 6 }), 1),
        (json!({ "path": "five", "offset": 100 }), 1),
        (json!({ "path": "five", "offset": max }), 1),
        (json!({ "path": "five", "offset": 0 }), 3),
        (json!({ "path": "five", "offset": -1 }), 3),
        (json!({ "path": "five", "offset": u64::MAX }), 3),
        (json!({ "path": "five", "offset": 1.5 }), 3),
        (json!({ "path": "five", "limit": 0 }), 3),
        (json!({ "path": "five", "limit": max }), 0),
        (json!({ "path": "open" }), 0),
        (json!({ "path": "crlf" }), 0),
        (json!({ "path": "empty" }), 0),
        (json!({ "path": "empty", "offset": 2 }), 0),
        (json!({ "path": "newline" }), 0),
        (json!({ "path": "newline", "offset": 2 }), 1),
        (json!({ "path": "nul" }), 1),
        (json!({ "path": "latin1" }), 0),
        (json!({ "path": "folder" }), 1),
        (json!({ "path": "missing" }), 1),
        (json!({ "path": "five/x" }), 1),
        (json!({ "path": "" }), 1),
        (json!({}), 3),
    ];
    let mut answers = String::new();
    for (arguments, exit) in cases {
        let outcome = call(&runtime, "read_file", arguments.clone()).await;
        assert_eq!(outcome.exit_code(), exit, "{arguments}: {outcome:#?}");
        answers.push_str(&format!("{arguments}\n  {}\n", outcome.text().replace('\n', "\n  ")));
    }
    insta::assert_snapshot!("every_offset_has_a_true_answer", answers);
}

/// Reads a file to its end and gives its lines as they were numbered.
async fn read_all(runtime: &Runtime, path: &str) -> Vec<(usize, String)> {
    let mut offset = 1;
    let mut lines = Vec::new();
    loop {
        let outcome = call(runtime, "read_file", json!({ "path": path, "offset": offset })).await;
        assert!(outcome.is_success(), "{outcome:#?}");
        assert_eq!(outcome.truncated, None, "the host cut the page at offset {offset}");
        let text = outcome.text();
        assert!(text.len() <= 40 * 1024 && text.lines().count() <= 2_000, "{} bytes", text.len());
        for line in text.lines().filter(|line| !line.starts_with('[')) {
            let (number, line) = line.split_once('\t').unwrap();
            lines.push((number.parse().unwrap(), line.to_owned()));
        }
        let Some((_, next)) = text.rsplit_once("go on with offset ") else { return lines };
        offset = next.trim_end_matches(']').parse().unwrap();
    }
}

#[tokio::test]
async fn pages_fit_the_output_whatever_the_lines_are() {
    let folder = tempfile::tempdir().unwrap();
    let mixed = |number: usize| match number % 7 {
        0 => String::new(),
        1 => "ü".repeat(number % 900),
        2 => "\"quoted\" \\ back\\slash".to_owned(),
        3 => "\t\ttabs".to_owned(),
        4 => "x".repeat(1_990),
        5 => "👩‍👩‍👧 e\u{301}".to_owned(),
        _ => format!("line {number}"),
    };
    for (name, count, line) in [
        ("short", 5_000, Box::new(|number: usize| number.to_string()) as Box<dyn Fn(usize) -> String>),
        ("empty-lines", 4_500, Box::new(|_| String::new())),
        ("mixed", 700, Box::new(mixed)),
        ("wide", 100, Box::new(|_| "w".repeat(2_000))),
    ] {
        let lines: Vec<String> = (1..=count).map(line).collect();
        fs::write(folder.path().join(name), lines.join("\n") + "\n").unwrap();
        let runtime = file_tools(folder.path());
        let read = read_all(&runtime, name).await;
        assert_eq!(read.len(), count, "{name}");
        for (index, (number, line)) in read.into_iter().enumerate() {
            assert_eq!(number, index + 1, "{name}");
            assert_eq!(line, lines[index], "{name} line {number}");
        }
    }
}

#[tokio::test]
async fn a_small_output_budget_gives_small_pages() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("f"), "a line of some length\n".repeat(500)).unwrap();
    let grant = Grant::none().dir(folder.path(), "/work", Access::Read);
    for (bytes, lines) in [(2_000, 2_000), (40_960, 20), (500, 10)] {
        let files = ToolComponent::builtin("files").grant(grant.clone());
        let runtime = built(builder().component(files).output(bytes, lines));
        let outcome = call(&runtime, "read_file", json!({ "path": "f" })).await;
        assert!(outcome.is_success() && outcome.truncated.is_none(), "{outcome:#?}");
        assert!(outcome.text().contains("of 500; go on with offset"), "{outcome:#?}");
    }
}

#[tokio::test]
async fn a_line_longer_than_any_page_is_cut_and_passed() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("f"), format!("{}\nafter\n", "x".repeat(5 << 20))).unwrap();
    let runtime = file_tools(folder.path());
    let outcome = call(&runtime, "read_file", json!({ "path": "f" })).await;
    assert!(outcome.is_success() && outcome.truncated.is_none(), "{outcome:#?}");
    assert!(outcome.text().contains("[line cut, 5242880 bytes]\n2\tafter"), "{}", outcome.text());
}

const PATIENCE: Duration = Duration::from_secs(150);

fn bounded(outcome: &Outcome, started: Instant) {
    assert!(outcome.usage.memory_bytes < 16 << 20, "{outcome:#?}");
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
}

/// Files larger than any memory: sparse, so that the disk holds them.
#[tokio::test]
async fn huge_files_take_bounded_memory_and_time() {
    let folder = tempfile::tempdir().unwrap();
    // The head is text, so that the rest is not taken for a binary file before it is read.
    let mut sparse = fs::File::create(folder.path().join("sparse")).unwrap();
    sparse.write_all("text\n".repeat(4_000).as_bytes()).unwrap();
    sparse.set_len(20 << 30).unwrap();
    let mut deep = fs::File::create(folder.path().join("deep")).unwrap();
    let block = "0123456789abcde\n".repeat(1 << 12);
    for _ in 0..1_024 {
        deep.write_all(block.as_bytes()).unwrap();
    }
    deep.seek(SeekFrom::End(0)).unwrap();
    deep.write_all(b"the last line\n").unwrap();
    let grant = Grant::none().dir(folder.path(), "/work", Access::ReadWrite);
    // Gigabytes take their time on a loaded machine.
    let limits = Limits::new().timeout(PATIENCE);
    let runtime = built(builder().component(ToolComponent::builtin("files").grant(grant).limits(limits)));

    let started = Instant::now();
    let outcome = call(&runtime, "read_file", json!({ "path": "sparse", "limit": 10 })).await;
    bounded(&outcome, started);
    assert_eq!(outcome.text().lines().next(), Some("1\ttext"), "{outcome:#?}");

    let started = Instant::now();
    let outcome = call(&runtime, "read_file", json!({ "path": "deep", "offset": (1 << 22) + 1 })).await;
    bounded(&outcome, started);
    assert_eq!(outcome.text(), format!("{}\tthe last line", (1 << 22) + 1));

    let started = Instant::now();
    let outcome = call(&runtime, "grep", json!({ "pattern": "last line", "path": "deep" })).await;
    bounded(&outcome, started);
    assert!(outcome.text().contains("4194305: the last line"), "{outcome:#?}");
}

#[tokio::test]
async fn what_is_shown_as_a_path_can_be_read_with_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("deep/er")).unwrap();
    fs::write(folder.path().join("deep/er/needle file.txt"), "needle\n").unwrap();
    let runtime = file_tools(folder.path());
    for (tool, arguments) in [
        ("glob", json!({ "pattern": "**/*.txt" })),
        ("grep", json!({ "pattern": "needle", "show": "files" })),
        ("glob", json!({ "pattern": "*.txt", "path": "deep/er" })),
        ("grep", json!({ "pattern": "needle", "path": "/work/deep", "show": "files" })),
    ] {
        let found = call(&runtime, tool, arguments).await;
        let path: Value = found.text().lines().next().unwrap().into();
        let read = call(&runtime, "read_file", json!({ "path": path })).await;
        assert_eq!(read.text(), "1\tneedle", "{found:#?}");
    }
}
