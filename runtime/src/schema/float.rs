//! The one JSON number of each float.

use std::io::Write as _;

use serde_json::{Number, Value};

use super::shape::{FloatKind, MAX_SAFE_INTEGER};

/// Bytes that the shortest digits of an `f32` take, with sign and exponent, and room to spare.
const MAX_F32_DIGITS: usize = 32;

/// The shortest digits that mean this `f32`, so that 0.1 is not 0.10000000149011612.
pub(super) fn of_f32(float: f32) -> Value {
    let exact = f64::from(float);
    let shortest = shortest(float).unwrap_or(exact);
    #[expect(clippy::cast_possible_truncation, reason = "the rounding is what is compared")]
    let is_same = shortest as f32 == float && shortest.abs() <= f64::from(f32::MAX);
    of_f64(if is_same { shortest } else { exact })
}

fn shortest(float: f32) -> Option<f64> {
    let mut digits = [0; MAX_F32_DIGITS];
    let mut rest = digits.as_mut_slice();
    write!(rest, "{float:e}").ok()?;
    let left = rest.len();
    let written = digits.get(..MAX_F32_DIGITS.checked_sub(left)?)?;
    std::str::from_utf8(written).ok()?.parse().ok()
}

/// A whole number is written without a fraction, as people and models write it; −0 keeps its sign.
pub(super) fn of_f64(float: f64) -> Value {
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "bounded to 2^53")]
    if float.fract() == 0.0 && float.abs() <= MAX_SAFE_INTEGER as f64 && !is_negative_zero(float) {
        return Value::from(float as i64);
    }
    match Number::from_f64(float) {
        Some(number) => Value::Number(number),
        None if float.is_nan() => "NaN".into(),
        None if float > 0.0 => "Infinity".into(),
        None => "-Infinity".into(),
    }
}

fn is_negative_zero(float: f64) -> bool {
    float == 0.0 && float.is_sign_negative()
}

/// The number by which a guest's float is written, whatever digits `number` has for it. None for one that the type
/// cannot hold, which stays for validation to report.
pub(super) fn one_form(kind: FloatKind, number: &Number) -> Option<Value> {
    let float = number.as_f64()?;
    match kind {
        FloatKind::F64 => Some(of_f64(float)),
        FloatKind::F32 if float.abs() > f64::from(f32::MAX) => None,
        #[expect(clippy::cast_possible_truncation, reason = "rounds, as the type says, within its range")]
        FloatKind::F32 => Some(of_f32(float as f32)),
    }
}

/// A bound as values are compared with it: rounded like they are.
pub(super) fn bound(kind: FloatKind, bound: f64) -> f64 {
    let rounded = Number::from_f64(bound).and_then(|number| one_form(kind, &number)?.as_f64());
    rounded.unwrap_or(bound)
}
