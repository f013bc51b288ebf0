//! A component of a registry is what was locked: it is fetched by `add` and `update` alone, a tag that moves changes nothing by
//! itself, and a call asks nobody.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcell::policy::Digest;
use toolcell_tests::command_line::{CommandLine, Ended};
use toolcell_tests::mcp_client::McpClient;
use toolcell_tests::registry::{INDEX, MANIFEST, Registry, USER, answering, manifest};

const WASM: &str = "application/wasm";

/// A user with an empty configuration.
fn user() -> CommandLine {
    let line = CommandLine::new();
    line.write("toolcell.toml", "");
    line
}

fn answer(line: &CommandLine) -> Ended {
    line.run(&["call", "answer", "{}", "--config", "toolcell.toml"])
}

fn read(line: &CommandLine, name: &str) -> String {
    std::fs::read_to_string(line.folder().join(name)).unwrap_or_default()
}

/// The file that keeps a component.
fn kept(line: &CommandLine, digest: &str) -> PathBuf {
    line.home().join("data/components").join(format!("{}.wasm", digest.replace(':', "-")))
}

fn good(ended: Ended) -> Ended {
    assert_eq!(ended.code, 0, "{ended:?}");
    ended
}

#[test]
fn it_is_added_called_without_the_registry_and_removed() {
    let registry = Registry::open();
    // With a cache of its own, which is cleared at the end.
    let (seven, line) = (answering(7), CommandLine::cold());
    line.write("toolcell.toml", "");
    let manifest = registry.publish("tools/the-answer", "1.0", &seven, WASM);
    let reference = registry.reference("tools/the-answer:1.0");
    let added = good(line.run(&["add", &reference, "--json"])).json();
    let digest = Digest::of(&seven).to_string();
    assert_eq!((&added["name"], &added["tools"]), (&json!("the-answer"), &json!(["answer"])));
    assert_eq!(
        added["component"]["registry"],
        json!({
            "reference": reference, "manifest": manifest.to_string(), "digest": digest, "bytes": seven.len(),
            "signature": "unverified",
        })
    );
    assert_eq!(read(&line, "toolcell.toml"), format!("[component.the-answer]\npath = \"{reference}\"\n"));
    let locked = format!(
        "version = 1\n\n[component.the-answer]\nreference = \"{reference}\"\nmanifest = \"{manifest}\"\ndigest = \"{digest}\"\nbytes = {}\n",
        seven.len()
    );
    assert!(read(&line, "toolcell.lock").ends_with(&locked), "{}", read(&line, "toolcell.lock"));
    drop(registry);
    assert_eq!(good(answer(&line)).stdout, "7\n");
    let checked = good(line.run(&["check", "--config", "toolcell.toml"])).stdout;
    assert!(checked.contains(&format!("{reference}: a component with 1 function")), "{checked}");
    assert!(checked.contains("signature: unverified") && checked.contains(&digest), "{checked}");
    let shown = good(line.run(&["config", "show", "--json", "--config", "toolcell.toml"])).json();
    assert_eq!(shown["component"]["the-answer"]["locked"]["digest"], json!(digest));
    let cached = good(line.run(&["cache", "list"])).stdout;
    assert!(cached.contains("1 component of registries"), "{cached}");
    assert_eq!(good(line.run(&["remove", "the-answer"])).stdout, "removed the-answer from toolcell.toml\n");
    assert_eq!(read(&line, "toolcell.toml"), "");
    assert!(!line.folder().join("toolcell.lock").exists());
    assert!(
        good(line.run(&["cache", "clear", "--components"]))
            .stdout
            .contains("removed 1 component of registries")
    );
    assert!(!kept(&line, &digest).exists());
}

#[test]
fn a_tag_that_moves_changes_nothing_until_an_update() {
    let registry = Registry::open();
    let (seven, eight) = (answering(7), answering(8));
    let old = registry.publish("answer", "latest", &seven, WASM);
    let line = user();
    good(line.run(&["add", &registry.reference("answer"), "--as", "a", "--config", "toolcell.toml"]));
    assert!(read(&line, "toolcell.toml").contains("/answer:latest\""), "what is meant is written down");
    let new = registry.publish("answer", "latest", &eight, "application/vnd.wasm.content.layer.v1+wasm");
    let lock = read(&line, "toolcell.lock");
    assert_eq!(good(answer(&line)).stdout, "7\n");
    let fetched = good(line.run(&["update", "--locked", "--config", "toolcell.toml"])).stdout;
    assert!(fetched.contains("is as it was locked"), "{fetched}");
    assert_eq!((good(answer(&line)).stdout.as_str(), read(&line, "toolcell.lock")), ("7\n", lock));
    let moved = good(line.run(&["update", "a", "--config", "toolcell.toml"])).stdout;
    for told in
        [old.to_string(), new.to_string(), Digest::of(&seven).to_string(), Digest::of(&eight).to_string()]
    {
        assert!(moved.contains(&told), "{told} in {moved}");
    }
    assert!(moved.contains("is no longer what it was") && moved.contains("signature: unverified"), "{moved}");
    assert_eq!(good(answer(&line)).stdout, "8\n");
    let again = good(line.run(&["update", "--json", "--config", "toolcell.toml"])).json();
    assert_eq!(again["components"][0]["changed"], json!(false), "{again}");
}

