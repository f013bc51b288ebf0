//! Whatever way a tool says a secret of its component, nobody reads it: not the model, a listener, a hook, an
//! approver, the audit, nor whoever asks for the stored output.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolcell::audit::Audit;
use toolcell::call::Response;
use toolcell::hook::{Hook, HookCall, HookResult, Post, Pre, async_trait};
use toolcell::policy::{Answer, Question, Rule, Secret};
use toolcell::{Grant, Limit, Limits, Runtime, ToolCall};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::{block_on, builder, built, call, probe};

const SECRET: &str = "tok/en+\"7f\\3a9<c1>é";

/// The same in base64.
const ENCODED: &str = "dG9rL2VuKyI3ZlwzYTk8YzE+w6k";

fn grant(secret: &str) -> Grant {
    Grant::none().secret("key", Secret::value(secret).readable())
}

/// Whether any spelling of the secret that a program would write is in `text`.
fn is_in(text: &str) -> bool {
    let url: String = SECRET.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let json = json!(SECRET).to_string();
    let twice = json!(json.trim_matches('"')).to_string();
    [SECRET, ENCODED, &url, json.trim_matches('"'), twice.trim_matches('"')]
        .iter()
        .any(|spelling| text.contains(spelling))
}

fn assert_hidden(what: &str, text: &str) {
    assert!(!is_in(text), "{what}: {text}");
}

#[tokio::test]
async fn no_sink_shows_a_secret() {
    let runtime = built(builder().component(probe(grant(SECRET), Limits::default())));
    let long = format!("{SECRET} ").repeat(4_000);
    let session = runtime.session("s1");
    let calls = [
        ("config_value", json!({ "key": "key" })),
        ("config_values", json!({})),
        ("echo_string", json!({ "value": format!("a {SECRET} b") })),
        ("echo_string", json!({ "value": format!("data:{ENCODED}") })),
        ("echo_string", json!({ "value": long })),
        ("print", json!({ "channel": "stdout", "pattern": SECRET, "count": 3 })),
        ("print", json!({ "channel": "stderr", "pattern": SECRET, "count": 20_000 })),
        ("log_many", json!({ "level": "info", "text": SECRET, "count": 2 })),
        ("log_many", json!({ "level": "info", "text": long, "count": 2 })),
        ("panic_with", json!({ "message": SECRET })),
        ("panic_with", json!({ "message": long })),
        ("fail", json!({ "message": SECRET })),
        ("metadata_of", json!({ "key": SECRET, "other": SECRET })),
        ("echo_u32", json!({ "value": SECRET })),
        ("print", json!({ "channel": SECRET, "pattern": "", "count": 1 })),
    ];
    for (name, arguments) in calls {
        let outcome = session.call(ToolCall::new(name, arguments)).await;
        let shown = serde_json::to_string(&outcome).unwrap();
        assert_hidden(name, &shown);
        assert_hidden(name, &format!("{outcome:?}"));
        assert_hidden(name, &outcome.text());
        if let Some(handle) = outcome.truncated.as_ref().and_then(|truncated| truncated.handle.as_ref()) {
            let mut stored = runtime.outputs().open("s1", &handle.parse().unwrap()).unwrap();
            let mut text = Vec::new();
            stored.bytes(0..u64::MAX, &mut text).unwrap();
            assert_hidden("the stored output", &String::from_utf8(text).unwrap());
        }
    }
    let echoed = call(&runtime, "echo_string", json!({ "value": SECRET })).await;
    assert_eq!(echoed.structured, Some(json!({ "result": "[redacted:key]" })));
    let read = call(&runtime, "config_value", json!({ "key": "key" })).await;
    assert_eq!(read.structured, Some(json!({ "result": "[redacted:key]" })));
}

