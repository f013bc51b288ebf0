//! From the file as written to a `Config`: every value checked, everything wrong said at once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::de::DeTable;

use super::amount::Amount;
use super::component::ComponentConfig;
use super::document::{Address, Document};
use super::keys;
use super::problem::Problems;
use super::raw::{self, ADMISSION, RawComponent, RawConfig, RawOutput};
use super::settings::{Config, OutputBounds};
use crate::error::Result;
use crate::limits::{Admission, Limit, Limits, Origin};
use crate::policy::Digest;

/// The smallest output that can still hold a note of what was cut.
const MIN_OUTPUT: (u64, u64) = (256, 4);

/// More cells than this outgrow the address space of the pool many times over.
const MAX_CELLS: u64 = 10_000;

impl Config {
    /// Reads `text`, the content of `file`; relative paths in it are relative to the file's folder, `~/` is `home`.
    /// `label` names the file in errors.
    ///
    /// # Errors
    /// One error that lists everything wrong, each with its line: the file is refused as a whole.
    pub fn parse(text: &str, file: &Path, label: &str, home: Option<&Path>) -> Result<Self> {
        let file = std::path::absolute(file).map_err(crate::error::Error::file("find", file))?;
        let file_name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut problems = Problems::default();
        let document = Document::parse(text, file_name, &mut problems);
        if let Some(error) = problems.take_error(label) {
            // What the parser guessed after a mistake would be blamed on the reader.
            return Err(error);
        }
        let folder = file.parent().unwrap_or(Path::new("/"));
        // Making the schema takes longer than reading a file, and a file without mistakes does without: the types refuse
        // the same keys. Which key was meant, and what it is for, the schema knows.
        let (mut config, problems) = validated(&document, folder, home, Keys::ByTypes);
        if problems.count() > 0 {
            let (explained, mut problems) = validated(&document, folder, home, Keys::BySchema);
            if let Some(error) = problems.take_error(label) {
                return Err(error);
            }
            config = explained;
        }
        config.file = Some(file);
        config.digest = Some(Digest::of(text.as_bytes()));
        Ok(config)
    }
}

/// What tells an unknown key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// The types that sections are read as: whether there is one.
    ByTypes,
    /// The schema: each one, with what may have been meant.
    BySchema,
}

fn validated(document: &Document<'_>, folder: &Path, home: Option<&Path>, keys: Keys) -> (Config, Problems) {
    let mut problems = Problems::default();
    let raw = read(document, keys, &mut problems);
    let home = home.map(Path::to_owned);
    let mut validator = Validator { folder: folder.to_owned(), home, document, problems };
    let config = validator.config(raw);
    (config, validator.problems)
}

/// Reads each section by itself, so that a mistake in one does not hide those in the others.
fn read(document: &Document<'_>, keys: Keys, problems: &mut Problems) -> RawConfig {
    let mut table = document.root().clone();
    if keys == Keys::BySchema {
        keys::check(&raw::schema(), &mut table, document, problems);
    }
    let raw = RawConfig {
        policy: section(&mut table, "policy", document, problems),
        limits: section(&mut table, "limits", document, problems),
        output: section(&mut table, "output", document, problems),
        component: components(&mut table, document, problems),
    };
    for key in table.keys() {
        let address = Address::of(&[key.get_ref()]);
        problems.add(document.line_of(&address), format!("`{address}`: unknown key"));
    }
    raw
}

fn section<'t, T: serde::de::DeserializeOwned + Default>(
    table: &mut DeTable<'t>,
    key: &str,
    document: &Document<'t>,
    problems: &mut Problems,
) -> T {
    let address = Address::of(&[key]);
    table.remove(key).map(|value| document.read(value, &address, problems)).unwrap_or_default()
}

fn components<'t>(
    table: &mut DeTable<'t>,
    document: &Document<'t>,
    problems: &mut Problems,
) -> BTreeMap<String, RawComponent> {
    let address = Address::of(&["component"]);
    let Some(value) = table.remove("component") else { return BTreeMap::new() };
    let toml::de::DeValue::Table(components) = value.into_inner() else {
        problems.add(document.line_of(&address), "`component`: write a table for each, `[component.NAME]`");
        return BTreeMap::new();
    };
    let mut read = BTreeMap::new();
    for (name, value) in components {
        let before = problems.count();
        let component = document.read(value, &address.key(name.get_ref()), problems);
        // What could not be read has defaults in it, and errors about those would mislead.
        if problems.count() == before {
            read.insert(name.into_inner().into_owned(), component);
        }
    }
    read
}

/// The document whose values are being checked, and what was wrong so far.
pub(super) struct Validator<'a, 't> {
    pub(super) folder: PathBuf,
    pub(super) home: Option<PathBuf>,
    pub(super) document: &'a Document<'t>,
    pub(super) problems: Problems,
}

impl Validator<'_, '_> {
    /// Notes what is wrong with the setting at `address`.
    pub(super) fn problem(&mut self, address: &Address, message: impl AsRef<str>) {
        self.problems.add(self.document.line_of(address), format!("`{address}`: {}", message.as_ref()));
    }

    /// The value, or its error noted.
    pub(super) fn checked<T, M: AsRef<str>>(&mut self, address: &Address, value: Result<T, M>) -> Option<T> {
        value.map_err(|message| self.problem(address, message)).ok()
    }

