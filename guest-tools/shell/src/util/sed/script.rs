//! The script of `sed`.

use super::tree::{Action, Address, Command, RangeEnd};
use std::collections::HashMap;

use super::substitute::Substitution;
use crate::regex::{Flavour, Regex};

/// The commands, blocks and labels resolved to places.
pub fn parse(text: &str, extended: bool) -> Result<Vec<Command>, String> {
    let mut parser = Parser {
        letters: text.chars().collect(),
        at: 0,
        flavour: if extended { Flavour::Extended } else { Flavour::Basic },
        commands: Vec::new(),
        open: Vec::new(),
        labels: HashMap::new(),
        jumps: Vec::new(),
    };
    parser.run().map_err(|message| format!("char {}: {message}", parser.at))?;
    if !parser.open.is_empty() {
        return Err("char 0: unmatched `{'".to_owned());
    }
    for (place, label) in std::mem::take(&mut parser.jumps) {
        let target =
            if label.is_empty() { Some(parser.commands.len()) } else { parser.labels.get(&label).copied() };
        let target = target.ok_or_else(|| format!("can't find label for jump to `{label}'"))?;
        if let Some(command) = parser.commands.get_mut(place) {
            match &mut command.action {
                Action::Jump(to) | Action::JumpIf(to, _) => *to = target,
                _ => {}
            }
        }
    }
    Ok(parser.commands)
}

