#![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::config::{Config, Folders, schema};
use crate::error::Result;

const FULL: &str = r#"
[[hook]]
use = "command"
command = ["./hooks/check.sh", "--strict", "hooks/words.txt"]
on = ["pre"]
tools = ["write_*"]
component = "files"
group = "disk"
timeout = "2s"
env = { TOKEN = "abc123" }

[[hook]]
use = "component"
path = "hooks/check.wasm"
config = { city = "Oslo" }
limits = { memory = "8MiB" }
redacts = true

[[hook]]
use = "retry"
attempts = 5
delay = "10ms"
max_delay = "1s"

[[hook]]
use = "cache"
ttl = "1h"
entries = 10
bytes = "1MiB"
scope = "all"

[[hook]]
use = "rate_limit"
calls = 60
per = "1m"
by = ["tool", "user"]

[[hook]]
use = "command"
command = ["sh", "-c", "true"]
"#;

/// A folder with a program, a text and something that could be a component.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("hooks")).unwrap();
    for (name, mode) in [("check.sh", 0o755), ("words.txt", 0o644), ("check.wasm", 0o644)] {
        let file = folder.path().join("hooks").join(name);
        std::fs::write(&file, "").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    folder
}

fn parse(text: &str, folder: &tempfile::TempDir) -> Result<Config> {
    Config::parse(text, &folder.path().join("toolcell.toml"), "toolcell.toml", None)
}

#[test]
fn every_kind_is_read_shown_and_in_the_schema() {
    let folder = project();
    let config = parse(FULL, &folder).unwrap();
    let shown = serde_json::to_string_pretty(&config.show()["hook"]).unwrap();
    assert!(!shown.contains("abc123"), "{shown}");
    insta::assert_snapshot!(shown.replace(&folder.path().display().to_string(), "/project"));
    let text: Value = toml::from_str(&config.show_text()).unwrap();
    assert_eq!(text, config.show());
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let value: Value = toml::from_str(FULL).unwrap();
    assert!(validator.is_valid(&value), "{:?}", validator.iter_errors(&value).collect::<Vec<_>>());
}

#[test]
fn wrong_hooks_are_refused_with_their_line() {
    let folder = project();
    let mut shown = String::new();
    for case in [
        "hook = 3",
        "[hook]\nuse = \"retry\"",
        "[[hook]]\ntools = [\"a\"]",
        "[[hook]]\nuse = \"comand\"",
        "[[hook]]\nuse = \"retry\"\natempts = 3",
        "[[hook]]\nuse = \"retry\"\nttl = \"1s\"\ncommand = [\"sh\"]\non = [\"pre\"]",
        "[[hook]]\nuse = \"retry\"\nattempts = 11\ndelay = \"soon\"",
        "[[hook]]\nuse = \"command\"",
        "[[hook]]\nuse = \"command\"\ncommand = []",
        "[[hook]]\nuse = \"command\"\ncommand = \"sh\"",
        "[[hook]]\nuse = \"command\"\ncommand = [\"check.sh\"]",
        "[[hook]]\nuse = \"command\"\ncommand = [\"./hooks/words.txt\"]",
        "[[hook]]\nuse = \"command\"\ncommand = [\"sh\"]\non = [\"around\"]",
        "[[hook]]\nuse = \"command\"\ncommand = [\"sh\"]\non = []\nenv = { \"A=B\" = \"c\" }",
        "[[hook]]\nuse = \"command\"\ncommand = [\"sh\"]\non = [\"pre\"]\nredacts = true\ntimeout = 0",
        "[[hook]]\nuse = \"command\"\ncommand = [\"sh\"]\ntools = []\ngroup = \"A b\"",
        "[[hook]]\nuse = \"command\"\ncommand = [\"sh\"]\ntools = [\"a[\"]\ncomponent = \"\"",
        "[[hook]]\nuse = \"component\"",
        "[[hook]]\nuse = \"component\"\npath = \"missing.wasm\"",
        "[[hook]]\nuse = \"component\"\npath = \"hooks\"",
        "[[hook]]\nuse = \"component\"\npath = \"hooks/check.wasm\"\nlimits = { timeout = \"1s\", stack = \"1MiB\", x = 1 }",
        "[[hook]]\nuse = \"cache\"\nscope = \"user\"",
        "[[hook]]\nuse = \"cache\"\nentries = 0\nbytes = \"many\"",
        "[[hook]]\nuse = \"rate_limit\"\ncalls = 3",
        "[[hook]]\nuse = \"rate_limit\"\ncalls = 0\nper = \"1s\"\nby = [\"agent\"]",
    ] {
        let told = parse(case, &folder).map_or_else(|error| error.to_string(), |_| "ACCEPTED".to_owned());
        writeln!(shown, "{case}\n  → {}\n", told.replace('\n', "\n  → ")).unwrap();
    }
    assert!(!shown.contains("ACCEPTED"), "{shown}");
    assert!(!shown.contains(folder.path().to_str().unwrap()), "{shown}");
    insta::assert_snapshot!(shown);
}

