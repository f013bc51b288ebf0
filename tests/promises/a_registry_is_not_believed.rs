//! Whatever a registry sends in place of a component ends in one error that says what it was, and leaves everything as it was;
//! credentials go to the registry and to whom it names for tokens, over TLS or inside this host, and nowhere else.

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use serde_json::{Value, json};
use toolcell::policy::Digest;
use toolcell_tests::command_line::{CommandLine, Ended};
use toolcell_tests::http_server::{Asked, HttpServer, ok, response};
use toolcell_tests::registry::{MANIFEST, answering, manifest};
use toolcell_tests::repository;

const WASM: &str = "application/wasm";

fn user() -> CommandLine {
    let line = CommandLine::new();
    line.write("toolcell.toml", "# mine\n");
    line
}

fn add(line: &CommandLine, server: &HttpServer, more: &[&str]) -> Ended {
    let reference = format!("oci://127.0.0.1:{}/a/b:1", server.port());
    line.run(&[&["add", &reference, "--config", "toolcell.toml"], more].concat())
}

fn of_kind(kind: &str, body: &[u8]) -> Vec<u8> {
    ok(&[("content-type", kind)], body)
}

fn is_manifest(asked: &Asked) -> bool {
    asked.line.contains("/manifests/")
}

/// The answers of a registry with this component.
fn sound(asked: &Asked, component: &[u8]) -> Vec<u8> {
    match is_manifest(asked) {
        true => of_kind(MANIFEST, manifest(component, WASM).to_string().as_bytes()),
        false => of_kind("application/octet-stream", component),
    }
}

/// A server that gives this in place of a manifest.
fn instead(answer: Vec<u8>) -> HttpServer {
    HttpServer::answering(move |_| answer.clone())
}

/// One that gives a manifest, and this in place of the component.
fn blob(answer: Vec<u8>) -> HttpServer {
    HttpServer::answering(
        move |asked| if is_manifest(asked) { sound(asked, &answering(7)) } else { answer.clone() },
    )
}

fn refusing(status: &str, headers: &[(&str, &str)]) -> HttpServer {
    instead(response(
        status,
        headers,
        br#"{"errors":[{"code":"SOME_CODE","message":"said by the registry"}]}"#,
    ))
}

fn with_layers(layers: Value) -> HttpServer {
    let mut manifest = manifest(&answering(7), WASM);
    manifest["layers"] = layers;
    instead(of_kind(MANIFEST, manifest.to_string().as_bytes()))
}

fn redirecting(to: &str) -> HttpServer {
    instead(response("307 Temporary Redirect", &[("location", to)], b""))
}

