//! The notes of what was written otherwise than it is passed on.

use std::fmt::Display;

use crate::call::Repair;

/// Repairs that are listed one by one; a list of a million strings would otherwise make a million entries.
const MAX_REPAIRS: usize = 50;

/// Notes up to a bound; beyond it they are counted.
#[derive(Default)]
pub(crate) struct Repairs {
    listed: Vec<Repair>,
    unlisted: usize,
}

impl Repairs {
    /// Notes that the value at `path` was `from` and is `to`.
    pub(crate) fn note(&mut self, path: impl Display, from: &str, to: &str) {
        if self.listed.len() < MAX_REPAIRS {
            self.listed.push(Repair::new(path.to_string(), from, to));
        } else {
            self.unlisted += 1;
        }
    }

    /// The notes, of which the last counts those that are not listed.
    pub(crate) fn into_vec(mut self) -> Vec<Repair> {
        if self.unlisted > 0 {
            let rest = format!("{} more values", self.unlisted);
            self.listed.push(Repair::new("", rest, "their declared types"));
        }
        self.listed
    }
}
