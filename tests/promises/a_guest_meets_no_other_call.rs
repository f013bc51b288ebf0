//! Every call has a cell of its own: nothing of one call, good or bad, is there in the next, and nothing of the host.

use std::time::Duration;

use serde_json::json;
use toolcell::limits::Admission;
use toolcell::{ErrorKind, Grant, Limits, ToolCall};
use toolcell_tests::{builder, built, call, probe, probing};

#[tokio::test]
async fn a_call_that_failed_ruins_nothing() {
    for limits in [Limits::new().fuel(50_000_000), Limits::new().fuel_off()] {
        let metered = limits.iter().any(|(_, value, _)| value != u64::MAX);
        let runtime = probing(Grant::none(), limits.timeout(Duration::from_millis(500)).memory(16 << 20));
        let failures = [
            ("panic_with", json!({ "message": "x" }), ErrorKind::Panicked),
            ("spin", json!({}), if metered { ErrorKind::OutOfFuel } else { ErrorKind::Timeout }),
            ("poll_forever", json!({}), ErrorKind::Timeout),
            ("alloc", json!({ "mib": 100 }), ErrorKind::MemoryLimit),
            ("recurse", json!({ "depth": 10_000_000 }), ErrorKind::StackOverflow),
            ("exit_with", json!({ "code": 0 }), ErrorKind::Exited),
            ("trap", json!({}), ErrorKind::Trapped),
        ];
        for (name, arguments, kind) in failures {
            let outcome = call(&runtime, name, arguments).await;
            assert_eq!(outcome.error_kind(), Some(kind), "{name}: {:#?}", outcome.error);
            let good = call(&runtime, "echo_string", json!({ "value": "still here" })).await;
            assert_eq!(good.text(), "still here", "after {name}: {:#?}", good.error);
        }
    }
}

#[tokio::test]
async fn globals_start_anew() {
    let runtime = probing(Grant::none(), Limits::new());
    for value in 1..20 {
        let outcome = call(&runtime, "set", json!({ "value": value })).await;
        assert_eq!(outcome.structured, Some(json!({ "result": 0 })), "{:#?}", outcome.error);
        let outcome = call(&runtime, "get", json!({})).await;
        assert_eq!(outcome.structured, Some(json!({ "result": 0 })));
    }
}

#[tokio::test]
async fn memory_of_another_call_is_never_found() {
    // Few slots, so that each is used again and again.
    let mut admission = Admission::default();
    admission.concurrent_cells = 2;
    for limits in [Limits::new(), Limits::new().fuel_off()] {
        let runtime = built(builder().component(probe(Grant::none(), limits)).admission(admission));
        for mib in [1, 3, 16, 64] {
            for _ in 0..4 {
                let (left, other) = tokio::join!(
                    call(&runtime, "leave_marks", json!({ "mib": mib })),
                    call(&runtime, "leave_marks", json!({ "mib": mib }))
                );
                assert_eq!(left.structured, Some(json!({ "result": mib << 17 })), "{:#?}", left.error);
                assert!(other.is_success());
                let (found, other) = tokio::join!(
                    call(&runtime, "find_marks", json!({ "mib": mib })),
                    call(&runtime, "find_marks", json!({ "mib": mib * 2 }))
                );
                assert_eq!(found.structured, Some(json!({ "result": 0 })), "{:#?}", found.error);
                assert_eq!(other.structured, Some(json!({ "result": 0 })), "{:#?}", other.error);
            }
        }
    }
}

#[tokio::test]
async fn the_environment_holds_what_was_granted_and_nothing_else() {
    assert!(std::env::vars().count() > 0, "the host has an environment to hide");
    let bare = probing(Grant::none(), Limits::new());
    assert_eq!(call(&bare, "environment", json!({})).await.structured, Some(json!({ "result": [] })));
    assert_eq!(call(&bare, "arguments", json!({})).await.structured, Some(json!({ "result": [] })));
    let granted = probing(Grant::none().env("LANG", "C.UTF-8").env("EMPTY", ""), Limits::new());
    let outcome = call(&granted, "environment", json!({})).await;
    assert_eq!(outcome.structured, Some(json!({ "result": [["EMPTY", ""], ["LANG", "C.UTF-8"]] })));
    let shown = format!("{granted:?} {:?} {outcome:?}", granted.list());
    assert!(!shown.contains("PATH="), "{shown}");
}

#[tokio::test]
async fn configuration_holds_what_was_granted_and_nothing_else() {
    let granted = probing(Grant::none().config("city", "Oslo"), Limits::new());
    let value = call(&granted, "config_value", json!({ "key": "city" })).await;
    assert_eq!(value.structured, Some(json!({ "result": "Oslo" })), "{:#?}", value.error);
    let value = call(&granted, "config_value", json!({ "key": "PATH" })).await;
    assert_eq!(value.structured, Some(json!({ "result": null })), "{:#?}", value.error);
    let all = call(&granted, "config_values", json!({})).await;
    assert_eq!(all.structured, Some(json!({ "result": [["city", "Oslo"]] })), "{:#?}", all.error);
}

#[tokio::test]
async fn what_a_call_knows_of_itself_is_its_own() {
    let runtime = probing(Grant::none(), Limits::new());
    let facts = |id: &'static str, session: &'static str| {
        let call = ToolCall::new("facts", json!({})).id(id).meta("key", id);
        runtime.session(session).call(call)
    };
    let (one, other) =
        tokio::join!(async { facts("one", "first").await }, async { facts("other", "second").await });
    for (outcome, id, session) in [(one, "one", "first"), (other, "other", "second")] {
        let facts = &outcome.structured.as_ref().unwrap_or_else(|| panic!("{:#?}", outcome.error))["result"];
        let facts = if facts.is_null() { outcome.structured.as_ref().unwrap() } else { facts };
        assert_eq!((&facts["call_id"], &facts["session"]), (&json!(id), &json!(session)), "{facts}");
    }
    let with =
        ToolCall::new("metadata_of", json!({ "key": "key" })).meta("key", "value").meta("key", "later");
    assert_eq!(runtime.call(with).await.text(), "value");
    let without = ToolCall::new("metadata_of", json!({ "key": "key" }));
    assert_eq!(runtime.call(without).await.structured, Some(json!({ "result": null })));
}
