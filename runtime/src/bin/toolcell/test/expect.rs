//! What is to come of a call.

use std::collections::BTreeMap;

use anyhow::{Context as _, anyhow, bail};
use serde::Deserialize;
use serde_json::{Value, json};
use toolcell::call::Status;
use toolcell::{ErrorKind, Limit, Outcome};

use super::case;
use super::difference::Difference;
use super::scratch::Scratch;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawExpect {
    status: Option<Status>,
    kind: Option<ErrorKind>,
    result: Option<toml::Value>,
    structured: Option<toml::Value>,
    text: Option<String>,
    contains: Vec<String>,
    lacks: Vec<String>,
    logs: Vec<String>,
    files: BTreeMap<String, toml::Value>,
    denials: Option<Vec<String>>,
    repaired: Option<Vec<String>>,
    truncated: Option<bool>,
    max_fuel: Option<toml::Value>,
    max_memory: Option<toml::Value>,
}

/// What a case expects. What it does not mention may be anything, but a call that fails has to be expected to.
pub(super) struct Expect {
    status: Option<Status>,
    kind: Option<ErrorKind>,
    result: Option<Value>,
    structured: Option<Value>,
    text: Option<String>,
    contains: Vec<String>,
    lacks: Vec<String>,
    logs: Vec<String>,
    /// The content of each, none for a file that is not to be there.
    files: BTreeMap<String, Option<String>>,
    denials: Option<Vec<String>>,
    repaired: Option<Vec<String>>,
    truncated: Option<bool>,
    max_fuel: Option<u64>,
    max_memory: Option<u64>,
}

impl Expect {
    pub fn new(raw: RawExpect) -> anyhow::Result<Self> {
        let structured = match raw.structured {
            // TOML has no null, so data may be written as JSON too.
            Some(toml::Value::String(text)) => {
                Some(serde_json::from_str(&text).context("`expect.structured` is text, and no JSON")?)
            }
            other => other.map(case::json),
        };
        let files = raw.files.into_iter().map(|(path, content)| match content {
            toml::Value::String(text) => Ok((path, Some(text))),
            toml::Value::Boolean(false) => Ok((path, None)),
            _ => bail!("`expect.files`: `{path}` is neither a text nor `false`, which stands for no file"),
        });
        Ok(Self {
            status: raw.status,
            kind: raw.kind,
            result: raw.result.map(case::json),
            structured,
            text: raw.text,
            contains: raw.contains,
            lacks: raw.lacks,
            logs: raw.logs,
            files: files.collect::<anyhow::Result<_>>()?,
            denials: raw.denials,
            repaired: raw.repaired,
            truncated: raw.truncated,
            max_fuel: bound("max_fuel", Limit::Fuel, raw.max_fuel)?,
            max_memory: bound("max_memory", Limit::Memory, raw.max_memory)?,
        })
    }

    /// What is not as expected.
    pub fn differences(&self, outcome: &Outcome, scratch: &Scratch) -> Vec<Difference> {
        let mut differences: Vec<Difference> = self.end(outcome).into_iter().collect();
        differences.extend(self.data(outcome));
        differences.extend(self.words(outcome));
        differences.extend(self.host(outcome));
        differences.extend(
            self.files.iter().filter_map(|(path, content)| scratch.differs(path, content.as_deref())),
        );
        differences
    }

    /// How the call ended. Its error is told with it, for that is what one looks for.
    fn end(&self, outcome: &Outcome) -> Option<Difference> {
        let kind = outcome.error_kind();
        let as_expected = match (self.status, self.kind) {
            (None, None) => outcome.is_success(),
            (status, expected) => {
                status.is_none_or(|status| status == outcome.status)
                    && (expected.is_none() || expected == kind)
            }
        };
        if as_expected {
            return None;
        }
        let expected = match (self.status, self.kind) {
            (None, None) => json!({ "status": "success" }),
            (None, Some(kind)) => json!({ "kind": kind }),
            (Some(status), None) => json!({ "status": status }),
            (Some(status), Some(kind)) => json!({ "status": status, "kind": kind }),
        };
        let mut actual = json!({ "status": outcome.status });
        if let (Some(error), Some(members)) = (&outcome.error, actual.as_object_mut()) {
            members.insert("kind".to_owned(), json!(error.kind));
            members.insert("message".to_owned(), json!(error.message));
        }
        Some(Difference::new("end", expected, actual))
    }

