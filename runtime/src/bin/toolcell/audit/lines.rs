//! Recorded calls for a reader: all of them, or the latest and those that come.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::{Args, ValueEnum};
use globset::{Glob, GlobMatcher};
use serde_json::Value;
use toolcell::audit::{files, lines};

use crate::terminal::{Label, print, print_line, say};

/// How often `--follow` looks for new lines: often enough for somebody who watches.
const LOOK: Duration = Duration::from_millis(200);

#[derive(Args)]
pub(super) struct FilterArgs {
    /// Only calls of this tool; `*` stands for anything
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Only calls of this session
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Only calls that ended so
    #[arg(long, value_name = "STATUS")]
    status: Option<StatusName>,
    /// Only calls since then: a duration before now, as 2h, or a time, as 2026-04-01T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum StatusName {
    Success,
    Error,
    Denied,
    Interrupted,
}

/// Which calls are wanted.
pub(super) struct Filter {
    tool: Option<GlobMatcher>,
    session: Option<String>,
    status: Option<&'static str>,
    since: Option<String>,
}

/// The time as lines have it, so that texts compare like times.
fn since(written: &str) -> Result<String, String> {
    let time = match humantime::parse_duration(written) {
        // Before 1970 nothing was recorded, and no time can be written.
        Ok(ago) => SystemTime::now()
            .checked_sub(ago)
            .map_or(SystemTime::UNIX_EPOCH, |time| time.max(SystemTime::UNIX_EPOCH)),
        Err(_) => humantime::parse_rfc3339_weak(written)
            .map_err(|_| "write a duration, as 30m, or a time, as 2026-04-01T12:00:00Z".to_owned())?,
    };
    Ok(humantime::format_rfc3339_millis(time).to_string())
}

impl FilterArgs {
    pub fn compiled(&self) -> anyhow::Result<Filter> {
        let glob = self.tool.as_ref().map(|tool| Glob::new(tool)).transpose();
        let glob = glob.map_err(|error| anyhow::anyhow!("--tool: {}", error.kind()))?;
        Ok(Filter {
            tool: glob.map(|glob| glob.compile_matcher()),
            session: self.session.clone(),
            status: self.status.map(|status| match status {
                StatusName::Success => "success",
                StatusName::Error => "error",
                StatusName::Denied => "denied",
                StatusName::Interrupted => "interrupted",
            }),
            since: self.since.clone(),
        })
    }
}

impl Filter {
    fn wants(&self, call: &Value) -> bool {
        let text = |member: &str| call.get(member).and_then(Value::as_str);
        self.tool.as_ref().is_none_or(|tool| text("tool").is_some_and(|name| tool.is_match(name)))
            && self.session.as_deref().is_none_or(|session| text("session") == Some(session))
            && self.status.is_none_or(|status| text("status") == Some(status))
            && self.since.as_deref().is_none_or(|since| time(call) >= since)
    }
}

fn time(call: &Value) -> &str {
    call.get("time").and_then(Value::as_str).unwrap_or_default()
}

/// The call that a line records, if it is one that this version knows.
fn parse(line: &[u8]) -> Option<Value> {
    let call: Value = serde_json::from_slice(line).ok()?;
    (call.get("v") == Some(&toolcell::audit::VERSION.into()) && call.get("tool").is_some()).then_some(call)
}

/// Where a call is recorded.
struct Found {
    time: String,
    file: usize,
    offset: u64,
}

/// Prints every wanted call of the audit at `path`.
pub(super) fn show(path: &Path, filter: &Filter, is_json: bool) -> anyhow::Result<()> {
    let files = files(path)?;
    let mut found = Vec::new();
    let mut unreadable = 0_u64;
    for (file, path) in files.iter().enumerate() {
        lines(path, 0, |offset, line| match parse(line) {
            Some(call) if filter.wants(&call) => {
                found.push(Found { time: time(&call).to_owned(), file, offset });
            }
            Some(_) => {}
            None => unreadable += u64::from(!is_note(line)),
        })?;
    }
    if unreadable > 0 {
        let message = format!("{unreadable} lines cannot be read; `toolcell audit verify` says more");
        say(Label::Warning, message);
    }
    found.sort_by(|one, other| one.time.cmp(&other.time));
    if is_json {
        print("[")?;
    }
    for (index, place) in found.iter().enumerate() {
        let Some(line) = files.get(place.file).map(|file| line_at(file, place.offset)).transpose()?.flatten()
        else {
            continue;
        };
        match parse(&line) {
            Some(call) if is_json => print(format!("{}\n  {call}", if index > 0 { "," } else { "" }))?,
            Some(call) => print_line(row(&call))?,
            None => {}
        }
    }
    if is_json {
        print("\n]\n")?;
    }
    Ok(())
}

