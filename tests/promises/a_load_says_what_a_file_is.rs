//! A file that cannot be a tool is refused at load, in one line that says what it is and what to do.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;
use toolcell::ToolComponent;
use toolcell_tests::{builder, built, call, guest};

fn wat(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

/// A component that exports `seven`, whose core module holds `items` beside it.
fn seven(items: &str) -> Vec<u8> {
    wat(&format!(
        r#"(component
             (core module $m {items} (func (export "f") (result i32) i32.const 7))
             (core instance $i (instantiate $m))
             (func $f (result u32) (canon lift (core func $i "f")))
             (export "seven" (func $f)))"#
    ))
}

fn deep_types() -> Vec<u8> {
    let mut text = "(component (type $t0 (list u32))".to_owned();
    for level in 1..200 {
        text.push_str(&format!("(type $t{level} (list $t{}))", level - 1));
    }
    text.push_str(
        r#"(core module $m (memory (export "m") 1)
             (func (export "r") (param i32 i32 i32 i32) (result i32) i32.const 0)
             (func (export "f") (param i32 i32)))
           (core instance $i (instantiate $m))
           (func $f (param "p" $t199) (canon lift (core func $i "f") (memory $i "m") (realloc (func $i "r"))))
           (export "deep" (func $f)))"#,
    );
    wat(&text)
}

fn wrong_files() -> Vec<(&'static str, Vec<u8>)> {
    let good = fs::read(guest("readonly-liar")).unwrap();
    let half = good[..good.len() / 2].to_vec();
    let mut damaged = good.clone();
    let middle = damaged.len() / 3;
    damaged[middle..middle + 64].fill(0xff);
    vec![
        ("empty", Vec::new()),
        ("core-module", wat("(module (func (export \"f\")))")),
        ("wasip1-module", wat("(module (import \"wasi_snapshot_preview1\" \"fd_write\" (func)))")),
        ("half", half),
        ("header", b"\0asm".to_vec()),
        ("damaged", damaged),
        ("elf", fs::read("/proc/self/exe").unwrap()[..4096].to_vec()),
        ("text", b"hello, this is no component\n".to_vec()),
        ("wat-text", b"(component)\n".to_vec()),
        ("script", b"#!/bin/sh\necho\n".to_vec()),
        ("html", b"<!doctype html><title>404</title>".to_vec()),
        ("noise", (0..4096u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect()),
        ("no-functions", wat("(component)")),
        ("deep-types", deep_types()),
        ("huge-table", seven("(table 4294967295 funcref)")),
        ("huge-memory", seven("(memory 65536)")),
        ("many-memories", seven("(memory 3000)(memory 3000)")),
    ]
}

/// The message without where the test ran.
fn message(error: &dyn std::fmt::Display, folder: &std::path::Path) -> String {
    error.to_string().replace(&folder.display().to_string(), "FOLDER")
}

#[test]
fn every_wrong_file_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let mut messages = String::new();
    for (name, bytes) in wrong_files() {
        let path = folder.path().join(format!("{name}.wasm"));
        fs::write(&path, bytes).unwrap();
        let started = Instant::now();
        let error = builder().component(ToolComponent::file(&path)).build_blocking().unwrap_err();
        assert!(started.elapsed() < Duration::from_secs(2), "{name}: {:?}", started.elapsed());
        let message = message(&error, folder.path());
        assert!(!message.contains('\n') && message.len() < 400, "{name}: {message}");
        messages.push_str(&message);
        messages.push('\n');
    }
    for path in ["missing.wasm", "fifo"] {
        let path = folder.path().join(path);
        if path.ends_with("fifo") {
            rustix::fs::mknodat(
                rustix::fs::CWD,
                &path,
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::RUSR,
                0,
            )
            .unwrap();
        }
        let error = builder().component(ToolComponent::file(&path)).build_blocking().unwrap_err();
        messages.push_str(&message(&error, folder.path()));
        messages.push('\n');
    }
    insta::assert_snapshot!("every_wrong_file", messages);
}

