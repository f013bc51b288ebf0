//! A server of the Model Context Protocol that a test scripts, as the remote of a runtime.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolcell::{Runtime, RuntimeBuilder};

use crate::{builder, repository};

/// A folder with a script, a configuration that names the server, and what the server saw.
pub struct Scripted {
    folder: tempfile::TempDir,
}

/// A definition of a tool that takes any object.
pub fn definition(name: &str) -> Value {
    json!({ "name": name, "description": format!("Does {name}."), "inputSchema": { "type": "object" } })
}

/// The program that is scripted.
pub fn program() -> PathBuf {
    repository().join("tests/servers/scripted.py")
}

#[expect(clippy::panic, reason = "a test that cannot set up fails")]
impl Scripted {
    /// A server with these tools.
    pub fn new(tools: &[Value]) -> Self {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let new = Self { folder };
        new.script(json!({ "tools": tools }));
        new
    }

    /// Scripts it anew.
    pub fn script(&self, script: Value) {
        self.write("script.json", &script.to_string());
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file in the folder.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        let aside = path.with_extension("new");
        let written = std::fs::write(&aside, text).and_then(|()| std::fs::rename(&aside, &path));
        written.unwrap_or_else(|error| panic!("{error}"));
        path
    }

    /// The table of the server as `[mcp.NAME]`, with more settings of it.
    pub fn table(&self, name: &str, more: &str) -> String {
        let server = program();
        let script = self.folder.path();
        format!("[mcp.{name}]\ncommand = [\"python3\", {server:?}, {script:?}]\n{more}\n")
    }

    /// A builder with a configuration of this text.
    pub fn configured(&self, text: &str) -> RuntimeBuilder {
        let file = self.write("toolcell.toml", text);
        builder().config_file(file).unwrap_or_else(|error| panic!("{error}"))
    }

    /// A runtime with the server as `s`, with more settings of it.
    pub fn runtime(&self, more: &str) -> Runtime {
        crate::built(self.configured(&self.table("s", more)))
    }

    /// The messages that it got.
    pub fn seen(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.path().join("script.json.seen")).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// How often it was started.
    pub fn starts(&self) -> usize {
        self.seen().iter().filter(|message| message.get("started").is_some()).count()
    }

    /// How often it got a message of this method.
    pub fn count(&self, method: &str) -> usize {
        self.seen().iter().filter(|message| message["method"] == method).count()
    }
}
