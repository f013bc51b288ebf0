//! What can be watched of the server, in the text format of Prometheus. No argument, result, secret or principal is in it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use crate::call::{ErrorKind, Outcome};

/// Upper ends of the durations that are told apart, in seconds.
const BUCKETS: [f64; 9] = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0, 600.0];

/// What a name that no tool has is counted under: clients choose those, and could choose any number.
const UNKNOWN: &str = "unknown";

/// Counts since the process began.
#[derive(Default)]
pub(super) struct Metrics {
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    /// By tool, status and kind.
    calls: BTreeMap<(String, String, String), u64>,
    durations: BTreeMap<String, Durations>,
    responses: BTreeMap<u16, u64>,
}

#[derive(Default)]
struct Durations {
    /// How many ended below each end, and not below the one before.
    buckets: [u64; BUCKETS.len()],
    count: u64,
    seconds: f64,
}

/// What holds at the moment of asking.
pub(super) struct Now {
    pub cells: usize,
    pub waiting: usize,
    pub sessions: usize,
    pub connections: usize,
}

impl Metrics {
    /// Counts a call.
    pub fn ended(&self, outcome: &Outcome) {
        let kind = outcome.error.as_ref().map(|error| error.kind);
        let tool = if kind == Some(ErrorKind::UnknownTool) { UNKNOWN } else { outcome.name.as_str() };
        let word = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let status = word(serde_json::json!(outcome.status));
        let kind = kind.map(|kind| word(serde_json::json!(kind))).unwrap_or_default();
        let seconds = outcome.usage.duration_ms / 1000.0;
        let mut counts = self.counts();
        *counts.calls.entry((tool.to_owned(), status, kind)).or_default() += 1;
        let durations = counts.durations.entry(tool.to_owned()).or_default();
        durations.count += 1;
        durations.seconds += seconds;
        let buckets = BUCKETS.iter().zip(&mut durations.buckets);
        if let Some((_, bucket)) = buckets.into_iter().find(|(end, _)| seconds <= **end) {
            *bucket += 1;
        }
    }

    /// Counts a response.
    pub fn responded(&self, status: u16) {
        *self.counts().responses.entry(status).or_default() += 1;
    }

    /// All of it.
    pub fn text(&self, now: &Now) -> String {
        let mut text = String::new();
        let mut line = |line: std::fmt::Arguments<'_>| {
            // Writing to a text cannot fail.
            let _ = writeln!(text, "{line}");
        };
        let counts = self.counts();
        line(format_args!(
            "# HELP toolcell_calls_total Calls that have ended, by tool, status and kind of failure."
        ));
        line(format_args!("# TYPE toolcell_calls_total counter"));
        for ((tool, status, kind), count) in &counts.calls {
            line(format_args!(
                "toolcell_calls_total{{tool=\"{}\",status=\"{status}\",kind=\"{kind}\"}} {count}",
                label(tool)
            ));
        }
        line(format_args!("# HELP toolcell_call_duration_seconds How long calls took, waiting included."));
        line(format_args!("# TYPE toolcell_call_duration_seconds histogram"));
        for (tool, durations) in &counts.durations {
            let tool = label(tool);
            let mut below = 0;
            for (end, bucket) in BUCKETS.iter().zip(durations.buckets) {
                below += bucket;
                line(format_args!(
                    "toolcell_call_duration_seconds_bucket{{tool=\"{tool}\",le=\"{end}\"}} {below}"
                ));
            }
            let Durations { count, seconds, .. } = durations;
            line(format_args!(
                "toolcell_call_duration_seconds_bucket{{tool=\"{tool}\",le=\"+Inf\"}} {count}"
            ));
            line(format_args!("toolcell_call_duration_seconds_sum{{tool=\"{tool}\"}} {seconds}"));
            line(format_args!("toolcell_call_duration_seconds_count{{tool=\"{tool}\"}} {count}"));
        }
        line(format_args!("# HELP toolcell_http_responses_total Responses, by status."));
        line(format_args!("# TYPE toolcell_http_responses_total counter"));
        for (status, count) in &counts.responses {
            line(format_args!("toolcell_http_responses_total{{status=\"{status}\"}} {count}"));
        }
        for (name, help, value) in [
            ("toolcell_cells_running", "Cells that run now.", now.cells),
            ("toolcell_calls_waiting", "Calls that wait for a cell now.", now.waiting),
            ("toolcell_sessions", "Sessions with a handshake that are open now.", now.sessions),
            ("toolcell_http_connections", "Connections that are open now.", now.connections),
        ] {
            line(format_args!("# HELP {name} {help}"));
            line(format_args!("# TYPE {name} gauge"));
            line(format_args!("{name} {value}"));
        }
        text
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A label's value as the format writes it.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
