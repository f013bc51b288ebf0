//! `$x` and `${x…}`.

use super::pattern::Pattern;
use super::{Bit, Kind, bits, evaluate, number, pattern, text};
use crate::shell::Shell;
use crate::stop::Stop;
use crate::syntax::{Index, Operation, Parameter, Word, parse_word};

/// What a parameter stands for.
enum Value {
    One(Option<String>),
    /// All of an array or of the positional parameters; `star` joins them in quotes.
    All {
        items: Vec<String>,
        star: bool,
    },
}

pub async fn expand(
    shell: &mut Shell,
    parameter: &Parameter,
    quoted: bool,
    out: &mut Vec<Bit>,
) -> Result<(), Stop> {
    let resolved;
    let mut parameter = parameter;
    if parameter.indirect {
        resolved = target(shell, parameter).await?;
        parameter = &resolved;
    }
    match &parameter.operation {
        Operation::Bad => {
            shell.complain(format!("${{{}}}: bad substitution", parameter.name)).await?;
            return Err(Stop::Line(1));
        }
        Operation::Keys => {
            let items = shell.vars.elements(&parameter.name).into_iter().map(|(key, _)| key).collect();
            give(
                shell,
                Value::All { items, star: matches!(parameter.index, Some(Index::Star)) },
                quoted,
                out,
            );
            return Ok(());
        }
        Operation::Names => {
            let items =
                shell.vars.names().into_iter().filter(|name| name.starts_with(&parameter.name)).collect();
            give(shell, Value::All { items, star: false }, quoted, out);
            return Ok(());
        }
        _ => {}
    }
    let value = value(shell, parameter).await?;
    if let Operation::Instead { sign, colon, word } = &parameter.operation {
        return instead(shell, parameter, value, (*sign, *colon, word), quoted, out).await;
    }
    let value = match value {
        Value::One(None) if shell.options.nounset => {
            let sign =
                if parameter.name.starts_with(|letter: char| letter.is_ascii_digit()) { "$" } else { "" };
            shell.complain(format!("{sign}{}: unbound variable", parameter.name)).await?;
            return Err(shell.fatal());
        }
        value => value,
    };
    let value = apply(shell, parameter, value).await?;
    give(shell, value, quoted, out);
    Ok(())
}

/// The parameter whose name the parameter holds.
async fn target(shell: &mut Shell, parameter: &Parameter) -> Result<Parameter, Stop> {
    let holder = Parameter { indirect: false, operation: Operation::Value, ..parameter.clone() };
    let name = match value(shell, &holder).await? {
        Value::One(Some(name)) => name,
        _ => String::new(),
    };
    let (base, index) = match name.split_once('[') {
        None => (name.clone(), None),
        Some((base, rest)) => {
            let index = match rest.trim_end_matches(']') {
                "@" => Index::At,
                "*" => Index::Star,
                inner => match parse_word(inner) {
                    Ok(word) => Index::Of(word),
                    Err(error) => return Err(Stop::Fail(1, error.message)),
                },
            };
            (base.to_owned(), Some(index))
        }
    };
    if base.is_empty() {
        shell.complain(format!("{}: invalid indirect expansion", parameter.name)).await?;
        return Err(Stop::Line(1));
    }
    Ok(Parameter { name: base, index, indirect: false, operation: parameter.operation.clone() })
}

async fn value(shell: &mut Shell, parameter: &Parameter) -> Result<Value, Stop> {
    let name = parameter.name.as_str();
    if matches!(name, "@" | "*") {
        return Ok(Value::All { items: shell.positional.to_vec(), star: name == "*" });
    }
    let array = |shell: &Shell| match name {
        "PIPESTATUS" => Some(shell.pipe_status.iter().map(ToString::to_string).collect()),
        "FUNCNAME" | "BASH_SOURCE" | "BASH_LINENO" => Some(shell.stack(name)),
        _ => None::<Vec<String>>,
    };
    match &parameter.index {
        None => match array(shell) {
            Some(items) => Ok(Value::One(items.into_iter().next())),
            None => Ok(Value::One(shell.parameter(name))),
        },
        Some(Index::At | Index::Star) => {
            let star = matches!(parameter.index, Some(Index::Star));
            let items = array(shell)
                .unwrap_or_else(|| shell.vars.elements(name).into_iter().map(|(_, text)| text).collect());
            Ok(Value::All { items, star })
        }
        Some(Index::Of(word)) => {
            let key = key(shell, name, word).await?;
            if let Some(items) = array(shell) {
                return Ok(Value::One(key.parse().ok().and_then(|index: usize| items.get(index).cloned())));
            }
            Ok(Value::One(shell.vars.element(name, &key)))
        }
    }
}

