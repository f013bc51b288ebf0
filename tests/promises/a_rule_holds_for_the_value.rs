//! What a rule says of a value holds however the value is spelt: what the tool gets is what the rules saw.

use serde_json::{Value, json};
use toolcell::call::Arguments;
use toolcell::policy::{Action, Answer, Matcher, Rule};
use toolcell::{ErrorKind, Grant, Limits, NativeTool, Outcome, Runtime, RuntimeBuilder, ToolCall};
use toolcell_tests::scripted::Scripted;
use toolcell_tests::{builder, built, guest, probe};

fn probing() -> RuntimeBuilder {
    builder().component(probe(Grant::none(), Limits::new()))
}

/// A call whose arguments are the text of a model, digit for digit.
async fn say(runtime: &Runtime, tool: &str, arguments: &str) -> Outcome {
    runtime.call(ToolCall::new(tool, Arguments::Text(arguments.to_owned()))).await
}

async fn kind(runtime: &Runtime, tool: &str, arguments: &str) -> Option<ErrorKind> {
    say(runtime, tool, arguments).await.error_kind()
}

fn equals(value: Value) -> Matcher {
    Matcher::Equals(value)
}

fn regex(pattern: &str) -> Matcher {
    Matcher::Regex(pattern.to_owned())
}

/// A tool, what a rule on `value` says, spellings that it holds for, and values that are others.
type Case = (&'static str, Matcher, Vec<&'static str>, Vec<&'static str>);

fn of_types() -> Vec<Case> {
    let eve = json!({ "name": "eve", "age": 5, "home_town": "x" });
    let eves = [
        r#"{"name":"eve","age":5,"home_town":"x"}"#,
        r#"{"email":null,"home-town":"x","age":5.0,"name":"eve"}"#,
        r#"{"home_town":"x","age":"5","name":"eve","email":null}"#,
    ];
    let number = ["13", "13.0", "1.3e1", "130e-1", "\"13\"", "\"13.0\""];
    vec![
        ("echo_f64", "13".into(), number.to_vec(), vec!["13.5", "-13", "130"]),
        ("echo_f64", regex("^13$"), number.to_vec(), vec!["13.5"]),
        ("echo_f64", "13.0".into(), number.to_vec(), vec!["13.5"]),
        ("echo_f64", equals(json!(13)), number.to_vec(), vec!["13.000000000000002"]),
        ("echo_f64", equals(json!(0)), vec!["0", "0.0", "-0.0", "0e9"], vec!["5e-324"]),
        ("echo_u32", regex("^13$"), number.to_vec(), vec!["14"]),
        (
            "echo_u64",
            equals(json!("9007199254740993")),
            vec!["9007199254740993", "\"9007199254740993\""],
            vec!["9007199254740992"],
        ),
        (
            "echo_f32",
            equals(json!(0.1)),
            vec!["0.1", "0.10000000149", "1e-1", "0.100000001490116119"],
            vec!["0.10000001"],
        ),
        ("echo_f32", equals(json!(0.100_000_001_49)), vec!["0.1", "0.10000000149"], vec!["0.2"]),
        (
            "echo_flags",
            equals(json!(["read", "run_as_root"])),
            vec![
                r#"["read","run_as_root"]"#,
                r#"["run_as_root","read"]"#,
                r#"["run-as-root","read"]"#,
                r#"{"run-as-root":true,"read":true}"#,
            ],
            vec![r#"["read"]"#, r#"["read","write","run_as_root"]"#],
        ),
        ("echo_flags", equals(json!(["run-as-root", "read"])), vec![r#"["read","run_as_root"]"#], vec!["[]"]),
        ("echo_flags", "run-as-root".into(), vec![r#"["read","run_as_root"]"#], vec![r#"["read"]"#]),
        ("echo_enum", "deep-blue".into(), vec![r#""deep_blue""#, r#""deep-blue""#], vec![r#""red""#]),
        (
            "echo_variant",
            "point".into(),
            vec![r#""point""#, r#"{"tag":"point"}"#],
            vec![r#"{"tag":"circle","val":1}"#],
        ),
        (
            "echo_variant",
            equals(json!({ "tag": "circle", "val": 2.0 })),
            vec![r#"{"val":2,"tag":"circle"}"#, r#"{"tag":"circle","val":"2"}"#],
            vec![r#"{"tag":"circle","val":3}"#],
        ),
        ("echo_bytes", equals(json!([104, 105])), vec![r#""aGk=""#, "[104,105.0]"], vec![r#""aGg=""#]),
        ("echo_records", equals(eve.clone()), vec![], vec!["[]"]),
        (
            "echo_record_and_number",
            equals(eve),
            eves.to_vec(),
            vec![r#"{"name":"eve","age":5,"home_town":"x","email":"e"}"#],
        ),
        (
            "echo_record_and_number",
            equals(json!({ "name": "eve", "age": 5.0, "email": null, "home-town": "x" })),
            eves.to_vec(),
            vec![r#"{"name":"eve","age":6,"home_town":"x"}"#],
        ),
    ]
}

fn arguments(tool: &str, value: &str) -> String {
    let more = if tool == "echo_record_and_number" { r#","number":1"# } else { "" };
    format!("{{\"value\":{value}{more}}}")
}

#[tokio::test]
async fn a_deny_and_an_ask_rule_hold_for_every_spelling_of_a_typed_value() {
    for (tool, matcher, same, others) in of_types() {
        for (action, refused) in [(Action::Deny, ErrorKind::Denied), (Action::Ask, ErrorKind::ApprovalNeeded)]
        {
            let rule = Rule::new(action).tools([tool]).argument("value", matcher.clone());
            let runtime = built(probing().rule(rule));
            for value in &same {
                let got = kind(&runtime, tool, &arguments(tool, value)).await;
                assert_eq!(got, Some(refused), "{tool} {matcher:?} {value}");
            }
            for value in &others {
                let got = kind(&runtime, tool, &arguments(tool, value)).await;
                assert_eq!(got, None, "{tool} {matcher:?} {value}");
            }
        }
    }
}

#[tokio::test]
async fn an_allow_rule_is_written_in_any_spelling_and_allows_no_other_value() {
    let flags = equals(json!(["run-as-root", "read"]));
    for (tool, matcher, same, others) in [
        ("echo_f32", equals(json!(0.100_000_001_49)), vec!["0.1"], vec!["0.10000001"]),
        ("echo_flags", flags, vec![r#"["read","run_as_root"]"#], vec![r#"["read"]"#]),
        ("echo_f64", equals(json!(0)), vec!["0", "0.0"], vec!["-0.0"]),
        (
            "echo_u64",
            equals(json!(9_007_199_254_740_992.0)),
            vec!["9007199254740992"],
            vec!["9007199254740993"],
        ),
    ] {
        let rule = Rule::allow(tool).argument("value", matcher);
        let runtime = built(probing().policy_default(Action::Deny).rule(rule));
        for (values, expected) in [(same, None), (others, Some(ErrorKind::Denied))] {
            for value in values {
                assert_eq!(kind(&runtime, tool, &arguments(tool, value)).await, expected, "{tool} {value}");
            }
        }
    }
}

#[tokio::test]
async fn always_exactly_this_covers_every_spelling_of_the_same_value() {
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counter = std::sync::Arc::clone(&asked);
    let runtime = built(probing().rule(Rule::ask("*")).approver(move |_| {
        counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        async { Answer::Always }
    }));
    for (tool, spellings) in [
        ("echo_f64", ["1", "1.0", "\"1\""]),
        ("echo_f32", ["0.1", "0.10000000149", "1e-1"]),
        ("echo_flags", [r#"["read","write"]"#, r#"["write","read"]"#, r#"{"write":true,"read":true}"#]),
        ("echo_option", ["null", "null", "null"]),
    ] {
        let before = asked.load(std::sync::atomic::Ordering::Relaxed);
        for value in spellings {
            assert_eq!(kind(&runtime, tool, &arguments(tool, value)).await, None, "{tool} {value}");
        }
        assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), before + 1, "{tool}");
    }
    let before = asked.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(kind(&runtime, "echo_option", "{}").await, None);
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), before, "absent is null");
    assert_eq!(kind(&runtime, "echo_f64", r#"{"value":1.5}"#).await, None);
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), before + 1);
}

#[tokio::test]
async fn the_digits_of_a_float_are_no_repair_and_the_guest_gets_what_is_shown() {
    let runtime = built(probing());
    for (tool, sent, shown) in [
        ("echo_f64", "13.0", json!(13)),
        ("echo_f64", "-0.0", json!(-0.0)),
        ("echo_f32", "0.10000000149", json!(0.1)),
        ("echo_flags", r#"["run_as_root","read"]"#, json!(["read", "run_as_root"])),
    ] {
        let call = || ToolCall::new(tool, Arguments::Text(arguments(tool, sent)));
        let explained = runtime.explain(call());
        assert_eq!(explained.arguments.unwrap()["value"].to_string(), shown.to_string(), "{tool}");
        let outcome = runtime.call(call()).await;
        assert_eq!(outcome.structured.unwrap()["result"].to_string(), shown.to_string(), "{tool}");
        assert_eq!(outcome.repaired, [], "{tool}");
    }
}

/// Deletes what it is told to; native.
fn native() -> RuntimeBuilder {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Id {
        id: Option<u64>,
        ratio: Option<f64>,
    }
    builder().native(NativeTool::new("del", "Deletes", |Id { id, ratio }: Id, _| async move {
        Ok::<_, String>(json!([id, ratio]))
    }))
}

#[tokio::test]
async fn a_text_that_holds_what_a_tool_without_types_takes_is_that_to_rules_and_to_the_tool() {
    let schema = json!({ "type": "object", "properties": {
        "filter": { "type": "object" }, "ids": { "type": ["array", "null"], "items": { "type": "integer" } },
        "level": { "enum": [1, 2] }, "note": { "type": "string" }, "free": {},
        "both": { "anyOf": [{ "type": "string" }, { "type": "object" }] },
        "scope": { "anyOf": [{ "const": "all" }, { "type": "object" }] },
        "either": { "oneOf": [
            { "type": "object", "properties": { "a": { "type": "object" } }, "required": ["a"] },
            { "type": "object", "properties": { "b": { "type": "object" } }, "required": ["b"] },
        ] },
        "some": { "type": "array", "items": { "type": "object" }, "contains": { "required": ["k"] } },
        "inner": { "anyOf": [{ "type": "object", "properties": { "p": { "type": "object" } } }, { "type": "null" }] },
    }, "additionalProperties": false });
    let server = Scripted::new(&[json!({ "name": "del", "inputSchema": schema })]);
    let remote = |more: &str| server.configured(&server.table("s", more));
    let denying = Rule::deny("del").argument("filter.name", equals(json!("prod")));
    let runtime = built(remote("").rule(denying));
    let sent = |arguments: Value| {
        let runtime = runtime.clone();
        async move { say(&runtime, "del", &arguments.to_string()).await }
    };
    let denied = sent(json!({ "filter": r#"{"name": "prod"}"# })).await;
    assert_eq!(denied.error.unwrap().kind, ErrorKind::Denied);
    let given = json!({ "filter": r#"{"name":"dev"}"#, "ids": "[1,2.0]", "level": "2", "note": "{}", "free": "[1]",
        "both": "{}", "inner": { "p": " {\"q\":[]} " } });
    let outcome = sent(given).await;
    assert_eq!(outcome.error, None);
    let repaired: Vec<&str> = outcome.repaired.iter().map(|repair| repair.path.as_str()).collect();
    assert_eq!(repaired, ["/filter", "/ids", "/inner/p", "/level", "/ids/1"]);
    let got = server.seen().into_iter().rfind(|message| message["method"] == "tools/call").unwrap();
    let expected = json!({ "filter": { "name": "dev" }, "ids": [1, 2], "level": 2, "note": "{}", "free": "[1]",
        "both": "{}", "inner": { "p": { "q": [] } } });
    assert_eq!(got["params"]["arguments"], expected);
    // What is one of several words, or one of several objects, as text; and null where it may be.
    for (given, expected) in [
        (json!({ "scope": "{\"a\":1}" }), json!({ "scope": { "a": 1 } })),
        (json!({ "scope": "all" }), json!({ "scope": "all" })),
        (json!({ "ids": "null" }), json!({ "ids": null })),
        (json!({ "either": { "a": "{\"x\":1}" } }), json!({ "either": { "a": { "x": 1 } } })),
        (json!({ "either": { "b": "{}" } }), json!({ "either": { "b": {} } })),
        (json!({ "some": ["{\"k\":1}", "{}"] }), json!({ "some": [{ "k": 1 }, {}] })),
    ] {
        let outcome = sent(given.clone()).await;
        assert_eq!(outcome.error, None, "{given}");
        let got = server.seen().into_iter().rfind(|message| message["method"] == "tools/call").unwrap();
        assert_eq!(got["params"]["arguments"], expected, "{given}");
    }
    for wrong in [
        json!({ "filter": "[1]" }),
        json!({ "filter": "{" }),
        json!({ "filter": "{\"a\":1,\"a\":2}" }),
        json!({ "filter": "null" }),
        json!({ "ids": "[\"x\"]" }),
        json!({ "level": "3" }),
        json!({ "filter": "{}", "unknown": 1 }),
        json!({ "filter": "\"{}\"" }),
        json!({ "ids": "[123456789012345678901234567890]" }),
        json!({ "level": "123456789012345678901234567890" }),
    ] {
        let outcome = sent(wrong.clone()).await;
        assert_eq!(outcome.error.as_ref().unwrap().kind, ErrorKind::InvalidArguments, "{wrong}");
    }
    let strict = built(remote("repair = \"off\""));
    assert_eq!(kind(&strict, "del", r#"{"filter":"{}"}"#).await, Some(ErrorKind::InvalidArguments));
}

/// Many numbers take many rules long, but nobody else, and no longer than the call may.
#[tokio::test]
async fn what_takes_rules_long_keeps_nobody_else_waiting_and_ends_with_the_call() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Ids {
        ids: Vec<u64>,
    }
    let many = || {
        let tool =
            NativeTool::new(
                "many",
                "Counts",
                |Ids { ids }: Ids, _| async move { Ok::<_, String>(ids.len()) },
            );
        // No text of a number has a letter, which the expression finds out after all of its steps.
        let slow = regex("^(?:[0-9]+[.]?)+x$");
        (0..30).fold(builder().native(tool), |building, _| {
            building.rule(Rule::deny("many").argument("ids", slow.clone()))
        })
    };
    let arguments = format!("{{\"ids\":[{}1]}}", "123456789012345,".repeat(60_000));
    let runtime = built(many());
    let longest = std::sync::Arc::new(std::sync::Mutex::new(std::time::Duration::ZERO));
    let watch = std::sync::Arc::clone(&longest);
    let ticking = tokio::spawn(async move {
        let mut last = std::time::Instant::now();
        loop {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            let mut longest = watch.lock().unwrap();
            *longest = longest.max(last.elapsed());
            last = std::time::Instant::now();
        }
    });
    let started = std::time::Instant::now();
    assert_eq!(kind(&runtime, "many", &arguments).await, None);
    let whole = started.elapsed();
    ticking.abort();
    let longest = *longest.lock().unwrap();
    assert!(longest < whole / 3, "others waited {longest:?} of {whole:?}");
    let timed = built(many().call_timeout(whole / 5));
    let started = std::time::Instant::now();
    assert_eq!(kind(&timed, "many", &arguments).await, Some(ErrorKind::Timeout));
    assert!(started.elapsed() < whole / 5 * 4, "{:?} of {whole:?}", started.elapsed());
}

#[tokio::test]
async fn a_number_is_held_against_a_rule_however_a_tool_without_types_reads_it() {
    let schema = json!({ "type": "object", "properties": {
        "id": { "type": "integer" }, "ratio": { "type": "number" },
    }, "additionalProperties": false });
    let server = Scripted::new(&[json!({ "name": "del", "inputSchema": schema })]);
    let remote = || server.configured(&server.table("s", ""));
    let rules =
        [("id", regex("^13$")), ("id", "13".into()), ("id", equals(json!(13.0))), ("ratio", regex("^13$"))];
    for (name, matcher) in rules {
        for building in [native(), remote()] {
            let runtime = built(building.rule(Rule::deny("del").argument(name, matcher.clone())));
            for digits in ["13", "13.0", "1.3e1", "1300e-2"] {
                let got = kind(&runtime, "del", &format!("{{\"{name}\":{digits}}}")).await;
                assert_eq!(got, Some(ErrorKind::Denied), "{name} {matcher:?} {digits}");
            }
            assert_eq!(kind(&runtime, "del", &format!("{{\"{name}\":14.0}}")).await, None);
        }
    }
    for message in server.seen() {
        let arguments = &message["params"]["arguments"];
        assert!(!arguments.to_string().contains("13"), "none of them was sent: {message}");
    }
    let runtime = built(remote());
    let outcome = say(&runtime, "del", r#"{"id":1.5e1,"ratio":2.0}"#).await;
    assert_eq!(outcome.repaired.iter().map(|repair| repair.path.as_str()).collect::<Vec<_>>(), ["/id"]);
    let sent = server.seen().into_iter().rfind(|message| message["method"] == "tools/call").unwrap();
    assert_eq!(sent["params"]["arguments"].to_string(), r#"{"id":15,"ratio":2.0}"#);
    let own = built(native());
    let outcome = say(&own, "del", r#"{"id":1.5e1,"ratio":2}"#).await;
    assert_eq!(outcome.structured, Some(json!({ "result": [15, 2.0] })));
}

#[tokio::test]
async fn the_same_holds_for_what_a_provider_names() {
    let provider = || {
        let component = toolcell::ToolComponent::file(guest("provider"));
        builder().component(component.grant(Grant::none().config("mode", "good")))
    };
    let runtime = built(provider().rule(Rule::deny("add").argument("a", regex("^2$"))));
    for digits in ["2", "2.0", "0.2e1"] {
        let got = kind(&runtime, "add", &format!("{{\"a\":{digits},\"b\":3}}")).await;
        assert_eq!(got, Some(ErrorKind::Denied), "{digits}");
    }
    assert_eq!(say(&runtime, "add", r#"{"a":4.0,"b":3.0}"#).await.structured, Some(json!({ "sum": 7 })));
}
