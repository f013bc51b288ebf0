//! Whatever path a tool writes, it reaches nothing outside the directories that it is granted.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolcell::{Access, Grant, Limits, Outcome, Runtime, ToolComponent};
use toolcell_tests::{builder, built, call, probing};

const SECRET: &str = "SECRET-CONTENT";

/// A folder that is granted, among others that are not.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// `ws` is granted; its links lead to `ws-evil`, `other` and `secret.txt` beside it.
    pub(crate) fn new() -> Self {
        let place = Self { folder: tempfile::Builder::new().prefix("host-side-").tempdir().unwrap() };
        for folder in ["ws/dir", "ws-evil", "other/deep"] {
            fs::create_dir_all(place.host(folder)).unwrap();
        }
        for file in ["secret.txt", "ws-evil/f", "other/f", "other/deep/f"] {
            fs::write(place.host(file), SECRET).unwrap();
        }
        for file in ["ws/inside.txt", "ws/dir/f"] {
            fs::write(place.host(file), "inside").unwrap();
        }
        symlink("inside.txt", place.host("ws/inlink")).unwrap();
        symlink("dir", place.host("ws/indir")).unwrap();
        symlink(place.host("secret.txt"), place.host("ws/link")).unwrap();
        symlink("../other", place.host("ws/dirlink")).unwrap();
        symlink("../other/", place.host("ws/slashlink")).unwrap();
        symlink("../../other", place.host("ws/dir/deeplink")).unwrap();
        place
    }

    pub(crate) fn host(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn grant(&self, access: Access) -> Grant {
        Grant::none().dir(self.host("ws"), "/work", access)
    }

    /// Everything beside the granted folder: bytes, times, links.
    fn outside(&self) -> BTreeMap<PathBuf, (Vec<u8>, i64, i64, u64, u32)> {
        let mut found = state_below(self.folder.path());
        found.retain(|path, _| !path.starts_with(self.host("ws")));
        // The granted folder is an entry of the one above it, which therefore stays too.
        found
    }

    /// Whether something of the host shows in what a model or an operator reads.
    fn shows(&self, outcome: &Outcome) -> bool {
        let shown = serde_json::to_string(outcome).unwrap();
        shown.contains(SECRET) || shown.contains("host-side-") || shown.contains("root:x:0")
    }
}

/// Bytes, modification time, number of names and mode of everything below `folder`.
pub(crate) fn state_below(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, i64, i64, u64, u32)> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let bytes = match metadata.file_type() {
            kind if kind.is_dir() => {
                waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
                Vec::new()
            }
            kind if kind.is_symlink() => fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
            kind if kind.is_file() => fs::read(&path).unwrap(),
            _ => Vec::new(),
        };
        let links = if metadata.is_dir() { 0 } else { metadata.nlink() };
        let mode = metadata.permissions().mode();
        found.insert(path, (bytes, metadata.mtime(), metadata.mtime_nsec(), links, mode));
    }
    found
}

