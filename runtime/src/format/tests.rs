//! Messages and results of each format as tables; schemas against a validator.

#![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::budget::Budget;
use super::gemini::{gemini, unsaid};
use super::lowered::{leaves_out, lowered};
use super::strict::strict;
use super::*;
use crate::call::{Arguments, CallError, Content, ErrorKind, Outcome, Status, Usage};

fn ids() -> Vec<Value> {
    vec![json!(1), json!("1"), json!(0), json!(-1), json!(9_007_199_254_740_993_u64), json!("x".repeat(300))]
}

/// A message with a call of `f` for each id, as the format writes it.
fn message(format: Format, ids: &[Value]) -> Value {
    let list = |call: fn(&Value) -> Value| Value::from(ids.iter().map(call).collect::<Vec<_>>());
    match format {
        Format::OpenAi => {
            json!({ "choices": [{ "message": { "role": "assistant", "content": null, "tool_calls":
            list(|id| json!({ "id": id, "type": "function", "function": { "name": "f", "arguments": "{\"a\":1}" } }))
        } }] })
        }
        Format::OpenAiResponses => json!({ "output":
            list(|id| json!({ "type": "function_call", "call_id": id, "name": "f", "arguments": "{\"a\":1}" }))
        }),
        Format::Anthropic => json!({ "role": "assistant", "content":
            list(|id| json!({ "type": "tool_use", "id": id, "name": "f", "input": { "a": 1 } }))
        }),
        Format::Gemini => json!({ "candidates": [{ "content": { "role": "model", "parts":
            list(|id| json!({ "functionCall": { "id": id, "name": "f", "args": { "a": 1 } } }))
        } }] }),
        Format::Mcp => list(|id| {
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": { "name": "f", "arguments": { "a": 1 } } })
        }),
        Format::Toolcell => list(|id| json!({ "id": id, "name": "f", "arguments": { "a": 1 } })),
    }
}

fn outcome(id: Value, content: Vec<Content>, error: Option<CallError>) -> Outcome {
    Outcome {
        id,
        name: "f".to_owned(),
        status: error.as_ref().map_or(Status::Success, |error| error.kind.status()),
        content,
        structured: None,
        truncated: None,
        repaired: Vec::new(),
        denials: Vec::new(),
        logs: Vec::new(),
        warnings: Vec::new(),
        usage: Usage::default(),
        error,
    }
}

fn text(text: &str) -> Content {
    Content::Text { text: text.to_owned() }
}

#[test]
fn every_name_is_its_format() {
    for format in Format::ALL {
        assert_eq!(format.name().parse::<Format>(), Ok(format));
    }
    assert_eq!(Format::parse("plain"), None);
    assert_eq!("OpenAI".parse::<Format>(), Err(UnknownFormat));
}

#[test]
fn calls_keep_their_order_and_their_ids() {
    for format in Format::ALL {
        let calls = format.parse_calls(&message(format, &ids())).unwrap();
        let parsed: Vec<Value> = calls.iter().map(|call| call.id.clone()).collect();
        assert_eq!(parsed, ids(), "{format}");
        let arguments: Arguments = match format {
            Format::OpenAi | Format::OpenAiResponses => "{\"a\":1}".into(),
            _ => json!({ "a": 1 }).into(),
        };
        assert!(calls.iter().all(|call| call.name == "f" && call.arguments == arguments), "{format}");
    }
}

#[test]
fn results_keep_the_order_and_the_ids() {
    let outcomes: Vec<Outcome> = ids().into_iter().map(|id| outcome(id, vec![text("x")], None)).collect();
    for format in Format::ALL {
        let results = format.results(&outcomes);
        let places = match format {
            Format::Anthropic => &results["content"],
            Format::Gemini => &results["parts"],
            _ => &results,
        };
        let id = |result: &Value| match format {
            Format::OpenAi => result["tool_call_id"].clone(),
            Format::OpenAiResponses => result["call_id"].clone(),
            Format::Anthropic => result["tool_use_id"].clone(),
            Format::Gemini => result["functionResponse"]["id"].clone(),
            Format::Mcp => result["_meta"]["toolcell/id"].clone(),
            Format::Toolcell => result["id"].clone(),
        };
        let kept: Vec<Value> = places.as_array().unwrap().iter().map(id).collect();
        // Gemini's own ids are text; a number is the position of a call without one.
        let expected = ids()
            .into_iter()
            .map(|id| if format == Format::Gemini && !id.is_string() { Value::Null } else { id });
        assert_eq!(kept, expected.collect::<Vec<_>>(), "{format}");
    }
}

