//! Values of awk.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::rc::Rc;

use crate::format::{Spec, directive, general, leading_number};

#[derive(Debug, Clone, Default)]
pub enum Value {
    /// Never set: both nothing and zero.
    #[default]
    Unset,
    Number(f64),
    Text(Rc<str>),
    /// Text from outside, which is compared as a number if it looks like one.
    Input(Rc<str>),
}

/// An array, shared with functions that got it.
pub type Array = Rc<RefCell<HashMap<Rc<str>, Value>>>;

/// What a variable holds.
#[derive(Clone, Default)]
pub enum Cell {
    #[default]
    Unset,
    Value(Value),
    Array(Array),
}

impl Value {
    pub fn text(text: impl AsRef<str>) -> Self {
        Self::Text(Rc::from(text.as_ref()))
    }

    /// Text that came from outside.
    pub fn input(text: &str) -> Self {
        Self::Input(Rc::from(text))
    }

    pub fn number(&self) -> f64 {
        match self {
            Self::Unset => 0.0,
            Self::Number(number) => *number,
            Self::Text(text) | Self::Input(text) => leading_number(text),
        }
    }

    pub fn is_true(&self) -> bool {
        match self {
            Self::Unset => false,
            Self::Number(number) => *number != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::Input(text) => looks_numeric(text).map_or(!text.is_empty(), |number| number != 0.0),
        }
    }

    /// The text, of a number by `format` where it is not whole.
    pub fn to_text(&self, format: &str) -> Rc<str> {
        match self {
            Self::Unset => Rc::from(""),
            Self::Text(text) | Self::Input(text) => Rc::clone(text),
            Self::Number(number) => Rc::from(number_text(*number, format)),
        }
    }

    pub fn compare(&self, other: &Self, format: &str) -> Ordering {
        match (self.comparable(), other.comparable()) {
            (Some(one), Some(other)) => one.partial_cmp(&other).unwrap_or(Ordering::Less),
            _ => self.to_text(format).cmp(&other.to_text(format)),
        }
    }

    /// The number by which it is compared, if it is not compared as a text.
    fn comparable(&self) -> Option<f64> {
        match self {
            Self::Unset => Some(0.0),
            Self::Number(number) => Some(*number),
            Self::Text(_) => None,
            Self::Input(text) => looks_numeric(text),
        }
    }
}

pub fn number_text(number: f64, format: &str) -> String {
    if number.is_nan() {
        return if number.is_sign_negative() { "-nan" } else { "nan" }.to_owned();
    }
    if number.is_infinite() {
        return if number < 0.0 { "-inf" } else { "inf" }.to_owned();
    }
    if let Some(whole) = to_integer(number).filter(|_| number.fract() == 0.0) {
        return whole.to_string();
    }
    if number.fract() == 0.0 {
        // Adding zero takes the sign off a zero.
        return format!("{:.0}", number + 0.0);
    }
    if format == "%.6g" {
        let sign = if number < 0.0 { "-" } else { "" };
        return format!("{sign}{}", general(number.abs(), 6, false));
    }
    match format.split_once('%').and_then(|(before, rest)| Some((before, directive(rest)?))) {
        Some((before, (spec, after))) => {
            format!("{before}{}{after}", one(&spec, &Value::Number(number), "%.6g"))
        }
        None => number.to_string(),
    }
}

/// One directive of `printf`.
pub fn one(spec: &Spec, value: &Value, format: &str) -> String {
    match spec.conversion {
        'd' | 'i' => whole(spec, value.number()),
        'o' | 'x' | 'X' | 'u' => whole(spec, value.number()),
        'c' => match value {
            Value::Number(_) | Value::Input(_) if value.comparable().is_some() => {
                let letter =
                    to_integer(value.number()).and_then(|code| char::from_u32(u32::try_from(code).ok()?));
                spec.text(&letter.map(String::from).unwrap_or_default())
            }
            other => spec.text(&other.to_text(format).chars().next().map(String::from).unwrap_or_default()),
        },
        's' => spec.text(&value.to_text(format)),
        _ => spec.float(value.number()),
    }
}

fn whole(spec: &Spec, number: f64) -> String {
    match to_integer(number) {
        Some(integer) => spec.integer(integer),
        None if number.is_finite() => spec.text(&format!("{:.0}", number.trunc())),
        None => spec.text(&number_text(number, "%.6g")),
    }
}

/// The whole part of a number, if it fits.
pub fn to_integer(number: f64) -> Option<i64> {
    let whole = number.trunc();
    if !(-9.2e18..=9.2e18).contains(&whole) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "whole, and within the range")]
    Some(whole as i64)
}

fn looks_numeric(text: &str) -> Option<f64> {
    let trimmed = text.trim_matches([' ', '\t', '\n', '\r']);
    let first = trimmed.trim_start_matches(['+', '-']);
    if !first.starts_with(|letter: char| letter.is_ascii_digit() || letter == '.') {
        return None;
    }
    trimmed.parse().ok()
}
