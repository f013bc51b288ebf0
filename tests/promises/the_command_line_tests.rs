//! `toolcell test` runs cases in cells, with what they grant and nothing else, and says where they differ.

use serde_json::json;
use toolcell_tests::command_line::CommandLine;

const TOOLS: &str = "[component.files]\npath = \"builtin:files\"\n\
                     grant.dirs = [{ host = \".\", guest = \"/work\", access = \"read\" }]\n\
                     [component.basics]\npath = \"builtin:basics\"\n\
                     [component.plan]\npath = \"builtin:plan\"\n\
                     [[rule]]\ntools = [\"*\"]\naction = \"deny\"\nreason = \"cases are not the policy's\"\n";

fn testing(cases: &str) -> CommandLine {
    let line = CommandLine::new();
    line.write("toolcell.toml", TOOLS);
    std::fs::create_dir(line.folder().join("tests")).unwrap();
    line.write("tests/cases.toml", cases);
    line
}

const GOOD: &str = r#"
[[case]]
name = "adds"
tool = "add"
arguments = { a = 2, b = 3 }
expect = { result = 5, text = "5", max_fuel = "10M", max_memory = "16MiB", denials = [], repaired = [], truncated = false }

[[case]]
name = "a model's text is mended"
tool = "add"
arguments = '{"a": "2", "b": 3}'
expect = { result = 5.0, repaired = ["/a"] }

[[case]]
name = "an argument is missing"
tool = "add"
expect = { kind = "invalid_arguments", status = "error", contains = ["/a"] }

[[case]]
name = "a copy is written, and its folder stays as it is"
tool = "edit_file"
arguments = { path = "a.txt", old = "one", new = "two" }
[case.grant]
dirs = [{ host = "data", guest = "/work", access = "read-write", deny = ["b.txt"], files = { "c/d.txt" = "here" } }]
[case.expect]
files = { "/work/a.txt" = "two\n", "/work/b.txt" = "kept\n", "/work/c/d.txt" = "here", "/work/e" = false }

[[case]]
name = "nothing of the configuration is granted"
tool = "read_file"
arguments = { path = "/work/toolcell.toml" }
expect = { kind = "tool_error", contains = ["no directory is granted"] }

[[case]]
name = "what is withheld is refused"
tool = "read_file"
arguments = { path = "b.txt" }
grant = { dirs = [{ guest = "/work", deny = ["b.txt"], files = { "b.txt" = "x" } }] }
expect = { status = "error", lacks = ["kept"], denials = ["dirs stat /work/b.txt"] }

[[case]]
name = "too little fuel"
tool = "add"
arguments = { a = 1, b = 1 }
limits = { fuel = 10 }
expect = { kind = "out_of_fuel" }

[[case]]
name = "a task is kept"
tool = "create_task"
arguments = { title = "t" }
session = "s"
grant = { state = "session" }
expect = { structured = '{"details": null, "id": 1, "status": "pending", "title": "t"}' }

[[case]]
name = "and is there in the next case of its session"
tool = "list_tasks"
session = "s"
grant = { state = "session" }
expect = { structured = '{"result": [{"id": 1, "title": "t", "status": "pending", "details": null}]}' }
"#;

#[test]
fn cases_are_run_with_what_they_grant() {
    let line = testing(GOOD);
    std::fs::create_dir(line.folder().join("tests/data")).unwrap();
    line.write("tests/data/a.txt", "one\n");
    line.write("tests/data/b.txt", "kept\n");
    let ended = line.run(&["test"]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.starts_with("ok     tests/cases.toml:2 adds\n"), "{}", ended.stdout);
    assert!(ended.stdout.ends_with("9 passed, 0 failed\n"), "{}", ended.stdout);
    assert_eq!(std::fs::read(line.folder().join("tests/data/a.txt")).unwrap(), b"one\n");
    assert!(!line.home().join("state").exists(), "the user's own state is none of a test's");
    let some = line.run(&["test", "tests", "--filter", "session", "--json"]).json();
    assert_eq!((some["passed"].clone(), some["failed"].clone()), (json!(0), json!(1)), "{some}");
}

#[test]
fn cases_that_nobody_looked_at_stay_in_their_project() {
    let case = |grant: &str| {
        format!(
            "[[case]]\nname = \"a\"\ntool = \"echo\"\narguments = {{ text = \"x\" }}\ngrant = {{ {grant} }}\n"
        )
    };
    let dirs = |host: &str| case(&format!("dirs = [{{ host = {host:?}, guest = \"/w\" }}]"));
    let outside = tempfile::tempdir().unwrap();
    let line = testing("");
    std::fs::create_dir(line.folder().join("data")).unwrap();
    std::os::unix::fs::symlink(outside.path(), line.folder().join("tests/link")).unwrap();
    let network = case("http = [\"http://127.0.0.1:9\"]");
    let outside = dirs(&outside.path().to_string_lossy());
    for (cases, told) in [
        (dirs("."), None),
        (dirs("../data"), None),
        (dirs("/"), Some("outside of its project")),
        (dirs("../.."), Some("outside of its project")),
        (dirs("link"), Some("outside of its project")),
        (outside.clone(), Some("`toolcell trust`")),
        (network.clone(), Some("`toolcell trust`")),
    ] {
        line.write("tests/cases.toml", &cases);
        let ended = line.run(&["test"]);
        assert_eq!(ended.code, if told.is_some() { 2 } else { 0 }, "{cases}: {ended:?}");
        assert!(told.is_none_or(|told| ended.stderr.contains(told)), "{cases}: {}", ended.stderr);
    }
    for cases in [&outside, &network] {
        line.write("tests/cases.toml", cases);
        let flags = line.run(&["test", "--component", "builtin:basics"]);
        assert_eq!(flags.code, 2, "no configuration is none that is trusted: {flags:?}");
        let named = line.run(&["test", "--config", "toolcell.toml"]);
        assert_eq!(named.code, 0, "{named:?}");
    }
    assert_eq!(line.run(&["trust"]).code, 0);
    assert_eq!(line.run(&["test"]).code, 0);
}

