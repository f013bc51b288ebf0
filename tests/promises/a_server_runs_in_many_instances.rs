//! Two instances of one server behind a proxy that sends each request to the other one: sessions, questions, answers, approvals
//! and full outputs are of both, if they share a store and a key, and of neither's neighbour.

use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::guest;
use toolcell_tests::http_client::{HttpRequest, HttpResponse, HttpServer};

const ADA: &str = "ada-0123456789abcdef";
const BOB: &str = "bob-0123456789abcdef";
const KEY: &str = "0123456789abcdef0123456789abcdef";
const PASSWORD: &str = "a password of a store";

/// A program that ends with its test.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port that nobody listens on.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn started(command: &mut Command, port: u16) -> Started {
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let started =
        Started(child.unwrap_or_else(|error| panic!("{command:?}: {error}; Debian has it as a package")));
    let begun = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{command:?} does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    started
}

/// Redis, on a port of its own and without a file.
fn redis(line: &CommandLine) -> (Started, u16) {
    let port = free_port();
    let mut command = Command::new("redis-server");
    command.args([
        "--port",
        &port.to_string(),
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--requirepass",
        PASSWORD,
    ]);
    command.arg("--dir").arg(line.folder());
    (started(&mut command, port), port)
}

/// nginx before these servers, each request to the next one.
fn proxy(line: &CommandLine, servers: &[&HttpServer]) -> (Started, HttpServer) {
    let port = free_port();
    let folder = line.folder().join("proxy");
    std::fs::create_dir_all(&folder).unwrap();
    let upstream: String = servers.iter().map(|server| format!("server {};", server.address)).collect();
    let at = |name: &str| folder.join(name).display().to_string();
    let text = format!(
        "daemon off; master_process off; pid {pid}; error_log /dev/null; events {{}}\n\
         http {{ access_log off; client_body_temp_path {body}; proxy_temp_path {temp}; fastcgi_temp_path {temp}; uwsgi_temp_path {temp}; scgi_temp_path {temp};\n\
         upstream instances {{ {upstream} }}\n\
         server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://instances; proxy_http_version 1.1; proxy_set_header Host localhost; }} }} }}\n",
        pid = at("pid"),
        body = at("body"),
        temp = at("temp"),
    );
    let config = folder.join("nginx.conf");
    std::fs::write(&config, text).unwrap();
    let program =
        ["/usr/sbin/nginx", "/usr/bin/nginx"].into_iter().find(|path| std::path::Path::new(path).exists());
    let mut command = Command::new(program.unwrap_or("nginx"));
    command.arg("-p").arg(&folder).arg("-c").arg(&config);
    (started(&mut command, port), HttpServer::at(format!("127.0.0.1:{port}")))
}

/// Two instances, that share a store if there is one at `store`.
fn instances(line: &CommandLine, store: Option<u16>) -> [HttpServer; 2] {
    let probe = guest("probe");
    let shared = store.map_or(String::new(), |port| {
        format!("[server.shared]\nstore = \"redis://127.0.0.1:{port}/2\"\npassword = {{ env = \"STORE\" }}\nkey = {{ env = \"SEAL\" }}\n")
    });
    let tokens = "[server]\ntokens = { ada = { env = \"ADA\" }, bob = { env = \"BOB\" } }\n";
    let rule = "[[rule]]\ntools = [\"echo_string\"]\naction = \"ask\"\nreason = \"who knows\"\n";
    let text = format!(
        "[output]\nmax_bytes = \"1KiB\"\n{tokens}{shared}{rule}[component.probe]\npath = \"{}\"\n",
        probe.display()
    );
    line.write("toolcell.toml", text);
    [(); 2].map(|()| {
        let mut command =
            line.command(&["mcp", "--http", "127.0.0.1:0", "--config", "toolcell.toml", "--timeout", "10m"]);
        HttpServer::start(command.env("ADA", ADA).env("BOB", BOB).env("STORE", PASSWORD).env("SEAL", KEY))
    })
}

fn of(token: &str) -> impl Fn(HttpRequest) -> HttpRequest {
    let value = format!("Bearer {token}");
    move |request| request.header("Authorization", &value)
}

