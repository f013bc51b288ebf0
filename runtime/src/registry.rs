//! The tools that there are, by name. Load order never matters: a name is taken once or the load fails.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::schema::nearest;
use crate::tool::Tool;

/// Tools by name.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    tools: BTreeMap<String, Arc<Tool>>,
}

impl Registry {
    /// Adds a tool.
    ///
    /// # Errors
    /// When its name is taken, naming both places and the settings that help.
    pub fn add(&mut self, tool: Arc<Tool>) -> Result<()> {
        if let Some(other) = self.tools.get(&tool.name) {
            let place = |tool: &Tool| format!("`{}` of component `{}`", tool.origin, tool.component.name);
            return Err(Error::DuplicateTool {
                name: tool.name.clone(),
                first: place(other),
                second: place(&tool),
            });
        }
        self.tools.insert(tool.name.clone(), tool);
        Ok(())
    }

    pub fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools.get(name)
    }

    /// All tools in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.values()
    }

    /// The names that somebody who wrote `name` may have meant.
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        nearest(name, self.tools.keys().map(String::as_str))
    }
}
