//! The words of a documentation comment: prose, and tags in the places where tags may stand.

use std::str::FromStr;

use serde_json::{Number, Value};

use crate::{MemberDoc, Need, ToolDoc};

/// Tags that may end the text of a parameter, field or case.
const MEMBER_TAGS: [&str; 5] = ["minimum", "maximum", "pattern", "default", "secret"];

const FUNCTION_TAGS: &str = "`@param`, `@name`, `@title`, `@read-only`, `@destructive`, `@idempotent`, \
                             `@concurrency-safe`, `@open-world` and `@example`";

/// What a constraint can be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An integer or a float: `@minimum`, `@maximum`.
    Number,
    /// A string: `@pattern`.
    Text,
    /// Anything else.
    Other,
    /// No value at all: an enum's case, a flag.
    Nothing,
}

/// Reads a function's comment.
pub(crate) fn function(text: &str, params: &[(&str, Kind)]) -> Result<ToolDoc, String> {
    let mut doc = ToolDoc::default();
    let mut prose: Vec<&str> = Vec::new();
    let mut members: Vec<(&str, Kind, String)> = Vec::new();
    let mut in_param = false;
    for line in text.lines().map(str::trim) {
        match leading_tag(line) {
            Some((tag, _)) if MEMBER_TAGS.contains(&tag) => {
                let last = members.last_mut().filter(|_| in_param).ok_or_else(|| {
                    format!("`@{tag}` belongs to a parameter: write it at the end of an `@param NAME` line")
                })?;
                push_line(&mut last.2, line);
            }
            Some(("param", rest)) => {
                let (name, text) = first_word(rest);
                let (name, kind) = param(name, params)?;
                if members.iter().any(|(other, ..)| *other == name) {
                    return Err(format!("`@param {name}` is written twice"));
                }
                members.push((name, kind, text.to_owned()));
                in_param = true;
            }
            Some((tag, rest)) => {
                function_tag(&mut doc, tag, rest)?;
                in_param = false;
            }
            None if line.is_empty() => {
                in_param = false;
                prose.push(line);
            }
            None => match members.last_mut().filter(|_| in_param) {
                Some((.., text)) => push_line(text, line),
                None => prose.push(line),
            },
        }
    }
    for (name, kind, text) in members {
        let member = member(&text, kind).map_err(|message| format!("`@param {name}`: {message}"))?;
        doc.params.insert(name.to_owned(), member);
    }
    if doc.hints.read_only == Some(true) && doc.hints.destructive == Some(true) {
        return Err("`@read-only` and `@destructive` contradict each other".to_owned());
    }
    doc.description = paragraph(&prose);
    Ok(doc)
}

/// Reads the comment of a parameter, field, case or flag: text, then tags.
pub(crate) fn member(text: &str, kind: Kind) -> Result<MemberDoc, String> {
    for line in text.lines().map(str::trim) {
        if let Some((tag, _)) = leading_tag(line)
            && !MEMBER_TAGS.contains(&tag)
        {
            return Err(format!("unknown tag `@{tag}`; here may stand {}", listed(MEMBER_TAGS)));
        }
    }
    let (prose, mut tail) = text.split_at(next_member_tag(text).unwrap_or(text.len()));
    if let Some(tag) = misspelt(prose) {
        return Err(format!("unknown tag `@{tag}`; here may stand {}", listed(MEMBER_TAGS)));
    }
    let mut doc = MemberDoc { description: some_text(prose), ..MemberDoc::default() };
    while !tail.trim_start().is_empty() {
        tail = member_tag(&mut doc, tail.trim_start(), kind)?;
    }
    consistent(&doc)?;
    Ok(doc)
}

/// Reads a world's comment: the instructions and what the component needs.
pub(crate) fn world(text: &str) -> Result<(Option<String>, Vec<Need>), String> {
    let mut prose = Vec::new();
    let mut needs = Vec::new();
    for line in text.lines().map(str::trim) {
        match leading_tag(line) {
            Some(("needs", rest)) => needs.push(need(rest)?),
            Some((tag, _)) => return Err(format!("unknown tag `@{tag}`; a world's comment knows `@needs`")),
            None => prose.push(line),
        }
    }
    Ok((paragraph(&prose), needs))
}