fn message(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

fn in_session(session: &str, message: &Value) -> HttpRequest {
    let request = HttpRequest::post(message).header("Mcp-Session-Id", session);
    of(ADA)(request.header("MCP-Protocol-Version", "2025-11-25"))
}

fn call(name: &str, arguments: Value) -> Value {
    json!({ "name": name, "arguments": arguments })
}

/// A call of the current era by a client that shows forms.
fn asking(server: &HttpServer, token: &str, id: i64, value: &str, more: &Value) -> HttpResponse {
    let mut params = call("echo_string", json!({ "value": value }));
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let request = HttpRequest::current(id, "tools/call", params, json!({ "elicitation": {} }));
    server.send(of(token)(request))
}

fn yes() -> Value {
    json!({ "action": "accept", "content": { "answer": "once" } })
}

#[test]
fn a_key_or_password_that_changes_holds_from_the_next_start_and_is_told() {
    let line = CommandLine::new();
    let (_redis, port) = redis(&line);
    let secret = |name: &str, text: &str| {
        let path = line.write(&format!("{name}.new"), text);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::rename(path, line.folder().join(name)).unwrap();
    };
    secret("key", KEY);
    secret("password", PASSWORD);
    let text = format!(
        "[server.shared]\nstore = \"redis://127.0.0.1:{port}\"\npassword = {{ file = \"password\" }}\nkey = {{ file = \"key\" }}\n"
    );
    line.write("toolcell.toml", text);
    let arguments = ["mcp", "--http", "127.0.0.1:0", "--config", "toolcell.toml"];
    let server = HttpServer::start(&mut line.command(&arguments));
    secret("key", &KEY.replace('0', "z"));
    server.says("`server.shared.key` has changed, and holds from the next start");
    secret("password", "another password");
    server.says("`server.shared.password` has changed, and holds from the next start");
    secret("key", "short");
    server.says("what has changed is not used");
    server.initialize(json!({}), |request| request);
}

#[test]
fn a_session_is_of_all_that_share_a_store() {
    let line = CommandLine::new();
    let (_redis, port) = redis(&line);
    let servers = instances(&line, Some(port));
    let (_nginx, both) = proxy(&line, &[&servers[0], &servers[1]]);
    let session = both.initialize(json!({ "elicitation": {} }), of(ADA));
    // Whatever instance it comes to, in turns.
    for value in 0..8 {
        let request = message(value, "tools/call", call("echo_u32", json!({ "value": value })));
        let answer = both.send(in_session(&session, &request)).answer();
        assert_eq!(answer["result"]["structuredContent"]["result"], value, "{answer}");
    }
    let foreign =
        of(BOB)(HttpRequest::post(&message(1, "ping", json!({}))).header("Mcp-Session-Id", &session));
    assert_eq!(both.send(foreign).status, 404, "another's is not there");
    let guessed = in_session(&"0".repeat(32), &message(1, "ping", json!({})));
    assert_eq!(both.send(guessed).status, 404);
    // An output that was cut is read at the other, and listed.
    let big =
        message(1, "tools/call", call("echo_u32s", json!({ "value": (0..2000).collect::<Vec<u32>>() })));
    let cut = servers[0].send(in_session(&session, &big)).answer();
    let uri = cut
        .to_string()
        .split("toolcell://output/")
        .nth(1)
        .map(|rest| format!("toolcell://output/{}", &rest[..34]));
    let uri = uri.unwrap_or_else(|| panic!("{cut}"));
    let read = message(2, "resources/read", json!({ "uri": uri }));
    let whole = servers[1].send(in_session(&session, &read)).answer();
    assert!(whole["result"]["contents"][0]["text"].as_str().unwrap().contains("1999"), "{whole}");
    let listed = servers[1].send(in_session(&session, &message(3, "resources/list", json!({})))).answer();
    assert_eq!(listed["result"]["resources"][0]["uri"], json!(uri), "{listed}");
    let other = both.initialize(json!({}), of(ADA));
    assert!(
        servers[1].send(in_session(&other, &read)).answer().get("error").is_some(),
        "it is of one session"
    );
    // A question of the one is answered at the other.
    let asked = message(4, "tools/call", call("echo_string", json!({ "value": "a" })));
    let mut response = servers[0].send(in_session(&session, &asked));
    let question = response.event();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": yes() });
    assert_eq!(servers[1].send(in_session(&session, &answer)).status, 202);
    assert_eq!(response.answer()["result"]["structuredContent"]["result"], "a");
    // A call of the one is taken back at the other.
    let mut connection = servers[0].connect();
    let endless = in_session(&session, &message(5, "tools/call", call("poll_forever", json!({}))));
    connection.write_all(&endless.bytes(&servers[0].address)).unwrap();
    let metrics = |server: &HttpServer| server.send(of(ADA)(HttpRequest::new("GET", "/metrics"))).text();
    until(|| metrics(&servers[0]).contains("\ntoolcell_cells_running 1\n"));
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 5 } });
    assert_eq!(servers[1].send(in_session(&session, &cancelled)).status, 202);
    until(|| metrics(&servers[0]).contains("\ntoolcell_cells_running 0\n"));
    drop(connection);
    // It ends everywhere.
    let delete = of(ADA)(HttpRequest::new("DELETE", "/mcp").header("Mcp-Session-Id", &session));
    assert_eq!(servers[1].send(delete).status, 204);
    let ping = || in_session(&session, &message(6, "ping", json!({})));
    until(|| servers.iter().all(|server| server.send(ping()).status == 404));
}

