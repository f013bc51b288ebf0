//! What a directory grant withholds: globs relative to the grant's root.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Characters that make a component of a glob more than a name.
const META: [char; 5] = ['*', '?', '[', '{', '\\'];

/// The compiled `deny` of one grant: globs relative to the granted folder, in which `*` does not cross a `/`. What is
/// in a folder that one matches is withheld with it; a final `/` and a leading `./` say nothing.
#[derive(Debug)]
pub struct DenySet {
    denied: GlobSet,
    above: GlobSet,
    starts: Vec<PathBuf>,
    patterns: Vec<String>,
}

impl DenySet {
    /// Compiles patterns.
    ///
    /// # Errors
    /// Says which pattern is wrong and what to write instead.
    pub fn compile(patterns: &[String]) -> Result<Self, String> {
        let mut denied = GlobSetBuilder::new();
        let mut above = GlobSetBuilder::new();
        let mut starts = Vec::new();
        for written in patterns {
            let pattern = normal(written)?;
            let wrong = |error: globset::Error| no_glob(written, &error);
            denied.add(glob(&pattern).map_err(wrong)?);
            denied.add(glob(&format!("{pattern}/**")).map_err(wrong)?);
            let components: Vec<&str> = pattern.split('/').collect();
            for end in 1..components.len() {
                // `**` and `*` stand for any folder: protecting those as "above" would freeze everything.
                // A real folder above something denied is still found by walking it before it moves.
                if matches!(components.get(end - 1), Some(&("**" | "*"))) {
                    continue;
                }
                // A slash inside braces cuts a prefix that is no glob; the whole pattern still holds.
                if let Ok(prefix) = glob(&components[..end].join("/")) {
                    above.add(prefix);
                }
            }
            starts.push(literal_prefix(&components));
        }
        let build = |builder: GlobSetBuilder| {
            builder
                .build()
                .map_err(|error| format!("these patterns are too large together: {}", error.kind()))
        };
        let patterns = patterns.to_vec();
        Ok(Self { denied: build(denied)?, above: build(above)?, starts, patterns })
    }

    /// Looks whether a pattern is one, without the price of compiling it.
    ///
    /// # Errors
    /// As [`compile`](Self::compile), but for patterns that are too large.
    pub fn check(written: &str) -> Result<(), String> {
        let pattern = normal(written)?;
        glob(&pattern).map(drop).map_err(|error| no_glob(written, &error))
    }

    /// What it was compiled from.
    pub(crate) fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// Whether nothing is withheld.
    pub(crate) fn is_empty(&self) -> bool {
        self.denied.is_empty()
    }

    /// Whether `path`, relative to the root, or a folder that it lies in is withheld.
    pub fn denies(&self, path: &Path) -> bool {
        !path.as_os_str().is_empty() && self.denied.is_match(path)
    }

    /// Whether `path` is a folder that a pattern names on the way to what it withholds (`a` and `a/b` for `a/b/**`).
    pub(crate) fn names_above(&self, path: &Path) -> bool {
        !path.as_os_str().is_empty() && self.above.is_match(path)
    }

    /// Whether something below `path` could be withheld; never wrong when it says no.
    pub(crate) fn reaches_below(&self, path: &Path) -> bool {
        self.starts.iter().any(|start| start.starts_with(path) || path.starts_with(start))
    }

    /// The folders, relative to the root, outside of which nothing is withheld.
    pub(crate) fn starts(&self) -> &[PathBuf] {
        &self.starts
    }
}

/// The literal path that `pattern` starts with, and the rest of it.
pub(crate) fn split_literal(pattern: &str) -> (String, String) {
    let components: Vec<&str> = pattern.split('/').collect();
    let literal = components.iter().take_while(|component| !component.contains(META)).count();
    let (head, tail) = components.split_at(literal);
    (head.join("/"), tail.join("/"))
}

/// The pattern without `./` and a final slash.
///
/// # Errors
/// Refuses what could never match or would leave the grant.
pub(crate) fn normal(written: &str) -> Result<String, String> {
    let mut pattern = written.trim_end_matches('/');
    while let Some(rest) = pattern.strip_prefix("./") {
        pattern = rest;
    }
    if written.starts_with('/') {
        let relative = written.trim_start_matches('/');
        return Err(format!(
            "`{written}` is absolute, and patterns are relative to the granted folder; write `{relative}`"
        ));
    }
    if pattern.is_empty() || pattern == "." {
        return Err(format!("`{written}` names the granted folder itself; write `**` for all that is in it"));
    }
    if pattern.split('/').any(|component| matches!(component, ".." | "." | "")) {
        return Err(format!("`{written}` matches nothing: patterns have no empty parts, `.` or `..`"));
    }
    Ok(pattern.to_owned())
}

fn no_glob(written: &str, error: &globset::Error) -> String {
    format!("`{written}` is no glob: {}", error.kind())
}

fn glob(pattern: &str) -> Result<globset::Glob, globset::Error> {
    GlobBuilder::new(pattern).literal_separator(true).build()
}

fn literal_prefix(components: &[&str]) -> PathBuf {
    components.iter().take_while(|component| !component.contains(META)).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test's failure is its report")]

    use super::*;

    fn set(patterns: &[&str]) -> DenySet {
        DenySet::compile(&patterns.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_pattern_withholds_what_it_matches_and_everything_below() {
        let deny = set(&["secrets/**", "**/*.pem", "a/b", "logs/", "./x/*.txt"]);
        for (path, denied, above) in [
            ("secrets", false, true),
            ("secrets/k", true, false),
            ("secrets/deep/k", true, false),
            ("secrets2/k", false, false),
            ("sub/secrets/k", false, false),
            ("k.pem", true, false),
            ("sub/deep/k.pem", true, false),
            ("folder.pem/inside", true, false),
            ("a", false, true),
            ("a/b", true, false),
            ("a/b/c", true, false),
            ("a/c", false, false),
            ("logs", true, false),
            ("logs/today/1", true, false),
            ("x", false, true),
            ("x/1.txt", true, false),
            ("x/y/1.txt", false, false),
            ("", false, false),
        ] {
            assert_eq!(deny.denies(Path::new(path)), denied, "denies {path}");
            assert_eq!(deny.names_above(Path::new(path)), above, "above {path}");
        }
    }

    #[test]
    fn everything_can_be_withheld_but_the_root() {
        let deny = set(&["**"]);
        assert!(deny.denies(Path::new("x")) && deny.denies(Path::new("x/y")) && !deny.denies(Path::new("")));
    }

    #[test]
    fn what_lies_apart_from_every_pattern_needs_no_walk() {
        let deny = set(&["a/b/**"]);
        for (path, reaches) in
            [("", true), ("a", true), ("a/b", true), ("a/b/c", true), ("c", false), ("a/c", false)]
        {
            assert_eq!(deny.reaches_below(Path::new(path)), reaches, "{path}");
        }
        assert!(set(&["**/x"]).reaches_below(Path::new("any")));
    }

    #[test]
    fn wrong_patterns_are_refused_with_a_reason() {
        for pattern in ["", ".", "./", "/etc/**", "../x", "a/../b", "a//b", "[", "a{b"] {
            let error = DenySet::compile(&[pattern.to_owned()]).unwrap_err();
            assert!(error.contains(&format!("`{pattern}`")), "{error}");
        }
    }
}
