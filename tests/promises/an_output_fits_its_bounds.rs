//! What a model reads of one call is clean, bounded in bytes and lines, keeps its end, and can be read back whole.

use serde_json::{Value, json};
use toolcell::output::{Handle, OutputStore};
use toolcell::{Content, ErrorKind, Grant, Limits, Outcome, Runtime, Status, ToolCall, ToolComponent};
use toolcell_tests::{builder, built, call, guest, probe, probing};

const MAX_BYTES: usize = 40 * 1024;
const MAX_LINES: usize = 2_000;

fn check(outcome: &Outcome) {
    let text = outcome.text();
    assert!(text.len() <= MAX_BYTES, "{} bytes", text.len());
    assert!(text.lines().count() <= MAX_LINES, "{} lines", text.lines().count());
    let clean = |text: &str| !text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t'));
    assert!(clean(&text), "{text:?}");
    assert!(outcome.logs.iter().all(|log| clean(&log.text)), "{:#?}", outcome.logs);
    serde_json::from_str::<Value>(&serde_json::to_string(outcome).unwrap()).unwrap();
}

fn read_back(runtime: &Runtime, session: &str, handle: &str) -> Option<Vec<u8>> {
    let handle: Handle = handle.parse().unwrap();
    let mut bytes = Vec::new();
    runtime.outputs().open(session, &handle).ok()?.bytes(0..u64::MAX, &mut bytes).unwrap();
    Some(bytes)
}

#[tokio::test]
async fn the_end_is_kept_whatever_the_shape() {
    let runtime = probing(Grant::none(), Limits::new());
    let long_lines = format!("{}\n{}\nERROR: the reason", "a".repeat(60_000), "b".repeat(60_000));
    let short_lines = format!("{}ERROR: the reason", "line\n".repeat(10_000));
    for (name, arguments, total) in [
        ("echo_string", json!({ "value": long_lines }), long_lines.len()),
        ("echo_string", json!({ "value": short_lines }), short_lines.len()),
        ("long_line", json!({ "bytes": 5 << 20, "end": "ERROR: the reason" }), 5 << 20),
    ] {
        let outcome = call(&runtime, name, arguments).await;
        assert!(outcome.is_success(), "{name}");
        check(&outcome);
        let text = outcome.text();
        assert!(
            text.ends_with("ERROR: the reason"),
            "{name}: …{}",
            &text[text.floor_char_boundary(text.len() - 80)..]
        );
        assert_eq!(text.matches("left out").count(), 1, "{name}");
        let truncated = outcome.truncated.unwrap();
        assert!(truncated.total_bytes >= total as u64, "{name}: {truncated:#?}");
        let whole = read_back(&runtime, "", &truncated.handle.unwrap()).unwrap();
        assert_eq!(whole.len() as u64, truncated.total_bytes, "{name}");
        for (start, end) in truncated.kept_bytes {
            let kept = &whole[usize::try_from(start).unwrap()..usize::try_from(end).unwrap()];
            // The marker stands between two lines, so that a range may go on behind it.
            for line in std::str::from_utf8(kept).unwrap().lines() {
                assert!(text.contains(line), "{name}: {start}-{end}");
            }
        }
    }
    // An error keeps its end too.
    let outcome = call(&runtime, "fail", json!({ "message": long_lines })).await;
    check(&outcome);
    assert_eq!(outcome.error_kind(), Some(ErrorKind::ToolError));
    assert!(outcome.text().ends_with("ERROR: the reason"));
    assert_eq!(outcome.text().matches("left out").count(), 1);
    assert_eq!(outcome.error.unwrap().message.len(), outcome.content[0..].iter().map(length).sum::<usize>());
}

fn length(content: &Content) -> usize {
    match content {
        Content::Text { text } => text.len(),
        _ => 0,
    }
}

