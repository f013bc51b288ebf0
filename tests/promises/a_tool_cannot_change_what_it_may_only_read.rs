//! A grant to read leaves every byte, time and name as it was.

use std::fs;

use serde_json::json;
use toolcell::{Access, Grant, Limits, ToolComponent};
use toolcell_tests::{builder, built, call, guest, probing};

use crate::a_tool_cannot_leave_its_grant::{operations, state_below};

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["file", "other"] {
        fs::write(folder.path().join(name), "as it was").unwrap();
    }
    fs::create_dir(folder.path().join("folder")).unwrap();
    fs::hard_link(folder.path().join("file"), folder.path().join("second-name")).unwrap();
    folder
}

/// Operations that only look.
fn looks(name: &str, arguments: &serde_json::Value) -> bool {
    let reading = ["read", "list", "stat", "hash", "read_stream"];
    let mode = arguments["mode"].to_string();
    reading.contains(&name.split_once('_').unwrap().1)
        || name == "raw_open" && !mode.contains("write") && !mode.contains("truncate")
}

#[tokio::test]
async fn nothing_changes_through_a_grant_to_read() {
    let (read, write) = (folder(), folder());
    let before = state_below(read.path());
    let grant =
        Grant::none().dir(read.path(), "/ro", Access::Read).dir(write.path(), "/work", Access::ReadWrite);
    let runtime = probing(grant, Limits::new());
    for path in ["file", "second-name", "folder", "new", "file/", "folder/", "folder/new", "./file"] {
        for (name, arguments) in operations(&format!("/ro/{path}"), path) {
            let outcome = call(&runtime, name, arguments.clone()).await;
            assert!(!outcome.is_success() || looks(name, &arguments), "{name} {arguments}: {outcome:#?}");
        }
    }
    for (name, arguments) in [
        (
            "raw_rename",
            json!({ "source_preopen": 0, "source": "file", "target_preopen": 1, "target": "taken" }),
        ),
        (
            "raw_rename",
            json!({ "source_preopen": 1, "source": "file", "target_preopen": 0, "target": "taken" }),
        ),
        (
            "raw_link",
            json!({ "source_preopen": 0, "source": "file", "follow": false, "target_preopen": 1, "target": "taken" }),
        ),
        (
            "raw_set_times_open",
            json!({ "preopen": 0, "path": "file", "mode": ["read"], "seconds": 1, "nanoseconds": 0 }),
        ),
        (
            "raw_open_in",
            json!({ "preopen": 0, "directory": "folder", "path": "new", "mode": ["create", "write"] }),
        ),
        (
            "replace_file",
            json!({ "path": "/ro/file", "content": "x", "piece": 1, "create_parents": true, "ending": "commit" }),
        ),
        (
            "replace_file",
            json!({ "path": "/ro/new/x", "content": "x", "piece": 1, "create_parents": true, "ending": "commit" }),
        ),
    ] {
        let outcome = call(&runtime, name, arguments.clone()).await;
        assert!(!outcome.is_success(), "{name} {arguments}: {outcome:#?}");
        assert!(!outcome.denials.is_empty(), "{name} {arguments}: {outcome:#?}");
    }
    assert_eq!(state_below(read.path()), before);
    assert!(!write.path().join("taken").exists());
}

#[tokio::test]
async fn the_file_tools_change_nothing_through_a_grant_to_read() {
    let read = folder();
    let before = state_below(read.path());
    let grant = Grant::none().dir(read.path(), "/work", Access::Read);
    let runtime = built(builder().component(ToolComponent::builtin("files").grant(grant)));
    for (name, arguments) in [
        ("write_file", json!({ "path": "/work/file", "content": "x" })),
        ("write_file", json!({ "path": "/work/new/deep/file", "content": "x" })),
        ("edit_file", json!({ "path": "/work/file", "old": "was", "new": "is" })),
    ] {
        let outcome = call(&runtime, name, arguments).await;
        assert_eq!(outcome.exit_code(), 1, "{outcome:#?}");
        assert!(outcome.text().contains("not permitted"), "{outcome:#?}");
        assert_eq!(outcome.denials.len(), 1, "{outcome:#?}");
    }
    assert_eq!(state_below(read.path()), before);
}

#[tokio::test]
async fn a_function_that_claims_to_be_read_only_is() {
    let folder = folder();
    let before = state_below(folder.path());
    let grant = Grant::none().dir(folder.path(), "/work", Access::ReadWrite);
    let runtime = built(builder().component(ToolComponent::file(guest("readonly-liar")).grant(grant)));

    let ways = call(&runtime, "lie_in_every_way", json!({ "directory": "/work" })).await;
    assert_eq!(ways.structured, Some(json!({ "result": [] })), "{ways:#?}");
    // Of the nine, truncating and appending are one and the same denial.
    assert_eq!(ways.denials.len(), 8, "{ways:#?}");
    let lie = call(&runtime, "lie", json!({ "path": "/work/file", "content": "changed" })).await;
    assert_eq!(lie.exit_code(), 1, "{lie:#?}");
    assert_eq!(state_below(folder.path()), before);

    let peek = call(&runtime, "peek", json!({ "path": "/work/file" })).await;
    assert_eq!(peek.text(), "as it was");
    assert!(runtime.get("lie").unwrap().is_read_only() && !runtime.get("tell").unwrap().is_read_only());
    let tell = call(&runtime, "tell", json!({ "path": "/work/file", "content": "changed" })).await;
    assert!(tell.is_success(), "{tell:#?}");
    assert_eq!(fs::read(folder.path().join("file")).unwrap(), b"changed");
}