#[test]
fn what_is_no_call_is_passed_over() {
    for (format, message) in [
        (Format::OpenAi, json!({ "role": "assistant", "content": "hello" })),
        (Format::OpenAi, json!({ "role": "assistant", "tool_calls": null })),
        (Format::OpenAi, json!([])),
        (Format::OpenAiResponses, json!({ "output": [{ "type": "reasoning" }, { "type": "message" }] })),
        (Format::Anthropic, json!({ "content": "hello" })),
        (Format::Anthropic, json!({ "content": [{ "type": "text", "text": "x" }, { "type": "thinking" }] })),
        (Format::Gemini, json!({ "parts": [{ "text": "x" }, { "function_call": null }] })),
        (Format::Gemini, json!({ "candidates": [{ "content": { "role": "model" } }] })),
        (Format::Gemini, json!({ "candidates": [{ "content": { "role": "model", "parts": null } }] })),
        (Format::Gemini, json!({ "role": "model", "parts": null })),
        (Format::Mcp, json!([{ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }])),
        (Format::Toolcell, json!({ "calls": [] })),
    ] {
        assert_eq!(format.parse_calls(&message), Ok(Vec::new()), "{message}");
    }
}

#[test]
fn calls_without_ids_or_arguments_are_calls() {
    let ids = |format: Format, message: Value| -> Vec<Value> {
        format.parse_calls(&message).unwrap().into_iter().map(|call| call.id).collect()
    };
    let parts =
        json!([{ "functionCall": { "name": "a" } }, { "text": "" }, { "functionCall": { "name": "b" } }]);
    assert_eq!(ids(Format::Gemini, parts), [json!(0), json!(1)]);
    assert_eq!(ids(Format::Mcp, json!([{ "name": "a" }, { "name": "b" }])), [json!("#0"), json!("#1")]);
    assert_eq!(ids(Format::Toolcell, json!({ "name": "a" })), [Value::Null]);
    let calls =
        Format::Anthropic.parse_calls(&json!([{ "type": "tool_use", "id": "t", "name": "a" }])).unwrap();
    assert_eq!(calls[0].arguments, Arguments::Value(json!({})));
}

#[test]
fn ids_of_gemini_that_tell_nothing_are_none() {
    let ids = [json!(1), json!(""), json!(1.5), json!(true), json!({}), json!("x"), json!(4)];
    let calls = Format::Gemini.parse_calls(&message(Format::Gemini, &ids)).unwrap();
    let parsed: Vec<Value> = calls.iter().map(|call| call.id.clone()).collect();
    assert_eq!(parsed, [json!(1), json!(2), json!(3), json!(5), json!(6), json!("x"), json!(4)]);
    let outcomes: Vec<Outcome> = parsed.into_iter().map(|id| outcome(id, vec![text("x")], None)).collect();
    let results = Format::Gemini.results(&outcomes);
    let answered = column(&results["parts"], "/functionResponse/id");
    assert_eq!(answered, ids.map(|id| if id == "x" { id } else { Value::Null }));
}

#[test]
fn each_call_of_a_message_gets_an_id_of_its_own_and_keeps_the_one_it_has() {
    let ids =
        [json!("c"), json!(""), json!("c"), json!(null), json!(7), json!("call_1"), json!("d"), json!("old")];
    for format in [Format::OpenAi, Format::OpenAiResponses, Format::Anthropic, Format::Gemini] {
        let mut known = BTreeSet::from(["old".to_owned()]);
        let mut written = message(format, &ids);
        format.give_ids(&mut written, &mut known);
        let calls = format.parse_calls(&written).unwrap();
        let given: Vec<Value> = calls.iter().map(|call| call.id.clone()).collect();
        let kept = |at: usize| [0, 5, 6].contains(&at);
        if format == Format::Gemini {
            assert!((0..8).all(|at| given[at].is_string() == kept(at)), "{given:?}");
            continue;
        }
        assert_eq!(
            given.iter().map(Value::to_string).collect::<BTreeSet<_>>().len(),
            8,
            "{format}: {given:?}"
        );
        assert!(
            (0..8).all(|at| given[at].is_string() && (given[at] == ids[at]) == kept(at)),
            "{format}: {given:?}"
        );
        assert!(!given.contains(&json!("old")) && known.len() == 9, "{known:?}");
        // The message alone, and its list alone, are messages too.
        let inner = match format {
            Format::OpenAi => "/choices/0/message",
            Format::OpenAiResponses => "/output",
            _ => "/content",
        };
        let mut inner = written.pointer(inner).unwrap().clone();
        format.give_ids(&mut inner, &mut known);
        let again = format.parse_calls(&inner).unwrap();
        assert!(again.iter().all(|call| !given.contains(&call.id)), "{format}: {inner}");
    }
    for odd in [
        json!(null),
        json!([1, null]),
        json!({ "choices": [] }),
        json!({ "content": 1 }),
        json!({ "parts": {} }),
    ] {
        for format in Format::ALL {
            let mut written = odd.clone();
            format.give_ids(&mut written, &mut BTreeSet::new());
            assert_eq!(written, odd, "{format}");
        }
    }
}

