//! JavaScript, run to its end. The tool is documented in `wit/world.wit`; [`run`] is what it does.

mod collation;
mod console;
mod digest;
mod failure;
mod fs;
mod host;
mod jobs;
mod modules;
mod native;
mod process;
mod run;
mod shape;

#[cfg(target_os = "wasi")]
mod guest;

pub use host::Host;
pub use run::{Answer, run};
