//! Writing changes what it was asked to change and nothing else, and a call that dies leaves the old content.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use toolcell::{Access, ErrorKind, Grant, Limit, Limits, ToolComponent};
use toolcell_tests::{builder, built, call, probing};

use crate::a_file_tool_reads_pages::file_tools;

/// The names in a folder, so that a file left behind shows.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn an_edit_keeps_everything_else_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = file_tools(folder.path());
    let path = folder.path().join("f");
    for (content, old, new, expected) in [
        ("one\r\ntwo\r\nthree\r\n", "two", "2", "one\r\n2\r\nthree\r\n"),
        ("one\r\ntwo\r\nthree\r\n", "one\ntwo", "1\n2", "1\r\n2\r\nthree\r\n"),
        ("one\r\ntwo\nthree\r\n", "two", "2", "one\r\n2\nthree\r\n"),
        ("\u{feff}one\ntwo\n", "one", "1", "\u{feff}1\ntwo\n"),
        ("one\ntwo", "two", "2", "one\n2"),
        ("one\n\n\n", "one", "1", "1\n\n\n"),
        ("tab\there \n", "tab\there ", "x", "x\n"),
        ("form\u{c}feed\u{b}\n", "form", "F", "F\u{c}feed\u{b}\n"),
        ("e\u{301} ü\n", "ü", "u", "e\u{301} u\n"),
    ] {
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let outcome = call(&runtime, "edit_file", json!({ "path": "f", "old": old, "new": new })).await;
        assert!(outcome.is_success(), "{content:?}: {outcome:#?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), expected, "{content:?}");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o755);
        assert_eq!(names(folder.path()), ["f"]);
    }
    fs::write(&path, b"caf\xe9 one\n").unwrap();
    let outcome = call(&runtime, "edit_file", json!({ "path": "f", "old": "one", "new": "1" })).await;
    let bytes = fs::read(&path).unwrap();
    assert_eq!(
        bytes,
        if outcome.is_success() { &b"caf\xe9 1\n"[..] } else { b"caf\xe9 one\n" },
        "{outcome:#?}"
    );
}

#[tokio::test]
async fn an_edit_that_is_not_clear_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    fs::write(&path, "one\none\nthree\n").unwrap();
    fs::write(folder.path().join("binary"), b"\0\0one\0").unwrap();
    let before = fs::metadata(&path).unwrap().mtime_nsec();
    let runtime = file_tools(folder.path());
    for (arguments, expected) in [
        (json!({ "path": "f", "old": "two", "new": "2" }), "not"),
        (json!({ "path": "f", "old": "one", "new": "1" }), "2"),
        (json!({ "path": "f", "old": "", "new": "1" }), "empty"),
        (json!({ "path": "f", "old": "one", "new": "one" }), "same"),
        (json!({ "path": "missing", "old": "one", "new": "1" }), "does not exist"),
        (json!({ "path": "binary", "old": "one", "new": "1" }), "binary"),
        (json!({ "path": ".", "old": "one", "new": "1" }), "folder"),
    ] {
        let outcome = call(&runtime, "edit_file", arguments.clone()).await;
        assert_eq!(outcome.exit_code(), 1, "{arguments}: {outcome:#?}");
        assert!(outcome.text().contains(expected), "{arguments}: {}", outcome.text());
    }
    assert_eq!(fs::metadata(&path).unwrap().mtime_nsec(), before);
    let all =
        call(&runtime, "edit_file", json!({ "path": "f", "old": "one", "new": "1", "all": true })).await;
    assert!(all.is_success(), "{all:#?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "1\n1\nthree\n");
}

#[tokio::test]
async fn links_and_other_names_stay_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("deep")).unwrap();
    fs::write(path("deep/target"), "one\n").unwrap();
    symlink("deep/target", path("link")).unwrap();
    let runtime = file_tools(folder.path());

    let outcome = call(&runtime, "edit_file", json!({ "path": "link", "old": "one", "new": "two" })).await;
    assert!(outcome.is_success(), "{outcome:#?}");
    let outcome = call(&runtime, "write_file", json!({ "path": "link", "content": "three\n" })).await;
    assert!(outcome.is_success(), "{outcome:#?}");
    assert_eq!(fs::read_link(path("link")).unwrap(), Path::new("deep/target"));
    assert_eq!(fs::read_to_string(path("deep/target")).unwrap(), "three\n");

    fs::hard_link(path("deep/target"), path("second")).unwrap();
    let outcome =
        call(&runtime, "edit_file", json!({ "path": "second", "old": "three", "new": "four" })).await;
    assert!(outcome.is_success(), "{outcome:#?}");
    assert_eq!(fs::read_to_string(path("second")).unwrap(), "four\n");
    // Both names had one content, and still have, or the other kept the old one: never a part.
    let other = fs::read_to_string(path("deep/target")).unwrap();
    assert!(["three\n", "four\n"].contains(&other.as_str()), "{other:?}");
    assert_eq!(names(folder.path()), ["deep", "link", "second"]);
    assert_eq!(names(&path("deep")), ["target"]);
}