#[test]
fn a_server_that_runs_takes_up_an_update() {
    let registry = Registry::open();
    let line = user();
    registry.publish("answer", "1", &answering(7), WASM);
    good(line.run(&["add", &registry.reference("answer:1"), "--config", "toolcell.toml"]));
    let mut client = McpClient::start(&mut line.command(&["mcp", "--config", "toolcell.toml"]));
    client.initialize("2025-11-25", json!({}));
    let mut ids = 0..;
    let mut called = || {
        let id = ids.next().unwrap();
        client.call(id, "answer", json!({}));
        client.messages.answer(&json!(id))["result"]["structuredContent"]["result"].clone()
    };
    assert_eq!(called(), json!(7));
    registry.publish("answer", "1", &answering(8), WASM);
    assert_eq!(called(), json!(7));
    good(line.run(&["update", "--config", "toolcell.toml"]));
    let begun = Instant::now();
    while called() != json!(8) {
        assert!(begun.elapsed() < Duration::from_secs(60), "it is not taken up");
    }
    // One that is damaged is not, and takes nothing away.
    line.write("toolcell.lock", "version = ");
    assert_eq!(called(), json!(8));
}

#[test]
fn another_machine_gets_what_is_locked_and_nothing_newer() {
    let registry = Registry::open();
    let (one, other) = (user(), user());
    registry.publish("answer", "1", &answering(7), WASM);
    good(one.run(&["add", &registry.reference("answer:1"), "--config", "toolcell.toml"]));
    registry.publish("answer", "1", &answering(8), WASM);
    for name in ["toolcell.toml", "toolcell.lock"] {
        other.write(name, read(&one, name));
    }
    let missing = answer(&other);
    let told = "is not on this machine; `toolcell update --locked answer` fetches it as it is locked";
    assert!(missing.code == 2 && missing.stderr.contains(told), "{missing:?}");
    good(other.run(&["update", "--locked", "--config", "toolcell.toml"]));
    assert_eq!(good(answer(&other)).stdout, "7\n");
    // What is kept is compared with the lock each time, and mended by the same command.
    let file = kept(&other, &Digest::of(&answering(7)).to_string());
    std::fs::write(&file, answering(9)).unwrap();
    let damaged = answer(&other);
    assert!(damaged.code == 2 && damaged.stderr.contains("and what is kept of it is sha256:"), "{damaged:?}");
    good(other.run(&["update", "--locked", "answer", "--config", "toolcell.toml"]));
    assert_eq!(good(answer(&other)).stdout, "7\n");
}

#[test]
fn a_reference_by_digest_means_one_manifest() {
    let registry = Registry::open();
    let line = user();
    let first = registry.publish("answer", "1", &answering(7), WASM);
    registry.publish("answer", "1", &answering(8), WASM);
    let reference = registry.reference(&format!("answer@{first}"));
    good(line.run(&["add", &reference, "--config", "toolcell.toml"]));
    good(line.run(&["update", "--config", "toolcell.toml"]));
    assert_eq!(good(answer(&line)).stdout, "7\n");
    let none = registry.reference(&format!("answer@{}", Digest::of(b"none")));
    let refused = line.run(&["add", &none, "--as", "none", "--config", "toolcell.toml"]);
    assert!(refused.code == 2 && refused.stderr.contains("404, MANIFEST_UNKNOWN"), "{refused:?}");
}

#[test]
fn an_index_leads_to_the_component_for_wasi() {
    let registry = Registry::open();
    let inner = registry.publish("answer", "inner", &answering(7), WASM);
    let length = manifest(&answering(7), WASM).to_string().len();
    let entry = |os: &str, architecture: &str| json!({ "mediaType": MANIFEST, "digest": inner.to_string(), "size": length, "platform": { "os": os, "architecture": architecture } });
    let publish = |tag: &str, manifests: Value| {
        let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests }).to_string();
        registry.manifest("answer", tag, INDEX, index.as_bytes());
    };
    publish("index", json!([entry("linux", "amd64"), entry("wasip2", "wasm")]));
    publish("linux", json!([entry("linux", "amd64")]));
    let line = user();
    let added = good(line.run(&["add", &registry.reference("answer:index"), "--json"])).json();
    assert_eq!(added["component"]["registry"]["manifest"], json!(inner.to_string()));
    let refused = line.run(&["add", &registry.reference("answer:linux"), "--as", "other"]);
    assert!(refused.code == 2 && refused.stderr.contains("but for `linux/amd64`"), "{refused:?}");
}