/// Whether a line is about what a crash left.
fn is_note(line: &[u8]) -> bool {
    line.ends_with(b"#torn")
        || serde_json::from_slice::<Value>(line).is_ok_and(|note| note.get("event").is_some())
}

fn line_at(file: &Path, offset: u64) -> anyhow::Result<Option<Vec<u8>>> {
    Ok(toolcell::audit::line_at(file, offset)?)
}

/// Prints the last `count` wanted calls of the audit at `path`, and with `is_followed` those that come.
pub(super) fn tail(
    path: &Path,
    filter: &Filter,
    count: usize,
    is_followed: bool,
    is_json: bool,
) -> anyhow::Result<()> {
    let mut offsets: BTreeMap<PathBuf, u64> = BTreeMap::new();
    let mut latest: Vec<(String, Value)> = Vec::new();
    for file in files(path)? {
        let mut last = VecDeque::new();
        let end = lines(&file, 0, |_, line| {
            if let Some(call) = parse(line).filter(|call| filter.wants(call)) {
                last.push_back((time(&call).to_owned(), call));
                if last.len() > count {
                    last.pop_front();
                }
            }
        })?;
        offsets.insert(file, end);
        latest.extend(last);
        latest.sort_by(|one, other| one.0.cmp(&other.0));
        latest.drain(..latest.len().saturating_sub(count));
    }
    for (_, call) in &latest {
        print_call(call, is_json)?;
    }
    if is_followed { follow(path, filter, offsets, is_json) } else { Ok(()) }
}

/// Prints what comes after `offsets`, until the process ends.
fn follow(
    path: &Path,
    filter: &Filter,
    mut offsets: BTreeMap<PathBuf, u64>,
    is_json: bool,
) -> anyhow::Result<()> {
    loop {
        std::thread::sleep(LOOK);
        for file in files(path)? {
            let from = offsets.get(&file).copied().unwrap_or_default();
            let mut written = Ok(());
            let end = lines(&file, from, |_, line| {
                if let Some(call) = parse(line).filter(|call| filter.wants(call))
                    && written.is_ok()
                {
                    written = print_call(&call, is_json);
                }
            })?;
            written?;
            offsets.insert(file, end);
        }
    }
}

fn print_call(call: &Value, is_json: bool) -> std::io::Result<()> {
    if is_json { print(format!("{call}\n")) } else { print_line(row(call)) }
}

/// A call in one line.
fn row(call: &Value) -> String {
    let text = |member: &str| call.get(member).and_then(Value::as_str).unwrap_or_default();
    let ended = if text("kind").is_empty() { text("status") } else { text("kind") };
    let milliseconds = call.pointer("/usage/duration_ms").and_then(Value::as_f64).unwrap_or_default();
    let mut row = format!("{}  {ended:<17}  {:<20}  {milliseconds:>9.1} ms", time(call), text("tool"));
    if !text("component").is_empty() {
        row.push_str(&format!("  component={}", text("component")));
    }
    if !text("session").is_empty() {
        row.push_str(&format!("  session={}", text("session")));
    }
    if let Some(id) = call.get("call") {
        row.push_str(&format!("  id={}", id.as_str().map_or_else(|| id.to_string(), str::to_owned)));
    }
    if let Some(decision) = deciding(call) {
        row.push_str(&format!("  {decision}"));
    }
    // A name may have a newline in it; a call has one row.
    row.replace(['\n', '\r', '\t'], " ")
}

/// The last decision that was not simply to let the call through.
fn deciding(call: &Value) -> Option<String> {
    let decisions = call.get("decisions")?.as_array()?;
    let text = |decision: &Value, member: &str| {
        decision.get(member).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let decision = decisions.iter().rev().find(|decision| text(decision, "action") != "allow")?;
    let reason = text(decision, "reason");
    let reason = if reason.is_empty() { reason } else { format!(": {reason}") };
    Some(format!(
        "{} by {} {}{reason}",
        text(decision, "action"),
        text(decision, "step"),
        text(decision, "source")
    ))
}
