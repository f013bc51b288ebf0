//! The words of an expression.

use std::fmt;

use super::{Result, error};

/// One word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'a> {
    Number(f64),
    Name(&'a str),
    Plus,
    Minus,
    Times,
    Divide,
    Remainder,
    Power,
    Open,
    Close,
    Comma,
    End,
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(value) => write!(f, "`{value}`"),
            Self::Name(name) => write!(f, "`{name}`"),
            Self::Plus => f.write_str("`+`"),
            Self::Minus => f.write_str("`-`"),
            Self::Times => f.write_str("`*`"),
            Self::Divide => f.write_str("`/`"),
            Self::Remainder => f.write_str("`%`"),
            Self::Power => f.write_str("`^`"),
            Self::Open => f.write_str("`(`"),
            Self::Close => f.write_str("`)`"),
            Self::Comma => f.write_str("`,`"),
            Self::End => f.write_str("the end"),
        }
    }
}

/// The words that are left, each with the number of its first character.
pub(super) struct Tokens<'a> {
    rest: &'a str,
    position: usize,
    peeked: Option<(Token<'a>, usize)>,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text, position: 1, peeked: None }
    }

    pub(super) fn peek(&mut self) -> Result<(Token<'a>, usize)> {
        let token = self.next()?;
        self.peeked = Some(token);
        Ok(token)
    }

    pub(super) fn next(&mut self) -> Result<(Token<'a>, usize)> {
        match self.peeked.take() {
            Some(token) => Ok(token),
            None => self.read(),
        }
    }

    fn read(&mut self) -> Result<(Token<'a>, usize)> {
        self.take(|character| character.is_whitespace());
        let position = self.position;
        let Some(first) = self.rest.chars().next() else { return Ok((Token::End, position)) };
        let token = match first {
            '0'..='9' | '.' => self.number(position)?,
            'a'..='z' | 'A'..='Z' | '_' => {
                Token::Name(self.take(|character| character.is_ascii_alphanumeric() || character == '_'))
            }
            // Other languages' spelling of a power.
            '*' if self.rest.starts_with("**") => self.skip(2, Token::Power),
            '+' => self.skip(1, Token::Plus),
            '-' | '−' => self.skip(1, Token::Minus),
            '*' | '×' | '·' => self.skip(1, Token::Times),
            '/' | '÷' => self.skip(1, Token::Divide),
            '%' => self.skip(1, Token::Remainder),
            '^' => self.skip(1, Token::Power),
            '(' => self.skip(1, Token::Open),
            ')' => self.skip(1, Token::Close),
            ',' => self.skip(1, Token::Comma),
            other => return error(position, format!("unexpected `{other}`")),
        };
        Ok((token, position))
    }

    /// Digits with points, and an exponent only where digits follow: in `2e` the `e` is a name.
    fn number(&mut self, position: usize) -> Result<Token<'a>> {
        let start = self.rest;
        let mut length = self.take(|character| character.is_ascii_digit() || character == '.').len();
        if let Some(exponent) = self.rest.strip_prefix(['e', 'E']) {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if digits.starts_with(|character: char| character.is_ascii_digit()) {
                self.advance(self.rest.len() - digits.len());
                self.take(|character| character.is_ascii_digit());
                length = start.len() - self.rest.len();
            }
        }
        let text = &start[..length];
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Token::Number(value)),
            Ok(_) => error(position, format!("`{text}` is too large for a 64-bit number")),
            Err(_) => error(position, format!("`{text}` is not a number")),
        }
    }

    fn take(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let length = self.rest.find(|character| !wanted(character)).unwrap_or(self.rest.len());
        self.advance(length)
    }

    fn skip(&mut self, characters: usize, token: Token<'a>) -> Token<'a> {
        let length = self.rest.char_indices().nth(characters).map_or(self.rest.len(), |(at, _)| at);
        self.advance(length);
        token
    }

    fn advance(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.position += taken.chars().count();
        self.rest = rest;
        taken
    }
}
