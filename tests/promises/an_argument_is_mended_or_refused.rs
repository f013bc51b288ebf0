//! Arguments that can only mean one thing are taken and reported; all others are refused with what to change.

use serde_json::{Value, json};
use toolcell::call::Arguments;
use toolcell::schema::RepairMode;
use toolcell::{ErrorKind, Grant, Limits, Outcome, Runtime, ToolCall};
use toolcell_tests::{builder, built, probe, probing};

fn runtime() -> Runtime {
    probing(Grant::none(), Limits::new())
}

async fn call(runtime: &Runtime, name: &str, arguments: impl Into<Arguments>) -> Outcome {
    runtime.call(ToolCall::new(name, arguments)).await
}

#[tokio::test]
async fn a_lenient_form_becomes_the_canonical_value_and_is_reported() {
    let runtime = runtime();
    let person = json!({ "name": "Ada", "age": 36, "email": null, "home_town": "London" });
    for (name, arguments, expected) in [
        ("echo_u32", json!({ "value": "5" }), json!(5)),
        ("echo_u32", json!({ "value": 5.0 }), json!(5)),
        ("echo_bool", json!({ "value": "true" }), json!(true)),
        ("echo_f64", json!({ "value": "1.5" }), json!(1.5)),
        ("echo_u32s", json!({ "value": "[1,2]" }), json!([1, 2])),
        ("echo_u32s", json!({ "value": ["1", 2] }), json!([1, 2])),
        ("echo_bytes", json!({ "value": [104, 105] }), json!("aGk=")),
        ("echo_enum", json!({ "value": "deep-blue" }), json!("deep_blue")),
        ("echo_flags", json!({ "value": { "read": true, "write": false } }), json!(["read"])),
        ("echo_variants", json!({ "value": ["point"] }), json!([{ "tag": "point" }])),
        ("echo_u64", json!({ "value": "18446744073709551615" }), json!("18446744073709551615")),
        ("echo_strings", json!({ "value": "[\"a\"]" }), json!(["a"])),
        ("echo_option", json!({}), Value::Null),
        ("echo_option", json!({ "value": null }), Value::Null),
    ] {
        let outcome = call(&runtime, name, arguments.clone()).await;
        assert_eq!(
            outcome.structured,
            Some(json!({ "result": expected })),
            "{name} {arguments}: {outcome:#?}"
        );
    }
    for arguments in [
        json!({ "name": "Ada", "age": "36", "home-town": "London" }),
        json!(person.to_string()),
        json!({ "name": "Ada", "age": 36, "email": null, "home_town": "London" }),
    ] {
        let outcome = call(&runtime, "echo_record", arguments.clone()).await;
        let mut structured = outcome.structured.clone().unwrap_or_default();
        structured.as_object_mut().unwrap().entry("email").or_insert(Value::Null);
        assert_eq!(structured, person, "{arguments}: {outcome:#?}");
    }
    let outcome = call(&runtime, "echo_u32", json!({ "value": "5" })).await;
    insta::assert_json_snapshot!("a_repair", outcome.repaired);
    let untouched = call(&runtime, "echo_string", json!({ "value": "5" })).await;
    assert_eq!((untouched.text().as_str(), untouched.repaired.len()), ("5", 0));
}

#[tokio::test]
async fn nothing_is_mended_where_mending_is_off() {
    let off = built(builder().component(probe(Grant::none(), Limits::new()).repair(RepairMode::Off)));
    for arguments in [json!({ "value": "5" }), json!("{\"value\":5}")] {
        let outcome = call(&off, "echo_u32", arguments).await;
        assert_eq!(outcome.error_kind(), Some(ErrorKind::InvalidArguments), "{outcome:#?}");
    }
    assert!(call(&off, "echo_u32", json!({ "value": 5 })).await.is_success());
}

#[tokio::test]
async fn nothing_is_needed_where_nothing_is_asked() {
    let runtime = runtime();
    for text in ["", "  ", "{}", "null", " {} \n"] {
        let outcome = call(&runtime, "echo_constant", text).await;
        assert!(outcome.is_success(), "{text:?}: {outcome:#?}");
    }
    for value in [json!({}), Value::Null, json!(""), json!("{}")] {
        let outcome = call(&runtime, "echo_constant", value.clone()).await;
        assert!(outcome.is_success(), "{value}: {outcome:#?}");
    }
    let outcome = call(&runtime, "echo_record", "").await;
    assert_eq!(outcome.error.unwrap().violations.len(), 3);
}

