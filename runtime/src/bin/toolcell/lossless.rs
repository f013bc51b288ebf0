//! Whether a document of JSON is the same after it was read and written, but for how it is set out.

use serde_json::Value;

/// Whether nothing of the document in `text` is lost in what was read of it: no key that is there twice, no digit.
pub(crate) fn is_kept(text: &str, read: &Value) -> bool {
    let written = read.to_string();
    let (before, after) = (Scalars::of(text), Scalars::of(&written));
    before.strings == after.strings && before.numbers == after.numbers
}

/// How many strings a document has, keys included, and its numbers in their order.
#[derive(Debug, Default, PartialEq)]
struct Scalars {
    strings: usize,
    numbers: Vec<Number>,
}

/// A number: its digits without zeros at either end, and the power of ten of the last of them.
#[derive(Debug, Default, PartialEq)]
struct Number {
    is_negative: bool,
    digits: String,
    exponent: i64,
}

impl Scalars {
    /// Those of a document that is valid.
    fn of(text: &str) -> Self {
        let mut all = Self::default();
        let mut rest = text.chars().peekable();
        while let Some(letter) = rest.next() {
            match letter {
                '"' => {
                    all.strings += 1;
                    while let Some(letter) = rest.next()
                        && letter != '"'
                    {
                        if letter == '\\' {
                            rest.next();
                        }
                    }
                }
                '-' | '0'..='9' => {
                    let mut number = letter.to_string();
                    while let Some(more) =
                        rest.next_if(|more| matches!(more, '0'..='9' | '.' | 'e' | 'E' | '+' | '-'))
                    {
                        number.push(more);
                    }
                    all.numbers.push(Number::of(&number));
                }
                _ => {}
            }
        }
        all
    }
}

impl Number {
    fn of(text: &str) -> Self {
        let unsigned = text.trim_start_matches('-');
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{part}");
        let digits = all.trim_end_matches('0');
        let length = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
        let zeros = length(&all).saturating_sub(length(digits));
        let exponent = exponent.parse::<i64>().unwrap_or(i64::MAX);
        let digits = digits.trim_start_matches('0');
        if digits.is_empty() {
            return Self::default();
        }
        Self {
            is_negative: text.starts_with('-'),
            digits: digits.to_owned(),
            exponent: exponent.saturating_sub(length(part)).saturating_add(zeros),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    #[test]
    fn what_would_be_lost_is_seen() {
        for (text, kept) in [
            (r#"{"a": [1, 2.50, -0.0, 1e3, 1E+2, 100, 0.1, 18446744073709551615], "b": "12\"3{4"}"#, true),
            (r#"{"a": 12345678901234567890123}"#, false),
            (r#"{"a": 0.12345678901234567890123}"#, false),
            (r#"{"a": 1, "a": 1}"#, false),
            (r#"{"a": {"b": "x", "c": 1, "b": "x"}}"#, false),
            (r#"{"a": {"b": 1}, "c": {"b": 1}}"#, true),
            ("{}", true),
        ] {
            assert_eq!(is_kept(text, &serde_json::from_str(text).unwrap()), kept, "{text}");
        }
    }
}
