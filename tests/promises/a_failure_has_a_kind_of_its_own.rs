//! How a call failed is one of a closed set of kinds, with words for its two readers and nothing of the host in them.

use std::time::Duration;

use serde_json::{Value, json};
use toolcell::{Access, ErrorKind, Grant, Limits, Outcome, Status, ToolComponent};
use toolcell_tests::{builder, built, call, crafted, crafted_named, guest, probe, probing};

const MEMORY: &str = r#"(memory (export "memory") 1)"#;

#[tokio::test]
async fn six_ways_to_fail_are_six_kinds() {
    let limits = Limits::new().timeout(Duration::from_millis(300)).memory(32 << 20).fuel(10_000_000_000);
    let runtime = probing(Grant::none(), limits.clone());
    let starved = probing(Grant::none(), limits.fuel(1_000_000));
    let outcomes = [
        (ErrorKind::OutOfFuel, call(&starved, "compute", json!({ "steps": 1_000_000_000 })).await),
        (ErrorKind::Timeout, call(&runtime, "spin", json!({})).await),
        (ErrorKind::MemoryLimit, call(&runtime, "alloc", json!({ "mib": 100 })).await),
        (ErrorKind::StackOverflow, call(&runtime, "recurse", json!({ "depth": 10_000_000 })).await),
        (ErrorKind::Panicked, call(&runtime, "panic_with", json!({ "message": "on purpose" })).await),
        (
            ErrorKind::CapabilityDenied,
            call(&runtime, "net_connect", json!({ "host": "127.0.0.1", "port": 9 })).await,
        ),
    ];
    for (kind, outcome) in &outcomes {
        assert_eq!(outcome.error_kind(), Some(*kind), "{:#?}", outcome.error);
        assert_words(outcome);
    }
    let (_, refused) = &outcomes[5];
    assert_eq!(refused.status, Status::Denied);
    assert_eq!(refused.denials.first().map(|denial| denial.capability.as_str()), Some("sockets"));
}

/// The words of a failure are there, and hold nothing of the host: no path, no backtrace, no number of a frame.
fn assert_words(outcome: &Outcome) {
    let error = outcome.error.as_ref().unwrap_or_else(|| panic!("no failure: {outcome:#?}"));
    assert!(!error.message.is_empty(), "{error:#?}");
    assert_eq!(outcome.text(), error.message, "the model reads the message");
    let said = serde_json::to_string(&(&outcome.content, error, &outcome.denials)).unwrap();
    for host in [
        "/root",
        "/home",
        "/tmp",
        "/rustc",
        "/work",
        ".cargo",
        ".rs:",
        "backtrace",
        "wasm function",
        "0x",
        "wasmtime",
    ] {
        assert!(!said.contains(host), "`{host}` in {said}");
    }
    assert!(error.message.len() < 1000, "{}", error.message.len());
}