#[test]
fn a_message_of_another_outline_says_what_is_missing() {
    for format in Format::ALL {
        for message in
            [json!(null), json!(1), json!("x"), json!({}), json!({ "choices": [], "candidates": [] })]
        {
            let error = format.parse_calls(&message).unwrap_err().to_string();
            assert!(error.contains(format.name()), "{format} {message}: {error}");
        }
    }
}

#[test]
fn a_message_of_another_format_is_told_by_its_name() {
    let written = |format: Format| message(format, &[json!("1"), json!("2")]);
    let list = |format: Format| match format {
        Format::OpenAi => written(format)["choices"][0]["message"]["tool_calls"].clone(),
        Format::OpenAiResponses => written(format)["output"].clone(),
        Format::Anthropic => written(format)["content"].clone(),
        Format::Gemini => written(format)["candidates"][0]["content"]["parts"].clone(),
        _ => written(format),
    };
    let said = |format: Format| match format {
        Format::OpenAi => json!({ "choices": [{ "message": { "role": "assistant", "content": "hello" } }] }),
        Format::OpenAiResponses => json!({ "output": [{ "type": "message", "content": [] }] }),
        Format::Anthropic => {
            json!({ "type": "message", "stop_reason": "end_turn", "content": [{ "type": "text", "text": "hello" }] })
        }
        Format::Gemini => json!({ "candidates": [{ "content": { "parts": [{ "text": "hello" }] } }] }),
        Format::Mcp => json!([{ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }]),
        Format::Toolcell => json!({ "calls": [] }),
    };
    for named in Format::ALL {
        assert_eq!(named.parse_calls(&written(named)).unwrap().len(), 2, "{named}");
        assert_eq!(named.parse_calls(&said(named)), Ok(Vec::new()), "{named}");
        for real in Format::ALL.into_iter().filter(|real| *real != named) {
            for message in [written(real), list(real), said(real)] {
                // Its calls have nothing but what those of others have too.
                if real == Format::Toolcell && message.is_array() {
                    continue;
                }
                let error = named.parse_calls(&message).unwrap_err().to_string();
                assert!(
                    error.contains(&format!("seems to be one in the format {real}")),
                    "{named}: {error} {message}"
                );
            }
        }
        assert!(named.parse_calls(&json!([{}, "x"])).map_or(true, |calls| !calls.is_empty()), "{named}");
    }
    let text = json!([{ "type": "text", "text": "hello" }]);
    for message in [json!({ "type": "message", "role": "assistant", "content": text }), text.clone()] {
        assert_eq!(Format::Anthropic.parse_calls(&message), Ok(Vec::new()), "{message}");
    }
    let outdated =
        json!({ "role": "assistant", "content": null, "function_call": { "name": "f", "arguments": "{}" } });
    let error = Format::OpenAi.parse_calls(&outdated).unwrap_err().to_string();
    assert!(error.contains("before `tool_calls`") && !error.contains("gemini"), "{error}");
    let null = json!({ "role": "assistant", "content": "hello", "function_call": null });
    assert_eq!(Format::OpenAi.parse_calls(&null), Ok(Vec::new()));
}

#[test]
fn an_error_of_a_provider_is_told_as_one() {
    for (message, told) in [
        (
            json!({ "type": "error", "error": { "type": "overloaded_error", "message": "too much" } }),
            "provider: too much",
        ),
        (json!({ "error": "too much" }), "provider: too much"),
        (json!({ "error": { "code": 429 } }), "error of the provider"),
    ] {
        for format in Format::ALL {
            let error = format.parse_calls(&message).unwrap_err().to_string();
            assert!(error.contains(told), "{format}: {error}");
        }
    }
    for format in Format::ALL {
        let mut whole = message(format, &[json!("1")]);
        if let Some(whole) = whole.as_object_mut() {
            whole.insert("error".to_owned(), Value::Null);
        }
        assert_eq!(format.parse_calls(&whole).unwrap().len(), 1, "{format}");
    }
}

