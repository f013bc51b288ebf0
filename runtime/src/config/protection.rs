//! The grants of a configuration against what no tool may write, and what none may read.

use super::audit::{Key, Place};
use super::component::{ComponentConfig, Source};
use super::folders::Folders;
use super::lock::Lock;
use super::settings::Config;
use super::shipped::shipped_file;
use crate::error::{Error, Result};
use crate::policy::{Protected, SecretSource};

impl Config {
    /// What no tool may write under this configuration: its file, its lock file, its components' files, what its hooks run, the audit
    /// with its key, and our own folders.
    pub fn protected(&self, folders: &Folders) -> Protected {
        let mut protected = Protected::new();
        for (what, folder) in folders.all() {
            protected = protected.own_folder(what, folder);
        }
        if let Some(file) = &self.file {
            protected = protected.file("the configuration", file);
            if self.has_registries() {
                protected = protected.file("the lock file", Lock::path_for(file));
            }
        }
        if let Some(audit) = &self.audit {
            protected = match &audit.place {
                // Among our own folders already.
                Place::Default => protected,
                Place::Folder(path) => protected.own_folder("the audit", path),
                Place::File(path) => protected.file("the audit", path),
            };
            if let Some(Key::File(path)) = &audit.key {
                protected = protected.secret("the audit's key", path);
            }
        }
        for component in &self.components {
            let what = format!("the component `{}`", component.name);
            protected = match &component.source {
                Source::File(path) => protected.file(what, path),
                Source::Folder(path) => protected.components(what, path),
                // Among our own folders already.
                Source::Registry { .. } => protected,
                Source::Builtin(name) => match shipped_file(name) {
                    Some(path) => protected.file(what, &path),
                    None => protected,
                },
            };
            for (name, secret) in &component.grant.secrets {
                if let SecretSource::File(path) = &secret.source {
                    protected = protected.secret(format!("the secret `{name}`"), path);
                }
            }
        }
        for hook in &self.hooks {
            let what = format!("the hook `{}`", hook.origin.setting);
            protected = hook.files().iter().fold(protected, |protected, file| protected.file(&what, file));
        }
        let server = &self.server;
        let tokens = server.tokens.iter().map(|(name, source)| (format!("the token of `{name}`"), source));
        let shared = server.shared.iter().flat_map(|shared| {
            let password = shared.password.iter().map(|source| ("the password of the shared store", source));
            password.chain([("the key of the shared store", &shared.key)])
        });
        for (what, source) in tokens.chain(shared.map(|(what, source)| (what.to_owned(), source))) {
            if let SecretSource::File(path) = source {
                protected = protected.secret(what, path);
            }
        }
        for server in &self.mcp {
            let what = format!("the server `mcp.{}`", server.name);
            protected = server.files().iter().fold(protected, |protected, file| protected.file(&what, file));
            for (name, secret) in &server.secrets {
                if let SecretSource::File(path) = &secret.source {
                    protected = protected.secret(format!("the secret `{name}`"), path);
                }
            }
        }
        protected
    }

    /// Refuses write grants that reach what decides what toolcell runs, and grants by which a secret could be read. To be
    /// asked at load and at every reload: folders can be moved in between.
    ///
    /// # Errors
    /// Names every such entry, and what its `deny` lacks.
    pub fn check_write_grants(&self, folders: &Folders) -> Result<()> {
        let protected = self.protected(folders);
        let enabled = self.components.iter().filter(|component| component.enabled);
        let refusals: Vec<String> = enabled.flat_map(|component| refusals(component, &protected)).collect();
        match refusals.as_slice() {
            [] => Ok(()),
            [first, ..] => {
                let setting =
                    first.split_once(": ").map_or(first.as_str(), |(setting, _)| setting).to_owned();
                let all = refusals.join("\n");
                let message = all.strip_prefix(&format!("{setting}: ")).unwrap_or(&all).to_owned();
                Err(Error::Grant { setting, message })
            }
        }
    }
}