#[tokio::test]
async fn every_cap_holds_for_every_text() {
    let texts = [
        "plain ascii text without a line end".repeat(3),
        "üñé".repeat(30),
        "한국어".repeat(20),
        "👩‍👩‍👧‍👦".repeat(10),
        "e\u{301}".repeat(40),
        "crlf\r\n".repeat(20),
        "\n".repeat(100),
    ];
    for cap in (1..64).chain([100, 200]) {
        let runtime = built(builder().component(ToolComponent::file(guest("probe"))).output(cap, 5));
        let text = &texts[usize::try_from(cap).unwrap() % texts.len()];
        for (name, arguments) in
            [("echo_string", json!({ "value": text })), ("fail", json!({ "message": text }))]
        {
            let outcome = call(&runtime, name, arguments).await;
            let read = outcome.text();
            assert!(read.len() as u64 <= cap, "{name} {cap}: {read:?}");
            assert!(read.lines().count() <= 5, "{name} {cap}: {read:?}");
            let fits = text.len() as u64 <= cap && text.lines().count() <= 5;
            assert_eq!(outcome.truncated.is_none(), fits, "{name} {cap}: {read:?}");
        }
    }
}

#[tokio::test]
async fn a_small_output_is_not_touched() {
    let runtime = probing(Grant::none(), Limits::new());
    for text in ["", "x", "\n", "  spaces  \n\n", &"x".repeat(MAX_BYTES), &"l\n".repeat(MAX_LINES)] {
        let outcome = call(&runtime, "echo_string", json!({ "value": text })).await;
        assert_eq!(outcome.text(), text);
        assert_eq!(outcome.truncated, None, "{:.20}", text);
    }
    for text in ["x".repeat(MAX_BYTES + 1), "l\n".repeat(MAX_LINES + 1)] {
        let outcome = call(&runtime, "echo_string", json!({ "value": text })).await;
        assert!(outcome.truncated.is_some());
        check(&outcome);
    }
}

#[tokio::test]
async fn control_bytes_and_colours_are_cleaned_everywhere() {
    let runtime = probing(Grant::none(), Limits::new());
    let dirty = "\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}after \u{1b}]8;;http://x\u{1b}\\link \0nul \u{8}bs \u{7f}del \u{1b}[";
    for (name, arguments) in [
        ("echo_string", json!({ "value": dirty })),
        ("echo_strings", json!({ "value": [dirty] })),
        ("fail", json!({ "message": dirty })),
        ("panic_with", json!({ "message": dirty })),
        ("print", json!({ "channel": "stdout", "pattern": dirty, "count": 3 })),
        ("log_many", json!({ "level": "info", "text": dirty, "count": 2 })),
        ("emit_and_spin", json!({ "text": dirty })),
    ] {
        let outcome =
            runtime.call(ToolCall::new(name, arguments)).timeout(std::time::Duration::from_millis(300)).await;
        check(&outcome);
        let all = serde_json::to_string(&outcome).unwrap();
        assert!(all.contains("red") && !all.contains("\\u001b") && !all.contains("title"), "{name}: {all}");
    }
    // Split anywhere, a character stays one; what is no UTF-8 is replaced.
    for (bytes, chunk, expected) in [
        ("aMOpw7zwn5iAYg==", 1, "héü😀b"),
        ("aMOpw7zwn5iAYg==", 3, "héü😀b"),
        ("Yf+AYg==", 1, "a\u{fffd}\u{fffd}b"),
        ("4piD", 2, "☃"),
    ] {
        let arguments = json!({ "channel": "stderr", "bytes": bytes, "count": 1, "chunk": chunk });
        let outcome = call(&runtime, "print_bytes", arguments).await;
        check(&outcome);
        assert_eq!(
            outcome.logs.iter().map(|log| log.text.as_str()).collect::<String>(),
            expected,
            "{outcome:#?}"
        );
    }
    let noise: Vec<u8> = (0..1u32 << 16).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[1]).collect();
    let arguments = json!({ "channel": "stdout", "bytes": noise, "count": 16, "chunk": 1_000 });
    let outcome = call(&runtime, "print_bytes", arguments).await;
    assert!(outcome.is_success(), "{:?}", outcome.error);
    check(&outcome);
}