#[test]
fn whatever_comes_in_place_of_a_component_is_one_error_and_changes_nothing() {
    let layer = |kind: &str| json!({ "mediaType": kind, "digest": Digest::of(b"a").to_string(), "size": 1 });
    let core = wat::parse_str("(module)").unwrap();
    let of_core = HttpServer::answering(move |asked| sound(asked, &core));
    let endless = || {
        HttpServer::raw(|mut stream| {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
            while stream.write_all(format!("10000\r\n{}\r\n", "x".repeat(65_536)).as_bytes()).is_ok() {}
        })
    };
    let claims = |length: u64| {
        HttpServer::raw(move |mut stream| {
            let _ = stream.read(&mut [0; 4096]);
            let _ =
                stream.write_all(format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n").as_bytes());
        })
    };
    let mut long = answering(7);
    long.push(0);
    let other_digest =
        [("content-type", MANIFEST), ("docker-content-digest", &*Digest::of(b"other").to_string())];
    for (server, code, told) in [
        (refusing("401 Unauthorized", &[]), 2, "neither `Basic` nor `Bearer`"),
        (
            refusing("401 Unauthorized", &[("www-authenticate", "Basic realm=\"x\"")]),
            2,
            "run `docker login 127.0.0.1:",
        ),
        (
            refusing("403 Forbidden", &[]),
            2,
            "nobody may read it without credentials (the registry answered 403, SOME_CODE)",
        ),
        (refusing("404 Not Found", &[]), 2, "there is no such repository, tag or digest"),
        (
            refusing("429 Too Many Requests", &[("retry-after", "30")]),
            7,
            "asked too often (the registry answered 429, SOME_CODE); try again in 30 s",
        ),
        (refusing("503 Service Unavailable", &[]), 7, "is not able to answer (the registry answered 503"),
        (refusing("204 No Content", &[]), 2, "this is no answer of a registry (the registry answered 204"),
        (
            instead(of_kind("text/html", b"<!doctype html><title>hello</title>")),
            2,
            "what came is no manifest (`text/html`)",
        ),
        (instead(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()), 2, "does not speak HTTP/1.1"),
        (HttpServer::raw(drop), 7, "the connection to http://127.0.0.1:"),
        (
            instead(ok(&other_digest, manifest(&answering(7), WASM).to_string().as_bytes())),
            2,
            "nothing of it is used",
        ),
        (endless(), 2, "more than the 4194304 bytes"),
        (claims(5 << 20), 2, "more than the 4194304 bytes"),
        (claims(1000), 7, "the registry's answer broke off"),
        (with_layers(json!([])), 2, "has no layer"),
        (
            with_layers(json!([layer("application/vnd.oci.image.layer.v1.tar+gzip")])),
            2,
            "is this a component at all?",
        ),
        (with_layers(json!([layer(WASM), layer(WASM)])), 2, "it has 2 layers, and which of them"),
        (of_core, 2, "wasm32-wasip2"),
        (blob(response("404 Not Found", &[], b"")), 2, "the registry answered 404"),
        (blob(of_kind("text/html", b"<html>")), 7, "6 of "),
        (blob(ok(&[], &long)), 2, "sends more than the"),
        (blob(ok(&[], &answering(8))), 2, "and sent what is sha256:"),
        (redirecting("/v2/a/b/manifests/1"), 2, "on more than 5 times"),
        (redirecting("http://[::"), 2, "what is no address"),
        (redirecting("ftp://127.0.0.1/x"), 2, "what is no address"),
        (redirecting("http://169.254.169.254/latest/meta-data"), 2, "leads to the cloud metadata address"),
        (
            redirecting("http://93.184.216.34/x"),
            2,
            "without TLS registries are asked in private networks alone",
        ),
    ] {
        let line = user();
        let ended = add(&line, &server, &[]);
        assert!(ended.code == code && ended.stderr.contains(told), "{told}: {ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        assert!(ended.stderr.contains("error: oci://127.0.0.1:"), "{ended:?}");
        assert_eq!(std::fs::read_to_string(line.folder().join("toolcell.toml")).unwrap(), "# mine\n");
        assert!(
            !line.folder().join("toolcell.lock").exists() && !line.home().join("data/components").exists()
        );
    }
}

#[test]
fn nobody_at_all_and_nobody_in_clear_are_told_apart() {
    let line = user();
    let gone = HttpServer::saying("");
    let port = gone.port();
    gone.close();
    for (reference, more, code, kind) in [
        (format!("oci://127.0.0.1:{port}/a/b:1"), &[][..], 7, "unavailable"),
        ("oci://no-such-name.invalid/a:1".to_owned(), &[], 7, "unavailable"),
        ("oci://93.184.216.34/a:1".to_owned(), &["--plain-http"], 2, "registry"),
        ("oci://169.254.169.254/a:1".to_owned(), &["--plain-http"], 2, "registry"),
        (format!("oci://127.0.0.1:{port}/a/b:1"), &["--ca", "toolcell.toml"], 2, "configuration"),
    ] {
        let ended = line.run(&[&["add", &reference, "--json"], more].concat());
        assert_eq!((ended.code, &ended.json()["error"]["kind"]), (code, &json!(kind)), "{ended:?}");
    }
}

/// What a client asked for, with what it proved to be.
fn asked(server: &HttpServer) -> Vec<(String, Vec<String>)> {
    let shown = |asked: &Asked| {
        let proofs = asked.header("authorization").into_iter().map(str::to_owned).collect();
        (asked.line.split(' ').nth(1).unwrap().to_owned(), proofs)
    };
    server.asked().iter().map(shown).collect()
}

#[test]
fn a_token_is_had_where_the_registry_says_and_goes_to_the_registry_alone() {
    let component = answering(7);
    let blobs = Arc::new({
        let component = component.clone();
        HttpServer::answering(move |_| ok(&[], &component))
    });
    let tokens =
        HttpServer::answering(|_| of_kind("application/json", br#"{"token":"t0ken","expires_in":60}"#));
    let challenge = format!(
        "Bearer realm=\"{}/token?x=1\",service=\"the service\",scope=\"repository:a/b:pull,push\"",
        tokens.origin()
    );
    let elsewhere = format!("{}/blob?signed=yes", blobs.origin());
    let registry = HttpServer::answering(move |asked| match asked.header("authorization").as_slice() {
        ["Bearer t0ken"] if is_manifest(asked) => sound(asked, &component),
        ["Bearer t0ken"] => response("307 Temporary Redirect", &[("location", &elsewhere)], b""),
        _ => response("401 Unauthorized", &[("www-authenticate", &challenge)], b""),
    });
    let line = user();
    let folder = line.home().parent().unwrap().join(".docker");
    std::fs::create_dir_all(&folder).unwrap();
    let auths = json!({ "auths": { format!("127.0.0.1:{}", registry.port()): { "username": "ada", "password": "s3cret" } } });
    std::fs::write(folder.join("config.json"), auths.to_string()).unwrap();
    let added = add(&line, &registry, &[]);
    assert_eq!(added.code, 0, "{added:?}");
    let basic = vec!["Basic YWRhOnMzY3JldA==".to_owned()];
    let target = "/token?x=1&scope=repository%3Aa%2Fb%3Apull&service=the%20service".to_owned();
    assert_eq!(asked(&tokens), vec![(target, basic); 2]);
    assert_eq!(asked(&blobs), [("/blob?signed=yes".to_owned(), Vec::new())]);
    assert!(asked(&registry).iter().all(|(_, proofs)| proofs.iter().all(|proof| proof == "Bearer t0ken")));
    // Without any, a token is asked for all the same: most registries give one to everybody.
    std::fs::remove_file(folder.join("config.json")).unwrap();
    let line = user();
    assert_eq!(add(&line, &registry, &[]).code, 0);
    assert!(asked(&tokens).last().unwrap().1.is_empty());
}

#[test]
fn a_service_of_tokens_is_not_believed_either() {
    for (answer, told) in [
        (response("401 Unauthorized", &[], b""), "the registry wants credentials; run `docker login"),
        (response("500 Internal Server Error", &[], b""), "try again later"),
        (ok(&[], b"{}"), "gave no token"),
        (ok(&[], b"<html>"), "gave no token"),
        (ok(&[], br#"{"token":""}"#), "gave no token"),
        (ok(&[], "{\"token\":\"a\\r\\nb\"}".as_bytes()), "cannot stand in a header"),
        (ok(&[], &vec![b' '; 70_000]), "more than the 65536 bytes"),
        (response("302 Found", &[("location", "/elsewhere")], b""), "the registry answered 302"),
    ] {
        let tokens = instead(answer);
        let challenge = format!("Bearer realm=\"{}/token\"", tokens.origin());
        let registry = refusing("401 Unauthorized", &[("www-authenticate", &challenge)]);
        let ended = add(&user(), &registry, &[]);
        assert!(ended.code != 0 && ended.stderr.contains(told), "{told}: {ended:?}");
    }
    let registry = refusing("401 Unauthorized", &[("www-authenticate", "Bearer realm=\"/token\"")]);
    assert!(add(&user(), &registry, &[]).stderr.contains("to what is no address"));
}

#[test]
fn a_registry_proves_who_it_is() {
    let registry = HttpServer::encrypted(|asked| sound(asked, &answering(7)));
    let reference = format!("oci://localhost:{}/a/b:1", registry.port());
    let root = repository().join("tests/tls/root.pem").display().to_string();
    let line = user();
    let added = line.run(&["add", &reference, "--ca", &root]);
    assert_eq!(added.code, 0, "{added:?}");
    // Nobody is sent from TLS to where there is none.
    let downgrading = HttpServer::encrypted(|_| {
        response("307 Temporary Redirect", &[("location", "http://127.0.0.1:1/x")], b"")
    });
    let reference = format!("oci://localhost:{}/a/c:1", downgrading.port());
    let ended = line.run(&["add", &reference, "--ca", &root]);
    assert!(
        ended.code == 2 && ended.stderr.contains("http://127.0.0.1:1, which is without TLS"),
        "{ended:?}"
    );
    let plain = HttpServer::saying("hello");
    let reference = format!("oci://localhost:{}/a/d:1", plain.port());
    let ended = line.run(&["add", &reference, "--ca", &root]);
    assert!(ended.code == 2 && ended.stderr.contains("no TLS with `localhost`"), "{ended:?}");
}
