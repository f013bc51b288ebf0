//! A tool of another server is listed, checked, called and bounded like any other, and its server gets nothing but calls.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcell::call::Event;
use toolcell::policy::Rule;
use toolcell::{CancellationToken, ErrorKind, Status, ToolCall};

use toolcell_tests::scripted::{Scripted, definition};
use toolcell_tests::{built, call, process};

fn typed() -> Value {
    json!({
        "name": "get-issue", "title": "An issue", "description": "Reads an issue.",
        "inputSchema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
            "properties": { "number": { "type": "integer", "minimum": 1 } }, "required": ["number"],
            "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": true, "idempotentHint": true },
    })
}

#[tokio::test]
async fn it_is_listed_and_called_in_both_eras() {
    for era in ["current", "handshake"] {
        let server = Scripted::new(&[]);
        server.script(
            json!({ "eras": [era], "page": 1, "tools": [typed(), definition("fail"), definition("x")] }),
        );
        let runtime = server.runtime("prefix = \"gh_\"\ngroup = \"far\"");
        assert_eq!(runtime.warnings(), [] as [&str; 0], "{era}");
        let names: Vec<String> = runtime.list().iter().map(|tool| tool.name().to_owned()).collect();
        assert_eq!(names, ["gh_fail", "gh_get_issue", "gh_x"], "{era}");
        let tool = runtime.get("gh_get_issue").unwrap();
        assert_eq!((tool.component(), tool.origin(), tool.group()), ("mcp.s", "get-issue", Some("far")));
        assert!(
            !tool.is_read_only() && !tool.may_be_repeated(),
            "{era}: what a server claims counts for nothing"
        );
        assert_eq!(runtime.instructions(), []);
        let outcome = call(&runtime, "gh_get_issue", json!({ "number": 7 })).await;
        assert_eq!(outcome.structured, Some(json!({ "number": 7 })), "{era}: {outcome:?}");
        let failed = call(&runtime, "gh_fail", json!({})).await;
        assert_eq!(
            (failed.error_kind(), failed.text()),
            (Some(ErrorKind::ToolError), "no such issue".to_owned())
        );
        let calls = server.count("tools/call");
        let refused = call(&runtime, "gh_get_issue", json!({ "number": 0, "more": 1 })).await;
        assert_eq!(refused.error_kind(), Some(ErrorKind::InvalidArguments));
        assert_eq!(refused.error.unwrap().violations.len(), 2);
        assert_eq!(server.count("tools/call"), calls, "nothing was sent");
    }
}

#[tokio::test]
async fn rules_hints_and_subsets_hold() {
    let server = Scripted::new(&[typed(), definition("fail"), definition("get_more")]);
    let text = server.table("s", "tools = [\"get*\", \"gone_*\"]\nhints = { read_only = true }\n[mcp.s.tool.get_more]\ndescription = \"Ours.\"\nhints = { read_only = false }")
        + "[[rule]]\naction = \"deny\"\ncomponent = \"mcp.s\"\nread_only = false\nreason = \"no writing there\"\n";
    let runtime = built(server.configured(&text));
    let warnings = runtime.warnings();
    assert!(warnings.len() == 1 && warnings[0].contains("`gone_*`"), "{warnings:?}");
    let names: Vec<String> = runtime.list().iter().map(|tool| tool.name().to_owned()).collect();
    assert_eq!(names, ["get_issue", "get_more"]);
    assert_eq!(runtime.get("get_more").unwrap().description(), "Ours.");
    assert!(call(&runtime, "get_issue", json!({ "number": 1 })).await.is_success());
    let denied = call(&runtime, "get_more", json!({})).await;
    assert_eq!((denied.status, denied.error_kind()), (Status::Denied, Some(ErrorKind::Denied)));
    assert_eq!(server.count("tools/call"), 1);
    let asked = built(server.configured(&server.table("s", "")).rule(Rule::ask("get_*")));
    let pending = call(&asked, "get_issue", json!({ "number": 1 })).await;
    assert_eq!(pending.error_kind(), Some(ErrorKind::ApprovalNeeded));
}