#[tokio::test]
async fn a_component_reads_a_secret_only_if_it_may() {
    let grant = Grant::none().secret("key", Secret::value(SECRET)).config("city", "Oslo");
    let runtime = built(builder().component(probe(grant, Limits::default())));
    let read = call(&runtime, "config_value", json!({ "key": "key" })).await;
    assert_eq!(read.structured, Some(json!({ "result": null })));
    let all = call(&runtime, "config_values", json!({})).await;
    assert_eq!(all.structured, Some(json!({ "result": [["city", "Oslo"]] })));
}

#[tokio::test]
async fn the_border_of_what_is_kept_halves_no_secret() {
    let secret = "hunter2-0123456789";
    for offset in 0..secret.len() {
        // The kept bytes are 64 at each end; the secret lies across the border at every offset.
        let limits = Limits::default().with(Limit::StdioBytes, 128);
        let runtime = built(builder().component(probe(grant(secret), limits)));
        let text = format!("{}{secret}{}", "-".repeat(64 - offset), "=".repeat(500));
        let printed = format!("{text}{secret}{}", "-".repeat(64 - offset));
        let arguments = json!({ "channel": "stderr", "pattern": printed, "count": 1 });
        let outcome = call(&runtime, "print", arguments).await;
        let log = &outcome.logs[0].text;
        let left: String = log.replace("[redacted:key]", "");
        let (head, tail) = (left.lines().next().unwrap(), left.lines().last().unwrap());
        assert!(head.chars().all(|letter| letter == '-'), "{offset}: {log}");
        assert!(tail.chars().all(|letter| letter == '-'), "{offset}: {log}");
    }
}

#[tokio::test]
async fn the_border_of_what_is_counted_halves_no_secret() {
    let (first, second) = ("sk-live_AbCd", "1234-wxyz9876");
    let grant = || grant(&format!("{first}{second}"));
    let limits = Limits::default().with(Limit::LogRecords, 2);
    let runtime = built(builder().component(probe(grant(), limits)));
    let text = format!("{second} ... {first}");
    let outcome = call(&runtime, "log_many", json!({ "level": "info", "text": text, "count": 3 })).await;
    let logs: Vec<&str> = outcome.logs.iter().map(|log| log.text.as_str()).collect();
    assert_eq!(logs, ["1234-wxyz9876 ... [redacted:key]", " ... ", "[... 1 more records were not kept ...]"]);
}

#[test]
fn what_would_be_done_is_told_without_it() {
    let runtime = built(builder().component(probe(grant(SECRET), Limits::default())));
    let said = json!({ "value": format!("a {SECRET}") });
    let twice = format!("{{{0}: 1, {0}: 2}}", json!(SECRET));
    for arguments in [
        toolcell::call::Arguments::Value(said),
        toolcell::call::Arguments::Value(json!({ SECRET: 1 })),
        toolcell::call::Arguments::Text(twice),
    ] {
        let explanation = runtime.explain(ToolCall::new("echo_string", arguments));
        let shown = format!("{:?} {:?}", explanation.arguments, explanation.error);
        assert!(shown.contains("redacted:key"), "{shown}");
        assert_hidden("an explanation", &shown);
        assert!(!shown.contains("tok/en"), "{shown}");
    }
}

/// Keeps what it sees, and answers with the secret.
struct Watching(Arc<Mutex<String>>);

#[async_trait]
impl Hook for Watching {
    fn name(&self) -> &str {
        "watching"
    }

    async fn pre(&self, call: &HookCall) -> HookResult<Pre> {
        self.0.lock().unwrap().push_str(&call.arguments().to_string());
        Ok(Pre::pass())
    }

    async fn post(&self, call: &HookCall, response: &Response) -> HookResult<Post> {
        let seen = format!("{} {response:?}", call.arguments());
        self.0.lock().unwrap().push_str(&seen);
        Ok(Post::Enrich(vec![toolcell::Content::Text { text: format!("hook says {SECRET}") }]))
    }
}

