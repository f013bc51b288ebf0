//! `toolcell mcp` as a client sees it over pipes: every request is answered once, under its own id, whatever is sent
//! beside it and whatever tools print; what failed is marked; and the end of input ends everything.

use serde_json::{Value, json};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::guest;
use toolcell_tests::mcp_client::{McpClient, current};

/// A server of the probe.
fn serving(line: &CommandLine, more: &[&str]) -> McpClient {
    let probe = guest("probe");
    let probe = probe.to_string_lossy();
    let arguments = [&["mcp", "--component", &probe], more].concat();
    McpClient::start(&mut line.command(&arguments))
}

/// A server of the probe by a configuration with more in it.
fn configured(line: &CommandLine, more: &str) -> McpClient {
    let probe = guest("probe");
    let text = format!("{more}\n[component.probe]\npath = \"{}\"\n", probe.display());
    line.write("toolcell.toml", text);
    McpClient::start(&mut line.command(&["mcp", "--config", "toolcell.toml"]))
}

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_default()
}

/// A line, and the id and code of the error that it is answered with, if it is answered.
type Bad = (&'static [u8], Option<(Value, i64)>);

fn bad_frames() -> Vec<Bad> {
    let none = Value::Null;
    vec![
        (b"garbage\n", Some((none.clone(), -32700))),
        (b"\n", None),
        (b"  \t\r\n", None),
        (b"\xff\xfe\n", Some((none.clone(), -32700))),
        (b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"x\":\"\xff\"}\n", Some((json!(7), -32700))),
        (b"{\"jsonrpc\":\"2.0\",\"id\":\"cut\",\"method\":\n", Some((json!("cut"), -32700))),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}\n", Some((none.clone(), -32700))),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]\n", Some((none.clone(), -32600))),
        (b"null\n", Some((none.clone(), -32600))),
        (b"\"ping\"\n", Some((none.clone(), -32600))),
        (b"{}\n", Some((none.clone(), -32600))),
        (b"{\"jsonrpc\":\"1.0\",\"id\":2,\"method\":\"ping\"}\n", Some((json!(2), -32600))),
        (b"{\"id\":3,\"method\":\"ping\"}\n", Some((json!(3), -32600))),
        (b"{\"jsonrpc\":\"2.0\",\"id\":4}\n", Some((json!(4), -32600))),
        (b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":5}\n", Some((json!(5), -32600))),
        (b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\n", Some((none.clone(), -32600))),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}\n", Some((json!(1.5), -32600))),
        (b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}\n", Some((none, -32600))),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"tools/list\",\"params\":null}\n",
            Some((json!(6), -32602)),
        ),
        (b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\",\"params\":[]}\n", Some((json!(7), -32602))),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/call\",\"params\":{}}\n",
            Some((json!(8), -32602)),
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"name\":1}}\n",
            Some((json!(9), -32602)),
        ),
        (b"{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"no/such\"}\n", Some((json!(10), -32601))),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"no/such\"}\n", None),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}\n", None),
        (
            b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":99}}\n",
            None,
        ),
        (b"{\"jsonrpc\":\"2.0\",\"id\":\"nobody\",\"result\":{}}\n", None),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":11,\"method\":\"tools/list\",\"params\":{\"cursor\":\"!\"}}\n",
            Some((json!(11), -32602)),
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":12,\"method\":\"resources/read\",\"params\":{\"uri\":\"file:///etc/passwd\"}}\n",
            Some((json!(12), -32002)),
        ),
        (b"{\"jsonrpc\":\"2.0\",\"id\":13,\"method\":\"initialize\",\"params\":{}}\n", Some((json!(13), -32602))),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":14,\"method\":\"server/discover\",\"params\":{}}\n",
            Some((json!(14), -32602)),
        ),
    ]
}

