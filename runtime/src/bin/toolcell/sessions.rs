//! The session of a command that makes calls and ends: what it switches is there for the next command that names it.

use std::collections::BTreeMap;

use toolcell::policy::{Digest, Switches};
use toolcell::{Runtime, Session};

use crate::terminal::{Label, say};
use crate::toolset::Toolset;

/// A session as a command line names it.
pub(crate) struct NamedSession {
    pub session: Session,
    switches: Switches,
    key: Option<Digest>,
    before: BTreeMap<String, bool>,
}

impl NamedSession {
    /// The session of that name, with the groups that earlier commands have switched in it; without a name, one that
    /// nothing is known of. Of two configurations each has sessions of its own, since their groups are not the same.
    pub fn open(toolset: &Toolset, runtime: &Runtime, name: Option<&str>) -> Self {
        let name = name.unwrap_or_default();
        let session = runtime.session(name);
        let switches = Switches::file(toolset.environment.folders.switches());
        let place = toolset.location.as_ref().map(|location| location.path.display().to_string());
        let key = (!name.is_empty() && toolset.config.activate_group)
            .then(|| Digest::of(format!("{}\0{name}", place.unwrap_or_default()).as_bytes()));
        let known = key.map(|key| switches.of(key)).transpose().unwrap_or_else(|error| {
            say(Label::Warning, error);
            None
        });
        for (group, on) in known.unwrap_or_default() {
            session.switch(&group, on);
        }
        let before = session.switched();
        Self { session, switches, key, before }
    }

    /// Keeps what the calls have switched.
    pub fn keep(self) {
        let now = self.session.switched();
        let changed: BTreeMap<String, bool> =
            now.into_iter().filter(|(group, on)| self.before.get(group) != Some(on)).collect();
        let Some(key) = self.key.filter(|_| !changed.is_empty()) else { return };
        if let Err(error) = self.switches.keep(key, changed) {
            say(
                Label::Warning,
                format_args!("what the session has switched holds for this command alone: {error}"),
            );
        }
    }
}
