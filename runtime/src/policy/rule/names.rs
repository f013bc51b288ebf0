//! Names of tools and components, and the globs that are held against them.

use globset::GlobMatcher;

use super::matcher::{Reading, folded_glob, glob};
use super::path::fold;
use super::set::Subject;

/// A glob over names, which are in small letters: only a pattern can be in capitals.
#[derive(Debug, Clone)]
pub(crate) struct ToolGlob {
    exact: GlobMatcher,
    folded: GlobMatcher,
}

impl ToolGlob {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        if pattern.is_empty() {
            return Err("an empty pattern matches nothing; `*` is every name".to_owned());
        }
        Ok(Self { exact: glob(pattern)?, folded: folded_glob(pattern)? })
    }

    pub(super) fn matches(&self, name: &str, reading: Reading) -> bool {
        match reading {
            Reading::Wide => self.exact.is_match(name) || self.folded.is_match(fold(name)),
            Reading::Narrow => self.exact.is_match(name),
        }
    }

    /// Whether the component of a tool, in whatever case, is meant by what narrows its calls.
    pub(crate) fn covers_component(&self, component: &str) -> bool {
        self.matches(component, Reading::Wide)
    }

    /// Whether a tool, by whichever of its names, is meant by what narrows its calls.
    pub(crate) fn covers_tool(&self, subject: &Subject<'_>) -> bool {
        self.matches_tool(subject, Reading::Wide)
    }

    /// A tool goes by its name and by its place in the component, which a new name does not change. That place
    /// alone, in the spelling of models or without its interface, is a name that its author chose: it may deny, not
    /// allow.
    pub(super) fn matches_tool(&self, subject: &Subject<'_>, reading: Reading) -> bool {
        if [subject.tool, subject.origin].into_iter().any(|name| self.matches(name, reading)) {
            return true;
        }
        let function = subject.origin.rsplit('.').next().unwrap_or(subject.origin);
        let snake = |name: &str| name.replace('-', "_");
        reading == Reading::Wide
            && [function.to_owned(), snake(function), snake(subject.origin)]
                .iter()
                .any(|name| self.matches(name, reading))
    }
}
