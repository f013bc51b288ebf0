//! The text of a new configuration, and edits that keep the comments of an existing one.

use std::path::Path;

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value, value};

use super::names::component_name_fits;
use crate::error::{Error, Result};
use crate::policy::{Access, DirGrant, HttpGrant, StateScope};
use crate::schema::nearest;

/// The `toolcell.toml` that `toolcell init` writes: the shipped tools, reading this folder.
pub fn starting_text() -> &'static str {
    include_str!("starting.toml")
}

/// A component to be added to a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewComponent {
    /// Its name.
    pub name: String,
    /// Its `path` as it is to be written.
    pub path: String,
    /// Its directories, with hosts as they are to be written.
    pub dirs: Vec<DirGrant>,
    /// Where it may send requests over HTTP.
    pub http: Vec<HttpGrant>,
    /// What it may keep between calls.
    pub state: StateScope,
}

impl NewComponent {
    /// A component with nothing granted.
    pub fn new(name: impl Into<String>, path: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            path: path.into(),
            dirs: Vec::new(),
            http: Vec::new(),
            state: StateScope::None,
        }
    }

    /// Grants a directory.
    #[must_use]
    pub fn dir(mut self, dir: DirGrant) -> Self {
        self.dirs.push(dir);
        self
    }

    /// Grants requests: to an origin, all of them or those that only read.
    #[must_use]
    pub fn http(mut self, entry: HttpGrant) -> Self {
        self.http.push(entry);
        self
    }

    /// Lets it keep values.
    #[must_use]
    pub fn state(mut self, scope: StateScope) -> Self {
        self.state = scope;
        self
    }
}

/// The name that a component's file suggests: `My-Tool.wasm` is `my-tool`.
pub fn component_name(file: &Path) -> Option<String> {
    let stem = file.file_stem()?.to_str()?.to_ascii_lowercase();
    let name: String = stem
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '-' })
        .skip_while(|letter| !letter.is_ascii_lowercase())
        .take(64)
        .collect();
    (!name.is_empty()).then_some(name)
}

/// The text of a configuration with `component` added at its end; comments and order stay.
///
/// # Errors
/// When the text is no TOML, the name cannot be one, or it is taken.
pub fn add_component(text: &str, component: &NewComponent) -> Result<String> {
    let NewComponent { name, path, dirs, http, state } = component;
    let wrong = |message: String| Error::Config { at: format!("component.{name}"), message };
    component_name_fits(name).map_err(wrong)?;
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| wrong(format!("the file is no TOML: {}", error.message())))?;
    let components = document.entry("component").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let components = components.as_table_mut().ok_or_else(|| {
        wrong("`component` is not written as tables `[component.NAME]`; add it by hand".to_owned())
    })?;
    if components.contains_key(name) {
        return Err(wrong("there is a component of that name; give another, or edit its table".to_owned()));
    }
    let mut table = Table::new();
    table.insert("path", value(path.as_str()));
    table.decor_mut().set_prefix(if text.trim().is_empty() { "" } else { "\n" });
    if !dirs.is_empty() || !http.is_empty() || *state != StateScope::None {
        let mut grant = Table::new();
        if !dirs.is_empty() {
            grant.insert("dirs", value(dirs_array(dirs).map_err(wrong)?));
        }
        if !http.is_empty() {
            grant.insert("http", value(http.iter().map(http_value).collect::<Array>()));
        }
        if *state != StateScope::None {
            grant.insert("state", value(state.as_str()));
        }
        grant.decor_mut().set_prefix("\n");
        table.insert("grant", Item::Table(grant));
    }
    components.insert(name, Item::Table(table));
    Ok(document.to_string())
}

/// The text of a configuration without the component of that name; what is said right above its table goes with it, and every
/// other comment stays.
///
/// # Errors
/// When the text is no TOML, or there is no such component.
pub fn remove_component(text: &str, name: &str) -> Result<String> {
    let wrong = |message: String| Error::Config { at: format!("component.{name}"), message };
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| wrong(format!("the file is no TOML: {}", error.message())))?;
    let components = document.get_mut("component").and_then(Item::as_table_like_mut);
    if components.as_ref().is_none_or(|components| !components.contains_key(name)) {
        let known: Vec<&str> = components.iter().flat_map(|them| them.iter().map(|(name, _)| name)).collect();
        let hint = match (nearest(name, known.iter().copied()).first(), known.is_empty()) {
            (Some(near), _) => format!("; did you mean `{near}`?"),
            (None, false) => format!("; there are {}", known.join(", ")),
            (None, true) => String::new(),
        };
        return Err(wrong(format!("there is no component of that name{hint}")));
    }
    components.and_then(|components| components.remove(name));
    let left = document.to_string();
    // What is said of the file as a whole may stand above its first table.
    let heading: String = text.split_inclusive('\n').take_while(|line| line.starts_with('#')).collect();
    let is_of_the_file = text.get(heading.len()..).is_some_and(|rest| rest.starts_with('\n'));
    match is_of_the_file && !left.starts_with(&heading) {
        true => Ok(format!("{heading}{left}")),
        false => Ok(left),
    }
}

fn http_value(entry: &HttpGrant) -> Value {
    let origin = entry.origin.to_string();
    if !entry.read_only {
        return origin.into();
    }
    let mut table = InlineTable::new();
    table.insert("origin", origin.into());
    table.insert("read_only", true.into());
    Value::InlineTable(table)
}

