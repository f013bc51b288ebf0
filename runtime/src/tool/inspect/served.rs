//! The interfaces that a tool may import.

use crate::policy::{Grant, StateScope};

/// The newest patch level of WASI 0.2 whose interfaces the host has in full (that of wasmtime-wasi 48). The linker
/// takes every release 0.2.x for the same interface, older and newer: a component that asks for a newer one links
/// as long as it uses nothing that was added since.
const WASI_PATCH: u64 = 12;

/// A thing that an operator grants, or that is always off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Capability {
    /// Directories.
    Dirs,
    /// Requests over HTTP.
    Http,
    /// Configuration values.
    Config,
    /// Values that are kept.
    State,
    /// Sockets: never granted.
    Sockets,
}

impl Capability {
    /// What an operator sets, or why there is nothing to set.
    pub fn setting(self) -> &'static str {
        match self {
            Self::Dirs => "needs `grant.dirs`",
            Self::Http => "needs `grant.http`",
            Self::Config => "needs `config`",
            Self::State => "needs `grant.state`",
            Self::Sockets => "sockets are never granted",
        }
    }

    pub(super) fn is_granted(self, grant: &Grant) -> bool {
        match self {
            Self::Dirs => !grant.dirs.is_empty(),
            Self::Config => !grant.config.is_empty(),
            Self::State => grant.state != StateScope::None,
            Self::Http => !grant.http.is_empty(),
            Self::Sockets => false,
        }
    }
}

/// The versions of an interface that are the same to the linker.
#[derive(Clone, Copy)]
pub(super) enum Versions {
    /// All releases 0.2.x.
    Wasi02,
    /// All releases 1.x.
    Tool1,
    /// This one alone: drafts match exactly.
    Exactly(&'static str),
}

impl Versions {
    pub(super) fn include(self, version: &str) -> bool {
        match self {
            Self::Wasi02 => is_wasi_0_2(version),
            Self::Tool1 => is_tool_1(version),
            Self::Exactly(only) => version == only,
        }
    }

    /// Whether `version`, one of these, may contain what the host does not know.
    pub(super) fn may_exceed_host(self, version: &str) -> bool {
        match self {
            Self::Wasi02 => release(version).is_some_and(|(.., patch)| patch > WASI_PATCH),
            Self::Tool1 => release(version).is_some_and(|(_, minor, _)| minor > 0),
            Self::Exactly(_) => false,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Wasi02 => "0.2.x",
            Self::Tool1 => "1.x",
            Self::Exactly(only) => only,
        }
    }
}

/// A package of which the host serves interfaces.
pub(super) struct Served {
    package: &'static str,
    pub(super) interfaces: &'static [&'static str],
    pub(super) versions: Versions,
    pub(super) capability: Option<Capability>,
}

const fn wasi(
    package: &'static str,
    interfaces: &'static [&'static str],
    capability: Option<Capability>,
) -> Served {
    Served { package, interfaces, versions: Versions::Wasi02, capability }
}

/// Everything that a tool may import.
const SERVED: [Served; 10] = [
    wasi(
        "wasi:cli",
        &[
            "environment",
            "exit",
            "stdin",
            "stdout",
            "stderr",
            "terminal-input",
            "terminal-output",
            "terminal-stdin",
            "terminal-stdout",
            "terminal-stderr",
        ],
        None,
    ),
    wasi("wasi:clocks", &["monotonic-clock", "wall-clock"], None),
    wasi("wasi:filesystem", &["types", "preopens"], Some(Capability::Dirs)),
    wasi("wasi:io", &["error", "poll", "streams"], None),
    wasi("wasi:random", &["random", "insecure", "insecure-seed"], None),
    wasi(
        "wasi:sockets",
        &[
            "network",
            "instance-network",
            "ip-name-lookup",
            "tcp",
            "tcp-create-socket",
            "udp",
            "udp-create-socket",
        ],
        Some(Capability::Sockets),
    ),
    wasi("wasi:http", &["types", "outgoing-handler"], Some(Capability::Http)),
    Served {
        package: "wasi:config",
        interfaces: &["store"],
        versions: Versions::Exactly("0.2.0-rc.1"),
        capability: Some(Capability::Config),
    },
    Served {
        package: "wasi:keyvalue",
        interfaces: &["store", "atomics", "batch"],
        versions: Versions::Exactly("0.2.0-draft"),
        capability: Some(Capability::State),
    },
    Served {
        package: "toolcell:tool",
        interfaces: &["types", "events", "context", "files"],
        versions: Versions::Tool1,
        capability: None,
    },
];

/// Functions of served interfaces that are not part of WASI 0.2 yet, which the host leaves out.
pub(super) const UNSTABLE: [(&str, &str); 2] =
    [("wasi:cli/exit", "exit-with-code"), ("wasi:sockets/network", "network-error-code")];

/// The served package of which `name` is an interface, with the interface's name and version.
pub(super) fn known_package(name: &str) -> Option<(&'static Served, &str, &str)> {
    let (path, version) = name.split_once('@').unwrap_or((name, ""));
    let (package, interface) = path.split_once('/')?;
    let served = SERVED.iter().find(|served| served.package == package)?;
    Some((served, interface, version))
}

/// Whether `version` is a release of WASI 0.2.
pub(super) fn is_wasi_0_2(version: &str) -> bool {
    matches!(release(version), Some((0, 2, _)))
}

/// Whether `version` is a release 1.x.
pub(super) fn is_tool_1(version: &str) -> bool {
    matches!(release(version), Some((1, ..)))
}

/// The numbers of a version that is no pre-release.
fn release(version: &str) -> Option<(u64, u64, u64)> {
    let (numbers, _build) = version.split_once('+').unwrap_or((version, ""));
    let mut numbers = numbers.split('.').map(|number| number.parse().ok());
    match (numbers.next(), numbers.next(), numbers.next(), numbers.next()) {
        (Some(Some(major)), Some(Some(minor)), Some(Some(patch)), None) => Some((major, minor, patch)),
        _ => None,
    }
}
