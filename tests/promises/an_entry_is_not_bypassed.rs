//! An entry for some paths or methods is for these alone, however a request may be meant to ask for others; and every header
//! and method that is refused is in the denials.

use serde_json::{Value, json};
use toolcell::policy::HttpGrant;
use toolcell::{Grant, Outcome, Runtime, ToolComponent};
use toolcell_tests::http_server::HttpServer;
use toolcell_tests::{builder, built, call, guest};

fn calling(entry: HttpGrant) -> Runtime {
    built(builder().component(ToolComponent::file(guest("caller")).grant(Grant::none().http(entry))))
}

fn send(server: &HttpServer, method: &str, path: &str, headers: Value) -> Value {
    let authority = format!("127.0.0.1:{}", server.port());
    let to = json!({ "method": method, "scheme": "http", "authority": authority, "path": path });
    json!({ "to": to, "headers": headers, "body": null, "nanos": null })
}

/// The code, and what the first denial is of.
fn refused(outcome: &Outcome) -> (&str, &str, &str, &str) {
    let error = outcome.error.as_ref().unwrap_or_else(|| panic!("{outcome:?}"));
    let denial = outcome.denials.first().unwrap_or_else(|| panic!("{outcome:?}"));
    (&error.message, &denial.operation, &denial.target, &denial.setting)
}

#[tokio::test]
async fn no_header_asks_for_what_an_entry_leaves_out() {
    let server = HttpServer::saying("ok");
    let open = HttpGrant::to(&server.origin()).unwrap();
    let entries = [(open.clone().paths(["/api"]), "paths"), (open.clone().methods(["GET"]), "methods")];
    for (entry, key) in entries {
        let runtime = calling(entry);
        for header in [
            "X-Original-URL",
            "x-rewrite-url",
            "X-HTTP-Method-Override",
            "x-http-method",
            "x-method-override",
            "x-forwarded-host",
            "x-forwarded-prefix",
            "x_original_url",
            "destination",
        ] {
            let outcome =
                call(&runtime, "send", send(&server, "GET", "/api", json!([[header, "/admin"]]))).await;
            let (code, operation, target, setting) = refused(&outcome);
            assert_eq!((code, operation), ("HttpRequestDenied", "header"), "{header}");
            assert_eq!(target, header.to_ascii_lowercase());
            let expected =
                format!("component.caller.grant.http[0].{key}: this header may ask for what it leaves out");
            assert_eq!(setting, expected);
        }
        let harmless = json!([["x-api-version", "1"], ["accept", "text/plain"]]);
        let outcome = call(&runtime, "send", send(&server, "GET", "/api", harmless)).await;
        assert!(outcome.is_success(), "{outcome:?}");
    }
    assert_eq!(server.asked().len(), 2);
    // Where all is granted there is nothing to ask for.
    let outcome =
        call(&calling(open), "send", send(&server, "GET", "/", json!([["x-original-url", "/a"]]))).await;
    assert!(outcome.is_success(), "{outcome:?}");
}

#[tokio::test]
async fn no_path_climbs_out_in_any_spelling() {
    let server = HttpServer::saying("ok");
    let runtime = calling(HttpGrant::to(&server.origin()).unwrap().paths(["/api"]));
    for path in [
        "/api/%252e%252e/x",
        "/api/%25252e%25252e/x",
        "/api/%c0%ae%c0%ae/x",
        "/api/..%252fx",
        "/api/%u002e%u002e/x",
        "/api/.%09./x",
        "/api/..%20/x",
        "/api/..%3b/x",
    ] {
        let outcome = call(&runtime, "send", send(&server, "GET", path, json!([]))).await;
        assert_eq!(refused(&outcome).0, "HttpRequestDenied", "{path}");
    }
    assert_eq!(server.connections_seen(), 0);
    for path in ["/api/a%20b", "/api/100%25", "/api/%E2%82%AC", "/api/x..y?q=%2e%2e/"] {
        let outcome = call(&runtime, "send", send(&server, "GET", path, json!([]))).await;
        assert!(outcome.is_success(), "{path}: {outcome:?}");
    }
}

#[tokio::test]
async fn what_never_leaves_does_so_in_no_case_and_is_told_of() {
    let server = HttpServer::saying("ok");
    let runtime = calling(HttpGrant::to(&server.origin()).unwrap());
    for method in ["CONNECT", "connect", "Connect", "TRACE", "trace", "tRaCe", "TRACK", "track"] {
        let outcome = call(&runtime, "send", send(&server, method, "/", json!([]))).await;
        let (code, operation, _, setting) = refused(&outcome);
        assert_eq!((code, operation), ("HttpRequestDenied", "request"), "{method}");
        assert_eq!(setting, format!("none: {} is never sent", method.to_ascii_uppercase()));
    }
    for header in
        ["Host", "transfer-encoding", "Connection", "TE", "upgrade", "proxy-authorization", "expect"]
    {
        let outcome = call(&runtime, "send", send(&server, "GET", "/", json!([[header, "x"]]))).await;
        let (code, operation, target, setting) = refused(&outcome);
        assert_eq!((code, operation), ("HeaderError::Forbidden", "header"), "{header}");
        assert_eq!((target, setting), (header.to_ascii_lowercase().as_str(), "none: the host sets it"));
    }
    assert_eq!(server.connections_seen(), 0);
    // What a response says of its connection is no refusal of the guest's.
    let server = HttpServer::answering(|_| {
        toolcell_tests::http_server::ok(
            &[("connection", "keep-alive"), ("keep-alive", "timeout=5"), ("via", "x")],
            b"ok",
        )
    });
    let runtime = calling(HttpGrant::to(&server.origin()).unwrap());
    let outcome = call(&runtime, "send", send(&server, "GET", "/", json!([]))).await;
    assert_eq!((outcome.is_success(), outcome.denials.len()), (true, 0), "{outcome:?}");
    let headers = outcome.structured.as_ref().unwrap()["headers"].to_string();
    assert!(!headers.contains("keep-alive") && !headers.contains("via"), "{headers}");
}
