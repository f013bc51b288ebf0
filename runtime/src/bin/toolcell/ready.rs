//! Waiting for a future where there is nothing else to do.

use anyhow::Context as _;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use toolcell::{CancellationToken, Runtime};

use crate::terminal::{Label, say};

/// Blocks until `future` is ready. Timers and file operations are the library's own, so no driver is needed here.
pub(crate) fn block_on<F: Future>(future: F) -> anyhow::Result<F::Output> {
    let executor =
        tokio::runtime::Builder::new_current_thread().build().context("cannot wait for the call")?;
    Ok(executor.block_on(future))
}

/// Cancelled when somebody interrupts or ends this process: calls then end in order, with a line in the audit and
/// their hooks' programs stopped. Whoever asks twice is not made to wait.
#[expect(clippy::exit, reason = "the second signal is to end the process at once")]
pub(crate) fn interrupted() -> CancellationToken {
    let token = CancellationToken::new();
    // Without the thread a signal ends the process at once, as it does everywhere else.
    // A terminal that is closed ends it too, unless it was started to outlive that.
    let hangup = (!ignores_hangup()).then_some(SIGHUP);
    if let Ok(mut signals) = Signals::new([SIGINT, SIGTERM].into_iter().chain(hangup)) {
        let token = token.clone();
        std::thread::spawn(move || {
            for signal in signals.forever() {
                if token.is_cancelled() {
                    std::process::exit(128 + signal);
                }
                token.cancel();
            }
        });
    }
    token
}

/// Whether whoever started this process had it ignore the end of its terminal, as `nohup` does.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

/// Warns, after something was called or compiled, that it will have to be compiled again.
pub(crate) fn say_cache_problem(runtime: &Runtime) {
    if let Some(problem) = runtime.cache_problem() {
        say(Label::Warning, problem);
    }
}

/// The same where the warnings of loading were said, unless this is one of them.
pub(crate) fn say_new_cache_problem(runtime: &Runtime) {
    if runtime.cache_problem().is_some_and(|problem| runtime.warnings().iter().all(|told| told != problem)) {
        say_cache_problem(runtime);
    }
}
