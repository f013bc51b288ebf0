//! The directories that a call sees: wasmtime-wasi's descriptors under our own rules.
//!
//! A [`DirTemplate`] is opened once per component and access mode; each call gets a [`DirsState`] over it, and the
//! linker reaches both through a [`GuardedFilesystem`]. Every path is resolved by the kernel beneath the descriptor
//! that the guest named (`openat2` with `RESOLVE_BENEATH`), never by comparing strings; `deny` is checked on where
//! the resolved file really is.
//!
//! All operations run **inline on the calling thread**: no future here ever waits, and no thread pool is touched.
//! A dead network mount therefore hangs the thread, so cells with directories only run on threads that belong to
//! guests. Linux only: `openat2` (5.6) and a mounted `/proc` are required, and grants are refused at load without.

mod change;
mod guest_paths;
mod host;
mod kernel;
mod links;
mod listing;
mod lookup;
mod open;
mod replace;
mod state;
mod stream;
mod taped;
mod template;
#[cfg(test)]
mod tests;
mod walk;

pub use host::{GuardedFilesystem, add_to_linker};
pub use replace::Replacement;
pub use state::{DirsState, FsRefusal};
pub use taped::TapedFilesystem;
pub use template::DirTemplate;
