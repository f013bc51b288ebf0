//! `sort`

use std::cmp::Ordering;

use super::input;
use super::options::{Options, Spelling};
use crate::files;
use crate::format::leading_number;
use crate::shell::Shell;
use crate::stop::{Status, Stop, words, wrong};

const SPELLING: Spelling = Spelling::new(
    "bcCdfghik:Mmno:rRsS:t:T:uVz",
    &[
        ("key", 'k'),
        ("field-separator", 't'),
        ("reverse", 'r'),
        ("unique", 'u'),
        ("numeric-sort", 'n'),
        ("output", 'o'),
        ("ignore-case", 'f'),
        ("human-numeric-sort", 'h'),
        ("version-sort", 'V'),
        ("stable", 's'),
        ("check", 'c'),
        ("month-sort", 'M'),
        ("general-numeric-sort", 'g'),
        ("random-sort", 'R'),
        ("ignore-leading-blanks", 'b'),
        ("dictionary-order", 'd'),
        ("zero-terminated", 'z'),
        ("merge", 'm'),
        ("parallel", 'S'),
    ],
)
.status(2);

/// How two texts are compared.
#[derive(Clone, Copy, Default)]
struct Rules {
    numeric: bool,
    general: bool,
    human: bool,
    version: bool,
    month: bool,
    random: bool,
    fold: bool,
    dictionary: bool,
    blanks: bool,
    reverse: bool,
}

impl Rules {
    fn set(&mut self, letter: char) -> bool {
        let flag = match letter {
            'n' => &mut self.numeric,
            'g' => &mut self.general,
            'h' => &mut self.human,
            'V' => &mut self.version,
            'M' => &mut self.month,
            'R' => &mut self.random,
            'f' => &mut self.fold,
            'd' | 'i' => &mut self.dictionary,
            'b' => &mut self.blanks,
            'r' => &mut self.reverse,
            _ => return false,
        };
        *flag = true;
        true
    }

    fn is_default(self) -> bool {
        !(self.numeric
            || self.general
            || self.human
            || self.version
            || self.month
            || self.random
            || self.fold
            || self.dictionary
            || self.blanks
            || self.reverse)
    }
}

struct Key {
    from: (usize, usize),
    to: Option<(usize, usize)>,
    rules: Rules,
}

pub async fn run(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = SPELLING.read(arguments)?;
    let mut rules = Rules::default();
    for (letter, _) in options.given() {
        rules.set(*letter);
    }
    let keys = options.values('k').map(|text| key(text, rules)).collect::<Result<Vec<_>, _>>()?;
    let separator = separator(&options)?;
    let end = if options.has('z') { 0 } else { b'\n' };
    let sorter = Sorter {
        keys,
        rules,
        separator,
        stable: options.has('s') || options.has('u'),
        seed: crate::clock::chance(),
    };
    let names = options.inputs();
    if options.has('c') || options.has('C') {
        return check(shell, &options, &sorter, &names).await;
    }
    let mut content = Vec::new();
    for name in &names {
        let Some(handle) = open(shell, name).await? else { return Ok(2) };
        content.append(&mut handle.rest().await?);
        if content.last().is_some_and(|byte| *byte != end) {
            content.push(end);
        }
    }
    let mut lines: Vec<&[u8]> = content
        .split_inclusive(|byte| *byte == end)
        .map(|line| line.strip_suffix(&[end]).unwrap_or(line))
        .collect();
    lines.sort_by(|one, other| sorter.compare(one, other));
    if options.has('u') {
        lines.dedup_by(|one, other| sorter.by_keys(one, other) == Ordering::Equal);
    }
    let mut out = match options.value('o') {
        None => shell.out(),
        Some(name) => match files::write(shell, name) {
            Ok(handle) => crate::stream::Out::new(handle),
            Err(error) => return wrong(2, format!("open failed: {name}: {}", words(&error))),
        },
    };
    for line in lines {
        out.put(line);
        out.put([end]);
        out.check().await?;
    }
    out.flush().await?;
    Ok(0)
}

async fn open(shell: &Shell, name: &str) -> Result<Option<crate::stream::Handle>, Stop> {
    if name != "-" && !files::exists(&shell.path(name)) && !files::is_device(name) {
        shell.warn(format!("sort: cannot read: {name}: No such file or directory")).await?;
        return Ok(None);
    }
    input::open(shell, "sort", name).await
}