#[tokio::test]
async fn printing_much_costs_a_tool_nothing() {
    let runtime = probing(Grant::none(), Limits::new());
    for channel in ["stdout", "stderr"] {
        let pattern = format!("{}\n", "p".repeat(1023));
        let outcome =
            call(&runtime, "print", json!({ "channel": channel, "pattern": pattern, "count": 5 * 1024 }))
                .await;
        assert_eq!(outcome.text(), (5 << 20).to_string(), "{:?}", outcome.error);
        let logged: usize = outcome.logs.iter().map(|log| log.text.len()).sum();
        assert!(logged > 0 && logged < 300 << 10, "{logged}");
        assert!(
            outcome.logs.iter().all(|log| log.text.contains("left out") || log.text.contains("5")),
            "{channel}"
        );
    }
}

#[tokio::test]
async fn content_and_what_comes_after_it_fit_together() {
    let runtime = probing(Grant::none(), Limits::new());
    for (name, arguments, status) in [
        ("emit_many", json!({ "count": 10, "bytes": 30_000 }), Status::Success),
        ("emit_many", json!({ "count": 200, "bytes": 100 }), Status::Success),
        ("emit_and_spin", json!({ "text": "chunk\n".repeat(20_000) }), Status::Interrupted),
        (
            "rich_output",
            json!({ "structured": format!("{{\"a\":\"{}\"}}", "s".repeat(100_000)) }),
            Status::Success,
        ),
    ] {
        let outcome =
            runtime.call(ToolCall::new(name, arguments)).timeout(std::time::Duration::from_millis(500)).await;
        assert_eq!(outcome.status, status, "{name}: {:?}", outcome.error);
        check(&outcome);
        if status == Status::Interrupted {
            let last = outcome.content.last().unwrap();
            let Content::Text { text } = last else { panic!("{last:?}") };
            assert!(text.contains("did not finish within"), "{text}");
            assert!(outcome.text().starts_with("chunk\n"), "{:.100}", outcome.text());
        }
        if name == "emit_many" {
            // The result itself comes last, and whole.
            let last = outcome.content.last().unwrap();
            assert!(matches!(last, Content::Text { text } if text == "10" || text == "200"), "{last:?}");
        }
        if let Some(structured) = outcome.structured {
            assert!(structured.to_string().len() <= MAX_BYTES, "{name}");
        }
    }
}

#[tokio::test]
async fn a_full_output_belongs_to_its_session() {
    let folder = tempfile::tempdir().unwrap();
    let long = "line of the whole output\n".repeat(5_000);
    for store in [OutputStore::in_memory(), OutputStore::in_folder(folder.path().join("outputs")).unwrap()] {
        let runtime = built(builder().component(probe(Grant::none(), Limits::new())).outputs(store));
        let echo = ToolCall::new("echo_string", json!({ "value": long }));
        let outcome = runtime.session("one").call(echo.clone()).await;
        let handle = outcome.truncated.as_ref().unwrap().handle.clone().unwrap();
        assert!(outcome.text().contains(&handle), "the marker names the handle");
        assert_eq!(read_back(&runtime, "one", &handle).unwrap(), long.as_bytes());
        assert_eq!(read_back(&runtime, "two", &handle), None);
        assert_eq!(read_back(&runtime, "", &handle), None);
        let again = runtime.session("one").call(echo).await;
        assert_ne!(again.truncated.unwrap().handle.unwrap(), handle);
    }
    // What lies in a folder is there for the next process, and for its owner alone.
    let runtime = built(
        builder()
            .component(probe(Grant::none(), Limits::new()))
            .outputs(OutputStore::in_folder(folder.path().join("outputs")).unwrap()),
    );
    let files: Vec<_> =
        std::fs::read_dir(folder.path().join("outputs")).unwrap().map(Result::unwrap).collect();
    assert_eq!(files.len(), 2);
    for file in files {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o077, 0, "{file:?}");
    }
    assert_eq!(read_back(&runtime, "one", &Handle::random().unwrap().to_string()), None);
}

#[tokio::test]
async fn an_output_that_cannot_be_kept_is_still_answered() {
    let runtime = built(
        builder()
            .component(probe(Grant::none(), Limits::new()))
            .outputs(OutputStore::in_memory().max_bytes(1_000)),
    );
    let outcome = call(&runtime, "text", json!({ "bytes": 100_000 })).await;
    assert!(outcome.is_success());
    check(&outcome);
    assert_eq!(outcome.truncated.unwrap().handle, None);
}
