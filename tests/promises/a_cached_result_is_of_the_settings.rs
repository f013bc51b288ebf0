//! A stored result is given out only under the settings that it was made under, secrets and chance included.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use toolcell::config::{Config, Environment, Folders};
use toolcell::policy::Deterministic;
use toolcell::{Runtime, ToolCall};

use toolcell_tests::scripted::{Scripted, definition};
use toolcell_tests::{builder, built, guest};

const CACHE: &str = "[[hook]]\nuse = \"cache\"\nttl = \"1h\"\nscope = \"all\"\n";

fn config(folder: &Path, text: &str) -> Config {
    let file = folder.join("toolcell.toml");
    std::fs::write(&file, text).unwrap();
    let environment = Environment::new(folder, Folders::under(&folder.join("home")));
    Config::load(&environment.locate(Some(&file)).unwrap().unwrap(), &environment).unwrap()
}

fn write_secret(folder: &Path, value: &str) {
    let file = folder.join("secret");
    std::fs::write(&file, value).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Whether the result is a stored one, and the result.
async fn get(runtime: &Runtime, tool: &str, arguments: Value) -> (bool, Option<Value>) {
    let outcome = runtime.call(ToolCall::new(tool, arguments)).await;
    assert!(outcome.is_success(), "{outcome:?}");
    (outcome.usage.from_cache, outcome.structured)
}

fn probe_with(settings: &str) -> String {
    format!("[component.probe]\npath = {:?}\n{settings}\n{CACHE}", guest("probe"))
}

#[tokio::test(flavor = "multi_thread")]
async fn another_seed_another_clock_or_another_limit_is_another_call() {
    let folder = tempfile::tempdir().unwrap();
    let with = |settings: &str| config(folder.path(), &probe_with(settings));
    // On as many lines as the others, since a hook of another place is another hook, with nothing stored.
    let first = "deterministic = { seed = 7 }\nlimits = { timeout = \"30s\" }";
    let runtime = built(builder().config(with(first)));
    let (stored, made) = get(&runtime, "random", json!({ "length": 4 })).await;
    assert!(!stored);
    assert_eq!(get(&runtime, "random", json!({ "length": 4 })).await, (true, made.clone()));
    for settings in [
        "deterministic = { seed = 8 }\nlimits = { timeout = \"30s\" }",
        "deterministic = { seed = 7, clock = \"2010-01-01T00:00:00Z\" }\nlimits = { timeout = \"30s\" }",
        "deterministic = { seed = 7 }\nlimits = { timeout = \"20s\" }",
    ] {
        runtime.reload(with(settings)).unwrap();
        assert!(!get(&runtime, "random", json!({ "length": 4 })).await.0, "{settings}");
        assert!(get(&runtime, "random", json!({ "length": 4 })).await.0, "{settings}");
    }
    // What was made before is still true under what it was made under.
    runtime.reload(with(first)).unwrap();
    assert_eq!(get(&runtime, "random", json!({ "length": 4 })).await, (true, made));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_with_its_own_seed_timeout_or_room_is_another_call() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = built(builder().config(config(folder.path(), &probe_with(""))));
    let call = || runtime.call(ToolCall::new("random", json!({ "length": 4 })));
    let seed = |seed| Deterministic::default().seed(seed);
    assert!(!call().await.usage.from_cache);
    for number in [1, 2] {
        assert!(!call().deterministic(seed(number)).await.usage.from_cache, "{number}");
        assert!(call().deterministic(seed(number)).await.usage.from_cache, "{number}");
    }
    assert!(!call().timeout(Duration::from_secs(7)).await.usage.from_cache);
    assert!(call().timeout(Duration::from_secs(7)).await.usage.from_cache);
    assert!(call().await.usage.from_cache);
    let less = format!("{}\n[output]\nmax_bytes = 1024\n", probe_with(""));
    runtime.reload(config(folder.path(), &less)).unwrap();
    assert!(!call().await.usage.from_cache, "tools are told how much room there is");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_secret_is_another_call() {
    let folder = tempfile::tempdir().unwrap();
    write_secret(folder.path(), "first-first-first");
    let text = probe_with("secrets = { k = { file = \"secret\", readable = true } }");
    let runtime = built(builder().config(config(folder.path(), &text)));
    let key = || json!({ "key": "k" });
    assert!(!get(&runtime, "config_value", key()).await.0);
    assert!(get(&runtime, "config_value", key()).await.0);
    runtime.reload(config(folder.path(), &text)).unwrap();
    assert!(get(&runtime, "config_value", key()).await.0, "nothing has changed");
    write_secret(folder.path(), "other-other-other");
    runtime.reload(config(folder.path(), &text)).unwrap();
    assert!(!get(&runtime, "config_value", key()).await.0);
    assert!(get(&runtime, "config_value", key()).await.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_reached_in_another_way_is_another_one() {
    let server = Scripted::new(&[definition("get_it")]);
    write_secret(server.path(), "first-first-first");
    let more = "hints = { read_only = true }\nenv = { T = { secret = \"t\" } }\nsecrets = { t = { file = \"secret\" } }";
    let text = format!("{}{CACHE}", server.table("s", more));
    let runtime = built(server.configured(&text));
    assert!(!get(&runtime, "get_it", json!({})).await.0);
    assert!(get(&runtime, "get_it", json!({})).await.0);
    write_secret(server.path(), "other-other-other");
    runtime.reload(config(server.path(), &text)).unwrap();
    assert!(!get(&runtime, "get_it", json!({})).await.0);
}