/// Reads a type's comment, which has no tags.
pub(crate) fn type_text(text: &str) -> Result<Option<String>, String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    match lines.iter().find_map(|line| leading_tag(line)) {
        Some((tag, _)) => {
            Err(format!("`@{tag}` cannot stand at a type; write it at a field, case or parameter"))
        }
        None => Ok(paragraph(&lines)),
    }
}

fn function_tag(doc: &mut ToolDoc, tag: &str, rest: &str) -> Result<(), String> {
    match tag {
        "name" => set(&mut doc.name, tag, tool_name(rest)?),
        "title" if rest.is_empty() => Err("`@title` has no text".to_owned()),
        "title" => set(&mut doc.title, tag, rest.to_owned()),
        "read-only" => set(&mut doc.hints.read_only, tag, claim(tag, rest)?),
        "destructive" => set(&mut doc.hints.destructive, tag, claim(tag, rest)?),
        "idempotent" => set(&mut doc.hints.idempotent, tag, claim(tag, rest)?),
        "concurrency-safe" => set(&mut doc.hints.concurrency_safe, tag, claim(tag, rest)?),
        "open-world" => set(&mut doc.hints.open_world, tag, claim(tag, rest)?),
        "example" => match serde_json::from_str(rest) {
            Ok(example @ Value::Object(_)) => {
                doc.examples.push(example);
                Ok(())
            }
            Ok(_) => Err("`@example` is no JSON object; write the arguments as one, on one line".to_owned()),
            Err(error) => Err(format!("`@example` is no JSON object on one line: {error}")),
        },
        _ => Err(format!("unknown tag `@{tag}`; at a function may stand {FUNCTION_TAGS}")),
    }
}

/// Reads one tag with its value; returns what follows.
fn member_tag<'a>(doc: &mut MemberDoc, tail: &'a str, kind: Kind) -> Result<&'a str, String> {
    let (word, rest) = first_word(tail);
    let tag = word.strip_prefix('@').filter(|tag| MEMBER_TAGS.contains(tag)).ok_or_else(|| {
        format!("`{word}` stands between or after tags; tags come last and are {}", listed(MEMBER_TAGS))
    })?;
    applies(tag, kind)?;
    match tag {
        "minimum" | "maximum" => {
            let (value, rest) = first_word(rest);
            let number = Number::from_str(value)
                .map_err(|_| format!("`@{tag} {value}` is no number, write for example `@{tag} 1`"))?;
            set(if tag == "minimum" { &mut doc.minimum } else { &mut doc.maximum }, tag, number)?;
            Ok(rest)
        }
        "pattern" => {
            let (pattern, rest) = rest.split_at(next_member_tag(rest).unwrap_or(rest.len()));
            set(&mut doc.pattern, tag, checked_pattern(pattern.trim())?)?;
            Ok(rest)
        }
        "default" => {
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            let value = values.next().and_then(Result::ok).ok_or_else(no_default)?;
            let rest = rest.get(values.byte_offset()..).unwrap_or_default();
            if rest.starts_with(|next: char| !next.is_whitespace()) {
                return Err(no_default());
            }
            set(&mut doc.default, tag, value)?;
            Ok(rest)
        }
        _ => {
            doc.secret = true;
            Ok(rest)
        }
    }
}

fn no_default() -> String {
    "`@default` is followed by no JSON value; write strings in double quotes".to_owned()
}

fn applies(tag: &str, kind: Kind) -> Result<(), String> {
    match (tag, kind) {
        ("minimum" | "maximum", Kind::Number) | ("pattern", Kind::Text) => Ok(()),
        ("minimum" | "maximum", _) => Err(format!("`@{tag}` needs a number, and this is none")),
        ("pattern", _) => Err("`@pattern` needs a string, and this is none".to_owned()),
        (_, Kind::Nothing) => Err(format!("`@{tag}` needs a value, and this has none")),
        _ => Ok(()),
    }
}

