//! The tool `fetch`: a URL in, text for a model out.

pub mod body;
mod entity;
#[cfg(target_os = "wasi")]
mod guest;
pub mod head;
pub mod markdown;
pub mod page;
mod tag;