fn separator(options: &Options) -> Result<Option<u8>, Stop> {
    match options.value('t') {
        None => Ok(None),
        Some("\\t") => Ok(Some(b'\t')),
        Some("\\0") => Ok(Some(0)),
        Some(text) => match text.as_bytes() {
            [byte] => Ok(Some(*byte)),
            _ => wrong(2, format!("multi-character tab ‘{text}’")),
        },
    }
}

/// `-k 2.1n,3`
fn key(text: &str, rules: Rules) -> Result<Key, Stop> {
    let mut own = Rules::default();
    let mut place = |text: &str| {
        let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let letters = text.get(digits.len()..).unwrap_or_default();
        let known = letters.chars().all(|letter| own.set(letter));
        let (field, offset) = digits.split_once('.').unwrap_or((digits, ""));
        let offset = if offset.is_empty() { Some(0) } else { offset.parse().ok() };
        known.then_some(())?;
        Some((field.parse::<usize>().ok()?, offset?))
    };
    let (from, to) = text.split_once(',').map_or((text, None), |(from, to)| (from, Some(to)));
    let parsed = place(from)
        .filter(|(field, _)| *field > 0)
        .and_then(|from| Some((from, to.map_or(Some(None), |to| place(to).map(Some))?)));
    let Some((from, to)) = parsed else {
        return wrong(2, format!("invalid field specification ‘{text}’"));
    };
    Ok(Key { from, to, rules: if own.is_default() { rules } else { own } })
}

async fn check(shell: &Shell, options: &Options, sorter: &Sorter, names: &[String]) -> Status {
    let name = names.first().map_or("-", String::as_str);
    let Some(handle) = open(shell, name).await? else { return Ok(2) };
    let content = handle.rest().await?;
    let lines: Vec<&[u8]> = input::lines(&content).collect();
    for (index, pair) in lines.windows(2).enumerate() {
        let [one, other] = pair else { continue };
        let order = sorter.compare(one, other);
        if order == Ordering::Greater || (options.has('u') && order == Ordering::Equal) {
            if options.has('c') {
                let line = String::from_utf8_lossy(other);
                shell.warn(format!("sort: {name}:{}: disorder: {line}", index + 2)).await?;
            }
            return Ok(1);
        }
    }
    Ok(0)
}

struct Sorter {
    keys: Vec<Key>,
    rules: Rules,
    separator: Option<u8>,
    stable: bool,
    seed: u64,
}

impl Sorter {
    fn compare(&self, one: &[u8], other: &[u8]) -> Ordering {
        let order = self.by_keys(one, other);
        if order != Ordering::Equal || self.stable {
            return order;
        }
        let last = one.cmp(other);
        if self.rules.reverse { last.reverse() } else { last }
    }