#[test]
fn one_call_that_cannot_be_read_leaves_the_others() {
    let custom = json!({ "id": "1", "type": "custom", "custom": { "name": "c", "input": "x" } });
    for (format, call, told) in [
        (Format::OpenAi, json!({ "id": "1" }), "tool_calls[0] has no `function`"),
        (Format::OpenAi, json!({ "id": "1", "function": {} }), "tool_calls[0] has no `name`"),
        (Format::OpenAi, custom, "tool_calls[0] is a custom tool call"),
        (
            Format::OpenAiResponses,
            json!({ "type": "custom_tool_call", "call_id": "1", "name": "c", "input": "x" }),
            "output[0] is a custom tool call",
        ),
        (
            Format::OpenAiResponses,
            json!({ "type": "function_call", "call_id": "1" }),
            "output[0] has no `name`",
        ),
        (Format::Anthropic, json!({ "type": "tool_use", "id": "1", "name": 1 }), "content[0] has no `name`"),
        (Format::Gemini, json!({ "functionCall": { "id": "1" } }), "parts[0] has no `name`"),
        (Format::Mcp, json!({ "id": "1", "method": "tools/call" }), "[0] has no `params`"),
        (Format::Toolcell, json!({ "id": "1" }), "[0] has no `name`"),
    ] {
        let mut whole = message(format, &[json!("2")]);
        let list = match format {
            Format::OpenAi => &mut whole["choices"][0]["message"]["tool_calls"],
            Format::OpenAiResponses => &mut whole["output"],
            Format::Anthropic => &mut whole["content"],
            Format::Gemini => &mut whole["candidates"][0]["content"]["parts"],
            _ => &mut whole,
        };
        list.as_array_mut().unwrap().insert(0, call);
        let calls = format.parse_calls(&whole).unwrap();
        let ids: Vec<&Value> = calls.iter().map(|call| &call.id).collect();
        assert_eq!(ids, ["1", "2"], "{format}");
        assert!(calls[0].problem().is_some_and(|problem| problem.contains(told)), "{format}: {:?}", calls[0]);
        assert_eq!(calls[1].problem(), None, "{format}");
    }
}

#[test]
fn an_id_that_was_rounded_is_none() {
    let text = r#"[{"id":123456789012345678901234567890,"name":"a"},{"id":123456789012345678901234567891,"name":"b"},
        {"id":1.5,"name":"c"},{"id":18446744073709551615,"name":"d"},{"id":-9223372036854775808,"name":"e"}]"#;
    let calls = Format::Toolcell.parse_calls(&serde_json::from_str(text).unwrap()).unwrap();
    let ids: Vec<Value> = calls.iter().map(|call| call.id.clone()).collect();
    assert_eq!(ids, [Value::Null, Value::Null, Value::Null, json!(u64::MAX), json!(i64::MIN)]);
    let are_refused: Vec<bool> = calls.iter().map(|call| call.problem().is_some()).collect();
    assert_eq!(are_refused, [true, true, true, false, false]);
}

#[test]
fn a_result_without_the_id_of_its_call_has_no_place_at_a_provider() {
    let empty = outcome(json!(""), vec![text("x")], None);
    let needing = [Format::OpenAi, Format::OpenAiResponses, Format::Anthropic];
    assert!(Format::ALL.iter().all(|format| format.has_place_for(&empty) != needing.contains(format)));
    let outcomes = [outcome(Value::Null, vec![text("x")], None), outcome(json!("c"), vec![text("y")], None)];
    for (format, kept) in [
        (Format::OpenAi, json!(["c"])),
        (Format::OpenAiResponses, json!(["c"])),
        (Format::Anthropic, json!(["c"])),
        (Format::Gemini, json!([null, "c"])),
        (Format::Mcp, json!([null, "c"])),
        (Format::Toolcell, json!([null, "c"])),
    ] {
        let results = format.results(&outcomes);
        let ids: Vec<Value> = match format {
            Format::OpenAi => column(&results, "/tool_call_id"),
            Format::OpenAiResponses => column(&results, "/call_id"),
            Format::Anthropic => column(&results["content"], "/tool_use_id"),
            Format::Gemini => column(&results["parts"], "/functionResponse/id"),
            Format::Mcp => column(&results, "/_meta/toolcell~1id"),
            Format::Toolcell => column(&results, "/id"),
        };
        assert_eq!(json!(ids), kept, "{format}");
        assert_eq!(format.has_place_for(&outcomes[0]), ids.len() == 2, "{format}");
    }
}

fn column(list: &Value, pointer: &str) -> Vec<Value> {
    list.as_array().unwrap().iter().map(|item| item.pointer(pointer).cloned().unwrap_or_default()).collect()
}

