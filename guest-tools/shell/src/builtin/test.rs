//! `test` and `[`.

use crate::shell::{Shell, compare, newer, unary};
use crate::stop::{Status, wrong};

pub async fn bracket(shell: &mut Shell, arguments: &[String]) -> Status {
    match arguments.split_last() {
        Some((last, rest)) if last == "]" => answer(shell, rest),
        _ => wrong(2, "missing `]'"),
    }
}

pub async fn test(shell: &mut Shell, arguments: &[String]) -> Status {
    answer(shell, arguments)
}

fn answer(shell: &Shell, words: &[String]) -> Status {
    let mut reader = Reader { shell, words, at: 0, depth: 0 };
    if words.is_empty() {
        return Ok(1);
    }
    let result = reader.short().unwrap_or_else(|| reader.or());
    match result {
        Ok(answer) if reader.at == words.len() => Ok(i32::from(!answer)),
        Ok(_) if reader.at + 2 >= words.len() && words.len() <= 3 => wrong(
            2,
            format!(
                "{}: binary operator expected",
                words.get(1).or(words.first()).map(String::as_str).unwrap_or_default()
            ),
        ),
        Ok(_) => wrong(2, "too many arguments"),
        Err(message) => wrong(2, message),
    }
}

struct Reader<'a> {
    shell: &'a Shell,
    words: &'a [String],
    at: usize,
    depth: u32,
}

const BINARY: [&str; 14] =
    ["=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];

type Answer = Result<bool, String>;

impl Reader<'_> {
    fn word(&self, ahead: usize) -> Option<&str> {
        self.words.get(self.at + ahead).map(String::as_str)
    }

    /// Up to three words are read by their number, whatever they look like.
    fn short(&mut self) -> Option<Answer> {
        match self.words {
            [one] => {
                self.at = 1;
                Some(Ok(!one.is_empty()))
            }
            [not, one] if not == "!" => {
                self.at = 2;
                Some(Ok(one.is_empty()))
            }
            [left, operator, right] if BINARY.contains(&operator.as_str()) => {
                self.at = 3;
                Some(self.binary(left, operator, right))
            }
            _ => None,
        }
    }

    fn or(&mut self) -> Answer {
        let mut left = self.and()?;
        while self.word(0) == Some("-o") {
            self.at += 1;
            let right = self.and()?;
            left = left || right;
        }
        Ok(left)
    }

    fn and(&mut self) -> Answer {
        let mut left = self.not()?;
        while self.word(0) == Some("-a") {
            self.at += 1;
            let right = self.not()?;
            left = left && right;
        }
        Ok(left)
    }

    fn not(&mut self) -> Answer {
        self.depth += 1;
        if self.depth > 64 {
            return Err("too many arguments".to_owned());
        }
        let answer = self.primary();
        self.depth -= 1;
        answer
    }

    fn primary(&mut self) -> Answer {
        let Some(first) = self.word(0).map(str::to_owned) else { return Err("argument expected".to_owned()) };
        if first == "!" {
            self.at += 1;
            return Ok(!self.not()?);
        }
        if first == "(" {
            self.at += 1;
            let inner = self.or()?;
            if self.word(0) != Some(")") {
                return Err("`)' expected".to_owned());
            }
            self.at += 1;
            return Ok(inner);
        }
        if let (Some(operator), Some(right)) = (self.word(1), self.word(2)) {
            if BINARY.contains(&operator) {
                let answer = self.binary(&first, operator, right);
                self.at += 3;
                return answer;
            }
        }
        if let (Some(operator), Some(operand)) =
            (first.strip_prefix('-').filter(|rest| rest.len() == 1), self.word(1))
        {
            if let Some(answer) = unary(self.shell, operator, operand) {
                self.at += 2;
                return Ok(answer);
            }
            return Err(format!("{first}: unary operator expected"));
        }
        self.at += 1;
        Ok(!first.is_empty())
    }

    fn binary(&self, left: &str, operator: &str, right: &str) -> Answer {
        Ok(match operator {
            "=" | "==" => left == right,
            "!=" => left != right,
            "<" => left < right,
            ">" => left > right,
            "-nt" | "-ot" => newer(self.shell, left, operator, right),
            "-ef" => {
                let real = |name: &str| std::fs::canonicalize(self.shell.path(name)).ok();
                real(left).is_some() && real(left) == real(right)
            }
            _ => compare(operator, [number(left)?, number(right)?]),
        })
    }
}

fn number(text: &str) -> Result<i64, String> {
    text.trim().parse().map_err(|_| format!("{text}: integer expression expected"))
}
