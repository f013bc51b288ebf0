//! From the patterns of POSIX to those of the matchers.

use super::Flavour;

pub struct Translator {
    letters: Vec<char>,
    at: usize,
    basic: bool,
    awk: bool,
    out: String,
    back: bool,
    /// Whether something that can be repeated stands before.
    atom: bool,
    open: u32,
}

impl Translator {
    pub fn new(pattern: &str, flavour: Flavour) -> Self {
        Self {
            letters: pattern.chars().collect(),
            at: 0,
            basic: flavour == Flavour::Basic,
            awk: flavour == Flavour::Awk,
            out: String::new(),
            back: false,
            atom: false,
            open: 0,
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).copied()
    }

    /// The pattern as the matchers read it, and whether it refers back.
    pub fn run(mut self) -> Result<(String, bool), String> {
        while let Some(letter) = self.peek(0) {
            self.at += 1;
            match letter {
                '\\' => self.escaped()?,
                '[' => self.bracket()?,
                '.' => self.atom("."),
                '*' if self.atom => self.out.push('*'),
                '*' => self.literal('*'),
                '^' => self.caret(),
                '$' => self.dollar(),
                '(' | ')' | '|' | '+' | '?' | '{' if !self.basic => self.operator(letter),
                _ => self.literal(letter),
            }
        }
        Ok((self.out, self.back))
    }

    fn atom(&mut self, text: &str) {
        self.out.push_str(text);
        self.atom = true;
    }

    fn literal(&mut self, letter: char) {
        let mut text = [0; 4];
        let escaped = regex::escape(letter.encode_utf8(&mut text));
        self.atom(&escaped);
    }

    fn operator(&mut self, letter: char) {
        match letter {
            '(' => {
                self.out.push('(');
                self.atom = false;
                self.open += 1;
            }
            // Without its partner it means itself.
            ')' if self.open == 0 => self.literal(')'),
            ')' => {
                self.open -= 1;
                self.atom(")");
            }
            '|' => {
                self.out.push('|');
                self.atom = false;
            }
            '{' => self.interval(),
            _ if self.atom => self.out.push(letter),
            _ => self.literal(letter),
        }
    }

    /// After `{` or `\{`.
    fn interval(&mut self) {
        let rest: String = self.letters.get(self.at..).unwrap_or_default().iter().collect();
        let end = if self.basic { "\\}" } else { "}" };
        let inner = rest.split_once(end).map(|(inner, _)| inner);
        let fits = |inner: &str| {
            !inner.is_empty() && inner.chars().all(|letter| letter.is_ascii_digit() || letter == ',')
        };
        match inner.filter(|inner| fits(inner) && self.atom) {
            Some(inner) => {
                self.at += inner.chars().count() + end.len();
                let inner = if inner.starts_with(',') { format!("0{inner}") } else { inner.to_owned() };
                self.out.push_str(&format!("{{{inner}}}"));
            }
            None => self.literal('{'),
        }
    }

    fn escaped(&mut self) -> Result<(), String> {
        let Some(letter) = self.peek(0) else { return Err("Trailing backslash".to_owned()) };
        self.at += 1;
        match letter {
            '(' | ')' | '|' | '+' | '?' | '{' if self.basic => {
                if letter == ')' && self.open == 0 {
                    return Err("Unmatched ) or \\)".to_owned());
                }
                self.operator(letter);
            }
            '1'..='9' => {
                self.back = true;
                self.atom(&format!("(?:\\{letter})"));
            }
            'n' => self.atom("\\n"),
            't' => self.atom("\\t"),
            'r' => self.atom("\\r"),
            'f' => self.atom("\\f"),
            'v' => self.atom("\\x0B"),
            'w' | 'W' | 's' | 'S' => self.atom(&format!("\\{letter}")),
            'b' if self.awk => self.atom("\\x08"),
            'y' if self.awk => self.out.push_str("\\b"),
            'b' | 'B' => self.out.push_str(&format!("\\{letter}")),
            '<' => self.out.push_str("\\b{start}"),
            '>' => self.out.push_str("\\b{end}"),
            '`' => self.out.push_str("\\A"),
            '\'' => self.out.push_str("\\z"),
            other => self.literal(other),
        }
        Ok(())
    }

    fn caret(&mut self) {
        let begins = self.out.is_empty() || self.out.ends_with(['(', '|']);
        if begins || !self.basic {
            self.out.push('^');
            self.atom = false;
        } else {
            self.literal('^');
        }
    }

    fn dollar(&mut self) {
        let ends = match (self.peek(0), self.peek(1)) {
            (None, _) => true,
            (Some('\\'), Some(')' | '|')) => true,
            _ => !self.basic,
        };
        if ends {
            self.out.push('$');
            self.atom = false;
        } else {
            self.literal('$');
        }
    }

    /// After `[`.
    fn bracket(&mut self) -> Result<(), String> {
        let unmatched = || "Unmatched [, [^, [:, [., or [=".to_owned();
        let mut set = String::from("[");
        if self.peek(0) == Some('^') {
            self.at += 1;
            set.push('^');
        }
        let start = self.at;
        loop {
            let letter = self.peek(0).ok_or_else(unmatched)?;
            self.at += 1;
            match letter {
                ']' if self.at > start + 1 => break,
                '[' if self.peek(0) == Some(':') => {
                    let rest: String = self.letters.get(self.at + 1..).unwrap_or_default().iter().collect();
                    let (name, _) = rest.split_once(":]").ok_or_else(unmatched)?;
                    let known = [
                        "alpha", "digit", "alnum", "upper", "lower", "space", "blank", "punct", "print",
                        "graph", "cntrl", "xdigit",
                    ];
                    if !known.contains(&name) {
                        return Err("Invalid character class name".to_owned());
                    }
                    self.at += name.chars().count() + 3;
                    set.push_str(&format!("[:{name}:]"));
                }
                '\\' if self.awk
                    || matches!(self.peek(0), Some('n' | 't' | ']')) && self.peek(0) != Some(']') =>
                {
                    let next = self.peek(0).ok_or_else(unmatched)?;
                    self.at += 1;
                    match next {
                        'n' | 't' | 'r' | 'f' | 'w' | 's' | 'd' => set.extend(['\\', next]),
                        other => push_member(&mut set, other),
                    }
                }
                '-' if self.at > start + 1
                    && self.peek(0).is_some_and(|next| next != ']')
                    && !set.ends_with("]") =>
                {
                    set.push('-')
                }
                other => push_member(&mut set, other),
            }
        }
        set.push(']');
        self.atom(&set);
        Ok(())
    }
}

/// Puts a letter into a set so that it means itself.
fn push_member(set: &mut String, letter: char) {
    if "[]{}()\\^-&~|.*+?$#".contains(letter) {
        set.push('\\');
    }
    set.push(letter);
}