#[test]
fn a_failure_is_marked_and_what_came_before_it_stays() {
    let error = CallError::new(ErrorKind::Timeout, "too slow");
    let failed = outcome(json!("c"), vec![text("a part"), text("too slow")], Some(error));
    let results = |format: Format| format.results(std::slice::from_ref(&failed));
    let marked = "a part\nerror (timeout): too slow";
    assert_eq!(results(Format::OpenAi)[0]["content"], marked);
    assert_eq!(results(Format::OpenAiResponses)[0]["output"], marked);
    assert_eq!(
        results(Format::Gemini)["parts"][0]["functionResponse"],
        json!({ "id": "c", "name": "f", "response": { "error": marked } })
    );
    let anthropic = results(Format::Anthropic)["content"][0].clone();
    assert_eq!(
        (&anthropic["is_error"], &anthropic["content"][1]["text"]),
        (&json!(true), &json!("too slow"))
    );
    assert_eq!(results(Format::Mcp)[0]["isError"], true);
    assert_eq!(results(Format::Toolcell)[0]["error"]["kind"], "timeout");
}

#[test]
fn a_tool_that_says_nothing_gives_no_empty_text() {
    for content in [Vec::new(), vec![text("")]] {
        let silent = [outcome(json!("c"), content, None)];
        assert_eq!(Format::OpenAi.results(&silent)[0]["content"], "(no output)");
        let blocks = json!([{ "type": "text", "text": "(no output)" }]);
        assert_eq!(Format::Anthropic.results(&silent)["content"][0]["content"], blocks);
    }
}

#[test]
fn a_picture_goes_where_there_is_a_place_for_it() {
    let picture =
        |mime_type: &str| Content::Image { data: "AAAA".to_owned(), mime_type: mime_type.to_owned() };
    let shown = [outcome(json!("c"), vec![text("see"), picture("image/png")], None)];
    let noted = "see\n[an image, image/png, 4 bytes of base64, which cannot be shown here]";
    assert_eq!(Format::OpenAi.results(&shown)[0]["content"], noted);
    assert_eq!(
        Format::OpenAiResponses.results(&shown)[0]["output"],
        json!([{ "type": "input_text", "text": "see" },
            { "type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto" }])
    );
    assert_eq!(
        Format::Anthropic.results(&shown)["content"][0]["content"][1],
        json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AAAA" } })
    );
    assert_eq!(
        Format::Gemini.results(&shown)["parts"][0]["functionResponse"]["parts"],
        json!([{ "inlineData": { "mimeType": "image/png", "data": "AAAA" } }])
    );
    assert_eq!(
        Format::Mcp.results(&shown)[0]["content"][1],
        json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" })
    );
    let strange = [outcome(json!("c"), vec![picture("image/tiff")], None)];
    let note = "[an image, image/tiff, 4 bytes of base64, which cannot be shown here]";
    assert_eq!(Format::OpenAiResponses.results(&strange)[0]["output"], note);
    assert_eq!(Format::Anthropic.results(&strange)["content"][0]["content"][0]["text"], note);
}

#[test]
fn structured_content_goes_through_mcp_on_success_alone() {
    let mut done = outcome(json!(1), vec![text("5")], None);
    done.structured = Some(json!({ "result": 5 }));
    assert_eq!(Format::Mcp.results(&[done])[0]["structuredContent"], json!({ "result": 5 }));
}

#[test]
fn strict_schemas_close_every_object_and_require_every_key() {
    let schema = json!({
        "type": "object",
        "properties": {
            "count": { "type": "integer", "description": "How many", "minimum": 1, "maximum": 9, "default": 3 },
            "name": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
            "tags": { "type": "array", "items": { "type": "string", "pattern": "^a" }, "uniqueItems": true },
        },
        "required": ["tags"],
        "additionalProperties": false,
    });
    assert_eq!(
        strict(&schema),
        Ok(json!({
            "type": "object",
            "properties": {
                "count": {
                    "description": "How many. From 1 to 9. Default: 3.",
                    "anyOf": [{ "type": "integer" }, { "type": "null" }],
                },
                "name": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
                "tags": {
                    "type": "array",
                    "items": { "type": "string", "description": "Matches the regular expression `^a`." },
                    "description": "No item twice.",
                },
            },
            "additionalProperties": false,
            "required": ["count", "name", "tags"],
        }))
    );
}

#[test]
fn what_cannot_be_strict_says_why() {
    let with = |property: Value| {
        json!({ "type": "object", "properties": { "p": property }, "required": ["p"],
            "additionalProperties": false })
    };
    for (property, told) in [
        (
            json!({ "type": "array", "prefixItems": [{ "type": "string" }] }),
            "/p is a list with a type for each",
        ),
        (json!({}), "/p may be any JSON"),
        (json!(true), "/p may be any JSON"),
        (json!({ "type": "array" }), "/p is a list of any JSON"),
        (json!({ "type": "object", "properties": {} }), "/p is an object with any keys"),
        (json!({ "$ref": "#/x" }), "/p needs `$ref`"),
    ] {
        let why = strict(&with(property)).unwrap_err();
        assert!(why.contains(told), "{why}");
    }
    assert!(strict(&json!({ "type": "object", "properties": {} })).unwrap_err().contains("the arguments"));
}