#[tokio::test]
async fn what_it_gives_is_bounded_and_held_to_its_word() {
    let mut misfit = definition("misfit");
    misfit["outputSchema"] =
        json!({ "type": "object", "properties": { "count": { "type": "integer" } }, "required": ["count"] });
    let server = Scripted::new(&[definition("big"), misfit, definition("noise"), definition("echo")]);
    let runtime = server.runtime("limits = { result_bytes = \"1MiB\" }");
    let cut = call(&runtime, "big", json!({ "bytes": 200_000 })).await;
    assert!(cut.truncated.as_ref().is_some_and(|truncated| truncated.handle.is_some()), "{cut:?}");
    for bytes in [2 << 20, 8 << 20] {
        let large = call(&runtime, "big", json!({ "bytes": bytes })).await;
        assert_eq!(large.error_kind(), Some(ErrorKind::ResultTooLarge), "{bytes}");
        assert_eq!(large.error.unwrap().limit.unwrap().setting, "mcp.s.limits.result_bytes");
    }
    let misfit = call(&runtime, "misfit", json!({})).await;
    assert_eq!(misfit.error_kind(), Some(ErrorKind::Trapped), "{misfit:?}");
    assert_eq!(call(&runtime, "noise", json!({})).await.text(), "quiet");
    assert!(call(&runtime, "echo", json!({ "a": 1 })).await.is_success(), "it lives on");
    let starts = server.seen().iter().filter(|message| message.get("started").is_some()).count();
    assert_eq!(starts, 1);
}

#[tokio::test]
async fn what_its_values_take_is_bounded() {
    let server = Scripted::new(&[definition("wide"), definition("echo")]);
    let runtime = server.runtime("");
    let wide = call(&runtime, "wide", json!({})).await;
    let error = wide.error.unwrap();
    assert_eq!(error.kind, ErrorKind::ResultTooLarge);
    assert!(error.message.contains("more than 128 MiB of memory"), "{error:?}");
    assert!(call(&runtime, "echo", json!({ "a": 1 })).await.is_success(), "it lives on");
}

#[tokio::test]
async fn what_it_prints_beside_messages_is_none() {
    let server = Scripted::new(&[definition("log"), definition("torn")]);
    let runtime = server.runtime("");
    let logged = call(&runtime, "log", json!({})).await;
    assert_eq!(logged.text(), "logged", "{logged:?}");
    let torn = call(&runtime, "torn", json!({})).await;
    assert_eq!(torn.error_kind(), Some(ErrorKind::ToolError), "{torn:?}");
}

#[tokio::test]
async fn it_gets_nothing_but_calls() {
    // The variable of a test runner that every process of it has.
    assert!(std::env::var_os("PATH").is_some());
    for era in ["current", "handshake"] {
        let server = Scripted::new(&[]);
        server.script(json!({ "eras": [era], "tools": [definition("ask"), definition("env")] }));
        let runtime = server.runtime("env = { GREETING = \"hello\" }");
        let asked: Vec<Value> = serde_json::from_str(&call(&runtime, "ask", json!({})).await.text()).unwrap();
        for refused in &asked[..3] {
            assert_eq!(refused["code"], -32601, "{asked:?}");
        }
        assert_eq!(asked[3], json!({}), "whether we are there is told");
        let env: Value = serde_json::from_str(&call(&runtime, "env", json!({})).await.text()).unwrap();
        let mut names: Vec<&String> =
            env.as_object().unwrap().keys().filter(|name| *name != "LC_CTYPE").collect();
        names.sort();
        assert_eq!(names, ["GREETING", "PATH"]);
    }
}

#[tokio::test]
async fn its_secrets_are_in_nothing_that_it_says() {
    let server = Scripted::new(&[definition("env")]);
    let key = server.write("key", "hunter2-hunter2\n");
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let runtime = server.runtime("env = { TOKEN = { secret = \"token\", prefix = \"Bearer \" } }\nsecrets = { token = { file = \"key\" } }");
    let outcome = call(&runtime, "env", json!({})).await;
    assert!(outcome.text().contains("Bearer [redacted"), "{outcome:?}");
    assert!(!format!("{outcome:?}").contains("hunter2"));
}

#[tokio::test]
async fn its_secrets_are_in_nothing_that_is_said_of_it() {
    let secret = "sk-live_AbCd1234-wxyz9876";
    let mut cut = definition("cut");
    cut["title"] = json!(format!("{}{secret}", "t".repeat(116)));
    cut["description"] = json!(format!("{}{secret}", "d".repeat((16 << 10) - 12)));
    let mut refused = definition("refused");
    refused["inputSchema"] = json!({ "type": "object", "properties": { "a": { "type": secret } } });
    let nameless = json!({ "name": format!("{}{secret}", "x".repeat(40)) });
    let server = Scripted::new(&[cut, refused, nameless, definition(secret)]);
    let key = server.write("key", secret);
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let holding = "secrets = { token = { file = \"key\" } }\nenv = { TOKEN = { secret = \"token\" } }\n";
    let dying =
        |script: &str| format!("[mcp.gone]\ncommand = [\"sh\", \"-c\", {}]\n{holding}", json!(script));
    let loaded = dying("echo 'Loading… failed: no such table' >&2; exit 4");
    let runtime = built(server.configured(&(server.table("s", holding) + &loaded)));
    let names: Vec<String> = runtime.list().iter().map(|tool| tool.name().to_owned()).collect();
    assert_eq!(names, ["cut"]);
    let tool = runtime.get("cut").unwrap();
    let warnings = runtime.warnings().join("\n");
    for told in [tool.title().unwrap(), tool.description(), &warnings] {
        assert!(!told.contains("sk-live") && !told.contains("wxyz9876"), "{told}");
    }
    assert_eq!(warnings.matches("is no tool").count(), 3, "{warnings}");
    assert!(warnings.contains("its last words: Loading… failed: no such table"), "{warnings}");
    let long = dying("i=0; while [ $i -lt 400 ]; do echo \"$i $TOKEN\" >&2; i=$((i+1)); done; exit 4");
    let warnings = built(server.configured(&long)).warnings().join("\n");
    assert!(warnings.contains("399 [redacted:token]") && !warnings.contains("wxyz9876"), "{warnings}");
}

