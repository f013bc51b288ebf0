//! How a call's cost grows with what it is given, and a list's with the tools that there are: figures, and the exponent
//! of the power of the size that fits them best.

use std::time::Duration;

use toolcell::{Grant, Limits};

use crate::measure::median;
use crate::page::{Section, micros};
use crate::pipeline::{Piped, alone};
use crate::scale::Crowd;
use crate::work::{Work, document, text};

/// The slope of the straight line through the logarithms that has the least squares.
fn exponent(points: &[(usize, Duration)]) -> f64 {
    let logs: Vec<(f64, f64)> =
        points.iter().map(|(size, time)| ((*size as f64).ln(), time.as_secs_f64().ln())).collect();
    let count = logs.len() as f64;
    let (x, y) =
        (logs.iter().map(|(x, _)| x).sum::<f64>() / count, logs.iter().map(|(_, y)| y).sum::<f64>() / count);
    let above: f64 = logs.iter().map(|(at, value)| (at - x) * (value - y)).sum();
    let below: f64 = logs.iter().map(|(at, _)| (at - x).powi(2)).sum();
    above / below
}

fn row(name: &str, points: &[(usize, Duration)]) -> Vec<String> {
    let figures: Vec<String> =
        points.iter().map(|(size, time)| format!("{size}: {}", micros(*time))).collect();
    vec![name.to_owned(), figures.join("; "), format!("{:.2}", exponent(points))]
}

/// Calls with texts of some sizes.
fn sized(sizes: [usize; 4], work: impl Fn(usize) -> Work) -> Vec<(usize, Duration)> {
    let point = |size: usize| {
        let piped = Piped::new(&work(size << 10), Grant::none(), Limits::new());
        (size, alone(&piped, 8_000 / size.clamp(80, 400)))
    };
    sizes.into_iter().map(point).collect()
}

pub fn section() -> Section {
    let echoed = sized([64, 256, 1024, 4096], |bytes| Work::Repeat(text(bytes)));
    let parsed = sized([64, 256, 1024, 4096], |bytes| Work::Values(document(bytes)));
    let (mut lists, mut loads) = (Vec::new(), Vec::new());
    for count in [10, 100, 1_000] {
        let crowd = Crowd::new(count);
        loads.push((count, median(&mut (0..3).map(|_| crowd.load().0).collect::<Vec<_>>())));
        lists.push((count, crowd.listing()));
    }
    Section {
        title: "Growth",
        words: "Times by size, and the exponent that fits them: 1 is in proportion.".to_owned(),
        head: vec!["what, by which size", "times", "exponent"],
        rows: vec![
            row("`repeat`, by KiB of arguments and of output", &echoed),
            row("`values`, by KiB of arguments", &parsed),
            row("loading components of one tool from the cache, by their number", &loads),
            row("exporting their tools for MCP, by their number", &lists),
        ],
    }
}
