//! Redirections and here-documents.

use super::scan::{Parsed, Scanner, is_meta, is_name, is_name_start};
use super::word::{End, double, word};
use super::{Part, Redirect, RedirectKind};

/// A redirection, if one comes next.
pub fn redirect(scanner: &mut Scanner) -> Parsed<Option<Redirect>> {
    let mark = scanner.mark();
    let variable = variable(scanner);
    let digits =
        if variable.is_some() { String::new() } else { scanner.take_while(|letter| letter.is_ascii_digit()) };
    let (kind, standard) = match scanner.peek() {
        Some('&') if digits.is_empty() && variable.is_none() && scanner.take("&>>") => {
            (RedirectKind::BothAppend, 1)
        }
        Some('&') if digits.is_empty() && variable.is_none() && scanner.take("&>") => (RedirectKind::Both, 1),
        Some('<') if !scanner.looks_at("<(") => {
            if scanner.take("<<<") {
                (RedirectKind::HereString, 0)
            } else if scanner.take("<<") {
                (RedirectKind::Here, 0)
            } else if scanner.take("<&") {
                (RedirectKind::Duplicate, 0)
            } else if scanner.take("<>") {
                (RedirectKind::ReadWrite, 0)
            } else {
                scanner.next();
                (RedirectKind::Read, 0)
            }
        }
        Some('>') if !scanner.looks_at(">(") => {
            if scanner.take(">>") {
                (RedirectKind::Append, 1)
            } else if scanner.take(">|") {
                (RedirectKind::Clobber, 1)
            } else if scanner.take(">&") {
                let number = scanner
                    .peek()
                    .is_some_and(|letter| letter.is_ascii_digit() || matches!(letter, '-' | '$'))
                    || scanner.looks_at("\"$");
                (
                    if number || !digits.is_empty() || variable.is_some() {
                        RedirectKind::Duplicate
                    } else {
                        RedirectKind::Both
                    },
                    1,
                )
            } else {
                scanner.next();
                (RedirectKind::Write, 1)
            }
        }
        _ => {
            scanner.back(mark);
            return Ok(None);
        }
    };
    let fd = if digits.is_empty() { standard } else { digits.parse().unwrap_or(u32::MAX) };
    if kind == RedirectKind::Here {
        return here_document(scanner, fd).map(Some);
    }
    scanner.skip_blanks();
    if scanner
        .peek()
        .is_none_or(|letter| is_meta(letter) && !scanner.looks_at("<(") && !scanner.looks_at(">("))
    {
        return scanner.unexpected();
    }
    Ok(Some(Redirect { fd, variable, kind, target: word(scanner, End::Meta)? }))
}

/// `{name}` before an operator.
fn variable(scanner: &mut Scanner) -> Option<String> {
    let mark = scanner.mark();
    if scanner.take("{") {
        let name = scanner.take_while(is_name);
        if name.starts_with(is_name_start) && scanner.take("}") && matches!(scanner.peek(), Some('<' | '>')) {
            return Some(name);
        }
    }
    scanner.back(mark);
    None
}

fn here_document(scanner: &mut Scanner, fd: u32) -> Parsed<Redirect> {
    let strip = scanner.take("-");
    scanner.skip_blanks();
    let end = word(scanner, End::Meta)?;
    let quoted = end.iter().any(|part| !matches!(part, Part::Plain(_)));
    let end: String = end.iter().map(source).collect();
    if end.is_empty() {
        return scanner.unexpected();
    }
    let line = scanner.line + 1;
    let body = scanner.document(&end, strip);
    let target =
        if quoted { vec![Part::Quoted(body)] } else { double(&mut Scanner::new(&body, line), None)? };
    Ok(Redirect { fd, variable: None, kind: RedirectKind::Here, target })
}

/// The text of a part of a delimiter, in which nothing is expanded.
fn source(part: &Part) -> String {
    match part {
        Part::Plain(text) | Part::Quoted(text) => text.clone(),
        Part::Double(inner) => inner.iter().map(source).collect(),
        _ => String::new(),
    }
}