#[tokio::test]
async fn how_far_it_has_come_is_heard() {
    let server = Scripted::new(&[definition("progress")]);
    let runtime = server.runtime("");
    let (sink, mut events) = tokio::sync::mpsc::channel(16);
    let outcome = runtime.call(ToolCall::new("progress", json!({}))).events(sink).await;
    assert_eq!(outcome.text(), "done");
    let mut told = Vec::new();
    while let Ok(event) = events.try_recv() {
        told.push(event);
    }
    let progress = |done: u64| Event::Progress { done, total: Some(2), text: Some(format!("step {done}")) };
    assert_eq!(told, [progress(1), progress(2)]);
}

#[tokio::test]
async fn a_call_that_is_given_up_is_cancelled_there() {
    let server = Scripted::new(&[definition("sleep"), definition("echo")]);
    let runtime = server.runtime("limits = { timeout = \"300ms\" }");
    let outcome = call(&runtime, "sleep", json!({})).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::Timeout), "{outcome:?}");
    assert_eq!(outcome.error.unwrap().limit.unwrap().setting, "mcp.s.limits.timeout");
    let cancel = CancellationToken::new();
    let calling = runtime.call(ToolCall::new("sleep", json!({}))).cancel(cancel.clone());
    cancel.cancel();
    assert_eq!(calling.await.error_kind(), Some(ErrorKind::Cancelled));
    // Messages come in order: when this one is answered, those before it were read.
    assert!(call(&runtime, "echo", json!({})).await.is_success());
    let seen = server.seen();
    let slept = seen.iter().find(|message| message["params"]["name"] == "sleep").unwrap();
    let cancelled: Vec<&Value> =
        seen.iter().filter(|message| message["method"] == "notifications/cancelled").collect();
    assert!(cancelled.iter().any(|message| message["params"]["requestId"] == slept["id"]), "{seen:#?}");
}

#[tokio::test]
async fn a_dead_server_comes_back() {
    let server = Scripted::new(&[definition("crash"), definition("echo"), definition("sleep")]);
    let runtime = server.runtime("");
    let other = runtime.call(ToolCall::new("sleep", json!({})));
    let (crashed, slept) = tokio::join!(call(&runtime, "crash", json!({})), other);
    for outcome in [&crashed, &slept] {
        let error = outcome.error.as_ref().unwrap();
        assert_eq!((error.kind, error.retryable), (ErrorKind::Unavailable, true), "{outcome:?}");
        let help = error.help.as_deref().unwrap();
        assert!(help.contains("exit code 3") && help.contains("out of luck"), "{help}");
        assert!(!error.message.contains("luck"), "a model reads nothing of it");
    }
    assert!(call(&runtime, "echo", json!({ "a": 1 })).await.is_success(), "after the first time at once");
    call(&runtime, "crash", json!({})).await;
    call(&runtime, "crash", json!({})).await;
    let refused = call(&runtime, "echo", json!({})).await;
    let help = refused.error.unwrap().help.unwrap();
    assert!(help.contains("started again in"), "{help}");
    let begun = Instant::now();
    while !call(&runtime, "echo", json!({})).await.is_success() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not come back");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_holds_nobody_up() {
    let server = Scripted::new(&[]);
    server.script(json!({ "silent": true, "tools": [] }));
    let silent = server.table("quiet", "start_timeout = \"400ms\"");
    let gone = "[mcp.gone]\ncommand = [\"sh\", \"-c\", \"echo no luck >&2; exit 4\"]\n";
    let text = silent + gone + "[component.basics]\npath = \"builtin:basics\"\n";
    let begun = Instant::now();
    let runtime = built(server.configured(&text));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let warnings = runtime.warnings().join("\n");
    assert!(
        warnings.contains("mcp.quiet: none of its tools are there: it was not ready within 400ms"),
        "{warnings}"
    );
    assert!(warnings.contains("exit code 4; its last words: no luck"), "{warnings}");
    assert!(!runtime.list().is_empty(), "the others are there");
}

