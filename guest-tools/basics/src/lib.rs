//! Echo and arithmetic. The functions are documented in `wit/world.wit`.

pub mod expression;

#[cfg(target_os = "wasi")]
mod guest;

/// `value`, or what is wrong with it as a result: JSON has no infinity, and a model would not know what to do with one,
/// nor with a zero that has a sign.
pub fn finite(value: f64) -> Result<f64, String> {
    if value.is_finite() {
        Ok(value + 0.0)
    } else {
        Err("the result is too large for a 64-bit number".to_owned())
    }
}
