//! Groups of tools, switched on and off for one session or for all.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::{Value, json};

use super::Session;
use crate::call::{CallError, Content, Ended, ErrorKind, Returned};
use crate::tool::{ACTIVATE_GROUP, Activate, Activated, Tool};

/// Names of tools that a description gives of each group; a reader of many would not read them.
const NAMED_TOOLS: usize = 8;

impl Session {
    /// Switches a group on or off for this session alone. Returns whether there is such a group.
    pub fn switch(&self, group: &str, on: bool) -> bool {
        let exists = self.grouped().contains_key(group);
        if exists {
            if let Some(pinned) = &self.pinned {
                pinned.write().unwrap_or_else(PoisonError::into_inner).insert(group.to_owned(), on);
            }
            let mut groups = self.state.groups.write().unwrap_or_else(PoisonError::into_inner);
            if groups.insert(group.to_owned(), on) != Some(on) {
                drop(groups);
                self.runtime.shared.registry.switched_by_session();
            }
        }
        exists
    }

    /// The groups that were switched in this session itself, and how.
    pub fn switched(&self) -> BTreeMap<String, bool> {
        self.state.groups.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The session for calls that begin later and are to find the groups as they are now. What these calls switch
    /// themselves holds for them, and for the session.
    pub(crate) fn as_now(&self) -> Self {
        Self { pinned: Some(Arc::new(RwLock::new(self.switched()))), ..self.clone() }
    }

    /// The groups of the tools that there are for it, and whether each is switched on.
    pub fn groups(&self) -> BTreeMap<String, bool> {
        let names = self.grouped().into_keys();
        names
            .map(|group| {
                let on = self.is_on(&group);
                (group, on)
            })
            .collect()
    }

    /// Whether a tool is not off, and its group is switched on: as the session says, else as the runtime does.
    pub(super) fn is_active(&self, tool: &Tool) -> bool {
        tool.off().is_none() && tool.group().is_none_or(|group| self.is_on(group))
    }

    /// Whether its model can switch groups on by itself.
    pub(super) fn has_group_switch(&self) -> bool {
        let registry = self.runtime.shared.registry.now();
        self.state.name().is_some()
            && registry.get(ACTIVATE_GROUP).is_some_and(|placed| placed.tool.switches_groups())
    }

    fn is_on(&self, group: &str) -> bool {
        let groups = self.pinned.as_deref().unwrap_or(&self.state.groups);
        let own = groups.read().unwrap_or_else(PoisonError::into_inner).get(group).copied();
        own.unwrap_or_else(|| self.runtime.shared.registry.now().is_active(Some(group)))
    }

    /// The groups with the names of their tools.
    fn grouped(&self) -> BTreeMap<String, Vec<String>> {
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for placed in self.all() {
            let Some(group) = placed.tool.group() else { continue };
            groups.entry(group.to_owned()).or_default().push(placed.tool.name().to_owned());
        }
        groups
    }

    /// What the tool that switches groups on says of itself, with the groups that are off.
    pub(super) fn described_groups(&self, tool: &Tool) -> String {
        let off: Vec<String> = self
            .grouped()
            .into_iter()
            .filter(|(group, _)| !self.is_on(group))
            .map(|(group, tools)| format!("- `{group}`: {}", named(&tools)))
            .collect();
        match off.as_slice() {
            [] => format!("{}\n\nNo group is off now.", tool.description()),
            off => format!("{}\n\nGroups that are off now:\n{}", tool.description(), off.join("\n")),
        }
    }

    /// Switches a group on for the session that calls.
    pub(super) fn activate(&self, arguments: Value) -> Ended {
        let Ok(Activate { group }) = serde_json::from_value(arguments) else {
            return Ended::failed(CallError::new(ErrorKind::InvalidArguments, "name one `group`"));
        };
        if self.state.name().is_none() {
            let message = "a group is switched on for one session, and this call belongs to none";
            return Ended::failed(
                CallError::new(ErrorKind::ToolError, message)
                    .help("call it in a session: give the call's session a name, as `--session NAME` does"),
            );
        }
        let mut groups = self.grouped();
        if !self.switch(&group, true) {
            let names: Vec<String> = groups.keys().map(|group| format!("`{group}`")).collect();
            let known = match names.as_slice() {
                [] => "there are none".to_owned(),
                names => format!("there are {}", names.join(", ")),
            };
            let group: String = group.chars().take(64).collect();
            let message = format!("there is no group `{group}`; {known}");
            return Ended::failed(CallError::new(ErrorKind::InvalidArguments, message));
        }
        let tools = groups.remove(&group).unwrap_or_default();
        let text = format!("The group `{group}` is on. Its tools: {}.", named(&tools));
        let structured = json!(Activated { group, tools });
        let content = vec![Content::Text { text }];
        Ended::from(Ok(Returned::Output { content, structured: Some(structured) }))
    }
}

fn named(tools: &[String]) -> String {
    let names: Vec<&str> = tools.iter().take(NAMED_TOOLS).map(String::as_str).collect();
    match tools.len().saturating_sub(NAMED_TOOLS) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
