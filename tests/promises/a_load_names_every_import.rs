//! What a component imports is looked at when it is loaded: all that is missing at once, and no more than that.

use serde_json::json;
use toolcell::{ErrorKind, Runtime, ToolComponent};
use toolcell_tests::{builder, call};

/// A component with these imports. Its tool `run` calls the first one if it `calls`, and returns a number.
fn component(imports: &[(&str, &str)], calls: bool) -> Vec<u8> {
    let mut text = "(component\n".to_owned();
    for (number, (interface, function)) in imports.iter().enumerate() {
        let instance = format!("(instance (export \"{function}\" (func (result u64))))");
        text.push_str(&format!(
            "(import \"{interface}\" {})\n",
            instance.replacen("(instance", &format!("(instance $i{number}"), 1)
        ));
    }
    if calls {
        let function = imports[0].1;
        text.push_str(&format!(
            r#"(core func $g (canon lower (func $i0 "{function}")))
               (core module $m (import "" "g" (func $g (result i64))) (func (export "f") (result i64) call $g))
               (core instance $c (instantiate $m (with "" (instance (export "g" (func $g))))))"#
        ));
    } else {
        text.push_str(
            r#"(core module $m (func (export "f") (result i64) i64.const 7))
               (core instance $c (instantiate $m))"#,
        );
    }
    text.push_str(r#"(func $f (result u64) (canon lift (core func $c "f"))) (export "run" (func $f)))"#);
    wat::parse_str(text).unwrap()
}

fn load(imports: &[(&str, &str)], calls: bool) -> Result<Runtime, String> {
    let component = ToolComponent::bytes("importing", component(imports, calls));
    builder().component(component).build_blocking().map_err(|error| error.to_string())
}

#[test]
fn all_that_is_missing_is_named_at_once() {
    let mut messages = String::new();
    for imports in [
        &[("acme:db/conn@1.0.0", "open")][..],
        &[
            ("acme:db/conn@1.0.0", "open"),
            ("acme:queue/topic@0.1.0", "push"),
            ("wasi:clocks/monotonic-clock@0.2.0", "now"),
        ],
        &[("wasi:clocks/monotonic-clock@0.3.0", "now")],
        &[("wasi:cli/environment@0.2.0-rc-2023-11-10", "get")],
        &[("wasi:nn/inference@0.2.0-rc-2024-10-28", "compute"), ("wasi:clocks/monotonic-clock@0.3.0", "now")],
        &[("toolcell:tool/events@2.0.0", "log")],
        &[("wasi:clocks/sundial@0.2.0", "now")],
    ] {
        messages.push_str(&load(imports, false).unwrap_err());
        messages.push('\n');
    }
    insta::assert_snapshot!("all_that_is_missing", messages);
}

#[tokio::test]
async fn every_patch_level_of_wasi_runs() {
    for version in ["0.2.0", "0.2.1", "0.2.3", "0.2.6", "0.2.9", "0.2.99"] {
        let interface = format!("wasi:clocks/monotonic-clock@{version}");
        let runtime = load(&[(&interface, "now")], true).unwrap();
        let outcome = call(&runtime, "run", json!({})).await;
        assert!(outcome.is_success(), "{version}: {outcome:#?}");
    }
}

#[tokio::test]
async fn what_is_imported_and_not_used_is_no_reason_to_refuse() {
    for (interface, function, capability, setting) in [
        (
            "wasi:sockets/instance-network@0.2.3",
            "instance-network",
            "sockets",
            "none: sockets are never granted",
        ),
        (
            "wasi:sockets/ip-name-lookup@0.2.0",
            "resolve-addresses",
            "sockets",
            "none: sockets are never granted",
        ),
        (
            "wasi:sockets/tcp-create-socket@0.2.0",
            "create-tcp-socket",
            "sockets",
            "none: sockets are never granted",
        ),
        (
            "wasi:sockets/udp-create-socket@0.2.6",
            "create-udp-socket",
            "sockets",
            "none: sockets are never granted",
        ),
    ] {
        let outcome = call(&load(&[(interface, function)], false).unwrap(), "run", json!({})).await;
        assert_eq!(outcome.text(), "7", "{interface}: {outcome:#?}");
        assert_eq!(outcome.denials, []);

        let outcome = call(&load(&[(interface, function)], true).unwrap(), "run", json!({})).await;
        assert_eq!(outcome.error_kind(), Some(ErrorKind::CapabilityDenied), "{interface}: {outcome:#?}");
        assert_eq!(outcome.exit_code(), 4);
        let [denial] = outcome.denials.as_slice() else { panic!("{interface}: {outcome:#?}") };
        assert_eq!((denial.capability.as_str(), denial.operation.as_str()), (capability, function));
        assert_eq!(denial.setting, setting);
        assert!(outcome.error.unwrap().message.contains(interface));
    }
}