/// Ways for a call to die in the middle of a big write.
#[tokio::test]
async fn a_call_that_dies_while_writing_leaves_the_old_content() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let grant = Grant::none().dir(folder.path(), "/work", Access::ReadWrite);
    let limits = Limits::new().timeout(Duration::from_millis(500)).with(Limit::WriteBytes, 4 << 20);
    let runtime = probing(grant, limits);
    let content = "x".repeat(3 << 20);
    for (ending, kind) in
        [("abandon", None), ("trap", Some(ErrorKind::Trapped)), ("hang", Some(ErrorKind::Timeout))]
    {
        let arguments = json!({
            "path": "/work/f", "content": content, "piece": 65536, "create_parents": false, "ending": ending,
        });
        let outcome = call(&runtime, "replace_file", arguments).await;
        if kind.is_some() {
            assert_eq!(outcome.error_kind(), kind, "{ending}: {:?}", outcome.error);
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "old", "{ending}");
        assert_eq!(names(folder.path()), ["f"], "{ending}");
    }
    // More than may be written, as when a disk is full.
    let arguments = json!({
        "path": "/work/f", "content": "x".repeat(5 << 20), "piece": 65536, "create_parents": false,
        "ending": "commit",
    });
    let outcome = call(&runtime, "replace_file", arguments).await;
    assert!(!outcome.is_success(), "{:?}", outcome.error);
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(names(folder.path()), ["f"]);

    let arguments = json!({
        "path": "/work/f", "content": "new", "piece": 1, "create_parents": false, "ending": "commit",
    });
    let outcome = call(&runtime, "replace_file", arguments).await;
    assert!(outcome.is_success(), "{outcome:#?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o640);
}

#[tokio::test]
async fn a_file_tool_that_is_stopped_leaves_the_old_content() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    fs::write(&path, "old").unwrap();
    let grant = Grant::none().dir(folder.path(), "/work", Access::ReadWrite);
    for (limits, kind) in [
        (Limits::new().timeout(Duration::from_millis(1)), ErrorKind::Timeout),
        (Limits::new().memory(3 << 20), ErrorKind::MemoryLimit),
        (Limits::new().fuel(100_000), ErrorKind::OutOfFuel),
    ] {
        let files = ToolComponent::builtin("files").grant(grant.clone()).limits(limits);
        let runtime = built(builder().component(files));
        runtime.warm().await.unwrap();
        let content = "x\n".repeat(5 << 20);
        let outcome = call(&runtime, "write_file", json!({ "path": "f", "content": content })).await;
        assert_eq!(outcome.error_kind(), Some(kind), "{outcome:#?}");
        // It may have been stopped once the file was there; half of it never is.
        let found = fs::read_to_string(&path).unwrap();
        assert!(found == "old" || found == content, "{kind:?}: {} bytes", found.len());
        assert_eq!(names(folder.path()), ["f"], "{kind:?}");
    }
    let limits = Limits::new().with(Limit::WriteBytes, 1 << 20);
    let runtime = built(builder().component(ToolComponent::builtin("files").grant(grant).limits(limits)));
    let outcome =
        call(&runtime, "write_file", json!({ "path": "new/f", "content": "x\n".repeat(1 << 20) })).await;
    assert_eq!(outcome.exit_code(), 1, "{outcome:#?}");
    assert!(outcome.text().contains("/work/new/f"), "{outcome:#?}");
    assert!(!folder.path().join("new/f").exists());
}

#[tokio::test]
async fn errors_of_the_disk_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    fs::write(folder.path().join("file"), "x").unwrap();
    symlink("loop", folder.path().join("loop")).unwrap();
    symlink("nowhere", folder.path().join("dangling")).unwrap();
    let runtime = file_tools(folder.path());
    for path in [
        "folder",
        "file/below",
        "loop",
        "",
        "/work",
        "new/",
        "new/folder/",
        "file/",
        "new/.",
        &"n".repeat(300),
    ] {
        let outcome = call(&runtime, "write_file", json!({ "path": path, "content": "y" })).await;
        assert_eq!(outcome.exit_code(), 1, "{path}: {outcome:#?}");
    }
    assert_eq!(names(folder.path()), ["dangling", "file", "folder", "loop"]);
    assert_eq!(fs::read_to_string(folder.path().join("file")).unwrap(), "x");
}
