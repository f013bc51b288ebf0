//! Requests over HTTP go to what the grant names, in whatever spelling, and nowhere else; what is refused is told to the
//! guest as a code and to the operator as a denial with its setting.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

use serde_json::{Value, json};
use toolcell::net::Resolver;
use toolcell::policy::HttpGrant;
use toolcell::{
    ErrorKind, Grant, Limits, Narrowing, Outcome, Runtime, RuntimeBuilder, Status, ToolCall, ToolComponent,
};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::http_server::{HttpServer, ok, response};
use toolcell_tests::{builder, built, call, guest};

fn caller(grants: impl IntoIterator<Item = HttpGrant>) -> ToolComponent {
    let grant = grants.into_iter().fold(Grant::none(), Grant::http);
    ToolComponent::file(guest("caller")).grant(grant).limits(Limits::default())
}

fn calling(grants: impl IntoIterator<Item = HttpGrant>) -> Runtime {
    built(builder().component(caller(grants)))
}

fn to(origin: &str) -> HttpGrant {
    HttpGrant::to(origin).unwrap()
}

fn target(scheme: &str, authority: &str, path: &str) -> Value {
    json!({ "method": "GET", "scheme": scheme, "authority": authority, "path": path })
}

fn send(target: Value, headers: Value) -> Value {
    json!({ "to": target, "headers": headers, "body": null, "nanos": null })
}

async fn get(runtime: &Runtime, scheme: &str, authority: &str, path: &str) -> Outcome {
    call(runtime, "send", send(target(scheme, authority, path), json!([]))).await
}

/// The code that the guest was told, and the operator's denials.
fn refused(outcome: &Outcome) -> (String, Vec<(String, String)>) {
    assert_eq!(outcome.status, Status::Error, "{outcome:?}");
    let denials = outcome.denials.iter().map(|denial| (denial.target.clone(), denial.setting.clone()));
    (outcome.error.as_ref().unwrap().message.clone(), denials.collect())
}

fn body(outcome: &Outcome) -> String {
    let structured = outcome.structured.as_ref().unwrap_or_else(|| panic!("{outcome:?}"));
    structured["body"].as_str().unwrap_or_else(|| panic!("{structured}")).to_owned()
}

