//! `split`

use super::input;
use super::options::{Options, Spelling, size};
use crate::files;
use crate::shell::Shell;
use crate::stop::{Status, Stop, fail, words};

const SPELLING: Spelling = Spelling::new(
    "a:b:dl:n:1:2:#",
    &[
        ("lines", 'l'),
        ("bytes", 'b'),
        ("suffix-length", 'a'),
        ("numeric-suffixes", 'd'),
        ("numeric-suffixes-from", '2'),
        ("additional-suffix", '1'),
        ("number", 'n'),
    ],
);

/// Files that one call may make.
const MOST: usize = 10_000;

pub async fn run(shell: &mut Shell, arguments: &[String]) -> Status {
    // The first number may stand behind the long name, and nowhere else.
    let arguments: Vec<String> = arguments
        .iter()
        .map(|text| match text.strip_prefix("--numeric-suffixes=") {
            Some(first) => format!("--numeric-suffixes-from={first}"),
            None => text.clone(),
        })
        .collect();
    let options = SPELLING.read(&arguments)?;
    let first = match options.value('2').map(str::parse::<usize>) {
        None => 0,
        Some(Ok(first)) => first,
        Some(Err(_)) => {
            return fail(format!("invalid start value ‘{}’", options.value('2').unwrap_or_default()));
        }
    };
    let name = options.operands.first().map_or("-", String::as_str);
    let prefix = options.operands.get(1).map_or("x", String::as_str);
    let content = match input::whole(shell, name).await {
        Err(Stop::Fail(status, message)) => {
            return Err(Stop::Fail(
                status,
                format!(
                    "cannot open '{name}' for reading: {}",
                    message.rsplit(": ").next().unwrap_or_default()
                ),
            ));
        }
        other => other?,
    };
    let number = |letter| match options.value(letter) {
        None => Ok(None),
        Some(text) => {
            match size(text).and_then(|count| usize::try_from(count).ok()).filter(|count| *count > 0) {
                Some(count) => Ok(Some(count)),
                None => fail(format!("invalid number: ‘{text}’")),
            }
        }
    };
    let pieces: Vec<&[u8]> = if let Some(bytes) = number('b')? {
        content.chunks(bytes).collect()
    } else if let Some(count) = number('n')? {
        parts(&content, count)
    } else {
        let lines = number('l')?.or(number('#')?).unwrap_or(1000);
        by_lines(&content, lines)
    };
    if pieces.len() > MOST {
        return fail(format!("more than {MOST} files"));
    }
    for (index, piece) in pieces.iter().enumerate() {
        crate::task::tick()?;
        let Some(suffix) = suffix(&options, first.saturating_add(index)) else {
            return fail("output file suffixes exhausted");
        };
        let name = format!("{prefix}{suffix}{}", options.value('1').unwrap_or_default());
        match files::write(shell, &name) {
            Ok(handle) => handle.write(piece).await?,
            Err(error) => return fail(format!("{name}: {}", words(&error))),
        }
    }
    Ok(0)
}

fn by_lines(content: &[u8], count: usize) -> Vec<&[u8]> {
    let (mut pieces, mut start, mut lines) = (Vec::new(), 0, 0);
    for (index, byte) in content.iter().enumerate() {
        lines += usize::from(*byte == b'\n');
        if lines == count {
            pieces.push(content.get(start..=index).unwrap_or_default());
            (start, lines) = (index + 1, 0);
        }
    }
    if start < content.len() {
        pieces.push(content.get(start..).unwrap_or_default());
    }
    pieces
}

fn parts(content: &[u8], count: usize) -> Vec<&[u8]> {
    let each = content.len() / count;
    (0..count.min(MOST + 1))
        .map(|index| {
            content
                .get(index * each..if index + 1 == count { content.len() } else { (index + 1) * each })
                .unwrap_or_default()
        })
        .collect()
}

fn suffix(options: &Options, index: usize) -> Option<String> {
    let length: usize = options.value('a').and_then(|text| text.parse().ok()).unwrap_or(2);
    let digits = options.has('d') || options.has('2');
    let base = if digits { 10 } else { 26 };
    let (mut rest, mut letters) = (index, Vec::new());
    for _ in 0..length {
        let digit = u8::try_from(rest % base).unwrap_or(0);
        letters.push(char::from(if digits { b'0' + digit } else { b'a' + digit }));
        rest /= base;
    }
    (rest == 0).then(|| letters.iter().rev().collect())
}