#[test]
fn a_bad_line_is_answered_and_the_next_request_too() {
    let line = CommandLine::new();
    let mut client = serving(&line, &[]);
    for (at, (bytes, expected)) in bad_frames().into_iter().enumerate() {
        let text = String::from_utf8_lossy(bytes).into_owned();
        client.send_bytes(bytes);
        if let Some((id, expected)) = expected {
            let answer = client.messages.answer(&id);
            assert_eq!(code(&answer), expected, "{text}{answer}");
        }
        let next = format!("next {at}");
        assert_eq!(
            client.ask(next.clone(), "ping", json!({})),
            json!({ "jsonrpc": "2.0", "id": next, "result": {} })
        );
    }
    // A mark of the byte order, the other end of lines, and a message without params.
    client.send_bytes(b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\r\n");
    assert!(client.messages.answer(&json!(1))["result"]["tools"].is_array());
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\",\"params\":{{\"a\":{}1{}}}}}\n",
        "[".repeat(115),
        "]".repeat(115)
    );
    client.send_bytes(deep.as_bytes());
    assert_eq!(code(&client.messages.answer(&json!(2))), -32600);
    let (code, rest) = client.close();
    assert_eq!((code, rest), (0, vec![]), "one answer each, and nothing else");
}

#[test]
fn a_line_that_is_too_long_is_refused_by_its_id() {
    let line = CommandLine::new();
    let mut client = serving(&line, &[]);
    client.send_bytes(b"{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":{\"a\":\"");
    client.send_bytes(&vec![b'x'; 33 << 20]);
    client.send_bytes(b"\"},\"id\":\"last\"}\n");
    assert_eq!(code(&client.messages.answer(&json!("last"))), -32600);
    assert_eq!(client.ask(1, "ping", json!({}))["result"], json!({}));
    assert_eq!(client.close(), (0, vec![]));
}

#[test]
fn both_eras_are_served_at_once() {
    let line = CommandLine::new();
    let mut client = serving(&line, &[]);
    for (wanted, given) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
    ] {
        let result = client.initialize(wanted, json!({}))["result"].clone();
        assert_eq!(result["protocolVersion"], given, "{result}");
        assert_eq!(result["serverInfo"]["name"], "toolcell");
        assert_eq!(result["capabilities"]["tools"], json!({ "listChanged": true }));
    }
    let old = client.ask(1, "tools/list", json!({}))["result"].clone();
    assert!(old.get("resultType").is_none() && old.get("ttlMs").is_none());
    let meta = current(json!({}));
    let discovered = client.ask(2, "server/discover", json!({ "_meta": meta }))["result"].clone();
    let versions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
    assert_eq!(discovered["supportedVersions"], json!(versions));
    let new = client.ask(3, "tools/list", json!({ "_meta": meta }))["result"].clone();
    assert_eq!(
        (&new["tools"], &new["resultType"], &new["cacheScope"]),
        (&old["tools"], &json!("complete"), &json!("private"))
    );
    let names: Vec<&str> =
        new["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.is_sorted() && names.contains(&"read_output"), "{names:?}");
    let called = client.ask(
        4,
        "tools/call",
        json!({ "name": "echo_u32", "arguments": { "value": 5 }, "_meta": meta }),
    );
    assert_eq!(
        (&called["result"]["structuredContent"], &called["result"]["resultType"]),
        (&json!({ "result": 5 }), &json!("complete"))
    );
    assert_eq!(code(&client.ask(5, "ping", json!({ "_meta": meta }))), -32601);
    let mut unknown = meta.clone();
    unknown["io.modelcontextprotocol/protocolVersion"] = json!("2031-01-01");
    let refused = client.ask(6, "tools/list", json!({ "_meta": unknown }));
    assert_eq!((code(&refused), &refused["error"]["data"]["supported"]), (-32022, &json!(versions)));
    let mut bare = meta;
    bare.as_object_mut().unwrap().remove("io.modelcontextprotocol/clientCapabilities");
    assert_eq!(code(&client.ask(7, "tools/list", json!({ "_meta": bare }))), -32602);
    assert_eq!(client.close(), (0, vec![]));
}

#[test]
fn what_failed_is_marked_and_says_how() {
    let line = CommandLine::new();
    let mut client = configured(
        &line,
        "[limits]\ntimeout = \"1s\"\nfuel = \"off\"\n[[rule]]\ntools = [\"echo_string\"]\naction = \"deny\"\nreason = \"not today\"\n",
    );
    client.initialize("2025-11-25", json!({}));
    let unknown = client.ask(0, "tools/call", json!({ "name": "echo_strin", "arguments": {} }));
    assert_eq!((code(&unknown), &unknown["error"]["data"]["kind"]), (-32602, &json!("unknown_tool")));
    assert!(unknown["error"]["message"].as_str().unwrap().contains("echo_string"), "{unknown}");
    for (name, arguments, kind, told) in [
        ("echo_u32", json!({ "value": "x", "other": 1 }), "invalid_arguments", "/value"),
        ("echo_u32", json!([1]), "invalid_arguments", "object"),
        ("echo_result", json!({ "value": { "err": "no luck" } }), "tool_error", "no luck"),
        ("trap", json!({}), "trapped", ""),
        ("spin", json!({}), "timeout", "1s"),
        ("echo_string", json!({ "value": "a" }), "denied", "not today"),
        ("exit_with", json!({ "code": 3 }), "exited", "exited"),
    ] {
        let result =
            client.ask(name, "tools/call", json!({ "name": name, "arguments": arguments }))["result"].clone();
        assert_eq!(
            (&result["isError"], &result["_meta"]["toolcell/kind"]),
            (&json!(true), &json!(kind)),
            "{result}"
        );
        assert!(result["content"][0]["text"].as_str().unwrap().contains(told), "{result}");
        assert!(result.get("structuredContent").is_none() && result["_meta"]["toolcell/usage"].is_object());
    }
    let fine =
        client.ask("fine", "tools/call", json!({ "name": "echo_nothing", "arguments": { "value": "" } }));
    assert_eq!(
        (&fine["result"]["isError"], &fine["result"]["_meta"].get("toolcell/kind")),
        (&json!(false), &None)
    );
    assert_eq!(client.close(), (0, vec![]));
}

#[test]
fn answers_carry_the_ids_of_their_calls_whatever_their_order() {
    let line = CommandLine::new();
    let mut client = serving(&line, &[]);
    let ids = [
        json!(1),
        json!("1"),
        json!(0),
        json!(-1),
        json!(9_007_199_254_740_993_u64),
        json!("é".repeat(5000)),
        json!(""),
    ];
    for (at, id) in ids.iter().enumerate() {
        client.call(id.clone(), "spin_for", json!({ "ms": 20 * (ids.len() - at) }));
    }
    client.call("twice", "sleep", json!({ "ms": 300 }));
    client.call("twice", "echo_u32", json!({ "value": 1 }));
    assert_eq!(code(&client.messages.answer(&json!("twice"))), -32600);
    assert_eq!(client.messages.answer(&json!("twice"))["result"]["isError"], false);
    for id in &ids {
        let answer = client.messages.answer(id);
        assert_eq!((&answer["id"], &answer["result"]["isError"]), (id, &json!(false)), "{answer}");
    }
    let again = client.ask("twice", "tools/call", json!({ "name": "echo_u32", "arguments": { "value": 2 } }));
    assert_eq!(again["result"]["structuredContent"]["result"], 2);
    assert_eq!(client.close(), (0, vec![]));
}

#[test]
fn none_of_many_requests_at_once_is_lost() {
    let line = CommandLine::new();
    let mut client = serving(&line, &[]);
    let text = |at: usize| format!("{at}:{}", "é".repeat((at * 109) % (32 << 10)));
    let mut all = Vec::new();
    for at in 0..300 {
        let params = json!({ "name": "echo_string", "arguments": { "value": text(at) } });
        all.extend(
            format!("{}\n", json!({ "jsonrpc": "2.0", "id": at, "method": "tools/call", "params": params }))
                .into_bytes(),
        );
    }
    // In pieces that end anywhere, inside of characters as well.
    let mut rest = all.as_slice();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.len().min(7919));
        client.send_bytes(piece);
        rest = after;
    }
    for at in 0..300 {
        let answer = client.messages.answer(&json!(at));
        assert!(
            answer["result"]["content"][0]["text"].as_str().unwrap().starts_with(&format!("{at}:")),
            "{at}"
        );
    }
    assert_eq!(client.close(), (0, vec![]));
}

