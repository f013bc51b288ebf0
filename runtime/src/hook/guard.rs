//! A hook's panic or endless wait is its own failure, never the runtime's; the host's want of room is never the hook's.

use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use super::HookResult;
use super::clock::{Clock, Pause, Wanted};
use crate::call::CallError;

/// How a hook failed, or was not run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Error(String),
    #[error("it panicked")]
    Panic,
    #[error("it took longer than {}", humantime::format_duration(*.0))]
    TooSlow(Duration),
    #[error("it was not done when the time of the call was over")]
    Over,
    /// The host had no room for it.
    #[error("{}", .0.message)]
    Busy(Box<CallError>),
    #[error("it waited for {0} until the time of the call was over")]
    Waited(Wanted),
}

/// A hook's error that is the host's: there is no room for it.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.message)]
pub(crate) struct Unready(pub CallError);

impl Failure {
    fn of(error: Box<dyn std::error::Error + Send + Sync>) -> Self {
        match error.downcast::<Unready>() {
            Ok(unready) => Self::Busy(Box::new(unready.0)),
            Err(error) => Self::Error(error.to_string()),
        }
    }
}

/// The time of one step of a hook.
pub(crate) struct Time<'a> {
    /// What its own work may take; nothing where it has all of the call's.
    pub own: Option<Duration>,
    /// When it must be over, waiting included. What runs inside of it watches that itself.
    pub end: Instant,
    /// By which its own work is measured.
    pub clock: &'a Clock,
}

/// Runs a hook's future to its end, its panic, or the end of its time. Timers come from `timers`.
pub(crate) async fn guarded<T>(
    work: impl Future<Output = HookResult<T>>,
    time: Time<'_>,
    timers: &tokio::runtime::Handle,
) -> Result<T, Failure> {
    let (mut work, time) = (pin!(work), &time);
    // Most hooks are done at the first poll: no timer is made for those.
    let mut timer = None;
    std::future::poll_fn(move |context| {
        match std::panic::catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
            Err(_) => return Poll::Ready(Err(Failure::Panic)),
            Ok(Poll::Ready(done)) => return Poll::Ready(done.map_err(Failure::of)),
            Ok(Poll::Pending) => {}
        }
        timer.get_or_insert_with(|| Timer::begin(time, timers)).poll(context).map(Err)
    })
    .await
}

/// What ends a hook that is not done.
struct Timer<'a> {
    time: &'a Time<'a>,
    began: Instant,
    /// How long the clock had stood still before.
    stood: Duration,
    sleep: Pin<Box<tokio::time::Sleep>>,
}

impl<'a> Timer<'a> {
    fn begin(time: &'a Time<'a>, timers: &tokio::runtime::Handle) -> Self {
        let _entered = timers.enter();
        let sleep = Box::pin(tokio::time::sleep_until(time.end.into()));
        Self { time, began: Instant::now(), stood: time.clock.stood(), sleep }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Failure> {
        // Whatever ends a pause wakes the hook, and with it this.
        let Some((end, failure)) = self.end() else { return Poll::Pending };
        if self.sleep.deadline() != end.into() {
            self.sleep.as_mut().reset(end.into());
        }
        ready!(self.sleep.as_mut().poll(context));
        Poll::Ready(failure)
    }

    /// When it ends the hook, and as what; not while what is inside of the hook runs.
    fn end(&self) -> Option<(Instant, Failure)> {
        let end = self.time.end;
        match self.time.clock.paused_by() {
            Some(Pause::Inner) => None,
            Some(Pause::Host(wanted)) => Some((end, Failure::Waited(wanted))),
            None => {
                let stood = self.time.clock.stood().saturating_sub(self.stood);
                let own = self.time.own.and_then(|own| {
                    Some((self.began.checked_add(own.saturating_add(stood))?, Failure::TooSlow(own)))
                });
                Some(own.filter(|(own_end, _)| *own_end < end).unwrap_or((end, Failure::Over)))
            }
        }
    }
}
