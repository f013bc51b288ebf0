//! What commands read from and write to.

mod buffer;
#[cfg(target_os = "wasi")]
mod direct;
mod file;
mod handle;
mod out;
mod pipe;

pub use buffer::Buffer;
pub use file::{OpenFile, Writing};
pub use handle::{Captured, Handle};
pub use out::Out;
pub use pipe::pipe;
