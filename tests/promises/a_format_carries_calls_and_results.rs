//! A model's message goes in and its results come out in the same provider's format, by library and command line.

use serde_json::{Value, json};
use toolcell::format::Format;
use toolcell_tests::command_line::CommandLine;

/// Two reads, a write, a read of what was written, an unknown tool and a bad argument.
fn calls() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("c1", "read_file", json!({ "path": "a.txt" })),
        ("c2", "read_file", json!({ "path": "b.txt" })),
        ("c3", "write_file", json!({ "path": "c.txt", "content": "written now\n" })),
        ("c4", "read_file", json!({ "path": "c.txt" })),
        ("c5", "reed_file", json!({ "path": "a.txt" })),
        ("c6", "read_file", json!({ "file": "a.txt" })),
    ]
}

fn message(format: Format) -> Value {
    let calls = calls().into_iter();
    match format {
        Format::OpenAi => {
            let calls = calls.map(|(id, name, arguments)| {
                json!({ "id": id, "type": "function",
                    "function": { "name": name, "arguments": arguments.to_string() } })
            });
            json!({ "choices": [{ "index": 0, "finish_reason": "tool_calls",
                "message": { "role": "assistant", "content": null, "tool_calls": calls.collect::<Vec<_>>() } }] })
        }
        Format::OpenAiResponses => {
            let items = calls.map(|(id, name, arguments)| {
                json!({ "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name,
                    "arguments": arguments.to_string() })
            });
            json!({ "object": "response",
                "output": std::iter::once(json!({ "type": "reasoning", "summary": [] })).chain(items).collect::<Vec<_>>() })
        }
        Format::Anthropic => {
            let blocks = calls.map(
                |(id, name, input)| json!({ "type": "tool_use", "id": id, "name": name, "input": input }),
            );
            let text = json!({ "type": "text", "text": "Let me see." });
            json!({ "role": "assistant", "stop_reason": "tool_use",
                "content": std::iter::once(text).chain(blocks).collect::<Vec<_>>() })
        }
        Format::Gemini => {
            let parts = calls
                .map(|(id, name, args)| json!({ "functionCall": { "id": id, "name": name, "args": args } }));
            json!({ "candidates": [{ "content": { "role": "model", "parts": parts.collect::<Vec<_>>() } }] })
        }
        _ => calls
            .map(|(id, name, arguments)| {
                json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
                    "params": { "name": name, "arguments": arguments } })
            })
            .collect(),
    }
}

/// Each result's id, text and whether it is marked as failed.
fn read(format: Format, results: &Value) -> Vec<(String, String, bool)> {
    let list = match format {
        Format::Anthropic => &results["content"],
        Format::Gemini => &results["parts"],
        _ => results,
    };
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let one = |result: &Value| match format {
        Format::OpenAi => {
            assert_eq!(result["role"], "tool");
            let said = text(&result["content"]);
            (text(&result["tool_call_id"]), said.clone(), said.starts_with("error ("))
        }
        Format::OpenAiResponses => {
            assert_eq!(result["type"], "function_call_output");
            let said = text(&result["output"]);
            (text(&result["call_id"]), said.clone(), said.starts_with("error ("))
        }
        Format::Anthropic => {
            assert_eq!(result["type"], "tool_result");
            let said = text(&result["content"][0]["text"]);
            (text(&result["tool_use_id"]), said, result["is_error"] == true)
        }
        Format::Gemini => {
            let response = &result["functionResponse"];
            let failed = response["response"].get("error");
            let said = text(failed.unwrap_or(&response["response"]["output"]));
            (text(&response["id"]), said, failed.is_some())
        }
        _ => {
            let said = text(&result["content"][0]["text"]);
            (text(&result["_meta"]["toolcell/id"]), said, result["isError"] == true)
        }
    };
    list.as_array().unwrap().iter().map(one).collect()
}

