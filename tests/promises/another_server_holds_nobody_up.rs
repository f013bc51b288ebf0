//! A server of other tools that is late, hangs or changes is waited for by nobody who does not need it: its tools come when they
//! come, and what is the same goes on.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcell::config::{Config, Environment, Folders};
use toolcell::{CancellationToken, ErrorKind, Runtime, ToolCall};

use toolcell_tests::command_line::CommandLine;
use toolcell_tests::http_server::{HttpServer, ok};
use toolcell_tests::scripted::{Scripted, definition, program};
use toolcell_tests::{builder, built, call};

const BASICS: &str = "[component.basics]\npath = \"builtin:basics\"\n";

/// Shorter than any start takes that is waited for.
const SOON: Duration = Duration::from_millis(300);

/// Longer than a test may take that waits for it.
const NEVER: &str = "start_timeout = \"10m\"";

const PATIENCE: Duration = Duration::from_secs(60);

fn config(folder: &Path, text: &str) -> Config {
    let file = folder.join("toolcell.toml");
    std::fs::write(&file, text).unwrap();
    let environment = Environment::new(folder, Folders::under(&folder.join("home")));
    Config::load(&environment.locate(Some(&file)).unwrap().unwrap(), &environment).unwrap()
}

fn held(name: &str) -> Value {
    json!({ "held": true, "tools": [definition(name)] })
}

