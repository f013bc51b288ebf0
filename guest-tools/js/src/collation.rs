//! The order of texts as readers of English expect it: letters together whatever their case and their marks, after digits.
//!
//! The order of ASCII is that of Unicode's root collation. What is neither a letter of Latin with marks nor ASCII is
//! ordered by its code, which keeps alphabets together.

use std::borrow::Cow;
use std::cmp::Ordering;

use boa_engine::{Context, JsArgs as _, JsResult, JsValue};
use icu_normalizer::DecomposingNormalizerBorrowed;

use crate::native::Native;

pub(crate) const FUNCTIONS: &[Native] = &[("collate", 4, collate)];

/// Signs before digits, in their order.
const SIGNS: &str = "\t\n\u{b}\u{c}\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

fn collate(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let one = arguments.get_or_undefined(0).to_string(context)?.to_std_string_lossy();
    let other = arguments.get_or_undefined(1).to_string(context)?.to_std_string_lossy();
    let numeric = arguments.get_or_undefined(2).to_boolean();
    let sensitivity = arguments.get_or_undefined(3).to_string(context)?.to_std_string_lossy();
    let (one, other) = (Key::of(&one), Key::of(&other));
    let letters = if numeric { one.numbers(&other) } else { one.letters.cmp(&other.letters) };
    let marks = || one.marks.cmp(&other.marks);
    let cases = || one.cases.cmp(&other.cases);
    let order = match sensitivity.as_str() {
        "base" => letters,
        "accent" => letters.then_with(marks),
        "case" => letters.then_with(cases),
        _ => letters.then_with(marks).then_with(cases),
    };
    Ok((order as i8).into())
}

/// A text by what is compared first, second and third.
struct Key {
    letters: Vec<u32>,
    /// Of each letter its marks, ended by none.
    marks: Vec<char>,
    cases: Vec<bool>,
}

impl Key {
    fn of(text: &str) -> Self {
        let mut key = Self { letters: Vec::new(), marks: Vec::new(), cases: Vec::new() };
        let text = match text.is_ascii() {
            true => Cow::Borrowed(text),
            false => DecomposingNormalizerBorrowed::new_nfd().normalize(text),
        };
        for letter in text.chars() {
            if matches!(letter, '\u{300}'..='\u{36f}') {
                key.marks.push(letter);
                continue;
            }
            let small = letter.to_lowercase().next().unwrap_or(letter);
            key.letters.push(weight(small));
            key.marks.push('\0');
            key.cases.push(small != letter);
        }
        key
    }

    /// The order of the letters where runs of digits are numbers.
    fn numbers(&self, other: &Self) -> Ordering {
        let (mut one, mut other) = (self.letters.as_slice(), other.letters.as_slice());
        loop {
            let (first, second) = (run(one), run(other));
            if first.is_empty() || second.is_empty() {
                match (one.split_first(), other.split_first()) {
                    (Some((first, rest)), Some((second, others))) if first == second => {
                        (one, other) = (rest, others);
                        continue;
                    }
                    (first, second) => {
                        return first.map(|(first, _)| first).cmp(&second.map(|(second, _)| second));
                    }
                }
            }
            let (number, against) = (significant(first), significant(second));
            let order = number.len().cmp(&against.len()).then_with(|| number.cmp(against));
            if order.is_ne() {
                return order;
            }
            (one, other) =
                (one.get(first.len()..).unwrap_or_default(), other.get(second.len()..).unwrap_or_default());
        }
    }
}

/// The digits at the start.
fn run(letters: &[u32]) -> &[u32] {
    let end =
        letters.iter().position(|letter| !(DIGITS..DIGITS + 10).contains(letter)).unwrap_or(letters.len());
    letters.get(..end).unwrap_or_default()
}

/// Digits without zeros before them.
fn significant(digits: &[u32]) -> &[u32] {
    let start = digits.iter().position(|digit| *digit != DIGITS).unwrap_or(digits.len());
    digits.get(start..).unwrap_or_default()
}

/// The weight of `0`; signs are below it.
const DIGITS: u32 = 100;

/// Beyond every ASCII letter.
const OTHERS: u32 = 1_000;

fn weight(letter: char) -> u32 {
    let code = u32::from(letter);
    match letter {
        '0'..='9' => DIGITS + code - u32::from('0'),
        'a'..='z' => DIGITS + 10 + code - u32::from('a'),
        _ => {
            let sign = SIGNS.chars().position(|sign| sign == letter).and_then(|at| u32::try_from(at).ok());
            sign.unwrap_or(OTHERS + code)
        }
    }
}
