//! What is known of a call, and the line that it becomes.

use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::Value;

use super::VERSION;
use super::chain::Chain;
use super::words::{Redact, Words, canonical};
use crate::call::{Action, ErrorKind, Outcome, Status, Step, Usage, Verdict};
use crate::config::Detail;
use crate::policy::Digest;

/// The most of a name, an id or a session, in bytes as JSON.
const MAX_NAME: usize = 512;

/// The most of a decision's source and of its reason.
const MAX_REASON: usize = 1024;

/// The most decisions and denials in one line; a call with more has a loop in its hooks or its tool.
const MAX_DECISIONS: usize = 32;
const MAX_DENIALS: usize = 16;

/// The most of the arguments in full, and of those that hooks made others of.
const MAX_ARGUMENTS: usize = 32 << 10;
const MAX_ORIGINAL: usize = 16 << 10;

/// What is known of a tool that was found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub component: &'a str,
    /// The digest of the component's file; native tools have none.
    pub digest: Option<Digest>,
    /// `interface.function`.
    pub origin: &'a str,
}

/// What is known of a call when it has ended.
pub(crate) struct Record<'a> {
    pub outcome: &'a Outcome,
    pub tool: Option<Facts<'a>>,
    /// The canonical arguments; absent if they could not be read.
    pub arguments: Option<&'a Value>,
    /// Those that the call came with, if hooks made others of them.
    pub original: Option<&'a Value>,
    pub session: Option<&'a str>,
    pub principal: Option<&'a str>,
    pub decisions: &'a [Verdict],
    /// When the call came in.
    pub started: SystemTime,
    /// Takes secrets out of every text.
    pub redact: Option<Redact<'a>>,
}

/// A line without the members that chain it.
#[derive(Serialize)]
struct Line<'a> {
    v: u32,
    time: String,
    log: &'a str,
    #[serde(skip_serializing_if = "Value::is_null")]
    call: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<String>,
    tool: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    component: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    #[serde(flatten)]
    arguments: Arguments,
    #[serde(skip_serializing_if = "Option::is_none")]
    original: Option<Arguments>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    decisions: Vec<Decision>,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<ErrorKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    denials: Vec<Refused>,
    usage: &'a Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<Cut>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut: Vec<&'static str>,
}

#[derive(Default, Serialize)]
struct Arguments {
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments_start: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments_bytes: Option<usize>,
}

#[derive(Serialize)]
struct Decision {
    step: Step,
    source: String,
    action: Action,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Serialize)]
struct Refused {
    capability: String,
    operation: String,
    target: String,
}

#[derive(Serialize)]
struct Cut {
    total_bytes: u64,
    total_lines: u64,
}

impl Record<'_> {
    /// The line without the members that chain it: a JSON object.
    ///
    /// # Errors
    /// When something cannot be written as JSON, in words.
    pub(super) fn body(&self, log: &str, detail: Detail, chain: &Chain) -> Result<String, String> {
        let mut words = Words::new(self.redact);
        let outcome = self.outcome;
        let line = Line {
            v: VERSION,
            time: timestamp(self.started),
            log,
            call: call_id(&mut words, &outcome.id),
            session: self.session.map(|session| words.text("session", session, MAX_NAME)),
            principal: self.principal.map(|principal| words.text("principal", principal, MAX_NAME)),
            tool: words.text("tool", &outcome.name, MAX_NAME),
            component: self.tool.map(|tool| words.text("component", tool.component, MAX_NAME)),
            digest: self.tool.and_then(|tool| tool.digest).map(|digest| digest.to_string()),
            origin: self.tool.map(|tool| words.text("origin", tool.origin, MAX_NAME)),
            arguments: match self.arguments {
                Some(value) => arguments(&mut words, ("arguments", MAX_ARGUMENTS), value, detail, chain),
                None => Arguments::default(),
            },
            original: self
                .original
                .map(|value| arguments(&mut words, ("original", MAX_ORIGINAL), value, detail, chain)),
            decisions: decisions(&mut words, self.decisions),
            status: outcome.status,
            kind: outcome.error_kind(),
            limit: outcome.error.as_ref().and_then(|error| error.limit.as_ref()).map(|hit| hit.name.as_str()),
            denials: denials(&mut words, outcome),
            usage: &outcome.usage,
            truncated: outcome
                .truncated
                .as_ref()
                .map(|cut| Cut { total_bytes: cut.total_bytes, total_lines: cut.total_lines }),
            cut: words.cut,
        };
        serde_json::to_string(&line).map_err(|error| error.to_string())
    }
}