#[test]
fn a_write_grant_must_not_reach_what_a_hook_runs() {
    let folder = project();
    let granted = |deny: &str| {
        let text = format!(
            "{FULL}\n[component.a]\npath = \"builtin:files\"\ngrant.dirs = [{{ host = \"hooks\", guest = \"/w\", access = \"read-write\", deny = [{deny}] }}]"
        );
        let folders = Folders::under(&folder.path().join("home"));
        parse(&text, &folder).unwrap().check_write_grants(&folders).map_err(|error| error.to_string())
    };
    let told = granted("").unwrap_err();
    for file in ["check.sh", "words.txt", "check.wasm"] {
        assert!(told.contains(&format!("add {file:?} to its `deny`")), "{told}");
    }
    assert_eq!(granted("\"check.*\", \"words.txt\""), Ok(()));
}

#[test]
fn hooks_of_a_file_that_was_only_found_do_nothing_but_narrow() {
    let folder = project();
    let mut config = parse(FULL, &folder).unwrap();
    let told: Vec<String> = config.restrict_untrusted().iter().map(ToString::to_string).collect();
    let kinds: Vec<&str> = config.hooks.iter().map(|hook| hook.kind.name()).collect();
    assert_eq!(kinds, ["rate_limit"]);
    assert_eq!(told.iter().filter(|told| told.contains("`hook[")).count(), 5, "{told:?}");
    assert!(told.iter().any(|told| told.starts_with("toolcell.toml:2: `hook[0]`: is not run")), "{told:?}");
    let refused: Vec<&str> = config.rules.iter().map(|rule| &*rule.origin.setting).collect();
    assert_eq!(refused, ["hook[0]", "hook[1]", "hook[5]"], "what a program or a component would have judged");
    assert!(config.rules.iter().all(|rule| rule.action == crate::policy::Action::Deny));
}

#[test]
fn trust_is_in_what_hooks_run_too() {
    let folder = project();
    let trusted = parse(FULL, &folder).unwrap().content().unwrap();
    assert_eq!(parse(FULL, &folder).unwrap().content(), Some(trusted));
    for file in ["hooks/check.sh", "hooks/words.txt", "hooks/check.wasm"] {
        let path = folder.path().join(file);
        let before = std::fs::read(&path).unwrap();
        std::fs::write(&path, [before.as_slice(), b"\n"].concat()).unwrap();
        assert_ne!(parse(FULL, &folder).unwrap().content(), Some(trusted), "{file}");
        std::fs::write(&path, before).unwrap();
        assert_eq!(parse(FULL, &folder).unwrap().content(), Some(trusted), "{file}");
    }
    let plain = parse("", &folder).unwrap();
    assert_eq!(plain.content(), plain.digest);
}
