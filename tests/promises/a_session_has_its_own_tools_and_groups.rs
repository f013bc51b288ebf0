//! What belongs to a session is seen by nobody else: metadata, tools, and which groups are switched on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcell::hook::{Hook, HookCall, HookResult, Pre, async_trait};
use toolcell::policy::Rule;
use toolcell::tool::NativeCall;
use toolcell::{ErrorKind, Grant, Limits, NativeTool, Outcome, Runtime, RuntimeBuilder, Session, ToolCall};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::{builder, built, guest, probe};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
struct Key {
    key: String,
}

fn saying(name: &str, words: &str) -> NativeTool<String> {
    let words = words.to_owned();
    NativeTool::new(name, "Says its words.", move |_: Nothing, _| {
        let words = words.clone();
        async move { Ok::<_, String>(words) }
    })
}

fn telling() -> NativeTool<Option<String>> {
    NativeTool::new("meta_of_native", "Tells metadata.", |key: Key, call: NativeCall| async move {
        Ok::<_, String>(call.meta(&key.key).map(str::to_owned))
    })
}

async fn call(session: &Session, name: &str, arguments: Value) -> Outcome {
    session.call(ToolCall::new(name, arguments)).await
}

fn names(session: &Session) -> Vec<String> {
    session.list().iter().map(|tool| tool.name().to_owned()).collect()
}

/// Attaches what it thinks.
struct Attaching;

#[async_trait]
impl Hook for Attaching {
    async fn pre(&self, _: &HookCall) -> HookResult<Pre> {
        Ok(Pre::pass().meta("all", "hook").meta("hook_and_session", "hook").meta("hook", "hook"))
    }
}

#[tokio::test]
async fn a_caller_s_metadata_wins_over_a_hook_s_and_a_hook_s_over_the_session_s() {
    let runtime =
        built(builder().component(probe(Grant::none(), Limits::new())).native(telling()).hook(Attaching));
    let mut session = runtime.session("s").meta("again", "first").meta("again", "session");
    for key in ["all", "hook_and_session", "session"] {
        session = session.meta(key, "session");
    }
    for (key, value) in [
        ("all", Some("caller")),
        ("hook_and_session", Some("hook")),
        ("session", Some("session")),
        ("again", Some("session")),
        ("hook", Some("hook")),
        ("nowhere", None),
    ] {
        for tool in ["metadata_of", "meta_of_native"] {
            let told = session.call(ToolCall::new(tool, json!({ "key": key })).meta("all", "caller")).await;
            assert_eq!(told.structured, Some(json!({ "result": value })), "{tool} {key}: {told:#?}");
        }
    }
    let other = call(&runtime.session("t"), "metadata_of", json!({ "key": "session" })).await;
    assert_eq!(other.structured, Some(json!({ "result": null })), "another session has none of it");
}

