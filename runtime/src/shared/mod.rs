//! What several instances of one server share: a store that speaks the protocol of Redis. Whoever can reach that store can read
//! and change everything in it, so it belongs to the operator as this user's own folders do.
//!
//! In reading order: `address` is where it is, `connection` one connection and its protocol, `store` what is asked of it.

mod address;
#[cfg(feature = "http")]
mod connection;
#[cfg(feature = "http")]
mod store;
#[cfg(not(feature = "http"))]
#[path = "store_absent.rs"]
mod store;

pub use address::StoreAddress;
pub use store::SharedStore;
