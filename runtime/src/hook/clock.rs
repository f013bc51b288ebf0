//! The time that a hook's own work takes: what it waits for of the host does not count, and neither does what runs
//! inside of it.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a hook waits for of the host, which is no work of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// One of so many places for runs of its program.
    Place(usize),
    /// A cell for its component.
    Cell,
    /// The native code of its component.
    Code,
}

impl Wanted {
    /// What an operator can do about it.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Place(_) => {
                "make its program quicker, name the tools that it is for, or raise `policy.call_timeout`"
            }
            Self::Cell => "raise `limits.concurrent_cells`, or `policy.call_timeout`",
            Self::Code => "run `toolcell cache warm` once, or raise `policy.call_timeout`",
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Place(count) => write!(formatter, "one of the {count} places for runs of its program"),
            Self::Cell => formatter.write_str("a cell"),
            Self::Code => formatter.write_str("the native code of its component"),
        }
    }
}

/// Why a clock stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// The host has to give something.
    Host(Wanted),
    /// What is inside of the hook runs.
    Inner,
}

/// A clock that stands still during pauses.
#[derive(Debug, Default)]
pub(crate) struct Clock(Mutex<Reading>);

#[derive(Debug, Default)]
struct Reading {
    /// Pauses that are under way; several run side by side where a hook does several things at once.
    open: usize,
    /// The latest of them.
    why: Option<Pause>,
    /// When the first of them began.
    since: Option<Instant>,
    /// How long all that ended took.
    stood: Duration,
}

/// A pause; the clock goes on when it is dropped.
struct Paused<'a>(&'a Clock);

impl Clock {
    /// Does `work` while the clock stands still.
    pub async fn stopped<T>(&self, why: Pause, work: impl Future<Output = T>) -> T {
        let _paused = self.pause(why);
        work.await
    }

    /// Why it stands still, if it does.
    pub fn paused_by(&self) -> Option<Pause> {
        let reading = self.reading();
        reading.why.filter(|_| reading.open > 0)
    }

    /// How long it has stood still so far.
    pub fn stood(&self) -> Duration {
        let reading = self.reading();
        reading.stood + reading.since.map(|since| since.elapsed()).unwrap_or_default()
    }

    fn pause(&self, why: Pause) -> Paused<'_> {
        let mut reading = self.reading();
        reading.open += 1;
        reading.why = Some(why);
        reading.since.get_or_insert_with(Instant::now);
        Paused(self)
    }

    fn reading(&self) -> MutexGuard<'_, Reading> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        let mut reading = self.0.reading();
        reading.open = reading.open.saturating_sub(1);
        if reading.open == 0 {
            let stood = reading.since.take().map(|since| since.elapsed()).unwrap_or_default();
            reading.stood += stood;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_stands_still_while_any_pause_is_open() {
        let clock = Clock::default();
        assert_eq!((clock.paused_by(), clock.stood()), (None, Duration::ZERO));
        let first = clock.pause(Pause::Inner);
        let second = clock.pause(Pause::Host(Wanted::Cell));
        assert_eq!(clock.paused_by(), Some(Pause::Host(Wanted::Cell)));
        drop(first);
        assert!(clock.paused_by().is_some());
        drop(second);
        let stood = clock.stood();
        assert_eq!((clock.paused_by(), clock.stood()), (None, stood), "it goes on");
    }
}