#[tokio::test]
async fn a_trace_goes_through_to_the_guest() {
    let runtime = built(builder().component(probe(Grant::none(), Limits::new())));
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let traced = ToolCall::new("facts", json!({})).id("c1").meta("traceparent", trace);
    let facts = runtime.session("s1").call(traced).await.structured.unwrap();
    assert_eq!(
        (&facts["trace"], &facts["session"], &facts["call_id"]),
        (&json!(trace), &json!("s1"), &json!("c1"))
    );
    let facts = runtime.call(ToolCall::new("facts", json!({}))).await.structured.unwrap();
    assert_eq!((&facts["trace"], &facts["session"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn a_factory_makes_tools_for_whoever_calls() {
    let made = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&made);
    let runtime = built(builder().session_tools(move |identity| {
        counting.fetch_add(1, Ordering::Relaxed);
        let words = format!("{} {:?} {:?}", identity.session, identity.user, identity.agent);
        vec![saying("whoami", &words).into()]
    }));
    let session = runtime.session("s").user("u").agent("a");
    for _ in 0..3 {
        assert_eq!(call(&session, "whoami", json!({})).await.text(), r#"s Some("u") Some("a")"#);
    }
    assert_eq!(made.load(Ordering::Relaxed), 1, "a session's tools are made once");
    assert_eq!(runtime.call(ToolCall::new("whoami", json!({}))).await.text(), " None None");
    // One who becomes another loses what was made for the first.
    let other = session.clone().user("v");
    assert_eq!(call(&other, "whoami", json!({})).await.text(), r#"s Some("v") Some("a")"#);
    assert_eq!(call(&session, "whoami", json!({})).await.text(), r#"s Some("u") Some("a")"#);
}

#[tokio::test]
async fn sessions_do_not_see_each_other_s_tools_and_never_shadow_the_runtime_s() {
    let runtime = built(builder().native(saying("common", "the runtime's")));
    let (one, other) = (runtime.session("s"), runtime.session("s"));
    one.tools([saying("mine", "one's")]).unwrap();
    assert_eq!(call(&one, "mine", json!({})).await.text(), "one's");
    assert_eq!((names(&one), names(&other)), (vec!["common".into(), "mine".into()], vec!["common".into()]));
    let unknown = call(&other, "mine", json!({})).await;
    assert_eq!(unknown.error_kind(), Some(ErrorKind::UnknownTool));
    let taken = one.tools([saying("free", "x"), saying("common", "shadow")]).unwrap_err().to_string();
    assert!(taken.contains("two tools are named `common`"), "{taken}");
    assert!(one.tools([saying("mine", "again")]).is_err());
    assert_eq!(names(&one), ["common", "mine"], "all or none");
    // A tool of the runtime that comes later takes its name.
    let _registration = runtime.register_native(saying("mine", "the runtime's")).unwrap();
    assert_eq!(call(&one, "mine", json!({})).await.text(), "the runtime's");
    let clone = one.user("u");
    clone.tools([saying("more", "x")]).unwrap();
    assert_eq!(names(&clone), ["common", "mine", "more"], "what a session was given stays with it");
}

#[tokio::test]
async fn a_factory_s_bad_tools_are_left_out_with_a_warning_and_the_rest_stays() {
    let runtime = built(builder().native(saying("common", "the runtime's")).session_tools(|_| {
        vec![saying("common", "shadow").into(), saying("Bad Name", "x").into(), saying("good", "good").into()]
    }));
    let session = runtime.session("s");
    assert_eq!(names(&session), ["common", "good"]);
    assert_eq!(call(&session, "common", json!({})).await.text(), "the runtime's");
    let warnings = session.warnings();
    assert_eq!(warnings.len(), 2, "{warnings:#?}");
    assert!(warnings[0].contains("two tools are named `common`"), "{warnings:#?}");
    assert!(warnings[1].contains("Bad Name"), "{warnings:#?}");
    let broken = built(builder().native(saying("common", "x")).session_tools(|_| panic!("at the factory")));
    let session = broken.session("s");
    assert_eq!(call(&session, "common", json!({})).await.text(), "x");
    assert_eq!(call(&session, "other", json!({})).await.error_kind(), Some(ErrorKind::UnknownTool));
    assert!(session.warnings()[0].contains("panicked"), "{:?}", session.warnings());
}

fn grouped() -> RuntimeBuilder {
    builder()
        .native(saying("git_log", "log").group("git"))
        .native(saying("git_diff", "diff").group("git"))
        .native(saying("plain", "plain"))
}

#[tokio::test]
async fn a_group_is_switched_off_for_one_session_or_for_all() {
    let runtime = built(grouped());
    let (one, other) = (runtime.session("1"), runtime.session("2"));
    assert!(one.switch("git", false));
    assert_eq!((names(&one), names(&other).len()), (vec!["plain".into()], 3));
    let off = call(&one, "git_log", json!({})).await;
    assert_eq!(off.error_kind(), Some(ErrorKind::ToolInactive));
    assert_eq!(off.text(), "the tool `git_log` is switched off, with its group `git`");
    assert!(call(&other, "git_log", json!({})).await.is_success());
    assert!(runtime.switch("git", false));
    assert_eq!(call(&other, "git_log", json!({})).await.error_kind(), Some(ErrorKind::ToolInactive));
    assert!(one.switch("git", true));
    assert!(call(&one, "git_log", json!({})).await.is_success(), "the session's word goes first");
    assert_eq!(one.groups().into_iter().collect::<Vec<_>>(), [("git".to_owned(), true)]);
    assert!(!one.switch("nothing", true) && !runtime.switch("nothing", true));
}

fn described(session: &Session) -> String {
    session.get("activate_group").unwrap().description().to_owned()
}

#[tokio::test]
async fn a_model_switches_a_group_on_for_its_own_session_alone() {
    let runtime = built(grouped().activate_group_tool().inactive_group("git"));
    let (one, other) = (runtime.session("1"), runtime.session("2"));
    assert_eq!(names(&one), ["activate_group", "plain"]);
    assert!(
        described(&one).ends_with("Groups that are off now:\n- `git`: git_diff, git_log"),
        "{}",
        described(&one)
    );
    assert_eq!(described(&one), described(&one));
    let off = call(&one, "git_log", json!({})).await.text();
    assert!(off.ends_with("; call `activate_group` with `git`, then repeat the call"), "{off}");
    let on = call(&one, "activate_group", json!({ "group": "git" })).await;
    assert_eq!(on.text(), "The group `git` is on. Its tools: git_diff, git_log.");
    assert_eq!(on.structured, Some(json!({ "group": "git", "tools": ["git_diff", "git_log"] })));
    assert!(call(&one, "git_log", json!({})).await.is_success());
    assert!(described(&one).ends_with("No group is off now."));
    assert!(call(&one, "activate_group", json!({ "group": "git" })).await.is_success(), "twice is no error");
    assert_eq!(call(&other, "git_log", json!({})).await.error_kind(), Some(ErrorKind::ToolInactive));
    assert!(described(&other).contains("- `git`"));
    let listed = one.list().into_iter().find(|tool| tool.name() == "activate_group").unwrap();
    assert_eq!(listed.description(), described(&one));
    assert_eq!(
        listed.digest(),
        runtime.get("activate_group").unwrap().digest(),
        "its words are not its identity"
    );
}

#[tokio::test]
async fn a_group_is_on_for_the_calls_that_follow_in_the_same_message() {
    let session = built(grouped().activate_group_tool().inactive_group("git")).session("s");
    let call = |name: &str, arguments: Value| ToolCall::new(name, arguments).id(name);
    let calls = vec![
        call("plain", json!({})),
        call("activate_group", json!({ "group": "git" })),
        call("git_log", json!({})),
    ];
    let outcomes = session.call_batch(calls).await;
    assert!(outcomes.iter().all(Outcome::is_success), "{outcomes:#?}");
}

#[tokio::test]
async fn what_cannot_be_switched_on_is_told_with_what_can() {
    let runtime = built(grouped().activate_group_tool().inactive_group("git"));
    let session = runtime.session("s");
    let unknown = call(&session, "activate_group", json!({ "group": "gti\u{1b}[31m" })).await;
    assert_eq!(unknown.error_kind(), Some(ErrorKind::InvalidArguments));
    assert_eq!(unknown.text(), "there is no group `gti`; there are `git`");
    for arguments in [json!({}), json!({ "group": 1 }), json!({ "group": "git", "all": true })] {
        let invalid = call(&session, "activate_group", arguments).await;
        assert_eq!(invalid.error_kind(), Some(ErrorKind::InvalidArguments), "{invalid:#?}");
    }
    let nobody = runtime.call(ToolCall::new("activate_group", json!({ "group": "git" }))).await;
    assert_eq!(nobody.error_kind(), Some(ErrorKind::ToolError));
    assert!(nobody.text().contains("session"), "{}", nobody.text());
    assert!(!runtime.list().iter().any(|tool| tool.name() == "git_log"), "it switched nothing on for all");
    let is_offered =
        |tools: Vec<Arc<toolcell::Tool>>| tools.iter().any(|tool| tool.name() == "activate_group");
    assert!(is_offered(session.list()) && !is_offered(runtime.list()), "only to those who can use it");
    let without = built(grouped());
    assert!(without.get("activate_group").is_none(), "nobody asked for it");
}

#[tokio::test]
async fn rules_and_hooks_hold_for_switching_groups_on() {
    let refused = Rule::deny("activate_group").argument("group", "git");
    let runtime =
        built(grouped().activate_group_tool().inactive_group("git").rule(refused.reason("not for you")));
    let session = runtime.session("s");
    let denied = call(&session, "activate_group", json!({ "group": "git" })).await;
    assert_eq!(denied.error_kind(), Some(ErrorKind::Denied), "{denied:#?}");
    assert_eq!(call(&session, "git_log", json!({})).await.error_kind(), Some(ErrorKind::ToolInactive));
}

#[tokio::test]
async fn a_change_is_told_once_and_no_change_is_not() {
    let runtime: Runtime = built(grouped());
    let session = runtime.session("s");
    let mut changes = runtime.changes();
    let mut told = || {
        let has = changes.has_changed().unwrap();
        changes.mark_unchanged();
        has
    };
    assert!(!told());
    session.switch("git", false);
    assert!(told());
    session.switch("git", false);
    session.switch("nothing", false);
    runtime.switch("git", true);
    runtime.switch("nothing", false);
    assert!(!told(), "nothing changed");
    runtime.switch("git", false);
    assert!(told());
}

#[test]
fn a_configuration_starts_with_a_group_off_and_a_tool_to_switch_it_on() {
    let cli = CommandLine::new();
    fs_copy(&cli);
    let file = "[policy]\nactivate_group = true\ninactive_groups = [\"probing\"]\n\n[component.probe]\npath = \"probe.wasm\"\ngroup = \"probing\"\n";
    cli.write("toolcell.toml", file);
    let off = cli.run(&["call", "echo_u32", "{\"value\": 1}"]);
    assert_eq!(off.code, 3, "{off:?}");
    assert!(off.stderr.contains("group `probing`"), "{off:?}");
    let nobody = cli.run(&["call", "activate_group", "{\"group\": \"probing\"}"]);
    assert_eq!(nobody.code, 1, "{nobody:?}");
    let shown = cli.run(&["config", "show", "--json"]).json();
    let policy = |key: &str| shown["policy"][key].clone();
    assert_eq!(policy("activate_group"), json!({ "value": true, "from": "toolcell.toml:2" }));
    assert_eq!(policy("inactive_groups"), json!({ "value": ["probing"], "from": "toolcell.toml:3" }));
    cli.write("toolcell.toml", file.replace("[\"probing\"]", "[\"probig\"]"));
    let wrong = cli.run(&["list"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
    let message = "no component is in a group `probig`; did you mean `probing`?";
    assert!(wrong.stderr.contains(message) && wrong.stderr.contains(":3"), "{wrong:?}");
}

fn fs_copy(cli: &CommandLine) {
    cli.write("probe.wasm", std::fs::read(guest("probe")).unwrap());
}

#[test]
fn what_a_command_switches_in_a_session_is_on_for_the_next_command_of_that_session() {
    let cli = CommandLine::new();
    fs_copy(&cli);
    cli.write(
        "toolcell.toml",
        "[policy]\nactivate_group = true\ninactive_groups = [\"probing\", \"more\"]\n\n[component.probe]\npath = \"probe.wasm\"\ngroup = \"probing\"\n[component.basics]\npath = \"builtin:basics\"\ngroup = \"more\"\n",
    );
    let echo = |session: &[&str]| cli.run(&[&["call", "echo_u32", "{\"value\": 1}"], session].concat());
    let explain =
        |session: &str| cli.run(&["explain", "echo_u32", "{\"value\": 1}", "--session", session, "--json"]);
    let activate = |session: &str, group: &str| {
        let arguments = json!({ "group": group }).to_string();
        cli.run(&["call", "activate_group", &arguments, "--session", session])
    };
    assert_eq!(explain("s").json()["group"], json!({ "name": "probing", "active": false }));
    assert_eq!(echo(&["--session", "s"]).code, 3);
    let on = activate("s", "probing");
    assert_eq!((on.code, on.stderr.as_str()), (0, ""), "{on:?}");
    assert_eq!(activate("s", "more").code, 0, "another is added");
    assert_eq!(activate("t", "gone").code, 3);
    for _ in 0..2 {
        assert_eq!(echo(&["--session", "s"]).code, 0);
    }
    let explained = explain("s");
    assert_eq!((explained.code, &explained.json()["group"]["active"]), (0, &json!(true)), "{explained:?}");
    let shown = cli.run(&["explain", "echo_u32", "{\"value\": 1}", "--session", "s"]);
    assert!(shown.stdout.contains("probing, switched on"), "{shown:?}");
    cli.write("calls.json", r#"[{"id":"1","name":"add","arguments":{"a":1,"b":1}},{"id":"2","name":"metadata_of","arguments":{"key":"who"}}]"#);
    let batch = |more: &[&str]| {
        let ended = cli.run(&[&["batch", "calls.json", "--format", "toolcell"], more].concat());
        let kinds = ended.json().as_array().unwrap().clone();
        kinds.into_iter().map(|outcome| outcome["status"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(batch(&["--session", "s"]), ["success", "success"]);
    let told =
        cli.run(&["batch", "calls.json", "--format", "toolcell", "--session", "s", "--meta", "who=ada"]);
    assert_eq!(told.json()[1]["structured"], json!({ "result": "ada" }));
    let twice = ["batch", "calls.json", "--format", "toolcell", "--meta", "who=ada", "--meta", "who=bob"];
    let twice = cli.run(&twice);
    assert!(twice.code == 2 && twice.stderr.contains("`who` twice"), "{twice:?}");
    for other in [&["--session", "t"][..], &[]] {
        assert_eq!(echo(other).code, 3, "{other:?}");
        assert_eq!(batch(other), ["error", "error"], "{other:?}");
    }
    // Another configuration's group of that name is another one.
    let config = std::fs::read_to_string(cli.folder().join("toolcell.toml")).unwrap();
    cli.write("other.toml", config);
    assert_eq!(echo(&["--session", "s", "--config", "other.toml"]).code, 3);
    std::fs::write(cli.home().join("state/groups.json"), "{").unwrap();
    let damaged = echo(&["--session", "s"]);
    assert!(damaged.code == 3 && damaged.stderr.contains("it is damaged"), "{damaged:?}");
    assert_eq!(activate("s", "probing").code, 0);
    assert_eq!(echo(&["--session", "s"]).code, 0);
}
