//! The command line: `check` says what a file is and what to do, and one bad file takes no other down.

use std::time::{Duration, Instant};

use toolcell_tests::command_line::CommandLine;
use toolcell_tests::guest;

/// Files that are no tools, with what is said of them.
fn bad_files() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let good = std::fs::read(guest("command")).unwrap();
    let deep = format!(
        "(component {} (import \"x\" (func (param \"a\" $t200))))",
        (0..=200)
            .map(|level| match level {
                0 => "(type $t0 (list u8))".to_owned(),
                level => format!("(type $t{level} (list $t{}))", level - 1),
            })
            .collect::<String>()
    );
    vec![
        ("core.wasm", wat::parse_str("(module)").unwrap(), "wasm32-wasip2"),
        ("empty.wasm", Vec::new(), "the file is empty"),
        ("half.wasm", good[..good.len() / 2].to_vec(), "cut short"),
        ("elf.wasm", b"\x7fELF\x02\x01\x01\0\0\0\0\0".to_vec(), "error: "),
        ("text.wasm", b"hello\n".to_vec(), "this is text"),
        ("nothing.wasm", wat::parse_str("(component)").unwrap(), "exports no function"),
        ("deep.wasm", wat::parse_str(deep).unwrap(), "nested more than"),
        ("wit.wasm", wat::parse_str(WIT_PACKAGE).unwrap(), "this is WIT in binary form"),
        ("code.wasm", wat::parse_str(INVALID_CODE).unwrap(), "type mismatch"),
        ("table.wasm", wat::parse_str(HUGE_TABLE).unwrap(), "4294967295 elements in one table"),
    ]
}

/// What `wasm-tools component wit --wasm` makes of a package with an interface and a world.
const WIT_PACKAGE: &str = r#"(component
  (type (component
    (type (instance
      (type (func (param "name" string) (result string)))
      (export "greet" (func (type 0)))))
    (export "test:greeting/api" (instance (type 0)))))
  (export "api" (type 0))
  (type (component
    (type (component
      (type (instance
        (type (func (param "name" string) (result string)))
        (export "greet" (func (type 0)))))
      (export "test:greeting/api" (instance (type 0)))))
    (export "test:greeting/tool" (component (type 0)))))
  (export "tool" (type 2))
  (@custom "package-docs" "\00{}"))"#;

/// A tool whose code no compiler takes.
const INVALID_CODE: &str = r#"(component
  (core module $m (func (export "f") (result i32) i64.const 7))
  (core instance $i (instantiate $m))
  (func (export "seven") (result u32) (canon lift (core func $i "f"))))"#;

/// A tool in all else.
const HUGE_TABLE: &str = r#"(component
  (core module $m (table 4294967295 funcref) (func (export "f") (result i32) i32.const 7))
  (core instance $i (instantiate $m))
  (func (export "seven") (result u32) (canon lift (core func $i "f"))))"#;

/// What one look at a file may take: 2 s, or on a machine with so much else to do that looking at a good file takes
/// long, ten times that.
fn patience(line: &CommandLine) -> Duration {
    std::fs::copy(guest("command"), line.folder().join("good.wasm")).unwrap();
    let started = Instant::now();
    assert_eq!(line.run(&["check", "good.wasm"]).code, 0);
    Duration::from_secs(2).max(started.elapsed() * 10)
}

#[test]
fn each_wrong_file_is_one_line_that_says_what_to_do() {
    let line = CommandLine::new();
    for (name, bytes, told) in bad_files() {
        line.write(name, bytes);
        let patience = patience(&line);
        let started = Instant::now();
        let checked = line.run(&["check", name]);
        let took = started.elapsed();
        assert!(took < patience, "{name}: {took:?} of {patience:?}");
        assert_eq!(checked.code, 1, "{checked:?}");
        assert_eq!(checked.stdout.lines().count(), 1, "{checked:?}");
        assert!(
            checked.stdout.starts_with(&format!("{name}: error: ")) && checked.stdout.contains(told),
            "{checked:?}"
        );
        let listed = line.run(&["list", "--component", name]);
        assert_eq!((listed.code, listed.stdout.as_str()), (2, ""), "{listed:?}");
        assert!(listed.stderr.contains(told), "{listed:?}");
    }
}