#[tokio::test]
async fn a_folder_loads_what_is_good_and_warns_of_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in wrong_files() {
        fs::write(folder.path().join(format!("{name}.wasm")), bytes).unwrap();
    }
    fs::write(folder.path().join("seven.wasm"), seven("")).unwrap();
    fs::copy(guest("readonly-liar"), folder.path().join("liar.wasm")).unwrap();
    fs::write(folder.path().join("notes.txt"), "not looked at").unwrap();
    let wrong = wrong_files().len();
    let runtime = built(builder().component(ToolComponent::file(folder.path()).name("tools")));
    let names: Vec<String> = runtime.list().iter().map(|tool| tool.name().to_owned()).collect();
    assert_eq!(
        names,
        ["lie", "lie_in_every_way", "lie_keeping", "peek", "peek_kept", "seven", "tell", "tell_kept"]
    );
    let skipped: Vec<&String> =
        runtime.warnings().iter().filter(|warning| warning.starts_with("skipped")).collect();
    assert_eq!(skipped.len(), wrong, "{:#?}", runtime.warnings());
    for (name, _) in wrong_files() {
        let names = |warning: &&String| {
            warning.contains(&format!("/{name}.wasm")) || warning.contains(&format!("`tools.{name}`"))
        };
        assert!(skipped.iter().any(names), "{name}: {skipped:#?}");
    }
    assert_eq!(call(&runtime, "seven", json!({})).await.text(), "7");
    assert_eq!(runtime.get("seven").unwrap().component(), "tools.seven");

    let empty = tempfile::tempdir().unwrap();
    let runtime = built(builder().component(ToolComponent::file(empty.path()).name("none")));
    assert!(
        runtime.warnings().iter().any(|warning| warning.contains("has no tools")),
        "{:?}",
        runtime.warnings()
    );
}

#[test]
fn two_tools_of_one_name_are_refused_with_both() {
    let both = |second: ToolComponent| {
        let first = ToolComponent::bytes("first", seven(""));
        builder().component(first.clone()).component(second.clone()).build_blocking().map(drop).map_err(
            |error| {
                // The order of loading does not matter.
                let other =
                    builder().component(second).component(first).build_blocking().unwrap_err().to_string();
                assert!(
                    other.contains("`seven`") && other.contains("first") && other.contains("second"),
                    "{other}"
                );
                error.to_string()
            },
        )
    };
    let second = ToolComponent::bytes("second", seven(""));
    let error = both(second.clone()).unwrap_err();
    for word in ["`seven`", "first", "second", "`prefix`", "`rename`"] {
        assert!(error.contains(word), "{error}");
    }
    both(second.clone().prefix("other_")).unwrap();
    both(second.rename("seven", "eight")).unwrap();
}

#[test]
fn names_in_settings_are_those_of_tools() {
    let names = |component: ToolComponent| {
        let runtime = builder().component(component).build_blocking()?;
        Ok::<_, toolcell::Error>(runtime.list().iter().map(|tool| tool.name().to_owned()).collect::<Vec<_>>())
    };
    let files = || ToolComponent::builtin("files");
    assert_eq!(names(files().tools(["grep", "read_file"])).unwrap(), ["grep", "read_file"]);
    assert_eq!(names(files().tools(["tools.grep"]).rename("tools.grep", "search")).unwrap(), ["search"]);
    // The name that a tool is given here names it here.
    assert_eq!(names(files().rename("list_dir", "ls").tools(["grep", "ls"])).unwrap(), ["grep", "ls"]);
    assert_eq!(names(files().prefix("fs_").tools(["fs_grep"])).unwrap(), ["fs_grep"]);
    let mut errors = String::new();
    for component in [
        files().tools(["grpe"]),
        files().tools(Vec::from(["nothing_like_it"])),
        files().rename("ls", "list"),
        files().rename("grep", "Not A Name"),
        files().rename("grep", "glob"),
        files().prefix("9"),
        files().tool_limits("raed_file", toolcell::Limits::new()),
        files().describe("tools.nothing", "x"),
        ToolComponent::builtin("flies"),
    ] {
        errors.push_str(&names(component).unwrap_err().to_string());
        errors.push('\n');
    }
    insta::assert_snapshot!("names_in_settings", errors);
}

