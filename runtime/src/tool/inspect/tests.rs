#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;
use crate::policy::{Access, Grant};

fn wasm(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

/// A component whose one function does nothing, with `rest` beside it.
fn tool(rest: &str) -> String {
    format!(
        r#"(component {rest}
            (core module $m (func (export "f")))
            (core instance $i (instantiate $m))
            (func $f (canon lift (core func $i "f")))
            (export "f" (func $f)))"#
    )
}

fn refused(bytes: &[u8], expected: &str) {
    let message = inspect(bytes).map(|_| "it is a tool").unwrap_err().to_string();
    assert!(message.contains(expected), "expected `{expected}` in: {message}");
    assert!(message.lines().count() == 1, "several lines: {message}");
}

fn importing(names: &[&str]) -> Inspection {
    let imports: String = names.iter().map(|name| format!("(import \"{name}\" (instance))")).collect();
    inspect(&wasm(&tool(&imports))).unwrap()
}

#[test]
fn a_component_with_a_function_is_a_tool() {
    let inspection = inspect(&wasm(&tool(""))).unwrap();
    let keys: Vec<String> = inspection.functions().into_iter().map(|export| export.key).collect();
    assert_eq!(keys, ["f"]);
    assert_eq!((inspection.is_command, inspection.is_provider), (false, false));
    assert_eq!((inspection.package, inspection.imports), (None, vec![]));
    assert_eq!(inspection.footprint.core_instances, 1);
}