#[tokio::test]
async fn traps_are_told_apart() {
    for (body, words) in [
        ("unreachable", "aborted"),
        ("(drop (i32.load (i32.const -4)))", "memory out of bounds"),
        ("(drop (i32.div_s (i32.const 1) (i32.const 0)))", "divided by zero"),
        ("(drop (i32.div_s (i32.const -2147483648) (i32.const -1)))", "out of range"),
        ("(drop (i32.trunc_f32_s (f32.const nan)))", "out of range"),
        ("(call_indirect (i32.const 3))", "a function that is not there"),
        ("(call_indirect (i32.const 99))", "a function that is not there"),
    ] {
        let module = format!(r#"{MEMORY} (table 10 funcref) (func (export "run") {body})"#);
        let runtime = built(builder().component(crafted(&module, "")));
        for _ in 0..2 {
            let outcome = call(&runtime, "run", json!({})).await;
            assert_eq!(outcome.error_kind(), Some(ErrorKind::Trapped), "{body}: {:#?}", outcome.error);
            assert_eq!(outcome.exit_code(), 6);
            assert!(outcome.text().contains(words), "{body}: {}", outcome.text());
            assert_words(&outcome);
        }
    }
}

#[tokio::test]
async fn a_refused_growth_explains_only_the_end_that_it_led_to() {
    let refused = "(drop (memory.grow (i32.const 100)))";
    let granted = "(drop (memory.grow (i32.const 1)))";
    let divides = "(drop (i32.div_s (i32.const 1) (i32.const 0)))";
    let reads = "(drop (i32.load (i32.const -4)))";
    for (body, kind) in [
        (format!("{refused} unreachable"), ErrorKind::MemoryLimit),
        (format!("{refused} {reads}"), ErrorKind::MemoryLimit),
        (format!("{granted} {refused} unreachable"), ErrorKind::MemoryLimit),
        (format!("{refused} {granted} unreachable"), ErrorKind::Trapped),
        (format!("{refused} {divides}"), ErrorKind::Trapped),
        (format!("{granted} unreachable"), ErrorKind::Trapped),
    ] {
        let module = format!(r#"{MEMORY} (func (export "run") {body})"#);
        let component = crafted(&module, "").limits(Limits::new().memory(1 << 20));
        let outcome = call(&built(builder().component(component)), "run", json!({})).await;
        assert_eq!(outcome.error_kind(), Some(kind), "{body}: {:#?}", outcome.error);
    }
}

#[tokio::test]
async fn a_trap_while_the_component_starts_is_a_trap_of_the_call() {
    let module = format!(r#"{MEMORY} (func $start unreachable) (start $start) (func (export "run"))"#);
    let runtime = built(builder().component(crafted(&module, "")));
    let outcome = call(&runtime, "run", json!({})).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::Trapped), "{:#?}", outcome.error);
    let endless = format!(r#"{MEMORY} (func $start (loop (br 0))) (start $start) (func (export "run"))"#);
    let limits = Limits::new().timeout(Duration::from_millis(100));
    let runtime = built(builder().component(crafted(&endless, "").limits(limits)));
    assert_eq!(call(&runtime, "run", json!({})).await.error_kind(), Some(ErrorKind::Timeout));
}

#[tokio::test]
async fn a_result_that_is_no_value_of_its_type_is_a_trap() {
    // What `run` returns: a number, or the address of what is written at 16.
    let returns = |data: &str, value: &str| {
        format!(
            r#"{MEMORY} (data (i32.const 16) "{data}") (func (export "run") (result i32) (i32.const {value}))"#
        )
    };
    for (module, result) in [
        (returns(r"\20\00\00\00\02\00\00\00\00\00\00\00\00\00\00\00\ff\fe", "16"), "string"),
        (returns(r"\00\00\00\f0\ff\00\00\00", "16"), "string"),
        (returns(r"\00\00\00\00\ff\ff\ff\ff", "16"), "string"),
        (returns(r"\00\00\00\00\ff\ff\ff\ff", "16"), "(list u8)"),
        (returns(r"\00\00\00\00\ff\ff\ff\ff", "16"), "(list u64)"),
        (returns(r"\03\00\00\00\01\00\00\00", "16"), "(list u64)"),
        (returns(r"\00\00\00\00\ff\ff\ff\0f", "16"), "(list string)"),
        (returns("", "-16"), "string"),
        (returns("", "-16"), "(option string)"),
        (returns(r"\07\00\00\00", "16"), "(option string)"),
        (returns(r"\07\00\00\00", "16"), "(variant (case \"number\" u32) (case \"text\" string))"),
        (returns(r"\07\00\00\00", "16"), "(result string (error string))"),
        (returns("", "7"), "(enum \"first\" \"second\")"),
        (returns("", "55296"), "char"),
        (returns("", "1114112"), "char"),
    ] {
        let is_named = result.starts_with("(enum") || result.starts_with("(variant");
        let component = if is_named { crafted_named(&module, result) } else { crafted(&module, result) };
        let runtime = built(builder().component(component));
        let outcome = call(&runtime, "run", json!({})).await;
        assert!(
            matches!(outcome.error_kind(), Some(ErrorKind::Trapped | ErrorKind::ResultTooLarge)),
            "{result} from {module}: {outcome:#?}"
        );
        assert_words(&outcome);
    }
    let runtime = built(builder().component(crafted_named(&returns("", "1"), "(enum \"first\" \"second\")")));
    assert_eq!(call(&runtime, "run", json!({})).await.structured, Some(json!({ "result": "second" })));
}

#[tokio::test]
async fn a_panic_keeps_its_text_and_its_output() {
    let runtime = probing(Grant::none(), Limits::new());
    for message in ["on purpose", "two\nlines", "ünïcödé 🎉", "panicked at the disco"] {
        let outcome = call(&runtime, "panic_with", json!({ "message": message })).await;
        assert_eq!(outcome.error_kind(), Some(ErrorKind::Panicked), "{:#?}", outcome.error);
        let last = message.lines().last().unwrap();
        assert!(outcome.text().contains(last), "{message:?} in {:?}", outcome.text());
        assert!(outcome.logs.iter().any(|log| log.stream == "stderr" && log.text.contains(last)));
        assert_words(&outcome);
    }
    let long = call(&runtime, "panic_with", json!({ "message": "é".repeat(10_000) })).await;
    assert_eq!(long.error_kind(), Some(ErrorKind::Panicked), "{:#?}", long.error);
    let trap = call(&runtime, "print_and_trap", json!({ "start": "before the end" })).await;
    assert_eq!(trap.error_kind(), Some(ErrorKind::Trapped), "{:#?}", trap.error);
    assert!(trap.logs.iter().any(|log| log.stream == "stdout" && log.text == "before the end"));
    assert_eq!(call(&runtime, "trap", json!({})).await.error_kind(), Some(ErrorKind::Trapped));
}

#[tokio::test]
async fn a_tool_that_exits_ends_its_call_and_not_the_host() {
    let runtime = probing(Grant::none(), Limits::new());
    for code in [0, 1, 3, 255, -1] {
        let outcome = call(&runtime, "exit_with", json!({ "code": code })).await;
        assert_eq!(outcome.error_kind(), Some(ErrorKind::Exited), "{:#?}", outcome.error);
        assert_eq!(outcome.exit_code(), 6);
        assert_words(&outcome);
        assert!(call(&runtime, "echo_silence", json!({})).await.is_success());
    }
    let outcome = call(&runtime, "exit_with", json!({ "code": 1 })).await;
    assert!(outcome.text().contains("code 1"), "{}", outcome.text());
}

#[tokio::test]
async fn a_command_may_exit_with_success() {
    let runtime = built(builder().component(ToolComponent::file(guest("command"))));
    let run = |arguments: Value| call(&runtime, "command", arguments);
    let fine = run(json!({ "text": "abc", "stderr": "on the side" })).await;
    assert!(fine.is_success(), "{:#?}", fine.error);
    assert_eq!(fine.text().trim(), r#"{"reversed":"cba"}"#);
    assert!(fine.logs.iter().any(|log| log.stream == "stderr" && log.text.trim() == "on the side"));
    let failed = run(json!({ "text": "abc", "exit": 3 })).await;
    assert!(!failed.is_success(), "{failed:#?}");
    assert!(
        matches!(failed.error_kind(), Some(ErrorKind::Exited | ErrorKind::ToolError)),
        "{:#?}",
        failed.error
    );
    let panicked = run(json!({ "panic": "on purpose" })).await;
    assert_eq!(panicked.error_kind(), Some(ErrorKind::Panicked), "{:#?}", panicked.error);
    assert_words(&panicked);
}

#[tokio::test]
async fn no_message_says_anything_of_the_host() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "content").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("out")).unwrap();
    let grant = Grant::none().dir(folder.path(), "/granted", Access::Read);
    let runtime = built(
        builder().component(probe(grant, Limits::new().timeout(Duration::from_millis(200)).fuel(1 << 32))),
    );
    let read = ["read"];
    for (name, arguments) in [
        ("no_such_tool", json!({})),
        ("echo_u8", json!({ "value": 256 })),
        ("echo_u8", json!({ "value": "/root/.cargo", "more": "/home" })),
        ("raw_open", json!({ "preopen": 0, "path": "missing", "mode": read })),
        ("raw_open", json!({ "preopen": 0, "path": "../..", "mode": read })),
        ("raw_open", json!({ "preopen": 0, "path": "out", "mode": ["follow", "read"] })),
        ("raw_open", json!({ "preopen": 0, "path": "file", "mode": ["create", "truncate", "write"] })),
        ("raw_open", json!({ "preopen": 9, "path": "file", "mode": read })),
        ("raw_unlink", json!({ "preopen": 0, "path": "file" })),
        (
            "raw_rename",
            json!({ "source_preopen": 0, "source": "file", "target_preopen": 0, "target": "other" }),
        ),
        ("loop_stat", json!({ "path": "file" })),
        ("loop_list", json!({ "preopen": 9 })),
        ("bomb_descriptors", json!({ "preopen": 0, "path": "file", "most": 5000 })),
        ("bomb_pollables", json!({ "most": 5000 })),
        ("random", json!({ "length": 1_u64 << 40 })),
        ("poll_many", json!({ "count": 0 })),
        ("print_zeroes", json!({ "length": 1_u64 << 40 })),
        ("net_send", json!({ "host": "127.0.0.1", "port": 9 })),
        ("fail", json!({ "message": "its own" })),
        ("fail_record", json!({ "code": 3 })),
        ("fail_bare", json!({})),
        ("spin", json!({})),
        ("trap", json!({})),
        ("recurse", json!({ "depth": 100_000_000 })),
        ("alloc", json!({ "mib": 3000 })),
    ] {
        let outcome = call(&runtime, name, arguments).await;
        if outcome.is_success() {
            // A guest that was refused something and went on.
            let said = serde_json::to_string(&outcome).unwrap();
            assert!(!said.contains(folder.path().to_str().unwrap()), "{name}: {said}");
            continue;
        }
        if name == "echo_u8" {
            assert_eq!(outcome.error_kind(), Some(ErrorKind::InvalidArguments));
            continue;
        }
        assert_words(&outcome);
    }
}

#[tokio::test]
async fn a_tool_reports_errors_of_its_own() {
    let runtime = probing(Grant::none(), Limits::new());
    let outcome = call(&runtime, "fail", json!({ "message": "its own" })).await;
    assert_eq!((outcome.error_kind(), outcome.exit_code()), (Some(ErrorKind::ToolError), 1));
    assert_eq!(outcome.text(), "its own");
    let outcome = call(&runtime, "fail_record", json!({ "code": 3 })).await;
    let details = outcome.error.and_then(|error| error.details);
    assert_eq!(details, Some(json!({ "code": 3, "reason": "failed with 3" })));
    assert!(call(&runtime, "fail", json!({ "message": "" })).await.is_success());
}
