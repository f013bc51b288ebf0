//! The package format: one custom section, `toolcell:tool`, by which a component carries what WIT loses on the
//! way to a binary: documentation, hints and what the component asks for.

mod document;
mod error;
mod exports;
mod pack;
mod section;
mod tags;
mod undescribed;
mod wit;

pub use document::{Hints, MemberDoc, Need, Package, ToolDoc, TypeDoc};
pub use error::PackageError;
pub use exports::{Export, entry_exports, exports, type_key};
pub use pack::Packing;
pub use section::{MAX_BYTES, SECTION, append, read};
pub use undescribed::Undescribed;
pub use wit::parse_wit;
