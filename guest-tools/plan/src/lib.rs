//! A list of tasks that is kept by the host. The functions are documented in `wit/world.wit`.

mod plan;
mod task;

#[cfg(target_os = "wasi")]
mod guest;

pub use plan::{Change, Keep, Plan};
pub use task::{Status, Task};
