//! The command line: its help and its typical errors, as a user sees them; and outputs that were cut, read back.

use toolcell_tests::command_line::CommandLine;

#[test]
fn help_is_there_for_every_command() {
    let line = CommandLine::new();
    for command in [
        "",
        "init",
        "add",
        "remove",
        "update",
        "list",
        "describe",
        "call",
        "batch",
        "export",
        "jsonl",
        "mcp",
        "explain",
        "check",
        "output",
        "output show",
        "audit",
        "audit show",
        "audit tail",
        "audit verify",
        "approvals",
        "approvals list",
        "approvals pending",
        "approvals allow",
        "approvals revoke",
        "approvals reset",
        "test",
        "trust",
        "state",
        "state list",
        "state clear",
        "cache",
        "cache list",
        "cache warm",
        "cache clear",
        "config",
        "config show",
        "config schema",
        "completions",
        "doctor",
    ] {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let ended = line.run(&words);
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{command}");
        insta::assert_snapshot!(format!("help {command}").trim().replace(' ', "_"), ended.stdout);
    }
}

#[test]
fn typical_errors_say_what_to_change() {
    let line = CommandLine::new();
    let mut told = String::new();
    let mut run = |arguments: &[&str]| {
        let ended = line.run(arguments);
        told.push_str(&format!(
            "$ toolcell {}\n{}{}[{}]\n\n",
            arguments.join(" "),
            ended.stdout,
            ended.stderr,
            ended.code
        ));
    };
    let basics = ["--component", "builtin:basics"];
    run(&["list"]);
    run(&["lst"]);
    run(&["call", "add", "--a", "2"]);
    run(&["list", "--dir", ".::/w"]);
    run(&["call", "add", "--component", "builtin:bsics"]);
    run(&[&["call"], basics.as_slice()].concat());
    run(&[&["call", "ad"], basics.as_slice()].concat());
    run(&[&["call", "add", r#"{"a":"2","c":3}"#], basics.as_slice()].concat());
    run(&[&["call", "add", r#"{"a":2"#], basics.as_slice()].concat());
    run(&[&["call", "add", r#"{"a":"2","b":3}"#], basics.as_slice()].concat());
    run(&[&["call", "calculate", "--arg", "expression=1/0"], basics.as_slice()].concat());
    run(&["output", "show", "o-1"]);
    run(&["output", "show", "o-00000000000000000000000000000000"]);
    insta::assert_snapshot!(told);
}

#[test]
fn an_output_that_was_cut_is_read_back_in_parts() {
    let line = CommandLine::new();
    let cut = line.probe(&["call", "text", r#"{"bytes":200000}"#, "--json", "--session", "s"]);
    let document = cut.json();
    let handle = document["truncated"]["handle"].as_str().unwrap().to_owned();
    let show = |rest: &[&str]| line.run(&[&["output", "show", &handle, "--session", "s"], rest].concat());
    let full = show(&[]).stdout;
    assert_eq!(full.len(), 200_000);
    let lines: Vec<&str> = full.split_inclusive('\n').collect();
    assert_eq!(show(&["--lines", "2:3"]).stdout, lines[1..3].concat());
    assert_eq!(show(&["--bytes", "10:20"]).stdout, full[10..20]);
    assert_eq!(show(&["--bytes", "199990:"]).stdout, full[199_990..]);
    let found = show(&["--grep", "^0123"]);
    assert_eq!((found.code, found.stdout.lines().count()), (0, lines.len()), "{}", found.stderr);
    assert_eq!(show(&["--grep", "nowhere"]).code, 1);
    for wrong in [["--lines", "0:2"], ["--bytes", "5:2"], ["--grep", "("], ["--lines", "x"]] {
        let ended = show(&wrong);
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{ended:?}");
        assert!(ended.stderr.contains(wrong[0]), "{ended:?}");
    }
    assert_eq!(line.run(&["output", "show", &handle]).code, 2, "another session reads nothing");
    let note = line.probe(&["call", "text", r#"{"bytes":200000}"#, "--session", "s"]).stderr;
    assert!(note.contains("toolcell output show o-") && note.contains("--session s"), "{note}");
}

#[test]
fn what_a_guest_prints_is_told_apart_from_its_result() {
    let line = CommandLine::new();
    let ended =
        line.probe(&["call", "print", r#"{"channel":"stderr","pattern":"a\u001b[31mb\n","count":2}"#]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(ended.stdout, "16\n");
    assert!(ended.stderr.contains("stderr | ab") && !ended.stderr.contains('\u{1b}'), "{ended:?}");
}