    fn config(&mut self, raw: RawConfig) -> Config {
        let mut config = Config::default();
        if let Some(amount) = raw.policy.call_timeout {
            let address = Address::of(&["policy", "call_timeout"]);
            if let Some(nanos) = self.checked(&address, Limit::Timeout.parse(&amount.0)) {
                config.call_timeout = Duration::from_nanos(nanos);
                config.call_timeout_origin = self.document.origin(&address);
            }
        }
        let (admission, limits): (BTreeMap<_, _>, BTreeMap<_, _>) =
            raw.limits.0.into_iter().partition(|(name, _)| ADMISSION.iter().any(|known| known.0 == name));
        let address = Address::of(&["limits"]);
        config.limits = self.limits(&address, limits);
        config.admission = self.admission(&address, &admission);
        config.output = self.output(&raw.output);
        for (name, component) in raw.component {
            config.components.extend(self.component(name, component));
        }
        config.origins = self.origins(&config.components);
        config
    }

    /// Where the settings without origins of their own were set, as far as they were.
    fn origins(&self, components: &[ComponentConfig]) -> BTreeMap<String, Origin> {
        let of_output = [Address::of(&["output", "max_bytes"]), Address::of(&["output", "max_lines"])];
        let of_admission = ADMISSION.map(|(name, _)| Address::of(&["limits", name]));
        let of_components =
            components.iter().map(|component| Address::of(&["component", &component.name, "grant", "env"]));
        let all = of_output.into_iter().chain(of_admission).chain(of_components);
        all.filter(|address| self.document.has(address))
            .map(|address| (address.to_string(), self.document.origin(&address)))
            .collect()
    }

    pub(super) fn limits(&mut self, table: &Address, raw: BTreeMap<String, Amount>) -> Limits {
        let mut limits = Limits::new();
        for (name, amount) in raw {
            let address = table.key(&name);
            let Some(limit) = Limit::from_name(&name) else {
                self.problem(&address, "unknown limit");
                continue;
            };
            if let Some(value) = self.checked(&address, limit.parse(&amount.0)) {
                limits = limits.with_origin(limit, value, self.document.origin(&address));
            }
        }
        limits
    }

    fn admission(&mut self, table: &Address, raw: &BTreeMap<String, Amount>) -> Admission {
        let mut admission = Admission::default();
        for (name, amount) in raw {
            let address = table.key(name);
            match name.as_str() {
                "queue_timeout" => {
                    // Not a limit of the guest: zero is "never wait".
                    let time = humantime::parse_duration(&amount.0)
                        .map_err(|_| format!("`{}` is no duration; write for example `\"30s\"`", amount.0));
                    if let Some(time) = self.checked(&address, time) {
                        admission.queue_timeout = time;
                    }
                }
                "max_waiting" => {
                    let count = count(&amount.0, 0, u64::from(u32::MAX));
                    admission.max_waiting = self.checked(&address, count).unwrap_or(admission.max_waiting);
                }
                _ => {
                    let count = count(&amount.0, 1, MAX_CELLS);
                    admission.concurrent_cells =
                        self.checked(&address, count).unwrap_or(admission.concurrent_cells);
                }
            }
        }
        admission
    }

    fn output(&mut self, raw: &RawOutput) -> OutputBounds {
        let mut output = OutputBounds::default();
        if let Some(amount) = &raw.max_bytes {
            let address = Address::of(&["output", "max_bytes"]);
            let bytes = at_least(Limit::ResultBytes, &amount.0, MIN_OUTPUT.0);
            output.max_bytes = self.checked(&address, bytes).unwrap_or(output.max_bytes);
        }
        if let Some(amount) = &raw.max_lines {
            let address = Address::of(&["output", "max_lines"]);
            let lines = at_least(Limit::Chunks, &amount.0, MIN_OUTPUT.1);
            output.max_lines = self.checked(&address, lines).unwrap_or(output.max_lines);
        }
        output
    }
}

/// What the operating system says, without the host path that some of its texts repeat.
pub(super) fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is none at that place".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

fn count(text: &str, least: u64, most: u64) -> Result<u32, String> {
    let number = if text.trim() == "0" { Ok(0) } else { Limit::Handles.parse(text) };
    number
        .ok()
        .filter(|number| (least..=most).contains(number))
        .and_then(|number| u32::try_from(number).ok())
        .ok_or_else(|| format!("`{text}` is not a whole number from {least} to {most}"))
}