/// Every operation by path of the standard library, and of the bindings on the first grant, where `raw` paths are
/// relative to it.
pub(crate) fn operations(path: &str, raw: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("fs_read", json!({ "path": path })),
        ("fs_write", json!({ "path": path, "content": "overwritten" })),
        ("fs_append", json!({ "path": path, "content": "more" })),
        ("fs_truncate", json!({ "path": path, "size": 0 })),
        ("fs_open_truncating", json!({ "path": path })),
        ("fs_list", json!({ "path": path })),
        ("fs_stat", json!({ "path": path })),
        ("fs_set_times", json!({ "path": path, "seconds": 1 })),
        ("fs_rename", json!({ "source": path, "target": "/work/taken" })),
        ("fs_rename", json!({ "source": "/work/inside.txt", "target": path })),
        ("fs_link", json!({ "source": path, "target": "/work/taken" })),
        ("fs_link", json!({ "source": "/work/inside.txt", "target": path })),
        ("fs_mkdir", json!({ "path": path })),
        ("fs_rmdir", json!({ "path": path })),
        ("fs_remove", json!({ "path": path })),
        ("fs_remove_all", json!({ "path": path })),
        ("raw_open", json!({ "preopen": 0, "path": raw, "mode": ["follow", "read"] })),
        ("raw_open", json!({ "preopen": 0, "path": raw, "mode": ["follow", "read", "truncate"] })),
        ("raw_open", json!({ "preopen": 0, "path": raw, "mode": ["follow", "read", "directory"] })),
        ("raw_open", json!({ "preopen": 0, "path": raw, "mode": ["follow", "create", "write"] })),
        ("raw_stat", json!({ "preopen": 0, "path": raw, "follow": true })),
        ("raw_hash", json!({ "preopen": 0, "path": raw, "follow": true })),
        ("raw_read", json!({ "preopen": 0, "path": raw, "offset": 0, "length": 100 })),
        ("raw_read_stream", json!({ "preopen": 0, "path": raw, "offset": 0, "length": 100 })),
        (
            "raw_write",
            json!({ "preopen": 0, "path": raw, "mode": ["follow", "write"], "offset": 0, "content": "eA==" }),
        ),
        ("raw_set_size", json!({ "preopen": 0, "path": raw, "mode": ["follow", "write"], "size": 0 })),
        ("raw_list", json!({ "preopen": 0, "path": raw })),
        (
            "raw_set_times",
            json!({ "preopen": 0, "path": raw, "follow": true, "seconds": 1, "nanoseconds": 0 }),
        ),
        ("raw_rename", json!({ "source_preopen": 0, "source": raw, "target_preopen": 0, "target": "taken" })),
        (
            "raw_rename",
            json!({ "source_preopen": 0, "source": "inside.txt", "target_preopen": 0, "target": raw }),
        ),
        (
            "raw_link",
            json!({ "source_preopen": 0, "source": raw, "follow": false, "target_preopen": 0, "target": "taken" }),
        ),
        (
            "raw_link",
            json!({ "source_preopen": 0, "source": raw, "follow": true, "target_preopen": 0, "target": "taken" }),
        ),
        (
            "raw_link",
            json!({ "source_preopen": 0, "source": "inside.txt", "follow": false, "target_preopen": 0, "target": raw }),
        ),
        ("raw_symlink", json!({ "preopen": 0, "content": "inside.txt", "path": raw })),
        ("raw_unlink", json!({ "preopen": 0, "path": raw })),
        ("raw_mkdir", json!({ "preopen": 0, "path": raw })),
        ("raw_rmdir", json!({ "preopen": 0, "path": raw })),
    ]
}

/// Operations that follow a link at the end of a path.
fn follows(name: &str, arguments: &Value) -> bool {
    let on_the_link = ["rename", "link", "symlink", "unlink", "mkdir", "rmdir", "remove", "remove_all"];
    let name = name.split_once('_').unwrap().1;
    !on_the_link.contains(&name) && arguments.get("follow") != Some(&json!(false))
}

/// Asks for the operation and expects a refusal that gives nothing away.
async fn refused(place: &Place, runtime: &Runtime, name: &str, arguments: Value) -> Outcome {
    let outcome = call(runtime, name, arguments.clone()).await;
    assert!(!outcome.is_success(), "{name} {arguments} was done: {outcome:#?}");
    assert!([1, 4].contains(&outcome.exit_code()), "{name} {arguments}: {outcome:#?}");
    assert!(!place.shows(&outcome), "{name} {arguments} shows the host: {outcome:#?}");
    outcome
}

