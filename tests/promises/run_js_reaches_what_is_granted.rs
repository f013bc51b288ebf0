//! `run_js` runs what a model writes: it gives its value, reaches the files that are granted, and ends within its limits.

use std::time::Duration;

use serde_json::{Value, json};
use toolcell::config::Folders;
use toolcell::policy::StateScope;
use toolcell::{
    Access, Content, ErrorKind, Grant, Limits, Outcome, Runtime, Status, ToolCall, ToolComponent,
};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::{builder, built, call};

fn running(grant: Grant, limits: Limits) -> Runtime {
    built(builder().component(ToolComponent::builtin("js").grant(grant).limits(limits)))
}

/// With nothing granted.
fn bare() -> Runtime {
    running(Grant::none(), Limits::new())
}

async fn run(runtime: &Runtime, code: &str) -> Outcome {
    call(runtime, "run_js", json!({ "code": code })).await
}

fn message(outcome: &Outcome) -> &str {
    &outcome.error.as_ref().unwrap_or_else(|| panic!("{outcome:?}")).message
}

/// What a model reads.
fn shown(outcome: &Outcome) -> String {
    let blocks = outcome.content.iter().map(|block| match block {
        Content::Text { text } => text.clone(),
        Content::Json { json } => json.to_string(),
        other => panic!("{other:?}"),
    });
    blocks.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn the_value_is_data_and_what_is_printed_is_text() {
    let runtime = bare();
    let outcome = run(&runtime, "console.log('a', {b: 1});\nawait null;\n[1, {c: 'd'}]").await;
    assert_eq!(outcome.structured, Some(json!({ "value": [1, { "c": "d" }], "console": "a { b: 1 }\n" })));
    let expected =
        [Content::Text { text: "a { b: 1 }".into() }, Content::Json { json: json!([1, { "c": "d" }]) }];
    assert_eq!(outcome.content, expected);
    for (code, text, structured) in [
        ("'a text'", "a text", json!({ "value": "a text" })),
        ("const a = 1", "undefined", json!({})),
        ("console.log(1)", "1", json!({ "console": "1\n" })),
        ("null", "null", json!({ "value": null })),
        ("'\\ud800'", "\u{fffd}", json!({ "value": "\u{fffd}" })),
        ("9007199254740993n", "\"9007199254740993\"", json!({ "value": "9007199254740993" })),
    ] {
        let outcome = run(&runtime, code).await;
        assert!(outcome.is_success(), "{code}: {outcome:?}");
        assert_eq!(outcome.structured, Some(structured), "{code}");
        assert_eq!(shown(&outcome), text, "{code}");
    }
    // Nothing of one call is there in the next.
    assert_eq!(run(&runtime, "globalThis.left = 1").await.structured, Some(json!({ "value": 1 })));
    assert_eq!(run(&runtime, "typeof left").await.text(), "undefined");
}

#[tokio::test]
async fn an_error_names_the_line_and_keeps_what_was_printed() {
    let runtime = bare();
    let outcome = run(&runtime, "console.log('before');\nfunction f(a) {\n  return a.b.c;\n}\nf({});").await;
    assert_eq!((outcome.status, outcome.error_kind()), (Status::Error, Some(ErrorKind::ToolError)));
    assert!(outcome.text().starts_with("before\nTypeError: "), "{}", outcome.text());
    assert!(
        message(&outcome).ends_with(
            "\n    at f (code.js:3:14)\n    at <main> (code.js:5:2)\n  3 |   return a.b.c;\n                   ^"
        ),
        "{}",
        message(&outcome)
    );
    for (code, told) in [
        ("let a = 1;\nlet b = = 2;", "at line 2, col 9\n  2 | let b = = 2;"),
        ("'open", "SyntaxError: unterminated string literal"),
        ("{", "SyntaxError: abrupt end"),
        ("Promise.reject(new Error('late'))", "Error: late"),
        ("setTimeout(() => { throw new Error('later') })", "Error: later"),
        ("new Promise(() => {})", "a promise that nothing settles"),
    ] {
        let outcome = run(&runtime, code).await;
        assert_eq!(outcome.error_kind(), Some(ErrorKind::ToolError), "{code}: {outcome:?}");
        assert!(message(&outcome).contains(told), "{code}: {}", message(&outcome));
    }
}

#[tokio::test]
async fn files_are_those_of_the_grant() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("secrets")).unwrap();
    std::fs::write(folder.path().join("secrets/key"), "k").unwrap();
    std::fs::write(folder.path().join("a.txt"), "abc").unwrap();
    std::os::unix::fs::symlink("/etc", folder.path().join("out")).unwrap();
    let granted = |access| {
        let grant = toolcell::policy::DirGrant::new(folder.path(), "/work", access).deny("secrets/**");
        running(Grant::none().dir_grant(grant), Limits::new())
    };
    let writing = granted(Access::ReadWrite);
    let code = "fs.writeFileSync('b.txt', fs.readFileSync('a.txt') + 'd'); fs.readFileSync('/work/b.txt')";
    assert_eq!(run(&writing, code).await.text(), "abcd");
    assert_eq!(std::fs::read(folder.path().join("b.txt")).unwrap(), b"abcd");
    let ways = [
        "fs.readFileSync('/etc/passwd')",
        "fs.readFileSync('../../etc/passwd')",
        "fs.readFileSync('out/passwd')",
        "fs.readFileSync('secrets/key')",
        "fs.writeFileSync('secrets/key', '')",
        "fs.renameSync('secrets', 'public')",
        "fs.copyFileSync('secrets/key', 'copy')",
        "fs.readdirSync('/')",
        "fs.writeFileSync('/tmp/x', '')",
    ];
    for way in ways {
        let outcome = run(&writing, way).await;
        assert_eq!(outcome.error_kind(), Some(ErrorKind::ToolError), "{way}: {outcome:?}");
        assert!(message(&outcome).contains("not permitted"), "{way}: {}", message(&outcome));
    }
    assert_eq!(std::fs::read(folder.path().join("secrets/key")).unwrap(), b"k");
    let reading = granted(Access::Read);
    for way in [
        "fs.writeFileSync('a.txt', '')",
        "fs.rmSync('a.txt')",
        "fs.mkdirSync('n')",
        "fs.appendFileSync('a.txt', 'x')",
    ] {
        let outcome = run(&reading, way).await;
        assert!(message(&outcome).contains("not permitted"), "{way}: {outcome:?}");
        assert!(!outcome.denials.is_empty(), "{way}");
    }
    assert_eq!(std::fs::read(folder.path().join("a.txt")).unwrap(), b"abc");
    let none = run(&bare(), "try { fs.readFileSync('a.txt') } catch (error) { error.message }").await;
    assert_eq!(none.text(), "no directory is granted to this tool");
}

