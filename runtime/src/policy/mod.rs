//! What is allowed: grants, what no grant may let a tool write, and which configurations are trusted.

mod deny;
mod digest;
mod entries;
mod grant;
mod protect;
mod trust;

pub use deny::DenySet;
pub(crate) use deny::{normal, split_literal};
pub use digest::Digest;
pub use grant::{Access, DirGrant, Grant};
pub use protect::Protected;
pub use trust::TrustStore;
