//! What a call would do, found without doing it.

use std::sync::Arc;

use serde_json::Value;

use super::{Runtime, path};
use crate::call::{CallError, Repair, ToolCall};
use crate::limits::EffectiveLimits;
use crate::policy::Decision;
use crate::tool::Tool;

/// The first steps of a call: everything before its cell.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Explanation {
    /// The tool, if there is one of that name.
    pub tool: Option<Arc<Tool>>,
    /// The canonical arguments, as the guest would get them but for secrets.
    pub arguments: Option<Value>,
    /// Lenient spellings that became canonical.
    pub repaired: Vec<Repair>,
    /// What the rules say about them, before any hook; a hook or a stored approval may say otherwise.
    pub decision: Option<Decision>,
    /// The hooks that would be asked, in order, by name and what they are set to; none was.
    pub hooks: Vec<String>,
    /// The limits that would hold.
    pub limits: Option<Arc<EffectiveLimits>>,
    /// Why nothing would run.
    pub error: Option<CallError>,
}

impl Runtime {
    /// Takes a call as far as its cell: nothing is compiled, and no guest code and no hook runs. Blocks on the file system
    /// where a rule is about paths.
    pub fn explain(&self, call: ToolCall) -> Explanation {
        path::explain(&self.anonymous(), call)
    }
}
