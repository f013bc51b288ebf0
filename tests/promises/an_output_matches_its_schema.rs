//! What a tool announces is what it gives: the same facts as data and as text, also when it is cut.

use crate::validators::Validators;
use serde_json::{Value, json};
use toolcell::{Grant, Limits, Outcome, Runtime};
use toolcell_tests::{builder, built, call, probe, probing};

/// Every success has data of the announced schema, and text of the same facts.
fn check(runtime: &Runtime, outcome: &Outcome) {
    assert!(outcome.is_success(), "{outcome:#?}");
    let tool = runtime.get(&outcome.name).unwrap();
    let Some(schema) = tool.output_schema() else { return };
    assert_eq!(schema["type"], "object", "{schema}");
    let structured = outcome.structured.as_ref().unwrap_or_else(|| panic!("no data: {outcome:#?}"));
    let violations = Validators::new(schema).violations(structured);
    assert!(violations.is_empty(), "{}: {violations:?}", outcome.name);
    if structured == &json!({}) {
        assert_eq!(outcome.text(), "");
        return;
    }
    let result = structured.get("result").filter(|_| structured.as_object().unwrap().len() == 1);
    match result.unwrap_or(structured) {
        Value::String(text) => assert_eq!(&outcome.text(), text, "{outcome:#?}"),
        value => assert_eq!(&serde_json::from_str::<Value>(&outcome.text()).unwrap(), value, "{outcome:#?}"),
    }
}

fn person(name: &str) -> Value {
    json!({ "name": name, "age": 3, "email": "a@b", "home_town": "x" })
}

/// Every echo function with values, and what comes back where that is not the value itself.
fn values() -> Vec<(&'static str, Value)> {
    vec![
        ("echo_bool", json!(true)),
        ("echo_u8", json!(255)),
        ("echo_s8", json!(-128)),
        ("echo_u16", json!(65_535)),
        ("echo_s16", json!(-32_768)),
        ("echo_u32", json!(4_294_967_295u32)),
        ("echo_s32", json!(-2_147_483_648i32)),
        ("echo_u64", json!(9_007_199_254_740_991u64)),
        ("echo_u64", json!("18446744073709551615")),
        ("echo_s64", json!("-9223372036854775808")),
        ("echo_f32", json!(1.5)),
        ("echo_f64", json!(-1.25e300)),
        ("echo_char", json!("é")),
        ("echo_string", json!("text")),
        ("echo_string", json!("")),
        ("echo_bytes", json!("")),
        ("echo_bytes", json!("AAECAw==")),
        ("echo_strings", json!(["a", "", "ü"])),
        ("echo_u32s", json!([])),
        ("echo_tuple", json!([1, "a", false])),
        ("echo_option", json!("some")),
        ("echo_option", json!(null)),
        ("echo_option_option", json!({ "some": 3 })),
        ("echo_option_option", json!({ "some": null })),
        ("echo_option_option", json!(null)),
        ("echo_result", json!({ "ok": 3 })),
        ("echo_results", json!([{ "ok": 3 }, { "err": "no" }])),
        ("echo_variant", json!({ "tag": "point" })),
        ("echo_variant", json!({ "tag": "circle", "val": 1.5 })),
        ("echo_variant", json!({ "tag": "rectangle", "val": [1, 2] })),
        ("echo_variant", json!({ "tag": "named", "val": person("Ada") })),
        ("echo_enum", json!("deep_blue")),
        ("echo_flags", json!(["read", "run_as_root"])),
        ("echo_flags", json!([])),
        ("echo_records", json!([person("a"), person("b")])),
        ("echo_lists", json!([[1, -1], [], [2]])),
        ("echo_variants", json!([{ "tag": "point" }, { "tag": "circle", "val": 0.5 }])),
    ]
}

