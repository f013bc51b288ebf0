//! What changes while a server runs is taken up whole or not at all: clients are told once, running calls finish on what
//! they began with, and what was replaced never runs again.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use toolcell::config::{Config, Environment, Folders};
use toolcell::{ErrorKind, NativeTool, Runtime, ToolCall};

use toolcell_tests::command_line::CommandLine;
use toolcell_tests::http_client::{HttpRequest, HttpServer};
use toolcell_tests::mcp_client::McpClient;
use toolcell_tests::scripted::{Scripted, definition};
use toolcell_tests::{builder, built, call, guest};

fn config(folder: &Path, text: &str) -> Config {
    let file = folder.join("toolcell.toml");
    std::fs::write(&file, text).unwrap();
    let environment = Environment::new(folder, Folders::under(&folder.join("home")));
    Config::load(&environment.locate(Some(&file)).unwrap().unwrap(), &environment).unwrap()
}

fn names(runtime: &Runtime) -> Vec<String> {
    runtime.list().iter().map(|tool| tool.name().to_owned()).collect()
}

const BASICS: &str = "[component.basics]\npath = \"builtin:basics\"\n";

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

#[tokio::test(flavor = "multi_thread")]
async fn tools_rules_and_bounds_are_swapped_and_what_is_the_embedders_stays() {
    let folder = tempfile::tempdir().unwrap();
    let own = NativeTool::blocking("own", "Ours", |_: Nothing, _| Ok::<_, String>("ours".to_owned()));
    let runtime = built(
        builder()
            .config(config(folder.path(), BASICS))
            .native(own)
            .rule(toolcell::policy::Rule::deny("multiply")),
    );
    assert!(call(&runtime, "add", json!({ "a": 1, "b": 2 })).await.is_success());
    let mut changes = runtime.changes();
    let text = format!(
        "{BASICS}tools = [\"add\", \"multiply\", \"echo\"]\nprefix = \"b_\"\n[output]\nmax_bytes = 256\n[[rule]]\naction = \"deny\"\ntools = [\"own\", \"b_add\"]\n"
    );
    changes.borrow_and_update();
    runtime.reload(config(folder.path(), &text)).unwrap();
    assert!(changes.has_changed().unwrap());
    assert_eq!(names(&runtime), ["b_add", "b_echo", "b_multiply", "own"]);
    for denied in ["b_add", "b_multiply", "own"] {
        let arguments = if denied == "own" { json!({}) } else { json!({ "a": 1, "b": 2 }) };
        let outcome = call(&runtime, denied, arguments).await;
        // A rule goes by the tool's own name too, whatever it is called here.
        assert_eq!(outcome.error_kind(), Some(ErrorKind::Denied), "{denied}: {outcome:?}");
    }
    assert_eq!(call(&runtime, "add", json!({})).await.error_kind(), Some(ErrorKind::UnknownTool));
    let long = call(&runtime, "b_echo", json!({ "text": "x".repeat(1000) })).await;
    assert!(long.truncated.is_some(), "{long:?}");
    runtime.reload(config(folder.path(), BASICS)).unwrap();
    assert_eq!(
        call(&runtime, "multiply", json!({ "a": 1, "b": 2 })).await.error_kind(),
        Some(ErrorKind::Denied)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_change_leaves_everything_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("broken.wasm"), "no component").unwrap();
    let runtime = built(builder().config(config(folder.path(), BASICS)));
    let before = names(&runtime);
    let mut changes = runtime.changes();
    changes.borrow_and_update();
    for (text, told) in [
        ("[component.x]\npath = \"broken.wasm\"\n", "broken.wasm"),
        (
            "[component.one]\npath = \"builtin:basics\"\n[component.two]\npath = \"builtin:basics\"\n",
            "two tools are named",
        ),
        (
            "[component.basics]\npath = \"builtin:basics\"\ngrant.dirs = [{ host = \".\", guest = \"/w\", access = \"read-write\" }]\n",
            "toolcell.toml",
        ),
        ("[component.basics]\npath = \"builtin:basics\"\ntools = [\"none\"]\n", "has no tool `none`"),
        ("[limits]\ntable_elements = 1000000\n", "start it again"),
    ] {
        let error = runtime.reload(config(folder.path(), text)).unwrap_err().to_string();
        assert!(error.contains(told), "{told}: {error}");
        assert_eq!(names(&runtime), before, "{text}");
    }
    assert!(!changes.has_changed().unwrap());
    assert!(call(&runtime, "add", json!({ "a": 1, "b": 2 })).await.is_success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_a_folder_that_is_half_written_takes_no_tool_away() {
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("tools");
    std::fs::create_dir(&tools).unwrap();
    let whole = std::fs::read(guest("probe")).unwrap();
    std::fs::write(tools.join("probe.wasm"), &whole).unwrap();
    std::fs::write(tools.join("never.wasm"), "no component").unwrap();
    let text = "[component.all]\npath = \"tools\"\n";
    let runtime = built(builder().config(config(folder.path(), text)));
    let before = names(&runtime);
    std::fs::write(tools.join("probe.wasm"), &whole[..whole.len() / 2]).unwrap();
    let error = runtime.reload(config(folder.path(), text)).unwrap_err().to_string();
    assert!(error.contains("probe.wasm"), "{error}");
    assert_eq!(names(&runtime), before);
    std::fs::write(tools.join("probe.wasm"), &whole).unwrap();
    runtime.reload(config(folder.path(), text)).unwrap();
    assert_eq!(names(&runtime), before);
    std::fs::remove_file(tools.join("probe.wasm")).unwrap();
    runtime.reload(config(folder.path(), text)).unwrap();
    assert!(names(&runtime).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_call_finishes_on_what_it_began_with() {
    let folder = tempfile::tempdir().unwrap();
    let probe = format!("[component.probe]\npath = {:?}\n", guest("probe"));
    let runtime = built(builder().config(config(folder.path(), &probe)));
    runtime.warm().await.unwrap();
    let running = tokio::spawn(runtime.call(ToolCall::new("sleep", json!({ "ms": 1500 }))).into_future());
    tokio::time::sleep(Duration::from_millis(300)).await;
    runtime.reload(config(folder.path(), BASICS)).unwrap();
    assert_eq!(call(&runtime, "sleep", json!({ "ms": 1 })).await.error_kind(), Some(ErrorKind::UnknownTool));
    assert!(running.await.unwrap().is_success());
}

/// A question may wait for minutes, and what it is about has not begun.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waited_for_an_answer_runs_only_as_what_there_is_then() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("tool.wasm");
    let asks = "[[rule]]\naction = \"ask\"\ntools = [\"add\"]\n";
    let basics = toolcell::tool::builtin_bytes("basics").unwrap().into_owned();
    let started = format!("[component.basics]\npath = {copy:?}\n{asks}");
    let unrelated = format!("{started}[component.more]\npath = \"builtin:plan\"\n");
    let denying = format!("{started}[[rule]]\naction = \"deny\"\ntools = [\"add\"]\n");
    let granting = format!(
        "[component.basics]\npath = {copy:?}\n[component.basics.grant]\nenv = {{ A = \"1\" }}\n{asks}"
    );
    let hook = "[[hook]]\nuse = \"rate_limit\"\ncalls = 100\nper = \"1m\"\n";
    let hooked = format!("{started}{hook}");
    let asking_more = format!("{started}[[rule]]\naction = \"ask\"\nreason = \"more\"\ntools = [\"a*\"]\n");
    let gone = "[component.plan]\npath = \"builtin:plan\"\n".to_owned();
    for (changed, expected) in [
        (unrelated, None),
        (denying, Some(ErrorKind::Denied)),
        (granting, Some(ErrorKind::ApprovalNeeded)),
        (hooked, Some(ErrorKind::ApprovalNeeded)),
        (asking_more, Some(ErrorKind::ApprovalNeeded)),
        (gone, Some(ErrorKind::UnknownTool)),
        // The same text, of another component.
        (String::new(), Some(ErrorKind::ApprovalNeeded)),
    ] {
        std::fs::write(&copy, &basics).unwrap();
        let (asked, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (tells, waits) = (Arc::clone(&asked), Arc::clone(&go));
        let runtime = built(builder().config(config(folder.path(), &started)).approver(move |_| {
            let (tells, waits) = (Arc::clone(&tells), Arc::clone(&waits));
            async move {
                tells.notify_one();
                waits.notified().await;
                toolcell::policy::Answer::Once
            }
        }));
        let call = ToolCall::new("add", json!({ "a": 1, "b": 2 }));
        let running = tokio::spawn(runtime.call(call).into_future());
        asked.notified().await;
        let text = if changed.is_empty() { &started } else { &changed };
        if changed.is_empty() {
            // Another component with the same functions: an empty custom section more.
            std::fs::write(&copy, [&basics[..], &[0, 2, 1, b'x']].concat()).unwrap();
        }
        runtime.reload(config(folder.path(), text)).unwrap();
        go.notify_one();
        let outcome = running.await.unwrap();
        assert_eq!(outcome.error_kind(), expected, "{changed}: {outcome:?}");
    }
}

/// What is above a hook in its file makes it no other: it goes on counting, and a call that it looked at goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_only_moved_is_the_same_and_new_limits_hold_for_what_waited() {
    let folder = tempfile::tempdir().unwrap();
    let probe = format!("[component.probe]\npath = {:?}\n", guest("probe"));
    let rest = "[[hook]]\nuse = \"rate_limit\"\ncalls = 3\nper = \"1h\"\n[[rule]]\naction = \"ask\"\ntools = [\"sleep\"]\n";
    let (asked, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tells, waits) = (Arc::clone(&asked), Arc::clone(&go));
    let runtime =
        built(builder().config(config(folder.path(), &format!("{probe}{rest}"))).approver(move |_| {
            let (tells, waits) = (Arc::clone(&tells), Arc::clone(&waits));
            async move {
                tells.notify_one();
                waits.notified().await;
                toolcell::policy::Answer::Once
            }
        }));
    let asking =
        |ms: u64| tokio::spawn(runtime.call(ToolCall::new("sleep", json!({ "ms": ms }))).into_future());
    let running = asking(1);
    asked.notified().await;
    runtime.reload(config(folder.path(), &format!("# More.\n{probe}{rest}"))).unwrap();
    go.notify_one();
    let outcome = running.await.unwrap();
    assert!(outcome.is_success(), "{outcome:?}");
    let running = asking(5_000);
    asked.notified().await;
    let short = format!("# More.\n{probe}limits = {{ timeout = \"200ms\" }}\n{rest}");
    runtime.reload(config(folder.path(), &short)).unwrap();
    go.notify_one();
    assert_eq!(running.await.unwrap().error_kind(), Some(ErrorKind::Timeout), "the limits of now");
    // The hook counts runs, so that each is asked about first: two are over, the third may run and the fourth may not.
    for expected in [None, Some(ErrorKind::Busy)] {
        let running = asking(1);
        asked.notified().await;
        go.notify_one();
        assert_eq!(running.await.unwrap().error_kind(), expected, "it goes on counting");
    }
}

/// A native tool is its function, whatever it is called.
#[tokio::test]
async fn a_call_that_waited_runs_no_native_tool_that_took_the_place_of_another() {
    let (asked, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tells, waits) = (Arc::clone(&asked), Arc::clone(&go));
    let own = |said: &'static str| {
        NativeTool::new("own", "Ours", move |_: Nothing, _| async move { Ok::<_, String>(said.to_owned()) })
    };
    let asks = toolcell::policy::Rule::ask("own");
    let runtime = built(builder().rule(asks).approver(move |_| {
        let (tells, waits) = (Arc::clone(&tells), Arc::clone(&waits));
        async move {
            tells.notify_one();
            waits.notified().await;
            toolcell::policy::Answer::Once
        }
    }));
    let first = runtime.register_native(own("first")).unwrap();
    let running = tokio::spawn(runtime.call(ToolCall::new("own", json!({}))).into_future());
    asked.notified().await;
    drop(first);
    let _second = runtime.register_native(own("second")).unwrap();
    go.notify_one();
    assert_eq!(running.await.unwrap().error_kind(), Some(ErrorKind::ApprovalNeeded));
}

/// Another address of the same server, or another secret for it, is not what was asked about.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waited_goes_to_no_server_that_was_replaced() {
    let server = Scripted::new(&[definition("a")]);
    let asks = "[[rule]]\naction = \"ask\"\ntools = [\"a\"]\n";
    let table = |more: &str| format!("{}{asks}", server.table("s", more));
    let (asked, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tells, waits) = (Arc::clone(&asked), Arc::clone(&go));
    let runtime = built(server.configured(&table("")).approver(move |_| {
        let (tells, waits) = (Arc::clone(&tells), Arc::clone(&waits));
        async move {
            tells.notify_one();
            waits.notified().await;
            toolcell::policy::Answer::Once
        }
    }));
    for (more, expected) in [("", None), ("env = { NEW = \"1\" }", Some(ErrorKind::ApprovalNeeded))] {
        let running = tokio::spawn(runtime.call(ToolCall::new("a", json!({}))).into_future());
        asked.notified().await;
        runtime.reload(config(server.path(), &format!("# Changed.\n{}", table(more)))).unwrap();
        go.notify_one();
        assert_eq!(running.await.unwrap().error_kind(), expected, "{more}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_call_keeps_the_bounds_that_it_began_with() {
    let folder = tempfile::tempdir().unwrap();
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tells, waits) = (Arc::clone(&begun), Arc::clone(&go));
    let long = NativeTool::new("long", "Waits, then says much", move |_: Nothing, _| {
        let (tells, waits) = (Arc::clone(&tells), Arc::clone(&waits));
        async move {
            tells.notify_one();
            waits.notified().await;
            Ok::<_, String>("x".repeat(1000))
        }
    });
    let runtime = built(builder().config(config(folder.path(), BASICS)).native(long));
    let running = tokio::spawn(runtime.call(ToolCall::new("long", json!({}))).into_future());
    begun.notified().await;
    runtime.reload(config(folder.path(), &format!("{BASICS}[output]\nmax_bytes = 256\n"))).unwrap();
    go.notify_one();
    let outcome = running.await.unwrap();
    assert!(outcome.is_success() && outcome.truncated.is_none(), "{outcome:?}");
    go.notify_one();
    assert!(call(&runtime, "long", json!({})).await.truncated.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_change_of_another_server_comes_on() {
    let server = Scripted::new(&[definition("a")]);
    let text = server.table("s", "");
    let runtime = built(server.configured(&text));
    server.script(json!({ "tools": [definition("a"), definition("b")] }));
    let again = |text: &str| runtime.reload(config(server.path(), text)).unwrap();
    assert!(again(&text).warnings.join("\n").contains("`b` is new"));
    assert_eq!(names(&runtime), ["a"]);
    runtime.approve_remote("s", None).unwrap();
    again(&text);
    assert_eq!(names(&runtime), ["a", "b"]);
    assert!(call(&runtime, "b", json!({})).await.is_success());
    again("");
    assert_eq!(names(&runtime), [] as [&str; 0]);
}

#[test]
fn what_was_missing_is_seen_when_it_comes() {
    let line = CommandLine::new();
    line.write("toolcell.toml", BASICS);
    let arguments = ["mcp", "--http", "127.0.0.1:0", "--config", "toolcell.toml"];
    let server = HttpServer::start(&mut line.command(&arguments));
    let session = server.initialize(json!({}), |request| request);
    let names = || {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
        let listed = server.send(HttpRequest::post(&request).header("Mcp-Session-Id", &session)).answer();
        let tools = listed["result"]["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let refused = "what has changed is not used";
    let loaded = "what has changed was loaded";
    let plan = toolcell::tool::builtin_bytes("plan").unwrap();
    let component = |name: &str| {
        format!("[component.plan]\npath = \"{name}.wasm\"\nprefix = \"{name}_\"\ngrant.state = \"call\"\n")
    };
    // A component that is not there yet.
    line.write("toolcell.toml", component("late"));
    server.says(refused);
    line.write("late.wasm", plan);
    server.says(loaded);
    assert!(names().contains(&"late_list_tasks".to_owned()), "{:?}", names());
    // A program, without which the configuration cannot even be read.
    let hook = "[[hook]]\nuse = \"command\"\ncommand = [\"./check.sh\"]\non = [\"pre\"]\ntools = [\"*\"]\n";
    line.write("toolcell.toml", component("late").replace("late_", "more_") + hook);
    server.says(refused);
    let script = line.write("check.new", "#!/bin/sh\nexit 0\n");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::rename(script, line.folder().join("check.sh")).unwrap();
    server.says(loaded);
    assert!(names().contains(&"more_list_tasks".to_owned()), "{:?}", names());
    // A token, without which nobody is let in by it.
    line.write("toolcell.toml", format!("{BASICS}[server]\ntokens = {{ ada = {{ file = \"ada\" }} }}\n"));
    server.says(refused);
    let token = line.write("ada.new", "ada-0123456789abcdef");
    std::fs::set_permissions(&token, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::rename(token, line.folder().join("ada")).unwrap();
    server.says(loaded);
    // The configuration itself.
    std::fs::rename(line.folder().join("toolcell.toml"), line.folder().join("aside")).unwrap();
    server.says(refused);
    std::fs::rename(line.folder().join("aside"), line.folder().join("toolcell.toml")).unwrap();
    server.says(loaded);
}

/// The tools of a client's list, but for ours.
fn listed(client: &mut McpClient, id: u64) -> Vec<String> {
    let mut names = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        let page = client.ask(json!([id, names.len()]).to_string(), "tools/list", params);
        let tools = page["result"]["tools"].as_array().unwrap();
        names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        cursor = page["result"]["nextCursor"].clone();
        if cursor.is_null() {
            names.retain(|name| name != "read_output");
            return names;
        }
    }
}

/// The names of tools of a hundred components.
fn of_a_hundred(functions: &[&str]) -> Vec<String> {
    (0..100).flat_map(|at| functions.iter().map(move |function| format!("c{at:03}_{function}"))).collect()
}

#[test]
fn a_hundred_changed_components_are_few_notifications_and_the_list_is_right() {
    let user = CommandLine::new();
    std::fs::create_dir(user.folder().join("tools")).unwrap();
    let put = |name: &str| {
        let bytes = toolcell::tool::builtin_bytes(name).unwrap();
        (0..100).for_each(|at| drop(user.write(&format!("tools/c{at}.wasm"), &bytes)));
    };
    let table = |at: usize| {
        format!(
            "[component.c{at}]\npath = \"tools/c{at}.wasm\"\nprefix = \"c{at:03}_\"\ngrant.state = \"call\"\n"
        )
    };
    let text = || (0..100).map(table).collect::<String>();
    put("basics");
    user.write("toolcell.toml", text());
    let mut client = McpClient::start(&mut user.command(&["mcp", "--config", "toolcell.toml"]));
    client.initialize("2025-11-25", json!({}));
    assert_eq!(listed(&mut client, 1), of_a_hundred(&["add", "calculate", "echo", "multiply"]));
    // Half of a change is none.
    user.write("toolcell.toml", "[component.c0]\npath = \"tools/gone.wasm\"\n");
    put("plan");
    user.write("toolcell.toml", text());
    client.messages.said("notifications/tools/list_changed");
    let all = of_a_hundred(&["create_task", "get_task", "list_tasks", "update_task"]);
    assert_eq!(listed(&mut client, 2), all, "the functions are the other code's");
    client.call(3, "c000_add", json!({ "a": 1, "b": 2 }));
    assert_eq!(client.messages.answer(&json!(3))["error"]["code"], -32602, "what was there is gone");
    client.call(4, "c099_list_tasks", json!({}));
    let ran = client.messages.answer(&json!(4));
    assert_eq!(ran["result"]["isError"], false, "{ran}");
    let (code, rest) = client.close();
    assert_eq!(code, 0);
    let told = rest.iter().filter(|message| message["method"] == "notifications/tools/list_changed").count();
    assert!(told <= 3, "{told} more");
}
