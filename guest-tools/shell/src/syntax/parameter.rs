//! `${…}`

use super::scan::{Parsed, Scanner, is_name, is_name_start};
use super::word::{End, double, word};
use super::{Index, Operation, Parameter, Part, Word};

/// After `${`. In double quotes the words within follow the rules of double quotes.
pub fn braced(scanner: &mut Scanner, quoted: bool) -> Parsed<Parameter> {
    let line = scanner.line;
    let mark = scanner.mark();
    match scanner.nested(|scanner| inner(scanner, quoted)) {
        Ok(parameter) if scanner.take("}") => return Ok(parameter),
        Err(error) if !error.message.starts_with("bad substitution") => return Err(error),
        _ => {}
    }
    if scanner.peek().is_none() {
        scanner.line = line;
        return scanner.error("unexpected EOF while looking for matching `}'");
    }
    // It is an error of whoever expands it, not of the script.
    scanner.back(mark);
    let name = rest(scanner)?;
    Ok(Parameter { name, index: None, indirect: false, operation: Operation::Bad })
}

/// The text up to the brace that closes, which is taken.
fn rest(scanner: &mut Scanner) -> Parsed<String> {
    let mark = scanner.mark();
    if !to_brace(scanner, None) {
        return scanner.error("unexpected EOF while looking for matching `}'");
    }
    let text = scanner.since(mark);
    scanner.next();
    Ok(text)
}

/// Goes to the brace that closes, or before that to an `end`. Whether there was one.
fn to_brace(scanner: &mut Scanner, end: Option<char>) -> bool {
    let mut depth = 0_u32;
    loop {
        match scanner.peek() {
            None => return false,
            Some('\\') => scanner.skip(1),
            letter if end.is_some() && letter == end => return true,
            Some('{') => depth += 1,
            Some('}') if depth == 0 => return true,
            Some('}') => depth -= 1,
            _ => {}
        }
        scanner.next();
    }
}

fn inner(scanner: &mut Scanner, quoted: bool) -> Parsed<Parameter> {
    if scanner.peek() == Some('#') && !matches!(scanner.ahead(1), Some('}' | ':' | '-' | '%' | '=' | '+')) {
        scanner.next();
        let (name, index) = subject(scanner)?;
        return Ok(Parameter { name, index, indirect: false, operation: Operation::Length });
    }
    let indirect = scanner.peek() == Some('!') && scanner.ahead(1) != Some('}');
    if indirect {
        scanner.next();
    }
    let (name, index) = subject(scanner)?;
    if indirect && matches!(scanner.peek(), Some('*' | '@')) && scanner.ahead(1) == Some('}') {
        scanner.next();
        return Ok(Parameter { name, index: None, indirect: false, operation: Operation::Names });
    }
    if indirect && matches!(index, Some(Index::At | Index::Star)) {
        return Ok(Parameter { name, index, indirect: false, operation: Operation::Keys });
    }
    let operation = operation(scanner, quoted)?;
    Ok(Parameter { name, index, indirect, operation })
}

/// A name or sign, and what stands in brackets behind it.
fn subject(scanner: &mut Scanner) -> Parsed<(String, Option<Index>)> {
    let name = match scanner.peek() {
        Some(letter) if is_name_start(letter) => scanner.take_while(is_name),
        Some(letter) if letter.is_ascii_digit() => scanner.take_while(|next| next.is_ascii_digit()),
        Some(letter) if "@*#?$!-".contains(letter) => {
            scanner.next();
            letter.to_string()
        }
        _ => return scanner.error("bad substitution"),
    };
    let index = if name.starts_with(is_name_start) { index(scanner)? } else { None };
    Ok((name, index))
}

