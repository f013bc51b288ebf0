//! Text and values of others on their way into a line: redacted, then cut to a bound.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// Takes secrets out of a text.
pub(crate) type Redact<'a> = &'a (dyn Fn(&str) -> Cow<'_, str> + Sync);

/// The only way for a text into a line: everything that a model, a tool or an operator wrote passes through here.
pub(super) struct Words<'a> {
    redact: Option<Redact<'a>>,
    /// The members that were shortened.
    pub cut: Vec<&'static str>,
}

impl<'a> Words<'a> {
    pub fn new(redact: Option<Redact<'a>>) -> Self {
        Self { redact, cut: Vec::new() }
    }

    /// The text for `member`, of at most `max` bytes as JSON writes it.
    pub fn text(&mut self, member: &'static str, text: &str, max: usize) -> String {
        let text = self.redacted(text);
        match cut(&text, max) {
            None => text.into_owned(),
            Some(short) => {
                let short = format!("{short}…");
                self.note(member);
                short
            }
        }
    }

    /// Notes that `member` was shortened.
    pub fn note(&mut self, member: &'static str) {
        if !self.cut.contains(&member) {
            self.cut.push(member);
        }
    }

    /// The value with each of its texts redacted, and each of its numbers that has a secret in it.
    pub fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.redacted(text).into_owned().into(),
            Value::Number(number) => match self.redacted(&number.to_string()) {
                Cow::Owned(redacted) => redacted.into(),
                Cow::Borrowed(_) => value.clone(),
            },
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(members) => {
                let redacted =
                    members.iter().map(|(name, value)| (self.redacted(name).into_owned(), self.value(value)));
                Value::Object(redacted.collect::<Map<_, _>>())
            }
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }

    fn redacted<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.redact {
            Some(redact) => redact(text),
            None => text.into(),
        }
    }
}

/// The beginning of `text` that takes at most `max` bytes as JSON, if that is not all of it.
fn cut(text: &str, max: usize) -> Option<&str> {
    // A letter takes at most six bytes.
    if text.len() <= max / 6 {
        return None;
    }
    let mut length = 0_usize;
    for (at, letter) in text.char_indices() {
        length += match letter {
            '"' | '\\' | '\u{8}' | '\u{9}' | '\u{a}' | '\u{c}' | '\u{d}' => 2,
            '\0'..='\u{1f}' => 6,
            letter => letter.len_utf8(),
        };
        if length > max {
            return text.get(..at);
        }
    }
    None
}

/// The one text of a value: no spaces, members sorted by name.
pub(super) fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                write(item, text);
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            text.push('{');
            for (index, (name, value)) in members.into_iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write(value, text);
            }
            text.push('}');
        }
        other => text.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_order_of_members_makes_no_difference() {
        let one = json!({ "b": [1, { "y": null, "x": "\"é" }], "a": {} });
        let other = json!({ "a": {}, "b": [1, { "x": "\"é", "y": null }] });
        assert_eq!(canonical(&one), r#"{"a":{},"b":[1,{"x":"\"é","y":null}]}"#);
        assert_eq!(canonical(&one), canonical(&other));
    }

    #[test]
    fn a_text_is_cut_by_what_it_takes_as_json() {
        assert_eq!(cut("abc", 3), None);
        assert_eq!(cut("abcd", 3), Some("abc"));
        assert_eq!(cut("é\"é", 3), Some("é"));
        assert_eq!(cut("\0\0", 11), Some("\0"));
        let mut words = Words::new(None);
        assert_eq!(words.text("tool", "abcd", 3), "abc…");
        assert_eq!(words.cut, ["tool"]);
    }

    #[test]
    fn every_text_of_a_value_is_redacted() {
        fn redact(text: &str) -> Cow<'_, str> {
            match text.replace("hidden", "***").replace("73000007", "***") {
                replaced if replaced == text => text.into(),
                replaced => replaced.into(),
            }
        }
        let words = Words::new(Some(&redact));
        let value = json!({ "hidden": ["a hidden", { "x": "hidden", "y": 73_000_007 }, 1, [-73_000_007.5]] });
        let redacted = json!({ "***": ["a ***", { "x": "***", "y": "***" }, 1, ["-***.5"]] });
        assert_eq!(words.value(&value), redacted);
    }
}
