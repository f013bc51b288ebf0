//! Patterns of guest paths, and the spellings of a path that they are held against.

use std::cell::RefCell;
use std::collections::HashMap;

use globset::{GlobBuilder, GlobMatcher};

use super::matcher::Reading;

/// A path of more bytes is opened by nobody, and nobody can say where it leads.
pub(crate) const MAX_PATH: usize = 4095;

/// Where paths of a guest lead.
pub trait GuestPaths {
    /// Every place beneath the grants, in the guest's names, where a tool that is given `guest_path` may end up:
    /// links followed, whatever does not exist yet appended. A relative path may start at any granted directory.
    /// Empty if it leads to no place beneath a grant.
    fn resolved(&self, guest_path: &str) -> Vec<String>;
}

/// No directory is granted.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPaths;

impl GuestPaths for NoPaths {
    fn resolved(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
}

/// Asks only once where a path leads, for all rules of one decision.
pub(super) struct Remembered<'a> {
    paths: &'a dyn GuestPaths,
    known: RefCell<HashMap<String, Vec<String>>>,
}

impl<'a> Remembered<'a> {
    pub(super) fn new(paths: &'a dyn GuestPaths) -> Self {
        Self { paths, known: RefCell::default() }
    }

    pub(super) fn resolved(&self, path: &str) -> Vec<String> {
        let mut known = self.known.borrow_mut();
        match known.get(path) {
            Some(places) => places.clone(),
            None => known.entry(path.to_owned()).or_insert(self.paths.resolved(path)).clone(),
        }
    }
}

/// A pattern that begins with `/`: a glob in which `*` stays within one name and `**` does not. `X/**` is also `X`. Where
/// it tightens, one that ends in a name is of everything beneath that too: it may be a folder's.
#[derive(Debug, Clone)]
pub(super) struct PathPattern {
    exact: Vec<GlobMatcher>,
    folded: Vec<GlobMatcher>,
    /// Of what is beneath it.
    beneath: Vec<GlobMatcher>,
}

/// Whether the end of a pattern says something of a name, so that it may be that of a folder: `secrets` and `sec*` do,
/// `*` does not. `/` is the outermost folder.
pub(super) fn ends_in_name(pattern: &str) -> bool {
    let name = pattern.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    pattern == "/" || name.contains(|letter| !matches!(letter, '*' | '?'))
}

impl PathPattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(super) fn new(written: &str) -> Result<Self, String> {
        let Some(below) = written.strip_prefix('/') else {
            return Err(format!(
                "the path pattern `{written}` does not begin with `/`; write for example `/{}`",
                written.trim_start_matches("./")
            ));
        };
        let below = below.strip_suffix('/').unwrap_or(below);
        let is_plain = |part: &str| !matches!(part, "" | "." | "..");
        if !below.is_empty() && !below.split('/').all(is_plain) {
            return Err(format!(
                "the path pattern `{written}` matches no path: it has an empty part, `.` or `..`; write it plainly"
            ));
        }
        let pattern = format!("/{below}");
        let mut patterns = vec![pattern.clone()];
        if let Some(above) = pattern.strip_suffix("/**") {
            patterns.push(if above.is_empty() { "/".to_owned() } else { above.to_owned() });
        }
        let exact = |pattern: &String| path_glob(pattern, false);
        let folded =
            |pattern: &String| path_glob(&fold(pattern), false).or_else(|_| path_glob(pattern, true));
        let beneath: Vec<String> = ends_in_name(&pattern)
            .then(|| format!("{}/**", pattern.trim_end_matches('/')))
            .into_iter()
            .collect();
        let compiled = |patterns: &[String]| -> Result<[Vec<GlobMatcher>; 2], String> {
            let exact = patterns.iter().map(exact).collect::<Result<_, _>>()?;
            Ok([exact, patterns.iter().map(folded).collect::<Result<_, _>>()?])
        };
        let ([exact, folded], beneath) = (compiled(&patterns)?, compiled(&beneath)?.concat());
        Ok(Self { exact, folded, beneath })
    }

    /// Whether `text`, as a tool would read it for a path, matches.
    pub(super) fn matches(&self, text: &str, reading: Reading, paths: &Remembered<'_>) -> bool {
        if squeezed(text).len() > MAX_PATH {
            // Where it leads is unknown, and its reader may still find a shorter way to write it.
            return reading == Reading::Wide;
        }
        let resolved = paths.resolved(text);
        let exact = |path: &str| self.exact.iter().any(|glob| glob.is_match(path));
        let folded = |path: &str| self.folded.iter().any(|glob| glob.is_match(path));
        match reading {
            Reading::Wide => {
                let beneath = |path: &str| self.beneath.iter().any(|glob| glob.is_match(path));
                let mut spellings = spellings(text).into_iter().chain(resolved);
                spellings.any(|path| {
                    let plain = fold(&path);
                    exact(&path) || folded(&plain) || beneath(&path) || beneath(&plain)
                })
            }
            // A relative path that starts at a grant means nothing anywhere else.
            Reading::Narrow if !text.starts_with('/') && !resolved.is_empty() => {
                resolved.iter().all(|path| exact(path))
            }
            Reading::Narrow => {
                let [written, plain] = spellings(text);
                // Empty parts and `.` are nothing to anybody; what `..` leaves depends on who reads it.
                [squeezed(&written), plain].into_iter().chain(resolved).all(|path| exact(&path))
            }
        }
    }
}

