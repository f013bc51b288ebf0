//! What a call runs under, as far as its result may depend on it.

use std::sync::Arc;

use crate::config::OutputBounds;
use crate::limits::{EffectiveLimits, Limit};
use crate::policy::Deterministic;

/// Settings of a call that are neither its arguments nor its tool's grants, and that a guest can see or feel.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// A tool may end itself in time, and gives less where it has less.
    pub limits: Arc<EffectiveLimits>,
    /// The room for output, which tools may ask for.
    pub output: OutputBounds,
    /// Time and chance, where they are not the host's.
    pub deterministic: Option<Deterministic>,
}

impl Settings {
    /// A text that is the same for the same settings, wherever they were written.
    pub fn words(&self) -> String {
        let limits = Limit::ALL.map(|limit| self.limits.get(limit));
        format!("{limits:?} {:?} {:?}", self.output, self.deterministic)
    }
}
