//! Arithmetic expressions: read and evaluated in one pass, in bounded depth.

use std::fmt;

mod function;
mod token;

use function::Function;
use token::{Token, Tokens};

/// Longest expression, in bytes.
const LONGEST: usize = 10_000;
/// How deep parentheses, signs and powers may nest: each level takes stack.
const DEEPEST: usize = 100;

/// What is wrong with an expression, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpressionError {
    /// What is wrong.
    pub message: String,
    /// The character, counted from 1; the one after the last at the end.
    pub position: usize,
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at character {})", self.message, self.position)
    }
}

type Result<T> = std::result::Result<T, ExpressionError>;

fn error<T>(position: usize, message: impl Into<String>) -> Result<T> {
    Err(ExpressionError { message: message.into(), position })
}

/// The value of an expression such as `2 * (3 + 4) ^ 2`.
pub fn evaluate(expression: &str) -> Result<f64> {
    if expression.len() > LONGEST {
        return error(LONGEST, format!("the expression is too long, at most {LONGEST} bytes"));
    }
    let mut parser = Parser { tokens: Tokens::new(expression), depth: 0 };
    if parser.tokens.peek()?.0 == Token::End {
        return error(1, "the expression is empty");
    }
    let value = parser.sum()?;
    match parser.tokens.peek()? {
        (Token::End, _) => Ok(value),
        (Token::Close, position) => error(position, "`)` without `(`"),
        (found, position) => error(position, format!("expected an operator, found {found}")),
    }
}

struct Parser<'a> {
    tokens: Tokens<'a>,
    depth: usize,
}

impl Parser<'_> {
    fn sum(&mut self) -> Result<f64> {
        let mut value = self.product()?;
        loop {
            let (token, position) = self.tokens.peek()?;
            value = match token {
                Token::Plus => value + self.after(Self::product)?,
                Token::Minus => value - self.after(Self::product)?,
                _ => return Ok(value),
            };
            finite(value, position)?;
        }
    }

    fn product(&mut self) -> Result<f64> {
        let mut value = self.signed()?;
        loop {
            let (token, position) = self.tokens.peek()?;
            value = match token {
                Token::Times => value * self.after(Self::signed)?,
                Token::Divide => value / nonzero(self.after(Self::signed)?, position)?,
                Token::Remainder => value % nonzero(self.after(Self::signed)?, position)?,
                _ => return Ok(value),
            };
            finite(value, position)?;
        }
    }

    /// A sign binds less than a power: `-2 ^ 2` is −4.
    fn signed(&mut self) -> Result<f64> {
        match self.tokens.peek()?.0 {
            Token::Minus => Ok(-self.nested(|parser| parser.after(Self::signed))?),
            Token::Plus => self.nested(|parser| parser.after(Self::signed)),
            _ => self.power(),
        }
    }

    /// Powers are read from the right, and their exponent may have a sign: `2 ^ -3 ^ 2` is `2 ^ (-(3 ^ 2))`.
    fn power(&mut self) -> Result<f64> {
        let base = self.operand()?;
        let (token, position) = self.tokens.peek()?;
        if token != Token::Power {
            return Ok(base);
        }
        let exponent = self.nested(|parser| parser.after(Self::signed))?;
        if base == 0.0 && exponent < 0.0 {
            return error(position, "division by zero: 0 to a negative power");
        }
        let value = base.powf(exponent);
        if value.is_nan() {
            return error(position, "a negative number has no real power with a fraction");
        }
        finite(value, position)
    }

    fn operand(&mut self) -> Result<f64> {
        let (token, position) = self.tokens.next()?;
        match token {
            Token::Number(value) => Ok(value),
            Token::Open => {
                let value = self.nested(Self::sum)?;
                self.close(position)?;
                Ok(value)
            }
            Token::Name("pi") => Ok(std::f64::consts::PI),
            Token::Name("e") => Ok(std::f64::consts::E),
            Token::Name(name) => match Function::named(name) {
                Some(function) => self.call(function, position),
                None => {
                    error(position, format!("unknown name `{name}`; known are pi, e, {}", function::NAMES))
                }
            },
            found => error(position, format!("expected a number, a name or `(`, found {found}")),
        }
    }

    fn call(&mut self, function: Function, position: usize) -> Result<f64> {
        let (token, open) = self.tokens.next()?;
        if token != Token::Open {
            return error(open, format!("expected `(` after the function's name, found {token}"));
        }
        let mut arguments = Vec::new();
        if self.tokens.peek()?.0 != Token::Close {
            arguments.push(self.nested(Self::sum)?);
            while self.tokens.peek()?.0 == Token::Comma {
                arguments.push(self.nested(|parser| parser.after(Self::sum))?);
            }
        }
        self.close(open)?;
        let value = function.apply(&arguments).or_else(|message| error(position, message))?;
        finite(value, position)
    }

    fn close(&mut self, open: usize) -> Result<()> {
        match self.tokens.next()? {
            (Token::Close, _) => Ok(()),
            (Token::End, position) => {
                error(position, format!("`)` is missing for the `(` at character {open}"))
            }
            (found, position) => error(position, format!("expected an operator or `)`, found {found}")),
        }
    }

    /// Passes the token that was peeked at, then reads what `part` reads.
    fn after(&mut self, part: fn(&mut Self) -> Result<f64>) -> Result<f64> {
        self.tokens.next()?;
        part(self)
    }

    fn nested(&mut self, part: impl FnOnce(&mut Self) -> Result<f64>) -> Result<f64> {
        if self.depth == DEEPEST {
            let (_, position) = self.tokens.peek()?;
            return error(position, format!("nested too deep, at most {DEEPEST} levels"));
        }
        self.depth += 1;
        let value = part(self);
        self.depth -= 1;
        value
    }
}

