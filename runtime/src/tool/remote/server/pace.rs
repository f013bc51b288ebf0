//! How soon a change of what a server offers is looked at: each look takes work here and at the server, and has every client
//! list the tools again.

use std::time::Duration;

/// The pause before the first look: changes that follow each other more closely are one.
const TOGETHER: Duration = Duration::from_millis(250);

/// The longest pause, for a server that changes without end.
const LONGEST: Duration = Duration::from_secs(60);

/// How long a server says nothing of changes until the next is the first again.
const QUIET: Duration = Duration::from_secs(10);

/// The pauses before looks, ever longer while changes follow each other.
#[derive(Default)]
pub(super) struct Pace {
    last: Duration,
}

impl Pace {
    /// The pause before a look at a change that came so long after the last look.
    pub fn after(&mut self, quiet: Duration) -> Duration {
        let next = if quiet >= QUIET { TOGETHER } else { self.last.saturating_mul(2) };
        self.last = next.clamp(TOGETHER, LONGEST);
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_without_end_are_looked_at_ever_less() {
        let mut pace = Pace::default();
        let at_once: Vec<u128> = (0..10).map(|_| pace.after(Duration::ZERO).as_millis()).collect();
        assert_eq!(at_once, [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
        assert_eq!(pace.after(QUIET / 2), LONGEST, "a moment is not quiet");
        assert_eq!(pace.after(QUIET), TOGETHER);
        assert_eq!(pace.after(Duration::from_secs(1)), TOGETHER * 2);
    }
}
