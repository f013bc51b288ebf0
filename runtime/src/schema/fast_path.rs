//! The closed set of signatures that typed functions can serve: their strings and bytes cross by one copy
//! instead of a value of 40 bytes for each element.

use super::shape::{FloatKind, IntKind, Shape};
use super::signature::{ResultKind, Returns, Signature};

/// A type that crosses by copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names of WIT's own types")]
pub enum FastType {
    Bool,
    S8,
    U8,
    S16,
    U16,
    S32,
    U32,
    S64,
    U64,
    F32,
    F64,
    Char,
    String,
    /// `list<u8>`
    Bytes,
}

/// Such a type or an option of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FastValue {
    /// The type.
    pub ty: FastType,
    /// Whether it is an `option` of the type.
    pub optional: bool,
}

/// The result of a function that typed functions can serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FastResult {
    /// Nothing.
    Nothing,
    /// A value.
    Value(FastValue),
    /// A `result`; an absent side is `_`.
    Fallible {
        /// The value of a success.
        ok: Option<FastValue>,
        /// The tool's own error.
        err: Option<FastValue>,
    },
}

/// A signature in which everything crosses by copy.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FastPath {
    /// The parameters in the order of [`Signature::properties`].
    pub params: Vec<FastValue>,
    /// The result.
    pub result: FastResult,
}

impl Signature {
    /// The signature as typed functions see it, or `None` if it has a type that needs dynamic values.
    pub fn fast_path(&self) -> Option<FastPath> {
        if self.flattened || self.returns.kind == ResultKind::Output {
            return None;
        }
        Some(FastPath {
            params: self.properties().iter().map(|member| value(member.shape())).collect::<Option<_>>()?,
            result: result(&self.returns)?,
        })
    }
}

fn result(returns: &Returns) -> Option<FastResult> {
    let side = |shape: Option<&Shape>| shape.map_or(Some(None), |shape| value(shape).map(Some));
    let (ok, err) = (side(returns.ok())?, side(returns.err())?);
    Some(match (returns.is_fallible(), ok) {
        (true, ok) => FastResult::Fallible { ok, err },
        (false, Some(value)) => FastResult::Value(value),
        (false, None) => FastResult::Nothing,
    })
}

fn value(shape: &Shape) -> Option<FastValue> {
    match shape {
        Shape::Option(inner) => Some(FastValue { ty: ty(inner)?, optional: true }),
        shape => Some(FastValue { ty: ty(shape)?, optional: false }),
    }
}

fn ty(shape: &Shape) -> Option<FastType> {
    Some(match shape {
        Shape::Bool => FastType::Bool,
        Shape::Char => FastType::Char,
        Shape::String(_) => FastType::String,
        Shape::Bytes => FastType::Bytes,
        Shape::Float(float) => match float.kind {
            FloatKind::F32 => FastType::F32,
            FloatKind::F64 => FastType::F64,
        },
        Shape::Int(int) => match int.kind {
            IntKind::S8 => FastType::S8,
            IntKind::U8 => FastType::U8,
            IntKind::S16 => FastType::S16,
            IntKind::U16 => FastType::U16,
            IntKind::S32 => FastType::S32,
            IntKind::U32 => FastType::U32,
            IntKind::S64 => FastType::S64,
            IntKind::U64 => FastType::U64,
        },
        _ => return None,
    })
}
