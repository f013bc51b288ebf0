//! The schema of a tool that somebody else wrote takes no more time than its calls have, and the other tools stay.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcell::ErrorKind;

use toolcell_tests::call;
use toolcell_tests::scripted::{Scripted, definition};

fn with_schema(name: &str, a: Value, defs: Value) -> Value {
    let mut tool = definition(name);
    tool["inputSchema"] = json!({ "type": "object", "properties": { "a": a }, "$defs": defs });
    tool
}

/// Definitions of which each applies the one before eight times.
fn fan_out() -> Value {
    let mut defs = json!({ "d0": { "type": "integer" } });
    for number in 1..=12 {
        defs[format!("d{number}")] =
            json!({ "anyOf": vec![json!({ "$ref": format!("#/$defs/d{}", number - 1) }); 8] });
    }
    defs
}

#[tokio::test]
async fn one_that_no_value_could_be_checked_against_is_no_tool() {
    let mut output = definition("output");
    output["outputSchema"] =
        json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/d12" } }, "$defs": fan_out() });
    let server = Scripted::new(&[
        definition("plain"),
        with_schema("expo", json!({ "$ref": "#/$defs/d12" }), fan_out()),
        with_schema(
            "cycle",
            json!({ "$ref": "#/$defs/d" }),
            json!({ "d": { "not": { "$ref": "#/$defs/d" } } }),
        ),
        with_schema("pattern", json!({ "pattern": "^(a|a)*\\1(?!b)$" }), json!({})),
        output,
    ]);
    let runtime = server.runtime("");
    let names: Vec<String> = runtime.list().iter().map(|tool| tool.name().to_owned()).collect();
    assert_eq!(names, ["plain"]);
    let warnings = runtime.warnings().join("\n");
    for told in [
        "`expo` is no tool: its input schema: with what it refers to",
        "`cycle` is no tool: its input schema: a part of it refers to itself",
        "`pattern` is no tool: its input schema: a pattern of it is no regular expression",
        "`output` is no tool: its output schema: with what it refers to",
    ] {
        assert!(warnings.contains(told), "{told}: {warnings}");
    }
    assert!(call(&runtime, "plain", json!({})).await.is_success());
}

#[tokio::test(flavor = "current_thread")]
async fn one_that_multiplies_with_its_value_ends_with_the_call_and_delays_no_other() {
    let looks = vec![json!({ "$ref": "#/$defs/d" }); 3];
    let defs = json!({ "d": { "type": "array", "items": { "anyOf": looks } } });
    let server =
        Scripted::new(&[definition("plain"), with_schema("deep", json!({ "$ref": "#/$defs/d" }), defs)]);
    let text = server.table("s", "") + "[policy]\ncall_timeout = \"20s\"\n";
    let runtime = toolcell_tests::built(server.configured(&text));
    let nested = (0..60).fold(json!(7), |inner, _| json!([inner]));
    let begun = Instant::now();
    let other = async {
        // It runs while the first one is looked at, on the only thread that there is.
        let outcome = call(&runtime, "plain", json!({})).await;
        (outcome.is_success(), begun.elapsed())
    };
    let (deep, (is_success, waited)) = tokio::join!(call(&runtime, "deep", json!({ "a": nested })), other);
    let kind = deep.error_kind();
    assert!(matches!(kind, Some(ErrorKind::InvalidArguments | ErrorKind::Timeout)), "{deep:?}");
    assert!(is_success && waited < Duration::from_secs(15) && begun.elapsed() < Duration::from_secs(40));
    assert!(call(&runtime, "deep", json!({ "a": [[[]]] })).await.is_success());
}
