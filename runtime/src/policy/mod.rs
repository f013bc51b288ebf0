//! What is allowed: grants.

mod grant;

pub use grant::{Access, DirGrant, Grant};
