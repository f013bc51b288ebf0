//! Subjects measured in turns, so that a machine that others use tells of their ratio all the same.

use std::time::{Duration, Instant};

/// Something to be done again and again.
pub trait Subject {
    /// Does it so often, and says how long each time took.
    async fn run(&self, times: usize) -> Vec<Duration>;
}

/// The time of one synchronous act.
pub fn timed(times: usize, mut act: impl FnMut()) -> Vec<Duration> {
    let time = |_| {
        let started = Instant::now();
        act();
        started.elapsed()
    };
    (0..times).map(time).collect()
}

/// The median.
pub fn median(times: &mut [Duration]) -> Duration {
    quantile(times, 0.5)
}

/// The time that so great a part of the times is below.
pub fn quantile(times: &mut [Duration], part: f64) -> Duration {
    times.sort_unstable();
    let at = ((times.len() as f64 - 1.0) * part).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index of a list")]
    times[at as usize]
}

/// The medians of medians of `rounds` rounds of each subject, in turns.
pub async fn in_turns<S: Subject>(subjects: &[&S], rounds: usize, times: usize) -> Vec<Duration> {
    let mut medians = vec![Vec::new(); subjects.len()];
    for subject in subjects {
        subject.run(times.div_ceil(10)).await;
    }
    for _ in 0..rounds {
        for (subject, medians) in subjects.iter().zip(&mut medians) {
            medians.push(median(&mut subject.run(times).await));
        }
    }
    medians.iter_mut().map(|medians| median(medians)).collect()
}
