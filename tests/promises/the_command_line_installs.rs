//! `mcp install` writes what a client needs to start the server, and keeps what is there.

use serde_json::{Value, json};

use toolcell_tests::command_line::{CommandLine, binary};

const CONFIG: &str = "[component.basics]\npath = \"builtin:basics\"\n";

fn trusted() -> CommandLine {
    let user = CommandLine::new();
    user.write("toolcell.toml", CONFIG);
    assert_eq!(user.run(&["trust"]).code, 0);
    user
}

fn document(user: &CommandLine, file: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(user.folder().join(file)).unwrap()).unwrap()
}

#[test]
fn every_client_gets_what_it_reads() {
    let user = trusted();
    let config = user.folder().canonicalize().unwrap().join("toolcell.toml");
    for (client, file, key) in [
        ("claude-code", ".mcp.json", "mcpServers"),
        ("claude-desktop", "../c/Claude/claude_desktop_config.json", "mcpServers"),
        ("vscode", ".vscode/mcp.json", "servers"),
        ("cursor", ".cursor/mcp.json", "mcpServers"),
    ] {
        let printed = user.run(&["mcp", "install", client, "--print"]);
        assert!(printed.code == 0 && !user.folder().join(file).exists(), "{printed:?}");
        let installed = user.run(&["mcp", "install", client]);
        assert_eq!(installed.code, 0, "{installed:?}");
        let written = document(&user, file);
        assert_eq!(written, printed.json(), "{client}");
        let entry = &written[key]["toolcell"];
        assert_eq!(entry["args"], json!(["mcp", "--config", config]), "{client}");
        assert_eq!(entry["command"], json!(binary().canonicalize().unwrap()), "{client}");
        assert_eq!(entry["env"]["TOOLCELL_HOME"], json!(user.home()), "{client}");
        let again = user.run(&["mcp", "install", client]);
        assert!(again.code == 0 && again.stdout.contains("has it already"), "{again:?}");
        assert_eq!(document(&user, file), written);
    }
}

#[test]
fn what_is_there_stays() {
    let user = trusted();
    let there = json!({
        "first": [1, 2.50], "mcpServers": {
            "other": { "command": "x" },
            "toolcell": { "command": "/old", "args": [], "env": { "MINE": "1" }, "timeout": 7, "disabled": true,
                "url": "http://old.example/mcp", "headers": { "X": "1" } },
        }, "last": null,
    });
    let file = user.write(".mcp.json", there.to_string());
    let link = user.folder().join("elsewhere.json");
    std::fs::rename(&file, &link).unwrap();
    std::os::unix::fs::symlink(&link, &file).unwrap();
    assert!(user.run(&["mcp", "install", "claude-code"]).stdout.contains("changed `toolcell`"));
    assert!(file.symlink_metadata().unwrap().is_symlink());
    let written = document(&user, ".mcp.json");
    assert_eq!(written["mcpServers"]["other"], there["mcpServers"]["other"]);
    assert_eq!((&written["first"], &written["last"]), (&there["first"], &Value::Null));
    let entry = &written["mcpServers"]["toolcell"];
    assert_eq!((&entry["timeout"], &entry["env"]["MINE"]), (&json!(7), &json!("1")));
    // What would make its client go elsewhere, or not at all.
    assert!(["disabled", "url", "headers"].iter().all(|gone| entry.get(gone).is_none()), "{entry}");
    assert_eq!(entry["command"], json!(binary().canonicalize().unwrap()));
    assert_eq!(user.run(&["mcp", "install", "claude-code", "--name", "two"]).code, 0);
    assert!(document(&user, ".mcp.json")["mcpServers"]["two"].is_object());
}

#[test]
fn a_file_that_cannot_be_understood_is_not_touched() {
    let user = trusted();
    for content in ["{ // a comment\n}", "[]", "{\"mcpServers\": 3}", "{\"mcpServers\": {\"toolcell\": 1}}"] {
        let file = user.write(".mcp.json", content);
        let refused = user.run(&["mcp", "install", "claude-code"]);
        assert!(
            refused.code == 2 && refused.stderr.contains("nothing was changed"),
            "{content}: {refused:?}"
        );
        assert_eq!(std::fs::read_to_string(file).unwrap(), content);
    }
    assert_eq!(user.run(&["mcp", "install", "emacs"]).code, 2);
}

#[test]
fn only_what_is_trusted_is_installed() {
    let user = CommandLine::new();
    assert!(user.run(&["mcp", "install", "cursor"]).stderr.contains("no toolcell.toml"));
    user.write("toolcell.toml", CONFIG);
    let refused = user.run(&["mcp", "install", "cursor"]);
    assert!(refused.code == 2 && refused.stderr.contains("not trusted"), "{refused:?}");
    assert!(!user.folder().join(".cursor").exists());
    assert_eq!(user.run(&["mcp", "install", "cursor", "--config", "toolcell.toml"]).code, 0);
}

#[test]
fn what_could_not_be_put_back_is_left_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let user = trusted();
    let refused = |told: &str| {
        let refused = user.run(&["mcp", "install", "claude-code"]);
        assert!(refused.code == 2 && refused.stderr.contains(told), "{told}: {}", refused.stderr);
        assert!(refused.stderr.contains("nothing was changed"), "{}", refused.stderr);
    };
    for text in ["{\"a\": 12345678901234567890123}", "{\"a\": 1, \"a\": 2}"] {
        let file = user.write(".mcp.json", text);
        refused("a key twice or a number");
        assert_eq!(std::fs::read_to_string(file).unwrap(), text);
    }
    let file = user.write(".mcp.json", "{}");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).unwrap();
    refused("is not to be written");
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("gone/nowhere.json", &file).unwrap();
    refused("leads nowhere");
    assert!(file.is_symlink());
    let unnamed = user.run(&["mcp", "install", "claude-code", "--name", ""]);
    assert_eq!(unnamed.code, 2, "{unnamed:?}");
    for folder in ["", "relative"] {
        let mut printed = user.command(&["mcp", "install", "claude-desktop", "--print"]);
        let printed = toolcell_tests::command_line::ended(printed.env("XDG_CONFIG_HOME", folder));
        assert!(printed.stderr.contains("belongs into /"), "{}", printed.stderr);
    }
}
