//! Commands that contain others.

use super::command::*;
use super::condition::condition;
use super::scan::{Parsed, Scanner, is_meta, is_name, is_name_start};
use super::word::{End, arithmetic, double, word};
use super::{Arm, ArmEnd, Kind, List, Word};
use std::rc::Rc;

/// A compound command, if one comes next.
pub fn compound(scanner: &mut Scanner) -> Parsed<Option<Kind>> {
    if scanner.looks_at("((") {
        let mark = scanner.mark();
        scanner.skip(2);
        if let Some(expression) = arithmetic(scanner)? {
            return Ok(Some(Kind::Arithmetic(expression)));
        }
        scanner.back(mark);
    }
    if scanner.take("(") {
        let commands = until_parenthesis(scanner)?;
        return Ok(Some(Kind::Subshell(Rc::new(commands))));
    }
    let Some(found) = keyword(scanner) else { return function(scanner) };
    if matches!(found, "then" | "elif" | "else" | "fi" | "do" | "done" | "esac" | "}") {
        return scanner.unexpected();
    }
    if found == "in" {
        return Ok(None);
    }
    scanner.skip(found.len());
    let kind = match found {
        "{" => {
            let commands = body(scanner, &["}"])?;
            take_keyword(scanner, "}")?;
            Kind::Group(Rc::new(commands))
        }
        "if" => conditional(scanner)?,
        "for" => for_loop(scanner)?,
        "select" => {
            let (name, words) = for_header(scanner)?;
            Kind::Select { name, words, body: do_body(scanner)? }
        }
        "coproc" => coprocess(scanner)?,
        "while" | "until" => {
            let condition = body(scanner, &["do"])?;
            Kind::While { condition, body: do_body(scanner)?, until: found == "until" }
        }
        "case" => case(scanner)?,
        "[[" => Kind::Condition(condition(scanner)?),
        _ => {
            scanner.skip_blanks();
            let name = scanner.take_while(|letter| !is_meta(letter));
            scanner.skip_blanks();
            scanner.take("()");
            function_body(scanner, name)?
        }
    };
    Ok(Some(kind))
}

fn do_body(scanner: &mut Scanner) -> Parsed<List> {
    take_keyword(scanner, "do")?;
    let commands = body(scanner, &["done"])?;
    take_keyword(scanner, "done")?;
    Ok(commands)
}

fn conditional(scanner: &mut Scanner) -> Parsed<Kind> {
    let mut branches = Vec::new();
    loop {
        let condition = body(scanner, &["then"])?;
        take_keyword(scanner, "then")?;
        branches.push((condition, body(scanner, &["elif", "else", "fi"])?));
        if keyword(scanner) != Some("elif") {
            break;
        }
        take_keyword(scanner, "elif")?;
    }
    let otherwise = if keyword(scanner) == Some("else") {
        take_keyword(scanner, "else")?;
        Some(body(scanner, &["fi"])?)
    } else {
        None
    };
    take_keyword(scanner, "fi")?;
    Ok(Kind::If { branches, otherwise })
}

fn for_loop(scanner: &mut Scanner) -> Parsed<Kind> {
    scanner.skip_blanks();
    if scanner.take("((") {
        let Some(header) = arithmetic_parts(scanner)? else { return scanner.unexpected() };
        scanner.skip_lines();
        if scanner.take(";") {
            scanner.skip_lines();
        }
        let [first, condition, step] = header;
        let body = if keyword(scanner) == Some("{") {
            take_keyword(scanner, "{")?;
            let commands = body(scanner, &["}"])?;
            take_keyword(scanner, "}")?;
            commands
        } else {
            do_body(scanner)?
        };
        return Ok(Kind::Loop { first, condition, step, body });
    }
    let (name, words) = for_header(scanner)?;
    Ok(Kind::For { name, words, body: do_body(scanner)? })
}