fn checked_pattern(pattern: &str) -> Result<String, String> {
    match regex::Regex::new(pattern) {
        _ if pattern.is_empty() => Err("`@pattern` has no expression".to_owned()),
        Ok(_) => Ok(pattern.to_owned()),
        // The last line says what is wrong; the ones before it draw the expression again.
        Err(error) => {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            Err(format!("`@pattern {pattern}` is no regular expression: {last}"))
        }
    }
}

fn consistent(doc: &MemberDoc) -> Result<(), String> {
    let number = |number: &Option<Number>| number.as_ref().and_then(Number::as_f64);
    let (minimum, maximum) = (number(&doc.minimum), number(&doc.maximum));
    let below = |low: Option<f64>, high: Option<f64>| low.zip(high).is_some_and(|(low, high)| high < low);
    let default = doc.default.as_ref().and_then(Value::as_f64);
    if below(minimum, maximum) {
        return Err("`@minimum` is above `@maximum`".to_owned());
    }
    if below(minimum, default) || below(default, maximum) {
        return Err("`@default` is outside `@minimum` and `@maximum`".to_owned());
    }
    Ok(())
}

fn need(text: &str) -> Result<Need, String> {
    let (capability, rest) = first_word(text);
    let (word, after) = first_word(rest);
    let is_detail = match capability {
        "dirs" => matches!(word, "read" | "read-write"),
        "http" => word.contains("://"),
        "env" | "config" | "secrets" if word.is_empty() => {
            return Err(format!(
                "`@needs {capability}` has no name; write `@needs {capability} NAME reason`"
            ));
        }
        "env" | "config" | "secrets" => true,
        "state" => matches!(word, "call" | "session" | "persistent"),
        _ => {
            return Err(format!(
                "`@needs {capability}` names no capability; they are `dirs`, `http`, `env`, `config`, `secrets` and `state`"
            ));
        }
    };
    let (detail, reason) = if is_detail { (word, after) } else { ("", rest) };
    Ok(Need {
        capability: capability.to_owned(),
        detail: detail.to_owned(),
        reason: reason.trim().to_owned(),
    })
}

fn param<'a>(name: &str, params: &[(&'a str, Kind)]) -> Result<(&'a str, Kind), String> {
    if let Some(found) = params.iter().find(|(other, _)| *other == name) {
        return Ok(*found);
    }
    let names: Vec<String> = params.iter().map(|(name, _)| format!("`{name}`")).collect();
    Err(match names.as_slice() {
        [] => format!("`@param {name}` names no parameter: the function has none"),
        _ => format!("`@param {name}` names no parameter; they are {}", names.join(", ")),
    })
}

fn tool_name(name: &str) -> Result<String, String> {
    let legal = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    match name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(legal)
        && name.len() <= 64
    {
        true => Ok(name.to_owned()),
        false => Err(format!(
            "`@name {name}` is no tool name; write lower-case letters, digits and `_`, a letter first, at most 64 bytes"
        )),
    }
}

fn claim(tag: &str, value: &str) -> Result<bool, String> {
    match value {
        "" | "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("`@{tag}` stands alone on its line, or with `false`")),
    }
}

fn set<T>(slot: &mut Option<T>, tag: &str, value: T) -> Result<(), String> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("`@{tag}` is written twice")),
    }
}

/// The tag that a line begins with, and what follows it. `@` before anything but a lower-case letter is prose.
fn leading_tag(line: &str) -> Option<(&str, &str)> {
    let tag =
        line.strip_prefix('@').filter(|tag| tag.starts_with(|first: char| first.is_ascii_lowercase()))?;
    Some(first_word(tag))
}

/// Where the first member tag begins that is a word of its own.
fn next_member_tag(text: &str) -> Option<usize> {
    text.match_indices('@').map(|(at, _)| at).find(|at| {
        let (before, from) = text.split_at(*at);
        let (word, _) = first_word(from);
        before.chars().next_back().is_none_or(char::is_whitespace)
            && word.strip_prefix('@').is_some_and(|tag| MEMBER_TAGS.contains(&tag))
    })
}