#[test]
fn the_package_comes_along() {
    let bare = wasm(&tool(""));
    let mut package = Package::default();
    package.instructions = Some("Be kind.".to_owned());
    let packed = toolcell_package::append(&bare, &package).unwrap();
    assert_eq!(inspect(&packed).unwrap().package, Some(package));
    refused(&wasm(&tool(r#"(@custom "toolcell:tool" "{")"#)), "`toolcell:tool` is damaged");
}

#[test]
fn files_of_other_kinds_say_what_they_are() {
    let cwasm = [0x7f, b'E', b'L', b'F', 2, 1, 1, 200, 0];
    for (bytes, expected) in [
        (&b""[..], "the file is empty"),
        (b"\0as", "cut short: it ends after 3 bytes in the middle of the header"),
        (b"\0asm\x0d\0", "in the middle of the header"),
        (b"\0asm\x0c\0\x01\0", "another draft"),
        (b"\0asm\x02\0\0\0", "unknown version"),
        (b"\x7fELF\x02\x01\x01\0\0\0", "ELF binary"),
        (&cwasm, "precompiled native code (.cwasm), which is never loaded"),
        (b"\xcf\xfa\xed\xfe\x07", "Mach-O"),
        (b"MZ\x90\0", "Windows program"),
        (b"PK\x03\x04", "zip archive"),
        (b"\x1f\x8b\x08", "compressed"),
        (b"#!/bin/sh\necho\n", "script"),
        (b"  ;; a comment\n(component)", "component in text form"),
        (b"(module)", "core module in text form"),
        (b"/// Docs.\npackage a:b;\n\ninterface c {\n}\n", "this is WIT"),
        (b"<!DOCTYPE html>", "web page"),
        (b"hello\n", "this is text"),
        (b"\xff\xfe\0\x01", "neither a component nor"),
    ] {
        refused(bytes, expected);
    }
}

#[test]
fn core_modules_say_how_to_become_components() {
    refused(&wasm("(module)"), "this is a core module, not a component; build it for wasm32-wasip2");
    refused(&wasm(r#"(module (import "wasi_snapshot_preview1" "fd_write" (func)))"#), "preview 1 (wasip1)");
}

/// A tool without names for its parts: nothing follows the export.
const BARE: &str = r#"(component
    (core module (func (export "f")))
    (core instance (instantiate 0))
    (func (canon lift (core func 0 "f")))
    (export "f" (func 0)))"#;

#[test]
fn a_component_is_refused_wherever_it_is_cut() {
    let whole = wasm(BARE);
    assert!(inspect(&whole).is_ok());
    for length in 0..whole.len() {
        assert!(inspect(&whole[..length]).is_err(), "cut to {length}");
    }
    refused(&whole[..whole.len() - 1], "the component is cut short");
    refused(&whole[..40], "the component is cut short");
}

#[test]
fn no_changed_byte_makes_inspection_panic() {
    let whole =
        wasm(&tool(r#"(import "wasi:cli/stdin@0.2.0" (instance (export "r" (type (sub resource)))))"#));
    for at in 0..whole.len() {
        for value in [0, 1, 0x41, 0x42, 0x7f, 0x80, 0xff] {
            let mut changed = whole.clone();
            changed[at] = value;
            // Whether such a file is still a tool does not matter, only that there is an answer.
            let _ = component(&changed);
        }
    }
}

#[test]
fn damaged_bytes_are_said_to_be_damaged() {
    let mut bytes = wasm(BARE);
    let at = bytes.len() - 1;
    bytes[at] = 0x70;
    refused(&bytes, "the component is damaged");
    refused(b"\0asm\x0d\0\x01\0\x7f\x00", "the component is damaged");
}

#[test]
fn wit_in_binary_form_is_no_tool() {
    refused(
        &wasm(
            r#"(component (type (component
                (type (instance (type (func)) (export "f" (func (type 0)))))
                (export "a:b/c" (instance (type 0)))))
              (export "c" (type 0)))"#,
        ),
        "WIT in binary form",
    );
}

#[test]
fn nothing_to_call_is_no_tool() {
    refused(&wasm("(component)"), "exports no function");
    refused(
        &wasm(
            r#"(component (type (record (field "a" u8))) (instance (export "t" (type 0)))
                (export "a:b/types" (instance 0)))"#,
        ),
        "exports no function",
    );
    refused(&wasm(r#"(component (core module) (export "m" (core module 0)))"#), "cannot be expressed as WIT");
}

#[test]
fn commands_and_providers_are_known_by_their_entries() {
    let entry = |interface: &str, function: &str, result: &str| {
        wasm(&format!(
            r#"(component
                (core module $m (func (export "f") (result i32) i32.const 0))
                (core instance $i (instantiate $m))
                (type $t (func {result}))
                (func $f (type $t) (canon lift (core func $i "f")))
                (instance $e (export "{function}" (func $f)))
                (export "{interface}" (instance $e)))"#
        ))
    };
    let command = inspect(&entry("wasi:cli/run@0.2.6", "run", "(result (result))")).unwrap();
    assert_eq!((command.is_command, command.is_provider), (true, false));
    assert!(command.functions().is_empty());
    let provider = inspect(&entry("toolcell:tool/tools@1.0.0", "list-tools", "(result u32)")).unwrap();
    assert_eq!((provider.is_command, provider.is_provider), (false, true));
    refused(
        &entry("toolcell:tool/tools@2.0.0", "list-tools", "(result u32)"),
        "`toolcell:tool/tools@2.0.0`, a version that is not supported",
    );
    let plain = inspect(&entry("acme:db/queries@1.0.0", "count", "(result u32)")).unwrap();
    assert_eq!(plain.functions()[0].key, "acme:db/queries@1.0.0#count");
    refused(
        &entry("wasi:cli/run@0.2.0-rc-2023-11-10", "run", "(result (result))"),
        "`wasi:cli/run@0.2.0-rc-2023-11-10`, a version that is not supported",
    );
}

#[test]
fn component_async_features_are_named() {
    for (declaration, expected) in [
        ("(type (stream u8))", "`stream`"),
        ("(type (future string))", "`future`"),
        ("(type (list error-context))", "`error-context`"),
        (r#"(type (func async))"#, "`async` functions"),
        (r#"(import "a:b/c" (instance (export "f" (func async))))"#, "`async` functions"),
    ] {
        refused(&wasm(&tool(declaration)), &format!("uses {expected}, a component-async feature"));
    }
}

#[test]
fn features_that_are_off_are_named() {
    for (declaration, expected) in [
        ("(core module (memory i64 1))", "`memory64`"),
        ("(core module (memory 1 1 shared))", "`threads`"),
        ("(core module (tag))", "`exceptions`"),
        ("(core module (type (struct)))", "`gc`"),
        ("(type (list u8 4))", "`cm-fixed-length-lists`"),
    ] {
        refused(&wasm(&tool(declaration)), &format!("the WebAssembly feature {expected}"));
    }
}

#[test]
fn deep_types_are_refused() {
    let lists: String = (0..200).map(|at| format!("(type (list {at}))")).collect();
    refused(&wasm(&tool(&format!("(type (list u8)) {lists}"))), "types are nested more than 100 deep");
    let mut component = component_of(&[]);
    for _ in 0..120 {
        component = component_of(&[&[4][..], &sized(&component)].concat());
    }
    refused(&component, "components are nested more than 100 deep");
}

/// A component of the given sections.
fn component_of(sections: &[u8]) -> Vec<u8> {
    [b"\0asm\x0d\0\x01\0", sections].concat()
}

/// `body` with its size in front.
fn sized(body: &[u8]) -> Vec<u8> {
    [leb128(u32::try_from(body.len()).unwrap()).as_slice(), body].concat()
}

/// A section of types in which each is the only declaration of the one around it.
fn nested_types(levels: usize) -> Vec<u8> {
    let mut body = vec![1];
    for _ in 0..levels {
        body.extend([0x41, 1, 1]);
    }
    body.push(0x7f);
    component_of(&[&[7][..], &sized(&body)].concat())
}

#[test]
fn types_that_contain_types_do_not_overflow_the_stack() {
    refused(&nested_types(500_000), "types are nested more than 100 deep");
    refused(&nested_types(50), "exports no function");
}

#[test]
fn shared_types_that_unfold_without_end_are_refused() {
    let pairs: String = (0..16).map(|at| format!("(type (tuple {at} {at}))")).collect();
    let text = format!(
        r#"(component (type (tuple u8 u8)) {pairs}
            (core module $m (memory (export "m") 1) (func (export "f") (result i32) i32.const 0))
            (core instance $i (instantiate $m))
            (type $t (func (result 16)))
            (func $f (type $t) (canon lift (core func $i "f") (memory (core memory $i "m"))))
            (export "f" (func $f)))"#
    );
    refused(&wasm(&text), "types in one function's signature, and 20000 are allowed");
}

#[test]
fn a_huge_table_is_refused() {
    refused(
        &wasm(&tool("(core module (table 4294967295 funcref))")),
        "4294967295 elements in one table, and 10000000 are allowed",
    );
}

#[test]
fn too_many_imports_or_functions_are_refused() {
    let imports: String = (0..300).map(|at| format!("(import \"a:b/i{at}\" (instance))")).collect();
    refused(&wasm(&tool(&imports)), "at least 257 imports, and 256 are allowed");
    let exports: String = (0..1001).map(|at| format!("(export \"e{at}\" (func $f))")).collect();
    let text = tool("").replace(r#"(export "f" (func $f))"#, &exports);
    refused(&wasm(&text), "exports, and 1000 are allowed");
}

#[test]
fn the_footprint_counts_instances_not_modules() {
    let text = tool(
        r#"(core module $never (memory 9))
           (core module $twice (memory 2) (table 5 funcref))
           (core instance (instantiate $twice))
           (core instance (instantiate $twice))
           (component $inner
               (alias outer 1 $twice (core module $outer))
               (core instance (instantiate $outer))
               (core module $own (memory 1))
               (core instance (instantiate $own)))
           (instance (instantiate $inner))
           (instance (instantiate $inner))"#,
    );
    let footprint = inspect(&wasm(&text)).unwrap().footprint;
    assert_eq!(footprint.core_instances, 2 + 2 * 2 + 1);
    assert_eq!(footprint.memory_bytes, (2 * 2 + 2 * (2 + 1)) << 16);
    assert_eq!(footprint.memories, 2 + 2 * 2);
    assert_eq!((footprint.tables, footprint.table_elements), (4, 20));
}

#[test]
fn the_footprint_of_a_tower_of_components_saturates() {
    let mut inner = "(component (core module $m (memory 65536)) (core instance (instantiate $m)))".to_owned();
    for _ in 0..80 {
        inner = format!("(component {inner} (instance (instantiate 0)) (instance (instantiate 0)))");
    }
    let text = tool(&format!("{inner} (instance (instantiate 0))"));
    assert_eq!(inspect(&wasm(&text)).unwrap().footprint.memory_bytes, u64::MAX);
}

#[test]
fn every_patch_level_of_wasi_0_2_is_served() {
    let inspection = importing(&[
        "wasi:cli/environment@0.2.0",
        "wasi:cli/stdout@0.2.3",
        "wasi:io/streams@0.2.6",
        "wasi:random/random@0.2.12",
        "wasi:clocks/wall-clock@0.2.13",
        "toolcell:tool/context@1.0.0",
        "toolcell:tool/events@1.4.0",
    ]);
    let report = classify_imports(&inspection, &Grant::none());
    assert_eq!(report.refusal(), None);
    assert_eq!(report.needs_grant, []);
    assert_eq!(report.newer, ["wasi:clocks/wall-clock@0.2.13", "toolcell:tool/events@1.4.0"]);
}

#[test]
fn unmet_imports_are_listed_all_at_once() {
    let inspection = importing(&[
        "acme:db/conn@1.0.0",
        "wasi:cli/environment@0.2.0",
        "wasi:cli/environment@0.3.0",
        "wasi:cli/stdout@0.2.0-rc-2023-11-10",
        "wasi:io/streams",
        "wasi:cli/teleport@0.2.0",
        "wasi:nn/graph@0.2.0-rc-2024-10-28",
        "wasi:config/store@0.2.0-rc.1",
        "wasi:config/store@0.2.0-draft",
        "wasi:keyvalue/batch@0.2.0-draft",
        "toolcell:tool/files@2.0.0",
        "plain",
    ]);
    let report = classify_imports(&inspection, &Grant::none());
    assert!(!report.is_loadable());
    insta::assert_snapshot!(report.to_string(), @r"
    unknown: `acme:db/conn@1.0.0`, `wasi:cli/teleport@0.2.0`, `wasi:nn/graph@0.2.0-rc-2024-10-28`, `plain`
    version not supported: `wasi:cli/environment@0.3.0` (served: 0.2.x), `wasi:cli/stdout@0.2.0-rc-2023-11-10` (served: 0.2.x), `wasi:io/streams` (served: 0.2.x), `wasi:config/store@0.2.0-draft` (served: 0.2.0-rc.1), `toolcell:tool/files@2.0.0` (served: 1.x)
    refused when used: `wasi:config/store@0.2.0-rc.1` (needs `config`), `wasi:keyvalue/batch@0.2.0-draft` (needs `grant.state`)
    ");
    let refusal = report.refusal().unwrap();
    assert!(
        refusal.starts_with(
            "the component imports what toolcell does not serve: unknown: `acme:db/conn@1.0.0`,"
        )
    );
    assert!(refusal.contains("; version not supported: `wasi:cli/environment@0.3.0` (served: 0.2.x),"));
}

#[test]
fn functions_that_are_not_stable_are_unknown() {
    let text = tool(
        r#"(import "wasi:cli/exit@0.2.6" (instance
            (export "exit" (func (param "status" (result)))) (export "exit-with-code" (func (param "code" u8)))))"#,
    );
    let report = classify_imports(&inspect(&wasm(&text)).unwrap(), &Grant::none());
    assert_eq!(report.to_string(), "unknown: `wasi:cli/exit@0.2.6#exit-with-code`");
}

#[test]
fn imports_that_lack_a_grant_load_all_the_same() {
    let inspection = importing(&[
        "wasi:filesystem/types@0.2.3",
        "wasi:http/outgoing-handler@0.2.0",
        "wasi:http/types@0.2.0",
        "wasi:sockets/tcp@0.2.0",
        "wasi:config/store@0.2.0-rc.1",
    ]);
    let needs = |grant: &Grant| -> Vec<Capability> {
        let report = classify_imports(&inspection, grant);
        assert!(report.is_loadable());
        report.needs_grant.iter().map(|need| need.capability).collect()
    };
    use Capability::{Config, Dirs, Http, Sockets};
    assert_eq!(needs(&Grant::none()), [Dirs, Http, Http, Sockets, Config]);
    let granted = Grant::none().dir("/tmp", "/work", Access::Read).config("k", "v");
    assert_eq!(needs(&granted), [Http, Http, Sockets]);
}

#[test]
fn functions_and_resources_of_the_world_are_unknown_and_types_are_nothing() {
    let text = tool(
        r#"(import "log" (func))
           (import "handle" (type (sub resource)))
           (type $r u8) (import "number" (type (eq $r)))"#,
    );
    let inspection = inspect(&wasm(&text)).unwrap();
    let report = classify_imports(&inspection, &Grant::none());
    let names: Vec<&str> = report.unknown.iter().map(|import| import.name.as_str()).collect();
    assert_eq!(names, ["log", "handle"]);
}

#[test]
fn names_that_surprise_are_linted() {
    let long = "a-very-long-name-of-a-function-that-no-client-wants";
    let exports =
        format!(r#"(export "read" (func $f)) (export "{long}" (func $f)) (export "read-file" (func $f))"#);
    let inspection = inspect(&wasm(&tool("").replace(r#"(export "f" (func $f))"#, &exports))).unwrap();
    let found = lints(&inspection);
    assert_eq!(
        found,
        [Lint::LibcName { function: "read".to_owned() }, Lint::LongName { name: long.replace('-', "_") }]
    );
    assert!(found[0].to_string().contains("export it from an interface"));
    let text = r#"(component
        (core module $m (func (export "f"))) (core instance $i (instantiate $m))
        (func $f (canon lift (core func $i "f")))
        (instance $e (export "read" (func $f)))
        (export "a:b/files" (instance $e)))"#;
    assert_eq!(lints(&inspect(&wasm(text)).unwrap()), []);
}

/// Instance types each of which exports an instance of the one before.
fn chained_instances(levels: u32, rest: &[u8]) -> Vec<u8> {
    let mut body = leb128(levels);
    for at in 0..levels {
        if at == 0 {
            body.extend([0x42, 0]);
            continue;
        }
        // Two declarations: an alias of the outer type before, and the export of an instance of it.
        body.extend([0x42, 2, 0x02, 0x03, 0x02, 1]);
        body.extend(leb128(at - 1));
        body.extend([0x04, 0x00, 1, b'a', 0x05, 0]);
    }
    component_of(&[&[7][..], &sized(&body), rest].concat())
}

fn leb128(mut value: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).unwrap());
    bytes
}

#[test]
fn chains_of_instances_do_not_overflow_the_stack() {
    for (levels, expected) in [(5, "cannot be expressed as WIT"), (1_000, "too deep"), (200_000, "too deep")]
    {
        let mut import = vec![1, 0x00, 1, b'x', 0x05];
        import.extend(leb128(levels - 1));
        let import = [&[10][..], &sized(&import)].concat();
        refused(&chained_instances(levels, &import), expected);
    }
}

#[test]
fn what_an_author_wrote_moves_no_cursor() {
    let mut package = Package::default();
    package.instructions = Some("use\u{1b}]0;pwn\u{7} it".to_owned());
    let mut tool = toolcell_package::ToolDoc::default();
    tool.description = Some("D\u{1b}[31m".to_owned());
    package.tools.insert("f".to_owned(), tool);
    let readable = readable(package);
    assert_eq!(readable.instructions.as_deref(), Some("use it"));
    assert_eq!(readable.tools.get("f").and_then(|tool| tool.description.as_deref()), Some("D"));
}
