//! What a hook component exports, and whether a component can do the same thing twice.

use wit_parser::{Function, WorldItem};

use super::{ImportKind, Inspection};

/// The interface by which a component is a hook, of whatever release 1.x.
const HOOK: &str = "toolcell:tool/hook@1.";

/// Packages and interfaces by which two equal calls cannot differ, settings aside, as long as no directory is granted.
/// `toolcell:tool/context` is not among them: calls differ in it.
const REPEATABLE: [&str; 8] = [
    "wasi:cli/",
    "wasi:io/",
    "wasi:filesystem/",
    "wasi:sockets/",
    "wasi:config/store",
    "toolcell:tool/types",
    "toolcell:tool/events",
    "toolcell:tool/files",
];

/// The functions of a hook component.
pub(crate) struct HookFunctions<'a> {
    /// The exported interface, with its version.
    pub interface: String,
    pub pre: &'a Function,
    pub post: &'a Function,
}

impl Inspection {
    /// The functions of `toolcell:tool/hook`, if the component exports them.
    pub(crate) fn hook_functions(&self) -> Option<HookFunctions<'_>> {
        let exports = &self.resolve.worlds.get(self.world)?.exports;
        exports.iter().find_map(|(key, item)| {
            let WorldItem::Interface { id, .. } = item else { return None };
            let interface = self.resolve.name_world_key(key);
            if !interface.starts_with(HOOK) {
                return None;
            }
            let functions = &self.resolve.interfaces.get(*id)?.functions;
            Some(HookFunctions { interface, pre: functions.get("pre")?, post: functions.get("post")? })
        })
    }

    /// Whether the component imports nothing by which two equal calls of it could differ.
    pub(crate) fn is_self_contained(&self) -> bool {
        self.imports.iter().all(|import| {
            import.kind == ImportKind::Interface
                && REPEATABLE.iter().any(|prefix| import.name.starts_with(prefix))
        })
    }
}