/// A word of the prose that was meant as a tag: one letter off, or another name of the same.
fn misspelt(prose: &str) -> Option<&str> {
    const OTHER_NAMES: [&str; 7] = ["min", "max", "minimal", "maximal", "regex", "secrets", "defaults"];
    let words = prose.split_whitespace().filter_map(|word| word.strip_prefix('@'));
    words
        .into_iter()
        .find(|word| OTHER_NAMES.contains(word) || MEMBER_TAGS.iter().any(|tag| is_near(word, tag)))
}

/// Whether one letter was changed, left out, added or swapped with the next.
fn is_near(word: &str, tag: &str) -> bool {
    let (word, tag) = (word.as_bytes(), tag.as_bytes());
    let same = word.iter().zip(tag).take_while(|(left, right)| left == right).count();
    let (word, tag) = (word.get(same..).unwrap_or_default(), tag.get(same..).unwrap_or_default());
    let swapped =
        matches!((word, tag), ([a, b, word @ ..], [c, d, tag @ ..]) if a == d && b == c && word == tag);
    swapped || word.get(1..) == tag.get(1..) || word.get(1..) == Some(tag) || Some(word) == tag.get(1..)
}

fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    match text.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim()),
        None => (text, ""),
    }
}

fn push_line(text: &mut String, line: &str) {
    text.push('\n');
    text.push_str(line);
}

