//! Commands: lists, pipelines, and what is compound.

use std::rc::Rc;

use super::condition::condition;
use super::parameter::index;
use super::scan::{Parsed, Scanner, SyntaxError, is_meta, is_name, is_name_start};
use super::word::{End, arithmetic, double, word};
use super::{
    Arm, ArmEnd, Assign, Assigned, Command, Index, Item, Join, Kind, List, Part, Pipeline, Redirect,
    RedirectKind, Word, brace,
};

/// Words that mean something where a command begins.
const KEYWORDS: [&str; 17] = [
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "{", "}",
    "function", "[[", "in",
];

/// Commands whose arguments may be assignments.
const DECLARING: [&str; 5] = ["declare", "typeset", "local", "export", "readonly"];

/// A whole script.
pub fn parse(text: &str) -> Result<List, SyntaxError> {
    parse_at(text, 1)
}

pub fn parse_at(text: &str, line: u32) -> Parsed<List> {
    let mut scanner = Scanner::new(text, line);
    let commands = list(&mut scanner, &[])?;
    if scanner.peek().is_some() { scanner.unexpected() } else { Ok(commands) }
}

/// The list up to a closing parenthesis, which is taken.
pub fn until_parenthesis(scanner: &mut Scanner) -> Parsed<List> {
    let commands = scanner.nested(|scanner| list(scanner, &[]))?;
    if scanner.take(")") { Ok(commands) } else { scanner.unexpected() }
}

/// Commands up to one of the keywords `ends`, a closing parenthesis, or the end of a case.
fn list(scanner: &mut Scanner, ends: &[&str]) -> Parsed<List> {
    let mut items = List::new();
    loop {
        scanner.skip_lines();
        let Some(letter) = scanner.peek() else { return Ok(items) };
        if letter == ')' || scanner.looks_at(";;") || scanner.looks_at(";&") {
            return Ok(items);
        }
        if keyword(scanner).is_some_and(|found| ends.contains(&found)) {
            return Ok(items);
        }
        let mut item = and_or(scanner)?;
        scanner.skip_blanks();
        match scanner.peek() {
            Some('&') => {
                scanner.next();
                item.background = true;
            }
            Some(';') if !matches!(scanner.ahead(1), Some(';' | '&')) => {
                scanner.next();
            }
            Some('\n' | ')' | ';') | None => {}
            _ => return scanner.unexpected(),
        }
        items.push(item);
    }
}

/// A list that may not be empty.
fn body(scanner: &mut Scanner, ends: &[&str]) -> Parsed<List> {
    let commands = scanner.nested(|scanner| list(scanner, ends))?;
    if commands.is_empty() { scanner.unexpected() } else { Ok(commands) }
}

/// The keyword that comes next, if one does.
fn keyword(scanner: &Scanner) -> Option<&'static str> {
    KEYWORDS
        .into_iter()
        .find(|keyword| scanner.looks_at(keyword) && scanner.ahead(keyword.len()).is_none_or(is_meta))
}

fn take_keyword(scanner: &mut Scanner, wanted: &str) -> Parsed<()> {
    scanner.skip_lines();
    if keyword(scanner) == Some(wanted) {
        scanner.skip(wanted.len());
        return Ok(());
    }
    scanner.unexpected()
}

fn and_or(scanner: &mut Scanner) -> Parsed<Item> {
    let first = pipeline(scanner)?;
    let mut rest = Vec::new();
    loop {
        scanner.skip_blanks();
        let join = if scanner.take("&&") {
            Join::And
        } else if scanner.take("||") {
            Join::Or
        } else {
            return Ok(Item { first, rest, background: false });
        };
        scanner.skip_lines();
        rest.push((join, pipeline(scanner)?));
    }
}

fn pipeline(scanner: &mut Scanner) -> Parsed<Pipeline> {
    let mut pipeline = Pipeline { negated: false, timed: false, stages: Vec::new() };
    loop {
        scanner.skip_blanks();
        if scanner.peek() == Some('!') && scanner.ahead(1).is_some_and(char::is_whitespace) {
            scanner.next();
            pipeline.negated = !pipeline.negated;
        } else if scanner.looks_at("time") && scanner.ahead(4).is_none_or(char::is_whitespace) {
            scanner.skip(4);
            pipeline.timed = true;
        } else {
            break;
        }
    }
    loop {
        let mut stage = command(scanner)?;
        scanner.skip_blanks();
        let both = scanner.looks_at("|&");
        if both {
            let target = vec![Part::Quoted("1".to_owned())];
            stage.redirects.push(Redirect { fd: 2, kind: RedirectKind::Duplicate, target });
        }
        pipeline.stages.push(Rc::new(stage));
        if scanner.looks_at("||") || scanner.peek() != Some('|') {
            return Ok(pipeline);
        }
        scanner.skip(if both { 2 } else { 1 });
        scanner.skip_lines();
    }
}