#[tokio::test]
async fn its_schemas_are_read_as_what_they_say_that_they_are() {
    let with = |name: &str, dialect: &str| {
        let mut tool = definition(name);
        tool["inputSchema"] = json!({
            "$schema": dialect, "type": "object",
            "properties": { "pair": { "$ref": "#/definitions/pair" } },
            "definitions": { "pair": { "items": [{ "type": "integer" }, { "type": "string" }], "additionalItems": false } },
        });
        tool
    };
    let server = Scripted::new(&[
        with("seven", "http://json-schema.org/draft-07/schema#"),
        with("unknown", "https://example.org/dialect"),
    ]);
    let runtime = server.runtime("");
    let warnings = runtime.warnings().join("\n");
    assert!(
        warnings.contains("`unknown` is no tool: its input schema is of a dialect that is not known"),
        "{warnings}"
    );
    for (pair, fits) in [(json!([1, "x"]), true), (json!(["x", 1]), false), (json!([1, "x", 2]), false)] {
        let outcome = call(&runtime, "seven", json!({ "pair": pair })).await;
        assert_eq!(outcome.is_success(), fits, "{pair}: {outcome:?}");
    }
}

#[tokio::test]
async fn its_list_is_bounded() {
    let large = |count: usize| {
        let tools = (0..count).map(|at| {
            let mut tool = definition(&format!("tool_{at:03}"));
            tool["inputSchema"]["description"] = "x".repeat(60 << 10).into();
            tool
        });
        json!({ "page": 10, "tools": tools.collect::<Vec<_>>() })
    };
    let server = Scripted::new(&[]);
    // So much takes long on a busy machine.
    let patient = "start_timeout = \"5m\"";
    // Of 8 MiB, 136 have less and 137 more than 60 KiB and a little each.
    server.script(large(136));
    let runtime = server.runtime(patient);
    assert_eq!((runtime.list().len(), runtime.warnings()), (136, &[] as &[String]));
    server.script(large(137));
    let warnings = server.runtime(patient).warnings().join("\n");
    assert!(warnings.contains("its list of tools has more than 8388608 bytes"), "{warnings}");
}

#[tokio::test]
async fn nothing_of_it_is_left_when_the_runtime_is_gone() {
    let server = Scripted::new(&[definition("child")]);
    let runtime = server.runtime("");
    let pids: Value = serde_json::from_str(&call(&runtime, "child", json!({})).await.text()).unwrap();
    let is_there = |pid: &Value| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !status.is_empty() && !status.contains(") Z ")
    };
    assert!(is_there(&pids["server"]) && is_there(&pids["child"]));
    runtime.close_remotes();
    assert!(!is_there(&pids["server"]), "{pids}");
    // Nobody waits for a child of another process: it is gone a moment after it was killed.
    let deadline = Instant::now() + Duration::from_secs(10);
    while is_there(&pids["child"]) {
        assert!(Instant::now() < deadline, "{pids}");
        std::thread::yield_now();
    }
    drop(runtime);
    assert!(process::children().is_empty() || cfg!(not(target_os = "linux")));
}

#[tokio::test]
async fn its_calls_take_turns() {
    let server = Scripted::new(&[definition("sleep"), definition("echo")]);
    let runtime = server.runtime("concurrent_calls = 1\nlimits = { timeout = \"500ms\" }");
    let (slept, echoed) =
        tokio::join!(call(&runtime, "sleep", json!({})), call(&runtime, "echo", json!({ "a": 1 })));
    assert_eq!(slept.error_kind(), Some(ErrorKind::Timeout));
    assert!(echoed.is_success(), "the time begins with its turn: {echoed:?}");
}

#[tokio::test]
async fn one_that_is_not_there_at_the_start_comes_later() {
    let server = Scripted::new(&[]);
    let script = server.path().join("script.json");
    std::fs::remove_file(&script).unwrap();
    let runtime = server.runtime("");
    assert!(
        runtime.warnings().join("\n").contains("none of its tools are there"),
        "{:?}",
        runtime.warnings()
    );
    assert_eq!(runtime.list().len(), 0);
    let mut changes = runtime.changes();
    changes.borrow_and_update();
    server.script(json!({ "tools": [definition("echo")] }));
    tokio::time::timeout(Duration::from_secs(60), changes.changed()).await.unwrap().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while runtime.get("echo").is_none() {
        assert!(Instant::now() < deadline, "its tool never comes");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(call(&runtime, "echo", json!({ "a": 1 })).await.is_success());
}
