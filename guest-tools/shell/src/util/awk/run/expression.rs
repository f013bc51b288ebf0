//! What expressions are worth.

use std::rc::Rc;

use super::input::compiled;
use super::{Done, Flow, Machine, fatal};
use crate::regex::Regex;
use crate::task;
use crate::util::awk::tree::{Comparison, Expression, place};
use crate::util::awk::value::{Cell, Value};

impl Machine<'_> {
    pub fn text(&mut self, expression: &Expression) -> Done<Rc<str>> {
        let value = self.value(expression)?;
        Ok(value.to_text(&self.global_text(place::CONVFMT)))
    }

    pub fn number(&mut self, expression: &Expression) -> Done<f64> {
        Ok(self.value(expression)?.number())
    }

    pub fn value(&mut self, expression: &Expression) -> Done<Value> {
        Ok(match expression {
            Expression::Number(number) => Value::Number(*number),
            Expression::Text(text) => Value::Text(Rc::clone(text)),
            Expression::Regex(regex) => truth(regex.is_match(self.whole().as_bytes())),
            Expression::Variable(variable) => self.get(*variable)?,
            Expression::Field(number) => {
                let number = self.number(number)?;
                self.field(number)?
            }
            Expression::Element(variable, index) => {
                let key = self.key(index)?;
                let array = self.array(*variable)?;
                array.borrow_mut().entry(key).or_default().clone()
            }
            Expression::Assign(target, value) => {
                let value = self.value(value)?;
                self.store(target, value.clone())?;
                value
            }
            Expression::Update(target, sign, value) => {
                let right = self.number(value)?;
                let left = self.number(target)?;
                let value = Value::Number(arithmetic(left, *sign, right)?);
                self.store(target, value.clone())?;
                value
            }
            Expression::Step { target, step, before } => {
                let old = self.number(target)?;
                self.store(target, Value::Number(old + step))?;
                Value::Number(if *before { old + step } else { old })
            }
            Expression::Not(inner) => truth(!self.value(inner)?.is_true()),
            Expression::Negative(inner) => Value::Number(-self.number(inner)?),
            Expression::Positive(inner) => Value::Number(self.number(inner)?),
            Expression::Arithmetic(left, sign, right) => {
                let left = self.number(left)?;
                let right = self.number(right)?;
                Value::Number(arithmetic(left, *sign, right)?)
            }
            Expression::Concat(left, right) => {
                let left = self.text(left)?;
                let right = self.text(right)?;
                Value::Text(Rc::from([&*left, &*right].concat()))
            }
            Expression::Compare(left, comparison, right) => {
                let left = self.value(left)?;
                let right = self.value(right)?;
                let order = left.compare(&right, &self.global_text(place::CONVFMT));
                truth(match comparison {
                    Comparison::Less => order.is_lt(),
                    Comparison::LessEqual => order.is_le(),
                    Comparison::Equal => order.is_eq(),
                    Comparison::NotEqual => order.is_ne(),
                    Comparison::Greater => order.is_gt(),
                    Comparison::GreaterEqual => order.is_ge(),
                })
            }
            Expression::Match { text, pattern, negated } => {
                let text = self.text(text)?;
                let regex = self.regex(pattern)?;
                truth(regex.is_match(text.as_bytes()) != *negated)
            }
            Expression::And(left, right) => {
                truth(self.value(left)?.is_true() && self.value(right)?.is_true())
            }
            Expression::Or(left, right) => truth(self.value(left)?.is_true() || self.value(right)?.is_true()),
            Expression::Choice(condition, yes, no) => {
                let chosen = if self.value(condition)?.is_true() { yes } else { no };
                self.value(chosen)?
            }
            Expression::In(index, variable) => {
                let key = self.key(index)?;
                let array = self.array(*variable)?;
                let found = array.borrow().contains_key(&key);
                truth(found)
            }
            Expression::Call(index, arguments) => self.call(*index, arguments)?,
            Expression::Builtin(builtin, arguments) => self.builtin(*builtin, arguments)?,
            Expression::Getline { from, target } => self.getline(from, target.as_deref())?,
            Expression::Group(inner) => self.value(inner)?,
        })
    }

    /// The pattern that an expression is, or that its text makes.
    pub fn regex(&mut self, expression: &Expression) -> Done<Rc<Regex>> {
        match expression {
            Expression::Regex(regex) => return Ok(Rc::clone(regex)),
            Expression::Group(inner) => return self.regex(inner),
            _ => {}
        }
        let text = self.text(expression)?;
        compiled(&mut self.patterns, &text)
            .or_else(|message| fatal(format!("fatal: invalid regexp: {message}: /{text}/")))
    }

    fn call(&mut self, index: usize, arguments: &[Expression]) -> Done<Value> {
        task::tick().map_err(Flow::Stop)?;
        let program = Rc::clone(&self.program);
        let Some(function) = program.functions.get(index) else { return fatal("fatal: no such function") };
        if arguments.len() > function.parameters {
            return fatal(format!(
                "fatal: function `{}' called with more arguments than declared",
                function.name
            ));
        }
        let mut frame = Vec::new();
        for argument in arguments {
            frame.push(match argument {
                Expression::Variable(variable) => match self.cell(*variable) {
                    Some(Cell::Array(array)) => Cell::Array(Rc::clone(array)),
                    Some(Cell::Unset) => Cell::Unset,
                    _ => Cell::Value(self.get(*variable)?),
                },
                other => Cell::Value(self.value(other)?),
            });
        }
        frame.resize(function.parameters, Cell::Unset);
        self.frames.push(frame);
        self.depth += 1;
        let result = self.block(&function.body);
        self.depth -= 1;
        let frame = self.frames.pop().unwrap_or_default();
        // What the function made an array of is one for the caller too.
        for (argument, cell) in arguments.iter().zip(frame) {
            if let (Expression::Variable(variable), Cell::Array(array)) = (argument, cell) {
                if let Some(own @ Cell::Unset) = self.cell(*variable) {
                    *own = Cell::Array(array);
                }
            }
        }
        match result {
            Ok(()) => Ok(Value::Unset),
            Err(Flow::Return(value)) => Ok(value),
            Err(flow) => Err(flow),
        }
    }
}

fn truth(holds: bool) -> Value {
    Value::Number(if holds { 1.0 } else { 0.0 })
}

fn arithmetic(left: f64, sign: char, right: f64) -> Done<f64> {
    Ok(match sign {
        '+' => left + right,
        '-' => left - right,
        '*' => left * right,
        '/' | '%' if right == 0.0 => return fatal("fatal: division by zero attempted"),
        '/' => left / right,
        '%' => left % right,
        _ => left.powf(right),
    })
}