/// The key that an index names: a text for a map, else a number.
pub async fn key(shell: &mut Shell, name: &str, word: &Word) -> Result<String, Stop> {
    let text = text(shell, word).await?;
    if shell.vars.is_map(name) {
        return Ok(text);
    }
    match evaluate(shell, &text) {
        Ok(value) => Ok(value.to_string()),
        Err(message) => {
            shell.complain(message).await?;
            Err(Stop::Line(1))
        }
    }
}

async fn instead(
    shell: &mut Shell,
    parameter: &Parameter,
    value: Value,
    (sign, colon, word): (char, bool, &Word),
    quoted: bool,
    out: &mut Vec<Bit>,
) -> Result<(), Stop> {
    let missing = match &value {
        Value::One(None) => true,
        Value::One(Some(text)) => colon && text.is_empty(),
        Value::All { items, .. } => items.is_empty() || (colon && items.iter().all(String::is_empty)),
    };
    match (sign, missing) {
        ('+', true) => {}
        ('+', false) | ('-', true) => {
            let mut more = bits(shell, word, quoted).await?;
            // What stood unquoted in the braces is split like the value itself.
            for bit in &mut more {
                if let Bit::Text(_, kind @ Kind::Plain) = bit {
                    *kind = if quoted { Kind::Quoted } else { Kind::Split };
                }
            }
            out.extend(more);
        }
        ('=', true) => {
            let text = text(shell, word).await?;
            let stored = match &parameter.index {
                Some(Index::Of(index)) => {
                    let key = key(shell, &parameter.name, index).await?;
                    shell.vars.set_element(&parameter.name, &key, text.clone())
                }
                _ => shell.vars.set(&parameter.name, text.clone()),
            };
            if let Err(message) = stored {
                shell.complain(message).await?;
                return Err(Stop::Exit(1));
            }
            give(shell, Value::One(Some(text)), quoted, out);
        }
        ('?', true) => {
            let text = text(shell, word).await?;
            let reason = if text.is_empty() { "parameter null or not set".to_owned() } else { text };
            shell.complain(format!("{}: {reason}", parameter.name)).await?;
            return Err(shell.fatal());
        }
        _ => give(shell, value, quoted, out),
    }
    Ok(())
}

async fn apply(shell: &mut Shell, parameter: &Parameter, value: Value) -> Result<Value, Stop> {
    match &parameter.operation {
        Operation::Length => {
            let length = match &value {
                Value::One(text) => text.as_deref().unwrap_or_default().chars().count(),
                Value::All { items, .. } => items.len(),
            };
            Ok(Value::One(Some(length.to_string())))
        }
        Operation::RemoveStart { longest, pattern: word } => {
            let pattern = Pattern::new(&pattern(shell, word).await?);
            Ok(each(value, |text| {
                let letters: Vec<char> = text.chars().collect();
                let cut = pattern.prefix(&letters, 0, *longest).unwrap_or(0);
                letters.iter().skip(cut).collect()
            }))
        }
        Operation::RemoveEnd { longest, pattern: word } => {
            let pattern = Pattern::new(&pattern(shell, word).await?);
            Ok(each(value, |text| {
                let letters: Vec<char> = text.chars().collect();
                let keep = pattern.suffix(&letters, *longest).unwrap_or(letters.len());
                letters.iter().take(keep).collect()
            }))
        }
        Operation::Slice { offset, length } => slice(shell, parameter, value, offset, length.as_ref()).await,
        Operation::Replace { anchor, pattern: word, with } => {
            let pattern = Pattern::new(&pattern(shell, word).await?);
            let with = replacement(shell, with).await?;
            Ok(each(value, |text| replace(&text, &pattern, *anchor, &with)))
        }
        Operation::Case { upper, all, pattern: word } => {
            let pattern =
                if word.is_empty() { None } else { Some(Pattern::new(&pattern(shell, word).await?)) };
            Ok(each(value, |text| change_case(&text, *upper, *all, pattern.as_ref())))
        }
        Operation::Swap { all } => Ok(each(value, |text| swap_case(&text, *all))),
        Operation::Transform(letter) => transform(shell, parameter, value, *letter).await,
        _ => Ok(value),
    }
}

