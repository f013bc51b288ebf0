//! Hooks of a configuration file are around everything else, in the order of the file, once somebody trusts it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};
use toolcell::hook::{Hook, HookCall, HookResult, Pre, async_trait};
use toolcell::{ErrorKind, Runtime, RuntimeBuilder};

use toolcell_tests::command_line::CommandLine;
use toolcell_tests::{builder, call, guest};

fn write(folder: &Path, hooks: &str) -> std::path::PathBuf {
    let file = folder.join("toolcell.toml");
    let text = format!("[component.probe]\npath = {:?}\n{hooks}", guest("probe").display().to_string());
    std::fs::write(&file, text).unwrap();
    file
}

fn script(folder: &Path, name: &str, text: &str) {
    let file = folder.join(name);
    std::fs::write(&file, format!("#!/usr/bin/env sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn configured(file: &Path) -> RuntimeBuilder {
    builder().config_file(file).unwrap()
}

/// Adds to the argument `value`.
struct Adding;

#[async_trait]
impl Hook for Adding {
    async fn pre(&self, call: &HookCall) -> HookResult<Pre> {
        let value = call.arguments().get("value").and_then(Value::as_str).unwrap_or_default();
        Ok(Pre::pass().rewrite(json!({"value": format!("{value} embedder")})))
    }
}

const ADD: &str =
    r#"sed -n 's/.*"value":"\([^"]*\)".*/{"hookSpecificOutput":{"updatedInput":{"value":"\1 NAME"}}}/p'"#;

#[tokio::test]
async fn they_are_outermost_in_the_order_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["first", "second"] {
        script(folder.path(), name, &ADD.replace("NAME", name));
    }
    let file = write(
        folder.path(),
        "[[hook]]\nuse = \"command\"\ncommand = [\"./first\"]\non = [\"pre\"]\n\
         [[hook]]\nuse = \"command\"\ncommand = [\"./second\"]\non = [\"pre\"]\ntools = [\"echo_*\"]\n",
    );
    let runtime = configured(&file).hook(Adding).build().await.unwrap();
    let outcome = call(&runtime, "echo_string", json!({"value": "x"})).await;
    assert_eq!(outcome.text(), "x first second embedder");
}

#[tokio::test]
async fn each_kind_works_from_the_file_and_names_its_place() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(guest("judge"), folder.path().join("judge.wasm")).unwrap();
    script(folder.path(), "broken", "exit 1");
    let file = write(
        folder.path(),
        r#"
[[hook]]
use = "retry"
[[hook]]
use = "cache"
ttl = "1h"
[[hook]]
use = "rate_limit"
calls = 1
per = "1h"
tools = ["echo_string"]
[[hook]]
use = "component"
path = "judge.wasm"
config = { mode = "deny" }
tools = ["echo_u8"]
[[hook]]
use = "command"
command = ["./broken"]
tools = ["echo_u16"]
"#,
    );
    let runtime = configured(&file).build().await.unwrap();
    let first = call(&runtime, "echo_string", json!({"value": "x"})).await;
    let second = call(&runtime, "echo_string", json!({"value": "x"})).await;
    assert_eq!((first.usage.from_cache, second.usage.from_cache), (false, true));
    let busy = call(&runtime, "echo_string", json!({"value": "y"})).await;
    assert_eq!(busy.error_kind(), Some(ErrorKind::Busy));
    let denied = call(&runtime, "echo_u8", json!({"value": 1})).await;
    assert_eq!(denied.text(), "the call was refused: echo_u8 is refused");
    assert_eq!(denied.error.unwrap().help.unwrap(), "hook `judge at toolcell.toml:14` refused it");
    let failed = call(&runtime, "echo_u16", json!({"value": 1})).await.error.unwrap();
    assert_eq!(failed.help.unwrap(), "hook `broken at toolcell.toml:19`: it ended with exit code 1");
    assert_eq!(call(&runtime, "echo_u32", json!({"value": 1})).await.text(), "1");
}

#[tokio::test]
async fn one_that_is_no_hook_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = guest("probe").display().to_string();
    let file = write(folder.path(), &format!("[[hook]]\nuse = \"component\"\npath = {path:?}\n"));
    let told = configured(&file).build().await.unwrap_err().to_string();
    assert!(told.starts_with("toolcell.toml:3: `hook[0]`:") && told.contains("it is no hook"), "{told}");
    assert!(Runtime::from_config(&file).await.is_err());
}

#[test]
fn a_file_that_was_only_found_runs_none_and_refuses_what_they_cover_until_it_is_trusted() {
    let line = CommandLine::new();
    script(&line.folder(), "check", "touch ran; echo no >&2; exit 2");
    std::fs::copy(guest("probe"), line.folder().join("probe.wasm")).unwrap();
    line.write(
        "toolcell.toml",
        "[component.probe]\npath = \"probe.wasm\"\n[[hook]]\nuse = \"command\"\ncommand = [\"./check\"]\ntools = [\"echo_*\"]\n",
    );
    let call = ["call", "echo_u32", "{\"value\": 1}"];
    let untrusted = line.run(&call);
    assert_eq!((untrusted.code, untrusted.stdout.as_str()), (4, ""), "{untrusted:?}");
    assert!(untrusted.stderr.contains("error: denied:"), "{untrusted:?}");
    assert_eq!(line.run(&["call", "time_now"]).code, 0, "no hook covers it");
    assert!(untrusted.stderr.contains("toolcell.toml:3: `hook[0]`: is not run"), "{untrusted:?}");
    assert!(!line.folder().join("ran").exists());
    let trusted = line.run(&["trust"]);
    assert_eq!(trusted.code, 0, "{trusted:?}");
    let refused = line.run(&call);
    assert_eq!(refused.code, 4, "{refused:?}");
    assert!(line.folder().join("ran").exists());

    // Another program under the same name is not what was trusted.
    script(&line.folder(), "check", "touch other; exit 0");
    let changed = line.run(&call);
    assert_eq!(changed.code, 4, "{changed:?}");
    assert!(changed.stderr.contains("`toolcell trust`"), "{changed:?}");
    assert!(!line.folder().join("other").exists());
    line.run(&["trust"]);
    assert_eq!(line.run(&call).code, 0);
    assert!(line.folder().join("other").exists());
}

#[tokio::test]
async fn a_new_name_takes_no_tool_away_from_a_hook() {
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "deny", "echo no >&2; exit 2");
    for tools in ["echo_u32", "echo-u32", "Echo_U32", "count"] {
        let file = write(
            folder.path(),
            &format!(
                "rename = {{ echo_u32 = \"count\" }}\n[[hook]]\nuse = \"command\"\ncommand = [\"./deny\"]\ntools = [{tools:?}]\n"
            ),
        );
        let runtime = configured(&file).build().await.unwrap();
        let outcome = call(&runtime, "count", json!({"value": 1})).await;
        assert_eq!(outcome.error_kind(), Some(ErrorKind::Denied), "{tools}: {outcome:?}");
        assert_eq!(call(&runtime, "echo_string", json!({"value": "x"})).await.text(), "x");
    }
}