/// The last second of the year 9999, in seconds since 1970: the last that RFC 3339 can write.
const LAST_SECOND: u64 = 253_402_300_799;

/// A time as RFC 3339 with milliseconds. A clock that is set to before 1970 or after 9999 is at that end.
pub(super) fn timestamp(time: SystemTime) -> String {
    let last = SystemTime::UNIX_EPOCH + Duration::from_secs(LAST_SECOND);
    humantime::format_rfc3339_millis(time.clamp(SystemTime::UNIX_EPOCH, last)).to_string()
}

/// The id with its type; one that is no short text or number becomes the beginning of its text.
fn call_id(words: &mut Words<'_>, id: &Value) -> Value {
    match id {
        Value::Null | Value::Bool(_) | Value::Number(_) => id.clone(),
        Value::String(text) => words.text("call", text, MAX_NAME).into(),
        other => words.text("call", &other.to_string(), MAX_NAME).into(),
    }
}

/// The arguments as they are wanted, in full as far as they are no longer than `max`.
fn arguments(
    words: &mut Words<'_>,
    (member, max): (&'static str, usize),
    value: &Value,
    detail: Detail,
    chain: &Chain,
) -> Arguments {
    let text = canonical(value);
    let mut arguments = Arguments {
        arguments_hash: Some(chain.hash(&[text.as_bytes()]).to_string()),
        arguments_bytes: Some(text.len()),
        ..Arguments::default()
    };
    if detail == Detail::Hash {
        return arguments;
    }
    let redacted = words.value(value);
    let text = canonical(&redacted);
    if text.len() <= max {
        arguments.arguments = Some(redacted);
    } else {
        // Of what was redacted, and not once more: a cut may have left half of a replacement.
        arguments.arguments_start = Some(Words::new(None).text(member, &text, max));
        words.note(member);
    }
    arguments
}

fn decisions(words: &mut Words<'_>, verdicts: &[Verdict]) -> Vec<Decision> {
    if verdicts.len() > MAX_DECISIONS {
        words.note("decisions");
    }
    // The last ones decided.
    let kept = verdicts.get(verdicts.len().saturating_sub(MAX_DECISIONS)..).unwrap_or_default();
    kept.iter()
        .map(|verdict| Decision {
            step: verdict.step,
            source: words.text("decisions", &verdict.source, MAX_REASON),
            action: verdict.action,
            reason: verdict.reason.as_ref().map(|reason| words.text("decisions", reason, MAX_REASON)),
        })
        .collect()
}

fn denials(words: &mut Words<'_>, outcome: &Outcome) -> Vec<Refused> {
    if outcome.denials.len() > MAX_DENIALS {
        words.note("denials");
    }
    let kept = outcome.denials.iter().take(MAX_DENIALS);
    kept.map(|denial| Refused {
        capability: words.text("denials", &denial.capability, MAX_NAME),
        operation: words.text("denials", &denial.operation, MAX_NAME),
        target: words.text("denials", &denial.target, MAX_NAME),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_may_be_set_to_anything() {
        let epoch = SystemTime::UNIX_EPOCH;
        let second = Duration::from_secs(1);
        assert_eq!(timestamp(epoch + second), "1970-01-01T00:00:01.000Z");
        assert_eq!(timestamp(epoch - second), "1970-01-01T00:00:00.000Z");
        assert_eq!(timestamp(epoch + second * u32::MAX * 100), "9999-12-31T23:59:59.000Z");
    }
}