#[test]
fn six_calls_have_six_results_in_order_in_every_format() {
    for format in [Format::OpenAi, Format::OpenAiResponses, Format::Anthropic, Format::Gemini, Format::Mcp] {
        let line = CommandLine::new();
        line.write("a.txt", "first\n");
        line.write("b.txt", "second\n");
        line.write("message.json", message(format).to_string());
        let ended = line.run(&[
            "batch",
            "message.json",
            "--format",
            format.name(),
            "--component",
            "builtin:files",
            "--dir",
            ".::/work::rw",
        ]);
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{format}");
        let results = read(format, &ended.json());
        let expected = [
            ("c1", "first", false),
            ("c2", "second", false),
            ("c3", "c.txt", false),
            ("c4", "written now", false),
            ("c5", "no tool `reed_file`", true),
            ("c6", "/file", true),
        ];
        assert_eq!(results.len(), expected.len(), "{format}: {results:#?}");
        for ((id, text, failed), expected) in results.iter().zip(expected) {
            assert_eq!((id.as_str(), *failed), (expected.0, expected.2), "{format}: {results:#?}");
            assert!(text.contains(expected.1), "{format} {id}: {text}");
        }
    }
}

#[test]
fn an_id_keeps_its_type_and_its_digits() {
    let line = CommandLine::new();
    let ids = json!([1, "1", 0, -1, 9_007_199_254_740_993_u64, "a longer one"]);
    let calls = ids.as_array().unwrap().iter();
    for (format, at) in [("mcp", "/_meta/toolcell~1id"), ("toolcell", "/id")] {
        let call = |id: &Value| match format {
            "mcp" => {
                json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "echo" } })
            }
            _ => json!({ "id": id, "name": "echo", "arguments": { "text": "a" } }),
        };
        line.write("m.json", calls.clone().map(call).collect::<Value>().to_string());
        let ended = line.run(&["batch", "m.json", "--format", format, "--component", "builtin:basics"]);
        let results = ended.json();
        let back: Vec<&Value> =
            results.as_array().unwrap().iter().map(|one| one.pointer(at).unwrap()).collect();
        assert_eq!(json!(back), ids, "{format}");
    }
}