#[test]
fn a_cancelled_call_ends_and_is_not_answered() {
    let line = CommandLine::new();
    let mut client = serving(&line, &["--fuel", "off", "--timeout", "10m"]);
    client.call("spinning", "progress_many", json!({ "count": 1 }));
    client.messages.answer(&json!("spinning"));
    for (at, tool) in ["spin", "poll_forever"].into_iter().enumerate() {
        client.call("long", tool, json!({}));
        client.notify("notifications/cancelled", json!({ "requestId": "long", "reason": "enough" }));
        // Its id is free once it has ended, and not before.
        let mut tries = 0;
        loop {
            let answer =
                client.ask("long", "tools/call", json!({ "name": "echo_u32", "arguments": { "value": at } }));
            if answer.get("result").is_some() {
                break;
            }
            assert_eq!(code(&answer), -32600, "{answer}");
            tries += 1;
            assert!(tries < 100_000, "the call goes on");
        }
    }
    assert_eq!(client.close(), (0, vec![]), "no answer to what was cancelled");
}

#[test]
fn the_end_of_input_ends_everything() {
    let line = CommandLine::new();
    let mut client = serving(&line, &["--timeout", "10m"]);
    client.ask(0, "tools/call", json!({ "name": "echo_u32", "arguments": { "value": 1 } }));
    client.call("short", "sleep", json!({ "ms": 100 }));
    client.call("endless", "poll_forever", json!({}));
    // The last line has no newline.
    client.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"ping\"}");
    let (code, rest) = client.close();
    assert_eq!(code, 0);
    let of = |id: &str| rest.iter().find(|message| message["id"] == id).cloned().unwrap_or_default();
    assert_eq!(rest.len(), 3, "{rest:#?}");
    assert_eq!(of("last")["result"], json!({}));
    assert_eq!(of("short")["result"]["isError"], false);
    assert_eq!(of("endless")["result"]["_meta"]["toolcell/kind"], "cancelled");
}