#[test]
fn a_store_that_hangs_holds_up_its_own_calls_only() {
    let line = CommandLine::new();
    let (redis, port) = redis(&line);
    let servers = instances(&line, Some(port));
    let server = &servers[0];
    let wide = || call("echo_u32s", json!({ "value": (0..2000).collect::<Vec<u32>>() }));
    let current = |id: i64, method: &str, params: Value| {
        server.send(of(ADA)(HttpRequest::current(id, method, params, json!({})))).answer()
    };
    assert!(current(1, "tools/call", wide()).to_string().contains("toolcell://output/"));
    let stopped = Command::new("kill").args(["-STOP", &redis.0.id().to_string()]).status().unwrap();
    assert!(stopped.success());
    let has_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // More than the server has threads.
        let threads = std::thread::available_parallelism().map_or(8, |count| count.get() * 4);
        let calls: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let answer = current(2, "tools/call", wide());
                    has_ended.store(true, Ordering::SeqCst);
                    answer
                })
            })
            .collect();
        let mut answered = 0;
        while !has_ended.load(Ordering::SeqCst) {
            assert!(current(3, "tools/list", json!({}))["result"]["tools"].is_array());
            answered += 1;
        }
        assert!(answered >= 10, "{answered} were answered meanwhile");
        for call in calls {
            let answer = call.join().unwrap();
            assert!(
                answer["result"]["structuredContent"].is_object(),
                "it is answered all the same: {answer}"
            );
            assert!(!answer.to_string().contains("toolcell://output/"), "{answer}");
        }
    });
}

/// Waits for what comes a moment later.
fn until(is: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < Duration::from_secs(30), "it never comes");
    }
}