#[test]
fn good_tools_load_beside_bad_files() {
    let line = CommandLine::new();
    std::fs::create_dir(line.folder().join("tools")).unwrap();
    let bad = bad_files();
    for (name, bytes, _) in &bad {
        line.write(&format!("tools/{name}"), bytes);
    }
    std::fs::copy(guest("command"), line.folder().join("tools/one.wasm")).unwrap();
    std::fs::copy(guest("readonly-liar"), line.folder().join("tools/two.wasm")).unwrap();
    line.write("toolcell.toml", "[component.t]\npath = \"tools\"\n");
    let listed = line.run(&["list"]);
    assert_eq!(listed.code, 0, "{listed:?}");
    assert!(listed.stdout.contains("one") && listed.stdout.contains("peek"), "{listed:?}");
    assert_eq!(
        listed.stderr.lines().filter(|line| line.contains("skipped")).count(),
        bad.len(),
        "{listed:?}"
    );
    let checked = line.run(&["check", "tools", "--json"]);
    assert_eq!(checked.code, 1);
    let document = checked.json();
    let files = document["files"].as_array().unwrap();
    assert_eq!(files.len(), bad.len() + 2);
    let fine = files.iter().filter(|file| file["errors"].as_array().unwrap().is_empty());
    assert_eq!(fine.count(), 2);
}

