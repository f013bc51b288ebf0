//! `xargs`

use super::options::Spelling;
use crate::files;
use crate::shell::{Shell, invoke};
use crate::stop::{Status, Stop, fail, words};
use crate::stream::Handle;

const SPELLING: Spelling = Spelling::new(
    "0a:d:I:L:n:P:rs:tpxi",
    &[
        ("null", '0'),
        ("arg-file", 'a'),
        ("delimiter", 'd'),
        ("replace", 'I'),
        ("max-args", 'n'),
        ("max-lines", 'L'),
        ("max-procs", 'P'),
        ("no-run-if-empty", 'r'),
        ("verbose", 't'),
    ],
)
.ordered();

/// The bytes of one command line, as systems bound them.
const LINE: usize = 128 << 10;

pub async fn run(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = SPELLING.read(arguments)?;
    let input = match options.value('a') {
        None => shell.stdin(),
        Some(name) => match files::read(shell, name) {
            Ok(handle) => handle,
            Err(error) => return fail(format!("Cannot open input file ‘{name}’: {}", words(&error))),
        },
    };
    let number = |letter| match options.value(letter) {
        None => Ok(None),
        Some(text) => match text.parse::<usize>() {
            Ok(number) if number > 0 => Ok(Some(number)),
            _ => fail(format!("invalid number \"{text}\" for -{letter} option")),
        },
    };
    let replace = options.value('I').or(options.has('i').then_some("{}"));
    let text = input.rest().await?;
    let delimiter = if options.has('0') {
        Some(0)
    } else {
        options.value('d').map(|text| {
            crate::expand::escapes(text, crate::expand::Escapes::Ansi).0.first().copied().unwrap_or(b'\n')
        })
    };
    let lines = number('L')?;
    let items = match (delimiter, replace.is_some() || lines.is_some()) {
        (Some(byte), _) => separated(&text, byte),
        (None, true) => separated(&text, b'\n')
            .into_iter()
            .map(|line| line.trim_start().to_owned())
            .filter(|line| !line.trim().is_empty())
            .collect(),
        (None, false) => quoted(&text)?,
    };
    let mut command = options.operands.clone();
    if command.is_empty() {
        command.push("echo".to_owned());
    }
    let stdin = shell.fds.get(0);
    shell.fds.set(0, Handle::Null);
    let mut calls: Vec<Vec<String>> = Vec::new();
    if let Some(sign) = replace {
        calls.extend(items.iter().map(|item| command.iter().map(|word| word.replace(sign, item)).collect()));
    } else {
        let most = number('n')?.or(lines).unwrap_or(usize::MAX);
        let (mut call, mut count, mut size) = (command.clone(), 0, 0);
        for item in &items {
            if count > 0 && (count >= most || size + item.len() > LINE) {
                calls.push(std::mem::replace(&mut call, command.clone()));
                (count, size) = (0, 0);
            }
            size += item.len() + 1;
            count += 1;
            if lines.is_some() {
                call.extend(item.split_whitespace().map(str::to_owned));
            } else {
                call.push(item.clone());
            }
        }
        if count > 0 || !options.has('r') {
            calls.push(call);
        }
    }
    let mut status = 0;
    for call in &calls {
        crate::task::turn().await?;
        if options.has('t') {
            shell.warn(call.join(" ")).await?;
        }
        match invoke(shell, call).await {
            Ok(0) => {}
            Ok(code @ (126 | 127)) => {
                status = code;
                break;
            }
            Ok(141) => return Err(Stop::Pipe),
            Ok(255) => {
                status = 124;
                break;
            }
            Ok(_) => status = 123,
            Err(stop) => {
                shell.fds.set(0, stdin);
                return Err(stop);
            }
        }
    }
    shell.fds.set(0, stdin);
    Ok(status)
}

fn separated(text: &[u8], byte: u8) -> Vec<String> {
    let text = text.strip_suffix(&[byte]).unwrap_or(text);
    if text.is_empty() {
        return Vec::new();
    }
    text.split(|other| *other == byte).map(|part| String::from_utf8_lossy(part).into_owned()).collect()
}

/// Words between blanks, with quotes and backslashes.
pub fn quoted(text: &[u8]) -> Result<Vec<String>, Stop> {
    let text = String::from_utf8_lossy(text);
    let mut items = Vec::new();
    let mut item: Option<String> = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' | '\n' => items.extend(item.take()),
            '\\' => item.get_or_insert_default().extend(letters.next()),
            '\'' | '"' => {
                let quote = letter;
                let word = item.get_or_insert_default();
                loop {
                    match letters.next() {
                        Some(letter) if letter == quote => break,
                        Some('\n') | None => {
                            let kind = if quote == '"' { "double" } else { "single" };
                            return fail(format!(
                                "unmatched {kind} quote; by default quotes are special to xargs unless you use the -0 option"
                            ));
                        }
                        Some(letter) => word.push(letter),
                    }
                }
            }
            letter => item.get_or_insert_default().push(letter),
        }
    }
    items.extend(item);
    Ok(items)
}
