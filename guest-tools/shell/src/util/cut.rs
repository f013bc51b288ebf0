//! `cut`

use super::input;
use super::options::Spelling;
use crate::shell::Shell;
use crate::stop::{Status, Stop, fail};

const SPELLING: Spelling = Spelling::new(
    "b:c:d:f:nsO:C",
    &[
        ("bytes", 'b'),
        ("characters", 'c'),
        ("delimiter", 'd'),
        ("fields", 'f'),
        ("only-delimited", 's'),
        ("output-delimiter", 'O'),
        ("complement", 'C'),
    ],
);

type Ranges = Vec<(usize, usize)>;

pub async fn run(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = SPELLING.read(arguments)?;
    let list = options.value('f').or(options.value('c')).or(options.value('b'));
    let Some(list) = list else { return fail("you must specify a list of bytes, characters, or fields") };
    let ranges = ranges(list)?;
    let delimiter = options.value('d').unwrap_or("\t");
    if delimiter.chars().count() != 1 {
        return fail("the delimiter must be a single character");
    }
    let fields = options.has('f');
    let joiner = options.value('O').unwrap_or(if fields { delimiter } else { "" });
    let wanted =
        |number: usize| ranges.iter().any(|(from, to)| (*from..=*to).contains(&number)) != options.has('C');
    let (mut out, mut status, mut line) = (shell.out(), 0, Vec::new());
    for name in options.inputs() {
        let Some(handle) = input::open(shell, "cut", &name).await? else {
            status = 1;
            continue;
        };
        while handle.line(&mut line).await? {
            out.check().await?;
            if fields {
                let text = delimiter.as_bytes();
                let parts = split(&line, text);
                if parts.len() == 1 {
                    if !options.has('s') {
                        out.line(&line);
                    }
                    continue;
                }
                let chosen =
                    parts.iter().enumerate().filter(|(index, _)| wanted(index + 1)).map(|(_, part)| *part);
                out.line(chosen.collect::<Vec<_>>().join(joiner.as_bytes()));
            } else if options.has('b') {
                out.line(
                    line.iter()
                        .enumerate()
                        .filter(|(index, _)| wanted(index + 1))
                        .map(|(_, byte)| *byte)
                        .collect::<Vec<_>>(),
                );
            } else {
                let text = String::from_utf8_lossy(&line);
                out.line(
                    text.chars()
                        .enumerate()
                        .filter(|(index, _)| wanted(index + 1))
                        .map(|(_, letter)| letter)
                        .collect::<String>(),
                );
            }
        }
    }
    out.flush().await?;
    Ok(status)
}

fn split<'a>(line: &'a [u8], delimiter: &[u8]) -> Vec<&'a [u8]> {
    if let [byte] = delimiter {
        return line.split(|other| other == byte).collect();
    }
    let mut parts = Vec::new();
    let mut rest = line;
    while let Some(at) = memchr::memmem::find(rest, delimiter) {
        parts.push(rest.get(..at).unwrap_or_default());
        rest = rest.get(at + delimiter.len()..).unwrap_or_default();
    }
    parts.push(rest);
    parts
}

fn ranges(list: &str) -> Result<Ranges, Stop> {
    let mut ranges = Ranges::new();
    for part in list.split([',', ' ']) {
        let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number > 0);
        let range = match part.split_once('-') {
            None => number(part).map(|number| (number, number)),
            Some(("", "")) => None,
            Some(("", to)) => number(to).map(|to| (1, to)),
            Some((from, "")) => number(from).map(|from| (from, usize::MAX)),
            Some((from, to)) => number(from).zip(number(to)),
        };
        match range {
            Some((from, to)) if from <= to => ranges.push((from, to)),
            Some(_) => return fail("invalid decreasing range"),
            None => return fail(format!("invalid field value ‘{part}’")),
        }
    }
    Ok(ranges)
}
