//! Words: quotes, and what is expanded in them.

use std::rc::Rc;

use super::command::{parse_at, until_parenthesis};
use super::parameter::braced;
use super::scan::{Parsed, Scanner, is_meta, is_name, is_name_start};
use super::{Operation, Parameter, Part, Word};

/// Where a word ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// At a blank or an operator.
    Meta,
    /// At one of these, outside of quotes and braces.
    At(&'static str),
    /// At the text's end.
    Text,
}

/// The word of an argument that is nothing but text: `${!name}`, `name[index]`.
pub fn parse_word(text: &str) -> Parsed<Word> {
    word(&mut Scanner::new(text, 1), End::Text)
}

pub fn word(scanner: &mut Scanner, end: End) -> Parsed<Word> {
    let mut parts = Parts::default();
    let mut depth = 0_u32;
    while let Some(letter) = scanner.peek() {
        if depth == 0 && ends(end, letter) && !is_process(scanner, end) {
            break;
        }
        match letter {
            '\\' => {
                scanner.next();
                match scanner.next() {
                    Some('\n') => {}
                    Some(escaped) => parts.quoted(&escaped.to_string()),
                    None => parts.plain('\\'),
                }
            }
            '\'' => {
                scanner.next();
                let text = single(scanner)?;
                parts.quoted(&text);
            }
            '"' => {
                scanner.next();
                let inner = double(scanner, Some('"'))?;
                parts.push(Part::Double(inner));
            }
            '$' if scanner.ahead(1) == Some('\'') => {
                scanner.skip(2);
                let text = ansi(scanner)?;
                parts.quoted(&text);
            }
            '$' if scanner.ahead(1) == Some('"') => scanner.skip(1),
            '$' | '`' => match dollar(scanner, false)? {
                Some(part) => parts.push(part),
                None => parts.plain('$'),
            },
            '<' | '>' if is_process(scanner, end) => {
                scanner.skip(2);
                let list = Rc::new(until_parenthesis(scanner)?);
                parts.push(Part::Process { list, out: letter == '>' });
            }
            '@' | '!' | '?' | '*' | '+' if scanner.ahead(1) == Some('(') => {
                scanner.skip(2);
                parts.plain(letter);
                parts.plain('(');
                depth += 1;
            }
            _ => {
                scanner.next();
                match letter {
                    '(' if depth > 0 => depth += 1,
                    ')' if depth > 0 => depth -= 1,
                    _ => {}
                }
                parts.plain(letter);
            }
        }
    }
    if depth > 0 {
        return scanner.unexpected();
    }
    Ok(parts.0)
}

fn ends(end: End, letter: char) -> bool {
    match end {
        End::Meta => is_meta(letter),
        End::At(set) => set.contains(letter),
        End::Text => false,
    }
}

fn is_process(scanner: &Scanner, end: End) -> bool {
    end == End::Meta && matches!(scanner.peek(), Some('<' | '>')) && scanner.ahead(1) == Some('(')
}

/// Parts of a word, with what belongs together in one.
#[derive(Default)]
struct Parts(Word);

impl Parts {
    fn push(&mut self, part: Part) {
        self.0.push(part);
    }

    fn plain(&mut self, letter: char) {
        match self.0.last_mut() {
            Some(Part::Plain(text)) => text.push(letter),
            _ => self.0.push(Part::Plain(letter.to_string())),
        }
    }

    fn quoted(&mut self, more: &str) {
        match self.0.last_mut() {
            Some(Part::Quoted(text)) => text.push_str(more),
            _ => self.0.push(Part::Quoted(more.to_owned())),
        }
    }
}

fn single(scanner: &mut Scanner) -> Parsed<String> {
    let line = scanner.line;
    let text = scanner.take_while(|letter| letter != '\'');
    if scanner.next().is_none() {
        scanner.line = line;
        return scanner.error("unexpected EOF while looking for matching `''");
    }
    Ok(text)
}

/// What double quotes hold, up to `end`; without one, a here-document or arithmetic, up to the text's end.
pub fn double(scanner: &mut Scanner, end: Option<char>) -> Parsed<Word> {
    let line = scanner.line;
    let mut parts = Parts::default();
    loop {
        let Some(letter) = scanner.peek() else {
            let Some(end) = end else { return Ok(parts.0) };
            scanner.line = line;
            return scanner.error(format!("unexpected EOF while looking for matching `{end}'"));
        };
        if Some(letter) == end {
            scanner.next();
            return Ok(parts.0);
        }
        match letter {
            '\\' => {
                scanner.next();
                match scanner.peek() {
                    Some('\n') => {
                        scanner.next();
                    }
                    Some(escaped) if matches!(escaped, '$' | '`' | '\\') || Some(escaped) == end => {
                        scanner.next();
                        parts.quoted(&escaped.to_string());
                    }
                    _ => parts.quoted("\\"),
                }
            }
            '$' | '`' => match dollar(scanner, true)? {
                Some(part) => parts.push(part),
                None => parts.quoted("$"),
            },
            _ => {
                scanner.next();
                parts.quoted(&letter.to_string());
            }
        }
    }
}