/// `[…]`, if it comes next.
pub fn index(scanner: &mut Scanner) -> Parsed<Option<Index>> {
    if !scanner.take("[") {
        return Ok(None);
    }
    if scanner.take("@]") {
        return Ok(Some(Index::At));
    }
    if scanner.take("*]") {
        return Ok(Some(Index::Star));
    }
    let mut inner = word(scanner, End::At("[]"))?;
    // An index may hold another: `a[b[0]]`.
    while scanner.take("[") {
        inner.push(Part::Plain("[".to_owned()));
        inner.extend(word(scanner, End::At("]"))?);
        inner.push(Part::Plain("]".to_owned()));
        scanner.take("]");
        inner.extend(word(scanner, End::At("[]"))?);
    }
    if !scanner.take("]") {
        return scanner.error("bad substitution: no closing `]'");
    }
    Ok(Some(Index::Of(inner)))
}

fn operation(scanner: &mut Scanner, quoted: bool) -> Parsed<Operation> {
    let Some(letter) = scanner.peek() else { return Ok(Operation::Value) };
    let colon = letter == ':' && matches!(scanner.ahead(1), Some('-' | '=' | '?' | '+'));
    if colon {
        scanner.next();
    }
    let sign = scanner.peek().unwrap_or_default();
    match sign {
        '}' => Ok(Operation::Value),
        '-' | '=' | '?' | '+' => {
            scanner.next();
            let word = if quoted { inside(scanner)? } else { word(scanner, End::At("}"))? };
            Ok(Operation::Instead { sign, colon, word })
        }
        ':' => {
            scanner.next();
            let offset = number(scanner)?;
            let length = if scanner.take(":") { Some(number(scanner)?) } else { None };
            Ok(Operation::Slice { offset, length })
        }
        '#' | '%' => {
            scanner.next();
            let longest = scanner.take(&sign.to_string());
            let pattern = word(scanner, End::At("}"))?;
            Ok(if sign == '#' {
                Operation::RemoveStart { longest, pattern }
            } else {
                Operation::RemoveEnd { longest, pattern }
            })
        }
        '/' => replace(scanner),
        '^' | ',' => {
            scanner.next();
            let all = scanner.take(&sign.to_string());
            let pattern = word(scanner, End::At("}"))?;
            Ok(Operation::Case { upper: sign == '^', all, pattern })
        }
        '~' => {
            scanner.next();
            Ok(Operation::Swap { all: scanner.take("~") })
        }
        '@' => {
            scanner.next();
            let letter = scanner.next().unwrap_or_default();
            Ok(Operation::Transform(letter))
        }
        _ => scanner.error("bad substitution"),
    }
}

fn replace(scanner: &mut Scanner) -> Parsed<Operation> {
    scanner.next();
    let anchor = scanner.peek().filter(|letter| matches!(letter, '/' | '#' | '%')).unwrap_or(' ');
    if anchor != ' ' {
        scanner.next();
    }
    let mut pattern = word(scanner, End::At("/}"))?;
    if pattern.is_empty() && scanner.peek() == Some('/') && anchor == ' ' {
        scanner.next();
        pattern.push(Part::Plain("/".to_owned()));
    }
    let with = if scanner.take("/") { word(scanner, End::At("}"))? } else { Word::new() };
    Ok(Operation::Replace { anchor, pattern, with })
}

/// An offset or a length: up to `:` or `}`, but not within parentheses or a choice.
fn number(scanner: &mut Scanner) -> Parsed<Word> {
    let mut number = Word::new();
    let mut open = 0_usize;
    loop {
        number.extend(word(scanner, End::At(":}()?"))?);
        match scanner.peek() {
            Some('(') => open += 1,
            Some(')') => open = open.saturating_sub(1),
            Some('?') => open += 1,
            Some(':') if open > 0 => open -= 1,
            _ => return Ok(number),
        }
        number.extend(scanner.next().map(|letter| Part::Plain(letter.to_string())));
    }
}

/// A word in braces in double quotes: quotes of their own may stand in it.
fn inside(scanner: &mut Scanner) -> Parsed<Word> {
    let mut parts = Word::new();
    loop {
        let mark = scanner.mark();
        if !to_brace(scanner, Some('"')) {
            return scanner.unexpected();
        }
        let text = scanner.since(mark);
        parts.push(Part::Double(double(&mut Scanner::new(&text, mark.1), None)?));
        if !scanner.take("\"") {
            return Ok(parts);
        }
        parts.push(Part::Double(double(scanner, Some('"'))?));
    }
}