fn refusals(component: &ComponentConfig, protected: &Protected) -> Vec<String> {
    let mut refusals = Vec::new();
    for (dir, origin) in component.dirs() {
        let at = origin.at.map(|at| format!(" ({at})")).unwrap_or_default();
        for reason in protected.check(dir).err().unwrap_or_default() {
            refusals.push(format!("{}{at}: {reason}", origin.setting));
        }
    }
    refusals
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::fs;

    use super::*;

    fn check(text: &str) -> String {
        let scratch = tempfile::tempdir().unwrap();
        let project = scratch.path().join("project");
        fs::create_dir_all(project.join("tools")).unwrap();
        fs::create_dir_all(project.join("out")).unwrap();
        fs::create_dir_all(scratch.path().join("home/data")).unwrap();
        fs::write(project.join("my.wasm"), "").unwrap();
        let config = Config::parse(text, &project.join("toolcell.toml"), "toolcell.toml", None).unwrap();
        fs::write(project.join("toolcell.toml"), text).unwrap();
        let folders = Folders::under(&scratch.path().join("home"));
        let told =
            config.check_write_grants(&folders).map_or_else(|error| error.to_string(), |()| "granted".into());
        assert!(!told.contains(scratch.path().to_str().unwrap()), "shows a host path: {told}");
        told
    }

    #[test]
    fn refusals_name_the_entry_and_what_its_deny_lacks() {
        let all = r#"
[component.a]
path = "my.wasm"
grant.dirs = [{ host = ".", guest = "/w", access = "read-write" }]
[component.b]
path = "tools"
grant.dirs = [{ host = "../home/data", guest = "/w", access = "read-write" }, { host = "out", guest = "/out", access = "read-write" }]
"#;
        insta::assert_snapshot!(check(all), @r#"
        component.a.grant.dirs[0] (toolcell.toml:4): write access would reach the configuration; add "toolcell.toml" to its `deny`, or set `access = "read"`
        component.a.grant.dirs[0] (toolcell.toml:4): write access would reach the component `a`; add "my.wasm" to its `deny`, or set `access = "read"`
        component.a.grant.dirs[0] (toolcell.toml:4): write access would reach the component `b`; add "tools/*.wasm" to its `deny`, or set `access = "read"`
        component.b.grant.dirs[0] (toolcell.toml:7): this folder lies in toolcell's own folder of trust and approvals; grant a narrower folder, or `access = "read"`
        "#);
        let covered = r#"
[component.a]
path = "my.wasm"
grant.dirs = [{ host = ".", guest = "/w", access = "read-write", deny = ["toolcell.toml", "*.wasm", "tools/**"] }]
[component.b]
path = "tools"
[component.off]
path = "builtin:files"
enabled = false
grant.dirs = [{ host = ".", guest = "/w", access = "read-write" }]
"#;
        assert_eq!(check(covered), "granted");
    }

    #[test]
    fn no_tool_writes_in_the_audit() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        fs::create_dir_all(at("ws/logs")).unwrap();
        fs::create_dir_all(at("state")).unwrap();
        let folders = Folders::under(&at("home"));
        let check = |audit: &str, host: &str, deny: &str| {
            let text = format!(
                "[audit]\n{audit}\n[component.a]\npath = \"builtin:files\"\n[component.a.grant]\n\
                 dirs = [{{ host = \"{host}\", guest = \"/w\", access = \"read-write\", deny = [\"toolcell.toml\", {deny}] }}]"
            );
            let config = Config::parse(&text, &at("ws/toolcell.toml"), "toolcell.toml", None).unwrap();
            config.check_write_grants(&folders).map_err(|error| error.to_string())
        };
        // A folder is ours whatever is denied, also before it is there.
        for folder in ["logs", "logs/audit", "../state/audit"] {
            let audit = format!("folder = \"{folder}\"");
            let host = if folder.starts_with("..") { "../state" } else { "." };
            let told = check(&audit, host, "\"**\"").unwrap_err();
            assert!(told.contains("contains toolcell's own folder of the audit"), "{folder}: {told}");
        }
        assert!(check("folder = \".\"", "logs", "\"**\"").unwrap_err().contains("lies in"));
        assert_eq!(check("folder = \"../state/audit\"", ".", "\"x\""), Ok(()));
        // A file, and the key, may be denied.
        let told = check("file = \"logs/a.jsonl\"\nkey.file = \"key\"", ".", "\"x\"").unwrap_err();
        assert!(told.contains("would reach the audit; add \"logs/a.jsonl\""), "{told}");
        assert!(told.contains("would reach the audit's key; add \"key\""), "{told}");
        let read = |deny: &str| {
            let text = format!(
                "[audit]\nkey.file = \"key\"\n[component.a]\npath = \"builtin:files\"\n[component.a.grant]\n\
                 dirs = [{{ host = \".\", guest = \"/w\", deny = [{deny}] }}]"
            );
            let config = Config::parse(&text, &at("ws/toolcell.toml"), "toolcell.toml", None).unwrap();
            config.check_write_grants(&folders).map_err(|error| error.to_string())
        };
        let told = read("\"x\"").unwrap_err();
        assert!(told.contains("read access would reach the audit's key; add \"key\""), "{told}");
        assert_eq!(read("\"key\""), Ok(()));
        let denied = "\"logs/a.jsonl\", \"key\"";
        assert_eq!(check("file = \"logs/a.jsonl\"\nkey.file = \"key\"", ".", denied), Ok(()));
    }
}