fn command(scanner: &mut Scanner) -> Parsed<Command> {
    scanner.skip_blanks();
    let line = scanner.line;
    let Some(kind) = compound(scanner)? else { return simple(scanner, line) };
    let mut redirects = Vec::new();
    // The redirections of a function belong to its body.
    if !matches!(kind, Kind::Function { .. }) {
        scanner.skip_blanks();
        while let Some(redirect) = redirect(scanner)? {
            redirects.push(redirect);
            scanner.skip_blanks();
        }
    }
    Ok(Command { line, kind, redirects })
}

/// A compound command, if one comes next.
fn compound(scanner: &mut Scanner) -> Parsed<Option<Kind>> {
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
    Ok(Kind::For { name, words, body: do_body(scanner)? })
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
fn function(scanner: &mut Scanner) -> Parsed<Option<Kind>> {
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

fn simple(scanner: &mut Scanner, line: u32) -> Parsed<Command> {
    let (mut assigns, mut words, mut declared) = (Vec::new(), Vec::<Word>::new(), Vec::new());
    let mut redirects = Vec::new();
    loop {
        scanner.skip_blanks();
        if let Some(redirect) = redirect(scanner)? {
            redirects.push(redirect);
            continue;
        }
        let Some(letter) = scanner.peek() else { break };
        if is_meta(letter) && !scanner.looks_at("<(") && !scanner.looks_at(">(") {
            if letter == '(' {
                return scanner.unexpected();
            }
            break;
        }
        if words.is_empty() {
            if let Some(assign) = assign(scanner)? {
                assigns.push(assign);
                continue;
            }
        } else if declares(&words) {
            if let Some(assign) = assign(scanner)? {
                declared.push(assign);
                continue;
            }
        }
        words.extend(words_of(scanner)?);
    }
    if assigns.is_empty() && words.is_empty() && redirects.is_empty() {
        return scanner.unexpected();
    }
    Ok(Command { line, kind: Kind::Simple { assigns, words, declared }, redirects })
}

/// A word, and what its braces make of it.
fn words_of(scanner: &mut Scanner) -> Parsed<Vec<Word>> {
    let word = word(scanner, End::Meta)?;
    brace::expand(word).or_else(|message| scanner.error(message))
}

fn declares(words: &[Word]) -> bool {
    matches!(words.first().map(Vec::as_slice), Some([Part::Plain(name)]) if DECLARING.contains(&name.as_str()))
}

/// `name=…`, `name+=…`, `name[index]=…`, if one comes next.
fn assign(scanner: &mut Scanner) -> Parsed<Option<Assign>> {
    let mark = scanner.mark();
    let name = scanner.take_while(is_name);
    if !name.starts_with(is_name_start) || !matches!(scanner.peek(), Some('[' | '=' | '+')) {
        scanner.back(mark);
        return Ok(None);
    }
    let index = match index(scanner) {
        Ok(Some(Index::Of(word))) => Some(word),
        Ok(None) => None,
        Ok(Some(_)) | Err(_) => {
            scanner.back(mark);
            return Ok(None);
        }
    };
    let append = scanner.take("+=");
    if !append && !scanner.take("=") {
        scanner.back(mark);
        return Ok(None);
    }
    let value = if scanner.take("(") {
        Assigned::Array(array(scanner)?)
    } else {
        Assigned::Word(word(scanner, End::Meta)?)
    };
    Ok(Some(Assign { name, index, append, value }))
}

fn array(scanner: &mut Scanner) -> Parsed<Vec<(Option<Word>, Word)>> {
    let mut elements = Vec::new();
    loop {
        scanner.skip_lines();
        if scanner.take(")") {
            return Ok(elements);
        }
        if scanner.peek().is_none_or(|letter| is_meta(letter) && !scanner.looks_at("<(")) {
            return scanner.unexpected();
        }
        let mark = scanner.mark();
        if scanner.peek() == Some('[') {
            if let Ok(Some(Index::Of(key))) = index(scanner) {
                if scanner.take("=") {
                    elements.push((Some(key), word(scanner, End::Meta)?));
                    continue;
                }
            }
            scanner.back(mark);
        }
        elements.extend(words_of(scanner)?.into_iter().map(|word| (None, word)));
    }
}

/// A redirection, if one comes next.
fn redirect(scanner: &mut Scanner) -> Parsed<Option<Redirect>> {
    let mark = scanner.mark();
    let digits = scanner.take_while(|letter| letter.is_ascii_digit());
    let (kind, standard) = match scanner.peek() {
        Some('&') if digits.is_empty() && scanner.take("&>>") => (RedirectKind::BothAppend, 1),
        Some('&') if digits.is_empty() && scanner.take("&>") => (RedirectKind::Both, 1),
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
                    .is_some_and(|letter| letter.is_ascii_digit() || letter == '-' || letter == '$');
                (if number || !digits.is_empty() { RedirectKind::Duplicate } else { RedirectKind::Both }, 1)
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
    Ok(Some(Redirect { fd, kind, target: word(scanner, End::Meta)? }))
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
    Ok(Redirect { fd, kind: RedirectKind::Here, target })
}

/// The text of a part of a delimiter, in which nothing is expanded.
fn source(part: &Part) -> String {
    match part {
        Part::Plain(text) | Part::Quoted(text) => text.clone(),
        Part::Double(inner) => inner.iter().map(source).collect(),
        _ => String::new(),
    }
}
