//! `tr`

use std::collections::{HashMap, HashSet};

use super::options::Spelling;
use crate::expand::{Escapes, escapes, pattern::in_class};
use crate::shell::Shell;
use crate::stop::{Status, fail};

const SPELLING: Spelling = Spelling::new(
    "cCdst",
    &[("complement", 'c'), ("delete", 'd'), ("squeeze-repeats", 's'), ("truncate-set1", 't')],
)
.ordered();

pub async fn run(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = SPELLING.read(arguments)?;
    let Some(first) = options.operands.first() else { return fail("missing operand") };
    let second = options.operands.get(1);
    if second.is_none() && !options.has('d') && !options.has('s') {
        return fail(format!("missing operand after ‘{first}’\nTwo strings must be given when translating."));
    }
    let (mut from, to) = (letters(first), second.map(|text| letters(text)).unwrap_or_default());
    if options.has('t') && second.is_some() {
        from.truncate(to.len());
    }
    let set: HashSet<char> = from.iter().copied().collect();
    let complement = options.has('c') || options.has('C');
    let chosen = |letter: char| set.contains(&letter) != complement;
    let last = to.last().copied();
    let mut table = HashMap::new();
    for (index, letter) in from.iter().enumerate() {
        if let Some(target) = to.get(index).copied().or(last) {
            table.insert(*letter, target);
        }
    }
    let (delete, squeeze) = (options.has('d'), options.has('s'));
    let translate = !delete && second.is_some();
    let squeezed: HashSet<char> = to.iter().copied().collect();
    let in_squeezed =
        |letter: char| if second.is_some() { squeezed.contains(&letter) } else { chosen(letter) };
    let change = |letter: char| -> (bool, char, bool) {
        let is_chosen = chosen(letter);
        let target = match (translate && is_chosen, complement) {
            (false, _) => letter,
            (true, true) => last.unwrap_or(letter),
            (true, false) => table.get(&letter).copied().unwrap_or(letter),
        };
        (delete && is_chosen, target, squeeze && in_squeezed(target))
    };
    // What becomes of ASCII is looked up.
    let ascii: Vec<(bool, char, bool)> = (0..128_u8).map(|byte| change(char::from(byte))).collect();
    let (stdin, mut out) = (shell.stdin(), shell.out());
    let mut previous = None;
    let mut rest = Vec::new();
    loop {
        let chunk = stdin.chunk().await?;
        let ended = chunk.is_empty();
        rest.extend(chunk);
        // A letter whose bytes are not all there waits for the next piece.
        let whole = match std::str::from_utf8(&rest) {
            Err(error) if error.error_len().is_none() && !ended => error.valid_up_to(),
            _ => rest.len(),
        };
        let bytes: Vec<u8> = rest.drain(..whole).collect();
        let mut text = String::with_capacity(bytes.len());
        for letter in String::from_utf8_lossy(&bytes).chars() {
            let known = usize::try_from(u32::from(letter)).ok().and_then(|code| ascii.get(code)).copied();
            let (gone, letter, squeezable) = known.unwrap_or_else(|| change(letter));
            if gone || (squeezable && previous == Some(letter)) {
                continue;
            }
            previous = Some(letter);
            text.push(letter);
        }
        out.put(text);
        out.check().await?;
        if ended {
            break;
        }
    }
    out.flush().await?;
    Ok(0)
}

/// The letters of a set: ranges, classes and backslashes.
fn letters(text: &str) -> Vec<char> {
    let plain: Vec<(char, bool)> = unescaped(text);
    let mut letters = Vec::new();
    let mut at = 0;
    while let Some((letter, escaped)) = plain.get(at).copied() {
        if letter == '[' && !escaped && plain.get(at + 1).is_some_and(|(next, _)| *next == ':') {
            let rest: String = plain.iter().skip(at + 2).map(|(letter, _)| *letter).collect();
            if let Some((name, _)) = rest.split_once(":]") {
                letters.extend((0..128).filter_map(char::from_u32).filter(|letter| in_class(name, *letter)));
                at += name.chars().count() + 4;
                continue;
            }
        }
        let range = plain.get(at + 1).is_some_and(|(sign, escaped)| *sign == '-' && !escaped);
        match plain.get(at + 2).filter(|_| range) {
            Some((end, _)) => {
                letters.extend(letter..=*end);
                at += 3;
            }
            None => {
                letters.push(letter);
                at += 1;
            }
        }
    }
    letters
}

fn unescaped(text: &str) -> Vec<(char, bool)> {
    let mut plain = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        if letter != '\\' {
            plain.push((letter, false));
            continue;
        }
        let mut raw = String::from("\\");
        raw.extend(rest.next());
        if raw.ends_with(|digit: char| digit.is_digit(8)) {
            while raw.len() < 4 {
                let Some(digit) = rest.next_if(|digit| digit.is_digit(8)) else { break };
                raw.push(digit);
            }
        }
        let (bytes, _) = escapes(&raw, Escapes::Ansi);
        let decoded = String::from_utf8_lossy(&bytes).into_owned();
        // A backslash before a letter without a meaning is nothing.
        let kept = if decoded.len() > 1 && decoded.starts_with('\\') {
            decoded.get(1..).unwrap_or_default()
        } else {
            &decoded
        };
        plain.extend(kept.chars().map(|letter| (letter, true)));
    }
    plain
}
