//! What the runtime decided about a call on its way, and who said so.

use serde::{Deserialize, Serialize};

/// One decision about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Verdict {
    /// The step that decided.
    pub step: Step,
    /// Who: a hook's name, a rule's place, or who approved: `terminal`, `--yes`, `client`, `callback`, or `store` for what was
    /// approved before.
    pub source: String,
    /// What was decided.
    pub action: Action,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Verdict {
    /// A decision without a reason.
    pub fn new(step: Step, source: impl Into<String>, action: Action) -> Self {
        Self { step, source: source.into(), action, reason: None }
    }

    /// Adds why.
    #[must_use]
    pub fn reason(mut self, reason: Option<String>) -> Self {
        self.reason = reason;
        self
    }
}

/// A step of the path that decides something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Step {
    /// A hook before the call.
    PreHook,
    /// A rule.
    Rule,
    /// The policy's default, where no rule matches.
    Default,
    /// An answer to a question, or the lack of one.
    Approval,
    /// A hook around the call.
    AroundHook,
    /// A hook after the call.
    PostHook,
}

/// What a step decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Action {
    /// The call may go on.
    Allow,
    /// Somebody has to be asked.
    Ask,
    /// The call ends here.
    Deny,
    /// Other arguments, or another result.
    Rewrite,
    /// More metadata.
    Metadata,
    /// More content.
    Enrich,
    /// The result is kept back.
    Withhold,
    /// The tool runs once more.
    Retry,
    /// A stored result stands for a run.
    Reuse,
    /// The step itself failed.
    Failed,
}
