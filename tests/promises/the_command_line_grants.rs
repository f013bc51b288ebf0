//! The command line: grants are what flags say, and nothing of the host's own.

use rustix::fs::{CWD, FileType, mknodat};
use toolcell_tests::command_line::{CommandLine, ended};
use toolcell_tests::guest;

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