#[test]
fn gemini_has_no_null_no_tuples_and_nothing_beside_a_choice() {
    for (schema, expected) in [
        (
            json!({ "description": "D", "anyOf": [{ "type": "string", "minLength": 1 }, { "type": "null" }] }),
            json!({ "type": "string", "description": "D\nAt least 1 character.", "nullable": true }),
        ),
        (
            json!({ "description": "D", "anyOf": [{ "type": "string" }, { "type": "integer" }] }),
            json!({ "anyOf": [{ "type": "string", "description": "D" },
                { "type": "integer", "description": "D" }] }),
        ),
        (
            json!({ "type": "array", "prefixItems": [{ "type": "string" }, { "type": "boolean" }],
                "minItems": 2, "maxItems": 2 }),
            json!({ "type": "array", "minItems": 2, "maxItems": 2,
                "description": "In this order: string, boolean.",
                "items": { "anyOf": [{ "type": "string" }, { "type": "boolean" }] } }),
        ),
        (
            json!({ "type": "integer", "minimum": -9_007_199_254_740_993_i64, "maximum": u64::MAX }),
            json!({ "type": "integer",
                "description": "From -9007199254740993 to 18446744073709551615." }),
        ),
        (
            json!({ "type": "integer", "minimum": 0, "maximum": u64::MAX }),
            json!({ "type": "integer", "minimum": 0, "description": "At most 18446744073709551615." }),
        ),
        (
            json!({ "type": "string", "contentEncoding": "base64", "pattern": "^x" }),
            json!({ "type": "string", "description": "Encoded as base64." }),
        ),
        (
            json!({ "type": "object", "properties": { "b": { "type": "integer", "default": 1 }, "a": { "type": "boolean" } },
                "additionalProperties": false }),
            json!({ "type": "object",
                "properties": { "b": { "type": "integer", "description": "Default: 1." }, "a": { "type": "boolean" } },
                "propertyOrdering": ["b", "a"] }),
        ),
    ] {
        assert_eq!(gemini(&schema), (expected, Vec::new()));
    }
}

fn object(properties: Value) -> Value {
    json!({ "type": "object", "properties": properties, "required": [], "additionalProperties": false })
}

#[test]
fn a_request_has_no_more_strict_tools_and_choices_than_anthropic_takes() {
    let mut budget = Budget::new(Format::Anthropic);
    let choice = json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] });
    let choices = |count: usize| {
        let names = (0..count).map(|at| (at.to_string(), choice.clone()));
        object(Value::Object(names.collect()))
    };
    assert_eq!(budget.take(&choices(10)), Ok(()));
    let why = budget.take(&choices(7)).unwrap_err();
    assert!(why.contains("6 are left for its 7"), "{why}");
    assert_eq!(budget.take(&object(json!({ "list": { "type": "array", "items": choices(6) } }))), Ok(()));
    for _ in 2..20 {
        assert_eq!(budget.take(&choices(0)), Ok(()));
    }
    assert!(budget.take(&choices(0)).unwrap_err().contains("20 strict tools"));
}

#[test]
fn a_strict_schema_is_no_larger_than_openai_takes() {
    let nested = |levels: usize| {
        (1..levels)
            .fold(object(json!({})), |inner, _| object(json!({ "a": { "type": "array", "items": inner } })))
    };
    let words = |count: usize| {
        object(json!({ "a": { "enum": (0..count).map(|it| it.to_string()).collect::<Vec<_>>() } }))
    };
    let mut budget = Budget::new(Format::OpenAi);
    for _ in 0..100 {
        assert_eq!(budget.take(&nested(10)), Ok(()));
    }
    assert_eq!(budget.take(&words(1000)), Ok(()));
    for (schema, told) in [
        (nested(11), "11 levels"),
        (words(1001), "1001 values"),
        (object(json!({ "a": { "enum": ["x".repeat(120_000)] } })), "120001 letters"),
        (
            object(
                (0..5001)
                    .map(|at| (at.to_string(), json!({ "type": "string" })))
                    .collect::<Map<_, _>>()
                    .into(),
            ),
            "5001 properties",
        ),
    ] {
        let why = budget.take(&schema).unwrap_err();
        assert!(why.contains(told), "{why}");
        assert_eq!(Budget::new(Format::Anthropic).take(&schema), Ok(()));
    }
}

