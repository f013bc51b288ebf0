//! `toolcell-pack` as its users run it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

const WIT: &str = "package acme:demo;\n/// Be brief.\nworld demo {\n  /// Greets.\n  /// @param name Whom.\n  export greet: func(name: u32, loud: bool);\n}\n";

/// A component that exports `greet` of the world above under the name `function`.
fn component(function: &str) -> Vec<u8> {
    let text = format!(
        r#"(component
            (core module $m (func (export "f") (param i32 i32)))
            (core instance $i (instantiate $m))
            (func $f (param "name" u32) (param "loud" bool) (canon lift (core func $i "f")))
            (export "{function}" (func $f)))"#
    );
    wat::parse_str(text).unwrap()
}

fn folder(wit: &str, component: &[u8]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("wit")).unwrap();
    fs::write(folder.path().join("wit/world.wit"), wit).unwrap();
    fs::write(folder.path().join("in.wasm"), component).unwrap();
    folder
}

/// Exit code and standard error.
fn pack(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let program = env!("CARGO_BIN_EXE_toolcell-pack");
    let output = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

const USUAL: [&str; 5] = ["in.wasm", "--wit", "wit", "-o", "out.wasm"];

#[test]
fn a_component_is_packed_with_warnings_for_what_is_undescribed() {
    let folder = folder(WIT, &component("greet"));
    let (code, errors) = pack(folder.path(), &USUAL);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(errors, "warning: parameter `loud` of `greet` has no description\n");
    let packed = fs::read(folder.path().join("out.wasm")).unwrap();
    let package = toolcell_package::read(&packed).unwrap().unwrap();
    assert_eq!(package.instructions.as_deref(), Some("Be brief."));
    assert_eq!(package.tools["greet"].description.as_deref(), Some("Greets."));
}

#[test]
fn a_component_can_be_packed_in_place_and_leaves_nothing_beside_it() {
    let folder = folder(WIT, &component("greet"));
    for _ in 0..2 {
        let (code, errors) =
            pack(folder.path(), &["--wit", "wit", "in.wasm", "--world", "demo", "-o", "in.wasm"]);
        assert_eq!(code, Some(0), "{errors}");
    }
    assert!(toolcell_package::read(&fs::read(folder.path().join("in.wasm")).unwrap()).unwrap().is_some());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn wrong_usage_is_told_with_the_usage() {
    let folder = folder(WIT, &component("greet"));
    for (arguments, expected) in [
        (&[][..], "the component to pack is missing"),
        (&["in.wasm", "-o", "x"], "`--wit DIR` is missing"),
        (&["in.wasm", "--wit", "wit"], "`-o OUT.wasm` is missing"),
        (&["in.wasm", "--wit"], "`--wit` needs a value"),
        (&["in.wasm", "--wit", "a", "--wit", "b"], "`--wit` is given twice"),
        (&["in.wasm", "other.wasm"], "`other.wasm` is too many"),
        (&["--wot"], "unknown flag `--wot`"),
    ] {
        let (code, errors) = pack(folder.path(), arguments);
        assert_eq!(code, Some(2), "{arguments:?}");
        assert!(errors.contains(expected) && errors.contains("usage: "), "{errors}");
    }
}

#[test]
fn what_cannot_be_packed_says_why_and_writes_nothing() {
    for (wit, component, expected) in [
        (WIT, wat::parse_str("(module)").unwrap(), "in.wasm: this is a core module"),
        (WIT, Vec::new(), "in.wasm: the file is empty"),
        (WIT, component("other"), "in.wasm: it does not export `greet`"),
        ("package a:b;\nworld w { export f: fnc(); }\n", component("greet"), "world.wit:2"),
        ("package a:b;\n", component("greet"), "it has no world"),
        (
            &WIT.replace("@param name", "@param nam"),
            component("greet"),
            "wit: function `greet`: `@param nam` names no parameter",
        ),
    ] {
        let folder = folder(wit, &component);
        let (code, errors) = pack(folder.path(), &USUAL);
        assert_eq!(code, Some(1), "{errors}");
        assert!(
            errors.starts_with("error: ") && errors.contains(expected),
            "expected `{expected}`: {errors}"
        );
        assert!(!folder.path().join("out.wasm").exists());
    }
    let folder = folder(WIT, &component("greet"));
    let (code, errors) = pack(folder.path(), &["in.wasm", "--wit", "wit", "-o", "missing/out.wasm"]);
    assert_eq!(code, Some(1));
    assert!(errors.contains("cannot write missing/out.wasm"), "{errors}");
    let (_, errors) = pack(folder.path(), &["in.wasm", "--wit", "wit", "--world", "none", "-o", "out.wasm"]);
    assert!(errors.contains("no world `none`"), "{errors}");
    let (_, errors) = pack(folder.path(), &["in.wasm", "--wit", "absent", "-o", "out.wasm"]);
    assert!(errors.contains("absent"), "{errors}");
}
