//! Commands: lists, pipelines, and what is compound.

use super::compound::compound;
use super::redirect::redirect;
use std::rc::Rc;

use super::parameter::index;
use super::scan::{Parsed, Scanner, SyntaxError, is_meta, is_name, is_name_start};
use super::word::{End, word};
use super::{
    Assign, Assigned, Command, Index, Item, Join, Kind, List, Part, Pipeline, Redirect, RedirectKind, Word,
    brace,
};

/// Words that mean something where a command begins.
pub const KEYWORDS: [&str; 19] = [
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "{", "}",
    "function", "[[", "in", "select", "coproc",
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
pub fn list(scanner: &mut Scanner, ends: &[&str]) -> Parsed<List> {
    let mut items = List::new();
    loop {
        let mark = scanner.mark();
        scanner.skip_lines();
        let begins = items.is_empty() || scanner.since(mark).replace("\\\n", "").contains('\n');
        let Some(letter) = scanner.peek() else { return Ok(items) };
        if letter == ')' || scanner.looks_at(";;") || scanner.looks_at(";&") {
            return Ok(items);
        }
        if keyword(scanner).is_some_and(|found| ends.contains(&found)) {
            return Ok(items);
        }
        let mut item = and_or(scanner)?;
        item.begins = begins;
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
pub fn body(scanner: &mut Scanner, ends: &[&str]) -> Parsed<List> {
    let commands = scanner.nested(|scanner| list(scanner, ends))?;
    if commands.is_empty() { scanner.unexpected() } else { Ok(commands) }
}

/// The keyword that comes next, if one does.
pub fn keyword(scanner: &Scanner) -> Option<&'static str> {
    KEYWORDS
        .into_iter()
        .find(|keyword| scanner.looks_at(keyword) && scanner.ahead(keyword.len()).is_none_or(is_meta))
}

pub fn take_keyword(scanner: &mut Scanner, wanted: &str) -> Parsed<()> {
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
            return Ok(Item { first, rest, background: false, begins: false });
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
            stage.redirects.push(Redirect { fd: 2, variable: None, kind: RedirectKind::Duplicate, target });
        }
        pipeline.stages.push(Rc::new(stage));
        if scanner.looks_at("||") || scanner.peek() != Some('|') {
            return Ok(pipeline);
        }
        scanner.skip(if both { 2 } else { 1 });
        scanner.skip_lines();
    }
}

pub fn command(scanner: &mut Scanner) -> Parsed<Command> {
    scanner.skip_blanks();
    let (line, mark) = (scanner.line, scanner.mark());
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
    let asked =
        matches!(kind, Kind::Condition(_) | Kind::Arithmetic(_) | Kind::Function { .. } | Kind::Subshell(_));
    let text = if asked { scanner.since(mark) } else { String::new() };
    Ok(Command { line, text: text.trim_end().into(), kind, redirects })
}

fn simple(scanner: &mut Scanner, line: u32) -> Parsed<Command> {
    let (mut assigns, mut words, mut declared) = (Vec::new(), Vec::<Word>::new(), Vec::new());
    let mut redirects = Vec::new();
    let mark = scanner.mark();
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
    let text = scanner.since(mark).trim_end().into();
    Ok(Command { line, text, kind: Kind::Simple { assigns, words, declared }, redirects })
}

/// A word, and what its braces make of it.
pub fn words_of(scanner: &mut Scanner) -> Parsed<Vec<Word>> {
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
