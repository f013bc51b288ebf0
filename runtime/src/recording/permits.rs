//! What a recording may have of whoever replays it. It may come from anybody, so that is nothing until it is permitted.

use std::collections::BTreeSet;

use super::{LimitSet, Recording, SecretFrom};
use crate::error::{Error, Result};
use crate::limits::Limit;
use crate::schema::printable;

/// Characters of what a recording says that an error repeats.
const SHOWN: usize = 200;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Permits {
    secrets: BTreeSet<String>,
    limits: bool,
}

impl Recording {
    /// The secrets that its component had, by name, and where each came from: an environment variable or a file.
    pub fn secrets(&self) -> impl Iterator<Item = (&str, String)> {
        let shown = |from: &SecretFrom| match from {
            SecretFrom::Env { name, .. } => format!("the environment variable `{}`", printable(name, SHOWN)),
            SecretFrom::File { path, .. } => format!("the file `{}`", printable(path, SHOWN)),
        };
        self.called.secrets.iter().map(move |(name, from)| (name.as_str(), shown(from)))
    }

    /// Lets a replay read the secret of this name from where the recording says that it is, and the component have it.
    #[must_use]
    pub fn permit_secret(mut self, name: impl Into<String>) -> Self {
        self.permits.secrets.insert(name.into());
        self
    }

    /// Lets a replay take as much as the limits of the recorded call allow, also where that is more than the defaults.
    #[must_use]
    pub fn permit_limits(mut self) -> Self {
        self.permits.limits = true;
        self
    }

    /// Whether all that a replay would have is permitted.
    ///
    /// # Errors
    /// Names the first thing that is not.
    pub(crate) fn check_permits(&self) -> Result<()> {
        let wrong = |message: String| Error::Component { subject: "the recording".to_owned(), message };
        if let Some((name, from)) = self.secrets().find(|(name, _)| !self.permits.secrets.contains(*name)) {
            let name = printable(name, SHOWN);
            return Err(wrong(format!(
                "it wants the secret `{name}` from {from}; if it may have that, permit it with `--secret {name}`"
            )));
        }
        let raised = |(name, set): (&String, &LimitSet)| {
            let limit = Limit::from_name(name).filter(|limit| set.value > limit.default_value())?;
            let (wanted, usual) = (limit.format(set.value), limit.format(limit.default_value()));
            Some(format!("`{name}` of {wanted} where {usual} is the default"))
        };
        if self.permits.limits {
            return Ok(());
        }
        let raised: Vec<String> = self.called.limits.iter().filter_map(raised).collect();
        if raised.is_empty() {
            return Ok(());
        }
        Err(wrong(format!(
            "it wants {}; if it may take that, permit it with `--recorded-limits`",
            raised.join(", ")
        )))
    }
}
