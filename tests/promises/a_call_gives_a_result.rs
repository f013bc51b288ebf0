//! A function of a component is a tool: its result comes back as text and as data.

use serde_json::json;
use toolcell::{Grant, Limits, ToolComponent};
use toolcell_tests::{builder, built, call, probing};

#[tokio::test]
async fn a_shipped_tool_answers_with_text_and_with_data() {
    let runtime = built(builder().component(ToolComponent::builtin("basics")));
    let outcome = call(&runtime, "add", json!({ "a": 2, "b": 3 })).await;
    assert_eq!(outcome.text(), "5", "{outcome:#?}");
    assert_eq!(outcome.structured, Some(json!({ "result": 5 })));
}

#[tokio::test]
async fn a_string_is_the_text_as_it_is() {
    let runtime = probing(Grant::none(), Limits::new());
    let outcome = call(&runtime, "echo_string", json!({ "value": "\"hello\"" })).await;
    assert_eq!(outcome.text(), "\"hello\"", "{outcome:#?}");
}