#[test]
fn arguments_that_cannot_be_read_end_their_own_call_alone() {
    let line = CommandLine::new();
    let deep = format!("{}1{}", "[".repeat(130), "]".repeat(130));
    let broken = [r#"{"a":1,"a":2}"#, r#"{"a":"\ud800"}"#, &format!(r#"{{"a":{deep}}}"#), r#"{"a":1e999}"#];
    for (format, (before, between, after)) in [
        ("anthropic", (r#"{"content":["#, r#"{"type":"tool_use","id":"ID","name":"add","input":IN}"#, "]}")),
        (
            "gemini",
            (r#"{"role":"model","parts":["#, r#"{"functionCall":{"id":"ID","name":"add","args":IN}}"#, "]}"),
        ),
        (
            "mcp",
            (
                "[",
                r#"{"jsonrpc":"2.0","id":"ID","method":"tools/call","params":{"name":"add","arguments":IN}}"#,
                "]",
            ),
        ),
        ("toolcell", (r#"{"calls":["#, r#"{"id":"ID","name":"add","arguments":IN}"#, "]}")),
    ] {
        let sound = r#"{"a":1,"b":2}"#;
        let inputs = broken.iter().flat_map(|broken| [*broken, sound]);
        let calls: Vec<String> = inputs
            .enumerate()
            .map(|(at, input)| between.replace("ID", &format!("c{at}")).replace("IN", input))
            .collect();
        line.write("m.json", format!("{before}{}{after}", calls.join(",")));
        let ended = line.run(&["batch", "m.json", "--format", format, "--component", "builtin:basics"]);
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{format}: {ended:?}");
        let results = ended.json();
        let list = ["/content", "/parts"].iter().find_map(|at| results.pointer(at)).unwrap_or(&results);
        for (at, result) in list.as_array().unwrap().iter().enumerate() {
            let shown = result.to_string();
            assert!(shown.contains(&format!("\"c{at}\"")), "{format} {at}: {shown}");
            let is_refused = shown.contains("the arguments ");
            assert_eq!(is_refused, at % 2 == 0, "{format} {at}: {shown}");
        }
        assert_eq!(list.as_array().unwrap().len(), 8);
    }
}

#[test]
fn what_is_no_message_exits_with_2_and_runs_nothing() {
    let line = CommandLine::new();
    for (content, told) in [
        ("", "m.json is empty"),
        ("[] []", "goes on after one JSON document"),
        (r#"{"error":{"message":"slow down"}}"#, "an error of the provider: slow down"),
        ("{", "not valid JSON"),
        ("{}", "no message in the format anthropic"),
        (r#"{"content":[],"content":[]}"#, "outside of its calls: `content`"),
    ] {
        line.write("m.json", content);
        let ended = line.run(&["batch", "m.json", "--format", "anthropic", "--component", "builtin:basics"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{content}: {ended:?}");
        assert!(ended.stderr.contains(told), "{content}: {}", ended.stderr);
    }
    for (message, named, seen) in [
        (message(Format::OpenAi), "anthropic", "openai"),
        (message(Format::Anthropic), "openai", "anthropic"),
        (message(Format::Gemini)["candidates"][0]["content"].clone(), "anthropic", "gemini"),
        (message(Format::Anthropic)["content"].clone(), "toolcell", "anthropic"),
    ] {
        line.write("m.json", message.to_string());
        let ended = line.run(&["batch", "m.json", "--format", named, "--component", "builtin:basics"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{named}: {ended:?}");
        let told = format!("in the format {named}");
        assert!(ended.stderr.contains(&told), "{}", ended.stderr);
        assert!(ended.stderr.contains(&format!("seems to be one in the format {seen}")), "{}", ended.stderr);
    }
    let ended = line.run(&["batch", "m.json", "--format", "xml", "--component", "builtin:basics"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("openai-responses"), "{}", ended.stderr);
}

#[test]
fn a_call_that_cannot_be_read_is_answered_and_the_others_run() {
    let line = CommandLine::new();
    for (format, message, ids) in [
        (
            "anthropic",
            json!([{ "type": "tool_use", "id": "a" }, { "type": "tool_use", "id": "b", "name": "echo",
                "input": { "text": "ran" } }]),
            "/content/0/tool_use_id",
        ),
        (
            "openai",
            json!([{ "id": "a", "type": "custom", "custom": { "name": "x", "input": "y" } },
                { "id": "b", "type": "function",
                    "function": { "name": "echo", "arguments": "{\"text\":\"ran\"}" } }]),
            "/0/tool_call_id",
        ),
    ] {
        line.write("m.json", message.to_string());
        let ended = line.run(&["batch", "m.json", "--format", format, "--component", "builtin:basics"]);
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{format}");
        let (results, text) = (ended.json(), ended.stdout.as_str());
        assert_eq!(results.pointer(ids), Some(&json!("a")), "{format}");
        assert!(text.contains("the call cannot be read") && text.contains("\"ran\""), "{format}: {text}");
    }
}

#[test]
fn a_call_without_an_id_is_told_of_and_not_answered() {
    let line = CommandLine::new();
    let rounded = r#"[{"type":"tool_use","name":"echo","input":{"text":"x"}},
        {"type":"tool_use","id":123456789012345678901234567890,"name":"echo","input":{"text":"x"}},
        {"type":"tool_use","id":"c","name":"echo","input":{"text":"ran"}}]"#;
    line.write("m.json", rounded);
    let ended = line.run(&["batch", "m.json", "--format", "anthropic", "--component", "builtin:basics"]);
    let results = ended.json();
    assert_eq!(ended.code, 0);
    assert_eq!(results["content"].as_array().map(Vec::len), Some(1), "{results}");
    assert_eq!(results["content"][0]["tool_use_id"], "c");
    for told in
        ["call 1 is not answered", "call 1 of the message has no id", "call 2 is not answered", "64 bits"]
    {
        assert!(ended.stderr.contains(told), "{}", ended.stderr);
    }
}

#[test]
fn a_message_that_only_says_something_has_no_results() {
    let line = CommandLine::new();
    line.write("m.json", r#"{"role":"assistant","content":"hello"}"#);
    let ended = line.run(&["batch", "m.json", "--format", "openai", "--component", "builtin:basics"]);
    assert_eq!((ended.code, ended.json()), (0, json!([])));
}