fn paragraph(lines: &[&str]) -> Option<String> {
    let text = lines.join("\n");
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Prose on one line.
fn some_text(prose: &str) -> Option<String> {
    let text = prose.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

fn listed(tags: [&str; 5]) -> String {
    tags.map(|tag| format!("`@{tag}`")).join(", ")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use serde_json::json;

    use super::*;

    #[test]
    fn a_functions_comment_is_prose_and_tags() {
        let doc = function(
            "Reads a file.\nMail a@b.org @ once.\n\n@param path The file, mail x@default.org,\nrelative. @pattern ^/work/ \
             .*$ @secret\n@param limit Lines.\n@minimum 1 @maximum 9\n@default 5\n\nIt is quick.\n@title Read a file\n\
             @name read\n@read-only\n@open-world false\n@example {\"path\": \"a\"}\n@example {}",
            &[("path", Kind::Text), ("limit", Kind::Number)],
        )
        .unwrap();
        assert_eq!(doc.description.as_deref(), Some("Reads a file.\nMail a@b.org @ once.\n\n\nIt is quick."));
        assert_eq!((doc.name.as_deref(), doc.title.as_deref()), (Some("read"), Some("Read a file")));
        assert_eq!(
            (doc.hints.read_only, doc.hints.open_world, doc.hints.destructive),
            (Some(true), Some(false), None)
        );
        let path = &doc.params["path"];
        assert_eq!(path.description.as_deref(), Some("The file, mail x@default.org, relative."));
        assert_eq!((path.pattern.as_deref(), path.secret), (Some("^/work/ .*$"), true));
        let limit = &doc.params["limit"];
        assert_eq!(limit.description.as_deref(), Some("Lines."));
        assert_eq!((&limit.minimum, &limit.maximum), (&Some(1.into()), &Some(9.into())));
        assert_eq!(limit.default, Some(json!(5)));
        assert_eq!(doc.examples, [json!({"path": "a"}), json!({})]);
    }

    #[test]
    fn values_of_tags_may_hold_spaces_and_at_signs() {
        let doc = member("@default {\"a\": \"x @secret\"} @secret", Kind::Other).unwrap();
        assert_eq!((doc.default, doc.secret, doc.description), (Some(json!({"a": "x @secret"})), true, None));
        let doc = member("A handle like @you. @pattern ^@[a-z @]+$", Kind::Text).unwrap();
        assert_eq!(doc.pattern.as_deref(), Some("^@[a-z @]+$"));
        let doc = member("Write `@default` in quotes.", Kind::Text).unwrap();
        assert_eq!(doc.description.as_deref(), Some("Write `@default` in quotes."));
        let doc = member("x @minimum -0.5 @maximum 18446744073709551615", Kind::Number).unwrap();
        assert_eq!(doc.maximum, Some(u64::MAX.into()));
    }

    #[test]
    fn a_wrong_functions_comment_says_what_is_wrong() {
        let params = [("path", Kind::Text), ("limit", Kind::Number), ("all", Kind::Other)];
        for (text, expected) in [
            ("@param fil x", "`@param fil` names no parameter; they are `path`, `limit`, `all`"),
            ("@param path x\n@param path y", "`@param path` is written twice"),
            ("@readonly", "unknown tag `@readonly`; at a function may stand `@param`"),
            ("@read-only yes", "`@read-only` stands alone"),
            ("@read-only\n@read-only", "`@read-only` is written twice"),
            ("@read-only\n@destructive", "contradict"),
            ("@name Read", "`@name Read` is no tool name"),
            ("@name", "no tool name"),
            ("@title", "`@title` has no text"),
            ("@example [1]", "`@example` is no JSON object; write"),
            ("@example {\"a\":", "`@example` is no JSON object on one line: EOF"),
            ("@minimum 1", "belongs to a parameter"),
            ("@param limit x\n\n@minimum 1", "belongs to a parameter"),
            ("@param limit @minimum one", "`@param limit`: `@minimum one` is no number"),
            ("@param limit @minimum", "is no number"),
            ("@param limit @minimum 1 lines", "`lines` stands between or after tags"),
            ("@param limit @minimum 5 @maximum 4", "`@minimum` is above `@maximum`"),
            ("@param limit @minimum 5 @default 4", "`@default` is outside"),
            ("@param limit @minimum 5 @minimum 6", "`@minimum` is written twice"),
            ("@param limit @pattern x", "`@pattern` needs a string"),
            ("@param path @minimum 1", "`@minimum` needs a number"),
            ("@param path @pattern [", "`@pattern [` is no regular expression: unclosed character class"),
            ("@param path @pattern @secret", "`@pattern` has no expression"),
            ("@param path @default text", "write strings in double quotes"),
            ("@param path @default 1x", "write strings in double quotes"),
            ("@param all @foo", "unknown tag `@foo`; here may stand `@minimum`"),
            ("@param path The path. @patern ^a", "unknown tag `@patern`; here may stand `@minimum`"),
            ("@param limit How many. @max 5", "unknown tag `@max`"),
            ("@param all The key. @secrte", "unknown tag `@secrte`"),
        ] {
            let message = function(text, &params).unwrap_err();
            assert!(message.contains(expected), "{text}: {message}");
        }
        assert!(function("@param x", &[]).unwrap_err().contains("the function has none"));
        assert!(member("@secret", Kind::Nothing).unwrap_err().contains("needs a value"));
        assert!(type_text("A type.\n@secret").unwrap_err().contains("cannot stand at a type"));
    }

    #[test]
    fn needs_have_a_detail_where_the_capability_has_one() {
        let (instructions, needs) = world(
            "Use grep first.\n\n@needs dirs read to search\n@needs dirs to work in\n@needs http https://a.org the data\n\
             @needs secrets api-key for it\n@needs state persistent\n@needs state counts\nThen read.",
        )
        .unwrap();
        assert_eq!(instructions.as_deref(), Some("Use grep first.\n\nThen read."));
        let found: Vec<_> = needs
            .iter()
            .map(|need| (need.capability.as_str(), need.detail.as_str(), need.reason.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("dirs", "read", "to search"),
                ("dirs", "", "to work in"),
                ("http", "https://a.org", "the data"),
                ("secrets", "api-key", "for it"),
                ("state", "persistent", ""),
                ("state", "", "counts"),
            ]
        );
        for (text, expected) in [
            ("@needs root", "names no capability; they are `dirs`"),
            ("@needs", "names no capability"),
            ("@needs env", "`@needs env` has no name"),
            ("@read-only", "unknown tag `@read-only`"),
        ] {
            let message = world(text).unwrap_err();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
