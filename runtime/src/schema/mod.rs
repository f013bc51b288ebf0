//! Everything about the types of one tool function: its schema for models, and the way of a call's arguments
//! from a model's text to component values, and of its result back.
//!
//! 1. [`parse_arguments`] or [`accept_arguments`]: one JSON object, strictly, bounded.
//! 2. [`canonicalise`]: documented lenient forms become the one canonical value; defaults are filled in.
//! 3. [`validate`]: everything that does not fit, at once.
//! 4. [`lower`]: component values; [`lift_result`]: JSON again.
//!
//! The schemas of [`Signature::input_schema`] and the verdict of [`validate`] agree on every canonical value, with
//! two exceptions: the strings `"NaN"`, `"Infinity"` and `"-Infinity"` are taken for a float without bounds
//! though the schema does not invite them; and an integer must have its digits (`1e19` is refused where
//! `10000000000000000000` is taken), because a double beyond 2^53 may have lost some.

mod canonical;
mod constraint;
mod expected;
mod fast_path;
mod float;
mod from_wit;
mod json_schema;
mod lift;
mod lower;
mod mend;
mod names;
mod outline;
mod parse;
mod path;
mod pattern;
mod repairs;
mod secret;
mod shape;
mod shrink;
mod signature;
mod sorted;
mod spelling;
mod unsupported;
mod validate;

#[cfg(test)]
mod tests;

pub(crate) use canonical::decoded_text;
pub use canonical::{RepairMode, canonicalise};
pub(crate) use expected::words;
pub use fast_path::{FastPath, FastResult, FastType, FastValue};
pub use lift::{LiftError, Lifted, lift_bounded, lift_bytes, lift_result, lift_scalar, lift_string};
pub use lower::{lower, lower_bytes};
pub use names::{BadName, MAX_NAME_BYTES, nearest, tool_name};
pub(crate) use names::{is_harmless, printable};
pub(crate) use outline::{only_member, outline};
pub use parse::{Bounds, ParseError, accept_arguments, parse_arguments};
pub(crate) use parse::{read_strictly, without_key};
pub use pattern::Pattern;
pub(crate) use pattern::{MAX_FOREIGN_BYTES, compiled_pattern};
pub(crate) use repairs::Repairs;
pub use secret::without_secrets;
pub(crate) use shape::whole;
pub use shape::{
    Case, ChoiceShape, FloatKind, FloatShape, IntKind, IntShape, Member, RecordShape, ResultShape, Shape,
    StringShape,
};
pub use signature::{ResultKind, Returns, Signature};
pub(crate) use sorted::sorted;
pub(crate) use spelling::spellings;
pub use unsupported::Unsupported;
pub use validate::validate;
pub(crate) use validate::{shown, suggest, type_of, validate_redacted};
