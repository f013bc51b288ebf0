//! The command line: grants are what flags say, and nothing of the host's own.

use rustix::fs::{CWD, FileType, mknodat};
use toolcell_tests::command_line::{CommandLine, ended};
use toolcell_tests::guest;
use toolcell_tests::http_server::HttpServer;

#[test]
fn the_environment_of_the_host_reaches_no_tool() {
    let line = CommandLine::new();
    let probe = guest("probe");
    let call = ["call", "--component", &probe.to_string_lossy(), "environment", "--json"];
    let none = ended(line.command(&call).env("DEMO_TOKEN", "abc123"));
    assert_eq!(none.json()["structured"]["result"], serde_json::json!([]), "{none:?}");
    let granted =
        ended(line.command(&[call.as_slice(), &["--env", "LANG=C"]].concat()).env("DEMO_TOKEN", "abc123"));
    assert!(granted.stdout.contains("LANG") && !granted.stdout.contains("abc123"), "{granted:?}");
    for verb in ["explain", "describe"] {
        let shown = line.probe(&[verb, "environment", "--json", "--env", "SECRET=hidden"]);
        assert!(shown.stdout.contains("SECRET") && !shown.stdout.contains("hidden"), "{shown:?}");
    }
}

#[test]
fn grants_that_cannot_work_are_refused_at_load() {
    let line = CommandLine::new();
    line.write("file", "");
    for (dir, told) in [
        ("gone::/w", "the folder `gone` does not exist"),
        ("file::/w", "`file` is not a folder"),
        (".::w", "must be absolute"),
        (".", "HOST::GUEST"),
        (".::/w::write", "HOST::GUEST"),
        ("~/x::/w", "not expanded"),
        (".::/w/../x", "/w/../x"),
    ] {
        let refused = line.probe(&["call", "echo_silence", "--dir", dir]);
        assert_eq!(refused.code, 2, "{dir}: {refused:?}");
        assert!(refused.stderr.contains(told), "{dir}: {refused:?}");
    }
    let home = line.home();
    std::fs::create_dir_all(home.join("data")).unwrap();
    let own = line.probe(&["call", "echo_silence", "--dir", &format!("{}::/w::rw", home.display())]);
    assert_eq!(own.code, 2, "{own:?}");
    assert!(own.stderr.contains("--dir …::/w: ") && !own.stderr.contains("component."), "{own:?}");
    for (flag, value) in [("--dir", ".::/w"), ("--env", "A=b"), ("--config-value", "a=b"), ("--wit", ".")] {
        let refused = line.run(&["list", flag, value]);
        assert_eq!(refused.code, 2);
        assert!(refused.stderr.contains(flag) && refused.stderr.contains("--component"), "{refused:?}");
    }
}

#[test]
fn a_refusal_names_the_guests_path_and_no_other() {
    let line = CommandLine::new();
    line.write("in.txt", "in");
    std::os::unix::fs::symlink("/etc/passwd", line.folder().join("out")).unwrap();
    let call = |path: &str| {
        let arguments = serde_json::json!({ "path": path }).to_string();
        line.run(&[
            "call",
            "--component",
            "builtin:files",
            "--dir",
            ".::/w",
            "--json",
            "read_file",
            &arguments,
        ])
    };
    assert_eq!(call("/w/in.txt").code, 0);
    for path in ["/w/../etc/passwd", "/etc/passwd", "/w/out", "../../../../etc/passwd"] {
        let refused = call(path);
        assert!(matches!(refused.code, 1 | 4), "{path}: {refused:?}");
        assert!(!refused.stdout.contains("root:"), "{path}: {refused:?}");
        assert!(!refused.stdout.contains(&line.folder().display().to_string()), "{path}: {refused:?}");
    }
    let denial = &call("/w/out").json()["denials"][0];
    assert_eq!((&denial["capability"], &denial["setting"]), (&"dirs".into(), &"--dir".into()));
}

#[test]
fn a_fifo_in_a_granted_folder_is_refused_at_once() {
    let line = CommandLine::new();
    mknodat(CWD, line.folder().join("fifo"), FileType::Fifo, 0o600.into(), 0).unwrap();
    let started = std::time::Instant::now();
    let refused = line.run(&[
        "call",
        "--component",
        "builtin:files",
        "--dir",
        ".::/w",
        "read_file",
        r#"{"path":"/w/fifo"}"#,
    ]);
    assert!(matches!(refused.code, 1 | 4), "{refused:?}");
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "it would have waited for its 30 s");
}

