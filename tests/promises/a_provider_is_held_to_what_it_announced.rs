//! A provider says once which tools it has; they are held to that, and to everything that holds for other tools.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolcell::call::Event;
use toolcell::format::Strict;
use toolcell::{
    Access, Content, ErrorKind, Format, Grant, Limit, Limits, Outcome, Runtime, Status, ToolCall,
    ToolComponent,
};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::{builder, built, call, guest, probe};

fn provider(mode: &str, grant: Grant) -> ToolComponent {
    ToolComponent::file(guest("provider")).grant(grant.config("mode", mode))
}

fn providing(mode: &str) -> Runtime {
    built(builder().component(provider(mode, Grant::none())))
}

fn names(runtime: &Runtime) -> Vec<String> {
    runtime.list().iter().map(|tool| tool.name().to_owned()).collect()
}

/// Why a provider cannot be loaded.
fn refusal(mode: &str) -> String {
    builder().component(provider(mode, Grant::none())).build_blocking().unwrap_err().to_string()
}

#[tokio::test]
async fn its_tools_are_tools_like_others() {
    let runtime = providing("good");
    let add = runtime.get("add").unwrap();
    assert_eq!((add.title(), add.description()), (Some("Adding"), "Adds two numbers."));
    assert_eq!((add.origin(), add.component()), ("tools.add", "provider"));
    assert_eq!(add.input_schema()["required"], json!(["a", "b"]));
    assert_eq!(add.input_schema().get("$schema"), None);
    assert!(add.is_read_only() && add.runs_beside_others());
    let write = runtime.get("write").unwrap();
    assert_eq!(write.hints().destructive, Some(true));
    assert!(!write.is_read_only() && !write.runs_beside_others());
    let sum = call(&runtime, "add", json!({ "a": 2, "b": 3 })).await;
    assert_eq!((sum.text(), sum.structured), ("It is 5.".to_owned(), Some(json!({ "sum": 5 }))));
}

