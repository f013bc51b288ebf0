//! Arithmetic of the shell: 64 bits, wrapping, with the operators of C.

mod place;

use crate::shell::Shell;

/// Deeper nesting, of parentheses or of names that hold names, would exhaust the stack.
const DEEPEST: u32 = 64;

/// The value of an expression in which `$` was expanded. Assigns what it assigns.
pub fn evaluate(shell: &mut Shell, text: &str) -> Result<i64, String> {
    evaluate_at(shell, text, 0)
}

fn evaluate_at(shell: &mut Shell, text: &str, depth: u32) -> Result<i64, String> {
    if depth > DEEPEST {
        return Err(format!("{text}: expression recursion level exceeded"));
    }
    let mut reader = Reader { shell, letters: text.chars().collect(), at: 0, depth, silent: 0, whole: text };
    reader.blanks();
    if reader.peek().is_none() {
        return Ok(0);
    }
    let value = reader.comma()?;
    reader.blanks();
    if reader.peek().is_some() {
        return reader.error("syntax error in expression");
    }
    Ok(value)
}

struct Reader<'a> {
    shell: &'a mut Shell,
    letters: Vec<char>,
    at: usize,
    depth: u32,
    /// Above zero where what is read is not evaluated.
    silent: u32,
    whole: &'a str,
}

/// The binary operators, the loosest first.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