/// Waits until the runtime has a tool of that name.
async fn comes(runtime: &Runtime, name: &str) {
    let mut changes = runtime.changes();
    while runtime.get(name).is_none() {
        tokio::time::timeout(PATIENCE, changes.changed()).await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_floods_delays_no_deadline_of_others() {
    let (flooding, quiet) = (Scripted::new(&[definition("flood")]), Scripted::new(&[definition("sleep")]));
    let text = flooding.table("f", "limits = { timeout = \"10m\" }")
        + &quiet.table("q", "limits = { timeout = \"100ms\" }");
    let runtime = built(flooding.configured(&text));
    let cancel = CancellationToken::new();
    let flood = runtime.call(ToolCall::new("flood", json!({}))).cancel(cancel.clone());
    let flooded = tokio::spawn(async move { flood.await });
    while flooding.count("tools/call") == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // The first of its messages, of 32 MiB each, is on its way.
    tokio::time::sleep(SOON).await;
    let begun = Instant::now();
    for _ in 0..5 {
        let slept = call(&runtime, "sleep", json!({})).await;
        assert_eq!(slept.error_kind(), Some(ErrorKind::Timeout), "{slept:?}");
    }
    // Each took some seconds where messages were read among the timers.
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    cancel.cancel();
    assert_eq!(flooded.await.unwrap().error_kind(), Some(ErrorKind::Cancelled));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_late_comes_later_and_is_told() {
    let server = Scripted::new(&[]);
    server.script(held("late"));
    let text = server.table("s", &format!("tools = [\"late\", \"gone\"]\n{NEVER}")) + BASICS;
    let runtime = built(server.configured(&text).await_servers(SOON));
    let warnings = runtime.warnings().join("\n");
    let told = "mcp.s: none of its tools are there yet: it was not ready within 300ms, and may take 10m (`mcp.s.start_timeout`)";
    assert!(warnings.contains(told), "{warnings}");
    assert!(
        runtime.get("late").is_none() && call(&runtime, "add", json!({ "a": 1, "b": 2 })).await.is_success()
    );
    assert_eq!(runtime.news(), [] as [&str; 0]);
    server.script(json!({ "tools": [definition("late")] }));
    comes(&runtime, "late").await;
    assert!(call(&runtime, "late", json!({})).await.is_success());
    assert_eq!(server.starts(), 1, "what was begun goes on");
    let begun = Instant::now();
    let news = loop {
        let news = runtime.news().join("\n");
        if !news.is_empty() {
            break news;
        }
        assert!(begun.elapsed() < PATIENCE, "nothing is said of what is unusual");
    };
    assert!(news.contains("`tools` has `gone`"), "{news}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_goes_on_without_one_that_is_late() {
    let (first, late) = (Scripted::new(&[definition("first")]), Scripted::new(&[]));
    late.script(held("late"));
    let text = first.table("first", "");
    let runtime = built(first.configured(&text).await_servers(SOON));
    comes(&runtime, "first").await;
    let both = text.clone() + &late.table("late", NEVER);
    let told = runtime.reload(config(first.path(), &both)).unwrap().warnings.join("\n");
    assert!(told.contains("mcp.late: none of its tools are there yet"), "{told}");
    assert!(call(&runtime, "first", json!({})).await.is_success());
    // Another reload neither begins it anew nor loses it.
    runtime.reload(config(first.path(), &format!("{both}prefix = \"l_\"\n"))).unwrap();
    late.script(json!({ "tools": [definition("late")] }));
    comes(&runtime, "l_late").await;
    assert_eq!((first.starts(), late.starts()), (1, 1));
}

#[test]
fn commands_wait_for_what_they_need() {
    let line = CommandLine::new();
    let (quick, late) = (Scripted::new(&[definition("quick")]), Scripted::new(&[]));
    late.script(held("late"));
    line.write("toolcell.toml", quick.table("quick", "") + &late.table("late", NEVER) + BASICS);
    let listed = line.run(&["list", "--config", "toolcell.toml"]);
    assert!(listed.code == 0 && listed.stdout.contains("quick"), "{listed:?}");
    assert!(
        listed.stderr.contains("mcp.late: none of its tools are there yet: it was not ready within 2s"),
        "{listed:?}"
    );
    let starts = quick.starts();
    let called = line.run(&["call", "--config", "toolcell.toml", "quick", "{\"a\":1}", "--json"]);
    assert_eq!((called.code, &called.json()["structured"]), (0, &json!({ "a": 1 })), "{called:?}");
    assert_eq!(quick.starts(), starts + 1);
    let called = line.run(&["call", "--config", "toolcell.toml", "add", "{\"a\":1,\"b\":2}"]);
    assert_eq!(called.code, 0, "{called:?}");
    assert_eq!(quick.starts(), starts + 1, "a component's tool needs no server");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_hangs_is_ended_and_comes_back() {
    for era in ["current", "handshake"] {
        let server = Scripted::new(&[]);
        let tools = || json!({ "eras": [era], "tools": [definition("sleep"), definition("echo")] });
        server.script(tools());
        let runtime = server.runtime("[mcp.s.tool.echo]\nlimits = { timeout = \"300ms\" }");
        server.script(json!({ "silent": true, "tools": [] }));
        let hung = call(&runtime, "echo", json!({})).await;
        assert_eq!(hung.error_kind(), Some(ErrorKind::Timeout), "{era}: {hung:?}");
        let other = tokio::spawn(runtime.call(ToolCall::new("sleep", json!({}))).into_future());
        let ended = tokio::time::timeout(PATIENCE, other).await.unwrap().unwrap();
        assert_eq!(ended.error_kind(), Some(ErrorKind::Unavailable), "{era}: {ended:?}");
        let help = ended.error.unwrap().help.unwrap();
        assert!(help.contains("nor, within 5s, whether it is there"), "{help}");
        server.script(tools());
        let begun = Instant::now();
        while !call(&runtime, "echo", json!({})).await.is_success() {
            assert!(begun.elapsed() < PATIENCE, "{era}: it does not come back");
        }
        assert_eq!(server.starts(), 2, "{era}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_works_on_a_call_is_left_to_it() {
    let server = Scripted::new(&[]);
    server.script(json!({ "eras": ["handshake"], "tools": [definition("sleep"), definition("echo")] }));
    let runtime = server.runtime("[mcp.s.tool.echo]\nlimits = { timeout = \"300ms\" }");
    let working = tokio::spawn(runtime.call(ToolCall::new("sleep", json!({}))).into_future());
    while server.count("tools/call") == 0 {
        assert!(!working.is_finished());
        tokio::task::yield_now().await;
    }
    server.script(json!({ "silent": true, "tools": [] }));
    let waiting = call(&runtime, "echo", json!({})).await;
    assert_eq!(waiting.error_kind(), Some(ErrorKind::Timeout), "{waiting:?}");
    // It was asked, did not answer in time, and is asked again.
    let begun = Instant::now();
    while server.count("ping") < 2 {
        assert!(begun.elapsed() < PATIENCE, "it is not asked");
        assert!(!working.is_finished(), "{:?}", working.await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(server.starts(), 1);
    working.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_hangs_over_http_is_begun_anew() {
    let hangs = Arc::new(AtomicBool::new(false));
    let is_hung = Arc::clone(&hangs);
    let server = HttpServer::answering(move |asked| {
        while is_hung.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let message: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
        let mut result = match message["method"].as_str() {
            Some("server/discover") => {
                json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } })
            }
            Some("tools/list") => json!({ "tools": [definition("echo")] }),
            _ => json!({ "content": [{ "type": "text", "text": "here" }] }),
        };
        result["resultType"] = "complete".into();
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string();
        ok(&[("content-type", "application/json")], answer.as_bytes())
    });
    let text = format!("[mcp.s]\nurl = \"{}/mcp\"\nlimits = {{ timeout = \"300ms\" }}\n", server.origin());
    let folder = tempfile::tempdir().unwrap();
    let runtime = built(builder().config(config(folder.path(), &text)));
    assert_eq!(call(&runtime, "echo", json!({})).await.text(), "here");
    hangs.store(true, Ordering::Relaxed);
    let hung = call(&runtime, "echo", json!({})).await;
    assert_eq!(hung.error_kind(), Some(ErrorKind::Timeout), "{hung:?}");
    // It would be answered after all where nothing has come of the question.
    let begun = Instant::now();
    while call(&runtime, "echo", json!({})).await.error_kind() != Some(ErrorKind::Unavailable) {
        assert!(begun.elapsed() < PATIENCE, "it is called again and again");
    }
    hangs.store(false, Ordering::Relaxed);
    while !call(&runtime, "echo", json!({})).await.is_success() {
        assert!(begun.elapsed() < PATIENCE, "it does not come back");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_slow_and_there_goes_on() {
    for (era, sign) in [("current", "server/discover"), ("handshake", "ping")] {
        let server = Scripted::new(&[]);
        server.script(json!({ "eras": [era], "tools": [definition("sleep"), definition("echo")] }));
        let runtime = server.runtime("[mcp.s.tool.sleep]\nlimits = { timeout = \"300ms\" }");
        let before = server.count(sign);
        for _ in 0..3 {
            let slow = call(&runtime, "sleep", json!({})).await;
            assert_eq!(slow.error_kind(), Some(ErrorKind::Timeout), "{era}: {slow:?}");
        }
        let begun = Instant::now();
        while server.count(sign) == before {
            assert!(begun.elapsed() < PATIENCE, "{era}: nobody asks whether it is there");
            tokio::task::yield_now().await;
        }
        assert!(call(&runtime, "echo", json!({ "a": 1 })).await.is_success(), "{era}");
        assert_eq!(server.starts(), 1, "{era}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_restarts_what_has_changed_alone() {
    let (one, two) = (Scripted::new(&[definition("one")]), Scripted::new(&[definition("two")]));
    let own = one.write("own.py", &std::fs::read_to_string(program()).unwrap());
    let data = one.write("data.db", "1");
    std::fs::set_permissions(
        one.write("key", "hunter2-hunter2\n"),
        std::os::unix::fs::PermissionsExt::from_mode(0o600),
    )
    .unwrap();
    let command = format!("[mcp.one]\ncommand = [\"python3\", {own:?}, {:?}, {data:?}]\n", one.path());
    let secret = "env = { KEY = { secret = \"key\" } }\nsecrets = { key = { file = \"key\" } }\n";
    let text = |more: &str| format!("{command}{secret}{more}\n{}", two.table("two", ""));
    let runtime = built(one.configured(&text("")));
    let mut starts = 1;
    let mut reload = |what: &str, text: &str, is_new: bool| {
        runtime.reload(config(one.path(), text)).unwrap();
        starts += usize::from(is_new);
        assert_eq!((one.starts(), two.starts()), (starts, 1), "{what}");
    };
    reload("the same", &text(""), false);
    reload("on another line", &format!("\n\n{}", text("")), false);
    reload(
        "what is said of its tools",
        &text("prefix = \"x_\"\nhints = { read_only = true }\ntools = [\"o*\"]"),
        false,
    );
    one.write("data.db", "2");
    reload("its data", &text(""), false);
    one.write("own.py", &(std::fs::read_to_string(program()).unwrap() + "# changed\n"));
    reload("its program", &text(""), true);
    std::fs::set_permissions(
        one.write("key", "hunter3-hunter3\n"),
        std::os::unix::fs::PermissionsExt::from_mode(0o600),
    )
    .unwrap();
    reload("its secret", &text(""), true);
    reload("a bound of its connection", &text("concurrent_calls = 2"), true);
    assert!(call(&runtime, "two", json!({})).await.is_success());
}

#[test]
fn trust_in_a_server_is_in_its_program() {
    let line = CommandLine::new();
    let server = Scripted::new(&[definition("a")]);
    let source = std::fs::read_to_string(program()).unwrap();
    line.write("own.py", &source);
    line.write("data.db", "1");
    line.write(
        "toolcell.toml",
        format!("[mcp.s]\ncommand = [\"python3\", \"own.py\", {:?}, \"data.db\"]\n", server.path()),
    );
    line.run(&["trust"]);
    assert_eq!(line.run(&["call", "a"]).code, 0);
    line.write("data.db", "2");
    assert_eq!(line.run(&["call", "a"]).code, 0, "its data is not what was trusted");
    line.write("own.py", source + "# changed\n");
    assert!(line.run(&["list"]).stderr.contains("is not started"), "another program was not trusted");
}