/// The same done to a text, or to every element.
fn each(value: Value, change: impl Fn(String) -> String) -> Value {
    match value {
        Value::One(text) => Value::One(Some(change(text.unwrap_or_default()))),
        Value::All { items, star } => Value::All { items: items.into_iter().map(change).collect(), star },
    }
}

/// What is put in place of a match, in pieces between which the match itself stands: each `&` that is not quoted.
async fn replacement(shell: &mut Shell, word: &Word) -> Result<Vec<String>, Stop> {
    let mut pieces = vec![String::new()];
    for bit in bits(shell, word, false).await? {
        let Bit::Text(text, kind) = bit else { continue };
        let mut rest = text.chars().peekable();
        while let Some(letter) = rest.next() {
            match letter {
                '&' if kind != Kind::Quoted => {
                    pieces.push(String::new());
                    continue;
                }
                // An expansion may hold a backslash that protects.
                '\\' if kind == Kind::Split && matches!(rest.peek(), Some('&' | '\\')) => {
                    add(&mut pieces, rest.next().unwrap_or(letter));
                }
                letter => add(&mut pieces, letter),
            }
        }
    }
    Ok(pieces)
}

fn add(pieces: &mut [String], letter: char) {
    if let Some(last) = pieces.last_mut() {
        last.push(letter);
    }
}

fn replace(text: &str, pattern: &Pattern, anchor: char, with: &[String]) -> String {
    let letters: Vec<char> = text.chars().collect();
    let (mut result, mut at) = (String::new(), 0);
    let part = |from: usize, to: usize| letters.get(from..to).unwrap_or_default().iter().collect::<String>();
    match anchor {
        '#' => match pattern.prefix(&letters, 0, true) {
            Some(end) => return with.join(&part(0, end)) + &part(end, letters.len()),
            None => return text.to_owned(),
        },
        '%' => match pattern.suffix(&letters, true) {
            Some(start) => return part(0, start) + &with.join(&part(start, letters.len())),
            None => return text.to_owned(),
        },
        _ => {}
    }
    while let Some(found) = pattern.find(&letters, at) {
        if found.is_empty() {
            break;
        }
        result.push_str(&part(at, found.start));
        result.push_str(&with.join(&part(found.start, found.end)));
        at = found.end;
        if anchor != '/' {
            break;
        }
    }
    result.push_str(&part(at, letters.len()));
    result
}

fn change_case(text: &str, upper: bool, all: bool, pattern: Option<&Pattern>) -> String {
    let mut changed = String::with_capacity(text.len());
    for (index, letter) in text.chars().enumerate() {
        let wanted = (all || index == 0) && pattern.is_none_or(|pattern| pattern.matches_letters(&[letter]));
        match (wanted, upper) {
            (false, _) => changed.push(letter),
            (true, true) => changed.extend(letter.to_uppercase()),
            (true, false) => changed.extend(letter.to_lowercase()),
        }
    }
    changed
}

fn swap_case(text: &str, all: bool) -> String {
    let mut changed = String::with_capacity(text.len());
    for (index, letter) in text.chars().enumerate() {
        match all || index == 0 {
            true if letter.is_uppercase() => changed.extend(letter.to_lowercase()),
            true => changed.extend(letter.to_uppercase()),
            false => changed.push(letter),
        }
    }
    changed
}