    fn data(&self, outcome: &Outcome) -> Vec<Difference> {
        let structured = outcome.structured.clone().unwrap_or(Value::Null);
        let result = structured.get("result").unwrap_or(&structured);
        let pairs = [("result", &self.result, result), ("structured", &self.structured, &structured)];
        let differing = pairs.into_iter().filter_map(|(what, expected, actual)| {
            let expected = expected.as_ref().filter(|expected| !same(expected, actual))?;
            Some(Difference::new(what, expected.clone(), actual.clone()))
        });
        differing.collect()
    }

    fn words(&self, outcome: &Outcome) -> Vec<Difference> {
        let text = outcome.text();
        let logs: Vec<&str> = outcome.logs.iter().map(|log| log.text.as_str()).collect();
        let logs = logs.join("\n");
        let whole = self.text.iter().filter(|expected| **expected != text);
        let whole = whole.map(|expected| Difference::new("text", expected.as_str(), text.as_str()));
        let missing = self.contains.iter().filter(|part| !text.contains(part.as_str()));
        let missing = missing.map(|part| Difference::new("contains", part.as_str(), text.as_str()));
        let there = self.lacks.iter().filter(|part| text.contains(part.as_str()));
        let there = there.map(|part| Difference::new("lacks", part.as_str(), text.as_str()));
        let unlogged = self.logs.iter().filter(|part| !logs.contains(part.as_str()));
        let unlogged = unlogged.map(|part| Difference::new("logs", part.as_str(), logs.as_str()));
        whole.chain(missing).chain(there).chain(unlogged).collect()
    }

    /// What the host noted of the call.
    fn host(&self, outcome: &Outcome) -> Vec<Difference> {
        let mut differences = Vec::new();
        let denials: Vec<String> = outcome
            .denials
            .iter()
            .map(|denial| format!("{} {} {}", denial.capability, denial.operation, denial.target))
            .collect();
        let repaired: Vec<String> = outcome.repaired.iter().map(|repair| repair.path.clone()).collect();
        for (what, expected, actual) in
            [("denials", &self.denials, denials), ("repaired", &self.repaired, repaired)]
        {
            if let Some(expected) = expected.as_ref().filter(|expected| **expected != actual) {
                differences.push(Difference::new(what, expected.clone(), actual));
            }
        }
        let truncated = outcome.truncated.is_some();
        if let Some(expected) = self.truncated.filter(|expected| *expected != truncated) {
            differences.push(Difference::new("truncated", expected, truncated));
        }
        let usage = &outcome.usage;
        let bounds = [
            ("max_fuel", Limit::Fuel, self.max_fuel, usage.fuel),
            ("max_memory", Limit::Memory, self.max_memory, Some(usage.memory_bytes)),
        ];
        for (what, limit, most, used) in bounds {
            let Some(most) = most else { continue };
            match used {
                Some(used) if used <= most => {}
                Some(used) => differences.push(Difference::new(what, limit.format(most), limit.format(used))),
                None => differences.push(Difference::new(what, limit.format(most), "not measured")),
            }
        }
        differences
    }
}

/// Whether two values are the same to a reader of JSON: 2 and 2.0 are.
fn same(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Number(expected), Value::Number(actual)) => {
            expected == actual
                || (expected.as_f64() == actual.as_f64() && (expected.is_f64() || actual.is_f64()))
        }
        (Value::Array(expected), Value::Array(actual)) => {
            expected.len() == actual.len()
                && expected.iter().zip(actual).all(|(expected, actual)| same(expected, actual))
        }
        (Value::Object(expected), Value::Object(actual)) => {
            expected.len() == actual.len()
                && expected
                    .iter()
                    .all(|(key, expected)| actual.get(key).is_some_and(|actual| same(expected, actual)))
        }
        (expected, actual) => expected == actual,
    }
}

fn bound(name: &str, limit: Limit, written: Option<toml::Value>) -> anyhow::Result<Option<u64>> {
    let text = match written {
        None => return Ok(None),
        Some(toml::Value::String(text)) => text,
        Some(toml::Value::Integer(number)) => number.to_string(),
        Some(other) => bail!("`expect.{name}` is {}; write it as \"10M\" or 1000", other.type_str()),
    };
    limit.parse(&text).map(Some).map_err(|words| anyhow!("`expect.{name}`: {words}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_same_however_they_are_written() {
        assert!(same(&json!({ "a": [1, 2.0] }), &json!({ "a": [1.0, 2] })));
        assert!(!same(&json!(9_007_199_254_740_993_u64), &json!(9_007_199_254_740_992_u64)));
        assert!(!same(&json!({ "a": 1 }), &json!({ "a": 1, "b": 2 })));
        assert!(!same(&json!([1]), &json!([1, 1])));
        assert!(!same(&json!("1"), &json!(1)));
    }
}
