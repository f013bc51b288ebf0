//! What commands read from and write to.

mod buffer;
mod handle;
mod out;
mod pipe;

pub use buffer::Buffer;
pub use handle::{Captured, Handle};
pub use out::Out;
pub use pipe::pipe;
