//! The end of a call's time: one clock for the guest's work, for its host calls and for its sleep.
//!
//! A timer alone does not do: tokio looks at its timers only now and then while a future is always ready, and a
//! guest that calls the host in a loop never returns to the poll. So the clock is compared on every poll here, and
//! at every crossing between guest and host by [`Watch::check`]; the timer only wakes a guest that sleeps.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

/// Why a cell was stopped from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stop {
    #[error("the deadline passed")]
    Deadline,
    #[error("the call was cancelled")]
    Cancelled,
}

/// What a cell looks at to know that it must end.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    started: Instant,
    deadline: Instant,
    cancel: CancellationToken,
    poll_started: Arc<AtomicU64>,
}

impl Watch {
    /// A watch that says stop at `deadline` or when `cancel` is cancelled.
    pub fn new(deadline: Instant, cancel: CancellationToken) -> Self {
        Self { started: Instant::now(), deadline, cancel, poll_started: Arc::default() }
    }

    /// For how long the watch has run.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// How much time is left.
    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// An error once the time is over or the caller gave up.
    #[inline]
    pub fn check(&self) -> Result<(), Stop> {
        self.check_at(Instant::now())
    }

    /// The same, and for how many nanoseconds the present poll has lasted.
    #[inline]
    pub fn check_poll(&self) -> Result<u64, Stop> {
        let now = Instant::now();
        self.check_at(now)?;
        Ok(self.nanos(now).saturating_sub(self.poll_started()))
    }

    /// When the present poll began, in nanoseconds since the watch was made.
    pub fn poll_started(&self) -> u64 {
        self.poll_started.load(Ordering::Relaxed)
    }

    fn check_at(&self, now: Instant) -> Result<(), Stop> {
        if now >= self.deadline {
            Err(Stop::Deadline)
        } else if self.cancel.is_cancelled() {
            Err(Stop::Cancelled)
        } else {
            Ok(())
        }
    }

    fn begin_poll(&self) -> Result<(), Stop> {
        let now = Instant::now();
        self.poll_started.store(self.nanos(now), Ordering::Relaxed);
        self.check_at(now)
    }

    fn nanos(&self, now: Instant) -> u64 {
        u64::try_from(now.duration_since(self.started).as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Runs `future` until it is done or `watch` says stop. Must be polled where the runtime's own timer is entered.
pub(crate) async fn watched<F: Future>(watch: &Watch, mut future: Pin<&mut F>) -> Result<F::Output, Stop> {
    let mut timer = pin!(tokio::time::sleep_until(watch.deadline.into()));
    let mut cancelled = pin!(watch.cancel.cancelled());
    std::future::poll_fn(move |context| {
        if let Err(stop) = watch.begin_poll() {
            return Poll::Ready(Err(stop));
        }
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Ok(output));
        }
        if timer.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(Stop::Deadline));
        }
        if cancelled.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(Stop::Cancelled));
        }
        Poll::Pending
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(after: Duration) -> Watch {
        Watch::new(Instant::now() + after, CancellationToken::new())
    }

    #[tokio::test]
    async fn a_sleeper_and_a_spinner_are_both_stopped() {
        let asleep = watched(&watch(Duration::from_millis(20)), pin!(std::future::pending::<()>())).await;
        assert_eq!(asleep, Err(Stop::Deadline));
        let spinning = std::future::poll_fn(|context| {
            context.waker().wake_by_ref();
            Poll::<()>::Pending
        });
        assert_eq!(watched(&watch(Duration::from_millis(20)), pin!(spinning)).await, Err(Stop::Deadline));
    }

    #[tokio::test]
    async fn a_finished_future_is_not_disturbed_and_a_cancelled_one_ends() {
        assert_eq!(watched(&watch(Duration::from_secs(60)), pin!(async { 7 })).await, Ok(7));
        let watch = watch(Duration::from_secs(60));
        watch.cancel.cancel();
        assert_eq!(watched(&watch, pin!(std::future::pending::<()>())).await, Err(Stop::Cancelled));
    }
}
