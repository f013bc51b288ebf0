//! Utilities over sorted or parallel lines: `paste`, `comm`, `join`.

use super::input::{self, lines};
use super::options::Spelling;
use crate::shell::Shell;
use crate::stop::{Status, Stop, fail};

pub async fn paste(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = Spelling::new("d:sz", &[("delimiters", 'd'), ("serial", 's')]).read(arguments)?;
    let (list, _) = crate::expand::escapes(
        &options.value('d').unwrap_or("\t").replace("\\0", ""),
        crate::expand::Escapes::Ansi,
    );
    let delimiters: Vec<char> = String::from_utf8_lossy(&list).chars().collect();
    let delimiter = |index: usize| match delimiters.len() {
        0 => String::new(),
        count => delimiters.get(index % count).map(char::to_string).unwrap_or_default(),
    };
    let mut handles = Vec::new();
    for name in options.inputs() {
        let Some(handle) = input::open(shell, "paste", &name).await? else { return Ok(1) };
        handles.push(handle);
    }
    let (mut out, mut line) = (shell.out(), Vec::new());
    if options.has('s') {
        for handle in &handles {
            let mut index = 0;
            while handle.line(&mut line).await? {
                if index > 0 {
                    out.put(delimiter(index - 1));
                }
                out.put(&line);
                out.check().await?;
                index += 1;
            }
            out.line("");
        }
        out.flush().await?;
        return Ok(0);
    }
    loop {
        let (mut row, mut some) = (Vec::new(), false);
        for (index, handle) in handles.iter().enumerate() {
            if index > 0 {
                row.extend(delimiter(index - 1).into_bytes());
            }
            if handle.line(&mut line).await? {
                some = true;
                row.extend_from_slice(&line);
            }
        }
        if !some {
            break;
        }
        out.line(row);
        out.check().await?;
    }
    out.flush().await?;
    Ok(0)
}

async fn two(shell: &Shell, operands: &[String]) -> Result<[Vec<u8>; 2], Stop> {
    match operands {
        [one, other] => Ok([input::whole(shell, one).await?, input::whole(shell, other).await?]),
        [] => fail("missing operand"),
        [one] => fail(format!("missing operand after ‘{one}’")),
        [_, _, extra, ..] => fail(format!("extra operand ‘{extra}’")),
    }
}

pub async fn comm(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = Spelling::new("123", &[]).read(arguments)?;
    let [one, other] = two(shell, &options.operands).await?;
    let (mut left, mut right) = (lines(&one).peekable(), lines(&other).peekable());
    let mut out = shell.out();
    let (first, second) = (!options.has('1'), !options.has('2'));
    let tabs = |column: usize| {
        "\t".repeat(
            if column > 0 { usize::from(first) } else { 0 }
                + if column > 1 { usize::from(second) } else { 0 },
        )
    };
    loop {
        let column = match (left.peek(), right.peek()) {
            (None, None) => break,
            (Some(_), None) => 0,
            (None, Some(_)) => 1,
            (Some(one), Some(other)) => match one.cmp(other) {
                std::cmp::Ordering::Less => 0,
                std::cmp::Ordering::Greater => 1,
                std::cmp::Ordering::Equal => 2,
            },
        };
        let line = if column == 1 { right.next() } else { left.next() };
        if column == 2 {
            right.next();
        }
        let hidden = options.has(char::from(b"123".get(column).copied().unwrap_or(b'0')));
        if !hidden {
            out.put(tabs(column));
            out.line(line.unwrap_or_default());
            out.check().await?;
        }
    }
    out.flush().await?;
    Ok(0)
}

const JOIN: Spelling = Spelling::new("a:e:i1:2:j:o:t:v:", &[("ignore-case", 'i')]);

type Row<'a> = Vec<&'a [u8]>;