pub struct Parser {
    letters: Vec<char>,
    at: usize,
    flavour: Flavour,
    commands: Vec<Command>,
    open: Vec<usize>,
    labels: HashMap<String, usize>,
    jumps: Vec<(usize, String)>,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += 1;
        Some(letter)
    }

    fn skip(&mut self, wanted: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&wanted) {
            self.at += 1;
        }
    }

    fn run(&mut self) -> Result<(), String> {
        loop {
            self.skip(|letter| letter.is_whitespace() || letter == ';');
            if self.peek().is_none() {
                return Ok(());
            }
            let from = self.address()?;
            let mut to = None;
            self.skip(|letter| matches!(letter, ' ' | '\t'));
            if from.is_some() && self.peek() == Some(',') {
                self.at += 1;
                self.skip(|letter| matches!(letter, ' ' | '\t'));
                to = Some(self.range_end()?);
            }
            self.skip(|letter| matches!(letter, ' ' | '\t'));
            let mut negated = false;
            while self.peek() == Some('!') {
                self.at += 1;
                negated = true;
                self.skip(|letter| matches!(letter, ' ' | '\t'));
            }
            let letter = self.next().ok_or("missing command")?;
            if letter == '}' {
                let start = self.open.pop().ok_or("unexpected `}'")?;
                let end = self.commands.len();
                if let Some(command) = self.commands.get_mut(start) {
                    command.action = Action::Block(end);
                }
                self.end()?;
                continue;
            }
            let action = self.action(letter)?;
            if let Some(action) = action {
                self.commands.push(Command { from, to, negated, action });
            }
        }
    }

    fn number(&mut self) -> Option<u64> {
        let start = self.at;
        self.skip(|letter| letter.is_ascii_digit());
        let digits: String = self.letters.get(start..self.at)?.iter().collect();
        digits.parse().ok()
    }

    fn address(&mut self) -> Result<Option<Address>, String> {
        match self.peek() {
            Some('$') => {
                self.at += 1;
                Ok(Some(Address::Last))
            }
            Some(letter) if letter.is_ascii_digit() => {
                let first = self.number().ok_or("invalid line number")?;
                if self.peek() == Some('~') {
                    self.at += 1;
                    return Ok(Some(Address::Step(first, self.number().unwrap_or(0))));
                }
                Ok(Some(Address::Line(first)))
            }
            Some('/') => {
                self.at += 1;
                self.regex_address('/').map(Some)
            }
            Some('\\') => {
                self.at += 1;
                let delimiter = self.next().ok_or("unterminated address regex")?;
                self.regex_address(delimiter).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn regex_address(&mut self, delimiter: char) -> Result<Address, String> {
        let pattern = self.delimited(delimiter, true).ok_or("unterminated address regex")?;
        let ignore_case = self.peek() == Some('I');
        self.at += usize::from(ignore_case);
        if pattern.is_empty() {
            return Ok(Address::Regex(None));
        }
        Regex::new(&pattern, self.flavour, ignore_case).map(|regex| Address::Regex(Some(regex)))
    }

    fn range_end(&mut self) -> Result<RangeEnd, String> {
        match self.peek() {
            Some('+') => {
                self.at += 1;
                Ok(RangeEnd::More(self.number().ok_or("expected number")?))
            }
            Some('~') => {
                self.at += 1;
                Ok(RangeEnd::Multiple(self.number().ok_or("expected number")?))
            }
            _ => self.address()?.map(RangeEnd::At).ok_or_else(|| "unexpected `,'".to_owned()),
        }
    }

    /// Up to the delimiter, which is taken. A backslash before the delimiter goes, other ones stay.
    fn delimited(&mut self, delimiter: char, regex: bool) -> Option<String> {
        let mut text = String::new();
        let mut bracket = false;
        loop {
            let letter = self.next()?;
            if letter == delimiter && !bracket {
                return Some(text);
            }
            match letter {
                '\\' => {
                    let escaped = self.next()?;
                    if escaped == delimiter {
                        text.push(escaped);
                    } else if escaped == '\n' && regex {
                        text.push('\n');
                    } else {
                        text.extend(['\\', escaped]);
                    }
                }
                '[' if regex && !bracket => {
                    bracket = true;
                    text.push(letter);
                    for special in ['^', ']'] {
                        if self.peek() == Some(special) {
                            text.extend(self.next());
                        }
                    }
                }
                ']' if bracket => {
                    bracket = false;
                    text.push(letter);
                }
                '\n' if regex => return None,
                _ => text.push(letter),
            }
        }
    }

    /// After a command only blanks, and what separates commands.
    fn end(&mut self) -> Result<(), String> {
        self.skip(|letter| matches!(letter, ' ' | '\t'));
        match self.peek() {
            None | Some('}') => Ok(()),
            Some('\n' | ';') => {
                self.at += 1;
                Ok(())
            }
            Some('#') => {
                self.skip(|letter| letter != '\n');
                Ok(())
            }
            Some(_) => Err("extra characters after command".to_owned()),
        }
    }

    fn word(&mut self) -> String {
        self.skip(|letter| matches!(letter, ' ' | '\t'));
        let start = self.at;
        self.skip(|letter| !matches!(letter, '\n' | ';' | '}') && !letter.is_whitespace());
        self.letters.get(start..self.at).unwrap_or_default().iter().collect()
    }

    fn line(&mut self) -> String {
        self.skip(|letter| matches!(letter, ' ' | '\t'));
        let start = self.at;
        self.skip(|letter| letter != '\n');
        self.letters.get(start..self.at).unwrap_or_default().iter().collect()
    }

    fn action(&mut self, letter: char) -> Result<Option<Action>, String> {
        let simple = match letter {
            '#' => {
                self.skip(|letter| letter != '\n');
                return Ok(None);
            }
            '{' => {
                self.open.push(self.commands.len());
                return Ok(Some(Action::Nothing));
            }
            ':' => {
                let label = self.word();
                if label.is_empty() {
                    return Err("\":\" lacks a label".to_owned());
                }
                self.labels.insert(label, self.commands.len());
                return Ok(None);
            }
            'a' | 'i' | 'c' => {
                let text = self.text()?;
                return Ok(Some(match letter {
                    'a' => Action::Append(text),
                    'i' => Action::Insert(text),
                    _ => Action::Change(text),
                }));
            }
            'b' | 't' | 'T' => {
                let label = self.word();
                self.jumps.push((self.commands.len(), label));
                self.end()?;
                return Ok(Some(if letter == 'b' {
                    Action::Jump(0)
                } else {
                    Action::JumpIf(0, letter == 't')
                }));
            }
            'r' => return Ok(Some(Action::Read(self.line()))),
            'w' => return Ok(Some(Action::Write(self.line()))),
            's' => {
                let action = self.substitute()?;
                self.end()?;
                return Ok(Some(action));
            }
            'y' => {
                let action = self.translate()?;
                self.end()?;
                return Ok(Some(action));
            }
            'q' | 'Q' => {
                self.skip(|letter| matches!(letter, ' ' | '\t'));
                let code = self.number().and_then(|code| i32::try_from(code).ok()).unwrap_or(0);
                Action::Quit(code, letter == 'q')
            }
            'd' => Action::Delete,
            'D' => Action::DeleteFirst,
            'p' => Action::Print,
            'P' => Action::PrintFirst,
            'h' => Action::Hold,
            'H' => Action::HoldMore,
            'g' => Action::Get,
            'G' => Action::GetMore,
            'x' => Action::Exchange,
            'l' => Action::List,
            'n' => Action::Next,
            'N' => Action::NextMore,
            '=' => Action::Number,
            'F' => Action::FileName,
            'z' => Action::Zap,
            other => return Err(format!("unknown command: `{other}'")),
        };
        self.end()?;
        Ok(Some(simple))
    }

    /// The text of `a`, `i` and `c`: on this line, or behind a backslash on the next ones.
    fn text(&mut self) -> Result<String, String> {
        self.skip(|letter| matches!(letter, ' ' | '\t'));
        if self.peek() == Some('\\') {
            self.at += 1;
            self.skip(|letter| matches!(letter, ' ' | '\t'));
            if self.peek() == Some('\n') {
                self.at += 1;
            }
        }
        if self.peek().is_none() {
            return Err("expected \\ after `a', `c' or `i'".to_owned());
        }
        let mut text = String::new();
        while let Some(letter) = self.next() {
            match letter {
                '\\' => match self.next() {
                    Some('t') => text.push('\t'),
                    Some(escaped) => text.push(escaped),
                    None => {}
                },
                '\n' => break,
                letter => text.push(letter),
            }
        }
        text.push('\n');
        Ok(text)
    }

    fn substitute(&mut self) -> Result<Action, String> {
        let unterminated = "unterminated `s' command";
        let delimiter = self.next().ok_or(unterminated)?;
        let pattern = self.delimited(delimiter, true).ok_or(unterminated)?;
        let replacement = self.delimited(delimiter, false).ok_or(unterminated)?;
        let mut substitution = Substitution::new(&replacement);
        let mut ignore_case = false;
        loop {
            match self.peek() {
                Some('g') => substitution.all = true,
                Some('p') => substitution.print = true,
                Some('i' | 'I') => ignore_case = true,
                Some('m' | 'M') => substitution.lines = true,
                Some('e') => return Err("the flag `e' is not supported".to_owned()),
                Some('w') => {
                    self.at += 1;
                    substitution.file = Some(self.line());
                    break;
                }
                Some(letter) if letter.is_ascii_digit() => {
                    let number = self
                        .number()
                        .filter(|number| *number > 0)
                        .ok_or("number option to `s' command may not be zero")?;
                    substitution.number = usize::try_from(number).unwrap_or(usize::MAX);
                    continue;
                }
                Some(letter) if !matches!(letter, ' ' | '\t' | '\n' | ';' | '}' | '#') => {
                    return Err("unknown option to `s'".to_owned());
                }
                _ => break,
            }
            self.at += 1;
        }
        if !pattern.is_empty() {
            substitution.regex =
                Some(Regex::new_lines(&pattern, self.flavour, ignore_case, substitution.lines)?);
        }
        Ok(Action::Substitute(Box::new(substitution)))
    }

    fn translate(&mut self) -> Result<Action, String> {
        let unterminated = "unterminated `y' command";
        let delimiter = self.next().ok_or(unterminated)?;
        let unescape = |text: String| {
            text.replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\").chars().collect::<Vec<_>>()
        };
        let from = unescape(self.delimited(delimiter, false).ok_or(unterminated)?);
        let to = unescape(self.delimited(delimiter, false).ok_or(unterminated)?);
        if from.len() != to.len() {
            return Err("strings for `y' command are different lengths".to_owned());
        }
        let mut table = HashMap::new();
        for (from, to) in from.into_iter().zip(to) {
            table.entry(from).or_insert(to);
        }
        Ok(Action::Translate(table))
    }
}
