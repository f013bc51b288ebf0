//! `uniq`

use super::input;
use super::options::{Options, Spelling};
use crate::files;
use crate::shell::Shell;
use crate::stop::{Status, Stop, fail, words};
use crate::stream::Out;

const SPELLING: Spelling = Spelling::new(
    "cdDf:is:uw:",
    &[
        ("count", 'c'),
        ("repeated", 'd'),
        ("ignore-case", 'i'),
        ("unique", 'u'),
        ("skip-fields", 'f'),
        ("skip-chars", 's'),
        ("all-repeated", 'D'),
        ("check-chars", 'w'),
    ],
);

pub async fn run(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = SPELLING.read(arguments)?;
    let name = options.operands.first().map_or("-", String::as_str);
    let Some(handle) = input::open(shell, "uniq", name).await? else { return Ok(1) };
    let mut out = match options.operands.get(1).filter(|name| *name != "-") {
        None => shell.out(),
        Some(name) => match files::write(shell, name) {
            Ok(handle) => Out::new(handle),
            Err(error) => return fail(format!("{name}: {}", words(&error))),
        },
    };
    let mut group: Vec<Vec<u8>> = Vec::new();
    let mut count = 0_u64;
    let mut key = Vec::new();
    let mut line = Vec::new();
    while handle.line(&mut line).await? {
        let next = self::key(&options, &line)?;
        if count > 0 && next == key {
            count += 1;
            if options.has('D') {
                group.push(line.clone());
            }
            continue;
        }
        give(&options, &mut out, &group, count);
        out.check().await?;
        (group, count, key) = (vec![line.clone()], 1, next);
    }
    give(&options, &mut out, &group, count);
    out.flush().await?;
    Ok(0)
}

fn key(options: &Options, line: &[u8]) -> Result<Vec<u8>, Stop> {
    let number = |letter| match options.value(letter) {
        None => Ok(None),
        Some(text) => match text.parse::<usize>() {
            Ok(number) => Ok(Some(number)),
            Err(_) => fail(format!("{text}: invalid number of fields to skip")),
        },
    };
    let mut rest = line;
    for _ in 0..number('f')?.unwrap_or(0) {
        let blanks = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let text = rest.iter().skip(blanks).take_while(|byte| !byte.is_ascii_whitespace()).count();
        rest = rest.get(blanks + text..).unwrap_or_default();
    }
    rest = rest.get(number('s')?.unwrap_or(0)..).unwrap_or_default();
    if let Some(most) = number('w')? {
        rest = rest.get(..most.min(rest.len())).unwrap_or_default();
    }
    Ok(if options.has('i') { rest.to_ascii_lowercase() } else { rest.to_vec() })
}

fn give(options: &Options, out: &mut Out, group: &[Vec<u8>], count: u64) {
    let wanted = match count {
        0 => false,
        1 => !options.has('d') && !options.has('D'),
        _ => !options.has('u'),
    };
    for line in group.iter().filter(|_| wanted) {
        if options.has('c') {
            out.put(format!("{count:7} "));
        }
        out.line(line);
    }
}
