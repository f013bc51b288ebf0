//! The tool `weather`: a place in, its weather out.

pub mod forecast;
#[cfg(target_os = "wasi")]
mod guest;
pub mod place;
