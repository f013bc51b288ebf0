//! A call as it is written on a command line: the tool, its arguments in every form, metadata.
//!
//! The forms of arguments: JSON, `-` for JSON on standard input, `@FILE` for JSON in a file, and `--arg`, which adds
//! members one by one. Given together, they are one object, and a member that is given twice is an error.

use std::io::Read;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::{Map, Value};
use toolcell::call::Arguments;
use toolcell::schema::{Bounds, RepairMode, parse_arguments};
use toolcell::{Runtime, ToolCall};

use crate::toolset::name_and_value;

/// What is read of standard input or a file: far above any limit of arguments, so that the limit's own error speaks.
const MAX_BYTES: u64 = 256 << 20;

/// A tool and its arguments.
#[derive(Args)]
pub(crate) struct ToolArgs {
    /// The tool; may be left out where there is one
    tool: Option<String>,
    /// The arguments as a JSON object; `-` reads them from standard input, `@FILE` from a file
    #[arg(value_name = "JSON")]
    arguments: Option<String>,
    /// Add one argument: NAME=TEXT for text (or what the tool's type makes of it), NAME:=JSON for any value
    #[arg(long = "arg", value_name = "NAME=TEXT|NAME:=JSON", allow_hyphen_values = true)]
    members: Vec<String>,
    /// Add metadata that the tool can read; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    meta: Vec<String>,
}

impl ToolArgs {
    /// The name of the tool, if the command line has it.
    pub fn name(&self) -> Option<&str> {
        self.words().0
    }

    /// The tool and the arguments: a first word that is no name is the arguments of the only tool.
    fn words(&self) -> (Option<&str>, Option<&str>) {
        match (self.tool.as_deref(), self.arguments.as_deref()) {
            (Some(word), None)
                if !word.starts_with(|first: char| first.is_alphanumeric() || first == '_') =>
            {
                (None, Some(word))
            }
            words => words,
        }
    }

    /// The call, of the only tool of `runtime` if none is named.
    pub fn call(&self, runtime: &Runtime) -> anyhow::Result<ToolCall> {
        let name = match self.name() {
            Some(name) => name.to_owned(),
            None => only_tool(runtime)?,
        };
        let mut call = ToolCall::new(name, self.arguments()?);
        for (name, value) in metadata(&self.meta)? {
            call = call.meta(name, value);
        }
        Ok(call)
    }

    fn arguments(&self) -> anyhow::Result<Arguments> {
        let text = self.words().1.map(text_of).transpose()?;
        if self.members.is_empty() {
            return Ok(text.unwrap_or_else(|| "{}".to_owned()).into());
        }
        let mut object = match text {
            None => Map::new(),
            Some(text) => match parse_arguments(&text, bounds(), RepairMode::Off) {
                Ok((Value::Object(object), _)) => object,
                // What cannot be read is refused by the call itself, with all it has to say.
                _ => return Ok(text.into()),
            },
        };
        for written in &self.members {
            let (name, value) = member(written)?;
            if object.insert(name.clone(), value).is_some() {
                bail!("the argument `{name}` is given twice; a list is written `--arg {name}:=[1,2]`");
            }
        }
        Ok(Value::Object(object).into())
    }
}

/// What `--meta` gives, each name once.
pub(crate) fn metadata(entries: &[String]) -> anyhow::Result<Vec<(&str, &str)>> {
    let mut all: Vec<(&str, &str)> = Vec::new();
    for entry in entries {
        let (name, value) = name_and_value("--meta", entry)?;
        if all.iter().any(|(other, _)| *other == name) {
            bail!("--meta gives `{name}` twice");
        }
        all.push((name, value));
    }
    Ok(all)
}

/// The name of the only tool.
pub(crate) fn only_tool(runtime: &Runtime) -> anyhow::Result<String> {
    let tools = runtime.list();
    match tools.as_slice() {
        [tool] => Ok(tool.name().to_owned()),
        [] => bail!("there is no tool; `toolcell add FILE` adds a component"),
        tools => {
            let names: Vec<&str> = tools.iter().take(20).map(|tool| tool.name()).collect();
            let more = if tools.len() > names.len() { ", …" } else { "" };
            bail!("there are {} tools, so name one: {}{more}", tools.len(), names.join(", "))
        }
    }
}

fn bounds() -> Bounds {
    Bounds { bytes: usize::try_from(MAX_BYTES).unwrap_or(usize::MAX), ..Bounds::default() }
}

/// The text that the word stands for.
fn text_of(word: &str) -> anyhow::Result<String> {
    if word == "-" {
        return read("standard input", std::io::stdin().lock());
    }
    match word.strip_prefix('@') {
        None => Ok(word.to_owned()),
        Some("") => bail!("`@` names no file; write @FILE"),
        Some(name) => {
            let file = std::fs::File::open(name).with_context(|| format!("cannot read {name}"))?;
            read(name, file)
        }
    }
}

