//! Configurations as they are written, with what their readers are told.

#![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

mod audit;
mod components;
mod documents;

use std::fmt::Write;
use std::os::unix::fs::symlink;

use super::*;
use crate::config::Source;
use crate::policy::Access;

/// A project with what the cases name: folders `src` and `tools`, a component, a FIFO, a home.
fn project() -> tempfile::TempDir {
    let project = tempfile::tempdir().unwrap();
    let at = |name: &str| project.path().join(name);
    for folder in ["src", "tools", "home/notes", "target"] {
        std::fs::create_dir_all(at(folder)).unwrap();
    }
    std::fs::write(at("tool.wasm"), "").unwrap();
    symlink("src", at("link")).unwrap();
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, at("fifo"), fifo, 0o600.into(), 0).unwrap();
    project
}

fn parse(project: &tempfile::TempDir, text: &str) -> Result<Config> {
    let home = project.path().join("home");
    Config::parse(text, &project.path().join("toolcell.toml"), "toolcell.toml", Some(&home))
}

/// Every case with what its reader is told.
fn refusals(cases: &[&str]) -> String {
    let project = project();
    let mut shown = String::new();
    for case in cases {
        let told = match parse(&project, case) {
            Ok(_) => "ACCEPTED".to_owned(),
            Err(error) => error.to_string(),
        };
        assert!(!told.contains(project.path().to_str().unwrap()), "shows a host path: {told}");
        writeln!(shown, "{}\n  → {}\n", case.trim(), told.replace('\n', "\n  → ")).unwrap();
    }
    shown
}

#[test]
fn everything_wrong_is_said_at_once() {
    let project = project();
    let text =
        "[limits]\nmemroy = 3\ntimeout = 5\n[component.a]\npath = \"missing\"\n[component.B]\npath = 3\n";
    let error = parse(&project, text).unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(lines, ["toolcell.toml:2:", "toolcell.toml:3:", "toolcell.toml:5:", "toolcell.toml:7:"]);
}