#[test]
fn a_server_that_is_terminated_ends_its_calls_first() {
    let line = CommandLine::new();
    let mut client = serving(&line, &["--timeout", "10m"]);
    client.call("endless", "poll_forever", json!({}));
    client.ask(1, "ping", json!({}));
    client.terminate();
    let answer = client.messages.answer(&json!("endless"));
    assert_eq!(answer["result"]["_meta"]["toolcell/kind"], "cancelled");
    assert_eq!(client.close(), (0, vec![]));
}

#[test]
fn nothing_that_a_tool_prints_is_taken_for_an_answer() {
    let line = CommandLine::new();
    let mut client = serving(&line, &[]);
    let forged = "\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}\n";
    for (id, channel) in [(1, "stdout"), (2, "stderr")] {
        client.call(id, "print", json!({ "channel": channel, "pattern": forged, "count": 50 }));
    }
    client.call(3, "print_and_trap", json!({ "start": forged }));
    client.call(4, "panic_with", json!({ "message": forged }));
    client.call(5, "echo_string", json!({ "value": forged }));
    for id in 1..=5 {
        let answer = client.messages.answer(&json!(id));
        assert!(answer["result"]["_meta"]["toolcell/usage"].is_object(), "{answer}");
        assert_eq!(answer["result"]["isError"], json!(id == 3 || id == 4), "{answer}");
    }
    assert_eq!(client.close(), (0, vec![]));
}