/// A component that imports these interfaces and exports a function that uses none of them.
fn importing(interfaces: &[&str]) -> Vec<u8> {
    let imports: String = interfaces.iter().map(|name| format!("(import \"{name}\" (instance))")).collect();
    wat::parse_str(format!(
        "(component {imports}
           (core module $m (func (export \"f\") (result i32) i32.const 7))
           (core instance $i (instantiate $m))
           (func (export \"seven\") (result u32) (canon lift (core func $i \"f\"))))"
    ))
    .unwrap()
}

#[test]
fn imports_are_told_all_at_once_with_their_versions() {
    let line = CommandLine::new();
    line.write(
        "unmet.wasm",
        importing(&[
            "acme:db/conn@1.0.0",
            "wasi:cli/environment@0.3.0",
            "wasi:clocks/wall-clock@0.2.0-rc-2023-11-10",
        ]),
    );
    let checked = line.run(&["check", "unmet.wasm"]);
    assert_eq!(checked.code, 1);
    for told in [
        "unknown: `acme:db/conn@1.0.0`",
        "version not supported: `wasi:cli/environment@0.3.0`",
        "wasi:clocks/wall-clock@0.2.0-rc-2023-11-10",
    ] {
        assert!(checked.stdout.contains(told), "{checked:?}");
    }
    line.write(
        "met.wasm",
        importing(&[
            "wasi:clocks/wall-clock@0.2.0",
            "wasi:random/random@0.2.3",
            "wasi:cli/environment@0.2.6",
            "wasi:io/error@0.2.99",
            "wasi:http/types@0.2.6",
        ]),
    );
    let checked = line.run(&["check", "met.wasm"]);
    assert_eq!(checked.code, 0, "{checked:?}");
    assert!(
        checked.stdout.contains("refused when used: wasi:http/types@0.2.6 (needs `grant.http`)"),
        "{checked:?}"
    );
    assert!(checked.stdout.contains("wasi:io/error@0.2.99 is newer"), "{checked:?}");
    assert!(checked.stdout.contains("not packed"), "{checked:?}");
    let called = line.run(&["call", "--component", "met.wasm"]);
    assert_eq!((called.code, called.stdout.as_str()), (0, "7\n"), "{called:?}");
}

#[test]
fn the_shipped_tools_are_described_and_the_configuration_is_checked() {
    let line = CommandLine::new();
    assert_eq!(line.run(&["check"]).code, 2);
    line.run(&["init"]);
    let checked = line.run(&["check"]);
    assert_eq!((checked.code, checked.stderr.as_str()), (0, ""), "{checked:?}");
    assert!(!checked.stdout.contains("warning"), "{checked:?}");
    line.write("toolcell.toml", "[limit]\n");
    let wrong = line.run(&["check"]);
    assert_eq!(wrong.code, 1, "{wrong:?}");
    assert!(wrong.stderr.contains("toolcell.toml:1"), "{wrong:?}");
    assert_eq!(line.run(&["check", "gone.wasm"]).code, 2);
}

#[test]
fn a_component_that_no_call_could_run_does_not_pass() {
    let line = CommandLine::new();
    let seven = |items: &str| {
        let text = format!(
            "(component (core module $m {items} (func (export \"f\") (result i32) i32.const 7))
               (core instance $i (instantiate $m))
               (func (export \"seven\") (result u32) (canon lift (core func $i \"f\"))))"
        );
        wat::parse_str(text).unwrap()
    };
    for (name, items, told) in [
        (
            "memory.wasm",
            "(memory 5000)",
            "`memory`: it needs 320000KiB from its start, and 256MiB is allowed",
        ),
        ("table.wasm", "(table 30000 funcref)", "`table_elements`: it needs 30000 from its start"),
    ] {
        line.write(name, seven(items));
        let checked = line.run(&["check", name]);
        assert_eq!(checked.code, 1, "{checked:?}");
        assert!(checked.stdout.contains(told) && checked.stdout.contains("raise `limits."), "{checked:?}");
        let called = line.run(&["call", "--component", name]);
        assert_eq!(called.code, 2, "{called:?}");
    }
    assert_eq!(line.run(&["check", "memory.wasm", "--memory", "400MiB"]).code, 0);
    line.write("toolcell.toml", "[component.m]\npath = \"memory.wasm\"\n[limits]\nmemory = \"1MiB\"\n");
    let checked = line.run(&["check"]);
    assert_eq!(checked.code, 1, "{checked:?}");
    assert!(checked.stderr.contains("limits.memory (toolcell.toml:4): "), "{checked:?}");
}

#[test]
fn one_of_several_worlds_is_chosen_by_name() {
    let line = CommandLine::new();
    let wit = line.folder().join("wit");
    std::fs::create_dir(&wit).unwrap();
    std::fs::write(
        wit.join("w.wit"),
        "package a:b;\nworld first { /// It is seven.\nexport seven: func() -> u32; }\nworld second {}\n",
    )
    .unwrap();
    line.write("seven.wasm", importing(&[]));
    let list = |more: &[&str]| {
        line.run(&[&["describe", "seven", "--component", "seven.wasm", "--wit", "wit"], more].concat())
    };
    let unnamed = list(&[]);
    assert_eq!(unnamed.code, 2, "{unnamed:?}");
    assert!(unnamed.stderr.contains("several worlds: `first`, `second`; name one with `--world`"));
    let named = list(&["--world", "first"]);
    assert!(named.code == 0 && named.stdout.contains("It is seven."), "{named:?}");
    let wrong = list(&["--world", "third"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("no world `third`"), "{wrong:?}");
    let checked = line.run(&["check", "seven.wasm", "--wit", "wit", "--world", "first"]);
    assert!(checked.code == 0 && !checked.stdout.contains("not packed"), "{checked:?}");
}

#[test]
fn what_matches_no_tool_is_told() {
    let line = CommandLine::new();
    let basics = "[component.b]\npath = \"builtin:basics\"\n[component.f]\npath = \"builtin:fetch\"\n";
    for (rule, told) in [
        (
            "tools = [\"ad\"]",
            "toolcell.toml:5: `rule[0].tools[0]`: no tool matches `ad`; did you mean `add`?",
        ),
        ("tools = [\"add\", \"rm_*\"]", "`rule[0].tools[1]`: no tool matches `rm_*`"),
        ("component = \"basics\"", "`rule[0].component`: no component with tools matches `basics`"),
        ("group = \"files\"", "`rule[0].group`: no tool is in a group `files`"),
        ("tools = [\"add\"]\nread_only = false", "`rule[0]`: no tool is all that it says of tools"),
        (
            "tools = [\"echo\"]\narguments = { txt = \"*\" }",
            "`rule[0].arguments.txt`: no tool that it is for has such an argument; did you mean `text`?",
        ),
        (
            "tools = [\"fetch\"]\narguments = { \"headers.nam\" = \"*\" }",
            "`rule[0].arguments.headers.nam`: no tool that it is for has such an argument; did you mean `headers.name`?",
        ),
    ] {
        line.write("toolcell.toml", format!("{basics}[[rule]]\naction = \"deny\"\n{rule}\n"));
        let checked = line.run(&["check"]);
        assert_eq!((checked.code, checked.stderr.matches(told).count()), (0, 1), "{rule}: {checked:?}");
        let listed = line.run(&["list"]);
        assert!(listed.stderr.contains(told), "{rule}: {listed:?}");
    }
    for rule in
        ["tools = [\"ADD\"]", "component = \"b*\"", "tools = [\"*\"]\narguments = { text = \"*\" }", ""]
    {
        line.write("toolcell.toml", format!("{basics}[[rule]]\naction = \"deny\"\n{rule}\n"));
        let checked = line.run(&["check"]);
        assert_eq!((checked.code, checked.stderr.as_str()), (0, ""), "{rule}");
    }
    // Whatever another server may have, a tool that is there and is named has no such argument.
    let other = "[mcp.o]\ncommand = [\"/bin/true\"]\n";
    let rules = "[[rule]]\naction = \"deny\"\ntools = [\"fetch\"]\narguments = { \"headers.nam\" = \"*\" }\n[[rule]]\naction = \"deny\"\ntools = [\"rm\"]\n";
    line.write("toolcell.toml", format!("{basics}{other}{rules}"));
    let told = line.run(&["check", "--config", "toolcell.toml"]).stderr;
    assert!(told.contains("did you mean `headers.name`?") && !told.contains("`rm`"), "{told}");
    // Of what is switched off nobody knows the tools.
    let off = "[component.c]\npath = \"none.wasm\"\nenabled = false\n";
    line.write("toolcell.toml", format!("{basics}{off}[[rule]]\naction = \"deny\"\ntools = [\"rm\"]\n"));
    assert_eq!(line.run(&["check"]).stderr, "");
}

#[test]
fn whatever_makes_calls_tells_once_of_what_can_match_nothing() {
    let line = CommandLine::new();
    let components = "[component.b]\npath = \"builtin:basics\"\n[component.p]\npath = \"builtin:plan\"\n";
    let rule = |rest: &str| format!("{components}[[rule]]\naction = \"deny\"\n{rest}\n");
    line.write("calls.json", r#"[{"id":"1","name":"add","arguments":{"a":1,"b":1}}]"#);
    let add = ["call", "add", r#"{"a":1,"b":1}"#];
    let commands: [&[&str]; 7] = [
        &add,
        // The second time everything but the tool's own component is left out.
        &add,
        &["call", "add", r#"{"a":1,"b":1}"#, "--json"],
        &["explain", "add", r#"{"a":1,"b":1}"#],
        &["batch", "calls.json", "--format", "toolcell"],
        &["jsonl"],
        &["mcp"],
    ];
    for (rest, told) in [
        (
            "tools = [\"ad\"]",
            "toolcell.toml:5: `rule[0].tools[0]`: no tool matches `ad`; did you mean `add`?",
        ),
        (
            "arguments = { text = \"../keys/*\" }",
            "toolcell.toml:5: `rule[0].arguments.text`: `../keys/*` matches no path, since paths are compared without",
        ),
    ] {
        line.write("toolcell.toml", rule(rest));
        for command in commands {
            let ended = line.run(command);
            assert_eq!((ended.code, ended.stderr.matches(told).count()), (0, 1), "{command:?}: {ended:?}");
            assert!(!ended.stdout.contains("rule[0]"), "{command:?}: {ended:?}");
        }
        let unknown = line.run(&["call", "ad"]);
        assert_eq!((unknown.code, unknown.stderr.matches(told).count()), (3, 1), "{unknown:?}");
    }
    line.write("toolcell.toml", rule("arguments = { text = \"keys/**\" }"));
    for command in commands {
        let ended = line.run(command);
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{command:?}");
    }
    // A component more, and the rule is for something.
    line.write("toolcell.toml", rule("tools = [\"glob\"]"));
    assert!(line.run(&add).stderr.contains("no tool matches `glob`"));
    line.write(
        "toolcell.toml",
        format!("{}[component.f]\npath = \"builtin:files\"\n", rule("tools = [\"glob\"]")),
    );
    assert_eq!(line.run(&add).stderr, "");
}

#[test]
fn a_slip_in_a_configuration_has_its_line() {
    let line = CommandLine::new();
    for (text, told) in [
        (
            "[component.x]\npath = \"builtin:filez\"\n",
            "toolcell.toml:2: `component.x.path`: `builtin:filez`: there is no such component, did you mean `builtin:files`?",
        ),
        ("[component.x]\npath = \"builtin:files\"\npath = \"x\"\n", "toolcell.toml:3: `path` is set twice"),
        ("[limits]\nmemory = \"64GiB\"\n", "`64GiB` is more than there can be; give at most 4GiB"),
        ("[limits]\nresult_bytes = \"99999999999GiB\"\n", "is more than there can be"),
        (
            "[component.x]\npath = \"builtin:basics\"\n[component.y]\npath = \"builtin:basics\"\n",
            "`echo` of component `x` (toolcell.toml:2) and `echo` of component `y` (toolcell.toml:4)",
        ),
    ] {
        line.write("toolcell.toml", text);
        for command in ["list", "check", "doctor"] {
            let told_by = line.run(&[command]);
            assert_ne!(told_by.code, 0, "{text}: {told_by:?}");
            let said = format!("{}{}", told_by.stdout, told_by.stderr);
            assert!(said.contains(told), "{command}: {text}: {told_by:?}");
        }
    }
}
