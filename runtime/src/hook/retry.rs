//! A hook that runs a call again where the host had no room for it.

use std::time::{Duration, Instant};

use super::{Events, Hook, HookCall, HookResult, Next, async_trait};
use crate::call::{Action, Ended, ErrorKind, Step, Verdict};

/// More runs than this are no way to wait.
const MAX_ATTEMPTS: u32 = 10;

/// Runs a call again that ended as `busy` or `unavailable`, after a pause that doubles each time and is shortened by up
/// to a half at random, so that callers which failed together do not come back together.
///
/// Only for tools whose calls may be repeated: those that only read, and those that are declared idempotent. No pause
/// goes past the call's deadline, and each run is one under its limits.
#[derive(Debug, Clone)]
pub struct RetryHook {
    attempts: u32,
    delay: Duration,
    max_delay: Duration,
}

impl Default for RetryHook {
    fn default() -> Self {
        Self { attempts: 3, delay: Duration::from_millis(200), max_delay: Duration::from_secs(5) }
    }
}

impl RetryHook {
    /// Three runs at most, with pauses from 200 ms to 5 s.
    pub fn new() -> Self {
        Self::default()
    }

    /// How often a call runs at most, the first run included: 1 to 10, and the nearest of these for other numbers.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.clamp(1, MAX_ATTEMPTS);
        self
    }

    /// The first pause.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The longest pause.
    #[must_use]
    pub fn max_delay(mut self, max_delay: Duration) -> Self {
        self.max_delay = max_delay;
        self
    }

    /// The pause before a run, the second being the first that has one.
    fn pause(&self, attempt: u32) -> Duration {
        let doublings = attempt.saturating_sub(2).min(MAX_ATTEMPTS);
        let longest = self.delay.saturating_mul(1 << doublings).min(self.max_delay);
        // Without random numbers all come back together, which is no reason to give up.
        let random = getrandom::u32().unwrap_or(u32::MAX);
        longest.mul_f64(0.5 + f64::from(random) / f64::from(u32::MAX) / 2.0)
    }
}

#[async_trait]
impl Hook for RetryHook {
    fn name(&self) -> &str {
        "retry"
    }

    fn events(&self) -> Events {
        Events::AROUND
    }

    async fn around(&self, call: &HookCall, next: Next<'_>) -> HookResult<Ended> {
        let mut ended = next.run().await;
        if !call.tool().may_be_repeated() {
            return Ok(ended);
        }
        for attempt in 2..=self.attempts {
            let Some(kind) = passing(&ended) else { break };
            let pause = self.pause(attempt);
            if Instant::now() + pause >= call.deadline() {
                break;
            }
            call.host.sandbox().sleep(pause).await;
            let mut verdicts = std::mem::take(&mut ended.verdicts);
            let why = format!("run {attempt} of {}, after `{kind}`", self.attempts);
            verdicts.push(Verdict::new(Step::AroundHook, "retry", Action::Retry).reason(Some(why)));
            ended = next.run().await;
            verdicts.append(&mut ended.verdicts);
            ended.verdicts = verdicts;
        }
        Ok(ended)
    }
}

/// The kind of a failure that passes by itself.
fn passing(ended: &Ended) -> Option<ErrorKind> {
    let kind = ended.error()?.kind;
    matches!(kind, ErrorKind::Busy | ErrorKind::Unavailable).then_some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_bound_and_differ_by_half() {
        let hook = RetryHook::new().delay(Duration::from_millis(100)).max_delay(Duration::from_millis(300));
        for (attempt, longest) in [(2, 100), (3, 200), (4, 300), (10, 300)] {
            for _ in 0..50 {
                let pause = hook.pause(attempt);
                let longest = Duration::from_millis(longest);
                assert!(longest / 2 <= pause && pause <= longest, "{attempt}: {pause:?}");
            }
        }
        assert_eq!((hook.clone().attempts(0).attempts, hook.attempts(99).attempts), (1, 10));
    }
}