#[tokio::test]
async fn inside_everything_that_is_granted_works() {
    let place = Place::new();
    let runtime = probing(place.grant(Access::ReadWrite), Limits::new());
    for (name, arguments) in [
        ("fs_read_text", json!({ "path": "/work/inlink" })),
        ("fs_read_text", json!({ "path": "/work/indir/f" })),
        ("fs_read_text", json!({ "path": "/work/dir/../inside.txt" })),
        ("fs_list", json!({ "path": "/work" })),
        ("fs_list", json!({ "path": "/work/indir/" })),
        ("fs_stat", json!({ "path": "/work/dir/" })),
        ("fs_write", json!({ "path": "/work/new", "content": "text" })),
        ("fs_append", json!({ "path": "/work/new", "content": "more" })),
        ("fs_truncate", json!({ "path": "/work/new", "size": 2 })),
        ("fs_set_times", json!({ "path": "/work/new", "seconds": 77 })),
        ("fs_rename", json!({ "source": "/work/new", "target": "/work/dir/renamed" })),
        ("fs_link", json!({ "source": "/work/dir/renamed", "target": "/work/second" })),
        ("fs_remove", json!({ "path": "/work/dir/renamed" })),
        ("raw_symlink", json!({ "preopen": 0, "content": "inside.txt", "path": "made" })),
        ("raw_read_link", json!({ "preopen": 0, "path": "made" })),
        ("fs_mkdir", json!({ "path": "/work/made-folder" })),
        ("fs_rmdir", json!({ "path": "/work/made-folder" })),
    ] {
        let outcome = call(&runtime, name, arguments.clone()).await;
        assert!(outcome.is_success(), "{name} {arguments}: {outcome:#?}");
        assert_eq!(outcome.denials, [], "{name} {arguments}");
    }
    assert_eq!(fs::read(place.host("ws/second")).unwrap(), b"te");
    assert_eq!(fs::metadata(place.host("ws/second")).unwrap().mtime(), 77);
    assert_eq!(fs::read_link(place.host("ws/made")).unwrap(), Path::new("inside.txt"));
}

#[tokio::test]
async fn no_operation_gets_out_by_any_spelling_or_link() {
    let place = Place::new();
    let outside = place.outside();
    for access in [Access::ReadWrite, Access::Read] {
        let runtime = probing(place.grant(access), Limits::new());
        for through in [
            "../secret.txt",
            "../ws-evil/f",
            "dir/../../secret.txt",
            "./dir/.././../other/f",
            "dirlink/f",
            "dirlink/deep/f",
            "dirlink/../secret.txt",
            "slashlink/f",
            "dir/deeplink/f",
            "indir/deeplink/f",
            "dirlink/new",
            "../new",
            "dirlink/.",
            "link/.",
            "..",
            "../",
            "dirlink/..",
        ] {
            for (name, arguments) in operations(&format!("/work/{through}"), through) {
                refused(&place, &runtime, name, arguments).await;
            }
        }
        // The link itself is the tool's; what it leads to is not. With a slash behind it, it means what it leads to.
        for link in ["link", "dirlink", "slashlink", "dir/deeplink", "link/", "dirlink/", "slashlink//"] {
            for (name, arguments) in operations(&format!("/work/{link}"), link) {
                if follows(name, &arguments) {
                    refused(&place, &runtime, name, arguments).await;
                }
            }
        }
        // Absolute paths never mean the host's root: the standard library does not even ask the host.
        for absolute in ["/etc/passwd", "/work-evil/f", "/", "/proc/self/environ", "/wor", "//etc/passwd"] {
            for (name, arguments) in operations(absolute, absolute) {
                refused(&place, &runtime, name, arguments).await;
            }
        }
        assert!(!place.host("ws/taken").exists());
    }
    assert_eq!(place.outside(), outside);
}

#[tokio::test]
async fn a_link_that_a_tool_makes_leads_nowhere() {
    let place = Place::new();
    let runtime = probing(place.grant(Access::ReadWrite), Limits::new());
    let secret = place.host("secret.txt");
    for (number, content) in
        ["/etc/passwd", "../secret.txt", "../other/", secret.to_str().unwrap(), "dir/../../other"]
            .into_iter()
            .enumerate()
    {
        let link = format!("made-{number}");
        let arguments = json!({ "preopen": 0, "content": content, "path": link });
        let made = call(&runtime, "raw_symlink", arguments).await;
        if !made.is_success() {
            assert!(made.text().contains("not-permitted"), "{made:#?}");
            continue;
        }
        for path in [link.clone(), format!("{link}/"), format!("{link}/f")] {
            for (name, arguments) in operations(&format!("/work/{path}"), &path) {
                if follows(name, &arguments) || path.ends_with("/f") {
                    refused(&place, &runtime, name, arguments).await;
                }
            }
        }
    }
}

