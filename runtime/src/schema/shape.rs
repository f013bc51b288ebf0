//! The closed tree of types that a tool function is made of, with names, documentation and constraints in place.

use serde_json::{Number, Value};

use super::names::{Named, Words};
use super::pattern::Pattern;

/// The largest integer that every JSON reader keeps exactly: 2^53 − 1, `Number.MAX_SAFE_INTEGER` of ECMAScript.
pub(super) const MAX_SAFE_INTEGER: i128 = (1 << 53) - 1;

/// What JSON numbers cannot say, as the strings that stand for it.
pub(super) const NON_FINITE: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// One type, constraints included. A type that is used twice is there twice.
#[derive(Debug, Clone)]
pub enum Shape {
    /// `bool`
    Bool,
    /// `s8` to `u64`
    Int(IntShape),
    /// `f32`, `f64`
    Float(FloatShape),
    /// `char`
    Char,
    /// `string`
    String(StringShape),
    /// `list<u8>`
    Bytes,
    /// Any other `list<T>`
    List(Box<Shape>),
    /// `tuple<…>`
    Tuple(Box<[Shape]>),
    /// `record`
    Record(Box<RecordShape>),
    /// `variant`
    Variant(Box<ChoiceShape>),
    /// `enum`
    Enum(Box<ChoiceShape>),
    /// `flags`
    Flags(Box<ChoiceShape>),
    /// `option<T>`
    Option(Box<Shape>),
    /// `result<T, E>` anywhere but at the top of a function's result
    Result(Box<ResultShape>),
}

impl Shape {
    /// Whether the canonical JSON of this type is a string: such a value is never decoded.
    pub(super) fn is_text(&self) -> bool {
        matches!(self, Self::Char | Self::String(_) | Self::Bytes | Self::Enum(_))
    }

    /// Whether the result can be the structured content as it is: always an object, by its schema's root.
    pub(super) fn is_object(&self) -> bool {
        matches!(self, Self::Record(_))
    }
}

/// The width and sign of an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of WIT's own types")]
pub enum IntKind {
    S8,
    U8,
    S16,
    U16,
    S32,
    U32,
    S64,
    U64,
}

impl IntKind {
    /// The smallest and the largest value.
    pub fn bounds(self) -> (i128, i128) {
        match self {
            Self::S8 => (i8::MIN.into(), i8::MAX.into()),
            Self::U8 => (u8::MIN.into(), u8::MAX.into()),
            Self::S16 => (i16::MIN.into(), i16::MAX.into()),
            Self::U16 => (u16::MIN.into(), u16::MAX.into()),
            Self::S32 => (i32::MIN.into(), i32::MAX.into()),
            Self::U32 => (u32::MIN.into(), u32::MAX.into()),
            Self::S64 => (i64::MIN.into(), i64::MAX.into()),
            Self::U64 => (u64::MIN.into(), u64::MAX.into()),
        }
    }

    /// Whether values may be beyond what every JSON reader keeps.
    pub fn is_wide(self) -> bool {
        matches!(self, Self::S64 | Self::U64)
    }
}

/// An integer with its bounds, those of the type narrowed by the author's.
#[derive(Debug, Clone)]
pub struct IntShape {
    pub(super) kind: IntKind,
    pub(super) min: i128,
    pub(super) max: i128,
}

impl IntShape {
    pub(super) fn new(kind: IntKind) -> Self {
        let (min, max) = kind.bounds();
        Self { kind, min, max }
    }
}

/// A float with the author's bounds.
#[derive(Debug, Clone)]
pub struct FloatShape {
    pub(super) kind: FloatKind,
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
}

/// The width of a float.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of WIT's own types")]
pub enum FloatKind {
    F32,
    F64,
}

impl FloatShape {
    pub(super) fn new(kind: FloatKind) -> Self {
        Self { kind, min: None, max: None }
    }

    /// The smallest number allowed; an `f32` holds no finite number beyond its own range.
    pub(super) fn lowest(&self) -> Option<f64> {
        self.min.or((self.kind == FloatKind::F32).then_some(f64::from(f32::MIN)))
    }

    /// The largest number allowed.
    pub(super) fn highest(&self) -> Option<f64> {
        self.max.or((self.kind == FloatKind::F32).then_some(f64::from(f32::MAX)))
    }

    /// Whether `text` is one of the strings for what is not a number; the author's bounds exclude them.
    pub(super) fn admits_text(&self, text: &str) -> bool {
        self.min.is_none() && self.max.is_none() && NON_FINITE.contains(&text)
    }
}

/// A string with the author's pattern.
#[derive(Debug, Clone, Default)]
pub struct StringShape {
    pub(super) pattern: Option<Pattern>,
}