#[test]
fn a_pin_holds_whatever_the_registry_has() {
    let registry = Registry::open();
    let line = user();
    registry.publish("answer", "1", &answering(7), WASM);
    good(line.run(&["add", &registry.reference("answer:1"), "--config", "toolcell.toml"]));
    let pin = Digest::of(&answering(7));
    line.write("toolcell.toml", format!("{}digest = \"{pin}\"\n", read(&line, "toolcell.toml")));
    assert_eq!(good(answer(&line)).stdout, "7\n");
    registry.publish("answer", "1", &answering(8), WASM);
    let lock = read(&line, "toolcell.lock");
    let refused = line.run(&["update", "--config", "toolcell.toml"]);
    assert!(refused.code == 2 && refused.stderr.contains("`component.answer.digest`: wants"), "{refused:?}");
    assert_eq!((read(&line, "toolcell.lock"), good(answer(&line)).stdout.as_str()), (lock, "7\n"));
}

#[test]
fn dockers_credentials_open_a_registry() {
    let registry = Registry::guarded();
    registry.publish("answer", "1", &answering(7), WASM);
    let reference = registry.reference("answer:1");
    let (user_name, password) = USER;
    let pair = |password: &str| {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.encode(format!("{user_name}:{password}"))
    };
    let address = registry.address();
    let auths = |password: &str| json!({ "auths": { &address: { "auth": pair(password) } } }).to_string();
    let helper = json!({ "credHelpers": { &address: "of-a-test" } }).to_string();
    let store = json!({ "auths": { &address: {} }, "credsStore": "of-a-test" }).to_string();
    let login = format!("run `docker login {address}`");
    let kept = format!(
        r#"[ "$1" = get ] && [ "$(cat)" = "{address}" ] && echo '{{"ServerURL":"x","Username":"{user_name}","Secret":"{password}"}}'"#
    );
    for (config, script, told) in [
        (None, "", Some(login.as_str())),
        (Some(auths("wrong-secret")), "", Some("does not take the credentials that docker keeps")),
        (Some(json!({ "auths": { "other.io": { "auth": pair(password) } } }).to_string()), "", Some(&login)),
        (Some("{".to_owned()), "", Some("the file is not what docker writes (line 1")),
        (Some(helper.clone()), "", Some("the credential helper `docker-credential-of-a-test` is not run")),
        (Some(helper.clone()), "echo broken; exit 1", Some("gave no credentials")),
        (Some(helper.clone()), "echo 'credentials not found in native keychain'; exit 1", Some(&login)),
        (Some(auths(password)), "", None),
        (Some(helper), kept.as_str(), None),
        (Some(store), kept.as_str(), None),
    ] {
        let line = user();
        let home = line.home().parent().unwrap().to_owned();
        std::fs::create_dir_all(home.join(".docker")).unwrap();
        if let Some(config) = &config {
            std::fs::write(home.join(".docker/config.json"), config).unwrap();
        }
        let program = home.join("docker-credential-of-a-test");
        if !script.is_empty() {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
        }
        let mut command = line.command(&["add", &reference, "--config", "toolcell.toml"]);
        command.env("PATH", format!("{}:/usr/bin:/bin", home.display()));
        let ended = toolcell_tests::command_line::ended(&mut command);
        match told {
            None => drop(good(ended)),
            Some(told) => {
                assert!(ended.code == 2 && ended.stderr.contains(told), "{config:?} {script}: {ended:?}");
                assert!(!ended.stderr.contains("secret"), "{ended:?}");
            }
        }
    }
}