#[tokio::test]
async fn a_file_tool_says_which_path_and_which_grants_there_are() {
    let place = Place::new();
    let files = ToolComponent::builtin("files").grant(place.grant(Access::ReadWrite));
    let runtime = built(builder().component(files));
    for path in [
        "/work/../etc/passwd",
        "/etc/passwd",
        "/work/link",
        "/work/dirlink/f",
        "/work-evil/f",
        "../secret.txt",
        "dirlink/../secret.txt",
    ] {
        for (name, arguments) in [
            ("read_file", json!({ "path": path })),
            ("write_file", json!({ "path": format!("{path}/../new"), "content": "x" })),
            ("edit_file", json!({ "path": path, "old": "SECRET", "new": "x" })),
            ("list_dir", json!({ "path": path })),
            ("grep", json!({ "pattern": ".", "path": path })),
            ("glob", json!({ "pattern": "**", "path": path })),
        ] {
            let outcome = refused(&place, &runtime, name, arguments.clone()).await;
            let text = outcome.text();
            assert!(text.contains("not permitted"), "{name} {arguments}: {text}");
            assert!(text.contains("(/work)"), "{name} {arguments}: {text}");
        }
    }
}

#[tokio::test]
async fn denials_name_what_the_host_refused_even_if_the_tool_swallowed_it() {
    let place = Place::new();
    let runtime = probing(place.grant(Access::Read), Limits::new());
    for (name, arguments, operation, target) in [
        ("fs_read", json!({ "path": "/work/link" }), "open", "/work/link"),
        ("fs_read", json!({ "path": "/work/../secret.txt" }), "open", "/work/../secret.txt"),
        ("fs_stat", json!({ "path": "/work/dirlink/f" }), "stat", "/work/dirlink/f"),
        ("fs_write", json!({ "path": "/work/inside.txt", "content": "" }), "write", "/work/inside.txt"),
        // Says how many it could open, and succeeds.
        ("fs_open_many", json!({ "path": "/work/link", "count": 3 }), "open", "/work/link"),
    ] {
        let outcome = call(&runtime, name, arguments.clone()).await;
        assert_eq!(outcome.is_success(), name == "fs_open_many", "{outcome:#?}");
        let [denial] = outcome.denials.as_slice() else { panic!("{name} {arguments}: {outcome:#?}") };
        assert_eq!(
            (denial.capability.as_str(), denial.operation.as_str(), denial.target.as_str()),
            ("dirs", operation, target),
            "{name}"
        );
        assert_eq!(denial.setting, "component.probe.grant.dirs");
    }
}

#[tokio::test]
async fn hostile_path_strings_are_refused_and_harm_nothing() {
    let place = Place::new();
    let outside = place.outside();
    let runtime = probing(place.grant(Access::ReadWrite), Limits::new());
    let long_name = "n".repeat(5_000);
    let long_path = "d/".repeat(35_000);
    // Names that are odd and nothing else may be made and used; the others never.
    let odd = [
        "C:f", "CON", "COM¹", "~", "\u{fffd}", "%2e%2e", "..\\x", "\u{202e}", ". .", "a\nb", "\\\\?\\x", " ",
    ];
    let hostile = [
        "",
        "../x",
        "a/../../x",
        "/etc/passwd",
        "nul\0inside",
        "\0",
        "new\nline/x",
        "C:\\f/x",
        "COM¹/x",
        "file:///etc/passwd",
        "~/.ssh/id",
        "%2e%2e/x",
        "/proc/self/root/etc/passwd",
        "/dev/stdin",
        "inside.txt/x",
        "inside.txt/..",
        &long_name,
        &long_path,
    ];
    for path in odd.into_iter().chain(hostile) {
        for (name, arguments) in operations(path, path) {
            let outcome = call(&runtime, name, arguments.clone()).await;
            assert!(!outcome.is_success() || odd.contains(&path), "{path:.40?} {name}: {outcome:#?}");
            assert!(!place.shows(&outcome), "{path:.40?} {name}: {outcome:#?}");
            assert_eq!(
                outcome.exit_code(),
                u8::from(!outcome.is_success()),
                "{path:.40?} {name}: {outcome:#?}"
            );
            assert!(
                serde_json::to_string(&outcome).unwrap().len() < 4_000,
                "{name} {path:.40?}: {outcome:#?}"
            );
        }
    }
    for bytes in ["/w==", "YS//Yg==", "7aCA", "Li4v/w=="] {
        let arguments = json!({ "preopen": 0, "path": bytes, "mode": ["read"] });
        let outcome = call(&runtime, "raw_open_bytes", arguments).await;
        assert!(!outcome.is_success() && !place.shows(&outcome), "{bytes}: {outcome:#?}");
    }
    assert_eq!(place.outside(), outside);
    let alive = call(&runtime, "fs_list", json!({ "path": "/work" })).await;
    assert!(alive.is_success(), "{alive:#?}");
}

