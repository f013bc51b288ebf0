//! The time for the whole path of a call, waiting and asking included.

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use super::{Call, Shared, Terms};
use crate::call::{CallError, ErrorKind};
use crate::limits::{EffectiveLimits, Limit, Limits, Origin, advice};

/// How far ahead a deadline can be: a century, which every clock and timer takes.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// How much longer than the deadline work may take that watches the deadline itself.
const GRACE: Duration = Duration::from_millis(500);

/// The time for the whole path of one call.
pub(super) struct Whole<'a> {
    shared: &'a Shared,
    call: &'a Call,
    /// What holds for the call, as it was when it began.
    pub terms: &'a Terms,
    started: Instant,
    pub deadline: Instant,
}

impl<'a> Whole<'a> {
    pub fn of(shared: &'a Shared, call: &'a Call, terms: &'a Terms, started: Instant) -> Self {
        let deadline = started + terms.call_timeout.min(FOREVER);
        Self { shared, call, terms, started, deadline }
    }

    /// `work`, unless the caller gives up or the time is over first. Must be polled where timers are in reach.
    pub async fn within<T>(&self, work: impl Future<Output = Result<T, CallError>>) -> Result<T, CallError> {
        tokio::select! {
            biased;
            done = work => done,
            () = self.call.cancel.cancelled() => {
                Err(CallError::new(ErrorKind::Cancelled, "the call was cancelled"))
            }
            () = tokio::time::sleep_until(self.deadline.into()) => Err(self.over()),
        }
    }

    /// The same for work that needs its caller's executor: timers are lent only where there is none.
    pub async fn within_anywhere<T>(
        &self,
        work: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        self.until(self.deadline, work).await
    }

    /// The same for work that watches the time itself: it is given a moment to say what it has.
    pub async fn with_grace<T>(
        &self,
        work: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        self.until(self.deadline + GRACE, work).await
    }

    async fn until<T>(
        &self,
        deadline: Instant,
        work: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        let mut work = pin!(work);
        let mut cancelled = pin!(self.call.cancel.cancelled());
        // Most work is done at the first poll: no timer is made for that.
        let mut timer = None;
        let done = std::future::poll_fn(move |context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(done);
            }
            if cancelled.as_mut().poll(context).is_ready() {
                return Poll::Ready(Err(CallError::new(ErrorKind::Cancelled, "the call was cancelled")));
            }
            let timer = timer.get_or_insert_with(|| {
                let _entered = self.shared.sandbox.handle().enter();
                Box::pin(tokio::time::sleep_until(deadline.into()))
            });
            timer.as_mut().poll(context).map(|()| Err(self.over()))
        });
        if tokio::runtime::Handle::try_current().is_ok() {
            done.await
        } else {
            self.shared.sandbox.entered(done).await
        }
    }

    /// Where timers are made.
    pub fn timers(&self) -> &tokio::runtime::Handle {
        self.shared.sandbox.handle()
    }

    /// What is left of the time.
    pub fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Ready once the caller gives up.
    pub async fn cancelled(&self) {
        self.call.cancel.cancelled().await;
    }

    /// The limits, lowered to what is left of the time.
    pub fn lower(&self, limits: Arc<EffectiveLimits>) -> Arc<EffectiveLimits> {
        within_whole(self.terms, limits, self.started.elapsed())
    }

    /// The end of a call whose time is over.
    pub fn over(&self) -> CallError {
        let origin = self.terms.call_timeout_origin.clone();
        let timeout = nanos(self.terms.call_timeout);
        let limits = Limits::resolve([&Limits::new().with_origin(Limit::Timeout, timeout, origin)]);
        let hit = limits.timeout_hit(self.started.elapsed());
        let message = format!("the call was not ready to run within {}; try again later", hit.allowed);
        CallError::new(ErrorKind::Timeout, message).help(advice(&hit)).limit(hit)
    }
}

/// The limits, lowered to what is left of the time for the whole path when `spent` of it is gone.
pub(super) fn within_whole(
    terms: &Terms,
    limits: Arc<EffectiveLimits>,
    spent: Duration,
) -> Arc<EffectiveLimits> {
    if terms.call_timeout.saturating_sub(spent) < limits.timeout() {
        lowered(&limits, terms.call_timeout, spent, terms.call_timeout_origin.clone())
    } else {
        limits
    }
}

/// The limits with what is left of another time.
pub(super) fn lowered(
    limits: &EffectiveLimits,
    timeout: Duration,
    spent: Duration,
    origin: Origin,
) -> Arc<EffectiveLimits> {
    let mut limits = limits.clone();
    limits.cap_timeout(timeout, spent, origin);
    Arc::new(limits)
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
