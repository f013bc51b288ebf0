//! The audit.

use super::*;
use crate::config::{Detail, Key, Place};

#[test]
fn an_audit_is_kept_where_it_is_set() {
    let project = project();
    let audit = |text: &str| parse(&project, text).unwrap().audit;
    assert_eq!(audit(""), None);
    let default = audit("[audit]").unwrap();
    assert_eq!((default.place, default.arguments, default.fsync), (Place::Default, Detail::Hash, false));
    let set =
        "[audit]\nfile = \"logs/a.jsonl\"\narguments = \"full\"\nfsync = true\nkey = { file = \"~/key\" }";
    let set = audit(set).unwrap();
    assert_eq!(set.place, Place::File(project.path().join("logs/a.jsonl")));
    assert_eq!((set.arguments, set.fsync), (Detail::Full, true));
    assert_eq!(set.key, Some(Key::File(project.path().join("home/key"))));
    let key = "[audit]\nfolder = \"logs\"\nkey.env = \"AUDIT_KEY\"";
    assert_eq!(audit(key).unwrap().key, Some(Key::Env("AUDIT_KEY".to_owned())));
    insta::assert_snapshot!(refusals(&[
        "audit = true",
        "[audit]\npath = \"a\"",
        "[audit]\nfolder = \"a\"\nfile = \"b\"",
        "[audit]\nfolder = \"tool.wasm\"",
        "[audit]\nfile = \"src\"",
        "[audit]\nfile = \"\"",
        "[audit]\narguments = \"none\"",
        "[audit]\nfsync = \"yes\"",
        "[audit]\nkey = \"0123456789abcdef\"",
        "[audit]\nkey = {}",
        "[audit]\nkey = { env = \"A\", file = \"b\" }",
        "[audit]\nkey = { env = \"\" }",
    ]), @r#"
    audit = true
      → toolcell.toml:1: `audit`: invalid type: boolean `true`, expected a table

    [audit]
    path = "a"
      → toolcell.toml:2: `audit.path`: unknown key; known here: `folder`, `file`, `arguments`, `fsync`, `key`

    [audit]
    folder = "a"
    file = "b"
      → toolcell.toml:3: `audit.file`: there is `folder` too; keep one of them

    [audit]
    folder = "tool.wasm"
      → toolcell.toml:2: `audit.folder`: is not a folder; write `file` for a file

    [audit]
    file = "src"
      → toolcell.toml:2: `audit.file`: is a folder; write `folder` for one

    [audit]
    file = ""
      → toolcell.toml:2: `audit.file`: a path must not be empty nor contain a zero byte; `.` is this file's folder

    [audit]
    arguments = "none"
      → toolcell.toml:2: `audit.arguments`: unknown variant `none`, expected `hash` or `full`

    [audit]
    fsync = "yes"
      → toolcell.toml:2: `audit.fsync`: invalid type: string, expected a boolean

    [audit]
    key = "0123456789abcdef"
      → toolcell.toml:2: `audit.key`: invalid type: string, expected a table with `env` or `file`

    [audit]
    key = {}
      → toolcell.toml:2: `audit.key`: write either `{ env = "NAME" }` or `{ file = "PATH" }`

    [audit]
    key = { env = "A", file = "b" }
      → toolcell.toml:2: `audit.key`: write either `{ env = "NAME" }` or `{ file = "PATH" }`

    [audit]
    key = { env = "" }
      → toolcell.toml:2: `audit.key.env`: `` is no variable's name
    "#);
}
