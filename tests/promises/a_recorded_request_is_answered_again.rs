//! What servers said in a recorded call, and what the host refused of it, comes from the recording: a replay sends
//! nothing, and needs no server.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolcell::policy::{Credential, HttpGrant, Secret};
use toolcell::{Access, Grant, Limit, Limits, Recorder, Recording, Runtime, ToolCall, ToolComponent};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::http_server::{HttpServer, ok, response};
use toolcell_tests::{builder, built, guest};

fn granted(server: &HttpServer) -> Grant {
    Grant::none().http(HttpGrant::to(&server.origin()).unwrap())
}

fn calling(grant: Grant, limits: Limits) -> Runtime {
    built(builder().component(ToolComponent::file(guest("caller")).grant(grant).limits(limits)))
}

fn target(server: &HttpServer, path: &str) -> Value {
    json!({ "method": "POST", "scheme": "http", "authority": format!("127.0.0.1:{}", server.port()), "path": path })
}

fn send(server: &HttpServer, path: &str, headers: Value) -> Value {
    json!({ "to": target(server, path), "headers": headers, "body": "hello", "nanos": null })
}

async fn made(runtime: &Runtime, tool: &str, arguments: Value) -> Recording {
    let recorder = Recorder::new();
    let outcome = runtime.call(ToolCall::new(tool, arguments)).record(&recorder).await;
    recorder.finish().unwrap_or_else(|why| panic!("{why}: {outcome:?}"))
}

async fn recorded(runtime: &Runtime, tool: &str, arguments: Value) -> Recording {
    let recording = made(runtime, tool, arguments).await;
    assert_eq!(recording.unreplayable(), None, "{}", recording.outcome());
    recording
}

/// Makes the call again, and compares whatever a reader of the outcome may rely on.
async fn assert_same(recording: Recording) {
    let before = recording.outcome().clone();
    let replay = builder().replay(recording).await.unwrap();
    assert_eq!(replay.difference, None, "{before}");
    let now = serde_json::to_value(&replay.outcome).unwrap();
    let parts = ["/status", "/content", "/structured", "/error", "/logs", "/denials"];
    for part in parts.into_iter().chain(["/usage/fuel", "/usage/http_requests"]) {
        assert_eq!(now.pointer(part), before.pointer(part), "{part}");
    }
}

/// A server that answers in two pieces, as it was asked.
fn echo() -> HttpServer {
    HttpServer::answering(|asked| {
        let head = format!(
            "HTTP/1.1 201 Created\r\nx-line: {}\r\nset-cookie: a\r\nx: \u{e9}\r\nset-cookie: b\r\ntransfer-encoding: chunked\r\n\r\n",
            asked.line
        );
        let body = asked.body.repeat(2);
        [
            head.as_bytes(),
            format!("{:x}\r\n", body.len()).as_bytes(),
            &body,
            b"\r\n2\r\n\xff\xfe\r\n0\r\n\r\n",
        ]
        .concat()
    })
}

#[tokio::test]
async fn a_request_a_file_and_the_clock_come_again_without_server_and_folder() {
    let home = tempfile::tempdir().unwrap();
    let server = echo();
    std::fs::write(home.path().join("notes"), "what was in the file\n").unwrap();
    let runtime = calling(granted(&server).dir(home.path(), "/work", Access::Read), Limits::default());
    let arguments = json!({ "to": target(&server, "/a?b=c"), "file": "/work/notes" });
    let recording = recorded(&runtime, "gather", arguments).await;
    let seen = recording.outcome()["structured"]["result"].as_str().unwrap().to_owned();
    for part in ["what was in the file", "(201, [(\"x-line\"", "end: Ok(())", "again: Ok(201)"] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
    assert_eq!(server.asked()[0].line, "POST /a?b=c HTTP/1.1");
    assert_eq!(recording.outcome()["usage"]["http_requests"], 2);
    let file = home.path().join("r.jsonl");
    recording.write(&file).unwrap();
    let recording = Recording::read(&file).unwrap();
    drop(runtime);
    server.close();
    home.close().unwrap();
    for _ in 0..3 {
        assert_same(recording.clone()).await;
    }
}

#[tokio::test]
async fn the_shipped_fetch_comes_again() {
    let server = HttpServer::answering(|asked| match asked.line.split(' ').nth(1) {
        Some("/page") => ok(&[("content-type", "text/html")], "<h1>Nächste</h1>".repeat(5_000).as_bytes()),
        Some("/moved") => response("302 Found", &[("location", "/page")], b""),
        _ => response("404 Not Found", &[], b"gone"),
    });
    let fetch = ToolComponent::builtin("fetch").grant(granted(&server));
    let runtime = built(builder().component(fetch));
    let mut recordings = Vec::new();
    let urls = [format!("{}/moved", server.origin()), format!("{}/x", server.origin())];
    for url in urls.into_iter().chain(["https://example.org/".to_owned()]) {
        recordings.push(recorded(&runtime, "fetch", json!({ "url": url })).await);
    }
    assert!(recordings[0].outcome()["content"][0]["text"].as_str().unwrap().contains("go on with \"start\""));
    assert!(recordings[2].outcome()["denials"][0]["target"] == "GET https://example.org/");
    server.close();
    for recording in recordings {
        assert_same(recording).await;
    }
}