#[tokio::test]
async fn hooks_approvers_listeners_and_the_audit_do_not_see_it() {
    let (seen, asked) = (Arc::new(Mutex::new(String::new())), Arc::new(Mutex::new(String::new())));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit.jsonl");
    let asking = Arc::clone(&asked);
    let runtime = built(
        builder()
            .component(probe(grant(SECRET).secret("pin", Secret::value("73000007")), Limits::default()))
            .hook(Watching(Arc::clone(&seen)))
            .rule(Rule::ask("echo_string"))
            .approver(move |question: Question| {
                asking.lock().unwrap().push_str(&format!("{question:?}"));
                async { Answer::Once }
            })
            .audit(Audit::file(&file).arguments(toolcell::audit::Detail::Full)),
    );
    let number = ToolCall::new("echo_u32", json!({ "value": 73_000_007 }));
    let numbered = runtime.call(number).await;
    assert_eq!(numbered.structured, Some(json!({ "result": "[redacted:pin]" })));
    let (sender, mut receiver) = tokio::sync::mpsc::channel(1_000);
    let echo = ToolCall::new("echo_string", json!({ "value": format!("- {SECRET} -") }));
    let outcome = runtime.call(echo).events(sender.clone()).await;
    assert!(outcome.is_success(), "{outcome:?}");
    assert_hidden("the outcome", &serde_json::to_string(&outcome).unwrap());
    assert!(outcome.text().contains("hook says [redacted:key]"), "{outcome:?}");
    let log = ToolCall::new("log_many", json!({ "level": "warn", "text": SECRET, "count": 3 }));
    assert_hidden("the logs", &format!("{:?}", runtime.call(log).events(sender).await));
    let mut events = String::new();
    while let Some(event) = receiver.recv().await {
        events.push_str(&serde_json::to_string(&event).unwrap());
    }
    assert!(events.contains("[redacted"), "{events}");
    assert_hidden("the events", &events);
    for (what, text) in [("the hook", &seen), ("the approver", &asked)] {
        let text = text.lock().unwrap().clone();
        assert!(text.contains("redacted:key"), "{what}: {text}");
        assert_hidden(what, &text);
        assert!(!text.contains("tok/en"), "{what}: {text}");
    }
    drop(runtime);
    let audit = std::fs::read_to_string(file).unwrap();
    assert_eq!(audit.lines().count(), 3);
    assert!(audit.contains("redacted:pin") && !audit.contains("73000007"), "{audit}");
    assert!(audit.contains("redacted:key"), "{audit}");
    assert_hidden("the audit", &audit);
}

