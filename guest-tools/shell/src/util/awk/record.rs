//! Records and their fields.

use std::rc::Rc;

use super::value::Value;
use crate::regex::{Flavour, Regex};

/// More fields than that are no line any more.
pub const MOST_FIELDS: usize = 1_000_000;

/// The current record. Fields are split when one is asked for; the text is joined again when one was changed.
#[derive(Default)]
pub struct Record {
    text: Option<Rc<str>>,
    fields: Vec<Value>,
    split: bool,
}

impl Record {
    pub fn set(&mut self, text: &str) {
        self.text = Some(Rc::from(text));
        self.fields.clear();
        self.split = false;
    }

    /// Splits if that was not done; gives whether it was done now.
    pub fn split(&mut self, separator: &Separator) -> bool {
        if self.split {
            return false;
        }
        self.split = true;
        let text = self.text.clone().unwrap_or_default();
        self.fields = separator.split(&text).into_iter().map(Value::input).collect();
        true
    }

    pub fn count(&self) -> usize {
        self.fields.len()
    }

    pub fn whole(&mut self, joiner: &str, format: &str) -> Rc<str> {
        if let Some(text) = &self.text {
            return Rc::clone(text);
        }
        let texts: Vec<Rc<str>> = self.fields.iter().map(|field| field.to_text(format)).collect();
        let text: Rc<str> = Rc::from(texts.join(joiner));
        self.text = Some(Rc::clone(&text));
        text
    }

    /// The field of that number, from 1.
    pub fn get(&self, number: usize) -> Value {
        number.checked_sub(1).and_then(|index| self.fields.get(index)).cloned().unwrap_or_default()
    }

    pub fn put(&mut self, number: usize, value: Value) {
        if number > self.fields.len() {
            self.fields.resize(number, Value::text(""));
        }
        if let Some(field) = number.checked_sub(1).and_then(|index| self.fields.get_mut(index)) {
            *field = value;
        }
        self.text = None;
    }

    pub fn resize(&mut self, count: usize) {
        self.fields.resize(count, Value::text(""));
        self.text = None;
    }
}

/// How a text is split.
#[derive(Clone)]
pub enum Separator {
    Blanks,
    /// Blanks and line ends, as with records of paragraphs.
    Letter(char),
    Letters,
    Regex(Rc<Regex>),
}

impl Separator {
    pub fn new(text: &str) -> Result<Self, String> {
        let mut letters = text.chars();
        Ok(match (letters.next(), letters.next()) {
            (None, _) => Self::Letters,
            (Some(' '), None) => Self::Blanks,
            (Some('\\'), None) => Self::Letter('\\'),
            (Some(letter), None) if letter == '\t' || !"|.*+?[](){}^$".contains(letter) => {
                Self::Letter(letter)
            }
            (Some(letter), None) => Self::Letter(letter),
            _ => Self::Regex(Rc::new(Regex::new(text, Flavour::Awk, false)?)),
        })
    }

    pub fn split<'a>(&self, text: &'a str) -> Vec<&'a str> {
        if text.is_empty() {
            return Vec::new();
        }
        match self {
            Self::Blanks => text.split([' ', '\t', '\n']).filter(|part| !part.is_empty()).collect(),
            Self::Letter(letter) => text.split(*letter).collect(),
            Self::Letters => text
                .char_indices()
                .filter_map(|(index, letter)| text.get(index..index + letter.len_utf8()))
                .collect(),
            Self::Regex(regex) => {
                let (mut parts, mut from, mut at) = (Vec::new(), 0, 0);
                while let Some(found) = regex.find(text.as_bytes(), at) {
                    if found.is_empty() {
                        at = found.end + 1;
                        if at > text.len() {
                            break;
                        }
                        continue;
                    }
                    parts.push(text.get(from..found.start).unwrap_or_default());
                    from = found.end;
                    at = found.end;
                }
                parts.push(text.get(from..).unwrap_or_default());
                parts
            }
        }
    }
}
