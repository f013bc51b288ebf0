//! FIFOs, sockets and devices are refused at once: opening one would wait, or reach a device.

use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode};
use serde_json::json;
use toolcell::{Access, Grant, Limits, ToolComponent};
use toolcell_tests::{builder, built, call, probing};

fn folder() -> (tempfile::TempDir, Vec<&'static str>) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    rustix::fs::mknodat(CWD, path("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    drop(UnixListener::bind(path("socket")).unwrap());
    let mut names = vec!["fifo", "socket"];
    // Only a privileged user makes device nodes.
    let zero = rustix::fs::makedev(1, 5);
    if rustix::fs::mknodat(CWD, path("zero"), FileType::CharacterDevice, Mode::RUSR | Mode::WUSR, zero)
        .is_ok()
    {
        names.push("zero");
    }
    std::fs::write(path("plain"), "needle\n").unwrap();
    (folder, names)
}

#[tokio::test]
async fn special_files_are_refused_at_once() {
    let (folder, names) = folder();
    let runtime = probing(Grant::none().dir(folder.path(), "/work", Access::ReadWrite), Limits::new());
    for name in names {
        let path = format!("/work/{name}");
        for (tool, arguments) in [
            ("fs_read", json!({ "path": path })),
            ("fs_write", json!({ "path": path, "content": "x" })),
            ("fs_append", json!({ "path": path, "content": "x" })),
            ("fs_truncate", json!({ "path": path, "size": 0 })),
            ("raw_open", json!({ "preopen": 0, "path": name, "mode": ["read", "write"] })),
            ("raw_open", json!({ "preopen": 0, "path": name, "mode": [] })),
        ] {
            let started = Instant::now();
            let outcome = call(&runtime, tool, arguments.clone()).await;
            assert!(started.elapsed() < Duration::from_secs(5), "{tool} {arguments}");
            assert_eq!(outcome.exit_code(), 1, "{tool} {arguments}: {outcome:#?}");
            assert_eq!(outcome.denials.len(), 1, "{tool} {arguments}: {outcome:#?}");
            assert_eq!(outcome.denials[0].target, path);
        }
    }
}

#[tokio::test]
async fn file_tools_go_past_special_files() {
    let (folder, names) = folder();
    let grant = Grant::none().dir(folder.path(), "/work", Access::ReadWrite);
    let runtime = built(builder().component(ToolComponent::builtin("files").grant(grant)));
    let found = call(&runtime, "grep", json!({ "pattern": "needle" })).await;
    assert!(found.is_success() && found.text().contains("needle"), "{found:#?}");
    let listing = call(&runtime, "list_dir", json!({})).await;
    assert!(listing.is_success() && listing.text().contains("fifo"), "{listing:#?}");
    for name in names {
        for (tool, arguments) in [
            ("read_file", json!({ "path": name })),
            ("edit_file", json!({ "path": name, "old": "x", "new": "y" })),
            ("grep", json!({ "pattern": "x", "path": name })),
            ("write_file", json!({ "path": name, "content": "x" })),
        ] {
            let outcome = call(&runtime, tool, arguments).await;
            assert_eq!(outcome.exit_code(), 1, "{tool} {name}: {outcome:#?}");
        }
    }
}
