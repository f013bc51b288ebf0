//! Waiting for a future where there is nothing else to do.

use anyhow::Context as _;
use toolcell::Runtime;

use crate::terminal::{Label, say};

/// Blocks until `future` is ready. Timers and file operations are the library's own, so no driver is needed here.
pub(crate) fn block_on<F: Future>(future: F) -> anyhow::Result<F::Output> {
    let executor =
        tokio::runtime::Builder::new_current_thread().build().context("cannot wait for the call")?;
    Ok(executor.block_on(future))
}

/// Warns, after something was called or compiled, that it will have to be compiled again.
pub(crate) fn say_cache_problem(runtime: &Runtime) {
    if let Some(problem) = runtime.cache_problem() {
        say(Label::Warning, problem);
    }
}