#[test]
fn a_question_is_answered_at_any_of_them() {
    let line = CommandLine::new();
    let (_redis, port) = redis(&line);
    let servers = instances(&line, Some(port));
    let given = |state: &Value| json!({ "requestState": state, "inputResponses": { "approval": yes() } });
    let open = asking(&servers[0], ADA, 1, "a", &json!({})).answer()["result"].clone();
    assert_eq!(open["resultType"], "input_required", "{open}");
    let state = &open["requestState"];
    // It is bound to its arguments, its principal and its key.
    assert_eq!(asking(&servers[1], ADA, 2, "b", &given(state)).status, 400);
    assert_eq!(asking(&servers[1], BOB, 2, "a", &given(state)).status, 400);
    assert_eq!(asking(&servers[1], ADA, 2, "a", &given(&json!("A".repeat(112)))).status, 400);
    let done = asking(&servers[1], ADA, 2, "a", &given(state)).answer();
    assert_eq!(done["result"]["structuredContent"]["result"], "a", "{done}");
    // Once: then it is asked anew, at whatever instance.
    for server in &servers {
        let again = asking(server, ADA, 3, "a", &given(state)).answer();
        assert_eq!(again["result"]["resultType"], "input_required", "{again}");
    }
    // A no is one, and "always" holds everywhere, for its principal.
    let open = asking(&servers[1], ADA, 4, "c", &json!({})).answer()["result"].clone();
    let no = json!({ "requestState": open["requestState"], "inputResponses": { "approval": { "action": "decline" } } });
    let refused = asking(&servers[0], ADA, 5, "c", &no).answer();
    assert_eq!(refused["result"]["_meta"]["toolcell/kind"], "denied", "{refused}");
    let open = asking(&servers[1], ADA, 6, "d", &json!({})).answer()["result"].clone();
    let always = json!({ "action": "accept", "content": { "answer": "always" } });
    let always = json!({ "requestState": open["requestState"], "inputResponses": { "approval": always } });
    assert_eq!(
        asking(&servers[0], ADA, 7, "d", &always).answer()["result"]["structuredContent"]["result"],
        "d"
    );
    let known = asking(&servers[1], ADA, 8, "d", &json!({})).answer();
    assert_eq!(known["result"]["structuredContent"]["result"], "d", "{known}");
    for server in &servers {
        let other = asking(server, BOB, 8, "d", &json!({})).answer();
        assert_eq!(other["result"]["resultType"], "input_required", "it is Ada's: {other}");
    }
    // Whoever may ask nobody finds its question where the operator does.
    let params = call("echo_string", json!({ "value": "e" }));
    let pending = servers[0].send(of(ADA)(HttpRequest::current(9, "tools/call", params, json!({})))).answer();
    assert_eq!(pending["result"]["_meta"]["toolcell/kind"], "approval_needed", "{pending}");
    let mut listing = line.command(&["approvals", "pending", "--json"]);
    let listed = toolcell_tests::command_line::ended(
        listing.env("STORE", PASSWORD).env("TOOLCELL_CONFIG", "toolcell.toml"),
    );
    assert!(listed.stdout.contains("who knows"), "{} {}", listed.stdout, listed.stderr);
}

#[test]
fn without_a_store_they_refuse_clearly() {
    let line = CommandLine::new();
    let servers = instances(&line, None);
    let session = servers[0].initialize(json!({}), of(ADA));
    let mut refused = servers[1].send(in_session(&session, &message(1, "ping", json!({}))));
    assert_eq!(refused.status, 404);
    assert!(refused.text().contains("at this instance of the server"));
    let open = asking(&servers[0], ADA, 1, "a", &json!({})).answer()["result"].clone();
    let back = json!({ "requestState": open["requestState"], "inputResponses": { "approval": yes() } });
    let mut refused = asking(&servers[1], ADA, 2, "a", &back);
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("at this instance"));
}

#[test]
fn a_store_that_is_gone_is_said() {
    let line = CommandLine::new();
    let (redis, port) = redis(&line);
    let [server, _other] = instances(&line, Some(port));
    let session = server.initialize(json!({}), of(ADA));
    drop(redis);
    let plain = message(1, "tools/call", call("echo_u32", json!({ "value": 1 })));
    assert_eq!(server.send(in_session(&session, &plain)).status, 200, "what needs no store goes on");
    let elsewhere = in_session(&"1".repeat(32), &message(1, "ping", json!({})));
    let mut refused = server.send(elsewhere);
    assert_eq!(refused.status, 503);
    assert!(refused.text().contains("cannot be reached"));
    until(|| server.send(HttpRequest::new("GET", "/readyz")).status == 503);
    assert_eq!(server.send(HttpRequest::new("GET", "/healthz")).status, 200);
    let asked = asking(&server, ADA, 2, "a", &json!({})).answer();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let back =
        json!({ "requestState": asked["result"]["requestState"], "inputResponses": { "approval": yes() } });
    let again = asking(&server, ADA, 3, "a", &back).answer();
    assert_eq!(again["result"]["isError"], true, "what cannot be used up is not taken: {again}");
    let told = again["result"]["content"][0]["text"].as_str().unwrap();
    assert!(told.contains("the store that the instances of this server share cannot be reached"), "{told}");
    let started = line
        .command(&["mcp", "--http", "127.0.0.1:0", "--config", "toolcell.toml"])
        .envs([("ADA", ADA), ("BOB", BOB), ("STORE", PASSWORD), ("SEAL", KEY)])
        .output()
        .unwrap();
    assert_eq!(started.status.code(), Some(2));
    let told = String::from_utf8_lossy(&started.stderr);
    assert!(told.contains("server.shared.store") && told.contains("cannot be used"), "{told}");
}