/// `name in words;`
fn for_header(scanner: &mut Scanner) -> Parsed<(String, Option<Vec<Word>>)> {
    scanner.skip_blanks();
    let name = scanner.take_while(is_name);
    if !name.starts_with(is_name_start) {
        return scanner.unexpected();
    }
    scanner.skip_lines();
    let mut words = None;
    if keyword(scanner) == Some("in") {
        scanner.skip(2);
        let mut list = Vec::new();
        loop {
            scanner.skip_blanks();
            if scanner.peek().is_none_or(|letter| matches!(letter, '\n' | ';')) {
                break;
            }
            if scanner.peek().is_some_and(is_meta) && !scanner.looks_at("<(") {
                return scanner.unexpected();
            }
            list.extend(words_of(scanner)?);
        }
        words = Some(list);
    }
    scanner.skip_blanks();
    scanner.take(";");
    Ok((name, words))
}

/// After `coproc`: read, so that only what reaches it fails.
fn coprocess(scanner: &mut Scanner) -> Parsed<Kind> {
    scanner.skip_blanks();
    let mark = scanner.mark();
    let name = scanner.take_while(is_name);
    scanner.skip_blanks();
    let compound = scanner.peek() == Some('(') || keyword(scanner).is_some();
    if name.is_empty() || !compound || KEYWORDS.contains(&name.as_str()) {
        scanner.back(mark);
    }
    scanner.nested(command)?;
    Ok(Kind::Unknown("coproc"))
}

/// The three parts of `((a; b; c))`.
fn arithmetic_parts(scanner: &mut Scanner) -> Parsed<Option<[Word; 3]>> {
    let (mark, line) = (scanner.mark(), scanner.line);
    if arithmetic(scanner)?.is_none() {
        return Ok(None);
    }
    let text = scanner.since(mark);
    let text = text.strip_suffix("))").unwrap_or(&text).to_owned();
    let parts: Vec<&str> = text.split(';').collect();
    let [first, condition, step] = parts.as_slice() else { return Ok(None) };
    let parse = |text: &str| double(&mut Scanner::new(text, line), None);
    Ok(Some([parse(first)?, parse(condition)?, parse(step)?]))
}

fn case(scanner: &mut Scanner) -> Parsed<Kind> {
    scanner.skip_blanks();
    let subject = word(scanner, End::Meta)?;
    take_keyword(scanner, "in")?;
    let mut arms = Vec::new();
    loop {
        scanner.skip_lines();
        if keyword(scanner) == Some("esac") {
            scanner.skip(4);
            return Ok(Kind::Case { word: subject, arms });
        }
        scanner.take("(");
        let mut patterns = Vec::new();
        loop {
            scanner.skip_blanks();
            let pattern = word(scanner, End::Meta)?;
            if pattern.is_empty() {
                return scanner.unexpected();
            }
            patterns.push(pattern);
            scanner.skip_blanks();
            if scanner.take(")") {
                break;
            }
            if !scanner.take("|") {
                return scanner.unexpected();
            }
        }
        let commands = scanner.nested(|scanner| list(scanner, &["esac"]))?;
        let end = if scanner.take(";;&") {
            ArmEnd::TestOn
        } else if scanner.take(";;") {
            ArmEnd::Leave
        } else if scanner.take(";&") {
            ArmEnd::FallThrough
        } else if keyword(scanner) == Some("esac") {
            ArmEnd::Leave
        } else {
            return scanner.unexpected();
        };
        arms.push(Arm { patterns, body: commands, end });
    }
}

/// `name() …`, if that comes next.
pub fn function(scanner: &mut Scanner) -> Parsed<Option<Kind>> {
    let mark = scanner.mark();
    let name = scanner.take_while(|letter| is_name(letter) || "-.:+@?!".contains(letter));
    scanner.skip_blanks();
    if name.is_empty() || !scanner.take("(") {
        scanner.back(mark);
        return Ok(None);
    }
    scanner.skip_blanks();
    if !scanner.take(")") {
        scanner.back(mark);
        return Ok(None);
    }
    function_body(scanner, name).map(Some)
}

fn function_body(scanner: &mut Scanner, name: String) -> Parsed<Kind> {
    scanner.skip_lines();
    let inner = scanner.nested(command)?;
    if matches!(inner.kind, Kind::Simple { .. }) {
        return scanner.unexpected();
    }
    Ok(Kind::Function { name, body: Rc::new(inner) })
}
