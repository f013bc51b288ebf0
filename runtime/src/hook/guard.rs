//! A hook's panic or endless wait is its own failure, never the runtime's.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use super::HookResult;

/// How a hook failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Error(String),
    #[error("it panicked")]
    Panic,
    #[error("it took longer than {}", humantime::format_duration(*.0))]
    TooSlow(Duration),
}

/// Runs a hook's future to its end, its panic, or `timeout` (none: without one). Timers come from `timers`.
pub(crate) async fn guarded<T>(
    work: impl Future<Output = HookResult<T>>,
    timeout: Option<Duration>,
    timers: &tokio::runtime::Handle,
) -> Result<T, Failure> {
    let mut work = pin!(work);
    // Most hooks are done at the first poll: no timer is made for those.
    let mut timer = None;
    std::future::poll_fn(move |context| {
        match std::panic::catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
            Err(_) => return Poll::Ready(Err(Failure::Panic)),
            Ok(Poll::Ready(done)) => {
                return Poll::Ready(done.map_err(|error| Failure::Error(error.to_string())));
            }
            Ok(Poll::Pending) => {}
        }
        let Some(timeout) = timeout else { return Poll::Pending };
        let timer = timer.get_or_insert_with(|| {
            let _entered = timers.enter();
            Box::pin(tokio::time::sleep(timeout))
        });
        timer.as_mut().poll(context).map(|()| Err(Failure::TooSlow(timeout)))
    })
    .await
}
