//! The author's `@minimum`, `@maximum` and `@pattern`, set on the types that they are for.

use std::collections::HashMap;

use serde_json::Number;
use toolcell_package::MemberDoc;

use super::float;
use super::names::{MAX_NAME_BYTES, excerpt};
use super::pattern::Pattern;
use super::shape::{FloatShape, IntShape, Shape, integer};
use super::unsupported::{Built, Unsupported};

/// Distinct patterns in one signature: each costs memory once compiled.
const MAX_PATTERNS: usize = 64;

/// The constraints of one signature; equal patterns are compiled once.
#[derive(Default)]
pub(super) struct Constraints {
    patterns: HashMap<String, Pattern>,
}

impl Constraints {
    /// Sets the author's bounds and pattern on the value, behind options.
    pub(super) fn apply(&mut self, name: &str, docs: &MemberDoc, shape: Option<&mut Shape>) -> Built<()> {
        let (minimum, maximum) = (docs.minimum.as_ref(), docs.maximum.as_ref());
        if minimum.is_none() && maximum.is_none() && docs.pattern.is_none() {
            return Ok(());
        }
        match (shape, docs.pattern.as_deref()) {
            (Some(Shape::Option(inner)), _) => self.apply(name, docs, Some(inner)),
            (Some(Shape::Int(int)), None) => narrow_int(name, int, minimum, maximum),
            (Some(Shape::Float(float)), None) => narrow_float(name, float, minimum, maximum),
            (Some(Shape::String(string)), Some(source)) if minimum.is_none() && maximum.is_none() => {
                string.pattern = Some(self.pattern(name, source)?);
                Ok(())
            }
            (_, Some(_)) => Err(constraint(name, "`@pattern` is for strings")),
            (_, None) => Err(constraint(name, "`@minimum` and `@maximum` are for numbers")),
        }
    }

    fn pattern(&mut self, name: &str, source: &str) -> Built<Pattern> {
        if let Some(pattern) = self.patterns.get(source) {
            return Ok(pattern.clone());
        }
        if self.patterns.len() >= MAX_PATTERNS {
            return Err(constraint(
                name,
                &format!("more than {MAX_PATTERNS} different patterns in one function"),
            ));
        }
        let pattern = Pattern::new(source).map_err(|reason| constraint(name, &reason))?;
        self.patterns.insert(source.to_owned(), pattern.clone());
        Ok(pattern)
    }
}

fn narrow_int(
    name: &str,
    int: &mut IntShape,
    minimum: Option<&Number>,
    maximum: Option<&Number>,
) -> Built<()> {
    let whole =
        |bound: &Number| integer(bound).ok_or_else(|| constraint(name, "its bounds must be integers"));
    let (least, most) = int.kind.bounds();
    int.min = minimum.map(whole).transpose()?.map_or(int.min, |bound| bound.max(least));
    int.max = maximum.map(whole).transpose()?.map_or(int.max, |bound| bound.min(most));
    if int.min > int.max { Err(constraint(name, "no integer lies within its bounds")) } else { Ok(()) }
}

fn narrow_float(
    name: &str,
    shape: &mut FloatShape,
    minimum: Option<&Number>,
    maximum: Option<&Number>,
) -> Built<()> {
    let (least, most) = (shape.lowest().unwrap_or(f64::MIN), shape.highest().unwrap_or(f64::MAX));
    let kind = shape.kind;
    let rounded = |written: &Number| written.as_f64().map(|bound| float::bound(kind, bound));
    shape.min = minimum.and_then(rounded).map(|bound| bound.max(least)).or(shape.min);
    shape.max = maximum.and_then(rounded).map(|bound| bound.min(most)).or(shape.max);
    if shape.min.unwrap_or(least) > shape.max.unwrap_or(most) {
        return Err(constraint(name, "no number lies within its bounds"));
    }
    Ok(())
}

/// Cases and flags have no place for a default.
pub(super) fn refuse_default(name: &str, docs: &MemberDoc) -> Built<()> {
    match docs.default {
        Some(_) => Err(constraint(name, "`@default` is for parameters and fields")),
        None => Ok(()),
    }
}

/// A constraint that does not fit.
pub(super) fn constraint(member: &str, reason: &str) -> Unsupported {
    Unsupported::Constraint {
        member: excerpt(member, MAX_NAME_BYTES).into_owned(),
        reason: reason.to_owned(),
    }
}