/// A resolver that knows these names.
struct Names(BTreeMap<&'static str, Vec<IpAddr>>);

impl Names {
    fn of(names: &[(&'static str, &[&str])]) -> Self {
        let parsed = |addresses: &&[&str]| addresses.iter().map(|address| address.parse().unwrap()).collect();
        Self(names.iter().map(|(name, addresses)| (*name, parsed(addresses))).collect())
    }
}

#[toolcell::hook::async_trait]
impl Resolver for Names {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.0.get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn named(names: &[(&'static str, &[&str])], grants: impl IntoIterator<Item = HttpGrant>) -> Runtime {
    let builder: RuntimeBuilder = builder().component(caller(grants)).resolver(Names::of(names));
    built(builder)
}

#[tokio::test]
async fn a_granted_request_is_answered() {
    let server = HttpServer::answering(|asked| ok(&[("x-line", &asked.line)], &asked.body));
    let runtime = calling([to(&server.origin())]);
    let authority = format!("127.0.0.1:{}", server.port());
    let post = json!({ "method": "POST", "scheme": "http", "authority": authority, "path": "/a?b=c" });
    let arguments = json!({ "to": post, "headers": [["x-mine", "1"]], "body": "hello", "nanos": null });
    let outcome = call(&runtime, "send", arguments).await;
    assert_eq!(body(&outcome), "hello");
    assert_eq!(outcome.structured.as_ref().unwrap()["headers"][1], json!(["x-line", "POST /a?b=c HTTP/1.1"]));
    assert_eq!((outcome.usage.http_requests, outcome.denials.len()), (1, 0));
    let [asked] = server.asked().try_into().unwrap();
    assert_eq!(asked.header("host"), [authority.as_str()]);
    assert_eq!(asked.header("x-mine"), ["1"]);
    // By every spelling of the same address.
    for spelling in ["127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "[::ffff:127.0.0.1]", "u:p@127.0.0.1"]
    {
        let outcome = get(&runtime, "http", &format!("{spelling}:{}", server.port()), "").await;
        assert_eq!(outcome.status, Status::Success, "{spelling}: {outcome:?}");
    }
    assert!(server.asked().iter().all(|asked| asked.header("host") == [authority.as_str()]));
}

#[tokio::test]
async fn without_a_grant_the_guest_reads_a_refusal() {
    let runtime = calling([]);
    let outcome = get(&runtime, "https", "api.example.org", "/v1?key=hidden").await;
    let target = "GET https://api.example.org/v1".to_owned();
    let expected = ("HttpRequestDenied".to_owned(), vec![(target, "component.caller.grant.http".to_owned())]);
    assert_eq!(refused(&outcome), expected);
    assert_eq!(outcome.usage.http_requests, 0);
}

#[tokio::test]
async fn only_scheme_host_and_port_match() {
    let server = HttpServer::saying("never");
    let port = server.port();
    let names: &[(&str, &[&str])] = &[
        ("api.example.org", &["127.0.0.1"]),
        ("evil.test", &["127.0.0.1"]),
        ("notexample.org", &["127.0.0.1"]),
        ("api.example.org.evil.test", &["127.0.0.1"]),
        ("localhost.evil.test", &["127.0.0.1"]),
    ];
    let granted = [
        to("https://api.example.org"),
        to("http://example.org:4444"),
        to("http://[::1]"),
        to("http://*.example.net").private(),
        to("https://*"),
    ];
    let runtime = named(names, granted);
    for (scheme, authority) in [
        ("http", "api.example.org".to_owned()),
        ("http", format!("api.example.org:{port}")),
        ("https", format!("api.example.org:{port}")),
        ("http", "api.example.org.evil.test".to_owned()),
        ("http", "notexample.org".to_owned()),
        ("http", format!("api.example.org@evil.test:{port}")),
        ("http", "example.org".to_owned()),
        ("http", format!("2130706433:{port}")),
        ("http", format!("0x7f.1:{port}")),
        ("http", format!("[::ffff:127.0.0.1]:{port}")),
        ("http", format!("127.0.0.1:{port}")),
        ("http", format!("localhost:{port}")),
        ("https", "127.0.0.1".to_owned()),
        ("https", "2130706433".to_owned()),
        ("https", "[::1]".to_owned()),
        ("https", "localhost".to_owned()),
        ("http", "example.net".to_owned()),
        ("http", "a.b.example.net".to_owned()),
        ("http", "aexample.net".to_owned()),
        ("http", "1.2.3.4.5".to_owned()),
        ("http", "09".to_owned()),
        ("ftp", "api.example.org".to_owned()),
        ("https", String::new()),
    ] {
        let outcome = get(&runtime, scheme, &authority, "/").await;
        let error = outcome.error.as_ref().unwrap_or_else(|| panic!("{scheme} {authority}")).message.clone();
        let is_refused = error == "HttpRequestDenied" && outcome.denials.len() == 1;
        assert!(is_refused || error == "the authority was refused", "{scheme} {authority}: {outcome:?}");
    }
    // Final dot, case and the default port are no other host.
    for authority in ["API.example.ORG.", "api.example.org:443"] {
        let outcome = get(&runtime, "https", authority, "/").await;
        let expected = ("DestinationIpProhibited".to_owned(), "component.caller.grant.http[0].private");
        let (code, denials) = refused(&outcome);
        assert_eq!((code, denials[0].1.as_str()), expected);
    }
    assert_eq!(server.connections_seen(), 0);
}

#[tokio::test]
async fn a_refusal_names_the_key_that_is_in_the_way() {
    let names: &[(&str, &[&str])] = &[("inner.test", &["10.0.0.1"])];
    let granted = [
        to("https://api.example.org").methods(["GET"]).paths(["/v1"]),
        to("http://*"),
        to("https://api.example.org").methods(["POST"]).paths(["/v3"]),
    ];
    let runtime = named(names, granted);
    for (method, scheme, authority, path, expected) in [
        ("GET", "https", "api.example.org", "/v2", "component.caller.grant.http[0].paths"),
        ("POST", "https", "api.example.org", "/v1/x", "component.caller.grant.http[0].methods"),
        // Of several entries, the one that lacks least.
        ("POST", "https", "api.example.org", "/v2", "component.caller.grant.http[2].paths"),
        ("PUT", "https", "api.example.org", "/v3/x", "component.caller.grant.http[2].methods"),
        ("PUT", "https", "api.example.org", "/v2", "component.caller.grant.http[0]"),
        ("GET", "https", "www.example.org", "/v1", "component.caller.grant.http"),
        (
            "GET",
            "http",
            "inner.test",
            "/",
            // `private` on an entry for every name would be refused.
            "component.caller.grant.http: an entry for this host by its name, with `private = true`, reaches it",
        ),
    ] {
        let mut target = target(scheme, authority, path);
        target["method"] = method.into();
        let (_, denials) = refused(&call(&runtime, "send", send(target, json!([]))).await);
        assert_eq!(denials[0].1, expected, "{method} {scheme}://{authority}{path}");
    }
}

#[tokio::test]
async fn a_name_that_leads_inside_is_refused() {
    let server = HttpServer::saying("inside");
    let authority = |name: &str| format!("{name}:{}", server.port());
    let names: &[(&str, &[&str])] = &[
        ("both.test", &["93.184.216.34", "127.0.0.1"]),
        ("loop.test", &["127.0.0.1"]),
        ("mapped.test", &["::ffff:127.0.0.1"]),
        ("metadata.test", &["169.254.169.254"]),
        ("ula.test", &["fd00::1"]),
        ("shared.test", &["100.64.0.1"]),
        ("link.test", &["169.254.42.42"]),
    ];
    let all: Vec<HttpGrant> =
        names.iter().map(|(name, _)| to(&format!("http://{}", authority(name)))).collect();
    let runtime = named(names, all);
    for (name, _) in names {
        let (code, denials) = refused(&get(&runtime, "http", &authority(name), "/").await);
        assert_eq!(code, "DestinationIpProhibited", "{name}");
        assert!(denials[0].0.contains("address"), "{denials:?}");
    }
    assert_eq!(server.connections_seen(), 0);

    let private = |name: &str| to(&format!("http://{}", authority(name))).private();
    let inside = ["metadata.test", "link.test"];
    let runtime = named(names, inside.into_iter().chain(["loop.test"]).map(private));
    assert_eq!(body(&get(&runtime, "http", &authority("loop.test"), "/").await), "inside");
    for name in inside {
        let (code, denials) = refused(&get(&runtime, "http", &authority(name), "/").await);
        assert_eq!(code, "DestinationIpProhibited");
        assert!(denials[0].1.contains("only an origin that is this address"), "{denials:?}");
    }
    let localhost = named(&[], [to(&format!("http://localhost:{}", server.port()))]);
    assert_eq!(body(&get(&localhost, "http", &authority("localhost"), "/").await), "inside");
    let (code, _) = refused(&get(&localhost, "http", "unknown.test", "/").await);
    assert_eq!(code, "HttpRequestDenied");
}

#[tokio::test]
async fn a_redirect_is_the_guests_to_follow() {
    let second = HttpServer::saying("secret");
    let location = format!("{}/x", second.origin());
    let first = HttpServer::answering(move |_| response("302 Found", &[("location", &location)], b""));
    let runtime = calling([to(&first.origin())]);
    let outcome = get(&runtime, "http", &format!("127.0.0.1:{}", first.port()), "/").await;
    assert_eq!(outcome.structured.as_ref().unwrap()["status"], 302);
    assert_eq!((second.connections_seen(), first.asked().len()), (0, 1));
}

#[tokio::test]
async fn what_is_on_the_wire_is_what_was_judged() {
    let server = HttpServer::saying("ok");
    let runtime = calling([to(&server.origin()).methods(["GET", "POST", "CONNECT-X"]).paths(["/v1/"])]);
    let authority = format!("127.0.0.1:{}", server.port());
    let with = |path: &str, headers: Value| send(target("http", &authority, path), headers);
    for (arguments, expected) in [
        (with("http://other/x", json!([])), "the path was refused"),
        (with("*", json!([])), "the path was refused"),
        (with("//other/v1/", json!([])), "HttpRequestDenied"),
        (with("/v1/../v2", json!([])), "HttpRequestDenied"),
        (with("/v1/%2e%2e/v2", json!([])), "HttpRequestDenied"),
        (with("/v1/ x", json!([])), "the path was refused"),
        (with("/v1/x\r\nhost: other", json!([])), "the path was refused"),
        (with("/v1/", json!([["host", "other"]])), "HeaderError::Forbidden"),
        (with("/v1/", json!([["Transfer-Encoding", "chunked"]])), "HeaderError::Forbidden"),
        (with("/v1/", json!([["connection", "close"]])), "HeaderError::Forbidden"),
        (with("/v1/", json!([["proxy-authorization", "x"]])), "HeaderError::Forbidden"),
        (with("/v1/", json!([["expect", "100-continue"]])), "HeaderError::Forbidden"),
        (with("/v1/", json!([["x", "a\r\nb: c"]])), "HeaderError::InvalidSyntax"),
        (with("/v1/", json!([["a b", "c"]])), "HeaderError::InvalidSyntax"),
        (
            with("/v1/", json!([["content-length", "3"], ["content-length", "4"]])),
            "HeaderError::InvalidSyntax",
        ),
        (with("/v1/", json!([["content-length", "+3"]])), "HeaderError::InvalidSyntax"),
        (with("/v1/", json!([["content-length", "3"]])), "HttpRequestBodySize(None)"),
        (
            send(
                json!({ "method": "PUT", "scheme": "http", "authority": authority, "path": "/v1/" }),
                json!([]),
            ),
            "HttpRequestDenied",
        ),
        (
            send(
                json!({ "method": "CONNECT", "scheme": "http", "authority": authority, "path": "/v1/" }),
                json!([]),
            ),
            "HttpRequestDenied",
        ),
        (
            send(
                json!({ "method": "TRACE", "scheme": "http", "authority": authority, "path": "/v1/" }),
                json!([]),
            ),
            "HttpRequestDenied",
        ),
    ] {
        let outcome = call(&runtime, "send", arguments.clone()).await;
        let message = outcome.error.as_ref().unwrap_or_else(|| panic!("{arguments}")).message.clone();
        assert_eq!(message, expected, "{arguments}");
    }
    assert_eq!(server.connections_seen(), 0);
    let post = json!({ "method": "POST", "scheme": "http", "authority": authority, "path": "/v1/" });
    for (length, expected) in [("5", Ok(())), ("4", Err(())), ("6", Err(()))] {
        let arguments = json!({
            "to": post, "headers": [["content-length", length]], "body": "hello", "nanos": null,
        });
        let outcome = call(&runtime, "send", arguments).await;
        assert_eq!(outcome.status == Status::Success, expected.is_ok(), "{length}: {outcome:?}");
    }
    let [asked] = server.asked().try_into().unwrap();
    assert_eq!((asked.header("content-length"), asked.body.as_slice()), (vec!["5"], &b"hello"[..]));
}

#[tokio::test]
async fn connections_stay_with_their_component_and_grant() {
    let server = HttpServer::saying("ok");
    let authority = format!("127.0.0.1:{}", server.port());
    let at = |path: &str| target("http", &authority, path);
    let two = [to(&server.origin()).paths(["/a"]), to(&server.origin()).paths(["/b"])];
    let other = caller([to(&server.origin())]).name("other").prefix("other_");
    let runtime = built(builder().component(caller(two)).component(other));
    for _ in 0..2 {
        let outcome = call(&runtime, "repeat", json!({ "to": at("/a"), "times": 5 })).await;
        assert_eq!(outcome.status, Status::Success, "{outcome:?}");
    }
    assert_eq!(server.connections_seen(), 1, "two calls of one component");
    call(&runtime, "repeat", json!({ "to": at("/b"), "times": 3 })).await;
    assert_eq!(server.connections_seen(), 2, "another entry");
    call(&runtime, "other_repeat", json!({ "to": at("/a"), "times": 3 })).await;
    assert_eq!(server.connections_seen(), 3, "another component");
    assert_eq!(server.asked().len(), 16);
}

#[tokio::test]
async fn what_only_reads_sends_only_what_is_said_to_read() {
    let server = HttpServer::saying("ok");
    let authority = format!("127.0.0.1:{}", server.port());
    let look = target("http", &authority, "/");
    let runtime = calling([to(&server.origin())]);
    let (code, denials) = refused(&call(&runtime, "look", look.clone()).await);
    assert_eq!(code, "HttpRequestDenied");
    assert_eq!(denials[0].1, "component.caller.grant.http[0].read_only");
    let hints = |runtime: &Runtime, name: &str| {
        runtime.list().into_iter().find(|tool| tool.name() == name).unwrap().hints().open_world
    };
    assert_eq!((hints(&runtime, "look"), hints(&runtime, "send")), (None, Some(true)));
    assert_eq!(hints(&calling([]), "send"), None);

    let runtime = calling([to(&server.origin()).read_only()]);
    assert_eq!(body(&call(&runtime, "look", look.clone()).await), "ok");
    assert_eq!(hints(&runtime, "look"), Some(true));

    let narrowed = runtime.session("s").narrow(Narrowing::none().without_http()).unwrap();
    let outcome = narrowed.call(ToolCall::new("look", look)).await;
    let (code, denials) = refused(&outcome);
    assert_eq!(
        (code.as_str(), denials[0].1.as_str()),
        ("HttpRequestDenied", "none: the session has no HTTP")
    );
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn an_entry_that_could_mean_something_else_is_refused_with_one_that_is_right() {
    let line = CommandLine::new();
    let config = |entry: &str| {
        line.write(
            "toolcell.toml",
            format!("[component.fetch]\npath = \"builtin:fetch\"\ngrant.http = [\"{entry}\"]\n"),
        );
        line.run(&["list", "--config", "toolcell.toml"])
    };
    for entry in
        ["https://api.example.org", "http://localhost:4444", "http://[::1]", "https://*.example.org:8443"]
    {
        assert_eq!(config(entry).code, 0, "{entry}");
    }
    for entry in [
        "localhost",
        "*",
        "example.org:99999",
        "https://example.org:99999",
        "https://*.org",
        "http://[::1",
        "",
        "https://",
        "ftp://a.org",
        "https://a.org/path",
        "https://u:p@a.org",
        "https://a b.org",
        "https://1.2.3.4.5",
    ] {
        let refused = config(entry);
        assert_eq!(refused.code, 2, "{entry}: {refused:?}");
        assert!(refused.stderr.contains("toolcell.toml:3"), "{entry}: {}", refused.stderr);
        assert!(refused.stderr.contains("https://"), "{entry}: no example in {}", refused.stderr);
    }
}

#[tokio::test]
async fn a_grant_of_http_opens_no_socket_and_looks_up_no_name() {
    let server = HttpServer::saying("ok");
    let grant = Grant::none().http(to(&server.origin())).http(to("http://localhost"));
    let runtime = built(builder().component(toolcell_tests::probe(grant, Limits::default())));
    for (tool, host) in [
        ("net_connect", "127.0.0.1"),
        ("net_connect", "localhost"),
        ("net_connect", "example.org"),
        ("net_send", "127.0.0.1"),
    ] {
        let outcome = call(&runtime, tool, json!({ "host": host, "port": server.port() })).await;
        assert_eq!(outcome.error_kind(), Some(ErrorKind::CapabilityDenied), "{tool} {host}: {outcome:?}");
        let denial = &outcome.denials[0];
        assert_eq!(
            (denial.capability.as_str(), denial.setting.as_str()),
            ("sockets", "none: sockets are never granted")
        );
    }
    assert_eq!(server.connections_seen(), 0);
}
