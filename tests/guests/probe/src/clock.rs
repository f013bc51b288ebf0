//! Time spent computing, or waiting in the host.

use std::hint::black_box;
use std::time::{Duration, Instant};

use wasip2::clocks::{monotonic_clock, wall_clock};
use wasip2::io::poll;

use crate::Probe;
use crate::bindings::exports::toolcell::guests::clock::Guest;

impl Guest for Probe {
    fn spin() {
        let mut turns = 0_u64;
        loop {
            turns = black_box(turns.wrapping_add(1));
        }
    }

    fn spin_for(ms: u64) -> u64 {
        let start = Instant::now();
        let mut looks = 0;
        while start.elapsed() < Duration::from_millis(ms) {
            looks += 1;
        }
        looks
    }

    fn compute(steps: u64) -> u64 {
        (0..steps).fold(0, |sum, step| black_box(sum ^ step.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }

    fn sleep(ms: u64) {
        std::thread::sleep(Duration::from_millis(ms));
    }

    fn sleep_nanos(nanos: u64) {
        monotonic_clock::subscribe_duration(nanos).block();
    }

    fn sleep_until(instant: u64) {
        monotonic_clock::subscribe_instant(instant).block();
    }

    fn poll_forever() {
        monotonic_clock::subscribe_instant(u64::MAX).block();
    }

    fn poll_many(count: u32) -> u32 {
        let over = monotonic_clock::subscribe_duration(0);
        let all: Vec<_> = (0..count).map(|_| &over).collect();
        poll::poll(&all).len() as u32
    }

    fn time_now() -> (u64, u64) {
        (monotonic_clock::now(), wall_clock::now().seconds)
    }
}
