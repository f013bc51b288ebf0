//! Headers from secrets are added to the requests that they are for, by the host; the component neither sees nor sets
//! them, not even where a server echoes them.

use serde_json::{Value, json};
use toolcell::policy::{Credential, HttpGrant, Secret};
use toolcell::{Grant, Runtime, Status, ToolComponent};
use toolcell_tests::http_server::{HttpServer, ok};
use toolcell_tests::{builder, built, call, guest};

const SECRET: &str = "sk-0123456789abcdef";

fn granted(entries: impl IntoIterator<Item = HttpGrant>) -> Grant {
    let grant = Grant::none().secret("key", Secret::value(SECRET));
    entries.into_iter().fold(grant, Grant::http)
}

fn calling(entries: impl IntoIterator<Item = HttpGrant>) -> Runtime {
    built(builder().component(ToolComponent::file(guest("caller")).grant(granted(entries))))
}

fn with_key(origin: &str) -> HttpGrant {
    let bearer = Credential::secret("key").prefix("Bearer ");
    HttpGrant::to(origin).unwrap().header("Authorization", bearer)
}

fn send(server: &HttpServer, method: &str, path: &str, headers: Value) -> Value {
    let authority = format!("127.0.0.1:{}", server.port());
    let to = json!({ "method": method, "scheme": "http", "authority": authority, "path": path });
    json!({ "to": to, "headers": headers, "body": null, "nanos": null })
}

#[tokio::test]
async fn it_is_added_where_it_belongs_and_nowhere_else() {
    let (server, other) = (HttpServer::saying("ok"), HttpServer::saying("ok"));
    let keyed = with_key(&server.origin()).methods(["GET"]).paths(["/v1"]);
    let open = |server: &HttpServer| HttpGrant::to(&server.origin()).unwrap();
    let runtime = calling([keyed, open(&server), open(&other)]);
    let bearer = format!("Bearer {SECRET}");
    for (server, method, path, expected) in [
        (&server, "GET", "/v1/x", vec![bearer.as_str()]),
        (&server, "POST", "/v1/x", vec![]),
        (&server, "GET", "/v2", vec![]),
        (&server, "GET", "/v1/../v2", vec![]),
        (&other, "GET", "/v1/x", vec![]),
    ] {
        let outcome = call(&runtime, "send", send(server, method, path, json!([]))).await;
        assert_eq!(outcome.status, Status::Success, "{method} {path}: {outcome:?}");
        let asked = server.asked().pop().unwrap();
        assert_eq!(asked.header("authorization"), expected, "{method} {path}");
    }
    let outcome =
        call(&runtime, "send", send(&server, "GET", "/v1", json!([["authorization", "mine"]]))).await;
    assert_eq!(outcome.error.as_ref().unwrap().message, "HttpRequestDenied");
    let denial = &outcome.denials[0];
    let told = (denial.operation.as_str(), denial.target.as_str(), denial.setting.as_str());
    assert_eq!(told, ("header", "authorization", "component.caller.grant.http[0].headers"));
    assert_eq!(server.asked().len(), 4);
}

#[tokio::test]
async fn an_echo_of_it_is_covered() {
    // The last four come in two pieces.
    let server = HttpServer::answering(|asked| {
        let [value] = asked.header("authorization").try_into().unwrap_or([""]);
        let body = format!("you sent {value}, that is {value}");
        let mut head = format!(
            "HTTP/1.1 200 OK\r\nx-echo: {value}\r\nx-encoding: {:?}\r\n",
            asked.header("accept-encoding")
        );
        head.push_str("transfer-encoding: chunked\r\n\r\n");
        let (first, second) = body.split_at(body.len() - 4);
        let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
        format!("{head}{}{}0\r\n\r\n", chunk(first), chunk(second)).into_bytes()
    });
    let runtime = calling([with_key(&server.origin())]);
    let outcome =
        call(&runtime, "send", send(&server, "GET", "/", json!([["accept-encoding", "gzip"]]))).await;
    let structured = outcome.structured.as_ref().unwrap_or_else(|| panic!("{outcome:?}"));
    // What the guest itself saw: the mask is of the host's side, and redaction of results writes otherwise.
    let stars = "*".repeat(SECRET.len());
    assert_eq!(structured["body"], format!("you sent Bearer {stars}, that is Bearer {stars}"));
    let headers = structured["headers"].to_string();
    assert!(headers.contains("Bearer [redacted:key]"), "{headers}");
    assert!(headers.contains("identity"), "{headers}");
    assert!(!format!("{outcome:?}").contains(SECRET));
    let binary = HttpServer::answering(|asked| {
        let [value] = asked.header("authorization").try_into().unwrap_or([""]);
        ok(&[], &[&b"\xff\xfe"[..], value.as_bytes(), b"\x00"].concat())
    });
    let runtime = calling([with_key(&binary.origin())]);
    let outcome = call(&runtime, "send", send(&binary, "GET", "/", json!([]))).await;
    assert!(!format!("{outcome:?}").contains(SECRET));
}

#[tokio::test]
async fn a_credential_that_could_leak_does_not_load() {
    for (entries, expected) in [
        (vec![with_key("http://api.example.org")], "over `https://` alone"),
        (vec![with_key("https://*")], "would go to everybody"),
        (
            vec![HttpGrant::to("https://api.example.org").unwrap().header("x", Credential::secret("other"))],
            "there is no secret `other`",
        ),
        (
            vec![HttpGrant::to("https://api.example.org").unwrap().header("host", Credential::secret("key"))],
            "is set by the host",
        ),
    ] {
        let component = ToolComponent::file(guest("caller")).grant(granted(entries));
        let error = builder().component(component).build().await.unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("component.caller.grant.http[0]"), "{error}");
    }
}