#[tokio::test]
async fn there_is_no_other_way_out() {
    let runtime = bare();
    for (code, told) in [
        ("fetch('https://example.org')", "fetch is not available here"),
        ("new WebSocket('ws://127.0.0.1')", "WebSocket is not available here"),
        ("require('child_process')", "there is no module `child_process` here"),
        ("import('http')", "there is no module `http` here"),
        ("import '/work/other.js'", "no directory is granted to this tool"),
        ("require('./other')", "no directory is granted to this tool"),
        ("process.exit(3)", "the program exited with code 3"),
        ("process.kill(1)", "not a callable function"),
        ("Deno.run({cmd: ['sh']})", "Deno is not defined"),
        ("new Function('return this')().process.binding('fs')", "not a callable function"),
        ("state.x = 1", "there is no `state` here"),
    ] {
        let outcome = run(&runtime, code).await;
        assert!(message(&outcome).contains(told), "{code}: {outcome:?}");
    }
}

#[tokio::test]
async fn members_of_the_state_last_as_long_as_their_session() {
    let home = tempfile::tempdir().unwrap();
    let js = ToolComponent::builtin("js").grant(Grant::none().state(StateScope::Session));
    let runtime = built(builder().folders(Folders::under(home.path())).component(js));
    let counted = async |session: &str| {
        let code = json!({ "code": "state.n = (state.n ?? 0) + 1" });
        runtime.session(session).call(ToolCall::new("run_js", code)).await.structured.unwrap()["value"]
            .clone()
    };
    let counts = [counted("one").await, counted("one").await, counted("two").await, counted("one").await];
    assert_eq!(counts, [1, 2, 1, 3].map(Value::from));
}

