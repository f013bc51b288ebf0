//! From words to the arguments of a command.

mod arith;
mod escapes;
mod fields;
mod parameter;
mod path;
pub mod pattern;

use std::future::Future;
use std::pin::Pin;

pub use arith::{evaluate, integer};
pub use escapes::{Escapes, escapes};
pub use fields::{Bit, Kind, fields};
pub use parameter::key;

use crate::shell::{Shell, capture};
use crate::stop::Stop;
use crate::syntax::{Part, Word};

/// Fields of all words, split and with wildcards expanded.
pub async fn words(shell: &mut Shell, words: &[Word]) -> Result<Vec<String>, Stop> {
    let mut arguments = Vec::new();
    for word in words {
        if let [Part::Plain(text)] = word.as_slice() {
            if !text.starts_with('~') && !pattern::is_pattern(text) && !text.contains('\\') {
                arguments.push(text.clone());
                continue;
            }
        }
        let bits = bits(shell, word, false).await?;
        for field in fields(&bits, &shell.ifs()) {
            path::expand(shell, &field, &mut arguments);
        }
    }
    Ok(arguments)
}

/// One text, neither split nor with wildcards expanded.
pub async fn text(shell: &mut Shell, word: &Word) -> Result<String, Stop> {
    match word.as_slice() {
        [] => return Ok(String::new()),
        [Part::Quoted(text)] => return Ok(text.clone()),
        [Part::Plain(text)] if !text.contains('~') => return Ok(text.clone()),
        _ => {}
    }
    let bits = bits(shell, word, false).await?;
    Ok(joined(&bits, |text, _| text.to_owned()))
}

/// The value of an assignment, in which a tilde also counts behind a colon.
pub async fn value(shell: &mut Shell, word: &Word) -> Result<String, Stop> {
    let text = text(shell, word).await?;
    let tilde = matches!(word.as_slice(), [Part::Plain(plain), ..] if plain.contains(":~"));
    Ok(if tilde { text.replace(":~/", &format!(":{}/", home(shell))) } else { text })
}

/// A pattern: what was quoted means itself.
pub async fn pattern(shell: &mut Shell, word: &Word) -> Result<String, Stop> {
    let bits = bits(shell, word, false).await?;
    Ok(joined(&bits, |text, kind| if kind == Kind::Quoted { pattern::escape(text) } else { text.to_owned() }))
}

/// A regular expression: what was quoted means itself.
pub async fn regex(shell: &mut Shell, word: &Word) -> Result<String, Stop> {
    let bits = bits(shell, word, false).await?;
    Ok(joined(
        &bits,
        |text, kind| if kind == Kind::Quoted { crate::regex::escape(text) } else { text.to_owned() },
    ))
}

/// The number that a word of arithmetic gives.
pub async fn number(shell: &mut Shell, word: &Word) -> Result<i64, Stop> {
    let text = text(shell, word).await?;
    match evaluate(shell, &text) {
        Ok(value) => Ok(value),
        Err(message) => {
            shell.complain(message).await?;
            Err(Stop::Line(1))
        }
    }
}

fn joined(bits: &[Bit], show: impl Fn(&str, Kind) -> String) -> String {
    let mut joined = String::new();
    for bit in bits {
        match bit {
            Bit::Text(text, kind) => joined.push_str(&show(text, *kind)),
            Bit::Break => joined.push(' '),
        }
    }
    joined
}

fn home(shell: &Shell) -> String {
    shell.vars.get("HOME").unwrap_or_else(|| "/".to_owned())
}

type Bits<'a> = Pin<Box<dyn Future<Output = Result<Vec<Bit>, Stop>> + 'a>>;

/// What a word becomes before it is split.
pub fn bits<'a>(shell: &'a mut Shell, word: &'a Word, quoted: bool) -> Bits<'a> {
    Box::pin(async move {
        let mut bits = Vec::new();
        for (index, part) in word.iter().enumerate() {
            match part {
                Part::Plain(text) if quoted => bits.push(Bit::Text(text.clone(), Kind::Quoted)),
                Part::Plain(text) if index == 0 && text.starts_with('~') => tilde(shell, text, &mut bits),
                Part::Plain(text) => bits.push(Bit::Text(text.clone(), Kind::Plain)),
                Part::Quoted(text) => bits.push(Bit::Text(text.clone(), Kind::Quoted)),
                Part::Double(inner) => {
                    let inner_bits = self::bits(shell, inner, true).await?;
                    // `"$@"` without parameters is nothing at all, other empty quotes are an empty field.
                    if inner_bits.is_empty() && !is_all(inner) {
                        bits.push(Bit::Text(String::new(), Kind::Quoted));
                    }
                    bits.extend(inner_bits);
                }
                Part::Parameter(parameter) => parameter::expand(shell, parameter, quoted, &mut bits).await?,
                Part::Command(list) => {
                    let text = capture(shell, list).await?;
                    bits.push(Bit::Text(text, if quoted { Kind::Quoted } else { Kind::Split }));
                }
                Part::Arithmetic(word) => {
                    let value = number(shell, word).await?;
                    bits.push(Bit::Text(value.to_string(), if quoted { Kind::Quoted } else { Kind::Split }));
                }
                Part::Process { list, out } => {
                    let name = crate::shell::subshell::process(shell, list, *out)?;
                    bits.push(Bit::Text(name, Kind::Quoted));
                }
            }
        }
        Ok(bits)
    })
}

/// Whether a word in quotes may be no field at all.
fn is_all(word: &Word) -> bool {
    match word.as_slice() {
        [Part::Parameter(parameter)] => {
            parameter.name == "@" || matches!(parameter.index, Some(crate::syntax::Index::At))
        }
        _ => false,
    }
}

fn tilde(shell: &Shell, text: &str, bits: &mut Vec<Bit>) {
    let (name, rest) = text.split_at(text.find('/').unwrap_or(text.len()));
    let folder = match name {
        "~" => Some(home(shell)),
        "~+" => Some(shell.cwd.clone()),
        "~-" => shell.vars.get("OLDPWD"),
        _ => None,
    };
    match folder {
        Some(folder) => {
            bits.push(Bit::Text(folder, Kind::Quoted));
            bits.push(Bit::Text(rest.to_owned(), Kind::Plain));
        }
        None => bits.push(Bit::Text(text.to_owned(), Kind::Plain)),
    }
}
