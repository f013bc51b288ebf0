//! Requests over `https://` go to servers that prove who they are, by the web's roots or those that an operator adds to an
//! entry of the grant, and to no other.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolcell::net::Resolver;
use toolcell::policy::{Credential, HttpGrant, Secret};
use toolcell::{Grant, Outcome, Runtime, ToolComponent};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::http_server::{HttpServer, ok};
use toolcell_tests::{builder, built, call, guest, repository};

fn root() -> PathBuf {
    repository().join("tests/tls/root.pem")
}

fn server() -> HttpServer {
    HttpServer::encrypted(|asked| ok(&[("content-type", "text/plain")], asked.line.as_bytes()))
}

/// A resolver by which every name is this machine.
struct Here;

#[toolcell::hook::async_trait]
impl Resolver for Here {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        Ok(vec![Ipv4Addr::LOCALHOST.into()])
    }
}

fn entry(host: &str, server: &HttpServer, root: Option<&Path>) -> HttpGrant {
    let entry = HttpGrant::to(&format!("https://{host}:{}", server.port())).unwrap().private();
    root.map_or_else(|| entry.clone(), |root| entry.clone().ca(root))
}

fn calling(entry: HttpGrant) -> Runtime {
    let grant = Grant::none().secret("key", Secret::value("sk-0123456789abcdef")).http(entry);
    built(builder().component(ToolComponent::file(guest("caller")).grant(grant)).resolver(Here))
}

fn send(host: &str, server: &HttpServer) -> Value {
    let authority = format!("{host}:{}", server.port());
    let to = json!({ "method": "GET", "scheme": "https", "authority": authority, "path": "/a" });
    json!({ "to": to, "headers": [], "body": null, "nanos": null })
}

fn told(outcome: &Outcome) -> String {
    match &outcome.error {
        Some(error) => error.message.clone(),
        None => outcome.structured.as_ref().unwrap()["body"].as_str().unwrap().to_owned(),
    }
}

#[tokio::test]
async fn an_operators_own_root_vouches_for_its_entry_alone() {
    let (server, root) = (server(), root());
    for host in ["localhost", "127.0.0.1"] {
        let runtime = calling(entry(host, &server, Some(&root)));
        for _ in 0..2 {
            assert_eq!(told(&call(&runtime, "send", send(host, &server)).await), "GET /a HTTP/1.1");
        }
        let stranger = calling(entry(host, &server, None));
        assert_eq!(told(&call(&stranger, "send", send(host, &server)).await), "TlsCertificateError");
    }
    assert_eq!(server.asked().len(), 4);
    // Who proves to be somebody else is not asked, whatever the name leads to.
    let runtime = calling(entry("other.test", &server, Some(&root)));
    assert_eq!(told(&call(&runtime, "send", send("other.test", &server)).await), "TlsCertificateError");
    let plain = HttpServer::saying("no TLS");
    let runtime = calling(entry("localhost", &plain, Some(&root)));
    assert_eq!(told(&call(&runtime, "send", send("localhost", &plain)).await), "TlsProtocolError");
    assert_eq!((server.asked().len(), plain.asked().len()), (4, 0));
}

#[tokio::test]
async fn a_credential_goes_to_nobody_who_has_not_proved_himself() {
    let server = server();
    let keyed = |root: Option<&Path>| {
        calling(entry("localhost", &server, root).header("authorization", Credential::secret("key")))
    };
    assert_eq!(told(&call(&keyed(None), "send", send("localhost", &server)).await), "TlsCertificateError");
    assert!(server.asked().is_empty());
    call(&keyed(Some(&root())), "send", send("localhost", &server)).await;
    assert_eq!(server.asked()[0].header("authorization"), ["sk-0123456789abcdef"]);
}

#[test]
fn the_configuration_names_the_root() {
    let line = CommandLine::new();
    let server = server();
    std::fs::copy(root(), line.folder().join("root.pem")).unwrap();
    let url = format!("https://localhost:{}", server.port());
    let fetch = |ca: &str| {
        let entry = format!("{{ origin = \"{url}\"{ca} }}");
        let config = format!("[component.fetch]\npath = \"builtin:fetch\"\ngrant.http = [{entry}]\n");
        line.write("toolcell.toml", config);
        line.run(&["call", "fetch", &json!({ "url": url }).to_string(), "--config", "toolcell.toml"])
    };
    let fetched = fetch(", ca = \"root.pem\"");
    assert!(fetched.code == 0 && fetched.stdout.ends_with("GET / HTTP/1.1\n"), "{fetched:?}");
    let stranger = fetch("");
    assert_eq!(stranger.code, 1, "{stranger:?}");
    assert!(stranger.stderr.contains("has no certificate that is trusted here"), "{stranger:?}");
    for (ca, expected) in
        [(", ca = \"gone.pem\"", "gone.pem"), (", ca = \"toolcell.toml\"", "has no certificate")]
    {
        let refused = fetch(ca);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(
            refused.stderr.contains(expected) && refused.stderr.contains("toolcell.toml:3"),
            "{refused:?}"
        );
    }
}