#[test]
fn a_difference_is_shown() {
    let line = testing(
        r#"tool = "add"
[[case]]
name = "wrong result"
arguments = { a = 2, b = 3 }
expect = { result = 6, max_fuel = 1 }

[[case]]
name = "not expected to fail"
arguments = { a = 2 }

[[case]]
name = "expected to fail"
arguments = { a = 2, b = 3 }
expect = { kind = "tool_error" }

[[case]]
name = "lines"
tool = "echo"
arguments = { text = "a\nx\nc" }
expect = { text = "a\nb\nc", contains = ["q"], files = { "/work/a" = "1" } }

[[case]]
name = "no such tool"
tool = "ad"
"#,
    );
    let ended = line.run(&["test"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    let used = regex(&ended.stdout);
    insta::assert_snapshot!("differences", used);
    let document = line.run(&["test", "--json"]);
    assert_eq!((document.code, document.stderr.as_str()), (1, ""));
    let document = document.json();
    assert_eq!((&document["failed"], &document["cases"][0]["line"]), (&json!(5), &json!(2)));
    assert_eq!(
        document["cases"][0]["differences"][0],
        json!({ "what": "result", "expected": 6, "actual": 5 })
    );
    assert_eq!(document["cases"][2]["outcome"]["status"], "success");
}

/// The text without what a compiler may change.
fn regex(text: &str) -> String {
    let lines = text.lines().map(|line| match line.trim_start().strip_prefix("got \"") {
        Some(rest) if rest.trim_end_matches('"').parse::<u64>().is_ok() => {
            "                     got (some fuel)"
        }
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_wrong_file_is_refused_with_its_line() {
    for (cases, told) in [
        ("[[case]]\nname = \"a\"\nexpct = 1\n", "tests/cases.toml:3: unknown field `expct`"),
        (
            "[[case]]\nname = \"a\"\nexpect = { stauts = \"error\" }\n",
            "tests/cases.toml:3: unknown field `stauts`",
        ),
        (
            "[[case]]\nname = \"a\"\nexpect = { kind = \"tool_eror\" }\n",
            "tests/cases.toml:3: unknown variant `tool_eror`",
        ),
        ("[[case]]\nname = \"a\"\ngrant = { secrets = {} }\n", "tests/cases.toml:3: unknown field `secrets`"),
        ("[[case]]\ntool = \"add\"\n", "tests/cases.toml:1: missing field `name`"),
        ("[[case]]\nname = \" \"\n", "`name` is empty"),
        (
            "[[case]]\nname = \"a\"\n[[case]]\nname = \"a\"\n",
            "tests/cases.toml:3: the case in line 1 is named `a` too",
        ),
        ("[[case]]\nname = \"a\"\narguments = 3\n", "`arguments` is integer; write a table"),
        (
            "[[case]]\nname = \"a\"\nlimits = { tiem = 3 }\n",
            "`limits.tiem`: unknown limit; known are `timeout`",
        ),
        ("[[case]]\nname = \"a\"\nlimits = { timeout = \"5\" }\n", "`limits.timeout`: "),
        (
            "[[case]]\nname = \"a\"\nexpect = { structured = \"{\" }\n",
            "`expect.structured` is text, and no JSON",
        ),
        ("[[case]]\nname = \"a\"\nexpect = { max_fuel = true }\n", "`expect.max_fuel` is boolean"),
        (
            "[[case]]\nname = \"a\"\nexpect = { files = { \"/a\" = true } }\n",
            "`expect.files`: `/a` is neither a text nor `false`",
        ),
        ("[[case]]\nname = \"a\"\n", "so name one: "),
        (
            "[[case]]\nname = \"a\"\ntool = \"add\"\ngrant = { dirs = [{ host = \"gone\", guest = \"/w\" }] }\n",
            "`gone` is no folder",
        ),
        (
            "[[case]]\nname = \"a\"\ntool = \"add\"\ngrant = { dirs = [{ guest = \"w\" }] }\n",
            "`w` is no absolute path",
        ),
        (
            "[[case]]\nname = \"a\"\ntool = \"add\"\ngrant = { dirs = [{ guest = \"/w\", files = { \"../x\" = \"\" } }] }\n",
            "`../x` is no name of a file",
        ),
        ("[[case]]\nname = \"a\"\ntool = \"add\"\ngrant = { http = [\"ftp://x\"] }\n", "`grant.http`: "),
        ("[[case]\n", "tests/cases.toml:1: "),
        ("", "there is no case to run"),
    ] {
        let ended = testing(cases).run(&["test"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{cases}: {ended:?}");
        assert!(ended.stderr.contains(told), "{cases}: {}", ended.stderr);
    }
    let line = testing("[[case]]\nname = \"a\"\n");
    for (arguments, told) in [
        (
            &["test", "--component", "builtin:basics", "--dir", ".::/work"][..],
            "write what a case is granted in its `grant`",
        ),
        (&["test", "gone.toml"], "cannot find gone.toml"),
        (&["test", "--filter", "b"], "there is no case to run"),
    ] {
        let ended = line.run(arguments);
        assert_eq!(ended.code, 2, "{ended:?}");
        assert!(ended.stderr.contains(told), "{arguments:?}: {}", ended.stderr);
    }
}