#[test]
fn a_foreign_schema_is_lowered_to_what_providers_take() {
    let inside = |property: &Value| json!({ "type": "object", "properties": { "p": property } });
    for (property, expected) in [
        (json!(true), json!({})),
        (json!({ "const": "a" }), json!({ "enum": ["a"] })),
        (
            json!({ "type": "integer", "format": "uint32", "minimum": 1 }),
            json!({ "type": "integer", "minimum": 1, "maximum": u32::MAX }),
        ),
        (
            json!({ "type": "string", "format": "date-time", "title": "T" }),
            json!({ "type": "string", "description": "Format: date-time." }),
        ),
        (
            json!({ "description": "D", "type": ["string", "null"], "enum": ["a", null] }),
            json!({ "description": "D", "anyOf": [{ "type": "string", "enum": ["a"] }, { "type": "null" }] }),
        ),
        (
            json!({ "oneOf": [{ "type": "string" }, false, { "type": "array", "items": true }] }),
            json!({ "anyOf": [{ "type": "string" }, { "type": "array" }] }),
        ),
        (
            json!({ "allOf": [{ "type": "string", "maxLength": 3 }], "description": "D" }),
            json!({ "type": "string", "maxLength": 3, "description": "D" }),
        ),
    ] {
        let lowered = lowered(&inside(&property)).unwrap();
        assert_eq!((lowered.schema, lowered.notes), (inside(&expected), Vec::new()), "{property}");
    }
    let text = json!({ "type": "string" });
    let of = |name: &str| json!({ "properties": { name: text }, "required": [name] });
    for (root, properties, required) in [
        (
            json!({ "allOf": [of("path")], "properties": { "mode": text }, "type": "object" }),
            vec!["path", "mode"],
            json!(["path"]),
        ),
        (
            json!({ "properties": { "mode": text }, "allOf": [of("path"), of("x")] }),
            vec!["mode", "path", "x"],
            json!(["path", "x"]),
        ),
        (json!({ "type": "object", "allOf": [of("path")], "properties": {} }), vec!["path"], json!(["path"])),
        (
            json!({ "required": ["x", "x"], "allOf": [of("x"), of("x")], "properties": {} }),
            vec!["x"],
            json!(["x"]),
        ),
    ] {
        let lowered = lowered(&root).unwrap().schema;
        let names: Vec<&String> = lowered["properties"].as_object().unwrap().keys().collect();
        assert_eq!(
            (names, &lowered["required"]),
            (
                properties.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>().iter().collect(),
                &required
            ),
            "{root}"
        );
    }
    // A property of which both say something, and what cannot be said twice.
    let part = |properties: Value, required: Value| json!({ "type": "object", "properties": properties, "required": required });
    let base = part(json!({ "region": text }), json!(["region"]));
    let more = part(json!({ "size": { "type": "integer" } }), json!(["size"]));
    let both = lowered(&json!({ "type": "object", "allOf": [{ "properties": { "opts": base } }],
        "properties": { "opts": more, "x": { "enum": ["b"] } }, "required": ["opts"] }))
    .unwrap();
    let opts = &both.schema["properties"]["opts"];
    assert_eq!(
        opts["properties"].as_object().unwrap().keys().collect::<Vec<_>>(),
        ["region", "size"],
        "{opts}"
    );
    assert_eq!((&opts["required"], both.notes.len()), (&json!(["region", "size"]), 0));
    let twice = lowered(&json!({ "allOf": [{ "properties": { "x": { "type": "integer" } } }],
        "properties": { "x": { "type": "string", "enum": ["a"] } } }))
    .unwrap();
    assert_eq!(twice.notes, ["says `type` twice of one value, of which one is left out"]);
    // Types beside a choice hold for each of it.
    let choice = json!({ "type": ["string", "null"], "anyOf": [{ "pattern": "^a" }, { "type": "integer" }, { "pattern": "^b" }] });
    assert_eq!(
        lowered(&inside(&choice)).unwrap().schema["properties"]["p"],
        json!({ "anyOf": [{ "pattern": "^a", "type": "string" }, { "type": "null" }, { "pattern": "^b", "type": "string" }] })
    );
    // Types of which no word is: nothing fits.
    let none = json!({ "type": ["integer", "string"], "enum": [true] });
    assert_eq!(lowered(&inside(&none)).unwrap().schema["properties"], json!({}));
    let two = lowered(&inside(&json!({ "oneOf": [text], "anyOf": [{ "type": "integer" }] }))).unwrap();
    assert_eq!((&two.schema["properties"]["p"], two.notes.len()), (&json!({ "anyOf": [text] }), 1));
    let never = lowered(&inside(&json!(false))).unwrap();
    assert_eq!(never.schema["properties"], json!({}));
}

