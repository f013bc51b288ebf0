//! What a result comes from, and what a run may change of it.

use crate::policy::Access;
use crate::tool::{Body, Tool};

/// What outside of its call a result may depend on.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// The component, whose state it may depend on.
    pub component: String,
    pub dirs: bool,
    pub http: bool,
    /// Whether nobody knows.
    pub anything: bool,
    pub nothing: bool,
}

impl Source {
    pub fn of(tool: &Tool) -> Self {
        if tool.is_self_contained() {
            return Self::self_contained();
        }
        let grant = tool.grant();
        Self {
            component: tool.component().to_owned(),
            dirs: !grant.dirs.is_empty(),
            http: !grant.http.is_empty(),
            anything: !matches!(tool.body, Body::Component { .. }),
            nothing: false,
        }
    }

    /// Of a tool whose arguments alone make its result.
    pub fn self_contained() -> Self {
        Self { nothing: true, ..Self::default() }
    }

    pub fn is_self_contained(&self) -> bool {
        self.nothing
    }
}

/// What a run may have changed.
#[derive(Debug, Default)]
pub(super) struct Writer {
    pub component: String,
    pub dirs: bool,
    pub http: bool,
    pub anything: bool,
}

impl Writer {
    /// By what the tool is granted, since its claims are held to that.
    pub fn of(tool: &Tool) -> Self {
        let grant = tool.grant();
        Self {
            component: tool.component().to_owned(),
            dirs: grant.dirs.iter().any(|dir| dir.access == Access::ReadWrite),
            http: grant.http.iter().any(|entry| !entry.read_only),
            anything: !matches!(tool.body, Body::Component { .. }),
        }
    }

    /// Whether it may have changed what a result came from. Two directories may be one, or one inside of the other, so any
    /// two are taken to be; so are any two servers.
    pub fn may_reach(&self, source: &Source) -> bool {
        !source.nothing
            && (self.anything
                || source.anything
                || self.component == source.component
                || (self.dirs && source.dirs)
                || (self.http && source.http))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_shared_is_reached_and_nothing_else() {
        let source = |component: &str, dirs, http| Source {
            component: component.to_owned(),
            dirs,
            http,
            ..Source::default()
        };
        let writer = |component: &str, dirs, http| Writer {
            component: component.to_owned(),
            dirs,
            http,
            anything: false,
        };
        for (writer, source, is_reached) in [
            (writer("a", false, false), source("a", false, false), true),
            (writer("a", true, false), source("b", true, false), true),
            (writer("a", false, true), source("b", true, true), true),
            (writer("a", true, false), source("b", false, true), false),
            (writer("a", false, false), source("b", true, true), false),
            (writer("a", true, true), Source::self_contained(), false),
            (writer("a", false, false), Source { anything: true, ..Source::default() }, true),
            (Writer { anything: true, ..Writer::default() }, source("b", false, false), true),
        ] {
            assert_eq!(writer.may_reach(&source), is_reached, "{writer:?} {source:?}");
        }
    }
}
