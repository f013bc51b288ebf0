//! One thing that is not as expected.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// Lines that are compared one by one; longer texts are shown after each other.
const MAX_LINES: usize = 400;

/// Lines that a reader looks at.
const SHOWN: usize = 60;

/// What was expected and what came.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Difference {
    /// The key of `expect`.
    pub what: String,
    pub expected: Value,
    pub actual: Value,
}

impl Difference {
    pub fn new(what: impl Into<String>, expected: impl Into<Value>, actual: impl Into<Value>) -> Self {
        Self { what: what.into(), expected: expected.into(), actual: actual.into() }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (expected, actual) = (shown(&self.expected), shown(&self.actual));
        if !expected.contains('\n') && !actual.contains('\n') {
            return write!(
                formatter,
                "{}: expected {expected}\n{:width$}       got {actual}",
                self.what,
                "",
                width = self.what.len()
            );
        }
        write!(formatter, "{}: expected (-) and got (+)", self.what)?;
        let lines = compared(&expected, &actual);
        for (sign, line) in lines.iter().take(SHOWN) {
            write!(formatter, "\n{sign} {line}")?;
        }
        match lines.len().checked_sub(SHOWN) {
            Some(more @ 1..) => write!(formatter, "\n… and {more} lines more"),
            _ => Ok(()),
        }
    }
}

/// Text as it is where it has several lines, and everything else as JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) if text.contains('\n') => text.clone(),
        Value::Array(_) | Value::Object(_) => {
            let short = value.to_string();
            if short.len() <= 80 { short } else { format!("{value:#}") }
        }
        other => other.to_string(),
    }
}

/// The lines of both, in order, each with whether it is in the first (`-`), the second (`+`) or both.
fn compared<'t>(first: &'t str, second: &'t str) -> Vec<(char, &'t str)> {
    let (first, second): (Vec<&str>, Vec<&str>) = (first.lines().collect(), second.lines().collect());
    if first.len() > MAX_LINES || second.len() > MAX_LINES {
        let all = first.into_iter().map(|line| ('-', line));
        return all.chain(second.into_iter().map(|line| ('+', line))).collect();
    }
    let lengths = common(&first, &second);
    let length =
        |row: usize, column: usize| lengths.get(row).and_then(|row| row.get(column)).copied().unwrap_or(0);
    let (mut lines, mut row, mut column) = (Vec::new(), 0, 0);
    loop {
        match (first.get(row), second.get(column)) {
            (Some(line), Some(other)) if line == other => {
                lines.push((' ', *line));
                (row, column) = (row + 1, column + 1);
            }
            (Some(line), other) if other.is_none() || length(row + 1, column) >= length(row, column + 1) => {
                lines.push(('-', *line));
                row += 1;
            }
            (_, Some(line)) => {
                lines.push(('+', *line));
                column += 1;
            }
            (_, None) => return lines,
        }
    }
}

/// For each pair of places, how many lines the rests after them have in common.
fn common(first: &[&str], second: &[&str]) -> Vec<Vec<u16>> {
    let mut rows = vec![vec![0_u16; second.len() + 1]];
    for line in first.iter().rev() {
        let below = rows.last().cloned().unwrap_or_default();
        let mut row = vec![0_u16; second.len() + 1];
        for (column, other) in second.iter().enumerate().rev() {
            let at = |row: &[u16], column: usize| row.get(column).copied().unwrap_or(0);
            let best = match line == other {
                true => at(&below, column + 1) + 1,
                false => at(&below, column).max(at(&row, column + 1)),
            };
            if let Some(cell) = row.get_mut(column) {
                *cell = best;
            }
        }
        rows.push(row);
    }
    rows.reverse();
    rows
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_that_differ_are_marked() {
        let difference = Difference::new("text", "a\nb\nc\nd", "a\nx\nc\nd\ne");
        assert_eq!(difference.to_string(), "text: expected (-) and got (+)\n  a\n- b\n+ x\n  c\n  d\n+ e");
        let short = Difference::new("result", json!({ "a": 1 }), json!([2]));
        assert_eq!(short.to_string(), "result: expected {\"a\":1}\n             got [2]");
        let gone = Difference::new("text", "a\nb", "");
        assert_eq!(gone.to_string(), "text: expected (-) and got (+)\n- a\n- b\n+ \"\"");
    }

    #[test]
    fn long_texts_are_cut() {
        let long = |letter: &str| format!("{letter}\n").repeat(2_000);
        let shown = Difference::new("text", long("a"), long("b")).to_string();
        assert!(shown.lines().count() == SHOWN + 2 && shown.ends_with("… and 3940 lines more"), "{shown}");
    }
}