#[tokio::test]
async fn grants_side_by_side_and_inside_each_other_keep_their_own_bounds() {
    let place = Place::new();
    let grant = Grant::none()
        .dir(place.host("ws"), "/work", Access::Read)
        .dir(place.host("other"), "/other", Access::ReadWrite)
        .dir(place.host("ws/dir"), "/work/dir", Access::ReadWrite);
    let runtime = probing(grant, Limits::new());
    let secret = place.host("secret.txt");
    for (name, arguments, works) in [
        ("fs_read", json!({ "path": "/work/inside.txt" }), true),
        ("fs_read", json!({ "path": "/other/f" }), true),
        ("fs_write", json!({ "path": "/other/new", "content": "x" }), true),
        ("fs_write", json!({ "path": "/work/dir/new", "content": "x" }), true),
        // A link from the one into the other leads out of the one that it is in.
        ("fs_read", json!({ "path": "/work/dirlink/f" }), false),
        ("fs_write", json!({ "path": "/work/new", "content": "x" }), false),
        ("fs_write", json!({ "path": "/work/dirlink/new", "content": "x" }), false),
        ("fs_rename", json!({ "source": "/work/inside.txt", "target": "/other/taken" }), false),
        ("fs_rename", json!({ "source": "/other/f", "target": "/work/inside.txt" }), false),
        ("fs_link", json!({ "source": "/work/inside.txt", "target": "/other/taken" }), false),
        ("fs_link", json!({ "source": "/work/inside.txt", "target": "/work/dir/taken" }), false),
        ("fs_link", json!({ "source": "/other/f", "target": "/work/taken" }), false),
        ("fs_rename", json!({ "source": "/work/dir", "target": "/other/dir" }), false),
        ("fs_read", json!({ "path": secret.to_str().unwrap() }), false),
    ] {
        let outcome = call(&runtime, name, arguments.clone()).await;
        assert_eq!(outcome.is_success(), works, "{name} {arguments}: {outcome:#?}");
    }
    assert_eq!(fs::read(place.host("ws/inside.txt")).unwrap(), b"inside");
}

#[test]
fn grants_that_cannot_work_are_refused_at_load() {
    let place = Place::new();
    let write = |host: PathBuf, guest: &str| Grant::none().dir(host, guest, Access::Read);
    for (grant, expected) in [
        (write(place.host("missing"), "/work"), "does not exist"),
        (write(place.host("secret.txt"), "/work"), "director"),
        (write(place.host("ws"), "work"), "absolute"),
        (write(place.host("ws"), "/work/../x"), "absolute and plain"),
        (write(place.host("ws"), "/w").dir(place.host("other"), "/w/", Access::Read), "/w"),
    ] {
        let component = ToolComponent::builtin("files").grant(grant);
        let error = builder().component(component).build_blocking().unwrap_err().to_string();
        assert!(error.to_lowercase().contains(expected), "{error}");
        assert!(error.contains("component.files.grant.dirs"), "{error}");
    }
    let slash = format!("{}/", place.host("ws").display());
    let component = ToolComponent::builtin("files").grant(write(slash.into(), "/work/"));
    builder().component(component).build_blocking().unwrap();
}