fn at_least(limit: Limit, text: &str, least: u64) -> Result<u64, String> {
    let value = limit.parse(text)?;
    if value < least {
        return Err(format!("`{text}` is too small to hold a note of what was cut; give at least {least}"));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::fmt::Write;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::config::Source;
    use crate::policy::Access;

    /// A project with what the cases name: folders `src` and `tools`, a component, a FIFO, a home.
    fn project() -> tempfile::TempDir {
        let project = tempfile::tempdir().unwrap();
        let at = |name: &str| project.path().join(name);
        for folder in ["src", "tools", "home/notes", "target"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        std::fs::write(at("tool.wasm"), "").unwrap();
        symlink("src", at("link")).unwrap();
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, at("fifo"), fifo, 0o600.into(), 0).unwrap();
        project
    }

    fn parse(project: &tempfile::TempDir, text: &str) -> Result<Config> {
        let home = project.path().join("home");
        Config::parse(text, &project.path().join("toolcell.toml"), "toolcell.toml", Some(&home))
    }

    /// Every case with what its reader is told.
    fn refusals(cases: &[&str]) -> String {
        let project = project();
        let mut shown = String::new();
        for case in cases {
            let told = match parse(&project, case) {
                Ok(_) => "ACCEPTED".to_owned(),
                Err(error) => error.to_string(),
            };
            assert!(!told.contains(project.path().to_str().unwrap()), "shows a host path: {told}");
            writeln!(shown, "{}\n  → {}\n", case.trim(), told.replace('\n', "\n  → ")).unwrap();
        }
        shown
    }

    #[test]
    fn wrong_toml_is_refused_with_its_line() {
        insta::assert_snapshot!(refusals(&[
            "a = ",
            "[limits]\nmemory = \"1MiB\"\nmemory = \"2MiB\"",
            "[limits",
            "[limits]\nmemory = 64MiB",
            "[output]\nmax_lines = 5\n[output]",
            "limits = \"\u{1}\"",
            "[component.a]\npath = \"builtin:files",
            "[[component]]\nname = \"files\"",
            "component = 3",
            "[component]\nfiles = \"builtin:files\"",
        ]), @r#"
        a =
          → toolcell.toml:1: string values must be quoted, expected literal string

        [limits]
        memory = "1MiB"
        memory = "2MiB"
          → toolcell.toml:3: duplicate key

        [limits
          → toolcell.toml:1: unclosed table, expected `]`

        [limits]
        memory = 64MiB
          → toolcell.toml:2: string values must be quoted, expected literal string

        [output]
        max_lines = 5
        [output]
          → toolcell.toml:3: duplicate key

        limits = ""
          → toolcell.toml:1: invalid basic string, expected non-double-quote visible characters, `\`

        [component.a]
        path = "builtin:files
          → toolcell.toml:2: invalid basic string, expected `"`

        [[component]]
        name = "files"
          → toolcell.toml:1: `component`: write a table for each, `[component.NAME]`

        component = 3
          → toolcell.toml:1: `component`: write a table for each, `[component.NAME]`

        [component]
        files = "builtin:files"
          → toolcell.toml:2: `component.files`: invalid type: string, expected a table with `path`
        "#);
    }

    #[test]
    fn unknown_keys_are_refused_with_the_nearest() {
        insta::assert_snapshot!(refusals(&[
            "[limit]\nmemory = \"1MiB\"",
            "[limits]\nmemroy = \"1MiB\"\n\n[output]\nmax-bytes = 3000\nwidth = 3",
            "timeout = \"3s\"",
            "[component.a]\npath = \"builtin:files\"\ntimeout = \"3s\"",
            "[component.a]\npath = \"builtin:files\"\n[component.a.grant]\ndir = []",
            "[component.a]\npath = \"builtin:files\"\n[component.a.grant]\ndirs = [{ host = \".\", guest = \"/w\", mode = \"rw\" }]",
            "[component.a]\npath = \"builtin:files\"\n[component.a.tool.grep]\nlimit = {}",
            "[component.a]\npath = \"builtin:files\"\n[component.a.limits]\nconcurrent_cells = 3",
        ]), @r#"
        [limit]
        memory = "1MiB"
          → toolcell.toml:1: `limit`: unknown key; did you mean `limits`?

        [limits]
        memroy = "1MiB"

        [output]
        max-bytes = 3000
        width = 3
          → toolcell.toml:2: `limits.memroy`: unknown key; did you mean `memory`?
          → toolcell.toml:5: `output.max-bytes`: unknown key; did you mean `max_bytes`?
          → toolcell.toml:6: `output.width`: unknown key; known here: `max_bytes`, `max_lines`

        timeout = "3s"
          → toolcell.toml:1: `timeout`: unknown key here; limits are set under a `limits` table

        [component.a]
        path = "builtin:files"
        timeout = "3s"
          → toolcell.toml:3: `component.a.timeout`: unknown key here; limits are set under a `limits` table

        [component.a]
        path = "builtin:files"
        [component.a.grant]
        dir = []
          → toolcell.toml:4: `component.a.grant.dir`: unknown key; did you mean `dirs`?

        [component.a]
        path = "builtin:files"
        [component.a.grant]
        dirs = [{ host = ".", guest = "/w", mode = "rw" }]
          → toolcell.toml:4: `component.a.grant.dirs[0].mode`: unknown key; known here: `host`, `guest`, `access`, `deny`

        [component.a]
        path = "builtin:files"
        [component.a.tool.grep]
        limit = {}
          → toolcell.toml:4: `component.a.tool.grep.limit`: unknown key; did you mean `limits`?

        [component.a]
        path = "builtin:files"
        [component.a.limits]
        concurrent_cells = 3
          → toolcell.toml:4: `component.a.limits.concurrent_cells`: unknown key; known here: `timeout`, `fuel`, `memory`, `table_elements`, `instances`, `handles`, `host_bytes`, `random_bytes`, `stack`, `stdio_bytes`, `log_records`, `chunks`, `result_bytes`, `argument_bytes`, `open_files`, `write_bytes`
        "#);
    }

    #[test]
    fn keys_of_later_versions_are_refused_as_such() {
        insta::assert_snapshot!(refusals(&[
            "[[rule]]\ntools = [\"*\"]\naction = \"deny\"",
            "[[hook]]\nuse = \"command\"",
            "[mcp.github]\ncommand = [\"x\"]",
            "[policy]\ndefault = \"deny\"",
            "[limits]\nhttp_requests = 3\nhttp_bytes = 3\nstate_bytes = 3",
            "[component.a]\npath = \"builtin:files\"\ngroup = \"g\"\nsecrets = { a = { env = \"A\" } }\nhints = {}",
            "[component.a]\npath = \"builtin:files\"\n[component.a.grant]\nhttp = []\nstate = \"call\"",
            "[component.a]\npath = \"builtin:files\"\n[component.a.limits]\nhttp_requests = 3\nhttp_bytes = 1\nstate_bytes = 1",
            "[component.a]\npath = \"builtin:files\"\n[component.a.tool.t]\nhints = {}\nlimits = { http_bytes = 1 }",
            "[component.a]\npath = \"oci://example.org/tool:1\"",
        ]), @r#"
        [[rule]]
        tools = ["*"]
        action = "deny"
          → toolcell.toml:1: `rule`: this version does not know `rule` yet and would not enforce it; take it out

        [[hook]]
        use = "command"
          → toolcell.toml:1: `hook`: this version does not know `hook` yet and would not enforce it; take it out

        [mcp.github]
        command = ["x"]
          → toolcell.toml:1: `mcp`: this version does not know `mcp` yet and would not enforce it; take it out

        [policy]
        default = "deny"
          → toolcell.toml:2: `policy.default`: this version does not know `default` yet and would not enforce it; take it out

        [limits]
        http_requests = 3
        http_bytes = 3
        state_bytes = 3
          → toolcell.toml:2: `limits.http_requests`: this version does not know `http_requests` yet and would not enforce it; take it out
          → toolcell.toml:3: `limits.http_bytes`: this version does not know `http_bytes` yet and would not enforce it; take it out
          → toolcell.toml:4: `limits.state_bytes`: this version does not know `state_bytes` yet and would not enforce it; take it out

        [component.a]
        path = "builtin:files"
        group = "g"
        secrets = { a = { env = "A" } }
        hints = {}
          → toolcell.toml:3: `component.a.group`: this version does not know `group` yet and would not enforce it; take it out
          → toolcell.toml:4: `component.a.secrets`: this version does not know `secrets` yet and would not enforce it; take it out
          → toolcell.toml:5: `component.a.hints`: this version does not know `hints` yet and would not enforce it; take it out

        [component.a]
        path = "builtin:files"
        [component.a.grant]
        http = []
        state = "call"
          → toolcell.toml:4: `component.a.grant.http`: this version does not know `http` yet and would not enforce it; take it out
          → toolcell.toml:5: `component.a.grant.state`: this version does not know `state` yet and would not enforce it; take it out

        [component.a]
        path = "builtin:files"
        [component.a.limits]
        http_requests = 3
        http_bytes = 1
        state_bytes = 1
          → toolcell.toml:4: `component.a.limits.http_requests`: this version does not know `http_requests` yet and would not enforce it; take it out
          → toolcell.toml:5: `component.a.limits.http_bytes`: this version does not know `http_bytes` yet and would not enforce it; take it out
          → toolcell.toml:6: `component.a.limits.state_bytes`: this version does not know `state_bytes` yet and would not enforce it; take it out

        [component.a]
        path = "builtin:files"
        [component.a.tool.t]
        hints = {}
        limits = { http_bytes = 1 }
          → toolcell.toml:4: `component.a.tool.t.hints`: this version does not know `hints` yet and would not enforce it; take it out
          → toolcell.toml:5: `component.a.tool.t.limits.http_bytes`: this version does not know `http_bytes` yet and would not enforce it; take it out

        [component.a]
        path = "oci://example.org/tool:1"
          → toolcell.toml:2: `component.a.path`: this version does not load from `oci://`; give a file or `builtin:NAME`
        "#);
    }

    #[test]
    fn wrong_types_and_values_name_the_setting() {
        insta::assert_snapshot!(refusals(&[
            "limits = 3",
            "[limits]\nmemory = 1.5",
            "[limits]\nmemory = true\n[output]\nmax_lines = []\n[policy]\ncall_timeout = {}",
            "[limits]\nmemory = \"lots\"\ntimeout = 5\nhandles = 0\nopen_files = -1\nfuel = \"on\"",
            "[limits]\nconcurrent_cells = 0\nmax_waiting = -1\nqueue_timeout = 3",
            "[limits]\nconcurrent_cells = 99999999999\nmemory = 99999999999999999999",
            "[output]\nmax_bytes = 10\nmax_lines = \"1\"",
            "[policy]\ncall_timeout = \"soon\"",
            "[component.a]\npath = \"builtin:files\"\nenabled = \"yes\"",
            "[component.a]\npath = \"builtin:files\"\nrepair = \"always\"",
            "[component.a]\npath = \"builtin:files\"\nconfig = { port = 80 }\n[component.b]\npath = 3",
            "[component.a]\npath = \"builtin:files\"\n[component.a.grant]\nenv = [\"LANG\"]",
        ]), @r#"
        limits = 3
          → toolcell.toml:1: `limits`: invalid type: integer `3`, expected a table

        [limits]
        memory = 1.5
          → toolcell.toml:2: `limits.memory`: invalid type: floating point `1.5`, expected a whole number or a text such as "64MiB" or "30s"

        [limits]
        memory = true
        [output]
        max_lines = []
        [policy]
        call_timeout = {}
          → toolcell.toml:2: `limits.memory`: invalid type: boolean `true`, expected a whole number or a text such as "64MiB" or "30s"
          → toolcell.toml:4: `output.max_lines`: invalid type: array, expected a whole number or a text such as "64MiB" or "30s"
          → toolcell.toml:6: `policy.call_timeout`: invalid type: table, expected a whole number or a text such as "64MiB" or "30s"

        [limits]
        memory = "lots"
        timeout = 5
        handles = 0
        open_files = -1
        fuel = "on"
          → toolcell.toml:2: `limits.memory`: `lots` is no size; write for example `64KiB`, `256MiB` or `1048576`
          → toolcell.toml:3: `limits.timeout`: `5` is no duration; write for example `500ms`, `30s` or `10m`
          → toolcell.toml:4: `limits.handles`: `0` would allow nothing; give at least the smallest unit
          → toolcell.toml:5: `limits.open_files`: `-1` is no count; write for example `1000`, `10k`, `1M` or `100G`
          → toolcell.toml:6: `limits.fuel`: `on` is no count; write for example `1000`, `10k`, `1M` or `100G`

        [limits]
        concurrent_cells = 0
        max_waiting = -1
        queue_timeout = 3
          → toolcell.toml:2: `limits.concurrent_cells`: `0` is not a whole number from 1 to 10000
          → toolcell.toml:3: `limits.max_waiting`: `-1` is not a whole number from 0 to 4294967295
          → toolcell.toml:4: `limits.queue_timeout`: `3` is no duration; write for example `"30s"`

        [limits]
        concurrent_cells = 99999999999
        memory = 99999999999999999999
          → toolcell.toml:2: `limits.concurrent_cells`: `99999999999` is not a whole number from 1 to 10000
          → toolcell.toml:3: `limits.memory`: `99999999999999999999` is no size; write for example `64KiB`, `256MiB` or `1048576`

        [output]
        max_bytes = 10
        max_lines = "1"
          → toolcell.toml:2: `output.max_bytes`: `10` is too small to hold a note of what was cut; give at least 256
          → toolcell.toml:3: `output.max_lines`: `1` is too small to hold a note of what was cut; give at least 4

        [policy]
        call_timeout = "soon"
          → toolcell.toml:2: `policy.call_timeout`: `soon` is no duration; write for example `500ms`, `30s` or `10m`

        [component.a]
        path = "builtin:files"
        enabled = "yes"
          → toolcell.toml:3: `component.a.enabled`: invalid type: string, expected a boolean

        [component.a]
        path = "builtin:files"
        repair = "always"
          → toolcell.toml:3: `component.a.repair`: unknown variant `always`, expected one of `off`, `decode`, `json`

        [component.a]
        path = "builtin:files"
        config = { port = 80 }
        [component.b]
        path = 3
          → toolcell.toml:3: `component.a.config.port`: invalid type: integer `80`, expected a string
          → toolcell.toml:5: `component.b.path`: invalid type: integer `3`, expected a string

        [component.a]
        path = "builtin:files"
        [component.a.grant]
        env = ["LANG"]
          → toolcell.toml:4: `component.a.grant.env`: invalid type: array, expected a table
        "#);
    }

    #[test]
    fn components_that_cannot_work_are_refused() {
        insta::assert_snapshot!(refusals(&[
            "[component.a]\nprefix = \"x\"",
            "[component.Files]\npath = \"builtin:files\"",
            "[component.\"a b\"]\npath = \"builtin:files\"",
            "[component.a]\npath = \"\"",
            "[component.a]\npath = \"missing.wasm\"",
            "[component.a]\npath = \"tool.wasm/\"",
            "[component.a]\npath = \"fifo\"",
            "[component.a]\npath = \"builtin:\"",
            "[component.a]\npath = \"~root/x.wasm\"",
            "[component.a]\npath = \"https://example.org/a.wasm\"",
            "[component.a]\npath = \"tool.wasm\"\ndigest = \"abc\"",
            "[component.a]\npath = \"tools\"\ndigest = \"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"",
            "[component.a]\npath = \"builtin:files\"\nprefix = \"my-\"\ntools = []\nrename = { a = \"X\", b = \"c\", d = \"c\" }",
            "[component.a]\npath = \"builtin:files\"\ntools = [\"a\", \"b\", \"a\"]",
        ]), @r#"
        [component.a]
        prefix = "x"
          → toolcell.toml:1: `component.a`: has no `path`; write `path = "builtin:files"`, or a component's file or folder

        [component.Files]
        path = "builtin:files"
          → toolcell.toml:1: `component.Files`: a component's name is a lower-case letter, then lower-case letters, digits, `-` and `_`, at most 64

        [component."a b"]
        path = "builtin:files"
          → toolcell.toml:1: `component."a b"`: a component's name is a lower-case letter, then lower-case letters, digits, `-` and `_`, at most 64

        [component.a]
        path = ""
          → toolcell.toml:2: `component.a.path`: a path must not be empty nor contain a zero byte; `.` is this file's folder

        [component.a]
        path = "missing.wasm"
          → toolcell.toml:2: `component.a.path`: cannot find the component `missing.wasm`: there is none at that place

        [component.a]
        path = "tool.wasm/"
          → toolcell.toml:2: `component.a.path`: cannot find the component `tool.wasm/`: Not a directory (os error 20)

        [component.a]
        path = "fifo"
          → toolcell.toml:2: `component.a.path`: `fifo` is neither a file nor a folder

        [component.a]
        path = "builtin:"
          → toolcell.toml:2: `component.a.path`: after `builtin:` comes a shipped tool's name, as in `builtin:files`

        [component.a]
        path = "~root/x.wasm"
          → toolcell.toml:2: `component.a.path`: only `~/` is understood, not `~` before a name; for a file of that name write `./~root/x.wasm`

        [component.a]
        path = "https://example.org/a.wasm"
          → toolcell.toml:2: `component.a.path`: this version does not load from `https://`; give a file or `builtin:NAME`

        [component.a]
        path = "tool.wasm"
        digest = "abc"
          → toolcell.toml:3: `component.a.digest`: a digest is `sha256:` and 64 hexadecimal digits, as `sha256sum FILE` prints them

        [component.a]
        path = "tools"
        digest = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
          → toolcell.toml:3: `component.a.digest`: pins one file, and `path` is a folder; name the file there, or take the digest out

        [component.a]
        path = "builtin:files"
        prefix = "my-"
        tools = []
        rename = { a = "X", b = "c", d = "c" }
          → toolcell.toml:3: `component.a.prefix`: a tool's name is a lower-case letter, then lower-case letters, digits and `_`, at most 64
          → toolcell.toml:4: `component.a.tools`: names no tool; take it out for all of them, or set `enabled = false`
          → toolcell.toml:5: `component.a.rename.a`: a tool's name is a lower-case letter, then lower-case letters, digits and `_`, at most 64
          → toolcell.toml:5: `component.a.rename.d`: `b` is renamed to `c` too; choose another name

        [component.a]
        path = "builtin:files"
        tools = ["a", "b", "a"]
          → toolcell.toml:3: `component.a.tools[2]`: names `a` twice
        "#);
    }

    fn granting(grant: &str) -> String {
        format!("[component.a]\npath = \"builtin:files\"\n[component.a.grant]\n{grant}")
    }

    #[test]
    fn grants_that_cannot_work_are_refused() {
        let cases = [
            r#"dirs = [{ host = "missing", guest = "/w" }]"#,
            r#"dirs = [{ host = "tool.wasm", guest = "/w" }]"#,
            r#"dirs = [{ host = "tool.wasm/", guest = "/w" }]"#,
            r#"dirs = [{ host = "tools/../tool.wasm/x", guest = "/w" }]"#,
            r#"dirs = [{ host = "", guest = "/w" }, { host = "~x", guest = "/x" }, { host = "~/none", guest = "/y" }]"#,
            r#"dirs = [{ guest = "/w" }]"#,
            r#"dirs = [{ host = "." }]"#,
            r#"dirs = ["."]"#,
            r#"dirs = [{ host = ".", guest = "/w", access = "write" }]"#,
            r#"dirs = [{ host = ".", guest = "w" }, { host = ".", guest = "" }, { host = ".", guest = "./a/../b" }]"#,
            r#"dirs = [{ host = ".", guest = "/a/../b" }, { host = ".", guest = "/c//d" }, { host = ".", guest = "/./e" }]"#,
            "dirs = [\n  { host = \"src\", guest = \"/w\" },\n  { host = \"tools\", guest = \"/w/\" },\n  { host = \"src\", guest = \"/w/in\" },\n]",
            r#"dirs = [{ host = ".", guest = "/" }, { host = ".", guest = "/w" }]"#,
            r#"dirs = [{ host = ".", guest = "/w", deny = ["", "a/", "/etc", "../x", "./y", "a[", "{a,b"] }]"#,
            "env = { \"\" = \"x\", \"A=B\" = \"y\" }",
        ];
        let cases = cases.map(granting);
        insta::assert_snapshot!(refusals(&cases.each_ref().map(String::as_str)), @r#"
        [component.a]
        path = "builtin:files"
        [component.a.grant]
        dirs = [{ host = "missing", guest = "/w" }]
          → toolcell.toml:4: `component.a.grant.dirs[0].host`: the folder `missing` does not exist; create it, or correct the path

        [component.a]
        path = "builtin:files"
        [component.a.grant]
        dirs = [{ host = "tool.wasm", guest = "/w" }]
          → toolcell.toml:4: `component.a.grant.dirs[0].host`: `tool.wasm` is not a folder; grant its folder `.`, with `deny` for what else is there

        [component.a]
        path = "builtin:files"
        [component.a.grant]
        dirs = [{ host = "tool.wasm/", guest = "/w" }]
          → toolcell.toml:4: `component.a.grant.dirs[0].host`: `tool.wasm/` is not a folder; grant its folder `.`, with `deny` for what else is there

        [component.a]
        path = "builtin:files"
        [component.a.grant]
        dirs = [{ host = "tools/../tool.wasm/x", guest = "/w" }]
          → toolcell.toml:4: `component.a.grant.dirs[0].host`: `tools/../tool.wasm/x` is not a folder; grant its folder `tools/../tool.wasm`, with `deny` for what else is there

        [component.a]
        path = "builtin:files"
        [component.a.grant]
        dirs = [{ host = "", guest = "/w" }, { host = "~x", guest = "/x" }, { host = "~/none", guest = "/y" }]
          → toolcell.toml:4: `component.a.grant.dirs[0].host`: a path must not be empty nor contain a zero byte; `.` is this file's folder
          → toolcell.toml:4: `component.a.grant.dirs[1].host`: only `~/` is understood, not `~` before a name; for a file of that name write `./~x`
          → toolcell.toml:4: `component.a.grant.dirs[2].host`: the folder `~/none` does not exist; create it, or correct the path

        [component.a]
        path = "builtin:files"
        [component.a.grant]
        dirs = [{ guest = "/w" }]
          → toolcell.toml:4: `component.a.grant.dirs[0]`: missing field `host`

        [component.a]
        path = "builtin:files"
        [component.a.grant]
        dirs = [{ host = "." }]
          → toolcell.toml:4: `component.a.grant.dirs[0]`: missing field `guest`

        [component.a]
        path = "builtin:files"
        [component.a.grant]
        dirs = ["."]
          → toolcell.toml:4: `component.a.grant.dirs[0]`: invalid type: string, expected a table with `host` and `guest`

        [component.a]
        path = "builtin:files"
        [component.a.grant]
        dirs = [{ host = ".", guest = "/w", access = "write" }]
          → toolcell.toml:4: `component.a.grant.dirs[0].access`: unknown variant `write`, expected `read` or `read-write`

        [component.a]
        path = "builtin:files"
        [component.a.grant]
        dirs = [{ host = ".", guest = "w" }, { host = ".", guest = "" }, { host = ".", guest = "./a/../b" }]
          → toolcell.toml:4: `component.a.grant.dirs[0].guest`: a guest's path is absolute; write for example `"/w"`
          → toolcell.toml:4: `component.a.grant.dirs[1].guest`: a guest's path is absolute; write for example `"/work"`
          → toolcell.toml:4: `component.a.grant.dirs[2].guest`: a guest's path is absolute; write for example `"/work"`

        [component.a]
        path = "builtin:files"
        [component.a.grant]
        dirs = [{ host = ".", guest = "/a/../b" }, { host = ".", guest = "/c//d" }, { host = ".", guest = "/./e" }]
          → toolcell.toml:4: `component.a.grant.dirs[0].guest`: `/a/../b` must not contain empty parts, `.` or `..`
          → toolcell.toml:4: `component.a.grant.dirs[1].guest`: `/c//d` must not contain empty parts, `.` or `..`
          → toolcell.toml:4: `component.a.grant.dirs[2].guest`: `/./e` must not contain empty parts, `.` or `..`

        [component.a]
        path = "builtin:files"
        [component.a.grant]
        dirs = [
          { host = "src", guest = "/w" },
          { host = "tools", guest = "/w/" },
          { host = "src", guest = "/w/in" },
        ]
          → toolcell.toml:6: `component.a.grant.dirs[1]`: `guest = "/w"` overlaps with `"/w"` of another entry; give each its own place
          → toolcell.toml:7: `component.a.grant.dirs[2]`: `guest = "/w/in"` overlaps with `"/w"` of another entry; give each its own place

        [component.a]
        path = "builtin:files"
        [component.a.grant]
        dirs = [{ host = ".", guest = "/" }, { host = ".", guest = "/w" }]
          → toolcell.toml:4: `component.a.grant.dirs[1]`: `guest = "/w"` overlaps with `"/"` of another entry; give each its own place

        [component.a]
        path = "builtin:files"
        [component.a.grant]
        dirs = [{ host = ".", guest = "/w", deny = ["", "a/", "/etc", "../x", "./y", "a[", "{a,b"] }]
          → toolcell.toml:4: `component.a.grant.dirs[0].deny[0]`: `` names the granted folder itself; write `**` for all that is in it
          → toolcell.toml:4: `component.a.grant.dirs[0].deny[2]`: patterns are relative to the granted folder; write `etc`
          → toolcell.toml:4: `component.a.grant.dirs[0].deny[3]`: `../x` matches nothing: patterns have no empty parts, `.` or `..`
          → toolcell.toml:4: `component.a.grant.dirs[0].deny[5]`: `a[` is no glob: unclosed character class; missing ']'
          → toolcell.toml:4: `component.a.grant.dirs[0].deny[6]`: `{a,b` is no glob: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)

        [component.a]
        path = "builtin:files"
        [component.a.grant]
        env = { "" = "x", "A=B" = "y" }
          → toolcell.toml:4: `component.a.grant.env.""`: a name must not be empty nor contain `=` or a zero byte
          → toolcell.toml:4: `component.a.grant.env."A=B"`: a name must not be empty nor contain `=` or a zero byte
        "#);
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let project = project();
        let text =
            "[limits]\nmemroy = 3\ntimeout = 5\n[component.a]\npath = \"missing\"\n[component.B]\npath = 3\n";
        let error = parse(&project, text).unwrap_err().to_string();
        let lines: Vec<&str> = error.lines().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(lines, ["toolcell.toml:2:", "toolcell.toml:3:", "toolcell.toml:5:", "toolcell.toml:7:"]);
    }

    #[test]
    fn a_full_file_is_read_with_its_lines() {
        let project = project();
        let text = r#"
[policy]
call_timeout = "1m"
[limits]
timeout = "5s"
fuel = "off"
handles = 50
concurrent_cells = 4
max_waiting = 0
queue_timeout = "0s"
[output]
max_bytes = "4KiB"
max_lines = 100

[component.files]
path = "builtin:files"
prefix = "fs_"
rename = { list_dir = "ls" }
tools = ["grep"]
instructions = "be brief"
config = { city = "Oslo" }
repair = "json"
[component.files.grant]
dirs = [
  { host = "src/", guest = "/src/" },
  { host = "~/notes", guest = "/notes", access = "read-write", deny = ["*.key"] },
]
env = { LANG = "C.UTF-8" }
[component.files.limits]
memory = 67108864
[component.files.tool.grep]
title = "Search"
description = "Searches."
limits.timeout = "1s"

[component.off]
path = "gone.wasm"
enabled = false
grant.dirs = [{ host = "gone", guest = "/gone" }]

[component.mine]
path = "tool.wasm"
[component.more]
path = "tools"
"#;
        let config = parse(&project, text).unwrap();
        assert_eq!(config.call_timeout, Duration::from_secs(60));
        assert_eq!(config.call_timeout_origin.at.as_deref(), Some("toolcell.toml:3"));
        for (setting, at) in [
            ("limits.max_waiting", Some("toolcell.toml:9")),
            ("output.max_lines", Some("toolcell.toml:13")),
            ("component.files.grant.env", Some("toolcell.toml:28")),
            ("component.mine.grant.env", None),
        ] {
            assert_eq!(config.origin(setting).at.as_deref(), at, "{setting}");
        }
        let limits = Limits::resolve([&config.limits]);
        assert_eq!((limits.timeout(), limits.fuel()), (Duration::from_secs(5), None));
        assert_eq!(limits.get(Limit::Handles), 50);
        let Admission { concurrent_cells, max_waiting, queue_timeout, .. } = config.admission;
        assert_eq!((concurrent_cells, max_waiting, queue_timeout), (4, 0, Duration::ZERO));
        assert_eq!((config.output.max_bytes, config.output.max_lines), (4096, 100));

        let names: Vec<&str> = config.components.iter().map(|component| component.name.as_str()).collect();
        assert_eq!(names, ["files", "mine", "more", "off"]);
        let [files, mine, more, off] = config.components.as_slice() else { unreachable!() };
        let root = project.path().canonicalize().unwrap();
        let src = DirGrantOf { host: root.join("src"), guest: "/src", access: Access::Read };
        let notes = DirGrantOf { host: root.join("home/notes"), guest: "/notes", access: Access::ReadWrite };
        let dirs: Vec<DirGrantOf<'_>> = files.grant.dirs.iter().map(DirGrantOf::from).collect();
        assert_eq!(dirs, [src, notes]);
        let (_, origin) = files.dirs().nth(1).unwrap();
        assert_eq!(&*origin.setting, "component.files.grant.dirs[1]");
        assert_eq!(origin.at.as_deref(), Some("toolcell.toml:26"));
        assert_eq!(files.grant.env.get("LANG").map(String::as_str), Some("C.UTF-8"));
        assert_eq!(files.grant.config.get("city").map(String::as_str), Some("Oslo"));
        let grep = files.tool_settings.get("grep").unwrap();
        assert_eq!(grep.title.as_deref(), Some("Search"));
        let effective = Limits::resolve([&config.limits, &files.limits, &grep.limits]);
        let hit = effective.hit(Limit::Timeout, 2_000_000_000);
        assert_eq!(hit.setting, "component.files.tool.grep.limits.timeout");
        assert_eq!(hit.at.as_deref(), Some("toolcell.toml:34"));
        assert_eq!(effective.get(Limit::Memory), 64 << 20);
        assert_eq!(mine.source, Source::File(project.path().join("tool.wasm")));
        assert_eq!(more.source, Source::Folder(project.path().join("tools")));
        assert!(!off.enabled);
    }

    #[derive(Debug, PartialEq)]
    struct DirGrantOf<'a> {
        host: PathBuf,
        guest: &'a str,
        access: Access,
    }

    impl<'a> From<&'a crate::policy::DirGrant> for DirGrantOf<'a> {
        fn from(dir: &'a crate::policy::DirGrant) -> Self {
            Self { host: dir.host.clone(), guest: &dir.guest, access: dir.access }
        }
    }

    #[test]
    fn an_empty_file_grants_nothing() {
        let project = project();
        for text in ["", "# nothing\n", "\u{feff}# with a mark\r\n[limits]\r\n"] {
            let config = parse(&project, text).unwrap();
            assert!(config.components.is_empty());
            assert_eq!(config.limits, Limits::new());
        }
    }

    #[test]
    fn depth_does_not_exhaust_the_stack() {
        let project = project();
        let deep = 200_000;
        for text in [
            format!("a = {}", "[".repeat(deep)),
            format!("a = {}{}", "[".repeat(deep), "]".repeat(deep)),
            format!("a = {}", "{a=".repeat(deep)),
            format!("{}a = 1", "a.".repeat(deep)),
            format!("[{}a]", "a.".repeat(deep)),
            format!("[component.a.config]\n{}a = 1", "a.".repeat(deep)),
            format!("[component.a.config]\na = {}1{}", "[".repeat(60), "]".repeat(60)),
        ] {
            assert!(parse(&project, &text).is_err());
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "([\\[\\]a-z.=\"{}, \\n#0-9~/*é]|component|limits|path|grant|dirs){0,40}") {
            let folder = Path::new("/nonexistent/toolcell.toml");
            let _ = Config::parse(&text, folder, "toolcell.toml", None);
        }
    }
}
