//! The command line: an audit is shown, followed, and checked line by line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use toolcell_tests::command_line::{CommandLine, Ended};

/// Two files of two processes, with one unfinished line that was noted, one that was not, and a key for none.
const FIRST: &str = include_str!("cases/audit/20260401T100000.000Z-1-00000001.jsonl");
const SECOND: &str = include_str!("cases/audit/20260401T100001.000Z-2-00000002.jsonl");

/// Lines of a version that named neither who approved nor what a hook had changed.
const OLDER: &str = include_str!("cases/audit/before-originals.jsonl");

fn with_audit() -> CommandLine {
    let line = CommandLine::new();
    std::fs::create_dir(line.folder().join("audit")).unwrap();
    line.write("audit/20260401T100000.000Z-1-00000001.jsonl", FIRST);
    line.write("audit/20260401T100001.000Z-2-00000002.jsonl", SECOND);
    line
}

fn audit(line: &CommandLine, arguments: &[&str]) -> Ended {
    line.run(&[&["audit"], arguments].concat())
}

#[test]
fn calls_are_shown_by_time_and_filtered() {
    let line = with_audit();
    insta::assert_snapshot!(audit(&line, &["show", "audit"]).stdout);
    let names = |filter: &[&str]| -> Vec<String> {
        let shown = audit(&line, &[&["show", "audit", "--json"], filter].concat());
        assert_eq!((shown.code, shown.stderr.as_str()), (0, ""), "{shown:?}");
        let calls = shown.json();
        calls.as_array().unwrap().iter().map(|call| call["tool"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&[]), ["read_file", "grep", "write_file", "read_file"]);
    assert_eq!(names(&["--tool", "read_*"]), ["read_file", "read_file"]);
    assert_eq!(names(&["--tool", "read"]), [""; 0]);
    assert_eq!(names(&["--status", "denied"]), ["write_file"]);
    assert_eq!(names(&["--session", "s2"]), ["grep"]);
    assert_eq!(names(&["--since", "2026-04-01T10:00:02Z"]), ["write_file", "read_file"]);
    assert_eq!(names(&["--since", "100000d"]).len(), 4);
    for (wrong, told) in [
        (["--since", "yesterday"], "30m"),
        (["--status", "good"], "interrupted"),
        (["--tool", "["], "--tool"),
    ] {
        let ended = audit(&line, &[&["show", "audit"], wrong.as_slice()].concat());
        assert!(ended.code == 2 && ended.stderr.contains(told), "{ended:?}");
    }
    line.write("audit/x.jsonl", "not a line\n");
    assert!(audit(&line, &["show", "audit"]).stderr.contains("1 lines cannot be read"));
}

#[test]
fn what_an_older_version_wrote_is_intact_shown_and_gone_on_from() {
    let line = CommandLine::new();
    line.write("old.jsonl", OLDER);
    let chmod = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(line.folder().join("old.jsonl"), chmod).unwrap();
    let checked = audit(&line, &["verify", "old.jsonl"]);
    assert!(checked.code == 0 && checked.stdout.contains("4 calls"), "{checked:?}");
    assert_eq!(audit(&line, &["show", "old.jsonl"]).stdout.lines().count(), 4);
    let config = "[audit]\nfile = \"old.jsonl\"\n[component.basics]\npath = \"builtin:basics\"\n\
                  [[rule]]\ntools = [\"echo\"]\naction = \"ask\"\n";
    line.write("toolcell.toml", config);
    let called = line.run(&["call", "echo", r#"{"text":"x"}"#, "--yes", "--config", "toolcell.toml"]);
    assert_eq!(called.code, 0, "{called:?}");
    let checked = audit(&line, &["verify", "old.jsonl"]);
    assert!(checked.code == 0 && checked.stdout.contains("5 calls"), "{checked:?}");
    let shown = audit(&line, &["show", "old.jsonl", "--json"]).json();
    let approved = |call: usize| shown[call]["decisions"][1]["source"].clone();
    assert_eq!((approved(1), approved(4)), ("answer".into(), "--yes".into()));
}

#[test]
fn the_latest_calls_are_shown_and_followed() {
    let line = with_audit();
    let last = audit(&line, &["tail", "audit", "-n", "2"]);
    assert_eq!(last.stdout.lines().count(), 2, "{last:?}");
    assert!(last.stdout.contains("write_file") && !last.stdout.contains("grep"), "{last:?}");

    let arguments = ["audit", "tail", "audit", "-n", "1", "--follow", "--json"];
    let mut child = line.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || told.next().unwrap().unwrap();
    assert!(next().contains("read_file"));
    let mut third = std::fs::File::create(line.folder().join("audit/third.jsonl")).unwrap();
    let (half, rest) = FIRST.split_at(100);
    third.write_all(half.as_bytes()).unwrap();
    let (beginning, _) = rest.split_at(rest.find('\n').unwrap() + 1);
    third.write_all(beginning.as_bytes()).unwrap();
    let followed = next();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(Some(followed.as_str()), FIRST.lines().next());
}

#[test]
fn a_check_names_what_was_changed() {
    let line = with_audit();
    let uncovered = audit(&line, &["verify", "audit"]);
    let told = "2: the file ends in an unfinished line that nothing covers";
    assert!(uncovered.code == 1 && uncovered.stderr.contains(told), "{uncovered:?}");
    let document = audit(&line, &["verify", "audit", "--json"]).json();
    assert_eq!((&document["intact"], &document["files"][1]["uncovered"]), (&false.into(), &2.into()));
    let end = SECOND.rfind('\n').unwrap() + 1;
    line.write("audit/20260401T100001.000Z-2-00000002.jsonl", &SECOND[..end]);
    let intact = audit(&line, &["verify", "audit"]);
    assert_eq!(intact.code, 0, "{intact:?}");
    insta::assert_snapshot!(format!("{}{}", intact.stdout, intact.stderr));
    line.write("heads", &intact.stdout);
    assert_eq!(audit(&line, &["verify", "audit", "--expect", "@heads"]).code, 0);

    let name = "audit/20260401T100000.000Z-1-00000001.jsonl";
    line.write(name, FIRST.replacen("s2", "s3", 1));
    let changed = audit(&line, &["verify", "audit"]);
    assert_eq!(changed.code, 1, "{changed:?}");
    assert!(changed.stderr.contains(&format!("error: {name}:2: this line was changed")), "{changed:?}");
    let document = audit(&line, &["verify", "audit", "--json"]).json();
    assert_eq!((&document["intact"], &document["files"][0]["broken"]["line"]), (&false.into(), &2.into()));

    // Without its last line it still fits, but is not what the head stands for.
    let last = FIRST.trim_end().rfind('\n').unwrap() + 1;
    line.write(name, &FIRST[..last]);
    assert_eq!(audit(&line, &["verify", "audit"]).code, 0);
    let cut = audit(&line, &["verify", "audit", "--expect", "@heads"]);
    assert!(cut.code == 1 && cut.stderr.contains("is nowhere: lines were cut off"), "{cut:?}");

    for wrong in ["sha256:12", "@nothing", "@toolcell.toml"] {
        line.write("toolcell.toml", "");
        let ended = audit(&line, &["verify", "audit", "--expect", wrong]);
        assert!(ended.code == 2 && ended.stderr.contains("--expect"), "{ended:?}");
    }
    line.write("key", "0123456789abcdef\n");
    let open = audit(&line, &["verify", "audit", "--key-file", "key"]);
    assert!(open.code == 2 && open.stderr.contains("chmod o-rwx"), "{open:?}");
}

#[test]
fn the_configuration_says_where_the_audit_is() {
    let line = with_audit();
    let none = audit(&line, &["verify"]);
    assert!(none.code == 2 && none.stderr.contains("`[audit]` in toolcell.toml"), "{none:?}");
    line.write("toolcell.toml", "[audit]\nfolder = \"audit\"\n");
    let inert = audit(&line, &["verify"]);
    assert!(inert.stderr.contains("`audit`: no audit is kept, since this file was found"), "{inert:?}");
    let named = audit(&line, &["verify", "--config", "toolcell.toml"]);
    assert_eq!((named.code, named.stdout.lines().count()), (1, 2), "its last end is not covered: {named:?}");
    line.run(&["trust"]);
    assert_eq!(audit(&line, &["show"]).stdout.lines().count(), 4);
    line.write("toolcell.toml", "[audit]\nfolder = \"audit\"\nkey.env = \"KEY\"\n");
    let keyless = audit(&line, &["verify", "--config", "toolcell.toml"]);
    assert!(keyless.code == 2 && keyless.stderr.contains("KEY"), "{keyless:?}");
}
