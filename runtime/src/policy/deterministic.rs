//! Time and chance that are the same in every call, for tools whose calls are to be repeatable.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, UNIX_EPOCH};

/// When the clock of a deterministic call starts, unless it is told: the first moment of the year 2000.
const CLOCK: Duration = Duration::from_secs(946_684_800);

/// A clock that starts at one moment, and randomness from one seed.
///
/// Both clocks move by a microsecond whenever one of them is read, and by as much as a guest waits for, at once. Timers
/// are over only when a guest waits for nothing else. What is random, also to a `HashMap`, comes from the seed, and is
/// no secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deterministic {
    /// The wall clock's first reading, since 1970. Default 2000-01-01T00:00:00Z.
    pub clock: Duration,
    /// What randomness is made from. Default 0.
    pub seed: u64,
}

impl Default for Deterministic {
    fn default() -> Self {
        Self { clock: CLOCK, seed: 0 }
    }
}

impl Deterministic {
    /// Sets the wall clock's first reading, since 1970.
    #[must_use]
    pub fn clock(self, clock: Duration) -> Self {
        Self { clock, ..self }
    }

    /// Sets what randomness is made from.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }
}

/// Reads a moment as `2026-01-01T00:00:00Z`.
pub(crate) fn clock(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no moment from 1970 on; write for example `2026-01-01T00:00:00Z`");
    humantime::parse_rfc3339(text)
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .ok_or_else(wrong)
}

/// Reads `CLOCK`, `SEED` or `CLOCK,SEED`.
impl FromStr for Deterministic {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let seed = |seed: &str| {
            seed.parse::<u64>()
                .map_err(|_| format!("`{seed}` is no seed; write a whole number from 0 to 2^64 - 1"))
        };
        let plain = Self::default();
        match text.split_once(',') {
            Some((time, number)) => Ok(plain.clock(clock(time)?).seed(seed(number)?)),
            None if text.contains(['-', ':']) => Ok(plain.clock(clock(text)?)),
            None => Ok(plain.seed(seed(text)?)),
        }
    }
}

impl fmt::Display for Deterministic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clock = humantime::format_rfc3339(UNIX_EPOCH + self.clock);
        write!(formatter, "clock from {clock}, seed {}", self.seed)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test may panic")]

    use super::*;

    #[test]
    fn it_is_read_as_it_is_written() {
        let of = |text: &str| text.parse::<Deterministic>().map(|it| it.to_string());
        for (text, shown) in [
            ("7", "clock from 2000-01-01T00:00:00Z, seed 7"),
            ("2026-01-01T00:00:00Z", "clock from 2026-01-01T00:00:00Z, seed 0"),
            (
                "1970-01-01T00:00:00.5Z,18446744073709551615",
                "clock from 1970-01-01T00:00:00.500000000Z, seed 18446744073709551615",
            ),
        ] {
            assert_eq!(of(text).unwrap(), shown);
        }
        for (text, told) in [
            ("", "no seed"),
            ("x", "no seed"),
            ("18446744073709551616", "no seed"),
            ("-1", "no moment"),
            ("2026-13-01T00:00:00Z", "no moment"),
            ("2026-01-01", "no moment"),
            ("1969-12-31T23:59:59Z", "from 1970 on"),
            ("7,2026-01-01T00:00:00Z", "no moment"),
            ("2026-01-01T00:00:00Z,", "no seed"),
        ] {
            let error = of(text).unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
