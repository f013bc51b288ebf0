//! What is allowed: grants, what no grant may let a tool write, and which configurations are trusted.

mod digest;
mod grant;
mod protect;
mod trust;

pub use digest::Digest;
pub use grant::{Access, DirGrant, Grant};
pub(crate) use protect::deny_glob;
pub use protect::{Protected, deny_set};
pub use trust::TrustStore;
