//! Variables in arithmetic.

use super::{Reader, evaluate_at, integer};

pub struct Place {
    pub name: String,
    pub index: Option<String>,
}

impl Reader<'_> {
    /// A variable, if one stands here.
    pub fn place(&mut self) -> Result<Option<Place>, String> {
        self.blanks();
        let start = self.at;
        while self.peek().is_some_and(|letter| {
            letter == '_' || letter.is_ascii_alphabetic() || (self.at > start && letter.is_ascii_digit())
        }) {
            self.at += 1;
        }
        if self.at == start {
            return Ok(None);
        }
        let name = self.letters.get(start..self.at).unwrap_or_default().iter().collect();
        if self.peek() != Some('[') {
            return Ok(Some(Place { name, index: None }));
        }
        let from = self.at + 1;
        let mut depth = 0_u32;
        loop {
            match self.peek() {
                None => return self.error("bad array subscript"),
                Some('[') => depth += 1,
                Some(']') if depth == 1 => break,
                Some(']') => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
        let index = self.letters.get(from..self.at).unwrap_or_default().iter().collect();
        self.at += 1;
        Ok(Some(Place { name, index: Some(index) }))
    }

    pub fn value(&mut self, place: &Place) -> Result<i64, String> {
        if self.silent > 0 {
            return Ok(0);
        }
        let text = match &place.index {
            None => self.shell.vars.get(&place.name),
            Some(index) => {
                let key = self.key(place, index)?;
                self.shell.vars.element(&place.name, &key)
            }
        };
        let text = match text {
            Some(text) => text,
            None if self.shell.options.nounset => {
                return Err(format!("{}: unbound variable", place.name));
            }
            None => return Ok(0),
        };
        let text = text.trim();
        match integer(text) {
            Ok(value) => Ok(value),
            Err(_) => evaluate_at(self.shell, text, self.depth + 1),
        }
    }

    fn key(&mut self, place: &Place, index: &str) -> Result<String, String> {
        if self.shell.vars.is_map(&place.name) {
            return Ok(index.trim_matches(['"', '\'']).to_owned());
        }
        evaluate_at(self.shell, index, self.depth + 1).map(|value| value.to_string())
    }

    pub fn store(&mut self, place: &Place, value: i64) -> Result<(), String> {
        if self.silent > 0 {
            return Ok(());
        }
        let text = value.to_string();
        match &place.index {
            None => self.shell.vars.set(&place.name, text),
            Some(index) => {
                let key = self.key(place, index)?;
                self.shell.vars.set_element(&place.name, &key, text)
            }
        }
    }
}
