//! Headers from secrets are added to the requests that they are for, by the host; the component neither sees nor sets
//! them, not even where a server echoes them.

use serde_json::{Value, json};
use toolcell::policy::{Credential, HttpGrant, Secret};
use toolcell::{Grant, Runtime, Status, ToolComponent};
use toolcell_tests::http_server::{HttpServer, ok};
use toolcell_tests::{builder, built, call, encoders, guest};

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
async fn no_header_is_set_under_another_spelling_of_its_name() {
    let server = HttpServer::saying("ok");
    let keyed = HttpGrant::to(&server.origin()).unwrap().header("X-Api-Key", Credential::secret("key"));
    let runtime = calling([keyed]);
    for (name, setting) in [
        ("x-api-key", "component.caller.grant.http[0].headers"),
        ("x_api-key", "component.caller.grant.http[0].headers"),
        ("X_API_KEY", "component.caller.grant.http[0].headers"),
        ("transfer_encoding", "none: the host sets it"),
    ] {
        let outcome = call(&runtime, "send", send(&server, "GET", "/", json!([[name, "mine"]]))).await;
        let denial = outcome.denials.first().unwrap_or_else(|| panic!("{name}: {outcome:?}"));
        assert_eq!((denial.operation.as_str(), denial.setting.as_str()), ("header", setting), "{name}");
    }
    assert_eq!(server.asked().len(), 0);
    let outcome = call(&runtime, "send", send(&server, "GET", "/", json!([["x_other", "mine"]]))).await;
    assert_eq!(outcome.status, Status::Success, "{outcome:?}");
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
        (vec![with_key("http://93.184.216.34")], "over `https://` alone"),
        (vec![with_key("http://93.184.216.34").private()], "over `https://` alone"),
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

/// A resolver by which every name has this address.
struct All([u8; 4]);

#[toolcell::hook::async_trait]
impl toolcell::net::Resolver for All {
    async fn resolve(&self, _: &str) -> std::io::Result<Vec<std::net::IpAddr>> {
        Ok(vec![self.0.into()])
    }
}

#[tokio::test]
async fn it_goes_in_clear_to_private_addresses_alone() {
    let server = HttpServer::saying("ok");
    let origin = format!("http://api.internal.test:{}", server.port());
    for (address, expected) in [([127, 0, 0, 1], None), ([93, 184, 216, 34], Some("DestinationIpProhibited"))]
    {
        let component = ToolComponent::file(guest("caller")).grant(granted([with_key(&origin).private()]));
        let runtime = built(builder().component(component).resolver(All(address)));
        let authority = origin.strip_prefix("http://").unwrap();
        let to = json!({ "method": "GET", "scheme": "http", "authority": authority, "path": "/" });
        let arguments = json!({ "to": to, "headers": [], "body": null, "nanos": null });
        let outcome = call(&runtime, "send", arguments).await;
        assert_eq!(outcome.error.as_ref().map(|error| error.message.as_str()), expected, "{outcome:?}");
        if expected.is_some() {
            let setting = &outcome.denials[0].setting;
            assert!(
                setting.ends_with("http[0].headers: credentials go to the Internet over `https://` alone"),
                "{setting}"
            );
        }
    }
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn what_one_entry_sent_another_does_not_tell() {
    let stored = std::sync::Mutex::new(String::new());
    let server = HttpServer::answering(move |asked| {
        let mut stored = stored.lock().unwrap();
        if let [value] = asked.header("authorization")[..] {
            *stored = value.to_owned();
        }
        ok(
            &[("x-stored", &stored), (&format!("x-{}", stored.to_lowercase().replace(' ', "-")), "1")],
            stored.as_bytes(),
        )
    });
    let open = HttpGrant::to(&server.origin()).unwrap().paths(["/stored"]);
    let runtime = calling([open, with_key(&server.origin())]);
    for path in ["/store", "/stored"] {
        let outcome = call(&runtime, "send", send(&server, "GET", path, json!([]))).await;
        let structured = outcome.structured.as_ref().unwrap_or_else(|| panic!("{outcome:?}"));
        assert_eq!(structured["body"], format!("Bearer {}", "*".repeat(SECRET.len())), "{path}");
        assert!(!structured.to_string().to_lowercase().contains(SECRET), "{structured}");
    }
    // Without the name of a header, which says nothing of what was left out, the guest knows one header less.
    let asked = server.asked();
    assert_eq!(asked[1].header("authorization"), Vec::<&str>::new());
    assert_eq!(asked[1].header("accept-encoding"), ["identity"]);
}

#[tokio::test]
async fn no_part_of_a_response_is_asked_for() {
    let server = HttpServer::saying("ok");
    let open = HttpGrant::to(&server.origin()).unwrap().paths(["/open"]);
    let runtime = calling([open.clone(), with_key(&server.origin())]);
    for path in ["/open", "/"] {
        for header in ["Range", "if-range", "Request-Range"] {
            let asked = send(&server, "GET", path, json!([[header, "bytes=0-9"]]));
            let outcome = call(&runtime, "send", asked).await;
            assert_eq!(outcome.error.as_ref().unwrap().message, "HttpRequestDenied", "{header}");
            let denial = &outcome.denials[0];
            assert_eq!(
                (denial.operation.as_str(), denial.target.as_str()),
                ("header", header.to_lowercase().as_str())
            );
            assert!(denial.setting.contains("parts of a credential"), "{denial:?}");
        }
    }
    assert_eq!(server.asked().len(), 0);
    // A component without credentials may.
    let outcome =
        call(&calling([open]), "send", send(&server, "GET", "/open", json!([["range", "bytes=0-9"]]))).await;
    assert!(outcome.is_success(), "{outcome:?}");
}

/// The bodies of servers that cut what they say at every offset, in pieces or for good.
#[tokio::test]
async fn no_spelling_of_it_comes_through_however_it_is_cut() {
    const ODD: &str = "p@s=w\"rd+7/'<&>`";
    let forms = encoders::all(ODD);
    let cut = std::sync::Mutex::new((String::new(), 0_usize, false));
    let cut: &'static _ = Box::leak(Box::new(cut));
    let server = HttpServer::answering(|_| {
        let (form, at, ends) = &*cut.lock().unwrap();
        let (first, second) = form.split_at(*at);
        let chunk = |text: &str| match text.is_empty() {
            true => String::new(),
            false => format!("{:x}\r\n{text}\r\n", text.len()),
        };
        let (first, second) = if *ends {
            (chunk(&format!("~{first}")), String::new())
        } else {
            (chunk(first), chunk(&format!("{second}~")))
        };
        format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{first}{second}0\r\n\r\n").into_bytes()
    });
    let grant = Grant::none()
        .secret("key", Secret::value(ODD))
        .http(HttpGrant::to(&server.origin()).unwrap().header("x-key", Credential::secret("key")));
    let runtime = built(builder().component(ToolComponent::file(guest("caller")).grant(grant)));
    for form in forms.iter().filter(|form| !form.contains("~")) {
        let offsets: Vec<usize> = (0..form.len()).filter(|at| form.is_char_boundary(*at)).collect();
        // All offsets of a few spellings, three of each.
        let few = [offsets[0], offsets[offsets.len() / 2], offsets[offsets.len() - 1]];
        let offsets = if forms[..8].contains(form) { offsets } else { few.to_vec() };
        for at in offsets {
            for ends in [false, true] {
                *cut.lock().unwrap() = (form.clone(), at, ends);
                let outcome = call(&runtime, "send", send(&server, "GET", "/", json!([]))).await;
                let body =
                    outcome.structured.as_ref().unwrap_or_else(|| panic!("{outcome:?}"))["body"].to_string();
                let left = body.trim_matches('"').replace(['*', '~'], "");
                // Of a half what tells nothing may be left; of base64 what stands around the secret too.
                let most = if encoders::written(ODD).contains(form) { 6 } else { 12 };
                assert!(left.len() <= most, "{form} at {at}, {ends}: {body}");
            }
        }
    }
}
