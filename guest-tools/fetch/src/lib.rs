//! The tool `fetch`: a URL in, text for a model out.

#[cfg(target_os = "wasi")]
mod guest;
pub mod markdown;
pub mod page;
