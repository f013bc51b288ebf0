//! Variables, arrays and fields.

use std::rc::Rc;

use super::{Done, Machine, fatal};
use crate::util::awk::record::{MOST_FIELDS, Separator};
use crate::util::awk::tree::{Expression, Variable, place};
use crate::util::awk::value::{Array, Cell, Value, to_integer};

impl Machine<'_> {
    pub(super) fn cell(&mut self, variable: Variable) -> Option<&mut Cell> {
        match variable {
            Variable::Global(index) => self.globals.get_mut(index),
            Variable::Local(index) => self.frames.last_mut().and_then(|frame| frame.get_mut(index)),
        }
    }

    pub(super) fn get(&mut self, variable: Variable) -> Done<Value> {
        if variable == Variable::Global(place::NF) {
            self.split_record()?;
        }
        match self.cell(variable) {
            Some(Cell::Value(value)) => Ok(value.clone()),
            Some(Cell::Array(_)) => fatal("fatal: attempt to use array in a scalar context"),
            _ => Ok(Value::Unset),
        }
    }

    pub(super) fn set(&mut self, variable: Variable, value: Value) -> Done<()> {
        match variable {
            Variable::Global(place::NF) => {
                self.split_record()?;
                let Some(count) = to_integer(value.number())
                    .and_then(|count| usize::try_from(count).ok())
                    .filter(|count| *count <= MOST_FIELDS)
                else {
                    return fatal("fatal: NF set to negative value");
                };
                self.record.resize(count);
            }
            Variable::Global(place::FS) => self.separator = None,
            Variable::Global(place::RS) => self.separator = None,
            _ => {}
        }
        match self.cell(variable) {
            Some(Cell::Array(_)) => fatal("fatal: attempt to use array in a scalar context"),
            Some(cell) => {
                *cell = Cell::Value(value);
                Ok(())
            }
            None => Ok(()),
        }
    }

    pub fn holds_array(&mut self, variable: Variable) -> bool {
        matches!(self.cell(variable), Some(Cell::Array(_)))
    }

    pub fn array(&mut self, variable: Variable) -> Done<Array> {
        match self.cell(variable) {
            Some(Cell::Array(array)) => Ok(Rc::clone(array)),
            Some(cell @ Cell::Unset) => {
                let array = Array::default();
                *cell = Cell::Array(Rc::clone(&array));
                Ok(array)
            }
            _ => fatal("fatal: attempt to use a scalar value as array"),
        }
    }

    pub(super) fn key(&mut self, index: &[Expression]) -> Done<Rc<str>> {
        let format = self.global_text(place::CONVFMT);
        if let [one] = index {
            return Ok(self.value(one)?.to_text(&format));
        }
        let separator = self.global_text(place::SUBSEP);
        let mut parts = Vec::new();
        for part in index {
            parts.push(self.value(part)?.to_text(&format));
        }
        Ok(Rc::from(parts.join(&separator)))
    }

    pub fn store(&mut self, target: &Expression, value: Value) -> Done<()> {
        match target {
            Expression::Variable(variable) => self.set(*variable, value),
            Expression::Field(number) => {
                let number = self.value(number)?.number();
                self.set_field(number, value)
            }
            Expression::Element(variable, index) => {
                let key = self.key(index)?;
                self.array(*variable)?.borrow_mut().insert(key, value);
                Ok(())
            }
            Expression::Group(inner) => self.store(inner, value),
            _ => fatal("fatal: cannot assign to this"),
        }
    }

    fn split_record(&mut self) -> Done<()> {
        let separator = match &self.separator {
            Some(separator) => separator.clone(),
            None => {
                let text = self.global_text(place::FS);
                let paragraphs = self.global_text(place::RS).is_empty() && &*text != " ";
                let text = if paragraphs {
                    format!(
                        "({})|\n",
                        if text.chars().count() == 1 {
                            crate::regex::escape(&text)
                        } else {
                            text.to_string()
                        }
                    )
                } else {
                    text.to_string()
                };
                let separator = Separator::new(&text).or_else(fatal)?;
                self.separator = Some(separator.clone());
                separator
            }
        };
        if self.record.split(&separator) {
            let count = self.record.count();
            if let Some(cell) = self.globals.get_mut(place::NF) {
                *cell = Cell::Value(Value::Number(super::count(count)));
            }
        }
        Ok(())
    }

    pub fn whole(&mut self) -> Rc<str> {
        let joiner = self.global_text(place::OFS);
        let format = self.global_text(place::CONVFMT);
        self.record.whole(&joiner, &format)
    }

    pub(super) fn field(&mut self, number: f64) -> Done<Value> {
        let Some(number) = to_integer(number).and_then(|number| usize::try_from(number).ok()) else {
            return fatal(format!("fatal: attempt to access field {number}"));
        };
        if number == 0 {
            return Ok(Value::input(&self.whole()));
        }
        self.split_record()?;
        Ok(self.record.get(number))
    }

    pub fn set_field(&mut self, number: f64, value: Value) -> Done<()> {
        let Some(number) = to_integer(number)
            .and_then(|number| usize::try_from(number).ok())
            .filter(|number| *number <= MOST_FIELDS)
        else {
            return fatal(format!("fatal: attempt to access field {number}"));
        };
        if number == 0 {
            let format = self.global_text(place::CONVFMT);
            self.record.set(&value.to_text(&format));
            return Ok(());
        }
        self.split_record()?;
        self.record.put(number, value);
        let count = self.record.count();
        self.set_global(place::NF, Value::Number(super::count(count)));
        Ok(())
    }
}