fn dirs_array(dirs: &[DirGrant]) -> Result<Array, String> {
    let mut array = Array::new();
    for dir in dirs {
        let host = dir.host.to_str().ok_or("a folder's path must be UTF-8 to be written in the file")?;
        let mut entry = InlineTable::new();
        entry.insert("host", host.into());
        entry.insert("guest", dir.guest.as_str().into());
        let access = match dir.access {
            Access::Read => "read",
            Access::ReadWrite => "read-write",
        };
        entry.insert("access", access.into());
        if !dir.deny.is_empty() {
            entry.insert("deny", Value::Array(dir.deny.iter().map(String::as_str).collect()));
        }
        array.push(entry);
    }
    Ok(array)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;
    use crate::config::Config;

    fn parse(text: &str) -> Result<Config> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("my.wasm"), "").unwrap();
        Config::parse(text, &folder.path().join("toolcell.toml"), "toolcell.toml", None)
    }

    #[test]
    fn the_starting_text_and_the_example_are_valid_and_only_read() {
        for text in [starting_text(), include_str!("../../../toolcell.toml")] {
            let config = parse(text).unwrap();
            let names: Vec<&str> =
                config.components.iter().map(|component| component.name.as_str()).collect();
            assert_eq!(names, ["basics", "files"]);
            let dirs: Vec<&DirGrant> =
                config.components.iter().flat_map(|component| &component.grant.dirs).collect();
            let [work] = dirs.as_slice() else { unreachable!() };
            assert_eq!((work.guest.as_str(), work.access), ("/work", Access::Read));
            assert!(work.deny.iter().any(|pattern| pattern == ".git/**"));
        }
    }

    #[test]
    fn the_commented_settings_of_the_starting_text_are_valid_too() {
        let uncommented: String = starting_text()
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(setting)
                    if setting.starts_with('[') || setting.contains(" = \"") || setting.contains(" = 2") =>
                {
                    // The one comment that speaks about a setting in a sentence begins with a backquote.
                    format!("{}\n", setting)
                }
                _ => format!("{line}\n"),
            })
            .filter(|line| !line.starts_with('`'))
            .collect();
        let config = parse(&uncommented).unwrap();
        assert_eq!(config.limits.iter().count(), 2);
    }

    #[test]
    fn a_component_is_added_and_comments_stay() {
        let text = "# mine\n[limits] # of all\ntimeout = \"1s\"\n\n[component.files]\npath = \"builtin:files\" # shipped\n";
        let component = NewComponent::new("my", "my.wasm")
            .dir(DirGrant::new(".", "/work", Access::ReadWrite).deny("toolcell.toml").deny("*.\"x"));
        let added = add_component(text, &component).unwrap();
        insta::assert_snapshot!(added, @r#"
        # mine
        [limits] # of all
        timeout = "1s"

        [component.files]
        path = "builtin:files" # shipped

        [component.my]
        path = "my.wasm"

        [component.my.grant]
        dirs = [{ host = ".", guest = "/work", access = "read-write", deny = ["toolcell.toml", '*."x'] }]
        "#);
        assert!(parse(&added).unwrap().components.iter().any(|component| component.name == "my"));

        let fresh = add_component("", &NewComponent::new("my", "my.wasm")).unwrap();
        assert_eq!(fresh, "[component.my]\npath = \"my.wasm\"\n");
        let twice = add_component(&added, &component).unwrap_err().to_string();
        assert!(twice.contains("there is a component of that name"), "{twice}");
    }

    #[test]
    fn a_component_is_removed_with_all_of_its_tables_and_nothing_else() {
        let text = "# mine\n\n# of it\n[component.my]\npath = \"my.wasm\"\n\n[component.my.grant]\nstate = \"call\"\n\n\
                    # of others\n[component.files]\npath = \"builtin:files\" # shipped\n";
        let left = remove_component(text, "my").unwrap();
        assert_eq!(left, "# mine\n\n# of others\n[component.files]\npath = \"builtin:files\" # shipped\n");
        assert_eq!(remove_component(&left, "files").unwrap(), "# mine\n");
        let inline = "component = { a = { path = \"builtin:files\" }, b = { path = \"builtin:basics\" } }\n";
        let left = remove_component(inline, "a").unwrap();
        assert_eq!(left, "component = { b = { path = \"builtin:basics\" } }\n");
        assert_eq!(remove_component("component.a.path = \"x\"\n", "a").unwrap(), "");
        for (text, name, told) in [
            (text, "fils", "did you mean `files`?"),
            (text, "weather", "there are my, files"),
            ("", "my", "there is no component of that name"),
            ("component = 3", "my", "there is no component of that name"),
            ("[", "my", "no TOML"),
        ] {
            let error = remove_component(text, name).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_added_is_refused() {
        let component = NewComponent::new("my", "my.wasm");
        for text in ["[", "component = 3", "[[component]]"] {
            assert!(add_component(text, &component).is_err(), "{text}");
        }
        assert!(add_component("", &NewComponent::new("My", "my.wasm")).is_err());
        let inline = add_component("component = { a = { path = \"builtin:a\" } }", &component);
        assert!(inline.unwrap_err().to_string().contains("add it by hand"));
    }

    #[test]
    fn a_file_suggests_a_name() {
        for (file, name) in [
            ("a/My-Tool.wasm", Some("my-tool")),
            ("x.y.wasm", Some("x-y")),
            ("9 lives.wasm", Some("lives")),
            ("é.wasm", None),
            ("..", None),
        ] {
            assert_eq!(component_name(Path::new(file)).as_deref(), name, "{file}");
        }
    }
}