fn nonzero(divisor: f64, position: usize) -> Result<f64> {
    if divisor == 0.0 { error(position, "division by zero") } else { Ok(divisor) }
}

fn finite(value: f64, position: usize) -> Result<f64> {
    crate::finite(value).or_else(|message| error(position, message))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failing test may panic")]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values() {
        for (expression, expected) in [
            ("1", 1.0),
            ("2 + 3 * 4", 14.0),
            ("(2 + 3) * 4", 20.0),
            ("10 - 4 - 3", 3.0),
            ("100 / 10 / 5", 2.0),
            ("2 ^ 3 ^ 2", 512.0),
            ("-2 ^ 2", -4.0),
            ("(-2) ^ 2", 4.0),
            ("2 ^ -1", 0.5),
            ("2 ^ -3 ^ 2", 2f64.powi(-9)),
            ("--3", 3.0),
            ("+3 - -2", 5.0),
            ("7 % 4", 3.0),
            ("-7 % 4", -3.0),
            ("2 * 7 % 4", 2.0),
            ("5.5 % 2", 1.5),
            (".5 + 1.", 1.5),
            ("1.5e3 + 2E-1", 1500.2),
            ("2 * pi", std::f64::consts::TAU),
            ("ln(e)", 1.0),
            ("sqrt(16) + abs(-3)", 7.0),
            ("min(3, 1, 2) + max(4)", 5.0),
            ("floor(-1.5) + ceil(1.2) + round(2.5)", 3.0),
            ("log10(1000) + exp(0)", 4.0),
            ("sin(0) + cos(0) + tan(0)", 1.0),
            ("2**3", 8.0),
            ("\t1\n+ 1", 2.0),
            ("0.1 + 0.2", 0.1 + 0.2),
            ("6 × 7 ÷ 2 − 1", 20.0),
        ] {
            assert_eq!(evaluate(expression), Ok(expected), "{expression}");
        }
    }

    #[test]
    fn errors_name_the_place() {
        for (expression, expected) in [
            ("", "the expression is empty (at character 1)"),
            ("  ", "the expression is empty (at character 1)"),
            ("1 +", "expected a number, a name or `(`, found the end (at character 4)"),
            ("1 2", "expected an operator, found `2` (at character 3)"),
            ("2 pi", "expected an operator, found `pi` (at character 3)"),
            ("(1 + 2", "`)` is missing for the `(` at character 1 (at character 7)"),
            ("1 + 2)", "`)` without `(` (at character 6)"),
            ("()", "expected a number, a name or `(`, found `)` (at character 2)"),
            ("1 / 0", "division by zero (at character 3)"),
            ("1 % (2 - 2)", "division by zero (at character 3)"),
            ("0 ^ -1", "division by zero: 0 to a negative power (at character 3)"),
            ("(-8) ^ 0.5", "a negative number has no real power with a fraction (at character 6)"),
            ("sqrt(-1)", "sqrt needs a value of at least 0 (at character 1)"),
            ("ln(0)", "ln needs a value greater than 0 (at character 1)"),
            ("sqrt(1, 2)", "sqrt takes 1 value, got 2 (at character 1)"),
            ("min()", "min takes at least 1 value, got 0 (at character 1)"),
            ("sqrt 4", "expected `(` after the function's name, found `4` (at character 6)"),
            ("10 ^ 400", "the result is too large for a 64-bit number (at character 4)"),
            ("1e999", "`1e999` is too large for a 64-bit number (at character 1)"),
            ("1.2.3", "`1.2.3` is not a number (at character 1)"),
            ("2 $ 3", "unexpected `$` (at character 3)"),
            ("ü", "unexpected `ü` (at character 1)"),
            ("× 2", "expected a number, a name or `(`, found `*` (at character 1)"),
        ] {
            assert_eq!(evaluate(expression).unwrap_err().to_string(), expected, "{expression}");
        }
        let unknown = evaluate("1 + foo").unwrap_err().to_string();
        assert!(unknown.starts_with("unknown name `foo`; known are pi, e, sqrt"), "{unknown}");
    }

    #[test]
    fn depth_and_length_are_bounded() {
        for unit in ["(", "-", "2^", "abs("] {
            let error = evaluate(&unit.repeat(2_000)).unwrap_err();
            assert!(error.message.starts_with("nested too deep"), "{unit}: {error}");
        }
        assert!(evaluate(&"1+".repeat(6_000)).unwrap_err().message.contains("too long"));
        assert_eq!(evaluate(&format!("{}1", "1+".repeat(4_000))), Ok(4_001.0));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9a-z+*/%^()., e-]{0,40}|\\PC{0,20}") {
            if let Ok(value) = evaluate(&text) {
                prop_assert!(value.is_finite());
            }
        }

        #[test]
        fn whole_numbers_calculate_as_they_should(a in -1000i32..1000, b in -1000i32..1000, c in 1i32..1000) {
            let expression = format!("{a} + {b} * {c} - ({a} - {b}) % {c}");
            prop_assert_eq!(evaluate(&expression), Ok(f64::from(a + b * c - (a - b) % c)));
        }
    }
}