#[test]
fn what_was_cut_can_be_read() {
    let line = CommandLine::new();
    let mut client = serving(&line, &[]);
    client.initialize("2025-11-25", json!({}));
    let cut =
        client.ask(1, "tools/call", json!({ "name": "text", "arguments": { "bytes": 300_000 } }))["result"]
            .clone();
    let handle = cut["_meta"]["toolcell/truncated"]["handle"].as_str().unwrap().to_owned();
    let content = cut["content"].as_array().unwrap();
    assert!(content[content.len() - 2]["text"].as_str().unwrap().contains(&handle), "{content:#?}");
    let uri = content.last().unwrap()["uri"].clone();
    let listed = client.ask(2, "resources/list", json!({}));
    assert_eq!(listed["result"]["resources"][0]["uri"], uri);
    let whole = client.ask(3, "resources/read", json!({ "uri": uri }));
    let whole = whole["result"]["contents"][0]["text"].as_str().unwrap().to_owned();
    assert_eq!(whole.len(), 300_000);
    let part = client.ask(
        4,
        "tools/call",
        json!({ "name": "read_output", "arguments": { "handle": handle, "bytes": "100:110" } }),
    );
    assert_eq!(part["result"]["structuredContent"]["result"], whole[100..110]);
    for arguments in [
        json!({ "handle": "o-00000000000000000000000000000000" }),
        json!({ "handle": "../../etc/passwd" }),
        json!({ "handle": handle, "lines": "3:1" }),
        json!({ "handle": handle, "lines": "1:", "grep": "a" }),
        json!({ "handle": handle, "grep": "(" }),
    ] {
        let refused = client.ask(5, "tools/call", json!({ "name": "read_output", "arguments": arguments }));
        assert_eq!(refused["result"]["_meta"]["toolcell/kind"], "tool_error", "{refused}");
    }
    // Another connection of the same user's has another session.
    let mut other = serving(&line, &[]);
    assert_eq!(code(&other.ask(1, "resources/read", json!({ "uri": uri }))), -32002);
    assert_eq!((client.close(), other.close()), ((0, vec![]), (0, vec![])));
}

#[test]
fn what_a_tool_says_while_it_runs_is_heard() {
    let line = CommandLine::new();
    let mut client = serving(&line, &[]);
    client.initialize("2025-11-25", json!({}));
    client.request(
        1,
        "tools/call",
        json!({ "name": "progress_many", "arguments": { "count": 3 }, "_meta": { "progressToken": "p" } }),
    );
    let progress = client.messages.said("notifications/progress");
    assert_eq!(progress["params"]["progressToken"], "p");
    client.messages.answer(&json!(1));
    let logging = |level: &str| json!({ "level": level, "text": "words", "count": 1 });
    client.call(2, "log_many", logging("warn"));
    let record = client.messages.said("notifications/message");
    assert_eq!(record["params"], json!({ "level": "warning", "logger": "log_many", "data": "words" }));
    client.messages.answer(&json!(2));
    assert_eq!(client.ask(3, "logging/setLevel", json!({ "level": "error" }))["result"], json!({}));
    assert_eq!(code(&client.ask(4, "logging/setLevel", json!({ "level": "loud" }))), -32602);
    client.call(5, "log_many", logging("warn"));
    client.messages.answer(&json!(5));
    // Without a token, and in requests of the other era that name no level, nobody wants to hear anything.
    let meta = current(json!({}));
    client.ask(6, "tools/call", json!({ "name": "log_many", "arguments": logging("error"), "_meta": meta }));
    client.ask(7, "tools/call", json!({ "name": "progress_many", "arguments": { "count": 3 } }));
    let (code, rest) = client.close();
    let unheard = |message: &&Value| {
        message["method"] != "notifications/progress" || message["params"]["progressToken"] != "p"
    };
    assert_eq!((code, rest.iter().filter(unheard).count()), (0, 0), "{rest:#?}");
}

