//! Environment, arguments, input, configuration and network: nothing but what was granted.

use serde_json::json;
use toolcell::{ErrorKind, Grant, Limits};
use toolcell_tests::{call, probing};

#[tokio::test]
async fn without_grants_there_is_nothing() {
    let runtime = probing(Grant::none(), Limits::new());
    for (name, arguments, expected) in [
        ("environment", json!({}), json!({ "result": [] })),
        ("arguments", json!({}), json!({ "result": [] })),
        ("read_stdin", json!({}), json!({ "result": "" })),
        ("config_value", json!({ "key": "city" }), json!({ "result": null })),
        ("config_values", json!({}), json!({ "result": [] })),
        ("raw_preopens", json!({}), json!({ "result": [] })),
    ] {
        let outcome = call(&runtime, name, arguments).await;
        assert_eq!(outcome.structured, Some(expected), "{name}: {outcome:#?}");
    }
    let outcome = call(&runtime, "fs_read", json!({ "path": "/etc/passwd" })).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::ToolError), "{outcome:#?}");
}

#[tokio::test]
async fn what_is_granted_is_all_that_is_seen() {
    let grant =
        Grant::none().env("LANG", "C.UTF-8").env("EMPTY", "").config("city", "Oslo").config("unit", "°C");
    let runtime = probing(grant, Limits::new());
    for (name, arguments, expected) in [
        ("environment", json!({}), json!({ "result": [["EMPTY", ""], ["LANG", "C.UTF-8"]] })),
        ("config_value", json!({ "key": "city" }), json!({ "result": "Oslo" })),
        ("config_value", json!({ "key": "City" }), json!({ "result": null })),
        ("config_values", json!({}), json!({ "result": [["city", "Oslo"], ["unit", "°C"]] })),
    ] {
        let mut outcome = call(&runtime, name, arguments).await;
        if let Some(pairs) = outcome.structured.as_mut().and_then(|value| value["result"].as_array_mut()) {
            pairs.sort_by_key(ToString::to_string);
        }
        assert_eq!(outcome.structured, Some(expected), "{name}: {outcome:#?}");
    }
}

#[tokio::test]
async fn the_network_is_refused_with_the_reason() {
    let runtime = probing(Grant::none(), Limits::new());
    for (name, host) in
        [("net_connect", "127.0.0.1"), ("net_send", "127.0.0.1"), ("net_connect", "localhost")]
    {
        let outcome = call(&runtime, name, json!({ "host": host, "port": 9 })).await;
        assert_eq!(outcome.error_kind(), Some(ErrorKind::CapabilityDenied), "{outcome:#?}");
        assert_eq!(outcome.exit_code(), 4);
        assert_eq!(outcome.denials.len(), 1, "{outcome:#?}");
        assert_eq!(outcome.denials[0].capability, "sockets");
    }
}