#[test]
fn a_secret_is_refused_at_load_with_its_line_and_without_its_value() {
    let line = CommandLine::new();
    let config = "[component.basics]\npath = \"builtin:basics\"\n\n[component.basics.secrets]\n";
    let run = |rest: &str| {
        line.write("toolcell.toml", format!("{config}{rest}"));
        line.run(&["list", "--config", "toolcell.toml"])
    };
    line.write("short", "1234567\n");
    line.write("key", "hunter2-hunter2\n");
    line.write("open", "hunter2-hunter2\n");
    let mode = |name: &str, mode| {
        let path = line.folder().join(name);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("short", 0o600);
    mode("key", 0o600);
    mode("open", 0o644);
    assert_eq!(run("a = { file = \"key\" }").code, 0);
    for (rest, told) in [
        ("a = { file = \"short\" }", "a secret of 7 bytes is too short"),
        ("a = { file = \"open\" }", "run `chmod 600`"),
        ("a = { file = \"gone\" }", "cannot read the secret"),
        ("a = { env = \"TOOLCELL_NOT_SET\" }", "`TOOLCELL_NOT_SET` is to hold this secret and is not set"),
        ("a = { env = \"X\", file = \"key\" }", "write either"),
        ("a = {}", "write either"),
        ("\"a b\" = { file = \"key\" }", "a secret's name"),
        ("a = \"hunter2-hunter2\"", "a table with `env` or `file`"),
        ("a = { value = \"hunter2-hunter2\" }", "unknown key"),
    ] {
        let refused = run(rest);
        assert_eq!(refused.code, 2, "{rest}: {refused:?}");
        assert!(refused.stderr.contains(told), "{rest}: {}", refused.stderr);
        assert!(refused.stderr.contains("toolcell.toml:5"), "{rest}: {}", refused.stderr);
        assert!(!refused.stderr.contains("hunter2"), "{rest}: {}", refused.stderr);
    }
    let shown = {
        run("a = { file = \"key\", readable = true }");
        line.run(&["config", "show", "--config", "toolcell.toml"])
    };
    assert!(shown.stdout.contains("readable = true") && !shown.stdout.contains("hunter2"), "{shown:?}");
    let described = line.run(&["describe", "echo", "--config", "toolcell.toml"]);
    assert!(described.stdout.contains("secret a, which it reads"), "{}", described.stdout);
    let echoed = line.run(&["call", "echo", r#"{"text":"my hunter2-hunter2"}"#, "--config", "toolcell.toml"]);
    assert_eq!(echoed.stdout.trim_end(), "my [redacted:a]");
    line.write("around", " \thunter2-hunter2 \t\n\n");
    mode("around", 0o600);
    assert_eq!(run("a = { file = \"around\" }").code, 0);
    let echoed = line.run(&["call", "echo", r#"{"text":"my hunter2-hunter2"}"#, "--config", "toolcell.toml"]);
    assert_eq!(echoed.stdout.trim_end(), "my [redacted:a]");
    let explaining = ["explain", "echo", r#"{"text":"my hunter2-hunter2"}"#, "--config", "toolcell.toml"];
    for arguments in [&explaining[..], &[&explaining[..], &["--json"]].concat()] {
        let explained = line.run(arguments);
        assert!(explained.stdout.contains("my [redacted:a]"), "{explained:?}");
        assert!(!explained.stdout.contains("hunter2"), "{explained:?}");
    }
    // A configuration that was only found reads no secret.
    let found = line.run(&["call", "echo", r#"{"text":"my hunter2-hunter2"}"#]);
    assert!(found.stderr.contains("`component.basics.secrets.a`: is not read"), "{found:?}");
    assert_eq!(found.stdout.trim_end(), "my hunter2-hunter2");
}

#[test]
fn a_tool_may_not_write_the_file_of_a_secret() {
    let line = CommandLine::new();
    line.write("key", "hunter2-hunter2");
    line.write(
        "toolcell.toml",
        "[component.files]\npath = \"builtin:files\"\nsecrets = { a = { file = \"key\" } }\n\
         grant.dirs = [{ host = \".\", guest = \"/w\", access = \"read-write\", deny = [\"toolcell.toml\"] }]\n",
    );
    let refused = line.run(&["list", "--config", "toolcell.toml"]);
    assert!(refused.stderr.contains("would reach the secret `a`; add \"key\""), "{refused:?}");
}

#[test]
fn an_approval_outlives_the_renewal_of_a_secret_and_not_its_source() {
    let asked = Arc::new(Mutex::new(0));
    let approvals = toolcell::policy::Approvals::in_memory();
    let runtime = |secret: Secret| -> Runtime {
        let asked = Arc::clone(&asked);
        built(
            builder()
                .component(probe(Grant::none().secret("key", secret), Limits::default()))
                .approvals(approvals.clone())
                .rule(Rule::ask("echo_string"))
                .approver(move |_| {
                    *asked.lock().unwrap() += 1;
                    async { Answer::Always }
                }),
        )
    };
    let arguments: Value = json!({ "value": "x" });
    for (secret, times) in [
        (Secret::value("first-value"), 1),
        (Secret::value("second-value"), 1),
        (Secret::value("second-value").readable(), 2),
    ] {
        let outcome = block_on(call(&runtime(secret), "echo_string", arguments.clone()));
        assert!(outcome.is_success(), "{outcome:?}");
        assert_eq!(*asked.lock().unwrap(), times);
    }
}
