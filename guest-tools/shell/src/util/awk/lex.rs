//! The words of a program of awk.

#[derive(Debug, Clone, PartialEq)]
pub enum Token {
    Number(f64),
    Text(String),
    Regex(String),
    /// A name; true if a parenthesis follows at once.
    Name(String, bool),
    Word(&'static str),
    Sign(&'static str),
    Newline,
    End,
}

const WORDS: [&str; 20] = [
    "BEGIN", "END", "function", "func", "if", "else", "while", "for", "do", "break", "continue", "next",
    "nextfile", "exit", "return", "delete", "in", "getline", "print", "printf",
];

const SIGNS: [&str; 47] = [
    "**=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "**", "==", "<=", ">=", "!=", ">>",
    "!~", "{", "}", "(", ")", "[", "]", ";", ",", "+", "-", "*", "/", "%", "^", "!", ">", "<", "|", "?", ":",
    "~", "$", "=", "&", "@", "\\", "#", "'", "`",
];

pub struct Lexer<'a> {
    text: &'a str,
    at: usize,
    pub line: u32,
    /// Whether a slash divides here, rather than beginning a pattern.
    divides: bool,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0, line: 1, divides: false }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub fn next(&mut self) -> Result<Token, String> {
        let token = self.token()?;
        self.divides = match &token {
            Token::Number(_) | Token::Text(_) | Token::Regex(_) | Token::Name(..) => true,
            Token::Sign(sign) => matches!(*sign, ")" | "]" | "$" | "++" | "--"),
            _ => false,
        };
        Ok(token)
    }

    fn token(&mut self) -> Result<Token, String> {
        loop {
            let rest = self.rest();
            if rest.starts_with([' ', '\t', '\r']) {
                self.at += 1;
            } else if let Some(after) = rest.strip_prefix("\\\n").or_else(|| rest.strip_prefix("\\\r\n")) {
                self.at += rest.len() - after.len();
                self.line += 1;
            } else if rest.starts_with('#') {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else {
                break;
            }
        }
        let rest = self.rest();
        let Some(letter) = rest.chars().next() else { return Ok(Token::End) };
        if letter == '\n' {
            self.at += 1;
            self.line += 1;
            return Ok(Token::Newline);
        }
        if letter == '"' {
            return self.string();
        }
        if letter == '/' && !self.divides {
            return self.regex();
        }
        if letter.is_ascii_digit()
            || (letter == '.' && rest.chars().nth(1).is_some_and(|next| next.is_ascii_digit()))
        {
            return Ok(self.number());
        }
        if letter.is_ascii_alphabetic() || letter == '_' {
            let end = rest
                .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
                .unwrap_or(rest.len());
            let name = rest.get(..end).unwrap_or_default();
            self.at += end;
            if let Some(word) = WORDS.iter().find(|word| **word == name) {
                return Ok(Token::Word(if *word == "func" { "function" } else { word }));
            }
            return Ok(Token::Name(name.to_owned(), self.rest().starts_with('(')));
        }
        match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            Some(sign) => {
                self.at += sign.len();
                Ok(Token::Sign(match *sign {
                    "**" => "^",
                    "**=" => "^=",
                    sign => sign,
                }))
            }
            None => Err(format!("syntax error at source line {}: unexpected `{letter}'", self.line)),
        }
    }

    fn number(&mut self) -> Token {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        if let Some(hex) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
            let end = hex.find(|letter: char| !letter.is_ascii_hexdigit()).unwrap_or(hex.len());
            if let Some(value) = hex.get(..end).and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
                self.at += end + 2;
                return Token::Number(f64::from(value));
            }
        }
        let digits = |mut at: usize| {
            while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            at
        };
        let mut end = digits(0);
        if bytes.get(end) == Some(&b'.') {
            end = digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
                end = digits(end + 1 + sign);
            }
        }
        self.at += end;
        Token::Number(rest.get(..end).and_then(|text| text.parse().ok()).unwrap_or(0.0))
    }

    fn string(&mut self) -> Result<Token, String> {
        let mut raw = String::new();
        let mut letters = self.rest().char_indices().skip(1);
        while let Some((index, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.at += index + 1;
                    return Ok(Token::Text(unescape(&raw)));
                }
                '\n' => break,
                '\\' => match letters.next() {
                    Some((_, '\n')) => self.line += 1,
                    Some((_, escaped)) => raw.extend(['\\', escaped]),
                    None => break,
                },
                letter => raw.push(letter),
            }
        }
        Err(format!("source line {}: unterminated string", self.line))
    }

    fn regex(&mut self) -> Result<Token, String> {
        let mut pattern = String::new();
        let mut bracket = false;
        let mut letters = self.rest().char_indices().skip(1).peekable();
        while let Some((index, letter)) = letters.next() {
            match letter {
                '/' if !bracket => {
                    self.at += index + 1;
                    return Ok(Token::Regex(pattern));
                }
                '\n' => break,
                '\\' => match letters.next() {
                    Some((_, '/')) => pattern.push('/'),
                    Some((_, escaped)) => pattern.extend(['\\', escaped]),
                    None => break,
                },
                '[' if !bracket => {
                    bracket = true;
                    pattern.push('[');
                    for special in ['^', ']'] {
                        if letters.next_if(|(_, next)| *next == special).is_some() {
                            pattern.push(special);
                        }
                    }
                }
                ']' => {
                    bracket = false;
                    pattern.push(']');
                }
                letter => pattern.push(letter),
            }
        }
        Err(format!("source line {}: unterminated regexp", self.line))
    }
}

/// The backslashes of a string; one before a letter without a meaning stays, as patterns need it.
pub fn unescape(raw: &str) -> String {
    let mut text = String::new();
    let mut rest = raw.chars().peekable();
    while let Some(letter) = rest.next() {
        if letter != '\\' {
            text.push(letter);
            continue;
        }
        match rest.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('a') => text.push('\u{7}'),
            Some('b') => text.push('\u{8}'),
            Some('f') => text.push('\u{c}'),
            Some('v') => text.push('\u{b}'),
            Some(escaped @ ('"' | '\\' | '/')) => text.push(escaped),
            Some(digit @ '0'..='7') => {
                let mut value = digit.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = rest.peek().and_then(|next| next.to_digit(8)) else { break };
                    value = value * 8 + digit;
                    rest.next();
                }
                text.extend(char::from_u32(value & 255));
            }
            Some(other) => text.extend(['\\', other]),
            None => text.push('\\'),
        }
    }
    text
}