/// A server that writes this and closes.
fn broken(answer: &'static [u8]) -> HttpServer {
    HttpServer::raw(move |mut stream: TcpStream| {
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(answer);
    })
}

#[tokio::test]
async fn refusals_errors_and_limits_come_again() {
    let server = echo();
    let good = calling(granted(&server), Limits::default());
    let other = HttpServer::saying("never");
    let cases = [
        ("send", send(&server, "/", json!([["x", "1"], ["y", "2"], ["x", "3"]]))),
        ("send", send(&other, "/", json!([]))),
        ("send", send(&server, "http://other/x", json!([]))),
        ("send", send(&server, "/", json!([["content-length", "3"]]))),
        ("send", send(&server, "/", json!([["content-length", "6"]]))),
        ("pour", json!({ "to": target(&server, "/"), "bytes": 100_000, "piece": 1000 })),
        ("pour_nothing", json!({ "to": target(&server, "/"), "times": 3 })),
        ("repeat", json!({ "to": target(&server, "/"), "times": 3 })),
        ("many_headers", json!({ "count": 200_000 })),
        ("hold", json!({ "to": target(&server, "/"), "times": 40 })),
        ("gather", json!({ "to": target(&other, "/"), "file": "/none" })),
    ];
    for (tool, arguments) in cases {
        assert_same(recorded(&good, tool, arguments).await).await;
    }
    for answer in [
        &b""[..],
        b"SSH-2.0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\nzz",
    ] {
        let server = broken(answer);
        let runtime = calling(granted(&server), Limits::default());
        assert_same(recorded(&runtime, "send", send(&server, "/", json!([]))).await).await;
        assert_same(recorded(&runtime, "drain", target(&server, "/")).await).await;
    }
    let closed = HttpServer::saying("never");
    let (runtime, arguments) = (calling(granted(&closed), Limits::default()), send(&closed, "/", json!([])));
    closed.close();
    assert_same(recorded(&runtime, "send", arguments).await).await;
    for (limit, value) in [(Limit::HttpRequests, 2), (Limit::HttpBytes, 50_000)] {
        let limited = calling(granted(&server), Limits::default().with(limit, value));
        for (tool, rest) in
            [("repeat", json!({ "times": 3 })), ("pour", json!({ "bytes": 90_000, "piece": 1000 }))]
        {
            let mut arguments = rest;
            arguments["to"] = target(&server, "/");
            assert_same(recorded(&limited, tool, arguments).await).await;
        }
    }
}

#[tokio::test]
async fn a_replay_that_asks_for_something_else_says_so() {
    let server = echo();
    let runtime = calling(granted(&server), Limits::default());
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("r");
    recorded(&runtime, "send", send(&server, "/", json!([]))).await.write(&file).unwrap();
    let changed = |from: &str, to: &str| {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{from}: {text}");
        let text = text.replace(from, to);
        let (before, _) = text.trim_end().rsplit_once('\n').unwrap();
        let before = format!("{before}\n");
        let sum = toolcell::policy::Digest::of(before.as_bytes());
        std::fs::write(home.path().join("changed"), format!("{before}{{\"sum\":\"{sum}\"}}\n")).unwrap();
        Recording::read(&home.path().join("changed")).unwrap()
    };
    let asked = server.asked().len();
    for (from, to, told) in [
        ("Some(\\\"/\\\")", "Some(\\\"/other\\\")", "what the tool asks of the host"),
        ("[201,", "[204,", "the structured"),
        ("[201,", "[70000,", "an answer of another kind"),
        ("\"x-line\"", "\"x line\"", "an answer of another kind"),
        ("{\"ok\":[{\"ok\":{\"ok\":[201", "{\"ok\":[{\"ok\":{\"err\":[201", "an answer of another kind"),
    ] {
        let replay = builder().replay(changed(from, to)).await.unwrap();
        let difference = replay.difference.map(|difference| difference.to_string()).unwrap_or_default();
        assert!(difference.contains(told), "{from} to {to}: {difference}");
    }
    assert_eq!(server.asked().len(), asked, "a replay sends nothing");
}

const SECRET: &str = "sk-0123456789abcdef";

fn key_in(folder: &Path) -> PathBuf {
    let key = folder.join("key");
    std::fs::write(&key, SECRET).unwrap();
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    key
}