#[test]
fn an_origin_is_granted_by_a_flag_or_an_entry() {
    let line = CommandLine::new();
    let server = HttpServer::saying("hello");
    let arguments = serde_json::json!({ "url": server.origin() }).to_string();
    let fetch = |more: &[&str]| {
        let call = ["call", "--component", "builtin:fetch", "--json", "fetch", &arguments];
        line.run(&[call.as_slice(), more].concat())
    };
    let refused = fetch(&[]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert_eq!(refused.json()["denials"][0]["setting"], "--allow-http");
    let granted = fetch(&["--allow-http", &server.origin()]);
    assert_eq!(granted.code, 0, "{granted:?}");
    assert_eq!(granted.json()["usage"]["http_requests"], 1);
    for (origin, told) in [("localhost", "has no scheme"), ("*", "https://*"), ("https://a.org/x", "paths")] {
        let wrong = fetch(&["--allow-http", origin]);
        assert_eq!(wrong.code, 2, "{wrong:?}");
        assert!(wrong.stdout.contains(told), "{origin}: {wrong:?}");
    }
    let stray = line.run(&["list", "--allow-http", "https://a.org"]);
    assert!(stray.code == 2 && stray.stderr.contains("--component"), "{stray:?}");

    let weather = ["call", "--component", "builtin:weather", "--json", "--arg", "city=Oslo"];
    let places =
        ["--allow-http", &server.origin(), "--config-value", &format!("places_url={}", server.origin())];
    let unread = line.run(&[weather.as_slice(), &places].concat());
    let setting = format!("--allow-http {}::ro", server.origin());
    assert_eq!(unread.json()["denials"][0]["setting"], setting, "{unread:?}");
    let reads = ["--allow-http", &format!("{}::ro", server.origin()), places[2], places[3]];
    let read = line.run(&[weather.as_slice(), &reads].concat());
    assert_eq!((read.json()["usage"]["http_requests"].clone(), read.code), (1.into(), 1), "{read:?}");

    let open = ["--component", "builtin:weather", "--allow-http", "https://api.open-meteo.com"];
    let described = line.run(&[&["describe", "weather"], open.as_slice()].concat());
    assert!(
        described.stdout.contains("http https://api.open-meteo.com: it claims to be read-only")
            && described.stdout.contains("`--allow-http ORIGIN::ro`"),
        "{described:?}"
    );
    let described = line.run(&[&["describe", "weather", "--json"], open.as_slice()].concat());
    assert_eq!(described.json()["withheld"]["http"], serde_json::json!(["https://api.open-meteo.com"]));
    let checked = line.run(&[&["check"], open.as_slice()].concat());
    assert!(checked.stderr.contains("`weather`: http https://api.open-meteo.com: it claims"), "{checked:?}");
    // What is granted is not refused when used.
    assert!(!checked.stdout.contains("wasi:http/outgoing-handler"), "{checked:?}");
    let reading = line.run(&["check", "--component", "builtin:weather", "--allow-http", "https://a.org::ro"]);
    assert!(!reading.stderr.contains("read-only"), "{reading:?}");
    let bare = line.run(&["check", "--component", "builtin:weather"]);
    assert!(bare.stdout.contains("wasi:http/outgoing-handler"), "{bare:?}");
    let config = "[component.w]\npath = \"builtin:weather\"\n\
        grant = { http = [{ origin = \"https://api.open-meteo.com\", read_only = true }] }\n";
    line.write("granted.toml", config);
    let checked = line.run(&["check", "--config", "granted.toml"]);
    assert!(checked.code == 0 && !checked.stdout.contains("wasi:http/outgoing-handler"), "{checked:?}");

    line.write("toolcell.toml", "");
    let with_weather =
        line.run(&["add", "builtin:weather", "--allow-http", "https://api.open-meteo.com::ro"]);
    assert!(
        with_weather.stdout.contains("http   https://api.open-meteo.com, only reading"),
        "{with_weather:?}"
    );
    let added = line.run(&["add", "builtin:fetch", "--allow-http", "https://example.org"]);
    assert_eq!(added.code, 0, "{added:?}");
    assert!(added.stdout.contains("http   https://example.org"), "{added:?}");
    let written = std::fs::read_to_string(line.folder().join("toolcell.toml")).unwrap();
    assert!(written.contains("http = [\"https://example.org\"]"), "{written}");
    let open_world =
        |line: &CommandLine| line.run(&["describe", "fetch", "--json"]).json()["hints"]["open_world"].clone();
    assert_eq!(open_world(&line), false, "found, and not trusted: no request leaves");
    assert_eq!(line.run(&["trust"]).code, 0);
    assert_eq!(open_world(&line), true);
    let explained = line.run(&["explain", "fetch", &arguments]);
    assert!(explained.stdout.contains("http   https://example.org"), "{explained:?}");
    let shown = line.run(&["config", "show", "--json"]);
    assert!(shown.stdout.contains("\"origin\": \"https://example.org\""), "{shown:?}");
}

#[test]
fn an_entry_with_credentials_shows_their_names_alone() {
    let line = CommandLine::new();
    let server = HttpServer::answering(|asked| {
        toolcell_tests::http_server::ok(
            &[],
            format!("you are {}", asked.header("authorization").join("")).as_bytes(),
        )
    });
    line.write(
        "toolcell.toml",
        format!(
            "[audit]\nfile = \"audit.jsonl\"\n[component.fetch]\npath = \"builtin:fetch\"\n\
             secrets = {{ key = {{ env = \"FETCH_KEY\" }} }}\n[component.fetch.grant]\n\
             http = [{{ origin = \"{}\", headers = {{ Authorization = {{ secret = \"key\", prefix = \"Bearer \" }} }} }}]\n",
            server.origin()
        ),
    );
    let url = serde_json::json!({ "url": server.origin() }).to_string();
    let run = |arguments: &[&str]| ended(line.command(arguments).env("FETCH_KEY", "k3y-0123456789"));
    assert_eq!(run(&["trust"]).code, 0);
    for arguments in [
        vec!["call", "fetch", &url, "--json"],
        vec!["explain", "fetch", &url],
        vec!["explain", "fetch", &url, "--json"],
        vec!["describe", "fetch"],
        vec!["config", "show"],
        vec!["audit", "show"],
    ] {
        let shown = run(&arguments);
        assert_eq!(shown.code, 0, "{arguments:?}: {shown:?}");
        assert!(!format!("{shown:?}").contains("0123456789"), "{arguments:?}: {shown:?}");
    }
    assert_eq!(server.asked()[0].header("authorization"), ["Bearer k3y-0123456789"]);
    let explained = run(&["explain", "fetch", &url]);
    assert!(explained.stdout.contains("with `authorization` from the secret key"), "{explained:?}");
}
