#![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use std::fs;

use super::*;
use crate::config::{Environment, Folders, ensure_private};

const GREEDY: &str = r#"
[policy]
call_timeout = "2h"
[limits]
memory = "2GiB"
timeout = "1s"
concurrent_cells = 500
queue_timeout = "1h"
batch_calls = 100_000
batch_bytes = "9GiB"
[output]
max_bytes = "9MiB"
[audit]
file = "../elsewhere"
key.env = "HOME"
[component.a]
path = "in.wasm"
config = { city = "Oslo" }
secrets = { key = { env = "HOME", readable = true } }
[component.a.grant]
dirs = [
  { host = ".", guest = "/here" },
  { host = "sub", guest = "/sub", access = "read-write", deny = ["x"] },
  { host = "..", guest = "/up" },
  { host = "link", guest = "/link" },
  { host = "/", guest = "/root" },
]
http = ["https://api.example.org", { origin = "https://*.example.net", methods = ["GET"] }]
env = { TOKEN = "hidden" }
[component.a.limits]
memory = "1MiB"
[component.a.tool.t]
limits.fuel = "off"
hints = { idempotent = true, concurrency_safe = false }
[component.b]
path = "../out.wasm"
[component.c]
path = "builtin:files"
[[rule]]
action = "deny"
tools = ["write_*"]
"#;

struct Scratch {
    folder: tempfile::TempDir,
    environment: Environment,
    store: TrustStore,
}

impl Scratch {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("project");
        fs::create_dir_all(project.join("sub")).unwrap();
        std::os::unix::fs::symlink("..", project.join("link")).unwrap();
        for file in ["project/in.wasm", "out.wasm"] {
            fs::write(folder.path().join(file), "").unwrap();
        }
        fs::write(project.join("toolcell.toml"), GREEDY).unwrap();
        let folders = Folders::under(&folder.path().join("home"));
        ensure_private(&folders.data).unwrap();
        let store = TrustStore::at(folders.trust());
        Self { environment: Environment::new(project, folders), folder, store }
    }

    fn load(&self, named: Option<&Path>) -> (Location, Config) {
        let location = self.environment.locate(named).unwrap().unwrap();
        let config = Config::load(&location, &self.environment).unwrap();
        (location, config)
    }
}