#[test]
fn a_lock_that_is_damaged_or_of_something_else_stops_everything() {
    let registry = Registry::open();
    let line = user();
    registry.publish("answer", "1", &answering(7), WASM);
    good(line.run(&["add", &registry.reference("answer:1"), "--config", "toolcell.toml"]));
    let lock = read(&line, "toolcell.lock");
    for damaged in ["", "{", &lock[..lock.len() / 2], &lock.replace("version = 1", "version = 9")] {
        line.write("toolcell.lock", damaged);
        for command in [
            &["call", "answer", "{}"][..],
            &["list"],
            &["update"],
            &["update", "--locked"],
            &["check"],
            &["remove", "answer"],
        ] {
            let ended = line.run(&[command, &["--config", "toolcell.toml"]].concat());
            let told = format!("{}{}", ended.stdout, ended.stderr);
            assert!(
                ended.code != 0 && told.contains("toolcell.lock") && told.contains("lock file is"),
                "{command:?}: {ended:?}"
            );
        }
        assert_eq!(read(&line, "toolcell.lock"), damaged);
    }
    std::fs::remove_file(line.folder().join("toolcell.lock")).unwrap();
    let unlocked = answer(&line);
    assert!(
        unlocked.code == 2 && unlocked.stderr.contains("is not in the lock file; `toolcell update answer`"),
        "{unlocked:?}"
    );
    let refused = line.run(&["update", "--locked", "--config", "toolcell.toml"]);
    assert!(refused.code == 2 && refused.stderr.contains("`answer` is not in the lock file"), "{refused:?}");
    line.write("toolcell.lock", &lock);
    line.write("toolcell.toml", read(&line, "toolcell.toml").replace("answer:1", "answer:2"));
    let other = answer(&line);
    assert!(other.code == 2 && other.stderr.contains("answer:2` is not in the lock file"), "{other:?}");
}

#[test]
fn a_found_configuration_asks_nobody_until_it_is_trusted() {
    let registry = Registry::open();
    let line = user();
    registry.publish("answer", "1", &answering(7), WASM);
    // Whom the operator names is asked; whom the file names is not.
    good(line.run(&["add", &registry.reference("answer:1")]));
    for arguments in [&["update"][..], &["update", "--locked"], &["update", "answer"]] {
        let refused = line.run(arguments);
        assert!(
            refused.code == 2 && refused.stderr.contains("is not trusted, so no registry"),
            "{refused:?}"
        );
    }
    good(line.run(&["call", "answer", "{}"]));
    good(line.run(&["trust"]));
    good(line.run(&["update"]));
    registry.publish("answer", "1", &answering(8), WASM);
    good(line.run(&["update"]));
    // The lock file says what runs, so it is part of what was trusted.
    let changed = line.run(&["update"]);
    assert!(changed.code == 2 && changed.stderr.contains("is not trusted"), "{changed:?}");
}

#[test]
fn adding_a_component_starts_nobodys_program() {
    let line = CommandLine::new();
    let program = line.write("server.sh", "#!/bin/sh\ntouch \"$(dirname \"$0\")/started\"\n");
    std::fs::set_permissions(program, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    line.write("toolcell.toml", "[mcp.other]\ncommand = [\"./server.sh\"]\n");
    good(line.run(&["add", "builtin:basics"]));
    assert!(!line.folder().join("started").exists());
}

#[test]
fn no_tool_may_write_the_lock_file() {
    let registry = Registry::open();
    let line = user();
    registry.publish("answer", "1", &answering(7), WASM);
    let reference = registry.reference("answer:1");
    let refused = line.run(&["add", &reference, "--dir", ".::/work::rw", "--config", "toolcell.toml"]);
    assert!(refused.code == 2 && refused.stderr.contains("toolcell.lock"), "{refused:?}");
    assert_eq!((read(&line, "toolcell.toml"), read(&line, "toolcell.lock")), (String::new(), String::new()));
    good(line.run(&["add", &reference, "--dir", ".::/work", "--config", "toolcell.toml"]));
}

#[test]
fn what_is_no_component_of_a_registry_is_refused_everywhere_else() {
    let line = user();
    line.write("answer.wasm", answering(7));
    good(line.run(&["add", "answer.wasm"]));
    for (arguments, told) in [
        (&["add", "oci://a.io/A"][..], "has no repository that registries take"),
        (&["add", "oci://a.io"], "names no repository"),
        (&["add", "oci://u:p@a.io/b"], "must not carry a user or password"),
        (&["add", "answer.wasm", "--as", "b", "--plain-http"], "is of no registry"),
        (&["list", "--component", "oci://a.io/b:1"], "`toolcell add` takes components from registries"),
        (&["check", "oci://a.io/b:1"], "`toolcell add` takes components from registries"),
        (&["update", "answer", "--config", "toolcell.toml"], "comes from no registry"),
        (&["update", "anwser", "--config", "toolcell.toml"], "did you mean `answer`?"),
        (&["remove", "anwser"], "did you mean `answer`?"),
    ] {
        let refused = line.run(arguments);
        assert!(refused.code == 2 && refused.stderr.contains(told), "{arguments:?}: {refused:?}");
    }
    let nothing = good(line.run(&["update", "--config", "toolcell.toml"])).stdout;
    assert_eq!(nothing, "toolcell.toml: no component comes from a registry\n");
}