/// What a `$` or a backtick begins; none if the `$` stands for itself. It is taken in either case.
fn dollar(scanner: &mut Scanner, quoted: bool) -> Parsed<Option<Part>> {
    if scanner.take("`") {
        return backticks(scanner, quoted).map(Some);
    }
    scanner.next();
    match scanner.peek() {
        Some('(') if scanner.ahead(1) == Some('(') => {
            let mark = scanner.mark();
            scanner.skip(2);
            if let Some(word) = arithmetic(scanner)? {
                return Ok(Some(Part::Arithmetic(word)));
            }
            scanner.back(mark);
            scanner.next();
            Ok(Some(Part::Command(Rc::new(until_parenthesis(scanner)?))))
        }
        Some('(') => {
            scanner.next();
            Ok(Some(Part::Command(Rc::new(until_parenthesis(scanner)?))))
        }
        Some('[') => {
            let mark = scanner.mark();
            scanner.next();
            let inner = scanner.take_while(|letter| !matches!(letter, ']' | '\n'));
            if !scanner.take("]") {
                scanner.back(mark);
                return Ok(None);
            }
            double(&mut Scanner::new(&inner, mark.1), None).map(|word| Some(Part::Arithmetic(word)))
        }
        Some('{') => {
            scanner.next();
            braced(scanner, quoted).map(|parameter| Some(Part::Parameter(Box::new(parameter))))
        }
        Some(letter) if is_name_start(letter) => {
            let name = scanner.take_while(is_name);
            Ok(Some(plain_parameter(name)))
        }
        Some(letter) if letter.is_ascii_digit() || "@*#?$!-".contains(letter) => {
            scanner.next();
            Ok(Some(plain_parameter(letter.to_string())))
        }
        _ => Ok(None),
    }
}

fn plain_parameter(name: String) -> Part {
    let parameter = Parameter { name, index: None, indirect: false, operation: Operation::Value };
    Part::Parameter(Box::new(parameter))
}

/// After `((`: the text up to `))`. None if the parentheses close apart, which makes them subshells.
pub fn arithmetic(scanner: &mut Scanner) -> Parsed<Option<Word>> {
    let mark = scanner.mark();
    let mut depth = 0_u32;
    loop {
        match scanner.peek() {
            None => return Ok(None),
            Some('(') => depth += 1,
            Some(')') if depth > 0 => depth -= 1,
            Some(')') if scanner.ahead(1) == Some(')') => break,
            Some(')') => return Ok(None),
            Some('\'') if depth == 0 && scanner.since(mark).trim().is_empty() => return Ok(None),
            _ => {}
        }
        scanner.next();
    }
    let text = scanner.since(mark);
    let line = mark.1;
    scanner.skip(2);
    double(&mut Scanner::new(&text.replace('"', ""), line), None).map(Some)
}

fn backticks(scanner: &mut Scanner, quoted: bool) -> Parsed<Part> {
    let line = scanner.line;
    let mut text = String::new();
    loop {
        match scanner.next() {
            None => {
                scanner.line = line;
                return scanner.error("unexpected EOF while looking for matching ``'");
            }
            Some('`') => break,
            Some('\\') => match scanner.next() {
                Some(escaped) if matches!(escaped, '`' | '\\' | '$') || (quoted && escaped == '"') => {
                    text.push(escaped)
                }
                Some(other) => text.extend(['\\', other]),
                None => text.push('\\'),
            },
            Some(letter) => text.push(letter),
        }
    }
    scanner.nested(|_| parse_at(&text, line)).map(|list| Part::Command(Rc::new(list)))
}

/// After `$'`.
fn ansi(scanner: &mut Scanner) -> Parsed<String> {
    let mut raw = String::new();
    loop {
        match scanner.next() {
            None => return scanner.error("unexpected EOF while looking for matching `''"),
            Some('\'') => break,
            Some('\\') => {
                raw.push('\\');
                if scanner.peek() == Some('\'') {
                    raw.pop();
                }
                raw.extend(scanner.next());
            }
            Some(letter) => raw.push(letter),
        }
    }
    Ok(String::from_utf8_lossy(&crate::expand::escapes(&raw, crate::expand::Escapes::Ansi).0).into_owned())
}
