//! Patterns with `/` in them that do not begin with it: of texts, and of paths wherever these start.

use globset::GlobMatcher;

use super::matcher::{Reading, folded_glob, glob};
use super::path::{MAX_PATH, PathPattern, Remembered, fold, lexical, squeezed};

/// A glob of whole texts that is one of paths too. Which an argument is nobody can tell, so a deny or ask rule holds
/// for both.
#[derive(Debug, Clone)]
pub(super) struct RelativePattern {
    exact: GlobMatcher,
    folded: GlobMatcher,
    /// From any folder on; none if no path can match.
    path: Option<Anywhere>,
}

#[derive(Debug, Clone)]
struct Anywhere {
    pattern: PathPattern,
    /// The same, as wide as the glob of texts is: `*` across folders.
    wide: Vec<GlobMatcher>,
}

/// The part of a pattern that stays the same wherever a path starts.
///
/// # Errors
/// Why no path matches it.
pub(super) fn relative(pattern: &str) -> Result<&str, &'static str> {
    let below = pattern.trim_start_matches("./");
    let below = below.strip_suffix('/').unwrap_or(below);
    let below = below.strip_prefix("**/").unwrap_or(below);
    if below == "~" || below.starts_with("~/") {
        return Err("tools have no home folder");
    }
    for part in below.split('/') {
        match part {
            "" => return Err("no path has an empty part"),
            "." | ".." => return Err("paths are compared without `.` and `..`"),
            _ => {}
        }
    }
    Ok(below)
}

impl RelativePattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(super) fn new(written: &str) -> Result<Self, String> {
        let (exact, folded) = (glob(written)?, folded_glob(written)?);
        let path = relative(written).ok().map(Anywhere::new).transpose()?;
        Ok(Self { exact, folded, path })
    }

    /// Whether it asks where paths lead.
    pub(super) fn needs_paths(&self) -> bool {
        self.path.is_some()
    }

    /// Whether `text` matches, as what it is or, where that tightens, as a path.
    pub(super) fn matches(&self, text: &str, reading: Reading, paths: &Remembered<'_>) -> bool {
        let path = self.path.as_ref();
        match reading {
            Reading::Wide => {
                self.exact.is_match(text)
                    || self.folded.is_match(fold(text))
                    || path.is_some_and(|path| path.may_be(text, paths))
            }
            Reading::Narrow => self.exact.is_match(text) && path.is_none_or(|path| path.stays(text, paths)),
        }
    }
}

impl Anywhere {
    fn new(below: &str) -> Result<Self, String> {
        let pattern = format!("/**/{below}");
        let mut wide = vec![glob(&pattern)?];
        if let Some(above) = pattern.strip_suffix("/**") {
            wide.push(glob(above)?);
        }
        Ok(Self { pattern: PathPattern::new(&pattern)?, wide })
    }

    /// Whether `text` may be such a path. Nobody opens what is longer than a path, but its reader may find a shorter way to
    /// write it.
    fn may_be(&self, text: &str, paths: &Remembered<'_>) -> bool {
        if squeezed(text).len() <= MAX_PATH {
            return self.pattern.matches(text, Reading::Wide, paths);
        }
        let plain = lexical(text);
        plain.len() <= MAX_PATH && self.pattern.matches(&plain, Reading::Wide, paths)
    }

    /// Whether `text` still matches as a path: without what `..` leaves, and where links lead.
    fn stays(&self, text: &str, paths: &Remembered<'_>) -> bool {
        let is_inside = |path: &str| self.wide.iter().any(|glob| glob.is_match(path));
        is_inside(&lexical(text)) && paths.resolved(text).iter().all(|path| is_inside(path))
    }
}