#[test]
fn a_full_file_is_read_with_its_lines() {
    let project = project();
    let text = r#"
[policy]
call_timeout = "1m"
[limits]
timeout = "5s"
fuel = "off"
handles = 50
concurrent_cells = 4
max_waiting = 0
queue_timeout = "0s"
batch_calls = 7
batch_bytes = "1MiB"
[output]
max_bytes = "4KiB"
max_lines = 100

[component.files]
path = "builtin:files"
prefix = "fs_"
rename = { list_dir = "ls" }
tools = ["grep"]
instructions = "be brief"
config = { city = "Oslo" }
repair = "json"
[component.files.grant]
dirs = [
  { host = "src/", guest = "/src/" },
  { host = "~/notes", guest = "/notes", access = "read-write", deny = ["*.key"] },
]
env = { LANG = "C.UTF-8" }
[component.files.limits]
memory = 67108864
[component.files.tool.grep]
title = "Search"
description = "Searches."
limits.timeout = "1s"

[component.off]
path = "gone.wasm"
enabled = false
grant.dirs = [{ host = "gone", guest = "/gone" }]

[component.mine]
path = "tool.wasm"
[component.more]
path = "tools"
"#;
    let config = parse(&project, text).unwrap();
    assert_eq!(config.call_timeout, Duration::from_secs(60));
    assert_eq!(config.call_timeout_origin.at.as_deref(), Some("toolcell.toml:3"));
    for (setting, at) in [
        ("limits.max_waiting", Some("toolcell.toml:9")),
        ("limits.batch_calls", Some("toolcell.toml:11")),
        ("output.max_lines", Some("toolcell.toml:15")),
        ("component.files.grant.env", Some("toolcell.toml:30")),
        ("component.mine.grant.env", None),
    ] {
        assert_eq!(config.origin(setting).at.as_deref(), at, "{setting}");
    }
    let limits = Limits::resolve([&config.limits]);
    assert_eq!((limits.timeout(), limits.fuel()), (Duration::from_secs(5), None));
    assert_eq!(limits.get(Limit::Handles), 50);
    let Admission { concurrent_cells, max_waiting, queue_timeout, batch_calls, batch_bytes } =
        config.admission;
    assert_eq!((concurrent_cells, max_waiting, queue_timeout), (4, 0, Duration::ZERO));
    assert_eq!((batch_calls, batch_bytes), (7, 1 << 20));
    assert_eq!((config.output.max_bytes, config.output.max_lines), (4096, 100));

    let names: Vec<&str> = config.components.iter().map(|component| component.name.as_str()).collect();
    assert_eq!(names, ["files", "mine", "more", "off"]);
    let [files, mine, more, off] = config.components.as_slice() else { unreachable!() };
    let root = project.path().canonicalize().unwrap();
    let src = DirGrantOf { host: root.join("src"), guest: "/src", access: Access::Read };
    let notes = DirGrantOf { host: root.join("home/notes"), guest: "/notes", access: Access::ReadWrite };
    let dirs: Vec<DirGrantOf<'_>> = files.grant.dirs.iter().map(DirGrantOf::from).collect();
    assert_eq!(dirs, [src, notes]);
    let (_, origin) = files.dirs().nth(1).unwrap();
    assert_eq!(&*origin.setting, "component.files.grant.dirs[1]");
    assert_eq!(origin.at.as_deref(), Some("toolcell.toml:28"));
    assert_eq!(files.grant.env.get("LANG").map(String::as_str), Some("C.UTF-8"));
    assert_eq!(files.grant.config.get("city").map(String::as_str), Some("Oslo"));
    let grep = files.tool_settings.get("grep").unwrap();
    assert_eq!(grep.title.as_deref(), Some("Search"));
    let effective = Limits::resolve([&config.limits, &files.limits, &grep.limits]);
    let hit = effective.hit(Limit::Timeout, 2_000_000_000);
    assert_eq!(hit.setting, "component.files.tool.grep.limits.timeout");
    assert_eq!(hit.at.as_deref(), Some("toolcell.toml:36"));
    assert_eq!(effective.get(Limit::Memory), 64 << 20);
    assert_eq!(mine.source, Source::File(project.path().join("tool.wasm")));
    assert_eq!(more.source, Source::Folder(project.path().join("tools")));
    assert!(!off.enabled);
}

#[derive(Debug, PartialEq)]
struct DirGrantOf<'a> {
    host: PathBuf,
    guest: &'a str,
    access: Access,
}

impl<'a> From<&'a crate::policy::DirGrant> for DirGrantOf<'a> {
    fn from(dir: &'a crate::policy::DirGrant) -> Self {
        Self { host: dir.host.clone(), guest: &dir.guest, access: dir.access }
    }
}

#[test]
fn an_empty_file_grants_nothing() {
    let project = project();
    for text in ["", "# nothing\n", "\u{feff}# with a mark\r\n[limits]\r\n"] {
        let config = parse(&project, text).unwrap();
        assert!(config.components.is_empty());
        assert_eq!(config.limits, Limits::new());
    }
}

#[test]
fn depth_does_not_exhaust_the_stack() {
    let project = project();
    let deep = 200_000;
    for text in [
        format!("a = {}", "[".repeat(deep)),
        format!("a = {}{}", "[".repeat(deep), "]".repeat(deep)),
        format!("a = {}", "{a=".repeat(deep)),
        format!("{}a = 1", "a.".repeat(deep)),
        format!("[{}a]", "a.".repeat(deep)),
        format!("[component.a.config]\n{}a = 1", "a.".repeat(deep)),
        format!("[component.a.config]\na = {}1{}", "[".repeat(60), "]".repeat(60)),
    ] {
        assert!(parse(&project, &text).is_err());
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "([\\[\\]a-z.=\"{}, \\n#0-9~/*é]|component|limits|path|grant|dirs){0,40}") {
        let folder = Path::new("/nonexistent/toolcell.toml");
        let _ = Config::parse(&text, folder, "toolcell.toml", None);
    }
}
