//! The pages of docs/src/reference are what the program, the library and their types say.
//!
//! `TOOLCELL_REFERENCE=write` has them written in place of compared.

mod page;
mod schema;

use std::fs;

use serde_json::Value;
use toolcell::call::ErrorKind;
use toolcell::limits::{Limit, Unit};
use toolcell::{Outcome, Status};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::repository;

use page::Page;
use schema::{Definitions, described, one_of};

/// Writes a page, or compares it with the one that is there.
fn check(name: &str, page: &Page) {
    let path = repository().join("docs/src/reference").join(name);
    let text = page.text();
    if std::env::var("TOOLCELL_REFERENCE").is_ok_and(|value| value == "write") {
        return fs::write(path, text).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    if let Some(line) = difference(&there, &text) {
        panic!(
            "docs/src/reference/{name} is not what the code says, from line {line}; write the pages anew:\n\
             TOOLCELL_REFERENCE=write cargo nextest run --locked --workspace -E 'test(the_reference_is_generated)'"
        );
    }
}

/// The first line in which two texts differ, counting from 1.
fn difference(one: &str, other: &str) -> Option<usize> {
    let same = one.split('\n').zip(other.split('\n')).take_while(|(one, other)| one == other).count();
    (one != other).then_some(same + 1)
}

/// What the binary prints on standard output.
fn printed(arguments: &[&str]) -> String {
    let ended = CommandLine::cold().run(arguments);
    assert_eq!(ended.code, 0, "{arguments:?}: {}", ended.stderr);
    ended.stdout
}

#[test]
fn configuration() {
    let schema = toolcell::config::schema();
    let mut page = Page::new(
        "Configuration",
        "Every table and key of `toolcell.toml`. `toolcell config schema` prints the same as a JSON Schema, which editors read; \
         `toolcell config show` prints what holds, with every default and where each value was set. A key that is not here is \
         an error.",
    );
    for (name, value) in schema["properties"].as_object().unwrap() {
        table(&mut page, name, value);
    }
    check("configuration.md", &page);
}

/// A table of the configuration, and the tables in it after it.
fn table(page: &mut Page, address: &str, schema: &Value) {
    let (heading, schema) = match (&schema["type"], &schema["additionalProperties"]) {
        (Value::String(kind), _) if kind == "array" => (format!("[[{address}]]"), &schema["items"]),
        (_, named @ Value::Object(_)) => (format!("[{address}.NAME]"), named),
        _ => (format!("[{address}]"), schema),
    };
    let inner = heading.trim_matches(['[', ']']).to_owned();
    page.heading(&format!("`{heading}`"));
    page.paragraph(&described(schema));
    if is_limits(schema) && address != "limits" {
        page.paragraph("The limits of [Limits](limits.md), but for those of the runtime as a whole.");
        return;
    }
    let properties = schema["properties"].as_object().unwrap();
    let required =
        |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let (tables, keys): (Vec<_>, Vec<_>) = properties.iter().partition(|(_, value)| is_table(value));
    let rows = keys.iter().map(|(name, value)| {
        let needed = if required(name) { " Required." } else { "" };
        [format!("`{name}`"), schema::kind(value), format!("{}{needed}", schema::meaning(value))]
    });
    page.table(["key", "value", "meaning"], rows);
    for (name, value) in tables {
        table(page, &format!("{inner}.{name}"), value);
    }
}

/// Whether a value is shown as a table of its own.
fn is_table(schema: &Value) -> bool {
    let holds_keys = |value: &Value| value["properties"].is_object();
    holds_keys(schema) || holds_keys(&schema["additionalProperties"])
}

fn is_limits(schema: &Value) -> bool {
    Limit::ALL.iter().all(|limit| schema["properties"][limit.name()].is_object())
}

#[test]
fn limits() {
    let mut page = Page::new(
        "Limits",
        "What one call may consume. Each is a key of `[limits]`, `[component.NAME.limits]` and `[component.NAME.tool.TOOL.limits]`: the \
         innermost that is set counts. A call that hits one ends with the kind `resource_limit` unless the limit has a kind of its own, \
         and its error names the limit, what was allowed, what was used, and the setting with its file and line.",
    );
    let rows = Limit::described().into_iter().map(|(limit, meaning)| {
        let unit = match limit.unit() {
            Unit::Time => "time",
            Unit::Bytes => "bytes",
            Unit::Count => "count",
        };
        let flag = limit.flag().map_or(String::new(), |flag| format!("`{flag}`"));
        let default = limit.format(limit.default_value());
        [format!("`{}`", limit.name()), unit.to_owned(), format!("`{default}`"), flag, meaning]
    });
    page.table(["limit", "unit", "default", "flag", "what it bounds"], rows);
    page.paragraph(
        "A time is written as `500ms`, `30s` or `10m`, bytes as `64KiB`, `256MiB` or a number, a count as `1000`, `10k`, `1M` or `100G`.",
    );
    page.heading("The runtime as a whole");
    page.paragraph("These stand in `[limits]` alone, for all calls of a process together.");
    let schema = toolcell::config::schema();
    let properties = schema["properties"]["limits"]["properties"].as_object().unwrap();
    let rows = properties.iter().filter(|(name, _)| Limit::from_name(name).is_none());
    page.table(
        ["setting", "meaning"],
        rows.map(|(name, value)| [format!("`{name}`"), schema::meaning(value)]),
    );
    page.heading("What a model reads of one call");
    page.paragraph("Keys of `[output]`. A result beyond them is cut, and kept whole under a handle: see [Limits](../operating/limits.md).");
    let output = schema["properties"]["output"]["properties"].as_object().unwrap();
    page.table(
        ["setting", "meaning"],
        output.iter().map(|(name, value)| [format!("`{name}`"), schema::meaning(value)]),
    );
    check("limits.md", &page);
}

#[test]
fn error_kinds() {
    let meanings = one_of(&schemars::schema_for!(ErrorKind).into());
    let mut page = Page::new(
        "Error kinds",
        "Why a call failed: `error.kind` of an outcome. `error.message` is for the model, and says what to change in its next call; \
         `error.help` is for the operator, and names the setting with its file and line. *Exit* is the code of `toolcell call`, which is \
         0 for a success, and 2 where the command line or the configuration is wrong and no call was made.",
    );
    let rows = ErrorKind::ALL.map(|kind| {
        let status = serde_json::to_value(kind.status()).unwrap();
        let again = if kind.is_retryable() { "yes" } else { "" };
        [
            format!("`{kind}`"),
            meanings.iter().find(|(name, _)| name == kind.as_str()).unwrap().1.clone(),
            format!("`{}`", status.as_str().unwrap()),
            kind.exit_code().to_string(),
            again.to_owned(),
        ]
    });
    page.table(["kind", "meaning", "status", "exit", "may succeed unchanged"], rows.into_iter());
    page.heading("Status");
    let rows = one_of(&schemars::schema_for!(Status).into());
    page.table(["status", "meaning"], rows.into_iter().map(|(name, meaning)| [format!("`{name}`"), meaning]));
    check("errors.md", &page);
}

#[test]
fn command_line() {
    let mut page = Page::new(
        "Command line",
        "What `toolcell help` prints, command by command. `toolcell completions SHELL` prints completions for a shell.",
    );
    help(&mut page, &[]);
    check("cli.md", &page);
}

/// The help of a command, then of those in it.
fn help(page: &mut Page, command: &[&str]) {
    let text = printed(&[command, &["--help"]].concat());
    page.heading(&format!("`{}`", [&["toolcell"], command].concat().join(" ")));
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    page.block("text", &lines.join("\n"));
    let commands =
        lines.iter().skip_while(|line| **line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = commands.filter(|line| line.chars().position(|letter| letter != ' ') == Some(2));
    for name in names.map(|line| line.split_whitespace().next().unwrap()).filter(|name| *name != "help") {
        help(page, &[command, &[name]].concat());
    }
}

#[test]
fn wit() {
    let mut page = Page::new(
        "WIT",
        "The package `toolcell:tool`, which components include. `toolcell wit -o wit/deps/toolcell-tool` writes it beside a world of \
         your own. What a component does not use of it, it does not import.",
    );
    let line = CommandLine::cold();
    let ended = line.run(&["wit", "-o", "package"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    for name in ["worlds", "types", "context", "events", "files", "tools", "hook"] {
        let text = fs::read_to_string(line.folder().join(format!("package/{name}.wit"))).unwrap();
        page.heading(&format!("`{name}.wit`"));
        page.block("wit", text.trim_end());
    }
    let written = fs::read_dir(line.folder().join("package")).unwrap().map(|entry| entry.unwrap().path());
    assert_eq!(written.filter(|path| path.extension().is_some_and(|end| end == "wit")).count(), 7);
    check("wit.md", &page);
}

#[test]
fn json_lines() {
    let schema: Value = serde_json::from_str(&printed(&["jsonl", "--schema"])).unwrap();
    let definitions = Definitions::new(&schema["$defs"]);
    let mut page = Page::new(
        "JSON lines",
        "What `toolcell jsonl` reads and writes: one JSON object a line. Each request has a `type` and an `id` of the client's choice; each \
         reply carries that `id` unchanged. A request ends with exactly one `hello`, `tools`, `result` or `error`. \
         `toolcell jsonl --schema` prints the same as a JSON Schema.",
    );
    for (title, name) in [("Requests", "Request"), ("Replies", "Reply")] {
        page.heading(title);
        for line in schema["$defs"][name]["oneOf"].as_array().unwrap() {
            let kind = line["properties"]["type"]["const"].as_str().unwrap();
            page.smaller_heading(&format!("`{kind}` ({})", name.to_lowercase()));
            page.paragraph(&described(line));
            definitions.fields(&mut page, line, Some("type"));
        }
    }
    page.heading("What is in them");
    for name in definitions.names().filter(|name| !["Request", "Reply", "Outcome"].contains(name)) {
        definitions.section(&mut page, name);
    }
    page.paragraph("`Outcome` and what is in it are described in [Outcomes](outcome.md).");
    check("jsonl.md", &page);
}

#[test]
fn outcomes() {
    let schema: Value = schemars::generate::SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<Outcome>()
        .into();
    let definitions = Definitions::new(&schema["$defs"]);
    let mut page = Page::new(
        "Outcomes",
        "How a call ended, as one JSON object: what `toolcell call --json` prints, JSON lines carry as `outcome`, and `Runtime::call` returns.",
    );
    page.paragraph(&described(&schema));
    definitions.fields(&mut page, &schema, None);
    for name in definitions.names() {
        definitions.section(&mut page, name);
    }
    check("outcome.md", &page);
}

#[test]
fn a_change_is_told_by_its_line() {
    for (one, other, line) in [
        ("a\nb\n", "a\nb\n", None),
        ("a\nb\n", "a\nc\n", Some(2)),
        ("", "a\n", Some(1)),
        ("a\n", "a\nb\n", Some(2)),
    ] {
        assert_eq!(difference(one, other), line, "{one:?} {other:?}");
    }
}
