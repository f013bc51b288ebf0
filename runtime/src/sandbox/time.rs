//! The time of a deterministic call: it stands still unless the guest looks at it or waits.

use std::collections::BTreeMap;
use std::time::Duration;

use wasmtime::component::Resource;
use wasmtime_wasi::p2::{DynPollable, Pollable};

use crate::policy::Deterministic;

/// By how much reading a clock moves it, in nanoseconds, so that a guest which reads it until some time is over ends.
const STEP: u64 = 1_000;

/// The clocks of one call, and the timers on them.
#[derive(Debug)]
pub(crate) struct Time {
    start: Duration,
    elapsed: u64,
    /// When each timer is over, by the handle of its pollable.
    timers: BTreeMap<u32, u64>,
}

/// Behind the pollable of a timer, which is asked for here and never polled.
pub(super) struct Timer;

#[wasmtime_wasi::async_trait]
impl Pollable for Timer {
    async fn ready(&mut self) {}
}

impl Time {
    pub fn new(settings: Deterministic) -> Self {
        Self { start: settings.clock, elapsed: 0, timers: BTreeMap::new() }
    }

    /// The smallest step of both clocks, in nanoseconds.
    pub fn resolution() -> u64 {
        STEP
    }

    /// Reads the monotonic clock, in nanoseconds.
    pub fn monotonic(&mut self) -> u64 {
        let now = self.elapsed;
        self.elapsed = now.saturating_add(STEP);
        now
    }

    /// Reads the wall clock, since 1970.
    pub fn wall(&mut self) -> Duration {
        self.start.saturating_add(Duration::from_nanos(self.monotonic()))
    }

    /// The moment that is so many nanoseconds away.
    pub fn after(&self, nanos: u64) -> u64 {
        self.elapsed.saturating_add(nanos)
    }

    pub fn add(&mut self, pollable: &Resource<DynPollable>, over_at: u64) {
        self.timers.insert(pollable.rep(), over_at);
    }

    pub fn remove(&mut self, pollable: &Resource<DynPollable>) {
        self.timers.remove(&pollable.rep());
    }

    /// When the timer is over, if the pollable is one.
    pub fn timer(&self, pollable: &Resource<DynPollable>) -> Option<u64> {
        self.timers.get(&pollable.rep()).copied()
    }

    pub fn is_over(&self, moment: u64) -> bool {
        moment <= self.elapsed
    }

    /// Lets the time until `moment` pass.
    pub fn pass_until(&mut self, moment: u64) {
        self.elapsed = self.elapsed.max(moment);
    }
}

/// A sequence of numbers from a seed: SplitMix64, which is small, and good enough where nothing is secret.
#[derive(Debug, Clone)]
pub(crate) struct Seeded(u64);

impl Seeded {
    /// The sequence number `which` of those that `seed` has.
    pub fn new(seed: u64, which: u64) -> Self {
        let mut mixing = Self(seed);
        let mixed = mixing.next();
        Self(mixed ^ which.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn bytes(&mut self, length: u64) -> Vec<u8> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let mut bytes = Vec::with_capacity(length.saturating_add(8));
        while bytes.len() < length {
            bytes.extend_from_slice(&self.next().to_le_bytes());
        }
        bytes.truncate(length);
        bytes
    }
}

/// The randomness of a deterministic call, each kind by itself.
#[derive(Debug)]
pub(crate) struct SeededRandom {
    pub secure: Seeded,
    pub insecure: Seeded,
    pub seed: (u64, u64),
}

impl SeededRandom {
    pub fn new(settings: Deterministic) -> Self {
        let mut seed = Seeded::new(settings.seed, 3);
        Self {
            secure: Seeded::new(settings.seed, 1),
            insecure: Seeded::new(settings.seed, 2),
            seed: (seed.next(), seed.next()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes_by_reading_and_waiting_alone() {
        let mut time = Time::new(Deterministic::default().clock(Duration::from_secs(60)));
        assert_eq!((time.monotonic(), time.wall()), (0, Duration::new(60, 1_000)));
        let over_at = time.after(1_000_000);
        assert!(!time.is_over(over_at));
        time.pass_until(over_at);
        time.pass_until(5);
        assert!(time.is_over(over_at));
        assert_eq!(time.monotonic(), 1_002_000);
        time.pass_until(u64::MAX);
        assert_eq!((time.monotonic(), time.monotonic(), time.after(1)), (u64::MAX, u64::MAX, u64::MAX));
    }

    #[test]
    fn randomness_depends_on_the_seed_and_the_kind_alone() {
        let of = |seed| SeededRandom::new(Deterministic::default().seed(seed));
        let (mut one, mut same, mut other) = (of(1), of(1), of(2));
        let bytes = one.secure.bytes(11);
        assert_eq!((bytes.len(), &bytes), (11, &same.secure.bytes(11)));
        assert_ne!(bytes, other.secure.bytes(11));
        assert_ne!(bytes, one.insecure.bytes(11));
        assert_eq!(one.seed, same.seed);
        assert_ne!(one.seed, other.seed);
        assert!(one.secure.bytes(0).is_empty());
    }
}
