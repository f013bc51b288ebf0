//! The command line: every form of arguments reaches the tool or is refused by name; nothing is dropped.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};
use toolcell_tests::command_line::{CommandLine, Ended};

/// The arguments that the tool would get.
fn explained(line: &CommandLine, arguments: &[&str]) -> Value {
    line.probe(&[&["explain", "--json"], arguments].concat()).json()["arguments"].clone()
}

#[test]
fn every_form_gives_the_same_arguments() {
    let line = CommandLine::new();
    let text = r#"{"value":{"name":"-Ann","age":5,"email":"","home_town":"x"}}"#;
    let expected = json!({ "name": "-Ann", "age": 5, "email": "", "home_town": "x" });
    let inner = expected.to_string();
    line.write("f.json", &inner);
    for arguments in [
        vec!["echo_record", inner.as_str()],
        vec!["echo_record", "@f.json"],
        vec![
            "echo_record",
            "--arg",
            "name=-Ann",
            "--arg",
            "age=5",
            "--arg",
            "email=",
            "--arg",
            "home_town=x",
        ],
        vec!["echo_record", "--arg=name=-Ann", "--arg", "age:=5", "--arg", "email=", "--arg", "home_town=x"],
        vec!["echo_record", r#"{"name":"-Ann","email":""}"#, "--arg", "home_town=x", "--arg", "age:=5"],
    ] {
        assert_eq!(explained(&line, &arguments), expected, "{arguments:?}");
    }
    let nested = explained(&line, &["echo_record_and_number", text, "--arg", "number=7"]);
    assert_eq!(nested, json!({ "value": expected, "number": 7 }));
    let nested = explained(
        &line,
        &["echo_record_and_number", "--arg", &format!("value:={inner}"), "--arg", "number=7"],
    );
    assert_eq!(nested, json!({ "value": expected, "number": 7 }));
    assert_eq!(explained(&line, &["echo_u32s", "--arg", "value=[1,2]"]), json!({ "value": [1, 2] }));
    assert_eq!(explained(&line, &["echo_string", "--arg", "value=5"]), json!({ "value": "5" }));
}

fn with_stdin(line: &CommandLine, text: &str) -> Ended {
    let probe = toolcell_tests::guest("probe");
    let mut child = line
        .command(&["call", "--component", &probe.to_string_lossy(), "echo_string", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    child.wait_with_output().unwrap().into()
}

#[test]
fn standard_input_is_the_arguments() {
    let line = CommandLine::new();
    assert_eq!(with_stdin(&line, r#"{"value":"piped"}"#).stdout, "piped\n");
    let marked = "\u{feff}{\"value\":\"marked\"}";
    assert_eq!(with_stdin(&line, marked).stdout, "marked\n", "a byte order mark is no part of the text");
    assert_eq!(with_stdin(&line, r#"{"value":"#).code, 3);
    assert_eq!(with_stdin(&line, "").code, 0, "nothing is no arguments, and the only one has a default");
}

#[test]
fn what_cannot_be_taken_is_named() {
    let line = CommandLine::new();
    for (arguments, code, told) in [
        (vec!["echo_u32s", "--ids", "1"], 2, "--ids"),
        (vec!["echo_u32s", "--value.x", "1"], 2, "--value.x"),
        (vec!["echo_u32s", "--arg", "value=1", "--arg", "value=2"], 2, "--arg value:=[1,2]"),
        (vec!["echo_u32s", r#"{"value":[1]}"#, "--arg", "value:=[2]"], 2, "`value` is given twice"),
        (vec!["echo_u32s", "--arg", "value"], 2, "NAME=TEXT"),
        (vec!["echo_u32s", "--arg", "value:=[1"], 2, "no JSON value"),
        (vec!["echo_u32s", "@gone.json"], 2, "gone.json"),
        (vec!["echo_u32s", "{}", "extra"], 2, "extra"),
        (vec!["echo_u32s", "--meta", "x"], 2, "NAME=VALUE"),
        (vec!["echo_u32s", "--arg", "values=[1]"], 3, "values"),
        (vec!["echo_u32s", "--arg", "value=five"], 3, "/value"),
        (vec!["echo_u32s", r#"{"value":[1],"value":[2]}"#], 3, "value"),
        (vec!["echo_u32s", "[1]"], 3, "cannot be read"),
        (vec!["echo_u32s", "{'value':[1]}"], 3, "cannot be read"),
    ] {
        let ended = line.probe(&[&["call"], arguments.as_slice()].concat());
        assert_eq!(ended.code, code, "{ended:?}");
        assert!(ended.stderr.contains(told), "{arguments:?}: {ended:?}");
    }
}

#[test]
fn metadata_reaches_the_tool() {
    let line = CommandLine::new();
    let ended = line.probe(&["call", "metadata_of", "--arg", "key=user", "--meta", "user=u=42"]);
    assert_eq!(ended.stdout, "u=42\n", "{ended:?}");
    let session = line.probe(&["call", "facts", "--session", "s1", "--json"]);
    assert_eq!(session.json()["structured"]["session"], "s1");
}
