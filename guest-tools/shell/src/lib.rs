//! A shell in one component: its pipelines are coroutines over pipes in memory, its utilities are functions. Nothing is a
//! process, and nothing but the granted directories is a file.

mod builtin;
mod clock;
mod expand;
mod files;
mod format;
#[cfg(target_os = "wasi")]
mod guest;
mod quote;
mod regex;
mod run;
mod shell;
mod stop;
mod stream;
mod syntax;
mod task;
mod util;

pub use run::{Answer, Request, run};