const ASKS: &str = "[[rule]]\ntools = [\"echo_string\"]\naction = \"ask\"\nreason = \"who knows\"\n";

fn echo(value: &str) -> Value {
    json!({ "name": "echo_string", "arguments": { "value": value } })
}

#[test]
fn a_client_with_forms_is_asked() {
    let line = CommandLine::new();
    let mut client = configured(&line, ASKS);
    client.initialize("2025-11-25", json!({ "elicitation": {} }));
    for (answer, is_error) in [
        (json!({ "action": "accept", "content": { "answer": "once" } }), false),
        (json!({ "action": "accept", "content": { "answer": "no" } }), true),
        (json!({ "action": "decline" }), true),
        (json!({ "action": "accept", "content": { "answer": "session" } }), false),
    ] {
        client.request(1, "tools/call", echo("a"));
        let question = client.messages.said("elicitation/create");
        let told = question["params"]["message"].as_str().unwrap();
        assert!(told.contains("May echo_string run?") && told.contains("who knows"), "{told}");
        client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
        assert_eq!(client.messages.answer(&json!(1))["result"]["isError"], is_error, "{answer}");
    }
    assert_eq!(client.ask(2, "tools/call", echo("a"))["result"]["isError"], false, "for the session");
    // An error is a no, and so is a cancellation, which takes the question back.
    client.request(3, "tools/call", echo("b"));
    let question = client.messages.said("elicitation/create");
    client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "error": { "code": -1, "message": "no" } }));
    assert_eq!(client.messages.answer(&json!(3))["result"]["_meta"]["toolcell/kind"], "denied");
    client.request(4, "tools/call", echo("c"));
    let question = client.messages.said("elicitation/create");
    client.notify("notifications/cancelled", json!({ "requestId": 4 }));
    assert_eq!(client.messages.said("notifications/cancelled")["params"]["requestId"], question["id"]);
    client.request(5, "tools/call", echo("d"));
    client.messages.said("elicitation/create");
    let (code, rest) = client.close();
    assert_eq!((code, rest.len()), (0, 1), "{rest:#?}");
    assert_eq!(rest[0]["result"]["_meta"]["toolcell/kind"], "denied", "nobody is left to answer");
}

