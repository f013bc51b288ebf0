//! `expr`

use crate::regex::{Flavour, Regex};
use crate::shell::Shell;
use crate::stop::{Status, Stop, wrong};

pub async fn run(shell: &mut Shell, arguments: &[String]) -> Status {
    if arguments.is_empty() {
        return wrong(2, "missing operand");
    }
    let mut reader = Reader { words: arguments, at: 0, depth: 0 };
    let value = reader.level(0)?;
    if let Some(extra) = reader.peek() {
        return wrong(2, format!("syntax error: unexpected argument ‘{extra}’"));
    }
    shell.stdout().write(format!("{value}\n").as_bytes()).await?;
    Ok(i32::from(is_null(&value)))
}

/// The operators, the loosest first.
const LEVELS: [&[&str]; 6] =
    [&["|"], &["&"], &["<", "<=", "=", "==", "!=", ">=", ">"], &["+", "-"], &["*", "/", "%"], &[":"]];

fn is_null(value: &str) -> bool {
    value.is_empty() || value.parse() == Ok(0_i64)
}

struct Reader<'a> {
    words: &'a [String],
    at: usize,
    depth: u32,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&str> {
        self.words.get(self.at).map(String::as_str)
    }

    fn next(&mut self) -> Result<String, Stop> {
        let word = self.peek().map(str::to_owned);
        self.at += 1;
        match word {
            Some(word) => Ok(word),
            None => {
                let last = self.words.last().map_or("", String::as_str);
                wrong(2, format!("syntax error: missing argument after ‘{last}’"))
            }
        }
    }

    fn level(&mut self, level: usize) -> Result<String, Stop> {
        let Some(operators) = LEVELS.get(level) else { return self.primary() };
        let mut left = self.level(level + 1)?;
        while let Some(operator) = self.peek().filter(|word| operators.contains(word)).map(str::to_owned) {
            self.at += 1;
            let right = self.level(level + 1)?;
            left = apply(&operator, left, right)?;
        }
        Ok(left)
    }

    fn primary(&mut self) -> Result<String, Stop> {
        self.depth += 1;
        if self.depth > 64 {
            return wrong(2, "syntax error: nested too deeply");
        }
        let value = self.function();
        self.depth -= 1;
        value
    }

    fn function(&mut self) -> Result<String, Stop> {
        let word = self.next()?;
        match word.as_str() {
            "(" => {
                let inner = self.level(0)?;
                if self.next()? != ")" {
                    return wrong(2, "syntax error: expecting ')'");
                }
                Ok(inner)
            }
            "length" => Ok(self.primary()?.chars().count().to_string()),
            "match" => {
                let (text, pattern) = (self.primary()?, self.primary()?);
                matched(&text, &pattern)
            }
            "substr" => {
                let (text, from, length) = (self.primary()?, self.primary()?, self.primary()?);
                let (Ok(from), Ok(length)) = (from.parse::<usize>(), length.parse::<usize>()) else {
                    return Ok(String::new());
                };
                Ok(if from == 0 { String::new() } else { text.chars().skip(from - 1).take(length).collect() })
            }
            "index" => {
                let (text, letters) = (self.primary()?, self.primary()?);
                Ok(text
                    .chars()
                    .position(|letter| letters.contains(letter))
                    .map_or(0, |index| index + 1)
                    .to_string())
            }
            "+" => self.next(),
            _ => Ok(word),
        }
    }
}

fn matched(text: &str, pattern: &str) -> Result<String, Stop> {
    let Ok(regex) = Regex::new(&format!("^{}", pattern.trim_start_matches('^')), Flavour::Basic, false)
    else {
        return wrong(2, "invalid regular expression");
    };
    let groups = regex.captures(text.as_bytes(), 0);
    let has_group = pattern.contains("\\(");
    let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default().to_owned();
    Ok(match groups {
        Some(groups) if has_group => groups.get(1).cloned().flatten().map(part).unwrap_or_default(),
        Some(groups) => {
            groups.first().cloned().flatten().map(part).unwrap_or_default().chars().count().to_string()
        }
        None if has_group => String::new(),
        None => "0".to_owned(),
    })
}

fn apply(operator: &str, left: String, right: String) -> Result<String, Stop> {
    match operator {
        "|" => {
            return Ok(if !is_null(&left) {
                left
            } else if is_null(&right) {
                "0".to_owned()
            } else {
                right
            });
        }
        "&" => return Ok(if is_null(&left) || is_null(&right) { "0".to_owned() } else { left }),
        ":" => return matched(&left, &right),
        _ => {}
    }
    let numbers = left.parse::<i64>().ok().zip(right.parse::<i64>().ok());
    if matches!(operator, "<" | "<=" | "=" | "==" | "!=" | ">=" | ">") {
        let order = numbers.map_or_else(|| left.cmp(&right), |(left, right)| left.cmp(&right));
        let holds = match operator {
            "<" => order.is_lt(),
            "<=" => order.is_le(),
            "!=" => order.is_ne(),
            ">=" => order.is_ge(),
            ">" => order.is_gt(),
            _ => order.is_eq(),
        };
        return Ok(i32::from(holds).to_string());
    }
    let Some((left, right)) = numbers else { return wrong(2, "non-integer argument") };
    if matches!(operator, "/" | "%") && right == 0 {
        return wrong(2, "division by zero");
    }
    let value = match operator {
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "/" => left.checked_div(right),
        _ => left.checked_rem(right),
    };
    match value {
        Some(value) => Ok(value.to_string()),
        None => wrong(3, "integer result too large"),
    }
}
