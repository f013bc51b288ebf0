//! What a grant withholds is out of reach by every spelling, link and other name.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use toolcell::{Access, DirGrant, Grant, Limits, Outcome, ToolComponent};
use toolcell_tests::{builder, built, call, probing};

use crate::a_tool_cannot_leave_its_grant::{operations, state_below};

const SECRET: &str = "SECRET-CONTENT";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["top/secrets/deep", "top/open", "keys"] {
        fs::create_dir_all(path(name)).unwrap();
    }
    for name in ["top/secrets/k", "top/secrets/deep/k", "keys/id.pem", ".env"] {
        fs::write(path(name), SECRET).unwrap();
    }
    for name in ["inside.txt", "top/open/f", "keys/readme"] {
        fs::write(path(name), "inside").unwrap();
    }
    symlink("top/secrets/k", path("link")).unwrap();
    symlink("top/secrets", path("dirlink")).unwrap();
    symlink("../inside.txt", path("keys/a.pem")).unwrap();
    // No guest can name this one, and a listing goes on behind it.
    fs::write(folder.path().join(OsStr::from_bytes(b"keys/not-\xff-text")), "inside").unwrap();
    fs::hard_link(path("top/secrets/k"), path("hard")).unwrap();
    folder
}

fn grant(folder: &tempfile::TempDir) -> Grant {
    let dir = DirGrant::new(folder.path(), "/work", Access::ReadWrite);
    Grant::none().dir_grant(dir.deny("top/secrets/**").deny("**/*.pem").deny(".env"))
}

fn shows(outcome: &Outcome) -> bool {
    serde_json::to_string(outcome).unwrap().contains(SECRET)
}

#[tokio::test]
async fn what_is_denied_is_reached_by_no_spelling_or_link() {
    let folder = folder();
    let before = state_below(folder.path());
    let runtime = probing(grant(&folder), Limits::new());
    for path in [
        "top/secrets/k",
        "top/./secrets/k",
        "top//secrets///k",
        "top/open/../secrets/k",
        "top/secrets/deep/k",
        "top/secrets/deep/../k",
        "top/secrets/new",
        "top/secrets/k/",
        "dirlink/k",
        "dirlink/deep/k",
        "dirlink/new",
        "keys/id.pem",
        "keys/../keys/id.pem",
        "keys/new.pem",
        ".env",
        "./.env",
        "keys/../.env",
    ] {
        for (name, arguments) in operations(&format!("/work/{path}"), path) {
            let outcome = call(&runtime, name, arguments.clone()).await;
            assert!(!outcome.is_success(), "{name} {arguments}: {outcome:#?}");
            assert!(!shows(&outcome), "{name} {arguments}: {outcome:#?}");
        }
    }
    // Another name of a denied file, and a link to one: the content stays out of reach.
    for path in ["hard", "link", "./hard", "top/../hard"] {
        for (name, arguments) in operations(&format!("/work/{path}"), path) {
            let outcome = call(&runtime, name, arguments.clone()).await;
            let touches = ["read", "open", "append", "truncate", "write", "list", "size", "times", "stream"];
            if touches.iter().any(|word| name.contains(word)) {
                assert!(!outcome.is_success(), "{name} {arguments}: {outcome:#?}");
            }
            assert!(!shows(&outcome), "{name} {arguments}: {outcome:#?}");
            // The link itself is the tool's to remove.
            if fs::symlink_metadata(folder.path().join("link")).is_err() {
                symlink("top/secrets/k", folder.path().join("link")).unwrap();
            }
        }
    }
    let after = state_below(folder.path());
    for name in ["top/secrets/k", "top/secrets/deep/k", "keys/id.pem", ".env"] {
        let path = folder.path().join(name);
        assert_eq!(after.get(&path).map(|state| &state.0), before.get(&path).map(|state| &state.0), "{name}");
        assert_eq!(after.get(&path).map(|state| state.1), before.get(&path).map(|state| state.1), "{name}");
    }
}