pub async fn join(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = JOIN.read(arguments)?;
    let contents = two(shell, &options.operands).await?;
    let separator = options.value('t').and_then(|text| text.bytes().next());
    let index = |letter| {
        let text = options.value(letter).or(options.value('j')).unwrap_or("1");
        match text.parse::<usize>() {
            Ok(number) if number > 0 => Ok(number - 1),
            _ => fail(format!("invalid field number: ‘{text}’")),
        }
    };
    let keys = [index('1')?, index('2')?];
    let [left, right] = contents
        .each_ref()
        .map(|content| lines(content).map(|line| fields(line, separator)).collect::<Vec<Row<'_>>>());
    let key = |row: &Row<'_>, side: usize| {
        let text = keys.get(side).and_then(|index| row.get(*index)).copied().unwrap_or_default();
        if options.has('i') { text.to_ascii_lowercase() } else { text.to_vec() }
    };
    let glue = [separator.unwrap_or(b' ')];
    let empty = options.value('e').unwrap_or_default().as_bytes();
    let show = |one: Option<&Row<'_>>, other: Option<&Row<'_>>| -> Vec<u8> {
        let shared = |row: Option<&Row<'_>>, side: usize| {
            row.and_then(|row| row.get(*keys.get(side)?).copied().map(<[u8]>::to_vec))
        };
        let join_key = shared(one, 0).or_else(|| shared(other, 1)).unwrap_or_default();
        let parts: Vec<Vec<u8>> = match options.value('o') {
            Some(list) => list
                .split([',', ' '])
                .map(|place| match place.split_once('.') {
                    None => join_key.clone(),
                    Some((side, number)) => {
                        let row = if side == "1" { one } else { other };
                        let number = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                        let part = number.and_then(|number| row?.get(number).copied());
                        part.filter(|part| !part.is_empty()).unwrap_or(empty).to_vec()
                    }
                })
                .collect(),
            None => {
                let mut parts = vec![join_key];
                for (row, side) in [(one, 0), (other, 1)] {
                    let own = keys.get(side).copied().unwrap_or(0);
                    parts.extend(
                        row.into_iter()
                            .flatten()
                            .enumerate()
                            .filter(|(index, _)| *index != own)
                            .map(|(_, part)| part.to_vec()),
                    );
                }
                parts
            }
        };
        parts.join(glue.as_slice())
    };
    let only = |side| options.values('v').any(|value| value == side);
    let also = |side| only(side) || options.values('a').any(|value| value == side);
    let (mut at, mut other_at) = (0, 0);
    let mut out = shell.out();
    loop {
        let order = match (left.get(at), right.get(other_at)) {
            (None, None) => break,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(one), Some(other)) => key(one, 0).cmp(&key(other, 1)),
        };
        match order {
            std::cmp::Ordering::Less => {
                if also("1") {
                    out.line(show(left.get(at), None));
                }
                at += 1;
            }
            std::cmp::Ordering::Greater => {
                if also("2") {
                    out.line(show(None, right.get(other_at)));
                }
                other_at += 1;
            }
            std::cmp::Ordering::Equal => {
                let same = left.get(at).map(|row| key(row, 0)).unwrap_or_default();
                let ends = [
                    left.iter().skip(at).take_while(|row| key(row, 0) == same).count(),
                    right.iter().skip(other_at).take_while(|row| key(row, 1) == same).count(),
                ];
                if !options.has('v') {
                    for one in left.iter().skip(at).take(ends[0]) {
                        for other in right.iter().skip(other_at).take(ends[1]) {
                            out.line(show(Some(one), Some(other)));
                            out.check().await?;
                        }
                    }
                }
                at += ends[0];
                other_at += ends[1];
            }
        }
        out.check().await?;
    }
    out.flush().await?;
    Ok(0)
}

fn fields(line: &[u8], separator: Option<u8>) -> Row<'_> {
    match separator {
        Some(separator) => line.split(|byte| *byte == separator).collect(),
        None => line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|part| !part.is_empty()).collect(),
    }
}