#[test]
fn wrong_settings_are_refused() {
    let line = CommandLine::new();
    let text = "[server.shared]\nstore = \"rediss://a\"\nkey = {}\nmore = 1\n[server]\n";
    line.write("toolcell.toml", text);
    let refused = line.run(&["mcp", "--http", "0", "--config", "toolcell.toml"]);
    assert_eq!(refused.code, 2);
    insta::assert_snapshot!(refused.stderr);
    line.write(
        "toolcell.toml",
        "[server.shared]\nstore = \"redis://127.0.0.1:1\"\nkey = { env = \"SEAL\" }\n",
    );
    let mut short = line.command(&["mcp", "--http", "127.0.0.1:0", "--config", "toolcell.toml"]);
    let short = toolcell_tests::command_line::ended(short.env("SEAL", "short"));
    assert!(short.code == 2 && short.stderr.contains("server.shared"), "{}", short.stderr);
    let shown = line.run(&["config", "show", "--json", "--config", "toolcell.toml"]).json();
    let shared = json!({ "store": "redis://127.0.0.1:1", "key": { "env": "SEAL" }, "one_machine": false });
    assert_eq!(shown["server"]["shared"]["value"], shared);
}

#[test]
fn what_each_instance_would_have_for_itself_is_refused() {
    let line = CommandLine::new();
    let text = |more: &str, state: &str| {
        format!(
            "[server.shared]\nstore = \"redis://127.0.0.1:1\"\nkey = {{ env = \"SEAL\" }}\n{more}\n\
             [component.plan]\npath = \"builtin:plan\"\ngrant.state = \"{state}\"\n"
        )
    };
    for (more, state, code) in [
        ("", "session", 2),
        ("", "persistent", 2),
        ("", "call", 0),
        ("one_machine = false", "session", 2),
        ("one_machine = true", "session", 0),
        ("one_machine = true", "persistent", 0),
    ] {
        line.write("toolcell.toml", text(more, state));
        let listed = line.run(&["list", "--config", "toolcell.toml"]);
        assert_eq!(listed.code, code, "{more} {state}: {listed:?}");
        let is_told = listed.stderr.contains("component.plan.grant.state")
            && listed.stderr.contains("toolcell.toml:7")
            && listed.stderr.contains("server.shared.one_machine = true");
        assert_eq!(is_told, code == 2, "{listed:?}");
    }
}

#[test]
fn no_tool_may_write_or_read_what_lets_clients_in() {
    let line = CommandLine::new();
    let folder = line.folder();
    for name in ["token", "seal"] {
        let path = line.write(name, KEY);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let probe = guest("probe");
    let grant = format!(
        "[component.probe]\npath = \"{}\"\ngrant.dirs = [{{ host = {folder:?}, guest = \"/w\", access = \"read-write\", deny = [\"toolcell.toml\"] }}]\n",
        probe.display()
    );
    let server = "[server]\ntokens = { ada = { file = \"token\" } }\n[server.shared]\nstore = \"redis://127.0.0.1:1\"\nkey = { file = \"seal\" }\n";
    line.write("toolcell.toml", format!("{server}{grant}"));
    let refused = line.run(&["list", "--config", "toolcell.toml"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("the token of `ada`")
            && refused.stderr.contains("the key of the shared store"),
        "{}",
        refused.stderr
    );
}
