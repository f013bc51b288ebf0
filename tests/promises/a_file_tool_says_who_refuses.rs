//! A refusal tells the model what kind it is: nothing grants the path, `deny` withholds it, or the file's own
//! permissions are in the way. Only the last is worth asking somebody to change on the disk.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use serde_json::{Value, json};
use toolcell::{Access, DirGrant, Grant, Outcome, Runtime, ToolComponent};
use toolcell_tests::{builder, built, call};

const OUTSIDE: &str = "/etc/passwd is outside the granted directories (/work)";
const BEHIND_A_LINK: &str = "and what that leads to is outside the granted directories (/work), or withheld";
const WITHHELD: &str = "is withheld from tools";
const PERMISSIONS: &str = "the permissions of the file, or of a folder above it, do not allow it";

fn file_tools(folder: &Path) -> Runtime {
    let grant = Grant::none()
        .dir_grant(DirGrant::new(folder, "/work", Access::ReadWrite).deny("secret/**").deny("**/*.key"));
    built(builder().component(ToolComponent::builtin("files").grant(grant)))
}

fn lock(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
}

/// Runs `work` on a thread that no capability lets past a file's mode, as tests may run as root. Guests' threads come
/// from the one that builds their runtime and may no more than it.
fn without_privileges<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let work = move || {
        let passing = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH | CapabilitySet::FOWNER;
        let mut sets = capabilities(None).unwrap();
        sets.effective.remove(passing);
        set_capabilities(None, sets).unwrap();
        work()
    };
    std::thread::scope(|scope| scope.spawn(work).join().unwrap())
}

/// Makes the calls of one tool each on a runtime of their own thread.
fn outcomes(folder: &Path, calls: &[(&str, Value)]) -> Vec<Outcome> {
    without_privileges(|| {
        let executor = tokio::runtime::Builder::new_current_thread().build().unwrap();
        executor.block_on(async {
            let runtime = file_tools(folder);
            let mut outcomes = Vec::new();
            for (tool, arguments) in calls {
                outcomes.push(call(&runtime, tool, arguments.clone()).await);
            }
            outcomes
        })
    })
}

fn tree() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("secret")).unwrap();
    fs::create_dir(path("shut")).unwrap();
    for name in ["secret/f", "tls.key", "locked", "shut/f", "plain"] {
        fs::write(path(name), "needle\n").unwrap();
    }
    symlink("/etc/passwd", path("out")).unwrap();
    symlink("tls.key", path("to-key")).unwrap();
    lock(&path("locked"));
    lock(&path("shut"));
    folder
}

#[test]
fn three_refusals_are_told_apart() {
    let folder = tree();
    let cases = [
        ("/etc/passwd", OUTSIDE),
        ("../etc/passwd", OUTSIDE),
        ("out", BEHIND_A_LINK),
        ("to-key", BEHIND_A_LINK),
        ("secret/f", WITHHELD),
        ("tls.key", WITHHELD),
        ("locked", PERMISSIONS),
        ("shut/f", PERMISSIONS),
    ];
    let calls: Vec<(&str, Value)> =
        cases.iter().map(|(path, _)| ("read_file", json!({ "path": path }))).collect();
    for ((path, expected), outcome) in cases.iter().zip(outcomes(folder.path(), &calls)) {
        assert_eq!(outcome.exit_code(), 1, "{path}: {outcome:#?}");
        let text = outcome.text();
        assert!(text.contains(expected), "{path}: {text}");
        for other in [OUTSIDE, BEHIND_A_LINK, WITHHELD, PERMISSIONS] {
            assert_eq!(text.contains(other), other == *expected, "{path}: {text}");
        }
        // What the operating system refuses is no denial of toolcell's.
        assert_eq!(
            outcome.denials.is_empty(),
            *expected == PERMISSIONS || *path == "/etc/passwd",
            "{outcome:#?}"
        );
        assert!(!text.contains("needle") && !text.contains("root:"), "{text}");
    }
}

#[test]
fn other_tools_say_it_too() {
    let folder = tree();
    let outcomes = outcomes(
        folder.path(),
        &[
            ("list_dir", json!({ "path": "shut" })),
            ("grep", json!({ "path": "locked", "pattern": "needle" })),
            ("edit_file", json!({ "path": "locked", "old": "needle", "new": "x" })),
            ("write_file", json!({ "path": "shut/new", "content": "x" })),
        ],
    );
    for outcome in outcomes {
        assert!(outcome.exit_code() == 1 && outcome.text().contains(PERMISSIONS), "{outcome:#?}");
    }
}

#[test]
fn a_search_counts_what_it_may_not_read() {
    let folder = tree();
    let outcomes = outcomes(folder.path(), &[("grep", json!({ "pattern": "needle" }))]);
    let text = outcomes.first().unwrap().text();
    assert!(text.starts_with("/work/plain\n1: needle\n"), "{text}");
    assert!(
        text.contains(
            "[1 file not readable, by the permissions of the file or a folder above it: /work/locked]"
        ),
        "{text}"
    );
}

#[tokio::test]
async fn a_folder_whose_contents_are_withheld_is_not_called_empty() {
    let folder = tree();
    fs::create_dir(folder.path().join("empty")).unwrap();
    let runtime = file_tools(folder.path());
    let outcome = call(&runtime, "list_dir", json!({ "path": "secret" })).await;
    assert_eq!(outcome.text(), "[what is in the folder is withheld from tools]");
    let denial = outcome.denials.first().unwrap();
    assert!(denial.capability == "dirs" && denial.target.starts_with("/work/secret/"), "{denial:?}");
    let outcome = call(&runtime, "list_dir", json!({ "path": "empty" })).await;
    assert_eq!(outcome.text(), "[the folder is empty]");
    assert_eq!(outcome.denials, []);
}
