//! The functions of expressions.

/// Their names, for messages.
pub(super) const NAMES: &str = "sqrt, abs, min, max, floor, ceil, round, ln, log10, exp, sin, cos, tan";

/// One function.
#[derive(Debug, Clone, Copy)]
pub(super) struct Function {
    name: &'static str,
    kind: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Of one value, any.
    Unary(fn(f64) -> f64),
    /// Of one value of at least 0.
    FromZero(fn(f64) -> f64),
    /// Of one value above 0.
    Positive(fn(f64) -> f64),
    /// Of one or more values, from the first to the last.
    Fold(fn(f64, f64) -> f64),
}

const FUNCTIONS: [Function; 13] = [
    Function { name: "sqrt", kind: Kind::FromZero(f64::sqrt) },
    Function { name: "abs", kind: Kind::Unary(f64::abs) },
    Function { name: "min", kind: Kind::Fold(f64::min) },
    Function { name: "max", kind: Kind::Fold(f64::max) },
    Function { name: "floor", kind: Kind::Unary(f64::floor) },
    Function { name: "ceil", kind: Kind::Unary(f64::ceil) },
    Function { name: "round", kind: Kind::Unary(f64::round) },
    Function { name: "ln", kind: Kind::Positive(f64::ln) },
    Function { name: "log10", kind: Kind::Positive(f64::log10) },
    Function { name: "exp", kind: Kind::Unary(f64::exp) },
    Function { name: "sin", kind: Kind::Unary(f64::sin) },
    Function { name: "cos", kind: Kind::Unary(f64::cos) },
    Function { name: "tan", kind: Kind::Unary(f64::tan) },
];

impl Function {
    pub(super) fn named(name: &str) -> Option<Self> {
        FUNCTIONS.into_iter().find(|function| function.name == name)
    }

    /// The value, or what is wrong with the arguments.
    pub(super) fn apply(self, arguments: &[f64]) -> Result<f64, String> {
        let Self { name, kind } = self;
        match (kind, arguments) {
            (Kind::Unary(function), &[value]) => Ok(function(value)),
            (Kind::FromZero(function), &[value]) if value >= 0.0 => Ok(function(value)),
            (Kind::FromZero(_), [_]) => Err(format!("{name} needs a value of at least 0")),
            (Kind::Positive(function), &[value]) if value > 0.0 => Ok(function(value)),
            (Kind::Positive(_), [_]) => Err(format!("{name} needs a value greater than 0")),
            (Kind::Fold(function), &[first, ref rest @ ..]) => Ok(rest.iter().copied().fold(first, function)),
            (Kind::Fold(_), []) => Err(format!("{name} takes at least 1 value, got 0")),
            (_, several) => Err(format!("{name} takes 1 value, got {}", several.len())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_every_function() {
        assert_eq!(FUNCTIONS.map(|function| function.name).join(", "), NAMES);
    }
}
