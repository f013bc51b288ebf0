//! When two values of JSON are the same, and how numbers may be written.

use serde_json::{Map, Number, Value};

use super::matcher::Reading;

/// Whether two values are equal as JSON: numbers by value, objects without order. By deny and ask rules a member that is
/// null is as good as one that is not there, and 0 as −0.
pub(super) fn is_same(one: &Value, other: &Value, reading: Reading) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => is_same_number(one, other, reading),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other, reading))
        }
        (Value::Object(one), Value::Object(other)) => match reading {
            Reading::Wide => is_within(one, other, reading) && is_within(other, one, reading),
            Reading::Narrow => one.len() == other.len() && is_within(one, other, reading),
        },
        _ => one == other,
    }
}

/// Whether every member of `one` is in `other` too.
fn is_within(one: &Map<String, Value>, other: &Map<String, Value>, reading: Reading) -> bool {
    one.iter().all(|(key, value)| match other.get(key) {
        Some(other) => is_same(value, other, reading),
        None => value.is_null() && reading == Reading::Wide,
    })
}

fn is_same_number(one: &Number, other: &Number, reading: Reading) -> bool {
    if !one.is_f64() && !other.is_f64() {
        return one == other;
    }
    let (Some(one_float), Some(other_float)) = (one.as_f64(), other.as_f64()) else { return false };
    match reading {
        Reading::Wide => one_float == other_float,
        // An integer beyond 2^53 may have been rounded to the same float, and −0 is not 0 to whoever divides by it.
        Reading::Narrow => {
            one_float == other_float
                && one_float.is_sign_negative() == other_float.is_sign_negative()
                && [one, other].iter().all(|number| exact(number).is_some())
        }
    }
}

/// The float that a number is, if it is exactly that.
fn exact(number: &Number) -> Option<f64> {
    let float = number.as_f64()?;
    let digits = || (number.to_string(), float.to_string());
    (number.is_f64() || digits().0 == digits().1).then_some(float)
}

/// Integers up to here are floats exactly, and are written without an exponent.
const MAX_EXACT: u64 = 1 << 53;

/// Whether a number or a boolean is so in one of the ways in which it may be written as [`texts`].
pub(super) fn any_text(value: &Value, is: impl Fn(&str) -> bool) -> bool {
    match value.as_i64().filter(|integer| integer.unsigned_abs() <= MAX_EXACT) {
        // Most numbers, of which a list may have a million.
        Some(integer) => {
            let mut text = integer.to_string();
            is(&text) || {
                text.push_str(".0");
                is(&text)
            }
        }
        None => texts(value).iter().any(|text| is(text)),
    }
}

/// How a number or a boolean may be written as text; a whole number with and without a fraction, a large one with and
/// without an exponent.
fn texts(value: &Value) -> Vec<String> {
    let mut texts = match value {
        Value::Bool(_) => vec![value.to_string()],
        Value::Number(number) => match exact(number) {
            Some(float) => {
                let as_json = Number::from_f64(float).map(|float| float.to_string());
                let with_exponent =
                    as_json.as_ref().filter(|json| json.contains('e')).map(|_| format!("{float:e}"));
                [Some(float.to_string()), as_json, with_exponent].into_iter().flatten().collect()
            }
            None => vec![number.to_string()],
        },
        _ => Vec::new(),
    };
    if value.as_f64() == Some(0.0) {
        texts.extend(["0".to_owned(), "0.0".to_owned()]);
    }
    texts
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_number_is_the_same_by_value_and_certainly_only_where_it_is_exact() {
        for (one, other, wide, narrow) in [
            ("13", "13.0", true, true),
            ("13", "1.3e1", true, true),
            ("1e19", "10000000000000000000", true, true),
            ("0", "-0.0", true, false),
            ("9007199254740993", "9007199254740992.0", true, false),
            ("9007199254740993", "9007199254740992", false, false),
            ("18446744073709551615", "18446744073709551614", false, false),
            ("0.1", "0.10000000149", false, false),
            ("13", "\"13\"", false, false),
        ] {
            for (one, other) in [(one, other), (other, one)] {
                let (one, other) = (read(one), read(other));
                assert_eq!(is_same(&one, &other, Reading::Wide), wide, "{one} {other}");
                assert_eq!(is_same(&one, &other, Reading::Narrow), narrow, "{one} {other}");
            }
        }
    }

    #[test]
    fn a_member_that_is_null_is_as_good_as_none_where_it_tightens() {
        let (short, long) =
            (json!({ "a": [{ "b": 1 }] }), json!({ "c": null, "a": [{ "d": null, "b": 1.0 }] }));
        for (one, other) in [(&short, &long), (&long, &short)] {
            assert!(is_same(one, other, Reading::Wide) && !is_same(one, other, Reading::Narrow));
        }
        assert!(!is_same(&short, &json!({ "a": [{ "b": 1, "d": 0 }] }), Reading::Wide));
    }

    #[test]
    fn a_number_is_written_in_every_common_way() {
        for (number, written) in [
            ("13", vec!["13", "13.0"]),
            ("1.3e1", vec!["13", "13.0"]),
            ("-2", vec!["-2", "-2.0"]),
            ("0.5", vec!["0.5"]),
            ("1e-7", vec!["0.0000001", "1e-7"]),
            ("1e17", vec!["100000000000000000", "1e+17", "1e17"]),
            ("100000000000000000", vec!["100000000000000000", "1e+17", "1e17"]),
            ("-0.0", vec!["-0", "-0.0", "0", "0.0"]),
            ("18446744073709551615", vec!["18446744073709551615"]),
            ("true", vec!["true"]),
        ] {
            let mut texts = texts(&read(number));
            texts.dedup();
            assert_eq!(texts, written, "{number}");
        }
    }
}
