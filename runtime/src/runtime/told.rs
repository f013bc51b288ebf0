//! What hooks are told of a run that may have changed something.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::registry::Registry;
use crate::tool::Tool;

/// Tells the hooks that want to know when it is dropped: the run may end by itself, by its deadline, or with its caller.
pub(super) struct Told<'a> {
    registry: &'a Registry,
    tool: &'a Tool,
}

impl<'a> Told<'a> {
    /// For a run of `tool`; nothing if it changes nothing, or nobody wants to know.
    pub fn of(registry: &'a Registry, tool: &'a Tool) -> Option<Self> {
        (registry.is_watched() && tool.may_change_something()).then(|| Self { registry, tool })
    }
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        // What a hook of an embedder does here must not end the thread that drops a call.
        let _ = catch_unwind(AssertUnwindSafe(|| self.registry.tell_changed(self.tool)));
    }
}
