//! The host's environment, the credentials that it adds, and values that it was only shown: none of them is in what a tool
//! sees, or in what models, operators and logs are told.

use std::fmt;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolcell::policy::{Credential, HttpGrant, Secret};
use toolcell::{Grant, Limits, Outcome, Runtime, ToolCall, ToolComponent};
use toolcell_tests::command_line::{CommandLine, Ended, ended};
use toolcell_tests::http_server::{HttpServer, response};
use toolcell_tests::{builder, built, call, guest, probe};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

const SECRET: &str = "sk-0123456789abcdef";

#[test]
fn a_tool_sees_the_variables_that_it_is_granted_and_nobody_is_shown_their_values() {
    let line = CommandLine::new();
    let probe = guest("probe");
    let probe = probe.to_str().unwrap();
    let run = |arguments: &[&str]| -> Ended {
        ended(line.command(arguments).env("DEMO_TOKEN", "abc123-of-the-host").env("LANG", "xx_YY"))
    };
    let environment = |rest: &[&str]| -> Value {
        let seen = run(&[&["call", "environment", "--component", probe, "--json"], rest].concat());
        assert!(!seen.stdout.contains("abc123") && !seen.stderr.contains("abc123"), "{seen:?}");
        seen.json()["structured"]["result"].clone()
    };
    assert_eq!(environment(&[]), json!([]));
    assert_eq!(environment(&["--env", "LANG=C"]), json!([["LANG", "C"]]));

    let config = |grant: &str| {
        line.write("toolcell.toml", format!("[component.probe]\npath = \"{probe}\"\n{grant}\n"));
    };
    let in_config = || run(&["call", "environment", "--config", "toolcell.toml", "--json"]).json();
    config("grant.env = { TOKEN = \"abc123-of-the-grant\" }");
    assert_eq!(in_config()["structured"]["result"], json!([["TOKEN", "abc123-of-the-grant"]]));
    for shown in [
        &["describe", "environment"][..],
        &["describe", "environment", "--json"],
        &["explain", "environment"],
        &["explain", "environment", "--json"],
        &["config", "show"],
        &["config", "show", "--json"],
        &["list", "--json"],
        &["check", "--json"],
        &["doctor", "--json"],
    ] {
        let shown = run(&[shown, &["--config", "toolcell.toml"]].concat());
        assert!(!shown.stdout.contains("abc123") && !shown.stderr.contains("abc123"), "{shown:?}");
    }
    config("");
    assert_eq!(
        in_config()["structured"]["result"],
        json!([]),
        "what is taken back is gone with the next call"
    );
}

/// Everything that is told through `tracing`, of whatever level.
#[derive(Clone, Default)]
struct Traced(Arc<Mutex<String>>);

impl Traced {
    /// Listens from now on to everything in this process.
    fn listen() -> Self {
        let traced = Self::default();
        let subscriber = tracing_subscriber::registry().with(traced.clone());
        tracing::subscriber::set_global_default(subscriber).unwrap();
        traced
    }

    fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }

    fn add(&self, name: &str, told: impl FnOnce(&mut dyn Visit)) {
        self.0.lock().unwrap().push_str(name);
        told(&mut self.clone());
    }
}

impl Visit for Traced {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.lock().unwrap().push_str(&format!(" {}={value:?}", field.name()));
    }
}

impl<S: tracing::Subscriber> Layer<S> for Traced {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        self.add(attributes.metadata().name(), |visit| attributes.record(visit));
    }

    fn on_record(&self, _: &Id, values: &Record<'_>, _: Context<'_, S>) {
        self.add("recorded", |visit| values.record(visit));
    }

    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        self.add(event.metadata().name(), |visit| event.record(visit));
    }
}

fn keyed(origin: &str) -> Runtime {
    let entry = HttpGrant::to(origin).unwrap();
    let entry = entry.header("authorization", Credential::secret("key").prefix("Bearer "));
    let grant = Grant::none().secret("key", Secret::value(SECRET)).http(entry);
    built(builder().component(ToolComponent::file(guest("caller")).grant(grant)))
}

async fn send(runtime: &Runtime, server: &str, path: &str) -> Outcome {
    let to = json!({ "method": "GET", "scheme": "http", "authority": server, "path": path });
    call(runtime, "send", json!({ "to": to, "headers": [], "body": null, "nanos": null })).await
}

