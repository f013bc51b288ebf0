//! The command line: each kind of end has its exit code, its document, and one message on standard error.

use toolcell_tests::command_line::CommandLine;

#[test]
fn each_kind_has_its_exit_code_and_its_document() {
    let line = CommandLine::new();
    let cases: &[(&[&str], i32, Option<&str>)] = &[
        (&["echo_string", r#"{"value":"x"}"#], 0, None),
        (&["fail", r#"{"message":"no"}"#], 1, Some("tool_error")),
        (&["echo_strin", "{}"], 3, Some("unknown_tool")),
        (&["echo_u8", r#"{"value":256}"#], 3, Some("invalid_arguments")),
        (&["echo_u8", "{"], 3, Some("invalid_arguments")),
        (&["spin", "--timeout", "100ms"], 5, Some("timeout")),
        (&["spin", "--fuel", "1M"], 5, Some("out_of_fuel")),
        (&["alloc", r#"{"mib":64}"#, "--memory", "32MiB"], 5, Some("memory_limit")),
        (&["recurse", r#"{"depth":100000000}"#], 5, Some("stack_overflow")),
        (&["trap"], 6, Some("trapped")),
        (&["panic_with", r#"{"message":"oh"}"#], 6, Some("panicked")),
        (&["exit_with", r#"{"code":3}"#], 6, Some("exited")),
    ];
    for (arguments, code, kind) in cases {
        let plain = line.probe(&[&["call"], *arguments].concat());
        assert_eq!(plain.code, *code, "{plain:?}");
        let document = line.probe(&[&["call", "--json"], *arguments].concat());
        assert_eq!((document.code, document.stderr.as_str()), (*code, ""), "{document:?}");
        assert_eq!(document.json()["error"]["kind"].as_str(), *kind);
        if let Some(kind) = kind {
            assert_eq!(plain.stdout, "", "an error is no result");
            assert!(plain.stderr.contains(&format!("error: {kind}: ")), "{plain:?}");
        }
    }
}

#[test]
fn a_limit_names_the_flag_that_raises_it() {
    let line = CommandLine::new();
    let ended = line.probe(&["call", "spin", "--timeout", "100ms"]);
    assert!(ended.stderr.contains("help: raise `--timeout`"), "{ended:?}");
    line.write("toolcell.toml", "[limits]\ntimeout = \"100ms\"\n[component.p]\npath = \"p.wasm\"\n");
    std::fs::copy(toolcell_tests::guest("probe"), line.folder().join("p.wasm")).unwrap();
    let ended = line.run(&["call", "spin"]);
    assert!(
        ended.stderr.contains("raise `limits.timeout` (toolcell.toml:2) or pass `--timeout`"),
        "{ended:?}"
    );
}

#[test]
fn usage_and_configuration_are_two() {
    let line = CommandLine::new();
    line.write("broken.toml", "[component.x]\npth = \"builtin:files\"\n");
    for (arguments, kind, told) in [
        (vec!["frobnicate"], "usage", "frobnicate"),
        (vec!["call", "--bogus", "x"], "usage", "--bogus"),
        (vec!["call", "--timeout", "5"], "usage", "no duration"),
        (vec!["call", "--memory", "lots"], "usage", "no size"),
        (vec!["call", "--fuel", "0"], "usage", "would allow nothing"),
        (vec!["list", "--config", "broken.toml"], "configuration", "broken.toml:2"),
        (vec!["list", "--config", "gone.toml"], "configuration", "gone.toml"),
        (vec!["list", "--component", "gone.wasm"], "usage", "gone.wasm"),
        (vec!["list"], "usage", "toolcell init"),
    ] {
        let plain = line.run(&arguments);
        assert_eq!((plain.code, plain.stdout.as_str()), (2, ""), "{plain:?}");
        assert!(plain.stderr.starts_with("error: ") && plain.stderr.contains(told), "{plain:?}");
        let document = line.run(&[arguments.as_slice(), &["--json"]].concat());
        assert_eq!((document.code, document.stderr.as_str()), (2, ""), "{document:?}");
        assert_eq!(document.json()["error"]["kind"], kind, "{document:?}");
    }
}

#[test]
fn colours_are_for_terminals() {
    let line = CommandLine::new();
    let ended = line.probe(&["call", "trap"]);
    assert!(!ended.stderr.contains('\u{1b}'), "{ended:?}");
}