#[tokio::test]
async fn every_type_comes_back_as_it_went_in() {
    let runtime = probing(Grant::none(), Limits::new());
    for (name, value) in values() {
        let outcome = call(&runtime, name, json!({ "value": value })).await;
        check(&runtime, &outcome);
        let structured = outcome.structured.as_ref().unwrap();
        let expected = match name {
            "echo_result" => &value["ok"],
            _ => &value,
        };
        let result = structured.get("result").unwrap_or(structured);
        assert_eq!(result, expected, "{name}: {outcome:#?}");
        let decimal = value.is_string() && name.ends_with("64");
        assert!(outcome.repaired.is_empty() || decimal, "{name} {value} is canonical");
    }
    for (name, arguments) in [
        ("echo_record", person("Ada")),
        ("echo_nested", json!({ "lead": person("a"), "members": [person("b")], "titles": [["en", "x"]] })),
        ("echo_record_and_number", json!({ "value": person("a"), "number": 3 })),
        (
            "echo_bare_results",
            json!({ "no_ok": { "ok": null }, "no_error": { "ok": 3 }, "neither": { "err": null } }),
        ),
        ("echo_several", json!({ "text": "x", "tags": [] })),
        ("echo_constant", json!({})),
        ("echo_nothing", json!({ "value": "x" })),
        ("echo_silence", json!({})),
        ("many", json!({ "count": 3 })),
        ("blob", json!({ "bytes": 7 })),
        ("environment", json!({})),
    ] {
        let outcome = call(&runtime, name, arguments).await;
        check(&runtime, &outcome);
    }
}

#[tokio::test]
async fn a_result_that_is_cut_still_matches() {
    let runtime = built(builder().component(probe(Grant::none(), Limits::new())).output(2_000, 100));
    let long = "long ".repeat(2_000);
    let people: Vec<Value> = (0..500).map(|number| person(&format!("person {number}"))).collect();
    for (name, arguments) in [
        ("echo_string", json!({ "value": long })),
        ("echo_string", json!({ "value": "\"\\\n".repeat(3_000) })),
        ("echo_strings", json!({ "value": vec![&long; 20] })),
        ("echo_strings", json!({ "value": vec!["x"; 5_000] })),
        ("echo_u32s", json!({ "value": (0..5_000).collect::<Vec<u32>>() })),
        ("echo_lists", json!({ "value": vec![vec![7; 500]; 100] })),
        ("echo_option", json!({ "value": long })),
        ("echo_tuple", json!({ "value": [1, long, true] })),
        ("echo_records", json!({ "value": people })),
        ("echo_variant", json!({ "value": { "tag": "named", "val": person(&long) } })),
        ("echo_variants", json!({ "value": vec![json!({ "tag": "named", "val": person(&long) }); 30] })),
        ("echo_results", json!({ "value": vec![json!({ "err": long }); 10] })),
        ("echo_record", person(&long)),
        ("echo_nested", json!({ "lead": person(&long), "members": people, "titles": [["en", long]] })),
        ("many", json!({ "count": 3_000 })),
        ("text", json!({ "bytes": 100_000 })),
        ("blob", json!({ "bytes": 100_000 })),
        ("bits", json!({ "count": 10_000 })),
    ] {
        let outcome = call(&runtime, name, arguments).await;
        check(&runtime, &outcome);
        assert!(outcome.text().len() <= 2_000, "{name}: {} bytes", outcome.text().len());
        let truncated = outcome.truncated.as_ref().unwrap_or_else(|| panic!("{name}: not reported"));
        assert!(truncated.total_bytes > 2_000, "{name}: {truncated:#?}");
        assert!(truncated.handle.is_some(), "{name}: {truncated:#?}");
    }
}

#[tokio::test]
async fn an_error_is_marked_and_need_not_match() {
    let runtime = probing(Grant::none(), Limits::new());
    for (name, arguments, text, details) in [
        ("fail", json!({ "message": "it broke" }), "it broke", None),
        ("fail_record", json!({ "code": 3 }), "3", Some(3)),
        ("fail_bare", json!({}), "without a message", None),
        ("echo_result", json!({ "value": { "err": "no" } }), "no", None),
    ] {
        let outcome = call(&runtime, name, arguments).await;
        assert_eq!(outcome.exit_code(), 1, "{outcome:#?}");
        assert!(outcome.text().contains(text), "{outcome:#?}");
        assert_eq!(outcome.structured, None);
        let error = outcome.error.unwrap();
        assert_eq!(error.details.map(|details| details["code"].as_u64().unwrap()), details);
    }
}

#[test]
fn every_schema_is_an_object_of_standard_keywords() {
    let runtime = probing(Grant::none(), Limits::new());
    for tool in runtime.list() {
        for schema in std::iter::once(tool.input_schema()).chain(tool.output_schema()) {
            assert_eq!(schema["type"], "object", "{}", tool.name());
            assert!(schema["properties"].is_object(), "{}: {schema}", tool.name());
            let text = schema.to_string();
            for word in ["\"$schema\"", "\"format\"", "\"$ref\"", "\"required\":null", "\"items\":true"] {
                assert!(!text.contains(word), "{}: {word} in {schema}", tool.name());
            }
            Validators::new(schema);
        }
    }
}