#[tokio::test]
async fn a_credential_is_in_no_error_and_in_no_log_whatever_the_server_does() {
    let traced = Traced::listen();
    let server = HttpServer::answering(|asked| {
        let target = asked.line.split(' ').nth(1).unwrap_or_default().to_owned();
        let [key] = asked.header("authorization").try_into().unwrap_or([""]);
        let location = format!("https://elsewhere.test{target}&again={key}");
        match target.starts_with("/moved") {
            true => response("302 Found", &[("location", &location)], b""),
            false => response("403 Forbidden", &[("x-why", key)], format!("no: {target} {key}").as_bytes()),
        }
    });
    let authority = format!("127.0.0.1:{}", server.port());
    let runtime = keyed(&server.origin());
    let mut shown = String::new();
    for path in ["/denied", "/moved?a=b"] {
        let outcome = send(&runtime, &authority, path).await;
        assert!(outcome.is_success(), "{outcome:?}");
        shown.push_str(&format!("{outcome:?} {}", serde_json::to_string(&outcome).unwrap()));
    }
    assert!(server.asked().iter().all(|asked| asked.header("authorization") == [format!("Bearer {SECRET}")]));
    server.close();
    // Without a connection from before.
    let refused = send(&keyed(&format!("http://{authority}")), &authority, "/gone").await;
    assert_eq!(refused.error.as_ref().unwrap().message, "ConnectionRefused");
    shown.push_str(&format!("{refused:?}"));
    // A tool that was given the secret and writes it into an address is told of it no more than others.
    let grant = Grant::none().secret("key", Secret::value(SECRET).readable());
    let holding = built(builder().component(ToolComponent::file(guest("caller")).grant(grant)));
    let denied = send(&holding, &format!("{SECRET}.test"), &format!("/{SECRET}?key={SECRET}")).await;
    assert_eq!(denied.denials[0].target, "GET http://[redacted:key].test/[redacted:key]");
    shown.push_str(&format!("{denied:?} {}", serde_json::to_string(&denied).unwrap()));
    assert!(!shown.contains(SECRET) && !shown.contains("0123456789abc"), "{shown}");
    let traced = traced.text();
    assert!(traced.contains("toolcell.call"), "{traced}");
    assert!(!traced.contains(SECRET), "{traced}");
}

#[test]
fn the_command_line_and_the_server_show_none_of_it() {
    let line = CommandLine::new();
    let server = HttpServer::answering(|asked| {
        let key = asked.header("authorization").join("");
        response("403 Forbidden", &[("content-type", "text/plain")], format!("not with {key}").as_bytes())
    });
    line.write("key", SECRET);
    std::fs::set_permissions(line.folder().join("key"), PermissionsExt::from_mode(0o600)).unwrap();
    line.write(
        "toolcell.toml",
        format!(
            "[audit]\narguments = \"full\"\n[component.fetch]\npath = \"builtin:fetch\"\nsecrets = {{ key = {{ file = \"key\" }} }}\n\
             [component.fetch.grant]\nhttp = [{{ origin = \"{}\", headers = {{ authorization = {{ secret = \"key\" }} }} }}]\n",
            server.origin()
        ),
    );
    let arguments = json!({ "url": format!("{}/x?a=b", server.origin()) });
    let called = line.run(&["call", "fetch", &arguments.to_string(), "--config", "toolcell.toml"]);
    assert!(called.stderr.contains("not with ***") || called.stderr.contains("redacted"), "{called:?}");
    let mut serving = line
        .command(&["mcp", "--config", "toolcell.toml"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = serving.stdin.take().unwrap();
    let begin = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "fetch", "arguments": arguments } }),
    ] {
        writeln!(stdin, "{message}").unwrap();
    }
    let mut said = String::new();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(serving.stdout.take().unwrap()));
    while !said.contains("\"id\":2") {
        said.push_str(&lines.next().unwrap().unwrap());
    }
    drop(stdin);
    let ended = Ended::from(serving.wait_with_output().unwrap());
    assert!(said.contains("403 Forbidden"), "{said}");
    let audit = line.run(&["audit", "show", "--config", "toolcell.toml", "--json"]);
    assert!(audit.stdout.contains("fetch"), "{audit:?}");
    for shown in [&called.stdout, &called.stderr, &said, &ended.stderr, &audit.stdout] {
        assert!(!shown.contains(SECRET), "{shown}");
    }
    assert_eq!(server.asked().len(), 2);
}

#[tokio::test]
async fn values_that_were_refused_are_repeated_briefly_and_logged_never() {
    let traced = Traced::listen();
    let runtime = built(builder().component(probe(Grant::none(), Limits::default())));
    for arguments in
        [json!({ "value": "very-private ".repeat(400_000) }), json!({ "value": { "very-private": 1 } })]
    {
        let refused = runtime.call(ToolCall::new("echo_u32", arguments)).await;
        let error = refused.error.as_ref().unwrap_or_else(|| panic!("no error"));
        assert!(error.message.len() < 1_000, "{} bytes", error.message.len());
        assert!(error.message.contains("/value") || error.message.contains("bytes"), "{}", error.message);
    }
    let echoed = call(&runtime, "echo_string", json!({ "value": "very-private" })).await;
    assert!(echoed.is_success());
    let traced = traced.text();
    assert!(traced.contains("toolcell.call") && !traced.contains("very-private"), "{traced}");
}