pub(super) fn path_glob(pattern: &str, ignore_case: bool) -> Result<GlobMatcher, String> {
    let mut builder = GlobBuilder::new(pattern);
    builder.literal_separator(true).case_insensitive(ignore_case);
    let glob = builder.build().map_err(|error| format!("`{pattern}` is no glob: {}", error.kind()))?;
    Ok(glob.compile_matcher())
}

/// The path as it is written, seen from the root and without final slashes, and its plain form.
fn spellings(text: &str) -> [String; 2] {
    let written = if text.starts_with('/') { text.to_owned() } else { format!("/{text}") };
    let plain = lexical(&written);
    let written = written.trim_end_matches('/');
    [if written.is_empty() { "/".to_owned() } else { written.to_owned() }, plain]
}

/// `path` seen from the root, without empty parts and `.`, which mean nothing to anybody; `..` stay.
pub(crate) fn squeezed(path: &str) -> String {
    let names = path.split('/').filter(|name| !matches!(*name, "" | "."));
    format!("/{}", names.collect::<Vec<_>>().join("/"))
}

/// `path` seen from the root, without empty parts, `.` and `..`, by its letters alone.
pub(crate) fn lexical(path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}

/// One spelling for all that differ in case only. Twice, since some capitals have no single small letter, and some
/// small letters (ß, ſ) are those of another's capital.
pub(super) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.to_uppercase().to_lowercase()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    #[test]
    fn a_name_may_be_that_of_a_folder_where_that_tightens() {
        for (pattern, path, is_beneath) in [
            ("/work/secrets", "/work/secrets/a/b", true),
            ("/work/secrets/", "/work/SECRETS/a", true),
            ("/work/**/secrets", "/work/x/secrets/a", true),
            ("/work/{secrets,keys}", "/work/keys/a", true),
            ("/work/Straße", "/work/STRASSE/a", true),
            ("/work/secrets", "/work/secretsa", false),
            ("/work/secrets", "/work", false),
            ("/work/sec*", "/work/secrets/a", true),
            ("/work/{a,k*}", "/work/keys/a/b", true),
            ("/work/[a-s]ecrets", "/work/secrets/a", true),
            ("/", "/work/a", true),
            ("/work/*", "/work/a/b", false),
            ("/work/?", "/work/a/b", false),
            ("/work/sec*", "/work/public/a", false),
        ] {
            let (pattern, paths) = (PathPattern::new(pattern).unwrap(), Remembered::new(&NoPaths));
            assert_eq!(pattern.matches(path, Reading::Wide, &paths), is_beneath, "{pattern:?} {path}");
            assert!(!pattern.matches(path, Reading::Narrow, &paths), "{pattern:?} {path}");
        }
    }
}
