//! What a model sees of a call: captured, cleaned, cut to bounds, and kept in full for whoever wants the rest.

mod bounds;
mod capture;
mod clean;
mod cut;
mod events;
mod handle;
mod json;
mod label;
mod redact;
mod store;
mod stored;
mod truncate;

pub use bounds::{Bounds, bound_text};
pub use capture::HeadTail;
pub use clean::{clean, clean_bytes, clean_value, visible};
pub(crate) use events::EventSinks;
pub use handle::Handle;
pub use json::{Shrink, truncate_json};
pub(crate) use label::{clean_content, cleaned, labelled};
#[cfg(feature = "http")]
pub(crate) use redact::MaskingBytes;
pub(crate) use redact::{Redactor, mark as redaction_mark};
pub use store::OutputStore;
pub use stored::{StoredOutput, range};
pub use truncate::{Keep, Truncated, truncate_text};
