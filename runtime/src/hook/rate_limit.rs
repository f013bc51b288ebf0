//! A hook that bounds how often tools run.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

use super::{Events, Hook, HookCall, HookResult, Next, async_trait};
use crate::call::{CallError, Ended, ErrorKind};

/// How many sessions are told apart: 64 bytes each. Beyond these, whoever comes next to having its full allowance
/// again is forgotten first, and loses little by it.
const MAX_COUNTED: usize = 16_384;

/// What a limit counts apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scope {
    /// Each tool.
    Tool,
    /// Each session of each user. It bounds clients that mean well: whoever chooses the names of its sessions has as many
    /// allowances as it has names.
    Session,
    /// Each user.
    User,
}

impl Scope {
    fn words(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Session => "session of a user, whose name clients may choose",
            Self::User => "user",
        }
    }
}

/// Bounds how often a tool runs: so many runs within a time, by default for each tool, session and user. What was not
/// used is there for a burst, and comes back evenly.
///
/// What bounds a client that is not trusted is counted by what it cannot choose: by [`Scope::User`], where its entry says
/// who it is, or [by](Self::by) nothing but the tool, or nothing at all.
///
/// A run beyond it does not take place and ends as `busy`, with the time after which to try again; a
/// [`RetryHook`](super::RetryHook) registered before this one waits for that where it can. It counts runs of the tool:
/// behind a [`CacheHook`](super::CacheHook), stored results are free.
#[derive(Debug)]
pub struct RateLimitHook {
    burst: Duration,
    each: Duration,
    words: String,
    by: Vec<Scope>,
    /// When each has its full allowance again.
    full_at: Mutex<HashMap<[u8; 32], Instant>>,
}

impl RateLimitHook {
    /// `runs` within `time`; none and no time count as one run and a millisecond.
    pub fn new(runs: u32, time: Duration) -> Self {
        let (runs, time) = (runs.max(1), time.max(Duration::from_millis(1)));
        Self {
            burst: time,
            each: time / runs,
            words: format!("{runs} in {}", humantime::format_duration(time)),
            by: vec![Scope::Tool, Scope::Session, Scope::User],
            full_at: Mutex::default(),
        }
    }

    /// What is counted apart; nothing: all runs are counted together.
    #[must_use]
    pub fn by(mut self, scopes: impl IntoIterator<Item = Scope>) -> Self {
        self.by = scopes.into_iter().collect();
        self
    }

    fn key(&self, call: &HookCall) -> [u8; 32] {
        let mut hasher = Sha256::new();
        for scope in &self.by {
            let parts = match scope {
                Scope::Tool => [Some(call.tool().name()), None],
                // Users may choose the same name.
                Scope::Session => [call.session(), call.user()],
                Scope::User => [call.user(), None],
            };
            hasher.update(format!("{parts:?}\n"));
        }
        hasher.finalize().into()
    }

    /// Counts a run at `now`.
    ///
    /// # Errors
    /// How long to wait, if it is one too many.
    fn count(&self, key: [u8; 32], now: Instant) -> Result<(), Duration> {
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let used = full_at.get(&key).map_or(Duration::ZERO, |full| full.saturating_duration_since(now));
        let would_use = used + self.each;
        if would_use > self.burst {
            return Err(would_use - self.burst);
        }
        if full_at.len() >= MAX_COUNTED && !full_at.contains_key(&key) {
            make_room(&mut full_at, now);
        }
        full_at.insert(key, now + would_use);
        Ok(())
    }
}

fn make_room(full_at: &mut HashMap<[u8; 32], Instant>, now: Instant) {
    full_at.retain(|_, full| *full > now);
    if full_at.len() < MAX_COUNTED {
        return;
    }
    // An eighth at once, so that the search for them is rare.
    let mut times: Vec<Instant> = full_at.values().copied().collect();
    let (_, median, _) = times.select_nth_unstable(MAX_COUNTED / 8);
    let median = *median;
    full_at.retain(|_, full| *full > median);
}

#[async_trait]
impl Hook for RateLimitHook {
    fn name(&self) -> &str {
        "rate_limit"
    }

    fn terms(&self) -> Option<String> {
        let apart: Vec<&str> = self.by.iter().map(|scope| scope.words()).collect();
        Some(match apart.as_slice() {
            [] => format!("{}, all calls together", self.words),
            apart => format!("{} for each {}", self.words, apart.join(", ")),
        })
    }

    fn events(&self) -> Events {
        Events::AROUND
    }

    async fn around(&self, call: &HookCall, next: Next<'_>) -> HookResult<Ended> {
        match self.count(self.key(call), Instant::now()) {
            Ok(()) => Ok(next.run().await),
            Err(wait) => Ok(Ended::failed(self.busy(wait))),
        }
    }
}

impl RateLimitHook {
    fn busy(&self, wait: Duration) -> CallError {
        let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).saturating_add(1);
        // Seconds and minutes read better than what is left over of them.
        let whole = if millis > 1000 { millis.div_ceil(1000).saturating_mul(1000) } else { millis };
        let wait = humantime::format_duration(Duration::from_millis(whole));
        let message = format!("the tool is called too often; try again in {wait}");
        CallError::new(ErrorKind::Busy, message)
            .help(format!("hook `rate_limit` allows {}; raise its `calls` or shorten its `per`", self.words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> [u8; 32] {
        Sha256::digest(number.to_le_bytes()).into()
    }

    #[test]
    fn a_burst_is_bounded_and_comes_back_evenly() {
        let hook = RateLimitHook::new(3, Duration::from_secs(3));
        let start = Instant::now();
        let at = |millis: u64| hook.count(key(1), start + Duration::from_millis(millis));
        assert_eq!([at(0), at(0), at(0)], [Ok(()); 3]);
        assert_eq!(at(0), Err(Duration::from_secs(1)));
        assert_eq!(at(400), Err(Duration::from_millis(600)), "a refusal costs nothing");
        assert_eq!((at(1000), at(1000)), (Ok(()), Err(Duration::from_secs(1))));
        assert_eq!([at(60_000), at(60_000), at(60_000)], [Ok(()); 3]);
        assert!(at(60_000).is_err());
        assert_eq!(hook.count(key(2), start), Ok(()));
    }

    #[test]
    fn it_says_what_is_counted_apart() {
        let hook = RateLimitHook::new(3, Duration::from_secs(60));
        let each = "tool, session of a user, whose name clients may choose, user";
        assert_eq!(hook.terms(), Some(format!("3 in 1m for each {each}")));
        assert_eq!(hook.by([]).terms().as_deref(), Some("3 in 1m, all calls together"));
    }

    #[test]
    fn ten_thousand_sessions_are_told_apart_and_more_take_no_more_memory() {
        let hook = RateLimitHook::new(1, Duration::from_secs(3600));
        let start = Instant::now();
        for number in 0..10_000 {
            assert_eq!(hook.count(key(number), start), Ok(()));
        }
        assert!((0..10_000).all(|number| hook.count(key(number), start).is_err()));
        for number in 0..100_000 {
            let _ = hook.count(key(number), start + Duration::from_nanos(number as u64));
        }
        assert!(hook.full_at.lock().is_ok_and(|full_at| full_at.len() <= MAX_COUNTED));
    }
}