#[test]
fn a_schema_that_nests_in_itself_is_described_so_far() {
    let list = json!({ "type": "object", "properties": {
        "value": { "type": "integer" },
        "next": { "$ref": "#" },
        "tree": { "$ref": "#/$defs/Tree", "description": "A tree" },
    }, "$defs": { "Tree": { "type": "object",
        "properties": { "children": { "type": "array", "items": { "$ref": "#/$defs/Tree" } } } } } });
    let lowered_list = lowered(&list).unwrap();
    assert_eq!(
        lowered_list.schema["properties"],
        json!({
            "value": { "type": "integer" },
            "next": { "type": "object" },
            "tree": { "type": "object", "description": "A tree",
                "properties": { "children": { "type": "array", "items": { "type": "object" } } } },
        })
    );
    assert_eq!(lowered_list.notes, ["nests in itself, of which only the first levels are described"]);
    // References to references double at every step; lowering ends all the same.
    let mut definitions = Map::new();
    for at in 0..60 {
        let next = json!({ "$ref": format!("#/$defs/d{}", at + 1) });
        definitions.insert(format!("d{at}"), json!({ "anyOf": [next, next, next] }));
    }
    definitions.insert("d60".to_owned(), json!({ "type": "string" }));
    let bomb =
        json!({ "type": "object", "properties": { "p": { "$ref": "#/$defs/d0" } }, "$defs": definitions });
    let lowered = lowered(&bomb).unwrap();
    assert!(lowered.schema.to_string().len() < 200_000 && !lowered.notes.is_empty());
}

#[test]
fn a_choice_at_the_root_becomes_one_object() {
    let set = |op: &str, more: Value, required: Value| {
        let mut properties = Map::new();
        properties.insert("op".to_owned(), json!({ "type": "string", "const": op }));
        properties.extend(more.as_object().unwrap().clone());
        json!({ "type": "object", "properties": properties, "required": required })
    };
    let number = json!({ "type": "integer" });
    let lowered = lowered(&json!({
        "type": "object", "unevaluatedProperties": false, "oneOf": [
            set("add", json!({ "a": number, "b": number }), json!(["op", "a"])),
            set("negate", json!({ "a": number }), json!(["op", "a"])),
        ],
    }))
    .unwrap();
    assert_eq!(
        lowered.schema,
        json!({
            "type": "object",
            "properties": { "op": { "type": "string", "enum": ["add", "negate"] }, "a": number, "b": number },
            "additionalProperties": false,
            "required": ["op", "a"],
            "description": "One of these sets of arguments: {op: \"add\", a, b?}; {op: \"negate\", a}.",
        })
    );
    assert_eq!(lowered.notes, ["takes one of several sets of arguments, which only its description says"]);
}

#[test]
fn a_name_that_no_provider_takes_is_left_out_or_its_tool_is() {
    let long = "a b".repeat(30);
    let mut schema = json!({ "type": "object", "properties": { &long: { "type": "string" } } });
    let left_out = lowered(&schema).unwrap();
    assert_eq!(left_out.schema["properties"], json!({}));
    assert!(left_out.notes[0].contains("it is left out"), "{:?}", left_out.notes);
    schema["required"] = json!([long]);
    assert!(lowered(&schema).unwrap_err().contains("needs the property `a ba b"));
}

#[test]
fn what_may_be_absent_but_not_null_is_seen_at_any_depth() {
    let optional = |property: Value| json!({ "type": "object", "properties": { "p": property } });
    assert!(leaves_out(&optional(json!({ "type": "string" }))));
    assert!(!leaves_out(&optional(json!({ "type": ["string", "null"] }))));
    assert!(leaves_out(&json!({ "items": { "anyOf": [optional(json!({}))] } })));
}

#[test]
fn what_gemini_cannot_say_is_named() {
    let schema = json!({ "type": "object", "additionalProperties": { "type": "string" },
        "properties": { "p": { "type": "number", "multipleOf": 2, "maxLength": 3 } } });
    assert_eq!(unsaid(&schema), ["additionalProperties", "multipleOf"]);
    let schema = json!({ "type": "object",
        "properties": { "map": { "type": "object", "additionalProperties": true }, "one": { "enum": [1, 2] } } });
    assert_eq!(
        gemini(&schema).0["properties"],
        json!({ "map": { "type": "string", "description": "A JSON object, written as text." },
            "one": { "type": "integer", "description": "One of 1, 2." } })
    );
}