#[test]
fn a_client_of_the_current_era_comes_back_with_the_answer() {
    let line = CommandLine::new();
    let mut client = configured(&line, ASKS);
    let meta = current(json!({ "elicitation": { "form": {} } }));
    let with = |mut params: Value, more: Value| {
        params["_meta"] = meta.clone();
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    let answered = |state: &Value, answer: &str| {
        let given = json!({ "approval": { "action": "accept", "content": { "answer": answer } } });
        json!({ "requestState": state, "inputResponses": given })
    };
    let open = client.ask(1, "tools/call", with(echo("a"), json!({})))["result"].clone();
    assert_eq!(open["resultType"], "input_required", "{open}");
    assert_eq!(open["inputRequests"]["approval"]["method"], "elicitation/create");
    let state = open["requestState"].clone();
    // Bound to the tool and its arguments.
    assert_eq!(code(&client.ask(2, "tools/call", with(echo("b"), answered(&state, "once")))), -32602);
    assert_eq!(code(&client.ask(3, "tools/call", with(echo("a"), answered(&json!("o-1"), "once")))), -32602);
    let done = client.ask(4, "tools/call", with(echo("a"), answered(&state, "once")))["result"].clone();
    assert_eq!(
        (&done["isError"], &done["structuredContent"]["result"]),
        (&json!(false), &json!("a")),
        "{done}"
    );
    // Once, and no more than once.
    assert_eq!(code(&client.ask(5, "tools/call", with(echo("a"), answered(&state, "once")))), -32602);
    let open = client.ask(6, "tools/call", with(echo("a"), json!({})))["result"].clone();
    let denied = client.ask(7, "tools/call", with(echo("a"), answered(&open["requestState"], "no")));
    assert_eq!(denied["result"]["_meta"]["toolcell/kind"], "denied");
    let open = client.ask(8, "tools/call", with(echo("a"), json!({})))["result"].clone();
    assert_eq!(open["resultType"], "input_required");
    assert_eq!(client.close(), (0, vec![]), "a call that waits for nobody ends with the connection");
}

#[test]
fn a_question_too_many_is_its_operators_and_nobodys_no() {
    let line = CommandLine::new();
    let mut client = configured(&line, ASKS);
    let meta = current(json!({ "elicitation": { "form": {} } }));
    let asking = |number: u64| {
        let mut params = echo(&number.to_string());
        params["_meta"] = meta.clone();
        params
    };
    for number in 1..=256 {
        let open = client.ask(number, "tools/call", asking(number));
        assert_eq!(open["result"]["resultType"], "input_required", "{open}");
    }
    let next = client.ask(300, "tools/call", asking(300))["result"].clone();
    assert_eq!(next["_meta"]["toolcell/kind"], "approval_needed", "{next}");
    let id = next["_meta"]["toolcell/error"]["details"]["approval"].as_str().unwrap();
    assert_eq!(line.run(&["approvals", "allow", id]).code, 0);
    assert_eq!(client.ask(301, "tools/call", asking(300))["result"]["isError"], false);
    assert_eq!(client.close(), (0, vec![]));
}

#[test]
fn who_comes_back_with_an_answer_hears_of_progress_under_the_new_token() {
    let line = CommandLine::new();
    let probe = guest("probe");
    line.write(
        "toolcell.toml",
        format!("[component.p]\npath = {probe:?}\n[[rule]]\ntools = [\"progress_many\"]\naction = \"ask\"\n"),
    );
    let mut client = McpClient::start(&mut line.command(&["mcp", "--config", "toolcell.toml"]));
    let calling = |token: Option<&str>, more: Value| {
        let mut meta = current(json!({ "elicitation": { "form": {} } }));
        if let Some(token) = token {
            meta["progressToken"] = json!(token);
        }
        let mut params = json!({ "name": "progress_many", "arguments": { "count": 3 }, "_meta": meta });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    for (id, first) in [(1, Some("first")), (3, None)] {
        let open = client.ask(id, "tools/call", calling(first, json!({})))["result"].clone();
        let given = json!({ "requestState": open["requestState"], "inputResponses": {
            "approval": { "action": "accept", "content": { "answer": "once" } } } });
        client.request(id + 1, "tools/call", calling(Some("second"), given));
        let told = client.messages.said("notifications/progress");
        assert_eq!(told["params"]["progressToken"], "second", "{told}");
        assert_eq!(client.messages.answer(&json!(id + 1))["result"]["isError"], false);
    }
}

#[test]
fn a_client_without_forms_is_told_what_its_operator_is_asked() {
    let line = CommandLine::new();
    let mut client = configured(&line, ASKS);
    client.initialize("2025-11-25", json!({}));
    let result = client.ask(1, "tools/call", echo("a"))["result"].clone();
    assert_eq!(result["_meta"]["toolcell/kind"], "approval_needed", "{result}");
    let id = result["_meta"]["toolcell/error"]["details"]["approval"].as_str().unwrap();
    assert!(result["content"][0]["text"].as_str().unwrap().contains(id));
    assert_eq!(line.run(&["approvals", "allow", id]).code, 0);
    assert_eq!(client.ask(2, "tools/call", echo("a"))["result"]["isError"], false);
    assert_eq!(client.close(), (0, vec![]));
    let mut client = McpClient::start(&mut line.command(&["mcp", "--config", "toolcell.toml", "--yes"]));
    assert_eq!(client.ask(1, "tools/call", echo("b"))["result"]["isError"], false);
    assert_eq!(client.close(), (0, vec![]));
}