async fn slice(
    shell: &mut Shell,
    parameter: &Parameter,
    value: Value,
    offset: &Word,
    length: Option<&Word>,
) -> Result<Value, Stop> {
    let mut offset = number(shell, offset).await?;
    let length = match length {
        Some(word) => Some(number(shell, word).await?),
        None => None,
    };
    let positional = matches!(parameter.name.as_str(), "@" | "*");
    let (letters, mut items, star) = match value {
        Value::One(text) => (text.unwrap_or_default().chars().collect::<Vec<char>>(), Vec::new(), None),
        Value::All { items, star } => (Vec::new(), items, Some(star)),
    };
    if positional {
        if offset == 0 {
            items.insert(0, shell.name.clone());
        } else if offset > 0 {
            offset -= 1;
        }
    }
    let size = if star.is_some() { items.len() } else { letters.len() };
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    let start = if offset < 0 { offset + size } else { offset };
    if start < 0 || start > size {
        return Ok(match star {
            Some(star) => Value::All { items: Vec::new(), star },
            None => Value::One(Some(String::new())),
        });
    }
    let end = match length {
        None => size,
        Some(length) if length < 0 => size + length,
        Some(length) => start.saturating_add(length).min(size),
    };
    if end < start {
        shell.complain(format!("{}: substring expression < 0", length.unwrap_or(0))).await?;
        return Err(Stop::Line(1));
    }
    let (skip, take) = (usize::try_from(start).unwrap_or(0), usize::try_from(end - start).unwrap_or(0));
    Ok(match star {
        Some(star) => Value::All { items: items.into_iter().skip(skip).take(take).collect(), star },
        None => Value::One(Some(letters.into_iter().skip(skip).take(take).collect())),
    })
}

async fn transform(
    shell: &mut Shell,
    parameter: &Parameter,
    value: Value,
    letter: char,
) -> Result<Value, Stop> {
    Ok(match letter {
        'Q' => each(value, |text| crate::quote::always(&text)),
        'U' => each(value, |text| text.to_uppercase()),
        'u' => each(value, |text| change_case(&text, true, false, None)),
        'L' => each(value, |text| text.to_lowercase()),
        'E' => each(value, |text| {
            String::from_utf8_lossy(&super::escapes(&text, super::Escapes::Ansi).0).into_owned()
        }),
        'A' => Value::One(Some(match value {
            Value::One(Some(text)) => format!("{}={}", parameter.name, crate::quote::always(&text)),
            _ => String::new(),
        })),
        'K' | 'k' if parameter.index.is_some() => {
            let elements = shell.vars.elements(&parameter.name).into_iter();
            let pairs: Vec<String> =
                elements.map(|(key, text)| format!("{key} {}", crate::quote::double(&text))).collect();
            Value::One(Some(pairs.join(" ")))
        }
        'K' | 'k' => each(value, |text| crate::quote::always(&text)),
        'a' => Value::One(Some(if shell.vars.is_map(&parameter.name) {
            "A".to_owned()
        } else if shell.vars.is_array(&parameter.name) {
            "a".to_owned()
        } else {
            String::new()
        })),
        _ => {
            shell.complain(format!("${{{}@{letter}}}: bad substitution", parameter.name)).await?;
            return Err(Stop::Line(1));
        }
    })
}

fn give(shell: &Shell, value: Value, quoted: bool, out: &mut Vec<Bit>) {
    let kind = if quoted { Kind::Quoted } else { Kind::Split };
    match value {
        Value::One(text) => out.push(Bit::Text(text.unwrap_or_default(), kind)),
        Value::All { items, star: true } if quoted => {
            let separator = shell.vars.get("IFS").map_or(Some(' '), |ifs| ifs.chars().next());
            let separator = separator.map(String::from).unwrap_or_default();
            out.push(Bit::Text(items.join(&separator), kind));
        }
        Value::All { items, .. } => {
            for (index, item) in items.into_iter().enumerate() {
                if index > 0 {
                    out.push(Bit::Break);
                }
                out.push(Bit::Text(item, kind));
            }
        }
    }
}