/// A whole text from outside, bounded. The mark that some editors and shells put before UTF-8 is no part of it.
pub(crate) fn read(what: &str, source: impl Read) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    source.take(MAX_BYTES).read_to_end(&mut bytes).with_context(|| format!("cannot read {what}"))?;
    let mut text = String::from_utf8(bytes).ok().with_context(|| format!("{what} is not UTF-8 text"))?;
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len_utf8());
    }
    Ok(text)
}

const BYTE_ORDER_MARK: char = '\u{feff}';

/// `NAME=TEXT` or `NAME:=JSON`.
fn member(written: &str) -> anyhow::Result<(String, Value)> {
    let Some((name, text)) = written.split_once('=') else {
        bail!("--arg `{written}`: write NAME=TEXT, or NAME:=JSON for other values");
    };
    let (name, value) = match name.strip_suffix(':') {
        None => (name, Value::String(text.to_owned())),
        Some(name) => (name, json(name, text)?),
    };
    if name.is_empty() {
        bail!("--arg `{written}`: the name before `=` is empty");
    }
    Ok((name.to_owned(), value))
}

/// One JSON value, by the same strict reader as whole arguments.
fn json(name: &str, text: &str) -> anyhow::Result<Value> {
    let wrong = |why: &str| anyhow::anyhow!("--arg {name}: the text after `:=` is no JSON value{why}");
    let wrapped = format!("{{\"value\":{text}\n}}");
    match parse_arguments(&wrapped, bounds(), RepairMode::Off) {
        Ok((Value::Object(mut object), _)) if object.len() == 1 => {
            object.shift_remove("value").ok_or_else(|| wrong(""))
        }
        Ok(_) => Err(wrong("")),
        Err(error) => Err(wrong(&format!(" ({error})"))),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use serde_json::json;

    use super::*;

    fn args(tool: &str, arguments: Option<&str>, members: &[&str]) -> ToolArgs {
        ToolArgs {
            tool: Some(tool.to_owned()),
            arguments: arguments.map(str::to_owned),
            members: members.iter().map(|member| (*member).to_owned()).collect(),
            meta: Vec::new(),
        }
    }

    #[test]
    fn each_form_is_the_value_that_it_says() {
        for (json, members, expected) in [
            (None, vec!["a=1"], json!({ "a": "1" })),
            (None, vec!["a=", "b=x=y"], json!({ "a": "", "b": "x=y" })),
            (None, vec!["a=-5", "b:=-5"], json!({ "a": "-5", "b": -5 })),
            (None, vec!["a:={\"x\":[1,{\"y\":null}]}"], json!({ "a": { "x": [1, { "y": null }] } })),
            (Some(r#"{"a":1}"#), vec!["b:=[1,2]"], json!({ "a": 1, "b": [1, 2] })),
        ] {
            let arguments = args("t", json, &members).arguments().unwrap();
            assert_eq!(arguments, Arguments::Value(expected), "{members:?}");
        }
    }

    #[test]
    fn a_mark_before_the_text_is_no_part_of_it() {
        assert_eq!(read("it", "\u{feff}{\"a\":1}".as_bytes()).unwrap(), "{\"a\":1}");
        assert_eq!(read("it", "\u{feff}\u{feff}".as_bytes()).unwrap(), "\u{feff}");
        assert!(read("it", b"\xff\xfe{\0".as_slice()).is_err(), "UTF-16");
    }

    #[test]
    fn nothing_is_dropped_in_silence() {
        for (json, member, told) in [
            (None, "a", "NAME=TEXT"),
            (None, "=1", "name before `=` is empty"),
            (None, ":=1", "name before `=` is empty"),
            (None, "a:=", "no JSON value"),
            (None, "a:={", "no JSON value"),
            (None, "a:=1,\"b\":2", "no JSON value"),
            (None, "a:={\"x\":1,\"x\":2}", "no JSON value"),
            (None, "a:=1}{", "no JSON value"),
            (Some(r#"{"a":1}"#), "a=2", "`a` is given twice"),
        ] {
            let error = args("t", json, &[member]).arguments().unwrap_err().to_string();
            assert!(error.contains(told), "{member}: {error}");
        }
        let twice = args("t", None, &["ids=1", "ids=2"]).arguments().unwrap_err().to_string();
        assert!(twice.contains("--arg ids:=[1,2]"), "{twice}");
    }

    #[test]
    fn a_first_word_that_is_no_name_is_the_arguments() {
        for (word, expected) in [
            ("add", (Some("add"), None)),
            ("{}", (None, Some("{}"))),
            ("-", (None, Some("-"))),
            ("@f.json", (None, Some("@f.json"))),
            ("", (None, Some(""))),
            ("Add", (Some("Add"), None)),
        ] {
            assert_eq!(args(word, None, &[]).words(), expected, "{word}");
        }
        assert_eq!(args("{}", Some("{}"), &[]).words(), (Some("{}"), Some("{}")));
    }
}
