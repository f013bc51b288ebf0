//! Expressions, by how strongly their operators bind.

use super::{Parsed, Parser};
use crate::regex::{Flavour, Regex};
use crate::util::awk::lex::Token;
use crate::util::awk::tree::{BUILTINS, Builtin, Comparison, Expression, From, Variable};
use std::rc::Rc;

impl Parser<'_> {
    pub fn list(&mut self, end: &str) -> Parsed<Vec<Expression>> {
        let mut items = Vec::new();
        self.newlines()?;
        while !self.is(end) {
            items.push(self.expression()?);
            self.newlines()?;
            if !self.take(",")? {
                break;
            }
            self.newlines()?;
        }
        Ok(items)
    }

    pub fn expression(&mut self) -> Parsed<Expression> {
        self.deeper(Self::ternary)
    }

    fn ternary(&mut self) -> Parsed<Expression> {
        let condition = self.or()?;
        if self.take("?")? {
            self.newlines()?;
            let yes = self.expression()?;
            self.newlines()?;
            self.expect(":")?;
            self.newlines()?;
            let no = self.expression()?;
            return Ok(Expression::Choice(Box::new(condition), Box::new(yes), Box::new(no)));
        }
        let operator = ["=", "+=", "-=", "*=", "/=", "%=", "^="].into_iter().find(|sign| self.is(sign));
        let Some(operator) = operator else { return Ok(condition) };
        // `!x = y` and `a + b = c`: what is assigned to is the rightmost part.
        self.assign(condition, operator)
    }

    fn assign(&mut self, target: Expression, operator: &str) -> Parsed<Expression> {
        match target {
            Expression::Variable(_) | Expression::Field(_) | Expression::Element(..) => {
                self.advance()?;
                self.newlines()?;
                let value = Box::new(self.expression()?);
                Ok(match operator.strip_suffix('=').and_then(|sign| sign.chars().next()) {
                    None => Expression::Assign(Box::new(target), value),
                    Some(sign) => Expression::Update(Box::new(target), sign, value),
                })
            }
            Expression::Not(inner) => Ok(Expression::Not(Box::new(self.assign(*inner, operator)?))),
            Expression::And(left, right) => {
                Ok(Expression::And(left, Box::new(self.assign(*right, operator)?)))
            }
            Expression::Or(left, right) => Ok(Expression::Or(left, Box::new(self.assign(*right, operator)?))),
            Expression::Compare(left, comparison, right) => {
                Ok(Expression::Compare(left, comparison, Box::new(self.assign(*right, operator)?)))
            }
            Expression::Concat(left, right) => {
                Ok(Expression::Concat(left, Box::new(self.assign(*right, operator)?)))
            }
            _ => self.error(),
        }
    }

    fn or(&mut self) -> Parsed<Expression> {
        let mut left = self.and()?;
        while self.take("||")? {
            self.newlines()?;
            left = Expression::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Parsed<Expression> {
        let mut left = self.membership()?;
        while self.take("&&")? {
            self.newlines()?;
            left = Expression::And(Box::new(left), Box::new(self.membership()?));
        }
        Ok(left)
    }

    fn membership(&mut self) -> Parsed<Expression> {
        let mut left = self.matching()?;
        while !self.no_in && self.is("in") {
            self.advance()?;
            let Token::Name(name, _) = self.advance()? else { return self.error() };
            let array = self.variable(&name);
            let index = match left {
                Expression::In(items, Variable::Local(usize::MAX)) => items,
                other => vec![other],
            };
            left = Expression::In(index, array);
        }
        Ok(left)
    }

    fn matching(&mut self) -> Parsed<Expression> {
        let mut left = self.comparison()?;
        loop {
            let negated = self.is("!~");
            if !negated && !self.is("~") {
                return Ok(left);
            }
            self.advance()?;
            let pattern = Box::new(self.comparison()?);
            left = Expression::Match { text: Box::new(left), pattern, negated };
        }
    }

    fn comparison(&mut self) -> Parsed<Expression> {
        let left = self.concatenation()?;
        let signs = [
            ("<=", Comparison::LessEqual),
            ("<", Comparison::Less),
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            (">=", Comparison::GreaterEqual),
            (">", Comparison::Greater),
        ];
        let found = signs.into_iter().find(|(sign, _)| self.is(sign) && !(self.no_greater && *sign == ">"));
        let Some((_, comparison)) = found else { return self.piped(left) };
        self.advance()?;
        let right = self.concatenation()?;
        Ok(Expression::Compare(Box::new(left), comparison, Box::new(right)))
    }

    /// `command | getline`
    fn piped(&mut self, left: Expression) -> Parsed<Expression> {
        let mut left = left;
        while self.is("|") && !self.no_greater {
            self.advance()?;
            self.expect("getline")?;
            let target = self.getline_target()?;
            left = Expression::Getline { from: From::Command(Box::new(left)), target };
        }
        Ok(left)
    }

    fn getline_target(&mut self) -> Parsed<Option<Box<Expression>>> {
        if self.is("$") || matches!(self.token, Token::Name(_, false)) {
            return Ok(Some(Box::new(self.primary()?)));
        }
        Ok(None)
    }

    fn begins_operand(&self) -> bool {
        match &self.token {
            Token::Number(_) | Token::Text(_) | Token::Regex(_) | Token::Name(..) => true,
            Token::Sign(sign) => matches!(*sign, "$" | "!" | "(" | "-" | "+" | "++" | "--"),
            _ => false,
        }
    }

    pub fn concatenation(&mut self) -> Parsed<Expression> {
        let mut left = self.additive()?;
        // A sign here would have been taken as that of an addition.
        while self.begins_operand() && !self.is("+") && !self.is("-") && !self.is("!") {
            let right = self.additive()?;
            left = Expression::Concat(Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn additive(&mut self) -> Parsed<Expression> {
        let mut left = self.multiplicative()?;
        while let Some(sign) = ['+', '-'].into_iter().find(|sign| self.is(&sign.to_string())) {
            self.advance()?;
            left = Expression::Arithmetic(Box::new(left), sign, Box::new(self.multiplicative()?));
        }
        Ok(left)
    }

    fn multiplicative(&mut self) -> Parsed<Expression> {
        let mut left = self.unary()?;
        while let Some(sign) = ['*', '/', '%'].into_iter().find(|sign| self.is(&sign.to_string())) {
            self.advance()?;
            left = Expression::Arithmetic(Box::new(left), sign, Box::new(self.unary()?));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expression> {
        self.deeper(|parser| {
            if parser.take("!")? {
                return Ok(Expression::Not(Box::new(parser.unary()?)));
            }
            if parser.take("-")? {
                return Ok(Expression::Negative(Box::new(parser.unary()?)));
            }
            if parser.take("+")? {
                return Ok(Expression::Positive(Box::new(parser.unary()?)));
            }
            parser.power()
        })
    }

    fn power(&mut self) -> Parsed<Expression> {
        let base = self.postfix()?;
        if self.take("^")? {
            // To the right, and with a sign of its own.
            let exponent = self.unary()?;
            return Ok(Expression::Arithmetic(Box::new(base), '^', Box::new(exponent)));
        }
        Ok(base)
    }

    fn postfix(&mut self) -> Parsed<Expression> {
        let target = self.primary()?;
        if matches!(target, Expression::Variable(_) | Expression::Field(_) | Expression::Element(..)) {
            for (sign, step) in [("++", 1.0), ("--", -1.0)] {
                if self.take(sign)? {
                    return Ok(Expression::Step { target: Box::new(target), step, before: false });
                }
            }
        }
        Ok(target)
    }

    fn primary(&mut self) -> Parsed<Expression> {
        match self.advance()? {
            Token::Number(number) => Ok(Expression::Number(number)),
            Token::Text(text) => Ok(Expression::Text(Rc::from(text))),
            Token::Regex(pattern) => {
                Ok(Expression::Regex(Rc::new(Regex::new(&pattern, Flavour::Awk, false)?)))
            }
            Token::Sign("$") => {
                for (sign, step) in [("++", 1.0), ("--", -1.0)] {
                    if self.take(sign)? {
                        let target = Box::new(self.primary()?);
                        return Ok(Expression::Field(Box::new(Expression::Step {
                            target,
                            step,
                            before: true,
                        })));
                    }
                }
                if self.take("-")? {
                    return Ok(Expression::Field(Box::new(Expression::Negative(Box::new(self.primary()?)))));
                }
                Ok(Expression::Field(Box::new(self.deeper(Self::primary)?)))
            }
            Token::Sign(sign @ ("++" | "--")) => {
                let target = Box::new(self.primary()?);
                if !matches!(
                    *target,
                    Expression::Variable(_) | Expression::Field(_) | Expression::Element(..)
                ) {
                    return self.error();
                }
                Ok(Expression::Step { target, step: if sign == "++" { 1.0 } else { -1.0 }, before: true })
            }
            Token::Sign("(") => self.parenthesis(),
            Token::Sign("-") => Ok(Expression::Negative(Box::new(self.unary()?))),
            Token::Sign("!") => Ok(Expression::Not(Box::new(self.unary()?))),
            Token::Word("getline") => {
                self.program.reads = true;
                let target = self.getline_target()?;
                if self.take("<")? {
                    let file = Box::new(self.postfix()?);
                    return Ok(Expression::Getline { from: From::File(file), target });
                }
                Ok(Expression::Getline { from: From::Input, target })
            }
            Token::Name(name, called) => self.name(name, called),
            other => {
                self.token = other;
                self.error()
            }
        }
    }

    fn parenthesis(&mut self) -> Parsed<Expression> {
        let (no_in, no_greater) = (std::mem::take(&mut self.no_in), std::mem::take(&mut self.no_greater));
        let items = self.list(")");
        self.no_in = no_in;
        self.no_greater = no_greater;
        let mut items = items?;
        self.expect(")")?;
        if items.len() == 1 {
            return Ok(Expression::Group(Box::new(items.remove(0))));
        }
        if items.is_empty() || !(self.is("in") || self.no_greater) {
            return self.error();
        }
        // A list: an index before `in`, or the items of `print`.
        Ok(Expression::In(items, Variable::Local(usize::MAX)))
    }

    fn name(&mut self, name: String, called: bool) -> Parsed<Expression> {
        if let Some((_, builtin)) = BUILTINS.iter().find(|(known, _)| *known == name) {
            if !called {
                return if *builtin == Builtin::Length {
                    Ok(Expression::Builtin(*builtin, Vec::new()))
                } else {
                    self.error()
                };
            }
            let arguments = self.arguments()?;
            return Ok(Expression::Builtin(*builtin, arguments));
        }
        if called && !self.locals.contains_key(&name) {
            let arguments = self.arguments()?;
            let index = self.function_index(&name);
            self.called.push((name, index));
            return Ok(Expression::Call(index, arguments));
        }
        let variable = self.variable(&name);
        if self.take("[")? {
            let no_in = std::mem::take(&mut self.no_in);
            let index = self.list("]");
            self.no_in = no_in;
            let index = index?;
            self.expect("]")?;
            return Ok(Expression::Element(variable, index));
        }
        Ok(Expression::Variable(variable))
    }

    fn arguments(&mut self) -> Parsed<Vec<Expression>> {
        self.expect("(")?;
        let (no_in, no_greater) = (std::mem::take(&mut self.no_in), std::mem::take(&mut self.no_greater));
        let items = self.list(")");
        self.no_in = no_in;
        self.no_greater = no_greater;
        let items = items?;
        self.expect(")")?;
        Ok(items)
    }
}