#[test]
fn a_pin_holds_the_content() {
    let good = ToolComponent::bytes("pinned", seven(""));
    let digest: toolcell::policy::Digest = {
        let runtime = built(builder().component(good.clone()));
        runtime.get("seven").unwrap().digest().parse().unwrap()
    };
    built(builder().component(good.digest(digest)));
    let other = ToolComponent::bytes("pinned", seven("(memory 1)")).digest(digest);
    let error = builder().component(other).build_blocking().unwrap_err().to_string();
    assert!(error.contains(&digest.to_string()) && error.starts_with("component.pinned.digest:"), "{error}");
}

#[test]
fn settings_that_only_the_component_proves_wrong_are_refused_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("toolcell.toml");
    fs::write(folder.path().join("seven.wasm"), seven("(memory 32)")).unwrap();
    let zeros = "0".repeat(64);
    let pin = format!("digest = \"sha256:{zeros}\"");
    let mut errors = String::new();
    for lines in [
        pin.as_str(),
        "tools = [\n  \"seven\",\n  \"svene\",\n]",
        "tools = [\"nope\"]",
        "rename = { nope = \"other\" }",
        "[component.c.tool.nope.limits]\ntimeout = \"1s\"",
        "[component.c.limits]\nmemory = \"1MiB\"",
        "[component.c.tool.seven.limits]\n\nmemory = \"1MiB\"",
        "[component.c.tool.seven.limits]\nstack = \"1MiB\"",
        "[limits]\nmemory = \"1MiB\"",
    ] {
        let text = format!("[component.c]\npath = \"seven.wasm\"\n{lines}\n");
        let config = toolcell::config::Config::parse(&text, &path, "toolcell.toml", None).unwrap();
        let error = builder().config(config).build_blocking().unwrap_err().to_string();
        errors.push_str(&format!("{lines}\n  → {error}\n\n"));
    }
    insta::assert_snapshot!("settings_with_their_line", errors);
}

#[test]
fn settings_of_a_folder_are_about_all_of_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("tools");
    fs::create_dir(&tools).unwrap();
    fs::write(tools.join("seven.wasm"), seven("")).unwrap();
    fs::copy(guest("readonly-liar"), tools.join("liar.wasm")).unwrap();
    let load = |lines: &str| {
        let text = format!("[component.t]\npath = \"tools\"\n{lines}\n");
        let path = folder.path().join("toolcell.toml");
        let config = toolcell::config::Config::parse(&text, &path, "toolcell.toml", None).unwrap();
        builder().config(config).build_blocking().map_err(|error| error.to_string())
    };
    let names = |runtime: &toolcell::Runtime| {
        runtime.list().iter().map(|tool| tool.name().to_owned()).collect::<Vec<_>>()
    };
    let renamed = load("rename = { seven = \"sept\" }").unwrap();
    assert!(names(&renamed).contains(&"sept".to_owned()) && names(&renamed).len() > 1);
    assert_eq!(names(&load("tools = [\"seven\"]").unwrap()), ["seven"]);
    let error = load("tools = [\"seven\", \"nope\"]").map(drop).unwrap_err();
    assert!(error.starts_with("toolcell.toml:3: `component.t.tools[1]`: "), "{error}");
    // The tool may be in the file that is bad.
    fs::write(tools.join("bad.wasm"), "").unwrap();
    let runtime = load("tools = [\"seven\", \"nope\"]").unwrap();
    assert_eq!(names(&runtime), ["seven"]);
    assert!(runtime.warnings().iter().any(|warning| warning.contains("has no tool `nope`")));
}
