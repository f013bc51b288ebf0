//! `activate_group`: the tool by which a model switches a group of tools on for its own session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcell_package::Hints;

use super::Tool;
use super::native::{Built, NativeFunction, input_schema, schema_of};
use crate::error::Result;
use crate::limits::EffectiveLimits;

/// Its name.
pub(crate) const ACTIVATE_GROUP: &str = "activate_group";

/// What it is, before a session adds which groups there are.
const DESCRIPTION: &str = "Switches a group of tools on for the rest of this session, so that its tools can be called. \
    Call it when a task needs a tool that is switched off.";

/// Its arguments.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Activate {
    /// The group's name.
    pub group: String,
}

/// Its result.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Activated {
    /// The group that is on now.
    pub group: String,
    /// The tools that can be called with it.
    pub tools: Vec<String>,
}

/// The tool under these limits.
///
/// # Errors
/// None that depend on an operator.
pub(crate) fn group_switch(limits: EffectiveLimits) -> Result<Tool> {
    let mut hints = Hints::default();
    (hints.destructive, hints.idempotent, hints.open_world) = (Some(false), Some(true), Some(false));
    let built = Built {
        name: ACTIVATE_GROUP.to_owned(),
        title: Some("Switch a group of tools on".to_owned()),
        description: DESCRIPTION.to_owned(),
        group: None,
        hints,
        input: input_schema::<Activate>(),
        output: schema_of::<Activated>(),
    };
    built.tool(NativeFunction::GroupSwitch, limits)
}