/// Programs that would not end, and the kinds of end that they may have.
const HOSTILE: [(&str, &[ErrorKind]); 22] = [
    ("while (true) {}", &[ErrorKind::Timeout]),
    ("await null; for (;;);", &[ErrorKind::Timeout]),
    ("function p() { Promise.resolve().then(p) } p()", &[ErrorKind::Timeout]),
    ("function p() { setTimeout(p, 0) } p()", &[ErrorKind::Timeout]),
    ("setTimeout(() => {}, 1e9)", &[ErrorKind::Timeout]),
    ("new Function('while (true) {}')()", &[ErrorKind::Timeout]),
    ("/(a+)+$/.test('a'.repeat(40) + 'b')", &[ErrorKind::Timeout]),
    ("/(.*)*x/.exec('a'.repeat(100000))", &[ErrorKind::Timeout]),
    ("2n ** 100000000n", &[ErrorKind::Timeout, ErrorKind::MemoryLimit]),
    ("Array.prototype.toJSON = () => { while (true); }; [1]", &[ErrorKind::Timeout]),
    (
        "[].sort.call({ length: 2 ** 53 - 1 })",
        &[ErrorKind::Timeout, ErrorKind::ToolError, ErrorKind::Panicked],
    ),
    ("new Array(2 ** 32 - 1).fill(0)", &[ErrorKind::Timeout, ErrorKind::MemoryLimit]),
    ("let s = 'x'; while (true) s += s", &[ErrorKind::MemoryLimit]),
    (
        "const a = []; while (true) a.push(new Uint8Array(1e6))",
        &[ErrorKind::MemoryLimit, ErrorKind::ToolError],
    ),
    ("'x'.repeat(2 ** 30)", &[ErrorKind::ToolError]),
    ("new ArrayBuffer(1e15)", &[ErrorKind::ToolError]),
    ("function f() { return f() + 1 } f()", &[ErrorKind::ToolError]),
    ("function f() { [1].map(f) } f()", &[ErrorKind::StackOverflow]),
    ("let a = []; for (let i = 0; i < 1e5; i++) a = [a]; JSON.stringify(a)", &[ErrorKind::StackOverflow]),
    ("eval('['.repeat(100000))", &[ErrorKind::StackOverflow]),
    ("const o = { get x() { return this.x } }; o.x", &[ErrorKind::StackOverflow]),
    (
        "while (true) console.log('x'.repeat(1000))",
        &[ErrorKind::ResourceLimit, ErrorKind::ResultTooLarge, ErrorKind::Timeout],
    ),
];

#[tokio::test]
async fn a_hostile_program_ends_within_the_limits() {
    let runtime = running(Grant::none(), Limits::new().timeout(Duration::from_secs(2)));
    for (code, kinds) in HOSTILE {
        let outcome = run(&runtime, code).await;
        let kind = outcome.error_kind();
        assert!(kind.is_some_and(|kind| kinds.contains(&kind)), "{code}: {outcome:?}");
    }
    for code in ["(".repeat(50_000), "a=>".repeat(50_000), "!".repeat(50_000) + "1", "{".repeat(50_000)] {
        assert_eq!(run(&runtime, &code).await.error_kind(), Some(ErrorKind::StackOverflow), "{}", &code[..3]);
    }
    assert_eq!(shown(&run(&runtime, "1 + 1").await), "2", "none of it is left");
}

#[tokio::test]
async fn what_was_printed_before_the_end_of_time_is_kept() {
    let runtime = running(Grant::none(), Limits::new().timeout(Duration::from_secs(1)));
    let outcome = run(&runtime, "console.log('got here');\nwhile (true) {}").await;
    assert_eq!((outcome.status, outcome.error_kind()), (Status::Interrupted, Some(ErrorKind::Timeout)));
    assert!(outcome.text().starts_with("got here\n"), "{outcome:?}");
}

#[test]
fn the_interpreter_costs_nothing_where_it_is_not_called() {
    let line = CommandLine::cold();
    let tools = "[component.js]\npath = \"builtin:js\"\n[component.basics]\npath = \"builtin:basics\"\n";
    line.write("toolcell.toml", tools);
    for arguments in [
        &["list"][..],
        &["describe", "run_js"],
        &["export", "--format", "mcp"],
        &["call", "add", r#"{"a":1,"b":2}"#],
    ] {
        let ended = line.run(arguments);
        assert_eq!(ended.code, 0, "{ended:?}");
    }
    let compiled = std::fs::read_dir(line.home().join("cache/compiled")).unwrap();
    let files: Vec<u64> = compiled.map(|file| file.unwrap().metadata().unwrap().len()).collect();
    assert!(files.iter().all(|bytes| *bytes < 4 << 20), "nothing of that size was compiled: {files:?}");
}