#[tokio::test]
async fn wrong_arguments_name_what_to_change() {
    let runtime = runtime();
    let mut messages = String::new();
    for (name, arguments) in [
        ("echo_u32s", json!({ "value": "[1," })),
        ("echo_u32", json!({ "value": "five" })),
        ("echo_u32", json!({ "value": "5abc" })),
        ("echo_u32", json!({ "value": "0x10" })),
        ("echo_u32", json!({ "value": "" })),
        ("echo_u32", json!({ "value": "null" })),
        ("echo_u32", json!({ "value": null })),
        ("echo_u32", json!({ "value": 1.5 })),
        ("echo_u32", json!({ "value": -1 })),
        ("echo_u32", json!({ "value": 4294967296u64 })),
        ("echo_u32", json!({})),
        ("echo_u32", json!({ "valeu": 1 })),
        ("echo_u32", json!([1])),
        ("echo_u32", json!(5)),
        ("echo_bool", json!({ "value": "yes" })),
        ("echo_bool", json!({ "value": 1 })),
        ("echo_string", json!({ "value": 5 })),
        ("echo_char", json!({ "value": "" })),
        ("echo_char", json!({ "value": "ab" })),
        ("echo_char", json!({ "value": "e\u{301}" })),
        ("echo_f64", json!({ "value": "wide" })),
        ("echo_bytes", json!({ "value": "no base64!" })),
        ("echo_bytes", json!({ "value": [1, 256] })),
        ("echo_enum", json!({ "value": "Red" })),
        ("echo_flags", json!({ "value": ["read", "fly"] })),
        ("echo_variant", json!({ "value": { "tag": "square" } })),
        ("echo_variant", json!({ "value": { "tag": "circle" } })),
        ("echo_tuple", json!({ "value": [1, "a"] })),
        ("echo_record", json!({ "name": "Ada", "age": 200, "homeTown": "London" })),
        (
            "echo_nested",
            json!({ "lead": { "name": "Ada", "age": 1, "home_town": "x", "extra": 1 }, "members": [{}],
            "titles": [] }),
        ),
        ("echo_several", json!({ "text": "x", "cuont": 3, "tags": [1] })),
        ("echo_several", json!({ "text": null, "tags": null, "count": "null" })),
        ("echo_nothing", json!({ "value": "x".repeat(100), "secret": "y".repeat(10_000) })),
    ] {
        let outcome = call(&runtime, name, arguments.clone()).await;
        assert_eq!(
            outcome.error_kind(),
            Some(ErrorKind::InvalidArguments),
            "{name} {arguments}: {outcome:#?}"
        );
        assert_eq!(outcome.exit_code(), 3);
        assert_eq!(outcome.usage.fuel, None, "{name} {arguments} ran");
        let text = outcome.text();
        let shown = arguments.to_string();
        let shown = shown.get(..shown.floor_char_boundary(90)).unwrap();
        messages.push_str(&format!("{name} {shown}\n  {}\n", text.replace('\n', "\n  ")));
    }
    insta::assert_snapshot!("wrong_arguments_name_what_to_change", messages);
}

#[tokio::test]
async fn text_that_is_no_json_never_runs() {
    let runtime = runtime();
    let mut messages = String::new();
    let deep = format!("{{\"value\":{}1{}}}", "[".repeat(5_000), "]".repeat(5_000));
    for text in [
        "{",
        "{\"value\":\"a\"",
        "{\"value\":\"a\",}",
        "```json\n{\"value\":\"a\"}\n```",
        "{'value':'a'}",
        "{\"value\":\"a\"} // comment",
        "{\"value\":\"a\"}{\"value\":\"b\"}",
        "[\"a\"]",
        "5",
        "\"a\"",
        "{\"value\":\"a\",\"value\":\"/etc/x\"}",
        "{\"value\":\"\\ud83d\"}",
        "{\"value\":\"\\ude00\\ud83d\"}",
        "{\"value\":NaN}",
        "{\"value\":1e400}",
        "{value:1}",
        "\u{feff}{\"value\":\"a\"}x",
        &deep,
    ] {
        for tool in ["echo_string", "echo_f64"] {
            let outcome = call(&runtime, tool, text).await;
            assert_eq!(outcome.error_kind(), Some(ErrorKind::InvalidArguments), "{text:.60}: {outcome:#?}");
            assert_eq!(outcome.usage.fuel, None, "{text:.60} ran");
            if tool == "echo_string" {
                messages.push_str(&format!("{text:.40}\n  {}\n", outcome.text().replace('\n', "\n  ")));
            }
        }
    }
    insta::assert_snapshot!("text_that_is_no_json", messages);
    let nested = r#"{"value":{"a":1,"a":2}}"#;
    assert!(!call(&runtime, "echo_string", nested).await.is_success());
}