#[tokio::test]
async fn a_folder_above_what_is_denied_stays_where_it_is() {
    let folder = folder();
    let runtime = probing(grant(&folder), Limits::new());
    let outside = tempfile::tempdir().unwrap();
    for (name, arguments) in [
        ("fs_rename", json!({ "source": "/work/top", "target": "/work/moved" })),
        ("fs_rename", json!({ "source": "/work/top/secrets", "target": "/work/moved" })),
        ("fs_rename", json!({ "source": "/work/top/secrets", "target": "/work/top/open/moved" })),
        ("fs_rename", json!({ "source": "/work/keys", "target": "/work/moved" })),
        ("fs_rename", json!({ "source": "/work/keys/", "target": "/work/moved/" })),
        ("fs_remove_all", json!({ "path": "/work/top" })),
        ("fs_rmdir", json!({ "path": "/work/top/secrets/deep" })),
        ("fs_link", json!({ "source": "/work/top/secrets/k", "target": "/work/copy" })),
        ("fs_link", json!({ "source": "/work/hard", "target": "/work/copy" })),
    ] {
        let outcome = call(&runtime, name, arguments.clone()).await;
        assert!(!outcome.is_success(), "{name} {arguments}: {outcome:#?}");
        assert!(outcome.denials.iter().all(|denial| denial.capability == "dirs"), "{outcome:#?}");
        assert!(!outcome.denials.is_empty(), "{name} {arguments}: {outcome:#?}");
        for kept in ["top/secrets/k", "top/secrets/deep/k", "keys/id.pem"] {
            assert_eq!(fs::read_to_string(folder.path().join(kept)).unwrap(), SECRET, "{name} {arguments}");
        }
    }
    drop(outside);
    // What is not above anything denied moves freely.
    fs::create_dir(folder.path().join("plain")).unwrap();
    let free = call(&runtime, "fs_rename", json!({ "source": "/work/plain", "target": "/work/moved" })).await;
    assert!(free.is_success(), "{free:#?}");
}

#[tokio::test]
async fn what_is_denied_is_not_listed_found_or_searched() {
    let folder = folder();
    let files = ToolComponent::builtin("files").grant(grant(&folder));
    let runtime = built(builder().component(files));
    let call = async |name: &str, arguments: Value| {
        let outcome = call(&runtime, name, arguments).await;
        assert!(!shows(&outcome), "{outcome:#?}");
        outcome.text()
    };
    let listing = call("list_dir", json!({})).await;
    assert!(!listing.contains(".env") && listing.contains("inside.txt"), "{listing}");
    assert!(!call("list_dir", json!({ "path": "keys" })).await.contains(".pem"));
    let found = call("glob", json!({ "pattern": "**" })).await;
    assert!(
        !found.contains(".pem") && !found.contains("secrets/k") && found.contains("keys/readme"),
        "{found}"
    );
    let matches = call("grep", json!({ "pattern": "SECRET|inside", "include_ignored": true })).await;
    assert!(!matches.contains("SECRET") && matches.contains("keys/readme"), "{matches}");
    for path in [".env", "keys/id.pem", "top/secrets/k", "hard", "link", "dirlink/k"] {
        let text = call("read_file", json!({ "path": path })).await;
        assert!(text.contains("not permitted"), "{path}: {text}");
        let text = call("write_file", json!({ "path": path, "content": "x" })).await;
        assert!(text.contains("not permitted"), "{path}: {text}");
    }
}

#[test]
fn patterns_that_cannot_work_are_refused_at_load() {
    let folder = folder();
    for pattern in ["/etc/**", "../x", "[", "", "."] {
        let dir = DirGrant::new(folder.path(), "/work", Access::Read).deny(pattern);
        let component = ToolComponent::builtin("files").grant(Grant::none().dir_grant(dir));
        let error = builder().component(component).build_blocking().unwrap_err().to_string();
        assert!(error.contains(&format!("`{pattern}`")), "{error}");
    }
}
