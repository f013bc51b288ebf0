//! What a component's imports lack on this host.

use std::fmt;

use wit_parser::WorldItem;

use super::served::{Capability, UNSTABLE, known_package};
use super::{ImportKind, Inspection};
use crate::policy::Grant;

/// An import that the host cannot serve.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnmetImport {
    /// The name with its version; one function of an interface follows after `#`.
    pub name: String,
    /// The versions that are served, where the host knows the package.
    pub served: Option<&'static str>,
}

/// An import that is known and refuses every use, for want of a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NeededGrant {
    /// The name with its version.
    pub name: String,
    /// What it takes.
    pub capability: Capability,
}

/// All that a component's imports lack, at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportReport {
    /// Nothing of that name is known.
    pub unknown: Vec<UnmetImport>,
    /// The package is known, the version is not served.
    pub unsupported: Vec<UnmetImport>,
    /// Known, and refused when used as long as it is not granted. No obstacle to loading.
    pub needs_grant: Vec<NeededGrant>,
    /// Served, and newer than the host: loads if the component uses nothing that was added since.
    pub newer: Vec<String>,
}

impl ImportReport {
    /// Whether every import is served.
    pub fn is_loadable(&self) -> bool {
        self.unknown.is_empty() && self.unsupported.is_empty()
    }

    /// Why the component cannot load, all imports in one line; `None` if it can.
    pub fn refusal(&self) -> Option<String> {
        let unknown = unmet("unknown", &self.unknown);
        let unsupported = unmet("version not supported", &self.unsupported);
        let parts: Vec<String> = unknown.into_iter().chain(unsupported).collect();
        (!parts.is_empty())
            .then(|| {
                let parts = parts.join("; ");
                format!(
                    "the component imports what toolcell does not serve: {parts}; a tool may import WASI 0.2 and \
                     `toolcell:tool` 1.x: build it without these imports, or compose it with components that export them"
                )
            })
    }
}

impl fmt::Display for ImportReport {
    /// One line a group: what cannot be served, what needs a grant, what is newer.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let needs: Vec<String> = self
            .needs_grant
            .iter()
            .map(|need| format!("`{}` ({})", need.name, need.capability.setting()))
            .collect();
        let newer: Vec<String> = self.newer.iter().map(|name| format!("`{name}`")).collect();
        let lines = [
            unmet("unknown", &self.unknown),
            unmet("version not supported", &self.unsupported),
            (!needs.is_empty()).then(|| format!("refused when used: {}", needs.join(", "))),
            (!newer.is_empty())
                .then(|| format!("newer than the host, loads if nothing new is used: {}", newer.join(", "))),
        ];
        formatter.write_str(&lines.into_iter().flatten().collect::<Vec<_>>().join("\n"))
    }
}

fn unmet(title: &str, imports: &[UnmetImport]) -> Option<String> {
    let names: Vec<String> = imports
        .iter()
        .map(|import| match import.served {
            Some(served) => format!("`{}` (served: {served})", import.name),
            None => format!("`{}`", import.name),
        })
        .collect();
    (!names.is_empty()).then(|| format!("{title}: {}", names.join(", ")))
}

/// Sorts a component's imports by what the host can do about them under `grant`.
pub fn classify_imports(inspection: &Inspection, grant: &Grant) -> ImportReport {
    let mut report = ImportReport::default();
    for import in &inspection.imports {
        let known = match import.kind {
            ImportKind::Interface => known_package(&import.name),
            _ => None,
        };
        let name = import.name.clone();
        let Some((served, interface, version)) = known else {
            report.unknown.push(UnmetImport { name, served: None });
            continue;
        };
        if !served.versions.include(version) {
            report.unsupported.push(UnmetImport { name, served: Some(served.versions.name()) });
            continue;
        }
        if !served.interfaces.contains(&interface) {
            report.unknown.push(UnmetImport { name, served: None });
            continue;
        }
        for function in unstable_functions(inspection, &name) {
            report.unknown.push(UnmetImport { name: format!("{name}#{function}"), served: None });
        }
        if served.versions.may_exceed_host(version) {
            report.newer.push(name.clone());
        }
        if let Some(capability) = served.capability
            && !capability.is_granted(grant)
        {
            report.needs_grant.push(NeededGrant { name, capability });
        }
    }
    report
}

/// The unstable functions that the component imports of the interface `name`.
fn unstable_functions(inspection: &Inspection, name: &str) -> Vec<&'static str> {
    let path = name.split_once('@').map_or(name, |(path, _)| path);
    let candidates = UNSTABLE.iter().filter(|(interface, _)| *interface == path);
    let resolve = &inspection.resolve;
    let imports = &resolve.worlds[inspection.world].imports;
    let is_imported = |function: &str| {
        imports.iter().any(|(key, item)| match item {
            WorldItem::Interface { id, .. } => {
                resolve.name_world_key(key) == name
                    && resolve.interfaces[*id].functions.contains_key(function)
            }
            _ => false,
        })
    };
    candidates.map(|(_, function)| *function).filter(|function| is_imported(function)).collect()
}