#[test]
fn a_found_configuration_reads_its_own_folder_and_nothing_else() {
    let scratch = Scratch::new();
    let (location, mut config) = scratch.load(None);
    assert!(!location.is_trusted(&config, &scratch.store).unwrap());
    let inert = config.restrict_untrusted();
    let told: Vec<String> = inert.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    toolcell.toml:35: `component.b`: is not loaded from outside the file's folder, since this file was found and is not trusted; look at it and run `toolcell trust`
    toolcell.toml:23: `component.a.grant.dirs[1]`: is granted for reading only, since this file was found and is not trusted; look at it and run `toolcell trust`
    toolcell.toml:24: `component.a.grant.dirs[2]`: is not granted outside the file's folder, since this file was found and is not trusted; look at it and run `toolcell trust`
    toolcell.toml:25: `component.a.grant.dirs[3]`: is not granted outside the file's folder, since this file was found and is not trusted; look at it and run `toolcell trust`
    toolcell.toml:26: `component.a.grant.dirs[4]`: is not granted outside the file's folder, since this file was found and is not trusted; look at it and run `toolcell trust`
    toolcell.toml:28: `component.a.grant.http[0]`: is not reached, since this file was found and is not trusted; look at it and run `toolcell trust`
    toolcell.toml:28: `component.a.grant.http[1]`: is not reached, since this file was found and is not trusted; look at it and run `toolcell trust`
    toolcell.toml:29: `component.a.grant.env`: is not granted, since this file was found and is not trusted; look at it and run `toolcell trust`
    toolcell.toml:19: `component.a.secrets.key`: is not read, since this file was found and is not trusted; look at it and run `toolcell trust`
    toolcell.toml:32: `component.a.tool.t.hints`: does not hold where it declares something to be safe, since this file was found and is not trusted; look at it and run `toolcell trust`
    toolcell.toml:33: `component.a.tool.t.limits.fuel`: is above its default and does not hold, since this file was found and is not trusted; look at it and run `toolcell trust`
    toolcell.toml:5: `limits.memory`: is above its default and does not hold, since this file was found and is not trusted; look at it and run `toolcell trust`
    toolcell.toml:13: `audit`: no audit is kept, since this file was found and is not trusted; look at it and run `toolcell trust`
    toolcell.toml:3: `policy.call_timeout`: is above its default and does not hold, since this file was found and is not trusted; look at it and run `toolcell trust`
    toolcell.toml:12: `output.max_bytes`: is above its default and does not hold, since this file was found and is not trusted; look at it and run `toolcell trust`
    toolcell.toml:7: `limits.concurrent_cells`: is above its default and does not hold, since this file was found and is not trusted; look at it and run `toolcell trust`
    toolcell.toml:9: `limits.batch_calls`: is above its default and does not hold, since this file was found and is not trusted; look at it and run `toolcell trust`
    toolcell.toml:8: `limits.queue_timeout`: is above its default and does not hold, since this file was found and is not trusted; look at it and run `toolcell trust`
    toolcell.toml:10: `limits.batch_bytes`: is above its default and does not hold, since this file was found and is not trusted; look at it and run `toolcell trust`
    "#);

    let names: Vec<&str> = config.components.iter().map(|component| component.name.as_str()).collect();
    assert_eq!(names, ["a", "c"]);
    let a = config.components.first().unwrap();
    let project = scratch.folder.path().join("project").canonicalize().unwrap();
    let dirs: Vec<(PathBuf, Access, usize)> =
        a.grant.dirs.iter().map(|dir| (dir.host.clone(), dir.access, dir.deny.len())).collect();
    assert_eq!(dirs, [(project.clone(), Access::Read, 0), (project.join("sub"), Access::Read, 1)]);
    let (_, origin) = a.dirs().nth(1).unwrap();
    assert_eq!(&*origin.setting, "component.a.grant.dirs[1]");
    assert!(a.grant.env.is_empty() && a.grant.secrets.is_empty() && a.grant.http.is_empty());
    assert_eq!(a.grant.config.len(), 1);
    let limits = Limits::resolve([&config.limits, &a.limits]);
    assert_eq!((limits.timeout(), limits.get(Limit::Memory)), (Duration::from_secs(1), 1 << 20));
    assert_eq!(a.hints_of(&["t"]).concurrency_safe, Some(false));
    assert_eq!((a.hints_of(&["t"]).idempotent, config.rules.len()), (None, 1));
    assert_eq!(config.admission, Admission::default());
    assert_eq!((&config.output, &config.audit), (&OutputBounds::default(), &None));
    assert_eq!(config.restrict_untrusted(), [], "what is narrowed stays so");
}

#[test]
fn trust_is_in_one_content_of_one_file() {
    let scratch = Scratch::new();
    let (location, config) = scratch.load(None);
    scratch.store.add(&location.path, config.digest.unwrap()).unwrap();
    assert!(location.is_trusted(&config, &scratch.store).unwrap());

    let changed = format!("{GREEDY}\n# changed");
    fs::write(&location.path, &changed).unwrap();
    let (location, config) = scratch.load(None);
    assert!(!location.is_trusted(&config, &scratch.store).unwrap());
    fs::write(&location.path, GREEDY).unwrap();
    assert!(!location.is_trusted(&config, &scratch.store).unwrap(), "what was loaded counts");
}

#[test]
fn a_named_configuration_is_trusted_and_a_damaged_store_trusts_none_that_was_found() {
    let scratch = Scratch::new();
    let named = scratch.environment.working_directory.join("toolcell.toml");
    fs::write(scratch.environment.folders.trust(), "{").unwrap();
    let (location, config) = scratch.load(Some(&named));
    assert!(location.is_trusted(&config, &scratch.store).unwrap());
    let (location, config) = scratch.load(None);
    assert!(location.is_trusted(&config, &scratch.store).is_err());
}