#[tokio::test]
async fn a_credential_is_in_no_recording() {
    let server = HttpServer::answering(|asked| {
        let [value] = asked.header("authorization").try_into().unwrap_or([""]);
        ok(&[("x-echo", value)], format!("you sent {value}").as_bytes())
    });
    let folder = tempfile::tempdir().unwrap();
    let key = key_in(folder.path());
    let entry = HttpGrant::to(&server.origin()).unwrap();
    let entry = entry.header("authorization", Credential::secret("key").prefix("Bearer "));
    let grant = Grant::none().secret("key", Secret::file(&key)).http(entry);
    let runtime = calling(grant, Limits::default());
    let recording = recorded(&runtime, "send", send(&server, "/", json!([]))).await;
    assert_eq!(server.asked()[0].header("authorization"), [format!("Bearer {SECRET}")]);
    let file = folder.path().join("r");
    recording.write(&file).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("you sent Bearer ***") && !text.contains(SECRET), "{text}");
    assert!(!text.contains("0123456789"), "{text}");
    let recording = recording.permit_secret("key");
    assert_same(recording.clone()).await;
    // It is asked for again, since what the tool says is searched for it.
    std::fs::remove_file(&key).unwrap();
    let missing = builder().replay(recording).await.unwrap_err().to_string();
    assert!(missing.contains("secret"), "{missing}");
}

#[tokio::test]
async fn a_secret_that_comes_in_pieces_leaves_nothing() {
    // The server says the secret though no credential was sent, so that nothing covers it.
    let server = HttpServer::raw(|mut stream: TcpStream| {
        let _ = stream.read(&mut [0; 4096]);
        let (first, second) = SECRET.split_at(12);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
        for piece in [first, second] {
            let _ = stream.write_all(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes());
        }
        let _ = stream.write_all(b"0\r\n\r\n");
    });
    let folder = tempfile::tempdir().unwrap();
    let key = key_in(folder.path());
    let runtime = calling(granted(&server).secret("key", Secret::file(&key)), Limits::default());
    let recording = made(&runtime, "drain", target(&server, "/")).await;
    assert!(recording.unreplayable().is_some_and(|why| why.contains("secret")), "{recording:?}");
    let file = folder.path().join("r");
    recording.write(&file).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains(&SECRET[..6]) && !text.contains(&SECRET[12..]), "{text}");
    // What the tool itself sends is not recorded either, in whatever part of its request it is.
    let server = echo();
    let runtime = calling(granted(&server).secret("key", Secret::file(&key)), Limits::default());
    for arguments in [
        send(&server, "/", json!([["x", format!("a{SECRET}")]])),
        send(&server, &format!("/?{SECRET}"), json!([])),
        json!({ "to": target(&server, "/"), "headers": [], "body": SECRET, "nanos": null }),
    ] {
        let recorder = Recorder::new();
        runtime.call(ToolCall::new("send", arguments)).record(&recorder).await;
        let why = recorder.finish().map(|recording| recording.unreplayable().map(str::to_owned));
        assert!(format!("{why:?}").contains("secret"), "{why:?}");
    }
}

#[tokio::test]
async fn a_difference_names_no_secret() {
    let server = echo();
    let folder = tempfile::tempdir().unwrap();
    let key = key_in(folder.path());
    let runtime = calling(granted(&server).secret("key", Secret::file(&key)), Limits::default());
    recorded(&runtime, "send", send(&server, "/", json!([["x", "in place of it"]])))
        .await
        .write(&folder.path().join("r"))
        .unwrap();
    // Somebody made the call in the file say what its reader keeps secret.
    let text = std::fs::read_to_string(folder.path().join("r")).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let text = format!("{}\n{rest}", first.replace("in place of it", SECRET));
    let (before, _) = text.trim_end().rsplit_once('\n').unwrap();
    let sum = toolcell::policy::Digest::of(format!("{before}\n").as_bytes());
    std::fs::write(folder.path().join("r"), format!("{before}\n{{\"sum\":\"{sum}\"}}\n")).unwrap();
    let recording = Recording::read(&folder.path().join("r")).unwrap().permit_secret("key");
    let replay = builder().replay(recording).await.unwrap();
    let difference = replay.difference.unwrap().to_string();
    assert!(difference.contains("[redacted:key]") && !difference.contains(SECRET), "{difference}");
}

#[test]
fn the_command_line_does_so_too() {
    let line = CommandLine::new();
    let server = HttpServer::saying("fine words");
    let url = format!(r#"{{"url":"{}/x"}}"#, server.origin());
    let origin = server.origin();
    let fetch = ["call", "fetch", &url, "--component", "builtin:fetch", "--allow-http", &origin];
    let made = line.run(&[&fetch[..], &["--record", "r.jsonl", "--json"]].concat());
    assert_eq!(made.code, 0, "{made:?}");
    assert!(!made.stderr.contains("cannot be replayed"), "{made:?}");
    server.close();
    let replayed = line.run(&["replay", "r.jsonl"]);
    assert!(replayed.code == 0 && replayed.stdout.contains("fine words"), "{replayed:?}");
    assert!(replayed.stderr.contains("the same as recorded"), "{replayed:?}");
}