/// A record, or the arguments of a function as a whole.
#[derive(Debug, Clone)]
pub struct RecordShape {
    pub(super) docs: Option<Box<str>>,
    pub(super) members: Words<Member>,
    pub(super) has_defaults: bool,
}

impl RecordShape {
    /// A record of these members; two members of one JSON name are the error.
    pub(super) fn new(docs: Option<Box<str>>, members: Vec<Member>) -> Result<Self, String> {
        let has_defaults = members.iter().any(|member| member.default.is_some());
        Ok(Self { docs, members: Words::new(members)?, has_defaults })
    }

    /// The members in declared order.
    pub fn members(&self) -> &[Member] {
        self.members.items()
    }

    /// The member with this JSON name.
    pub fn member(&self, json: &str) -> Option<&Member> {
        self.members.by_json(json)
    }
}

/// A field of a record or a parameter of a function.
#[derive(Debug, Clone)]
pub struct Member {
    pub(super) wit: Box<str>,
    pub(super) json: Box<str>,
    pub(super) docs: Option<Box<str>>,
    pub(super) shape: Shape,
    pub(super) default: Option<Value>,
    pub(super) secret: bool,
}

impl Member {
    /// The property's name as models see it.
    pub fn name(&self) -> &str {
        &self.json
    }

    /// The name as WIT spells it.
    pub fn wit_name(&self) -> &str {
        &self.wit
    }

    /// What it means, for the model.
    pub fn docs(&self) -> Option<&str> {
        self.docs.as_deref()
    }

    /// The type.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The value that an absent one stands for, in canonical form.
    pub fn default(&self) -> Option<&Value> {
        self.default.as_ref()
    }

    /// Whether its value must never be echoed.
    pub fn is_secret(&self) -> bool {
        self.secret
    }

    /// Whether it is an option for which null says no more than its absence does.
    pub(super) fn is_absent_for_null(&self) -> bool {
        self.default.is_none() && matches!(self.shape, Shape::Option(_))
    }

    /// Whether a call without it is wrong: it is no option and has no default.
    pub fn is_required(&self) -> bool {
        self.default.is_none() && !matches!(self.shape, Shape::Option(_))
    }
}

impl Named for Member {
    fn wit(&self) -> &str {
        &self.wit
    }
    fn json(&self) -> &str {
        &self.json
    }
}

/// The cases of a variant or enumeration, or the flags.
#[derive(Debug, Clone)]
pub struct ChoiceShape {
    pub(super) docs: Option<Box<str>>,
    pub(super) cases: Words<Case>,
}

/// One case or flag.
#[derive(Debug, Clone)]
pub struct Case {
    pub(super) wit: Box<str>,
    pub(super) json: Box<str>,
    pub(super) docs: Option<Box<str>>,
    pub(super) payload: Option<Shape>,
    pub(super) secret: bool,
}

impl Case {
    /// Whether `val` must be there beside the tag.
    pub(super) fn requires_val(&self) -> bool {
        self.payload.as_ref().is_some_and(|payload| !matches!(payload, Shape::Option(_)))
    }
}

impl Named for Case {
    fn wit(&self) -> &str {
        &self.wit
    }
    fn json(&self) -> &str {
        &self.json
    }
}

/// A `result<T, E>`; an absent side carries nothing and is `null`.
#[derive(Debug, Clone)]
pub struct ResultShape {
    pub(super) ok: Option<Shape>,
    pub(super) err: Option<Shape>,
}

/// The integer that a JSON number stands for.
///
/// `5.0` is an integer; a float beyond 2^53 is not, since it may have lost digits on its way here
/// (`-9223372036854775809` arrives as the float −2^63).
pub(super) fn integer(number: &Number) -> Option<i128> {
    if let Some(signed) = number.as_i64() {
        return Some(signed.into());
    }
    if let Some(unsigned) = number.as_u64() {
        return Some(unsigned.into());
    }
    let float = number.as_f64()?;
    #[expect(clippy::cast_precision_loss, reason = "2^53 − 1 is exact")]
    let is_exact = float.fract() == 0.0 && float.abs() <= MAX_SAFE_INTEGER as f64;
    #[expect(clippy::cast_possible_truncation, reason = "the line above bounds it to 2^53")]
    is_exact.then_some(float as i128)
}

/// The integer that a JSON number with a fraction stands for, as a number without one.
pub(crate) fn whole(float: &Number) -> Option<Number> {
    float.is_f64().then(|| integer(float)).flatten().map(number)
}

/// The JSON number of an integer within 64 bits.
pub(super) fn number(integer: i128) -> Number {
    match (i64::try_from(integer), u64::try_from(integer)) {
        (Ok(signed), _) => Number::from(signed),
        (_, Ok(unsigned)) => Number::from(unsigned),
        _ => Number::from(if integer < 0 { i64::MIN } else { i64::MAX }),
    }
}