const ASSIGNING: [&str; 11] = ["<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "="];

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn looks_at(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(index, letter)| self.letters.get(self.at + index) == Some(&letter))
    }

    fn take(&mut self, text: &str) -> bool {
        self.blanks();
        let found = self.looks_at(text);
        if found {
            self.at += text.len();
        }
        found
    }

    fn error<T>(&self, what: &str) -> Result<T, String> {
        let rest: String = self.letters.get(self.at..).unwrap_or_default().iter().collect();
        Err(format!("{}: {what} (error token is \"{rest}\")", self.whole.trim_start()))
    }

    fn comma(&mut self) -> Result<i64, String> {
        loop {
            let value = self.assignment()?;
            if !self.take(",") {
                return Ok(value);
            }
        }
    }

    fn assignment(&mut self) -> Result<i64, String> {
        let start = self.at;
        if let Some(place) = self.place()? {
            self.blanks();
            let operator = ASSIGNING.into_iter().find(|operator| self.looks_at(operator));
            if let Some(operator) = operator.filter(|_| !self.looks_at("==")) {
                self.at += operator.len();
                let right = self.assignment()?;
                let value = match operator.strip_suffix('=').filter(|rest| !rest.is_empty()) {
                    Some(binary) => {
                        let left = self.value(&place)?;
                        self.apply(binary, left, right)?
                    }
                    None => right,
                };
                self.store(&place, value)?;
                return Ok(value);
            }
        }
        self.at = start;
        self.choice()
    }

    fn choice(&mut self) -> Result<i64, String> {
        let condition = self.level(0)?;
        if !self.take("?") {
            return Ok(condition);
        }
        let yes = self.quietly(condition == 0, Self::comma)?;
        if !self.take(":") {
            return self.error("`:' expected for conditional expression");
        }
        let no = self.quietly(condition != 0, Self::assignment)?;
        Ok(if condition == 0 { no } else { yes })
    }

    /// Reads without effects if `silent`.
    fn quietly(&mut self, silent: bool, read: fn(&mut Self) -> Result<i64, String>) -> Result<i64, String> {
        self.silent += u32::from(silent);
        let value = read(self);
        self.silent -= u32::from(silent);
        value
    }

    fn level(&mut self, level: usize) -> Result<i64, String> {
        let Some(operators) = LEVELS.get(level) else { return self.power() };
        let mut left = self.level(level + 1)?;
        loop {
            self.blanks();
            let Some(operator) = operators.iter().find(|operator| self.is_operator(operator)) else {
                return Ok(left);
            };
            self.at += operator.len();
            let skipped = matches!((*operator, left), ("&&", 0)) || (*operator == "||" && left != 0);
            self.silent += u32::from(skipped);
            let right = self.level(level + 1);
            self.silent -= u32::from(skipped);
            left = self.apply(operator, left, right?)?;
        }
    }

    /// Whether the operator stands here, and not the beginning of a longer one.
    fn is_operator(&self, operator: &str) -> bool {
        if !self.looks_at(operator) {
            return false;
        }
        let next = self.letters.get(self.at + operator.len()).copied();
        match operator {
            "|" => !matches!(next, Some('|' | '=')),
            "&" => !matches!(next, Some('&' | '=')),
            "<" | ">" => next != Some(operator.chars().next().unwrap_or_default()),
            "*" => !matches!(next, Some('*' | '=')),
            "+" | "-" | "/" | "%" | "^" | "<<" | ">>" => next != Some('='),
            _ => true,
        }
    }

    fn apply(&self, operator: &str, left: i64, right: i64) -> Result<i64, String> {
        let truth = i64::from;
        if matches!(operator, "/" | "%") && right == 0 {
            return if self.silent > 0 {
                Ok(0)
            } else {
                let rest: String =
                    self.letters.get(self.last_number()..).unwrap_or_default().iter().collect();
                Err(format!("{}: division by 0 (error token is \"{}\")", self.whole, rest))
            };
        }
        let shift = u32::try_from(right & 63).unwrap_or(0);
        Ok(match operator {
            "||" => truth(left != 0 || right != 0),
            "&&" => truth(left != 0 && right != 0),
            "|" => left | right,
            "^" => left ^ right,
            "&" => left & right,
            "==" => truth(left == right),
            "!=" => truth(left != right),
            "<=" => truth(left <= right),
            ">=" => truth(left >= right),
            "<" => truth(left < right),
            ">" => truth(left > right),
            "<<" => left.wrapping_shl(shift),
            ">>" => left.wrapping_shr(shift),
            "+" => left.wrapping_add(right),
            "-" => left.wrapping_sub(right),
            "*" => left.wrapping_mul(right),
            "/" => left.wrapping_div(right),
            _ => left.wrapping_rem(right),
        })
    }

    /// Where the operand before this place begins.
    fn last_number(&self) -> usize {
        let before = self.letters.get(..self.at).unwrap_or_default();
        let word =
            before.iter().rev().take_while(|letter| letter.is_alphanumeric() || **letter == '_').count();
        self.at - word
    }

    fn power(&mut self) -> Result<i64, String> {
        let base = self.unary()?;
        if !self.take("**") {
            return Ok(base);
        }
        let exponent = self.power()?;
        match u32::try_from(exponent) {
            Ok(exponent) => Ok(base.wrapping_pow(exponent)),
            Err(_) => self.error("exponent less than 0"),
        }
    }

    fn unary(&mut self) -> Result<i64, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.error("expression recursion level exceeded");
        }
        let value = self.prefixed();
        self.depth -= 1;
        value
    }

    fn prefixed(&mut self) -> Result<i64, String> {
        self.blanks();
        for (sign, step) in [("++", 1), ("--", -1)] {
            if self.looks_at(sign) {
                self.at += 2;
                self.blanks();
                if let Some(place) = self.place()? {
                    let value = self.value(&place)?.wrapping_add(step);
                    self.store(&place, value)?;
                    return Ok(value);
                }
                self.at -= 2;
            }
        }
        if self.take("-") {
            return Ok(self.unary()?.wrapping_neg());
        }
        if self.take("+") {
            return self.unary();
        }
        if self.take("~") {
            return Ok(!self.unary()?);
        }
        if self.looks_at("!") && !self.looks_at("!=") {
            self.at += 1;
            return Ok(i64::from(self.unary()? == 0));
        }
        if self.take("(") {
            let value = self.comma()?;
            return if self.take(")") { Ok(value) } else { self.error("missing `)'") };
        }
        self.operand()
    }

    fn operand(&mut self) -> Result<i64, String> {
        if self.peek().is_some_and(|letter| letter.is_ascii_digit()) {
            return self.number();
        }
        let Some(place) = self.place()? else {
            return self.error("syntax error: operand expected");
        };
        let value = self.value(&place)?;
        self.blanks();
        for (sign, step) in [("++", 1), ("--", -1)] {
            if self.looks_at(sign) {
                self.at += 2;
                self.store(&place, value.wrapping_add(step))?;
                return Ok(value);
            }
        }
        Ok(value)
    }

    fn number(&mut self) -> Result<i64, String> {
        let start = self.at;
        while self
            .peek()
            .is_some_and(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '#' | '@' | '_'))
        {
            self.at += 1;
        }
        let text: String = self.letters.get(start..self.at).unwrap_or_default().iter().collect();
        match integer(&text) {
            Ok(value) => Ok(value),
            Err(what) => {
                self.at = start;
                self.error(what)
            }
        }
    }
}

/// A number as arithmetic writes it: `12`, `0x1f`, `017`, `2#101`.
pub fn integer(text: &str) -> Result<i64, &'static str> {
    let wrong = "value too great for base";
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (base, digits) = if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        (16, hex)
    } else if let Some((base, digits)) = digits.split_once('#') {
        (base.parse().map_err(|_| "invalid arithmetic base")?, digits)
    } else if digits.len() > 1 && digits.starts_with('0') {
        (8, digits)
    } else {
        (10, digits)
    };
    if !(2..=36).contains(&base) {
        return Err("invalid arithmetic base");
    }
    if digits.is_empty() {
        return Err("syntax error: operand expected");
    }
    let mut value = 0_i64;
    for digit in digits.chars() {
        let digit = digit.to_digit(base).ok_or(wrong)?;
        value = value.wrapping_mul(i64::from(base)).wrapping_add(i64::from(digit));
    }
    Ok(if negative { value.wrapping_neg() } else { value })
}