#[tokio::test]
async fn arguments_are_held_to_its_schema() {
    let runtime = providing("good");
    let wrong = call(&runtime, "add", json!({ "a": -1, "b": "x", "c": 1 })).await;
    let error = wrong.error.unwrap();
    assert_eq!(error.kind, ErrorKind::InvalidArguments);
    let mut paths: Vec<&str> = error.violations.iter().map(|violation| violation.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["/a", "/b", "/c"], "{error:#?}");
    for told in [
        "/a: expected integer of at least 0, got another integer",
        "/b: expected integer, got string",
        "/c: expected only `a`, `b`, got an unknown property",
    ] {
        assert!(error.message.contains(told), "{told}: {}", error.message);
    }
    assert!(!error.message.contains("-1"), "values are not repeated: {}", error.message);
    let text = runtime.call(ToolCall::new("add", r#"{"a": 1, "a": 2, "b": 3}"#)).await;
    assert_eq!(text.error_kind(), Some(ErrorKind::InvalidArguments), "{text:#?}");
}

#[tokio::test]
async fn its_failures_have_kinds_and_its_parts_are_heard() {
    let runtime = providing("good");
    for (kind, expected) in [
        ("invalid-arguments", ErrorKind::InvalidArguments),
        ("unknown-tool", ErrorKind::ToolError),
        ("weather", ErrorKind::ToolError),
    ] {
        let failed = call(&runtime, "fail", json!({ "kind": kind })).await;
        let error = failed.error.unwrap();
        assert_eq!((error.kind, error.message.as_str()), (expected, "it did not work"));
        assert_eq!(error.details, Some(json!({ "kind": kind })));
    }
    assert_eq!(call(&runtime, "trap", json!({})).await.error_kind(), Some(ErrorKind::Panicked));
    let (sink, mut events) = mpsc::channel(8);
    let said = runtime.session("s1").call(ToolCall::new("say", json!({}))).events(sink).await;
    assert_eq!(said.text(), "first\ns1");
    assert_eq!(said.logs[0].text, "in between");
    let first = Content::Text { text: "first".to_owned() };
    assert_eq!(events.recv().await, Some(Event::Chunk { content: first }));
}

#[tokio::test]
async fn data_that_is_not_as_announced_is_an_error() {
    let runtime = providing("good");
    for (name, why) in [("lie", "/sum: expected"), ("hold_back", "there is none")] {
        let outcome = call(&runtime, name, json!({})).await;
        assert_eq!(outcome.error_kind(), Some(ErrorKind::Trapped), "{outcome:#?}");
        assert_eq!(outcome.structured, None);
        assert!(outcome.text().starts_with("the tool's data is not what its output schema announces: "));
        assert!(outcome.text().contains(why) && !outcome.text().contains("many"), "{}", outcome.text());
    }
}

#[tokio::test]
async fn limits_hold() {
    let limits = Limits::new().timeout(Duration::from_millis(50));
    let runtime = built(builder().component(provider("good", Grant::none()).limits(limits)));
    let spun = call(&runtime, "spin", json!({})).await;
    assert_eq!(spun.error_kind(), Some(ErrorKind::Timeout), "{spun:#?}");
    let limits = Limits::new().with(Limit::ResultBytes, 1 << 20);
    let runtime = built(builder().component(provider("good", Grant::none()).limits(limits)));
    let bulk = call(&runtime, "bulk", json!({})).await;
    assert_eq!(bulk.error_kind(), Some(ErrorKind::ResultTooLarge), "{bulk:#?}");
}

#[tokio::test]
async fn a_claim_to_be_read_only_narrows_its_grants() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    fs::write(&path, "before").unwrap();
    let grant = Grant::none().dir(folder.path(), "/work", Access::ReadWrite);
    let runtime = built(builder().component(provider("good", grant)));
    let arguments = json!({ "path": "/work/f" });
    assert_eq!(call(&runtime, "peek", arguments.clone()).await.text(), "before");
    let lie = call(&runtime, "read_only_write", arguments.clone()).await;
    assert_eq!(lie.error_kind(), Some(ErrorKind::ToolError), "{lie:#?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "before");
    assert_eq!(runtime.get("peek").unwrap().grant().dirs[0].access, Access::Read);
    assert!(call(&runtime, "write", arguments).await.is_success());
    assert_eq!(fs::read_to_string(&path).unwrap(), "written");
}

#[test]
fn a_bad_tool_is_left_out_with_a_warning_and_the_good_ones_stay() {
    let runtime = providing("bad");
    assert_eq!(names(&runtime), ["fine", "twice"]);
    let warnings = runtime.warnings().join("\n");
    assert_eq!(runtime.warnings().len(), 14, "{warnings}");
    for (name, why) in [
        ("no_json", "is no JSON"),
        ("no_object", "not that of an object"),
        ("no_schema", "its input schema"),
        ("deep", "nested deeper than 32"),
        ("huge", "bytes, and 65536 are allowed"),
        ("remote", "nothing is fetched"),
        ("local_file", "nothing is fetched"),
        ("Bad Name", "is no tool"),
        ("twice", "a second `twice`"),
        ("bad_output", "its output schema is not that of an object"),
        ("bad_output_type", "its output schema"),
    ] {
        let line = |warning: &&String| warning.contains(&format!("`{name}`")) && warning.contains(why);
        assert!(runtime.warnings().iter().find(line).is_some(), "{name}: {warnings}");
    }
    assert!(!warnings.contains('\u{1b}') && !warnings.contains('\u{202e}'), "{warnings}");
    assert!(!warnings.contains("root:"), "nothing was fetched: {warnings}");
}

#[test]
fn listing_is_done_with_nothing_granted() {
    let folder = tempfile::tempdir().unwrap();
    let grant = Grant::none().dir(folder.path(), "/work", Access::ReadWrite).env("A", "1");
    let runtime = built(builder().component(provider("seen", grant)));
    assert_eq!(names(&runtime), ["folders_0_variables_0_session_false"]);
}

#[tokio::test]
async fn what_it_named_holds_until_it_is_loaded_again() {
    let (one, other) = (providing("random"), providing("random"));
    assert_ne!(names(&one), names(&other), "it is asked at each load");
    for _ in 0..3 {
        let name = names(&one).pop().unwrap();
        assert_eq!(call(&one, &name, json!({})).await.text(), name, "and not again");
    }
}

#[test]
fn a_provider_that_does_not_say_its_tools_is_refused_with_the_reason() {
    for (mode, why) in [
        ("many", "it names 300 tools, and 256 are allowed"),
        ("none", "named none that can be one"),
        ("trap", "it failed (panicked)"),
        ("hog", "it failed (memory_limit)"),
        ("flood", "it failed (result_too_large)"),
    ] {
        let refusal = refusal(mode);
        assert!(refusal.contains("provider.wasm: ") && refusal.contains(why), "{mode}: {refusal}");
    }
    let refusal = refusal("spin");
    assert!(
        refusal.contains("it failed (timeout)") || refusal.contains("it failed (out_of_fuel)"),
        "{refusal}"
    );
}

#[tokio::test]
async fn what_it_prints_while_it_is_asked_goes_nowhere() {
    let runtime = providing("print");
    assert_eq!(names(&runtime), ["printed"]);
    let outcome = call(&runtime, "printed", json!({ "any": 1 })).await;
    assert_eq!((outcome.text(), outcome.logs.len()), (r#"{"any":1}"#.to_owned(), 0));
}

#[test]
fn it_takes_no_other_tool_s_place() {
    for order in [["provider", "probe"], ["probe", "provider"]] {
        let component = |name: &str| match name {
            "probe" => probe(Grant::none(), Limits::new()),
            _ => provider("shadow", Grant::none()),
        };
        let error = builder().component(component(order[0])).component(component(order[1])).build_blocking();
        let error = error.unwrap_err().to_string();
        assert!(error.contains("two tools are named `echo_string`"), "{error}");
    }
    let renamed = provider("shadow", Grant::none()).prefix("other_");
    let runtime = built(builder().component(renamed).component(probe(Grant::none(), Limits::new())));
    assert!(runtime.get("other_echo_string").is_some());
}

#[tokio::test]
async fn it_goes_in_batches_and_every_format() {
    let runtime = providing("good");
    let calls = vec![
        ToolCall::new("add", json!({ "a": 1, "b": 1 })).id("1"),
        ToolCall::new("spin_", json!({})).id("2"),
        ToolCall::new("add", json!({ "a": 2, "b": 2 })).id("3"),
    ];
    let outcomes: Vec<Outcome> = runtime.call_batch(calls).await;
    let texts: Vec<String> = outcomes.iter().map(Outcome::text).collect();
    assert_eq!((texts[0].as_str(), texts[2].as_str()), ("It is 2.", "It is 4."));
    assert_eq!(outcomes[1].status, Status::Error);
    let formats = ["openai", "openai-responses", "anthropic", "gemini", "mcp"];
    for (format, strict) in formats.iter().flat_map(|format| [(*format, Strict::Off), (*format, Strict::On)])
    {
        let format: Format = format.parse().unwrap();
        let text = format.export(&runtime.list(), strict).tools.to_string();
        for name in names(&runtime) {
            assert!(text.contains(&format!("\"{name}\"")), "{format}: {name}");
        }
        assert!(text.contains("Adds two numbers."), "{format}");
    }
}

#[test]
fn the_command_line_checks_lists_describes_and_calls_it() {
    let cli = CommandLine::new();
    let file = guest("provider").to_string_lossy().into_owned();
    let checked = cli.run(&["check", &file]);
    assert_eq!(checked.code, 0, "{checked:?}");
    assert!(checked.stdout.contains("a provider of tools"), "{checked:?}");
    let flags = ["--component", &file, "--config-value", "mode=good"];
    let run = |arguments: &[&str]| cli.run(&[&arguments[..1], &flags, &arguments[1..]].concat());
    let listed = run(&["list"]);
    assert!(listed.stdout.contains("add") && listed.stdout.contains("Adds two numbers."), "{listed:?}");
    let described: Value = run(&["describe", "add", "--json"]).json();
    assert_eq!(described["output_schema"]["required"], json!(["sum"]), "{described:#}");
    let called = run(&["call", "add", "--arg", "a:=2", "--arg", "b:=3"]);
    assert_eq!((called.code, called.stdout.trim()), (0, "It is 5."), "{called:?}");
    let wrong = run(&["call", "add", "{}"]);
    assert_eq!(wrong.code, 3, "{wrong:?}");
}
