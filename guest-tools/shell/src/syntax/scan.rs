//! The text of a script, character by character.

use std::fmt;

/// Deeper nesting would exhaust the stack.
const DEEPEST: u32 = 60;

/// What cannot be read as a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    pub line: u32,
    pub message: String,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.message)
    }
}

pub type Parsed<T> = Result<T, SyntaxError>;

/// A place in the text.
pub struct Scanner {
    text: Vec<char>,
    at: usize,
    pub line: u32,
    depth: u32,
    /// Where reading goes on after the next line end: behind the here-documents that began on this line.
    after_documents: Option<usize>,
}

impl Scanner {
    pub fn new(text: &str, line: u32) -> Self {
        Self { text: text.chars().collect(), at: 0, line, depth: 0, after_documents: None }
    }

    pub fn peek(&self) -> Option<char> {
        self.ahead(0)
    }

    pub fn ahead(&self, count: usize) -> Option<char> {
        self.text.get(self.at + count).copied()
    }

    pub fn looks_at(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(index, letter)| self.ahead(index) == Some(letter))
    }

    pub fn next(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += 1;
        if letter == '\n' {
            self.line += 1;
            if let Some(after) = self.after_documents.take() {
                self.line += u32::try_from(self.count_lines(self.at, after)).unwrap_or(0);
                self.at = after;
            }
        }
        Some(letter)
    }

    fn count_lines(&self, from: usize, to: usize) -> usize {
        self.text.get(from..to).unwrap_or_default().iter().filter(|letter| **letter == '\n').count()
    }

    pub fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.next();
        }
    }

    /// Takes `text` if it comes next.
    pub fn take(&mut self, text: &str) -> bool {
        let found = self.looks_at(text);
        if found {
            self.skip(text.chars().count());
        }
        found
    }

    pub fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(letter) = self.peek().filter(|letter| wanted(*letter)) {
            taken.push(letter);
            self.next();
        }
        taken
    }

    /// Blanks, escaped line ends and a comment.
    pub fn skip_blanks(&mut self) {
        loop {
            if self.looks_at("\\\n") {
                self.skip(2);
            } else if matches!(self.peek(), Some(' ' | '\t' | '\r')) {
                self.next();
            } else {
                break;
            }
        }
        if self.peek() == Some('#') {
            while self.peek().is_some_and(|letter| letter != '\n') {
                self.next();
            }
        }
    }

    pub fn skip_lines(&mut self) {
        self.skip_blanks();
        while self.peek() == Some('\n') {
            self.next();
            self.skip_blanks();
        }
    }

    pub fn mark(&self) -> (usize, u32) {
        (self.at, self.line)
    }

    pub fn back(&mut self, (at, line): (usize, u32)) {
        (self.at, self.line) = (at, line);
    }

    /// The text since a mark.
    pub fn since(&self, (from, _): (usize, u32)) -> String {
        self.text.get(from..self.at).unwrap_or_default().iter().collect()
    }

    pub fn error<T>(&self, message: impl Into<String>) -> Parsed<T> {
        Err(SyntaxError { line: self.line, message: message.into() })
    }

    /// The error that what comes next does not belong here.
    pub fn unexpected<T>(&self) -> Parsed<T> {
        let Some(letter) = self.peek() else {
            return self.error("syntax error: unexpected end of file");
        };
        let pairs = [";;", "&&", "||", "<<", ">>"];
        let token = match pairs.iter().find(|pair| self.looks_at(pair)) {
            Some(pair) => (*pair).to_owned(),
            None if letter == '\n' => "newline".to_owned(),
            None if is_meta(letter) => letter.to_string(),
            None => self
                .text
                .get(self.at..)
                .unwrap_or_default()
                .iter()
                .take_while(|next| !is_meta(**next))
                .collect(),
        };
        self.error(format!("syntax error near unexpected token `{token}'"))
    }

    /// Goes one level deeper while `inner` reads.
    pub fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEEPEST {
            return self.error("syntax error: nested too deeply");
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// The lines up to `end`, which begin after this line or after the documents that already did.
    pub fn document(&mut self, end: &str, strip: bool) -> String {
        let mut at = self.after_documents.unwrap_or_else(|| {
            let rest = self.text.get(self.at..).unwrap_or_default();
            rest.iter()
                .position(|letter| *letter == '\n')
                .map_or(self.text.len(), |index| self.at + index + 1)
        });
        let mut body = String::new();
        while at < self.text.len() {
            let rest = self.text.get(at..).unwrap_or_default();
            let length = rest.iter().position(|letter| *letter == '\n').unwrap_or(rest.len());
            let line: String = rest.iter().take(length).collect();
            at = (at + length + 1).min(self.text.len());
            let line = if strip { line.trim_start_matches('\t') } else { &line };
            if line == end {
                break;
            }
            body.push_str(line);
            body.push('\n');
        }
        self.after_documents = Some(at);
        body
    }
}

/// What ends a word.
pub fn is_meta(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r' | ';' | '&' | '|' | '<' | '>' | '(' | ')')
}

pub fn is_name_start(letter: char) -> bool {
    letter.is_ascii_alphabetic() || letter == '_'
}

pub fn is_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}