    fn by_keys(&self, one: &[u8], other: &[u8]) -> Ordering {
        if self.keys.is_empty() {
            return self.texts(self.rules, one, other);
        }
        for key in &self.keys {
            let order = self.texts(key.rules, self.part(key, one), self.part(key, other));
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    }

    /// Where the field of that number, from 1, begins and ends.
    fn field(&self, line: &[u8], number: usize) -> (usize, usize) {
        let mut start = 0;
        for index in 1.. {
            let end = self.end_of_field(line, start);
            if index == number {
                return (start, end);
            }
            if end >= line.len() {
                break;
            }
            start = if self.separator.is_some() { end + 1 } else { end };
        }
        (line.len(), line.len())
    }

    fn end_of_field(&self, line: &[u8], start: usize) -> usize {
        let rest = line.get(start..).unwrap_or_default();
        let length = match self.separator {
            Some(separator) => rest.iter().position(|byte| *byte == separator),
            None => {
                let text = rest.iter().position(|byte| !is_blank(*byte)).unwrap_or(rest.len());
                rest.iter().skip(text).position(|byte| is_blank(*byte)).map(|length| text + length)
            }
        };
        length.map_or(line.len(), |length| start + length)
    }

    fn part<'a>(&self, key: &Key, line: &'a [u8]) -> &'a [u8] {
        let (mut start, _) = self.field(line, key.from.0);
        if key.rules.blanks {
            start += line.get(start..).unwrap_or_default().iter().take_while(|byte| is_blank(**byte)).count();
        }
        start += key.from.1.saturating_sub(1);
        let end = match key.to {
            None => line.len(),
            Some((number, 0)) => self.field(line, number).1,
            Some((number, offset)) => self.field(line, number).0 + offset,
        };
        let end = end.min(line.len());
        line.get(start.min(end)..end).unwrap_or_default()
    }

    fn texts(&self, rules: Rules, one: &[u8], other: &[u8]) -> Ordering {
        let numbers = |read: fn(&str) -> f64| {
            let value = |text: &[u8]| read(&String::from_utf8_lossy(text));
            value(one).partial_cmp(&value(other)).unwrap_or(Ordering::Equal)
        };
        let order = if rules.numeric {
            numbers(plain_number)
        } else if rules.general {
            numbers(leading_number)
        } else if rules.human {
            numbers(human_number)
        } else if rules.month {
            month(one).cmp(&month(other))
        } else if rules.version {
            version(one, other)
        } else if rules.random {
            use std::hash::{DefaultHasher, Hash as _, Hasher as _};
            let hash = |text: &[u8]| {
                let mut hasher = DefaultHasher::new();
                (self.seed, text).hash(&mut hasher);
                hasher.finish()
            };
            hash(one).cmp(&hash(other))
        } else if rules.fold || rules.dictionary || rules.blanks {
            changed(rules, one).cmp(&changed(rules, other))
        } else {
            one.cmp(other)
        };
        if rules.reverse { order.reverse() } else { order }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn changed(rules: Rules, text: &[u8]) -> Vec<u8> {
    let skip = if rules.blanks { text.iter().take_while(|byte| is_blank(**byte)).count() } else { 0 };
    let kept = text
        .iter()
        .skip(skip)
        .filter(|byte| !rules.dictionary || byte.is_ascii_alphanumeric() || is_blank(**byte));
    kept.map(|byte| if rules.fold { byte.to_ascii_uppercase() } else { *byte }).collect()
}

/// A number without an exponent.
fn plain_number(text: &str) -> f64 {
    let text = text.trim_start();
    let end = text
        .find(|letter: char| !(letter.is_ascii_digit() || matches!(letter, '-' | '.')))
        .unwrap_or(text.len());
    leading_number(text.get(..end).unwrap_or_default())
}

fn human_number(text: &str) -> f64 {
    let text = text.trim_start();
    let end = text
        .find(|letter: char| !(letter.is_ascii_digit() || matches!(letter, '-' | '.')))
        .unwrap_or(text.len());
    let unit = text.get(end..).and_then(|rest| rest.chars().next());
    let power = unit.and_then(|unit| "KMGTPE".find(unit.to_ascii_uppercase())).map_or(0, |index| index + 1);
    let scale = (0..power).fold(1.0, |scale, _| scale * 1024.0);
    leading_number(text.get(..end).unwrap_or_default()) * scale
}

fn month(text: &[u8]) -> usize {
    let text = String::from_utf8_lossy(text).trim_start().to_ascii_uppercase();
    let months = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
    months.iter().position(|month| text.starts_with(month)).map_or(0, |index| index + 1)
}

/// Digits by their number, everything else by its letters.
fn version(one: &[u8], other: &[u8]) -> Ordering {
    let (mut left, mut right) = (one, other);
    loop {
        let split = |text: &[u8], digits: bool| {
            text.iter().position(|byte| byte.is_ascii_digit() != digits).unwrap_or(text.len())
        };
        let (text, rest) = left.split_at(split(left, false));
        let (other_text, other_rest) = right.split_at(split(right, false));
        let order = text.cmp(other_text);
        if order != Ordering::Equal {
            return order;
        }
        let (digits, rest) = rest.split_at(split(rest, true));
        let (other_digits, other_rest) = other_rest.split_at(split(other_rest, true));
        let strip =
            |digits: &[u8]| digits.iter().skip_while(|byte| **byte == b'0').copied().collect::<Vec<_>>();
        let (number, other_number) = (strip(digits), strip(other_digits));
        let order = number.len().cmp(&other_number.len()).then_with(|| number.cmp(&other_number));
        if order != Ordering::Equal {
            return order;
        }
        if rest.is_empty() || other_rest.is_empty() {
            return rest.len().cmp(&other_rest.len());
        }
        (left, right) = (rest, other_rest);
    }
}
