//! The command line: a fresh process runs what it lists, whatever the cache, and adds what it is given.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use toolcell_tests::command_line::{CommandLine, ended};
use toolcell_tests::guest;

#[test]
fn an_empty_folder_has_tools_after_init() {
    let line = CommandLine::new();
    assert_eq!(line.run(&["list"]).code, 2);
    assert_eq!(line.run(&["init"]).code, 0);
    let again = line.run(&["init"]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("already"), "{again:?}");
    let listed = line.run(&["list"]);
    assert!(listed.stdout.contains("read_file   Reads a text file"), "{listed:?}");
    assert_eq!(listed.stderr, "", "what init writes needs no trust");
    line.write("hello.txt", "hello\n");
    let read = line.run(&["call", "read_file", r#"{"path":"hello.txt"}"#]);
    assert_eq!((read.code, read.stdout.as_str()), (0, "1\thello\n"), "{read:?}");
    let write = ["call", "write_file", r#"{"path":"hello.txt","content":"x"}"#];
    let asked = line.run(&write);
    assert_eq!(
        (asked.code, asked.stdout.as_str()),
        (4, ""),
        "a call that may change something is asked about"
    );
    assert!(asked.stderr.contains("toolcell approvals allow a-"), "{asked:?}");
    let denied = line.run(&[&write[..], &["--yes"]].concat());
    assert_eq!((denied.code, denied.stdout.as_str()), (1, ""), "{denied:?}");
    assert_eq!(std::fs::read_to_string(line.folder().join("hello.txt")).unwrap(), "hello\n");
}

#[test]
fn a_fresh_process_runs_what_it_lists_with_any_cache() {
    let line = CommandLine::cold();
    let call = ["call", "--component", "builtin:basics", "add", r#"{"a":2,"b":3}"#];
    // Two processes at once with a cold cache, then a warm one, then one that cannot be written.
    let mut children: Vec<_> =
        (0..2).map(|_| line.command(&call).stdout(std::process::Stdio::piped()).spawn().unwrap()).collect();
    for child in children.drain(..) {
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stdout), (Some(0), b"5\n".to_vec()));
    }
    assert_eq!(line.run(&call).stdout, "5\n");
    let compiled = line.home().join("cache/compiled");
    assert!(std::fs::read_dir(&compiled).unwrap().count() >= 2);
    for entry in std::fs::read_dir(&compiled).unwrap() {
        std::fs::write(entry.unwrap().path(), "damaged").unwrap();
    }
    assert_eq!(line.run(&call).stdout, "5\n", "a damaged entry is a miss");
    std::fs::remove_dir_all(&compiled).unwrap();
    std::fs::create_dir(&compiled).unwrap();
    std::fs::set_permissions(&compiled, std::fs::Permissions::from_mode(0o500)).unwrap();
    let described = line.run(&["describe", "--component", "builtin:basics", "add"]);
    assert_eq!(described.code, 0, "{described:?}");
    assert_eq!(line.run(&call).stdout, "5\n");
}

#[test]
fn a_call_finds_its_tool_when_settings_change_between_processes() {
    let line = CommandLine::new();
    line.write(
        "toolcell.toml",
        "[component.basics]\npath = \"builtin:basics\"\n[component.files]\npath = \"builtin:files\"\n",
    );
    let add = ["call", "add", r#"{"a":2,"b":3}"#];
    for _ in 0..2 {
        assert_eq!(line.run(&add).stdout, "5\n");
    }
    let files = "[component.files]\npath = \"builtin:files\"\n";
    line.write(
        "toolcell.toml",
        format!("[component.basics]\npath = \"builtin:basics\"\nprefix = \"my_\"\n{files}"),
    );
    assert_eq!(line.run(&add).code, 3);
    assert_eq!(line.run(&["call", "my_add", r#"{"a":2,"b":3}"#]).stdout, "5\n");
    line.write(
        "toolcell.toml",
        format!("[component.basics]\npath = \"builtin:basics\"\nenabled = false\n{files}"),
    );
    assert_eq!(line.run(&["call", "my_add", r#"{"a":2,"b":3}"#]).code, 3);
    line.write(
        "toolcell.toml",
        format!(
            "[component.a]\npath = \"builtin:basics\"\n[component.b]\npath = \"builtin:basics\"\n{files}"
        ),
    );
    let twice = line.run(&add);
    assert_eq!(twice.code, 2, "{twice:?}");
    assert!(twice.stderr.contains("of component `a` (toolcell.toml:2) and `"), "{twice:?}");
}

#[test]
fn a_component_is_added_under_a_name_that_is_free() {
    let line = CommandLine::new();
    line.run(&["init"]);
    std::fs::copy(guest("command"), line.folder().join("Command.wasm")).unwrap();
    std::fs::create_dir(line.folder().join("data")).unwrap();
    let added = line.run(&["add", "Command.wasm", "--dir", "data::/data"]);
    assert_eq!(added.code, 0, "{added:?}");
    let text = std::fs::read_to_string(line.folder().join("toolcell.toml")).unwrap();
    assert!(
        text.ends_with(
            "\n[component.command]\npath = \"Command.wasm\"\n\n[component.command.grant]\n\
             dirs = [{ host = \"data\", guest = \"/data\", access = \"read\" }]\n"
        ),
        "{text}"
    );
    for (arguments, told) in [
        (vec!["add", "Command.wasm"], "there is a component of that name"),
        (vec!["add", "builtin:files", "--name", "other"], "two tools are named"),
        (vec!["add", "gone.wasm"], "cannot find the component gone.wasm"),
        (vec!["add", "toolcell.toml"], "not a component"),
        (vec!["add", "builtin:none"], "shipped are: `builtin:basics`, `builtin:fetch`, `builtin:files`"),
        (vec!["add", "Command.wasm", "--name", "X"], "component.X"),
        (
            vec!["add", "builtin:basics", "--name", "b", "--dir", ".::/w::rw"],
            "write access would reach the configuration",
        ),
    ] {
        let refused = line.run(&arguments);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.stderr.contains(told), "{arguments:?}: {refused:?}");
    }
    let unchanged = std::fs::read_to_string(line.folder().join("toolcell.toml")).unwrap();
    assert_eq!(unchanged, text, "what is refused changes nothing");
}

#[test]
fn a_tool_may_be_left_out_where_there_is_one() {
    let line = CommandLine::new();
    std::fs::copy(guest("command"), line.folder().join("only.wasm")).unwrap();
    let called = line.run(&["call", "--component", "only.wasm", "--json"]);
    assert_eq!(called.json()["name"], "only", "{called:?}");
    let several = line.run(&["call", "--component", "builtin:basics"]);
    assert_eq!(several.code, 2);
    assert!(
        several.stderr.contains("there are 4 tools, so name one: add, calculate, echo, multiply"),
        "{several:?}"
    );
}

#[test]
fn a_reader_that_goes_away_ends_the_output_quietly() {
    let line = CommandLine::new();
    line.run(&["init"]);
    for arguments in [vec!["list", "--json"], vec!["config", "schema"], vec!["--help"]] {
        let mut child = line
            .command(&arguments)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()),
            (Some(0), ""),
            "{arguments:?}"
        );
    }
}

#[test]
fn documents_are_the_only_thing_on_standard_output() {
    let line = CommandLine::new();
    line.run(&["init"]);
    for arguments in [
        vec!["list"],
        vec!["describe", "grep"],
        vec!["explain", "add", r#"{"a":"2","b":3}"#],
        vec!["check"],
        vec!["config", "show"],
        vec!["cache", "list"],
        vec!["doctor"],
    ] {
        let ended = line.run(&[arguments.as_slice(), &["--json"]].concat());
        assert!(ended.json().is_object(), "{ended:?}");
        assert_eq!(ended.stderr, "", "{arguments:?}");
    }
    let explained = line.run(&["explain", "add", r#"{"a":"2","b":3}"#, "--json"]).json();
    assert_eq!(explained["arguments"], json!({ "a": 2, "b": 3 }));
    assert_eq!(explained["repaired"][0]["path"], "/a");
}

#[test]
fn the_cache_is_warmed_listed_and_cleared() {
    let line = CommandLine::cold();
    let warmed = line.run(&["cache", "warm", "--component", "builtin:basics"]);
    assert_eq!(warmed.stdout, "compiled: basics\n", "{warmed:?}");
    let listed = line.run(&["cache", "list", "--json"]).json();
    assert_eq!(listed["entries"].as_array().unwrap().len(), 1);
    assert_eq!(line.run(&["cache", "clear"]).stdout, "removed 1 compiled components\n");
    assert_eq!(line.run(&["cache", "list", "--json"]).json()["entries"], json!([]));
}

#[test]
fn completions_know_the_commands() {
    let line = CommandLine::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(line.run(&["completions", shell]).stdout.contains("describe"), "{shell}");
    }
    assert_eq!(line.run(&["completions", "csh"]).code, 2);
    // A child that is started by somebody else does nothing.
    assert_eq!(ended(&mut line.command(&["compile-component"])).code, 1);
}
