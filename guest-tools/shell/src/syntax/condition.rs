//! `[[ … ]]`

use super::scan::{Parsed, Scanner, is_meta};
use super::word::{End, word};
use super::{Condition, Part, Word};

const BINARY: [&str; 14] =
    ["==", "=~", "!=", "=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot"];

/// After `[[`, with its `]]`.
pub fn condition(scanner: &mut Scanner) -> Parsed<Condition> {
    let condition = scanner.nested(or)?;
    scanner.skip_lines();
    if scanner.take("]]") { Ok(condition) } else { scanner.unexpected() }
}

fn or(scanner: &mut Scanner) -> Parsed<Condition> {
    let mut left = and(scanner)?;
    loop {
        scanner.skip_lines();
        if !scanner.take("||") {
            return Ok(left);
        }
        left = Condition::Or(Box::new(left), Box::new(and(scanner)?));
    }
}

fn and(scanner: &mut Scanner) -> Parsed<Condition> {
    let mut left = not(scanner)?;
    loop {
        scanner.skip_lines();
        if !scanner.take("&&") {
            return Ok(left);
        }
        left = Condition::And(Box::new(left), Box::new(not(scanner)?));
    }
}

fn not(scanner: &mut Scanner) -> Parsed<Condition> {
    scanner.skip_lines();
    if scanner.peek() == Some('!') && scanner.ahead(1).is_some_and(char::is_whitespace) {
        scanner.next();
        return Ok(Condition::Not(Box::new(scanner.nested(not)?)));
    }
    if scanner.take("(") {
        let inner = scanner.nested(or)?;
        scanner.skip_lines();
        return if scanner.take(")") { Ok(inner) } else { scanner.unexpected() };
    }
    primary(scanner)
}

fn primary(scanner: &mut Scanner) -> Parsed<Condition> {
    if let (Some('-'), Some(letter), Some(true)) =
        (scanner.peek(), scanner.ahead(1), scanner.ahead(2).map(char::is_whitespace))
    {
        let mark = scanner.mark();
        scanner.skip(2);
        scanner.skip_blanks();
        if !scanner.looks_at("]]") && binary(scanner).is_none() && letter.is_ascii_alphabetic() {
            return Ok(Condition::Unary(letter.to_string(), operand(scanner)?));
        }
        scanner.back(mark);
    }
    let left = operand(scanner)?;
    scanner.skip_lines();
    let Some(operator) = binary(scanner) else { return Ok(Condition::Word(left)) };
    scanner.skip(operator.len());
    scanner.skip_blanks();
    let right = if operator == "=~" { pattern(scanner)? } else { operand(scanner)? };
    Ok(Condition::Binary(left, operator.to_owned(), right))
}

fn binary(scanner: &Scanner) -> Option<&'static str> {
    BINARY.into_iter().find(|operator| {
        scanner.looks_at(operator)
            && scanner.ahead(operator.len()).is_none_or(|next| next.is_whitespace() || next == '"')
    })
}

fn operand(scanner: &mut Scanner) -> Parsed<Word> {
    scanner.skip_blanks();
    let operand = word(scanner, End::Meta)?;
    if operand.is_empty() { scanner.unexpected() } else { Ok(operand) }
}

/// A regular expression: parentheses and bars belong to it, blanks only within parentheses or brackets.
fn pattern(scanner: &mut Scanner) -> Parsed<Word> {
    let mut pattern = Word::new();
    let mut open = 0_u32;
    loop {
        let piece = word(scanner, End::At(" \t\n()[]"))?;
        pattern.extend(piece);
        let Some(letter) = scanner.peek() else { return Ok(pattern) };
        match letter {
            '(' | '[' => open += 1,
            ')' if open == 0 => return Ok(pattern),
            ')' | ']' => open = open.saturating_sub(1),
            _ if is_meta(letter) && open == 0 => return Ok(pattern),
            _ => {}
        }
        scanner.next();
        pattern.push(Part::Plain(letter.to_string()));
    }
}
