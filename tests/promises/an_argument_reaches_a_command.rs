//! A program is a tool: its arguments are JSON on standard input, its result is what it prints.

use serde_json::json;
use toolcell::{ErrorKind, Grant, Runtime, ToolCall, ToolComponent};
use toolcell_tests::{builder, built, call, guest};

fn runtime() -> Runtime {
    built(builder().component(ToolComponent::file(guest("command")).grant(Grant::none())))
}

#[tokio::test]
async fn input_is_json_and_output_is_text() {
    let runtime = runtime();
    let outcome = call(&runtime, "command", json!({ "text": "abc" })).await;
    assert!(outcome.is_success(), "{outcome:#?}");
    assert_eq!(outcome.text().trim_end(), "{\"reversed\":\"cba\"}");
    assert_eq!(outcome.structured, None);

    let outcome = call(&runtime, "command", json!({ "any": [1, { "x": "é" }] })).await;
    assert_eq!(outcome.text().trim_end(), "{\"echo\":{\"any\":[1,{\"x\":\"é\"}]}}");
    for text in ["", "{}", "null"] {
        let outcome = runtime.call(ToolCall::new("command", text)).await;
        assert_eq!(outcome.text().trim_end(), "{\"echo\":{}}", "{text:?}: {outcome:#?}");
    }
    let outcome = runtime.call(ToolCall::new("command", "[1]")).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::InvalidArguments), "{outcome:#?}");
}

#[tokio::test]
async fn its_end_is_classified() {
    let runtime = runtime();
    for (arguments, kind, exit, in_text) in [
        (json!({ "text": "x", "exit": 0 }), None, 0, "reversed"),
        (
            json!({ "text": "x", "exit": 3, "stderr": "the reason" }),
            Some(ErrorKind::ToolError),
            1,
            "the reason",
        ),
        (json!({ "panic": "out of cheese" }), Some(ErrorKind::Panicked), 6, "out of cheese"),
    ] {
        let outcome = call(&runtime, "command", arguments.clone()).await;
        assert_eq!((outcome.error_kind(), outcome.exit_code()), (kind, exit), "{arguments}: {outcome:#?}");
        assert!(outcome.text().contains(in_text), "{arguments}: {outcome:#?}");
        if arguments.get("stderr").is_some() {
            assert!(
                outcome.logs.iter().any(|log| log.stream == "stderr" && log.text.contains("the reason")),
                "{outcome:#?}"
            );
        }
    }
    let quiet = call(&runtime, "command", json!({ "text": "x", "stderr": "by the way" })).await;
    assert_eq!(quiet.text().trim_end(), "{\"reversed\":\"x\"}");
}

#[test]
fn it_is_named_after_its_component() {
    let component =
        ToolComponent::file(guest("command")).name("turn-around").describe("turn_around", "Turns text");
    let runtime = built(builder().component(component));
    let tool = runtime.get("turn_around").unwrap();
    assert_eq!(tool.description(), "Turns text");
    assert_eq!(tool.input_schema()["type"], "object");
    assert_eq!(tool.output_schema(), None);
}
