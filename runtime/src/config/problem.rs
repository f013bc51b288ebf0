//! What is wrong with a configuration, collected so that one run shows everything.

use crate::error::Error;

/// One thing that is wrong, and where.
#[derive(Debug)]
struct Problem {
    line: usize,
    message: String,
}

/// Everything that is wrong with one file.
#[derive(Debug, Default)]
pub(super) struct Problems {
    found: Vec<Problem>,
}

impl Problems {
    /// Adds what is wrong at `line`.
    pub(super) fn add(&mut self, line: usize, message: impl Into<String>) {
        self.found.push(Problem { line, message: message.into() });
    }

    /// How many there are so far.
    pub(super) fn count(&self) -> usize {
        self.found.len()
    }

    /// An error that shows one problem a line, in the order of the file; nothing when there are none.
    pub(super) fn take_error(&mut self, label: &str) -> Option<Error> {
        self.found.sort_by_key(|problem| problem.line);
        let mut problems = self.found.drain(..);
        let first = problems.next()?;
        let mut message = first.message;
        for problem in problems {
            message.push_str(&format!("\n{label}:{}: {}", problem.line, problem.message));
        }
        Some(Error::Config { at: format!("{label}:{}", first.line), message })
    }
}