#[tokio::test]
async fn any_text_that_unicode_knows_arrives() {
    let runtime = runtime();
    for (text, expected) in [
        (r#"{"value":"\ud83d\ude00"}"#, "😀"),
        (r#"{"value":"😀"}"#, "😀"),
        (r#"{"value":"e\u0301"}"#, "e\u{301}"),
        (r#"{"value":"tab\tnewline\n"}"#, "tab\tnewline\n"),
    ] {
        let outcome =
            call(&runtime, "echo_strings", format!("{{\"value\":[{}]}}", &text[9..text.len() - 1])).await;
        assert_eq!(outcome.structured, Some(json!({ "result": [expected] })), "{text}: {outcome:#?}");
    }
    let outcome = call(&runtime, "echo_char", json!({ "value": "😀" })).await;
    assert_eq!(outcome.text(), "😀", "{outcome:#?}");
    // NUL reaches the guest; what a model reads back is cleaned.
    let outcome = call(&runtime, "echo_string", json!({ "value": "a\0b" })).await;
    assert!(outcome.is_success() && !outcome.text().contains('\0'), "{outcome:#?}");
}

#[tokio::test]
async fn floats_that_json_cannot_say_have_one_form() {
    let runtime = runtime();
    for (value, expected) in [
        (json!(0.1), json!(0.1)),
        (json!(1e308), json!(1e308)),
        (json!(-0.0), json!(-0.0)),
        (json!("NaN"), json!("NaN")),
        (json!("Infinity"), json!("Infinity")),
        (json!("-Infinity"), json!("-Infinity")),
    ] {
        for tool in ["echo_f64", "echo_f32"] {
            if tool == "echo_f32" && value == json!(1e308) {
                continue;
            }
            let outcome = call(&runtime, tool, json!({ "value": value })).await;
            if value.is_string() && !outcome.is_success() {
                assert_eq!(outcome.error_kind(), Some(ErrorKind::InvalidArguments), "{outcome:#?}");
                continue;
            }
            assert!(outcome.is_success(), "{tool} {value}: {outcome:#?}");
            let result = &outcome.structured.clone().unwrap()["result"];
            match (result.as_f64(), expected.as_f64()) {
                (Some(got), Some(wanted)) => assert!((got - wanted).abs() < 1e-7 * wanted.abs().max(1.0)),
                _ => assert_eq!(*result, expected),
            }
        }
    }
}

#[tokio::test]
async fn arguments_that_are_too_large_name_the_limit() {
    let runtime = built(
        builder()
            .component(probe(Grant::none(), Limits::new().with(toolcell::Limit::ArgumentBytes, 64 << 10))),
    );
    let fits = call(&runtime, "echo_nothing", json!({ "value": "x".repeat(60 << 10) })).await;
    assert!(fits.is_success(), "{fits:#?}");
    for arguments in [
        Arguments::Value(json!({ "value": "x".repeat(70 << 10) })),
        format!("{{\"value\":\"{}\"}}", "x".repeat(70 << 10)).into(),
    ] {
        let outcome = call(&runtime, "echo_nothing", arguments).await;
        let error = outcome.error.unwrap();
        assert_eq!(error.limit.unwrap().name, "argument_bytes");
        assert!(error.message.len() < 300, "{}", error.message);
    }
    // Four MiB of bytes each way work by default.
    let runtime = self::runtime();
    let outcome = call(&runtime, "echo_nothing", json!({ "value": "x".repeat(4 << 20) })).await;
    assert!(outcome.is_success(), "{outcome:#?}");
}

#[tokio::test]
async fn an_unknown_tool_is_answered_with_the_nearest() {
    let runtime = runtime();
    for (name, near) in
        [("echo_strnig", "`echo_string`"), ("echo-string", "`echo_string`"), ("Echo_String", "`echo_string`")]
    {
        let outcome = call(&runtime, name, json!({})).await;
        assert_eq!((outcome.error_kind(), outcome.exit_code()), (Some(ErrorKind::UnknownTool), 3));
        assert!(outcome.text().contains(near), "{}", outcome.text());
    }
    let outcome = call(&runtime, &"n".repeat(100_000), json!({})).await;
    assert!(outcome.text().len() < 500);
}
